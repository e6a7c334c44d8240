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
from ackclock.simulation.runner import RunResult

if TYPE_CHECKING:
    import polars as pl

    from ackclock.plot.time_series import Panel

MOST_SHOWN = 5
"""Runs laid over each other in the time-series charts."""


def _among(ranked: Ranked, others: Sequence[Ranked]) -> bool:
    """Whether one of ``others`` has the same mean in every metric."""

    def figures(of: Ranked) -> dict[str, float]:
        return {name: found.mean for name, found in of.metrics.items()}

    return any(figures(ranked) == figures(other) for other in others)


@dataclass(frozen=True)
class Comparison:
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

    def as_json(self) -> dict[str, Any]:
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

    def frame(self) -> pl.DataFrame:
        """The ranking as a Polars frame: rank, the choices, and each metric's mean, lo and hi."""
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

    def plot(self, path: Path | str) -> Path:
        """Write the panels as a figure; the suffix (.png, .svg, .pdf) is the format. Needs matplotlib."""
        from ackclock.plot.mpl import save

        return save(self.panels(), Path(path), self.title or self.link)

    def report(self, path: Path | str | None = None) -> Path:
        """Write the HTML report to ``path`` or into the run folder. Needs altair and vl-convert.

        Raises:
            ValueError: nothing was kept and no path was given.
        """
        from ackclock.report.comparison import page
        from ackclock.report.render import html
        from ackclock.storage.atomic_files import atomic_write

        if path is None and self.folder is None:
            raise ValueError("no run folder was kept; give a path")
        target = Path(path) if path is not None else Path(self.folder or ".") / "report.html"
        atomic_write(target, html(page(self.as_json(), self.panels())).encode())
        return target

    def _cell(self, ranked: Ranked) -> dict[str, Any]:
        return {
            **ranked.configuration.params,
            "label": ranked.configuration.label,
            "n": len(self.results[ranked.configuration]),
            "metrics": {name: found.as_json() for name, found in ranked.metrics.items()},
        }

    def _asked_order(self, ranked: Ranked) -> int:
        return list(self.results).index(ranked.configuration)
