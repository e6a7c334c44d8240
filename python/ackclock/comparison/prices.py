"""Prices of the recommended configurations: what they cost other flows on the same hops.

Each priced configuration also runs beside one flow of cubic and one of reno (fairness, and harm
after Ware et al. 2019), with a sparse probe flow, and with short transfers (docs/prices.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ackclock.comparison.ack_path import HOST
from ackclock.comparison.configuration import Configuration
from ackclock.comparison.ranking import Ranked
from ackclock.format import milliseconds, percent, rate, three
from ackclock.input.scenario.draft import Draft
from ackclock.simulation.metrics import Run, of_run, over_seeds
from ackclock.simulation.run_list import RunList
from ackclock.simulation.sparse_flow import (
    PROBE_BYTES,
    PROBE_SHARE,
    SparseDelays,
    path_lost_share,
    path_p95_ms,
    sparse_table,
)
from ackclock.statistics import Interval, jain_index, ratio
from ackclock.statistics.summary_stats import summary_stats

MAX_PRICED = 4
"""Maximum number of configurations with prices."""
MAX_SEEDS = 5
"""Maximum number of seeds of their runs: the first ones of the comparison."""
OTHERS = ("cubic", "reno")
"""The variants of the flow beside the configuration; its host's default otherwise."""
FLOW, OTHER, PROBE, SHORT = "flow", "other", "probe", "short"
"""Base names of the flows."""
REFERENCE = "the host's defaults"
"""The alternative that every configuration has: a cubic flow (beside a reno flow: a reno flow) with
the host's other defaults over the same bottleneck.
"""
PROBE_EVERY_S = 0.1
SHORT_BYTES = 14_480
"""A short transfer: ten segments of 1448 B, the initial window of RFC 6928."""
SHORT_SHARE = 0.05
MAX_SHORT = 20
"""Maximum number of short transfers in a run."""

WORSE_SHARE = 0.1
"""A goodput, an index or a time is a price from this share on that it is worse."""
WORSE_MS = 10.0
"""A delay is a price from so many milliseconds on."""
WORSE_RETRANSMITTED = 0.01
"""A retransmission rate is a price from this difference on."""
MAX_LOST = 0.05
"""Above this share of lost packets the p95 delay of a sparse flow has timeouts: its loss is a
price, too."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that may be a price.

    Attributes:
        name: the metric.
        text: the price as a clause, from its value and the better one.
        is_worse: whether a value is a price beside a better one.
        higher_is_better: of two values.
        tied: the configurations tied with this one are alternatives; else only the reference is.
    """

    name: str
    text: Callable[[float, float], str]
    is_worse: Callable[[float, float], bool]
    higher_is_better: bool = False
    tied: bool = True


def _later(value: float, best: float) -> bool:
    return value - best >= WORSE_MS


def _longer(value: float, best: float) -> bool:
    return value >= (1.0 + WORSE_SHARE) * best and 1e3 * (value - best) >= WORSE_MS


def _lower(value: float, best: float) -> bool:
    return value <= (1.0 - WORSE_SHARE) * best


def _loses(value: float, best: float) -> bool:
    return value > MAX_LOST and value - best >= WORSE_RETRANSMITTED


def _beside(other: str) -> tuple[Measure, ...]:
    """Its own goodput beside a flow, and that flow's. What one choice leaves to others beyond their
    share is no price of another choice: the reference alone counts.
    """
    return (
        Measure(
            f"beside_{other}_goodput_bps",
            lambda value, best: f"beside a {other} flow it gets {rate(value)}, {other} in its place {rate(best)}",
            _lower,
            higher_is_better=True,
            tied=False,
        ),
        Measure(
            f"{other}_goodput_bps",
            lambda value, best: f"a {other} flow beside it gets {rate(value)}, beside its own kind {rate(best)}",
            _lower,
            higher_is_better=True,
            tied=False,
        ),
    )


def _short(part: str, words: str) -> Measure:
    return Measure(
        f"short_{part}_s",
        lambda value, best: (
            f"a transfer of {three(SHORT_BYTES / 1e3)} kB beside it takes {milliseconds(1e3 * value)} {words} "
            f"instead of {milliseconds(1e3 * best)}"
        ),
        _longer,
    )


MEASURES = (
    Measure(
        "retransmission_rate",
        lambda value, best: f"{percent(value)} of the segments are retransmissions instead of {percent(best)}",
        lambda value, best: value - best >= WORSE_RETRANSMITTED,
    ),
    Measure(
        "rtt_p95_ms",
        lambda value, best: f"its p95 RTT is {milliseconds(value)} instead of {milliseconds(best)}",
        _later,
    ),
    *(measure for other in OTHERS for measure in _beside(other)),
    Measure(
        "probe_delay_p95_ms",
        lambda value, best: (
            f"a sparse flow beside it has a p95 one-way delay of {milliseconds(value)} instead of {milliseconds(best)}"
        ),
        _later,
    ),
    Measure(
        "probe_loss_rate",
        lambda value, best: f"a sparse flow beside it loses {percent(value)} of its packets instead of {percent(best)}",
        _loses,
    ),
    _short("p50", "at the median"),
    _short("p95", "at p95"),
)
"""The figures that may be prices, in the order of their clauses."""


