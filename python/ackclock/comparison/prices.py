"""Prices of the recommended configurations: what they cost other flows on the same hops.

Each priced configuration also runs beside one flow of cubic, one of reno and short transfers
(simulation/harm.py), and with sparse flows (`comparison.loads`); docs/reference/prices.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

from ackclock.format import milliseconds, percent, rate, three
from ackclock.simulation.harm import DEFAULTS, EQUAL_SHARE, TRANSFER, TRANSFER_BYTES, completion_s, of_harm
from ackclock.simulation.metrics import Run, over_seeds
from ackclock.statistics import Interval, jain_index, ratio
from ackclock.statistics.summary_stats import stats_of, summary_stats

if TYPE_CHECKING:
    from ackclock.documents.compare import Price as PriceDocument
    from ackclock.documents.compare import PricedChoice
    from ackclock.documents.simulate import ExplainedRun

OTHERS = ("cubic", "reno")
"""The variants of the flow beside the configuration; its host's default otherwise."""
REFERENCE = DEFAULTS
"""The alternative that every configuration has: a flow with the host's defaults in its place, over
the link as it is.
"""

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
            lambda value, best: f"beside a {other} flow it gets {rate(value)}, the host's default {rate(best)}",
            _lower,
            higher_is_better=True,
            tied=False,
        ),
        Measure(
            f"{other}_goodput_bps",
            lambda value, best: f"a {other} flow beside it gets {rate(value)} instead of {rate(best)}",
            _lower,
            higher_is_better=True,
            tied=False,
        ),
    )


