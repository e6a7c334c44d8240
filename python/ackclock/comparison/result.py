"""The result of a comparison: configurations with intervals, a ranking with reasons, and the runs
of the charts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ackclock.comparison.asymmetry import Asymmetry
from ackclock.comparison.configuration import Configuration
from ackclock.comparison.judgement import Judgement, screened
from ackclock.comparison.prices import Priced
from ackclock.comparison.ranking import Ranked
from ackclock.comparison.verdict import verdict
from ackclock.input.scenario.resolution import recordings
from ackclock.result import Result
from ackclock.simulation.dataset import Dataset, DatasetRun
from ackclock.simulation.recordings import RecordingUse, recording_uses
from ackclock.storage.remote_folder import shown

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.compare import ComparedCell, MeasuredRow
    from ackclock.documents.compare import Comparison as ComparisonDocument
    from ackclock.documents.compare import Prices as PricesDocument
    from ackclock.documents.parts import Metrics
    from ackclock.plot.figure import Plot
    from ackclock.plot.time_series import Panel
    from ackclock.report.page import Page
    from ackclock.report.run_input import ScenarioTables

MAX_SHOWN = 5
"""Maximum number of runs in a time-series chart."""


def _among(ranked: Ranked, others: Sequence[Ranked]) -> bool:
    """Whether one of ``others`` has the same mean in every metric."""

    def figures(of: Ranked) -> dict[str, float]:
        return {name: choice.mean for name, choice in of.metrics.items()}

    return any(figures(ranked) == figures(other) for other in others)


@dataclass(frozen=True)
class Prices:
    """The prices of the first choices of a comparison, the figures of the host's defaults, the runs
    under loads and beside other flows, and the number of seeds beside other flows.
    """

    choices: Sequence[Priced]
    references: Sequence[Priced]
    datasets: Sequence[Dataset]
    seeds: int

    def as_json(self) -> PricesDocument:
        """The object `prices` of ``compare``'s JSON document."""
        return {
            "runs": sum(len(data.runs) for data in self.datasets),
            "seeds": sorted({seed for data in self.datasets for seed in data.runs.seeds}),
            "choices": [choice.as_json() for choice in self.choices],
            "references": [reference.as_json() for reference in self.references],
        }


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """The result of ``compare``.

    ``link`` is the link as given, ``title`` its title, ``scenario`` the first configuration's
    resolved scenario, ``folder`` the run folder (None without one). ``no_asymmetry`` is the reason
    if ``asymmetry`` is None; ``configurations`` are all in the order asked for; ``measured`` are a
    measurement's transfers; ``notes`` are sentences about the ranking; ``prices`` are what the
    first choices cost other flows, ``judgement`` what is recommended by the ``goal``, both None
    without runs under loads and beside other flows, whose datasets are ``further``.
    """

    link: str
    title: str
    scenario: ScenarioTables
    rank_by: str
    ranking: Sequence[Ranked]
    data: Dataset
    asymmetry: Asymmetry | None
    folder: Path | None
    no_asymmetry: str | None = None
    configurations: Sequence[Configuration] = ()
    measured: Sequence[MeasuredRow] = ()
    notes: Sequence[str] = ()
    prices: Prices | None = None
    goal: str = "balanced"
    judgement: Judgement | None = None

    @property
    def further(self) -> Sequence[Dataset]:
        """The datasets besides that of the ranking."""
        return self.prices.datasets if self.prices else ()

    @cached_property
    def results(self) -> Mapping[Configuration, Sequence[DatasetRun]]:
        """The runs of each configuration, in the order of the seeds; their tables are read on
        access.
        """
        return {choice: self.data.results(index) for index, choice in enumerate(self.configurations)}

    @property
    def best(self) -> Ranked:
        """The first of the ranking; among equals the one with the lowest p95 RTT."""
        return self.ranking[0]

    @property
    def recommended(self) -> Ranked | None:
        """The configuration that the verdict recommends: the best by the goal within the bound of
        harm; None if no compared one is. Without runs beside other flows the best by the figures of
        its own flows.
        """
        if self.judgement is None:
            able = [ranked for ranked in self.ranking if ranked.delivers]
            return max(able, key=lambda ranked: screened(self.goal, ranked.metrics), default=None)
        label = self.judgement.recommended
        return next((ranked for ranked in self.ranking if ranked.configuration.label == label), None)

    @property
    def low_latency_choice(self) -> Ranked | None:
        """The configuration with the lowest p95 RTT of those with 90 % of the best goodput or more
        and half its p95 RTT or less.

        None without one.
        """

        def of(ranked: Ranked, name: str) -> float:
            return ranked.metrics[name].mean if name in ranked.metrics else math.nan

        goodput, rtt = of(self.best, "goodput_bps"), of(self.best, "rtt_p95_ms")
        able = [r for r in self.ranking if of(r, "goodput_bps") >= 0.9 * goodput and of(r, "rtt_p95_ms") <= 0.5 * rtt]
        return min(able, key=lambda ranked: of(ranked, "rtt_p95_ms"), default=None)

    @cached_property
    def recordings(self) -> Sequence[RecordingUse]:
        """The parts of recorded rates that the runs replay; all configurations replay the same."""
        runs = self.data.runs
        if not any(map(recordings, runs.scenarios[:1])):
            return []
        return recording_uses(self.data.summaries(runs.numbers(0)), runs.scenarios[0].duration / 1e12)

    @property
    def document(self) -> ComparisonDocument:
        """The document of ``compare --json``."""
        document = {
            "link": self.link,
            "title": self.title,
            "scenario": dict(self.scenario),
            "rank_by": self.rank_by,
            "goal": self.goal,
            "recommended": self.recommended.configuration.label if self.recommended else None,
            "asymmetry": self.asymmetry.as_json() if self.asymmetry else None,
            "no_asymmetry": self.no_asymmetry,
            "notes": list(self.notes),
            **({"recordings": [use.as_json() for use in self.recordings]} if self.recordings else {}),
            "cells": [self._cell(ranked) for ranked in sorted(self.ranking, key=self._asked_order)],
            "ranking": [ranked.as_json() for ranked in self.ranking],
            "quick": self.low_latency_choice.configuration.label if self.low_latency_choice else None,
            "judgement": self.judgement.as_json() if self.judgement else None,
            "prices": self.prices.as_json() if self.prices else None,
            **({"measured": list(self.measured)} if self.measured else {}),
            **({"folder": shown(self.folder)} if self.folder else {}),
        }
        made = cast("ComparisonDocument", document)
        return {**made, "verdict": verdict(made)}

    @property
    def choices(self) -> pl.DataFrame:
        """The ranking as a Polars frame, one row per configuration: rank, the choices, and each
        metric's mean, lo and hi.
        """
        import polars as pl

        rows = [
            {
                "rank": ranked.rank,
                **ranked.configuration.params,
                **{
                    name if part == "mean" else f"{name}_{part}": getattr(choice, part)
                    for name, choice in ranked.metrics.items()
                    for part in ("mean", "lo", "hi")
                },
                "why": ranked.why,
            }
            for ranked in self.ranking
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def shown(self) -> dict[str, DatasetRun]:
        """The runs of the charts, those of the lowest seed, by label.

        They are the best, the recommended one, the ``low_latency_choice``, the best of each other
        variant that differs from these, and the last.
        """
        wanted = [self.best, *filter(None, (self.recommended, self.low_latency_choice))]
        picked = list({ranked.configuration: ranked for ranked in wanted}.values())
        variants = dict.fromkeys(ranked.configuration.variant for ranked in self.ranking)
        for variant in variants:
            # A run equal to one already picked would hide it.
            others = (r for r in self.ranking if r.configuration.variant == variant and not _among(r, picked))
            if variant != self.best.configuration.variant and (choice := next(others, None)):
                picked.append(choice)
        picked = picked[: MAX_SHOWN - 1]
        if not _among(self.ranking[-1], picked):
            picked.append(self.ranking[-1])
        return {r.configuration.label: min(self.results[r.configuration], key=lambda one: one.seed) for r in picked}

    def shown_numbers(self) -> dict[str, int]:
        """The numbers of the runs in ``shown``, by label."""
        return {label: one.number for label, one in self.shown().items()}

    def panels(self) -> list[Panel]:
        """Window, RTT, goodput and queue over time of the runs in ``shown``."""
        from ackclock.plot.time_series import Frames, panels_of_runs

        return panels_of_runs({label: Frames(one.series, one.hops) for label, one in self.shown().items()})

    @property
    def flows(self) -> pl.DataFrame:
        """One row for each run and flow, with the run's number, the configuration and the seed."""
        return self.data.table("flows")

    @property
    def runs(self) -> pl.DataFrame:
        """One row for each run: its number, the configuration, the seed, the metrics."""
        return self.data.table("runs")

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`choices`, `runs` and `flows`."""
        return {"choices": self.choices, "runs": self.runs, "flows": self.flows}

    def plot(self) -> Plot:
        """The panels."""
        from ackclock.plot.figure import Plot

        return Plot(self.panels(), self.title or self.link)

    def _page(self) -> Page:
        from ackclock.comparison.report_page import page
        from ackclock.report.run_input import RunInput

        return page(self.document, self.panels(), RunInput(self.scenario))

    def _title(self) -> str:
        seeds = len(next(iter(self.results.values())))
        return f"{self.title or self.link}: {len(self.ranking)} configurations, {seeds} seeds each"

    def _tables(self) -> list[Table]:
        from ackclock.comparison.terminal_tables import tables

        return tables(self)

    def screen(self) -> tuple[list[Table], list[str]]:
        from ackclock.comparison.screen import screen

        return screen(self.document)

    def _cell(self, ranked: Ranked) -> ComparedCell:
        cell = {
            **ranked.configuration.params,
            "label": ranked.configuration.label,
            "n": len(self.results[ranked.configuration]),
            "limits": dict(ranked.limit.shares) if ranked.limit else None,
            "limit": ranked.limit.document if ranked.limit else None,
            "why": ranked.limit.why if ranked.limit else None,
            "metrics": {name: choice.as_json() for name, choice in ranked.metrics.items()},
        }
        loads = self._loads(ranked.configuration.label)
        return cast("ComparedCell", cell if loads is None else {**cell, "loads": loads})

    def _loads(self, label: str) -> dict[str, Metrics] | None:
        """`loads` of a cell that ran under the loads; None for others."""
        scored = self.judgement.choices if self.judgement else ()
        return next((one.loads_json() for one in scored if one.label == label), None)

    def _asked_order(self, ranked: Ranked) -> int:
        return list(self.results).index(ranked.configuration)