@dataclass(frozen=True, slots=True)
class Price:
    """A price of a configuration: a figure that is worse than that of the best alternative.

    ``than`` is the alternative: the label of a configuration tied with it, or the reference
    (`REFERENCE`). ``certain``: the 95 % interval of the ratio of the two figures over the seeds
    excludes 1.
    """

    metric: str
    value: float
    best: float
    than: str
    certain: bool
    text: str

    def as_json(self) -> dict[str, object]:
        """An entry of ``named`` in ``compare``'s JSON document."""
        return {
            "metric": self.metric,
            "value": self.value,
            "best": self.best,
            "than": self.than,
            "certain": self.certain,
            "text": self.text,
        }


@dataclass(frozen=True)
class Priced:
    """A configuration with its figures beside each companion, and its named prices.

    ``alternatives`` are the labels of the configurations tied with it that have prices, too.
    """

    label: str
    metrics: Mapping[str, Interval]
    alternatives: tuple[str, ...]
    named: tuple[Price, ...]

    def as_json(self) -> dict[str, object]:
        """An entry of ``prices.choices`` in ``compare``'s JSON document."""
        return {
            "label": self.label,
            "alternatives": list(self.alternatives),
            "metrics": {name: value.as_json() for name, value in self.metrics.items()},
            "named": [price.as_json() for price in self.named],
        }


def chosen(ranking: Sequence[Ranked], low_latency: Ranked | None) -> list[Ranked]:
    """The configurations that get prices: the best, the one for low latency, then those tied with
    the best, one for each variant, queue and ACK policy, then the next of the ranking; at most
    `MAX_PRICED` in all.
    """
    best = ranking[0]
    picked = [best, low_latency] if low_latency and low_latency is not best else [best]
    picked = [ranked for ranked in picked if ranked.delivers]
    kinds = {_kind(ranked.configuration) for ranked in picked}
    for ranked in (*(r for r in ranking if r.rank == best.rank), *ranking):
        if len(picked) >= MAX_PRICED:
            break
        kind = _kind(ranked.configuration)
        if kind not in kinds and ranked.same_as is None and ranked.delivers:
            kinds.add(kind)
            picked.append(ranked)
    return picked


def _kind(choice: Configuration) -> tuple[str, ...]:
    return (choice.variant, choice.queue, choice.ack_policy, choice.ack_technique)


def companions(kind: str, direction: str, duration_s: float, goodput_bps: float) -> list[dict[str, Any]]:
    """The [[flow]] tables beside the compared flows: one flow of a variant, the probe flow, or the
    short transfers. Probe and transfers take little of the link's goodput.
    """
    if kind == ALONE:
        return []
    if kind in OTHERS:
        return [{"name": OTHER, "direction": direction, "variant": kind, "workload": {"kind": "bulk"}}]
    if kind == PROBE:
        every = min(max(PROBE_EVERY_S, 8 * PROBE_BYTES / (PROBE_SHARE * goodput_bps)), duration_s / 20)
        return [sparse_table(PROBE, direction, every)]
    times = min(max(int(SHORT_SHARE * goodput_bps * duration_s / (8 * SHORT_BYTES)), 2), MAX_SHORT)
    first_s, every_s = duration_s / 4, 0.7 * duration_s / times
    return [
        {
            "name": SHORT,
            "direction": direction,
            "workload": {"kind": "transfer", "size": f"{SHORT_BYTES} B"},
            "start": f"uniform({round(1e3 * first_s)} ms, {round(1e3 * (first_s + every_s / 2))} ms)",
            "repeat": {"every": f"{max(round(1e3 * every_s), 1)} ms", "times": times},
        }
    ]


KINDS = (*OTHERS, PROBE, SHORT)
"""The companions of a priced configuration, each in runs of its own."""
ALONE = "alone"
"""The runs of the reference without a companion; the comparison has those of the configurations."""


def max_runs(configurations: int, seeds: int) -> int:
    """The maximum number of runs for prices."""
    priced = min(MAX_PRICED, configurations)
    return priced * (2 * len(KINDS) + 1) * min(seeds, MAX_SEEDS)