def _short(part: str, words: str) -> Measure:
    return Measure(
        f"short_{part}_s",
        lambda value, best: (
            f"a transfer of {three(TRANSFER_BYTES / 1e3)} kB beside it takes {milliseconds(1e3 * value)} {words} "
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

    def as_json(self) -> PriceDocument:
        """An entry of ``named`` in ``compare``'s JSON document."""
        return cast("PriceDocument", asdict(self))


@dataclass(frozen=True)
class Priced:
    """A configuration with its figures beside each companion, and its named prices.

    ``alternatives`` are the labels of the configurations tied with it that have prices, too.
    """

    label: str
    metrics: Mapping[str, Interval]
    alternatives: tuple[str, ...]
    named: tuple[Price, ...]

    def as_json(self) -> PricedChoice:
        """An entry of ``prices.choices`` in ``compare``'s JSON document."""
        return {
            "label": self.label,
            "alternatives": list(self.alternatives),
            "metrics": {name: value.as_json() for name, value in self.metrics.items()},
            "named": [price.as_json() for price in self.named],
        }


def of_beside(summary: ExplainedRun) -> dict[str, float]:
    """The metrics of a run beside another flow (`simulation.harm.of_harm`), with quantiles of the
    completion times of the short transfers in s, and how many are not complete. Such a one counts
    with its time until the end of the run.
    """
    flows = (flow for flow in summary["flows"] if not flow.get("feeds"))
    short = [flow for flow in flows if flow["flow"].partition("-")[0] == TRANSFER]
    metrics = of_harm(summary)
    if short:
        p50, p95 = stats_of(summary_stats([completion_s(flow) for flow in short]), "p50", "p95")
        metrics |= {"short_p50_s": _number(p50), "short_p95_s": _number(p95)}
        metrics["short_unfinished"] = float(sum(flow["completed_s"] is None for flow in short))
    return metrics


def _number(value: float | None) -> float:
    return math.nan if value is None else value


Seeds = Mapping[int, float]
"""A metric's value by seed."""


@dataclass(frozen=True)
class BesideRuns:
    """The runs of a configuration that has prices, by seed.

    Attributes:
        alone: without other flows; of the host's defaults under the load, if not compared.
        sparse: with sparse flows, under the load of the compared direction.
        beside: beside each companion ("cubic", "reno", "transfer").
        direction: of the data.
    """

    alone: Mapping[int, Run]
    sparse: Mapping[int, Run]
    beside: Mapping[str, Mapping[int, Run]]
    direction: str

    def figures(self) -> dict[str, Seeds]:
        """Its figures by seed."""
        found = {name: _of(self.alone, name) for name in ("goodput_bps", "retransmission_rate", "rtt_p95_ms")}
        found |= {
            f"probe_{name}": _of(self.sparse, f"{self.direction}_{name}") for name in ("delay_p95_ms", "loss_rate")
        }
        short = self.beside.get(TRANSFER, {})
        found |= {name: _of(short, name) for name in ("short_p50_s", "short_p95_s", "short_unfinished")}
        for other in OTHERS:
            runs = self.beside.get(other, {})
            found |= {
                f"beside_{other}_goodput_bps": _of(runs, "own_bps"),
                f"{other}_goodput_bps": _of(runs, "other_bps"),
                f"beside_{other}_jain": jain_by_seed(runs),
            }
        return found


def prices(
    runs: Mapping[str, BesideRuns], tied: Mapping[str, Sequence[str]], defaults: str
) -> tuple[list[Priced], list[Priced]]:
    """The prices of configurations by their label, and the figures of the host's defaults.

    `tied` are the labels that are tied with a configuration, `defaults` the label of the host's
    defaults.
    """
    figures = {label: of.figures() for label, of in runs.items()}
    reference = figures[defaults]
    compared = [label for label in runs if label != REFERENCE]
    return (
        [_priced(label, tied.get(label, ()), figures, reference) for label in compared],
        [Priced(REFERENCE, _intervals(reference), (), ())],
    )


def jain_by_seed(runs: Mapping[int, Run]) -> dict[int, float]:
    """Jain's index of a flow and the one beside it, by seed."""
    return {seed: jain_index((run["own_bps"], run["other_bps"])) for seed, run in sorted(runs.items())}


def _intervals(figures: Mapping[str, Seeds]) -> dict[str, Interval]:
    seeds = sorted({seed for of in figures.values() for seed in of})
    return over_seeds({name: of.get(seed, math.nan) for name, of in figures.items()} for seed in seeds)


def _priced(
    label: str, tied: Sequence[str], figures: Mapping[str, Mapping[str, Seeds]], reference: Mapping[str, Seeds]
) -> Priced:
    pool = {name: of for name, of in figures.items() if name == label or name in tied}
    intervals = _intervals(figures[label])
    for other in OTHERS:
        goodput = f"{other}_goodput_bps"
        if figures[label][goodput] and reference[goodput]:
            intervals[f"{other}_harm"] = _harm(figures[label][goodput], reference[goodput])
    named = tuple(price for measure in MEASURES if (price := named_price(measure, label, pool, reference)))
    return Priced(label, intervals, tuple(name for name in pool if name != label), named)


def _of(of_seed: Mapping[int, Run], name: str) -> Seeds:
    return {seed: run[name] for seed, run in of_seed.items() if not math.isnan(run.get(name, math.nan))}


def _mean(values: Seeds) -> float:
    return math.fsum(values.values()) / len(values) if values else math.nan


def _harm(beside_it: Seeds, beside_default: Seeds) -> Interval:
    """The harm to the other flow: what it loses against the host's defaults in this place, 1 minus
    the ratio of its goodputs (after Ware et al. 2019); below 0 where it gains.
    """
    found = ratio((beside_it[seed], beside_default[seed]) for seed in sorted(beside_it.keys() & beside_default.keys()))
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
    if not measure.is_worse(value, best) or _is_equal_share(measure.name, reference, value):
        return None
    certain = len(shared) > 1 and ratio((ours[s], theirs[s]) for s in shared).p < 0.05
    return Price(measure.name, value, best, than, certain, measure.text(value, best))


def _is_equal_share(metric: str, reference: Mapping[str, Seeds], value: float) -> bool:
    """Whether a goodput beside another flow is an equal share of what both have with the host's
    defaults: the end of an unfair excess is no price.
    """
    for other in OTHERS:
        sides = (f"beside_{other}_goodput_bps", f"{other}_goodput_bps")
        if metric in sides and all(reference.get(side) for side in sides):
            return value >= EQUAL_SHARE * math.fsum(_mean(reference[side]) for side in sides) / 2.0
    return False
