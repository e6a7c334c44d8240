"""The ranking: by goodput (or another metric) with ties, by p95 RTT within a tie, with a reason for
each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.comparison.configuration import Configuration
from ackclock.comparison.reasons import Standing, is_undecided, why
from ackclock.errors import InputError
from ackclock.simulation.limits import FlowLimit
from ackclock.simulation.metrics import Run, over_seeds
from ackclock.statistics import Interval, Rank, Ratio, rank

if TYPE_CHECKING:
    from ackclock.documents.compare import Rank as RankDocument
    from ackclock.documents.compare import Setting

RANK_BY: dict[str, bool] = {"goodput_bps": True, "rtt_p95_ms": False, "retransmission_rate": False, "jain": True}
"""The metrics of a ranking, and whether larger is better."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One row of the ranking. ``tied_with`` are the labels of the configurations without a
    significant difference; ``same_as`` is the label of an earlier one with equal figures, or None;
    ``limit`` is what limits its flows, None without data; ``settings`` give its
    socket buffers. ``ratio`` is the ratio of the mean to the best mean of all, with the interval
    that decided the rank; None of the best mean and without values. ``undecided``: that interval
    includes 1 although the means differ by more than 5 %.
    """

    rank: int
    configuration: Configuration
    metrics: Mapping[str, Interval]
    why: str
    tied_with: tuple[str, ...]
    same_as: str | None = None
    limit: FlowLimit | None = None
    settings: tuple[Setting, ...] = ()
    ratio: Ratio | None = None
    undecided: bool = False

    @property
    def delivers(self) -> bool:
        """Whether its flows delivered data."""
        return "goodput_bps" in self.metrics and self.metrics["goodput_bps"].mean > 0.0

    def as_json(self) -> RankDocument:
        """An entry of ``ranking`` in ``compare``'s JSON document."""
        return {
            "rank": self.rank,
            "label": self.configuration.label,
            "params": self.configuration.params,
            "why": self.why,
            "tied_with": list(self.tied_with),
            "same_as": self.same_as,
            "settings": list(self.settings),
            "ratio": self.ratio.as_json() if self.ratio else None,
            "undecided": self.undecided,
        }


def equal_configurations(label: str, same_as: Mapping[str, str | None]) -> str:
    """A sentence that names the configurations with the same figures as ``label``; empty without
    any. Those that differ in the variant only are named by it. ``same_as`` has the `same_as` of
    each label.
    """
    twins = [twin for twin, of in same_as.items() if of == label]
    if not twins:
        return ""
    rest = label.partition(", ")[2]
    names = [name if of == rest else twin for twin in twins for name, _, of in [twin.partition(", ")]]
    return f" The same in every figure: {'; '.join(names)}."


SHORT_RUN_RTTS = 50
"""Runs of fewer RTTs have a note: slow start takes a good part of them."""


def short_run_notes(ranking: Sequence[Ranked], duration_s: float) -> list[str]:
    """The note about runs of few RTTs; none if they are long enough."""
    rtt = ranking[0].metrics.get("rtt_mean_ms")
    rtts = 1e3 * duration_s / rtt.mean if rtt and rtt.mean else SHORT_RUN_RTTS
    if rtts >= SHORT_RUN_RTTS:
        return []
    return [
        f"A run has {rtts:.0f} RTTs, of which slow start takes a good part: a longer --duration shows the rate "
        "that follows."
    ]


def check_rank_by(rank_by: str, flows: int) -> None:
    """Raise InputError for a metric that cannot rank ``flows`` flows."""
    if rank_by == "jain" and flows < 2:
        raise InputError.problem(
            "jain compares flows, and there is one", "ask for two flows or more, or for another metric", key="rank_by"
        )


def ranking(
    runs: Mapping[Configuration, Mapping[int, Run]],
    rank_by: str = "goodput_bps",
    usual: str = "",
    limits: Mapping[Configuration, FlowLimit] | None = None,
) -> list[Ranked]:
    """Rank configurations by a metric.

    ``runs[configuration][seed]`` are the metrics of one run, and ``limits[configuration]`` is what
    limits its flows.

    Configurations share seeds and are compared by the ratios of their means with Holm's correction
    (``statistics.rank``). Within a tie the order is by p95 RTT (two digits), then by retransmission
    rate, then by the number of changes: the ``usual`` variant, delayed ACKs, the link's queues.
    ``rank_by`` has passed ``check_rank_by``.
    """
    metrics = {choice: over_seeds(of_seed.values()) for choice, of_seed in runs.items()}
    values = {
        choice: {seed: run[rank_by] for seed, run in of_seed.items() if not math.isnan(run.get(rank_by, math.nan))}
        for choice, of_seed in runs.items()
    }

    def then(choice: Configuration) -> tuple[float, ...]:
        of = metrics[choice]
        rtt, retransmission_rate = of.get("rtt_p95_ms"), of.get("retransmission_rate")
        return (
            float(f"{rtt.mean:.2g}") if rtt else math.inf,
            float(f"{retransmission_rate.mean:.2g}") if retransmission_rate else math.inf,
            choice.variant != usual,
            not choice.delayed_ack,
            len(choice.path_differences()),
        )

    places = rank(values, higher_is_better=RANK_BY[rank_by], then=then)
    winner = places[0]
    best = metrics[winner.key]

    def standing(place: Rank[Configuration]) -> Standing:
        behind: Standing = "undecided" if place.undecided else "behind"
        return "best" if place is winner else "tied" if place.rank == winner.rank else behind

    first_of: dict[tuple[float, ...], Configuration] = {}
    lines = []
    for place in places:
        of = metrics[place.key]
        limit = (limits or {}).get(place.key)
        twin = first_of.setdefault(tuple(found.mean for found in of.values()), place.key)
        reason = (
            why(of, limit, best=best, standing=standing(place), ratio=place.ratio, ranked_by=rank_by)
            if twin == place.key
            # Two variants can be equal on a host: newreno with SACK, or any variant whose window
            # remains small.
            else f"The same in every figure as {twin.label}."
        )
        same_as = None if twin == place.key else twin.label
        lines.append(
            Ranked(
                rank=place.rank,
                configuration=place.key,
                metrics=of,
                why=reason,
                tied_with=tuple(other.label for other in place.tied_with),
                same_as=same_as,
                limit=limit,
                ratio=place.ratio,
                undecided=is_undecided(standing(place), place.ratio),
            )
        )
    return lines