def price_runs(
    priced: Sequence[Ranked],
    drafts: Mapping[str, Draft],
    points: Mapping[Configuration, Mapping[str, Any]],
    seeds: Sequence[int],
    flows: Sequence[str],
    series: str,
) -> RunList:
    """The runs of each priced configuration with each of `KINDS`, then for each bottleneck those of
    the reference alone and with each of `KINDS`.

    `drafts` are the scenarios by companion, `points` the configurations as sweep parameters,
    `flows` the names of the flows with the configuration's TCP.
    """
    params: list[dict[str, Any]] = []
    scenarios = []
    for ranked in priced:
        tcp, path = _parted(points[ranked.configuration])
        keys = {f"flow.{flow}.{key.removeprefix('tcp.')}": value for flow in flows for key, value in tcp.items()}
        for kind in KINDS:
            params.append({**ranked.configuration.params, "beside": kind})
            scenarios.append(drafts[kind].check({**keys, **path}))
    for choice in _bottlenecks(priced):
        _, path = _parted(points[choice])
        for kind in (ALONE, *KINDS):
            variant = _reference_variant(kind)
            params.append({"variant": variant, "queue": choice.queue, "ack_policy": choice.ack_policy, "beside": kind})
            scenarios.append(drafts[kind].check({**{f"flow.{flow}.variant": variant for flow in flows}, **path}))
    return RunList(params, scenarios, tuple(seeds[:MAX_SEEDS]), of_priced, "all" if series == "all" else "none")


def _reference_variant(kind: str) -> str:
    """The variant of the reference: beside another flow its own kind."""
    return kind if kind in OTHERS else OTHERS[0]


def _bottlenecks(priced: Sequence[Ranked]) -> list[Configuration]:
    """A configuration for each bottleneck of the priced ones."""
    return list({_path(ranked.configuration): ranked.configuration for ranked in priced}.values())


