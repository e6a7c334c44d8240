"""The result of a comparison: cells with intervals, a ranking with reasons, and the runs to look at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.comparison.asymmetry import Asymmetry
from ackclock.comparison.configuration import Configuration
from ackclock.comparison.ranking import Ranked
from ackclock.result import Result
from ackclock.simulation import run_files
from ackclock.simulation.runner import RunResult

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.plot.figure import Plot
    from ackclock.plot.time_series import Panel
    from ackclock.report.page import Page

MOST_SHOWN = 5
"""Runs laid over each other in the time-series charts."""


def _among(ranked: Ranked, others: Sequence[Ranked]) -> bool:
    """Whether one of ``others`` has the same mean in every metric."""

    def figures(of: Ranked) -> dict[str, float]:
        return {name: found.mean for name, found in of.metrics.items()}

    return any(figures(ranked) == figures(other) for other in others)


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """What ``compare`` found.

    ``link`` is the link as it was named, ``title`` its own title, ``scenario`` the first configuration's scenario
    with every default said, ``folder`` the run folder (None when nothing was kept). ``no_asymmetry`` says why there is no
    ``asymmetry``, if so; ``points`` are the configurations as sweep parameters; ``measured`` are a measurement's
    transfers beside them; ``notes`` are sentences that a reader of the ranking should know.
    """

    link: str
    title: str
    scenario: Mapping[str, Any]
    rank_by: str
    ranking: Sequence[Ranked]
    results: Mapping[Configuration, Sequence[RunResult]]
    asymmetry: Asymmetry | None
    folder: Path | None
    no_asymmetry: str | None = None
    points: Mapping[Configuration, Mapping[str, Any]] = field(default_factory=dict)
    measured: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()

    @property
    def best(self) -> Ranked:
        """The winner: first in the ranking, or among equals the one with the lowest p95 RTT."""
        return self.ranking[0]

    @property
    def quick(self) -> Ranked | None:
        """The most responsive choice that costs little: at most a tenth less goodput than the best, at most half
        its p95 RTT.

        None where there is no such choice.
        """

        def of(ranked: Ranked, name: str) -> float:
            return ranked.metrics[name].mean if name in ranked.metrics else math.nan

        goodput, rtt = of(self.best, "goodput_bps"), of(self.best, "rtt_p95_ms")
        able = [r for r in self.ranking if of(r, "goodput_bps") >= 0.9 * goodput and of(r, "rtt_p95_ms") <= 0.5 * rtt]
        return min(able, key=lambda ranked: of(ranked, "rtt_p95_ms"), default=None)

    @property
    def document(self) -> dict[str, Any]:
        """The document of ``compare --json``."""
        return {
            "link": self.link,
            "title": self.title,
            "scenario": dict(self.scenario),
            "rank_by": self.rank_by,
            "asymmetry": self.asymmetry.as_json() if self.asymmetry else None,
            "no_asymmetry": self.no_asymmetry,
            "notes": list(self.notes),
            "cells": [self._cell(ranked) for ranked in sorted(self.ranking, key=self._asked_order)],
            "ranking": [ranked.as_json() for ranked in self.ranking],
            "quick": self.quick.configuration.label if self.quick else None,
            **({"measured": list(self.measured)} if self.measured else {}),
            **({"folder": str(self.folder)} if self.folder else {}),
        }

    @property
    def choices(self) -> pl.DataFrame:
        """The ranking as a Polars frame, one row per configuration: rank, the choices, and each metric's mean, lo and hi."""
        import polars as pl

        rows = [
            {
                "rank": ranked.rank,
                **ranked.configuration.params,
                **{
                    name if part == "mean" else f"{name}_{part}": getattr(found, part)
                    for name, found in ranked.metrics.items()
                    for part in ("mean", "lo", "hi")
                },
                "why": ranked.why,
            }
            for ranked in self.ranking
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def shown(self) -> dict[str, RunResult]:
        """The runs worth laying over each other, lowest seed, by label.

        The best, the ``quick`` one, the best of every other variant that differs from those, and the last.
        """
        picked = [self.best]
        if self.quick:
            picked.append(self.quick)
        variants = dict.fromkeys(ranked.configuration.variant for ranked in self.ranking)
        for variant in variants:
            # A run that equals one already shown would only hide it.
            others = (r for r in self.ranking if r.configuration.variant == variant and not _among(r, picked))
            if variant != self.best.configuration.variant and (found := next(others, None)):
                picked.append(found)
        picked = picked[: MOST_SHOWN - 1]
        if not _among(self.ranking[-1], picked):
            picked.append(self.ranking[-1])
        return {r.configuration.label: min(self.results[r.configuration], key=lambda one: one.seed) for r in picked}

    def shown_folders(self) -> dict[str, str]:
        """Of the runs in ``shown``, the names of their folders in ``cells/``; empty when nothing was kept."""
        return {label: one.folder.name for label, one in self.shown().items() if one.folder}

    def panels(self) -> list[Panel]:
        """Window, RTT, goodput and queue over time of the runs in ``shown``."""
        from ackclock.plot.time_series import Frames, panels_of_runs

        return panels_of_runs({label: Frames(one.series, one.hops) for label, one in self.shown().items()})

    @property
    def flows(self) -> pl.DataFrame:
        """One row per run and flow, with the configuration's choices and the seed."""
        every = [one for of_choice in self.results.values() for one in of_choice]
        return run_files.flows_frame([one.summary for one in every], [one.params for one in every])

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`choices` and `flows`."""
        return {"choices": self.choices, "flows": self.flows}

    def plot(self) -> Plot:
        """The panels."""
        from ackclock.plot.figure import Plot

        return Plot(self.panels(), self.title or self.link)

    def _page(self) -> Page:
        from ackclock.report.comparison import page

        return page(self.document, self.panels())

    def _title(self) -> str:
        seeds = len(next(iter(self.results.values())))
        return f"{self.title or self.link}: {len(self.ranking)} configurations, {seeds} seeds each"

    def _tables(self) -> list[Table]:
        from ackclock.comparison.terminal_tables import measured_table, ranking_table

        return [ranking_table(self), *measured_table(self)]

    def _cell(self, ranked: Ranked) -> dict[str, Any]:
        return {
            **ranked.configuration.params,
            "label": ranked.configuration.label,
            "n": len(self.results[ranked.configuration]),
            "metrics": {name: found.as_json() for name, found in ranked.metrics.items()},
        }

    def _asked_order(self, ranked: Ranked) -> int:
        return list(self.results).index(ranked.configuration)