def _parted(point: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The TCP keys of a configuration, and those of the path."""
    tcp = {key: value for key, value in point.items() if key.startswith("tcp.")}
    return tcp, {key: value for key, value in point.items() if key not in tcp}


def _path(choice: Configuration) -> tuple[str, str]:
    return choice.queue, choice.ack_policy


def of_priced(summary: Mapping[str, Any]) -> dict[str, float]:
    """The metrics of a run with a companion, or of the reference alone: goodput, retransmission
    rate and p95 RTT of the compared flows, the goodput of the other flow, Jain's index of all of
    them, the share of the probe's packets that are lost and the p95 of its one-way delay with the
    timeouts of lost packets (`simulation.sparse_flow`), and quantiles of the completion times of
    the short transfers.

    A transfer that is not complete at the end of the run counts with its time until then.
    """
    own = of_run(
        {**summary, "flows": [f for f in summary["flows"] if f["flow"].partition("-")[0].partition("@")[0] == FLOW]}
    )
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for flow in summary["flows"]:
        if not flow.get("feeds"):
            by_name.setdefault(flow["flow"].partition("-")[0], []).append(flow)
    compared = [flow["goodput_bps"] or 0.0 for flow in by_name.get(FLOW, ())]
    metrics = {"goodput_bps": math.fsum(compared)}
    metrics |= {name: own[name] for name in ("retransmission_rate", "rtt_p95_ms")}
    for other in by_name.get(OTHER, ()):
        goodput = other["goodput_bps"] or 0.0
        metrics |= {"other_goodput_bps": goodput, "jain": jain_index([*compared, goodput])}
    for probe in by_name.get(PROBE, ()):
        side = SparseDelays.of_row(probe)
        metrics |= {"probe_delay_p95_ms": path_p95_ms([side]), "probe_loss_rate": path_lost_share([side])}
    if short := by_name.get(SHORT):
        times = [_completion_s(flow) for flow in short]
        found = summary_stats(times) or {}
        metrics |= {f"short_{part}_s": _number(found.get(part)) for part in ("p50", "p95")}
        metrics["short_unfinished"] = float(sum(flow["completed_s"] is None for flow in short))
    return metrics


def _completion_s(flow: Mapping[str, Any]) -> float:
    done = flow["completed_s"]
    return float(done if done is not None else flow["end_s"] - flow["host_start_s"])


def _number(value: float | None) -> float:
    return math.nan if value is None else value


Seeds = Mapping[int, float]
"""A metric's value by seed."""


def prices(
    priced: Sequence[Ranked], runs: RunList, metrics: Sequence[Sequence[Run]], compared: Mapping[str, Mapping[int, Run]]
) -> tuple[list[Priced], list[Priced]]:
    """The prices of configurations, and the figures of the reference over each bottleneck, from the
    metrics of `price_runs` by point and seed.

    `compared` are the metrics of the comparison's own runs, by label and seed.
    """
    of_point = iter([dict(zip(runs.seeds, of_seed, strict=True)) for of_seed in metrics])
    figures: dict[str, dict[str, Seeds]] = {}
    for ranked in priced:
        label = ranked.configuration.label
        figures[label] = _figures({ALONE: compared[label], **{kind: next(of_point) for kind in KINDS}})
    references = {
        _path(choice): _figures({kind: next(of_point) for kind in (ALONE, *KINDS)}) for choice in _bottlenecks(priced)
    }
    return (
        [_priced(ranked, figures, references[_path(ranked.configuration)]) for ranked in priced],
        [
            Priced(_reference_label(choice), _intervals(references[_path(choice)]), (), ())
            for choice in _bottlenecks(priced)
        ],
    )


def _reference_label(choice: Configuration) -> str:
    """The reference over the bottleneck of a configuration, in a few words."""
    return ", ".join([f"own kind, {REFERENCE}", *replace(choice, ack_technique=HOST).path_differences()])


def _figures(runs: Mapping[str, Mapping[int, Run]]) -> dict[str, Seeds]:
    """The figures of one configuration from its runs alone and with each of `KINDS`."""
    found = {
        **{name: _of(runs[ALONE], name) for name in ("goodput_bps", "retransmission_rate", "rtt_p95_ms")},
        **{name: _of(runs[PROBE], name) for name in ("probe_delay_p95_ms", "probe_loss_rate")},
        **{name: _of(runs[SHORT], name) for name in ("short_p50_s", "short_p95_s", "short_unfinished")},
    }
    for other in OTHERS:
        found |= {
            f"beside_{other}_goodput_bps": _of(runs[other], "goodput_bps"),
            f"{other}_goodput_bps": _of(runs[other], "other_goodput_bps"),
            f"beside_{other}_jain": _of(runs[other], "jain"),
        }
    return found


def _intervals(figures: Mapping[str, Seeds]) -> dict[str, Interval]:
    seeds = sorted({seed for of in figures.values() for seed in of})
    return over_seeds({name: of.get(seed, math.nan) for name, of in figures.items()} for seed in seeds)


def _priced(ranked: Ranked, figures: Mapping[str, Mapping[str, Seeds]], reference: Mapping[str, Seeds]) -> Priced:
    label = ranked.configuration.label
    pool = {name: of for name, of in figures.items() if name == label or name in ranked.tied_with}
    intervals = _intervals(figures[label])
    for other in OTHERS:
        goodput = f"{other}_goodput_bps"
        intervals[f"{other}_harm"] = _harm(figures[label][goodput], reference[goodput])
    named = tuple(price for measure in MEASURES if (price := named_price(measure, label, pool, reference)))
    return Priced(label, intervals, tuple(name for name in pool if name != label), named)


def _of(of_seed: Mapping[int, Run], name: str) -> Seeds:
    return {seed: run[name] for seed, run in of_seed.items() if not math.isnan(run.get(name, math.nan))}


def _mean(values: Seeds) -> float:
    return math.fsum(values.values()) / len(values) if values else math.nan


def _harm(beside_it: Seeds, beside_its_own: Seeds) -> Interval:
    """The harm to the other flow: what it loses against sharing with its own kind, 1 minus the
    ratio of its goodputs (after Ware et al. 2019); below 0 where it gains.
    """
    found = ratio((beside_it[seed], beside_its_own[seed]) for seed in sorted(beside_it.keys() & beside_its_own.keys()))
    return Interval(
        1.0 - found.value, 1.0 - found.hi, 1.0 - found.lo, math.nan, found.n, "log-t" if found.n > 1 else "single"
    )


def named_price(
    measure: Measure, label: str, pool: Mapping[str, Mapping[str, Seeds]], reference: Mapping[str, Seeds]
) -> Price | None:
    """The price of a configuration by one measure: its mean is worse than the best one of the
    configurations tied with it, or than the reference. None where it is not.

    `pool` are the figures of the configuration and of those tied with it, by label.
    """
    ours = pool[label].get(measure.name, {})
    others = {name: of for name, of in pool.items() if name != label and measure.tied}
    alternatives = {
        name: of[measure.name] for name, of in {**others, REFERENCE: reference}.items() if of.get(measure.name)
    }
    if not ours or not alternatives:
        return None
    sign = -1.0 if measure.higher_is_better else 1.0
    than = min(alternatives, key=lambda name: sign * _mean(alternatives[name]))
    theirs = alternatives[than]
    shared = sorted(ours.keys() & theirs.keys())
    value, best = _mean({s: ours[s] for s in shared}), _mean({s: theirs[s] for s in shared})
    if not measure.is_worse(value, best):
        return None
    certain = len(shared) > 1 and ratio((ours[s], theirs[s]) for s in shared).p < 0.05
    return Price(measure.name, value, best, than, certain, measure.text(value, best))
