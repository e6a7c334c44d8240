"""The bound of harm: what a change may take from others on the path, and from its own flow beside
them.

A flow with the change runs over the path beside one flow of cubic, beside one of reno, and beside
transfers of 100 kB. In no such place may the other flow, the transfers or (beside cubic) the flow
itself fall below half of what the host's defaults give there. A flow that keeps nine tenths of an
equal share is not harmed: it loses an unfair excess only. Ware et al. (2019), "Beyond Jain's
Fairness Index", compare with what a flow has beside its own kind; here the comparison is with the
defaults of the host that changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ackclock.format import milliseconds, percent, rate
from ackclock.input.scenario.draft import Draft
from ackclock.input.scenario.hosts import DEFAULT_HOST
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.metrics import Run
from ackclock.simulation.run_list import estimated_cpu_s
from ackclock.simulation.sparse_flow import UNKNOWN_BPS
from ackclock.statistics import Moments, ratio

if TYPE_CHECKING:
    from ackclock.documents.compare import Harm as HarmDocument
    from ackclock.documents.simulate import ExplainedRun, SimulatedFlow

SHARE = 0.5
"""The minimum in each place, as a share of what the host's defaults give there."""
EQUAL_SHARE = 0.9
"""A flow with this part of an equal share of what both flows had is not harmed."""
SAME_AS_IT_IS = 0.95
"""A flow with this part of what it has without the change is not pushed further."""
SETTLE_S, MEASURED_S = 10.0, 60.0
"""Flows are measured for 60 s after 10 s."""
MIN_MEASURED_S = 15.0
"""Minimum duration of the measurement, where 60 s take too much CPU time."""
SEEDS = 10
"""Number of seeds whose mean decides."""
FIRST_SEEDS = 3
"""Number of seeds after which a mean that is far from the bound decides."""
CONFIDENCE = 0.68
"""The mean less its standard error, about, has to be within the bound."""
FAR = 1.6
"""A ratio to the bound that is far from 1, if its interval excludes 1, too."""
TRANSFER_BYTES = 100_000
TRANSFERS = 12
"""Maximum number of transfers in a run."""
FLOW, OTHER, TRANSFER = "changed", "other", "transfer"
"""Names of the flows of a run."""
OTHERS = ("cubic", "reno", "bbr")
"""The variants of the flow beside the changed one."""
BOUNDED = ("cubic", "reno", TRANSFER)
"""The companions of the bound."""
DEFAULTS, AS_IT_IS = "the host's defaults", "as it is"
"""Labels of the runs that a change is compared with."""

Seeds = Mapping[int, Run]


@dataclass(frozen=True)
class Place:
    """A path, and the TCP of a flow over it.

    Attributes:
        draft: a scenario whose hops are the path; its flows and its [tcp] are left out.
        flow: keys of the [[flow]], such as `host`, `over` and TCP keys.
        keys: values by dotted path; those of hosts (`flow_key`) are of the flow alone.
    """

    draft: Draft
    flow: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)

    def scenario(
        self, direction: str, companion: str, measured_s: float = MEASURED_S, settle_s: float = SETTLE_S
    ) -> Scenario:
        """A run of the flow beside a companion: a variant, or `TRANSFER`. Companions have the
        default host stack.
        """
        end_s = settle_s + measured_s
        over = {"over": self.flow["over"]} if self.flow.get("over") else {}
        bulk = {"direction": direction, "workload": {"kind": "bulk"}}
        flow = {**self.flow, "name": FLOW, **bulk}
        beside: dict[str, Any] = {"host": DEFAULT_HOST, "direction": direction, **over}
        if companion == TRANSFER:
            every_s = max(measured_s / TRANSFERS, 4.0 * 8 * TRANSFER_BYTES / self._bps(direction))
            first_ms = (round(1e3 * settle_s), round(1e3 * (settle_s + min(every_s, measured_s) / 2)))
            beside |= {
                "name": TRANSFER,
                "variant": OTHERS[0],
                "workload": {"kind": "transfer", "size": f"{TRANSFER_BYTES} B"},
                "start": f"uniform({first_ms[0]} ms, {first_ms[1]} ms)",
                "repeat": {"every": f"{round(1e3 * every_s)} ms", "times": max(1, int(measured_s / every_s))},
            }
        else:
            beside |= {"name": OTHER, "variant": companion, "workload": {"kind": "bulk"}}
        tables = {
            "duration": f"{end_s} s",
            "sample": "0 s",
            "clients": 1,
            "tcp": {},
            "flow": [flow, beside],
            "measure": {"window": [f"{settle_s} s", f"{end_s} s"]},
        }
        own = {f"flow.{FLOW}.{key}": value for path, value in self.keys.items() if (key := flow_key(path))}
        path = {path: value for path, value in self.keys.items() if not flow_key(path)}
        return self.draft.replaced(tables).check({**path, **own})

    def _bps(self, direction: str) -> float:
        hops = self.draft.check().hop
        return min((float(bps) for hop in hops if (bps := hop.slowest_bps.get(direction))), default=UNKNOWN_BPS)


def flow_key(path: str) -> str:
    """The key of a [[flow]] that a path of the hosts is, `tcp.KEY` or `quic.KEY`; empty for a path
    of the link.
    """
    return path.removeprefix("tcp.") if path.startswith("tcp.") else path if path.startswith("quic.") else ""


def of_harm(summary: ExplainedRun) -> dict[str, float]:
    """The metrics of a run of `Place.scenario` from its summary (docs/inside/plan.md): `own_bps` of
    the flow, `other_bps` of the one beside it, `transfer_s` the mean time of a transfer and
    `transfer_bps` its speed. A transfer that is not complete counts with its time until the end.
    """
    flows = [flow for flow in summary["flows"] if not flow.get("feeds")]
    bps = {flow["flow"]: flow["goodput_bps"] or 0.0 for flow in flows}
    found = {"own_bps": bps[FLOW]}
    if OTHER in bps:
        found["other_bps"] = bps[OTHER]
    times = [completion_s(flow) for flow in flows if flow["flow"].partition("-")[0] == TRANSFER]
    if times:
        found["transfer_s"] = math.fsum(times) / len(times)
        found["transfer_bps"] = 8 * TRANSFER_BYTES / found["transfer_s"]
    return found


def completion_s(flow: SimulatedFlow) -> float:
    """The completion time of a transfer of a summary in s; one that is not complete counts with its
    time until the end.
    """
    done = flow["completed_s"]
    return float(done if done is not None else flow["end_s"] - (flow["host_start_s"] or 0.0))


@dataclass(frozen=True, slots=True)
class HarmRun:
    """A run of a bound, with what names it in tables."""

    label: str
    direction: str
    companion: str
    scenario: Scenario


RunAll = Callable[[str, Sequence[HarmRun], Sequence[int]], Sequence[Seeds]]
"""Runs each with every seed, as the dataset of a name, and returns the metrics of `of_harm`."""


@dataclass(frozen=True, slots=True)
class Harm:
    """A place in which a change falls below the bound, or may.

    Attributes:
        direction: of the data.
        companion: a variant, or `TRANSFER`.
        metric: of `of_harm`: whose figure it is.
        value, default: means with the change and with the host's defaults, in b/s.
        n: number of seeds.
        text: as a clause.
    """

    direction: str
    companion: str
    metric: str
    value: float
    default: float
    n: int
    text: str

    @property
    def share(self) -> float:
        """What is left, as a share of what the defaults give."""
        return self.value / self.default if self.default > 0.0 else math.nan

    def as_json(self) -> HarmDocument:
        """An entry of `harm` in a JSON document."""
        return {
            "direction": self.direction,
            "companion": self.companion,
            "metric": self.metric,
            "value": self.value,
            "default": self.default,
            "n": self.n,
            "text": self.text,
            "share": self.share,
        }


def figures_of(companion: str) -> tuple[str, ...]:
    """The metrics that are bounded beside a companion."""
    if companion == TRANSFER:
        return ("transfer_bps",)
    return ("other_bps", "own_bps") if companion == OTHERS[0] else ("other_bps",)


@dataclass
class HarmBound:
    """The bound for changes of one situation, and the runs that it has seen.

    Attributes:
        default: the path as it is, and a flow with the defaults of the host that changes.
        directions: of the data of the flows that change.
        run: runs scenarios.
        first_seed: the first of the seeds.
        as_it_is: the flow before a change, if it has not the host's defaults.
        cpu_s: estimated CPU seconds of the first runs of a change in all places: runs are shorter
            beyond it, `MIN_MEASURED_S` at least.
        companions: beside which the flow runs.
        run_s: the duration of a run in s, a quarter of it before the measurement; None: 60 s
            after 10 s, or what `cpu_s` allows.
        first_seeds, seed_count: after how many seeds a mean far from the bound decides, and any.
        far: a ratio to the bound that is far from 1, if its interval excludes 1, too.
        look: a bound with shorter runs, whose first seeds decide in place of those of this one.
        name: what the names of the datasets begin with.
    """

    default: Place
    directions: Sequence[str]
    run: RunAll
    first_seed: int = 1
    as_it_is: Place | None = None
    cpu_s: float = math.inf
    companions: Sequence[str] = BOUNDED
    run_s: float | None = None
    first_seeds: int = FIRST_SEEDS
    seed_count: int = SEEDS
    far: float = FAR
    look: HarmBound | None = None
    name: str = "harm"
    found: dict[tuple[str, str, str], dict[int, Run]] = field(default_factory=dict)
    batches: int = 0
    near: set[tuple[str, str, str]] = field(default_factory=set)
    """The places in which the first seeds did not decide."""

    @property
    def settle_s(self) -> float:
        """The time before the measurement in s."""
        return SETTLE_S if self.run_s is None else self.run_s / 4.0

    @cached_property
    def measured_s(self) -> float:
        """The duration of the measurement in s."""
        if self.run_s is not None:
            return self.run_s - self.settle_s
        each = sum(estimated_cpu_s(self.default.scenario(one, OTHERS[0])) for one in self.directions)
        run_s = self.cpu_s / (each * len(self.companions) * self.first_seeds) * (SETTLE_S + MEASURED_S)
        return float(round(min(MEASURED_S, max(MIN_MEASURED_S, run_s - SETTLE_S))))

    def check(self, changes: Mapping[str, Place]) -> dict[str, list[Harm]]:
        """The harm of each change by its label; an empty list where it is within the bound.

        All places run with `first_seeds` seeds; those whose means are not far from the bound, with
        `seed_count`.
        """
        seeds = range(self.first_seed, self.first_seed + self.seed_count)
        places = self._references() | dict(changes)
        first = self.look or self
        first.measure(changes, self.companions, self.first_seeds)
        every = [(label, side, one) for label in changes for side in self.directions for one in self.companions]
        near = [key for key in every if not first._is_settled(*key)]
        references = [(label, *key[1:]) for key in near for label in self._references()]
        self._run(places, list(dict.fromkeys([*references, *near])), seeds)
        self.near |= set(near)
        return {label: [*self._harms(label)] for label in changes}

    def measure(self, changes: Mapping[str, Place], companions: Sequence[str], count: int) -> None:
        """Runs each change, and what it is compared with, beside companions with `count` seeds."""
        places = self._references() | dict(changes)
        every = [(label, side, one) for label in places for side in self.directions for one in companions]
        self._run(places, every, range(self.first_seed, self.first_seed + count))

    def seeds(self, label: str, direction: str, companion: str) -> Seeds:
        """The metrics of the runs in a place, by seed."""
        if label == AS_IT_IS and self.as_it_is is None:
            label = DEFAULTS
        return self.found[label, direction, companion]

    def _references(self) -> dict[str, Place]:
        return {DEFAULTS: self.default, **({AS_IT_IS: self.as_it_is} if self.as_it_is else {})}

    def _run(self, places: Mapping[str, Place], keys: Iterable[tuple[str, str, str]], seeds: Sequence[int]) -> None:
        """Run what has not run with all seeds."""
        new: dict[tuple[int, ...], list[tuple[str, str, str]]] = {}
        for key in keys:
            if missing := tuple(seed for seed in seeds if seed not in self.found.get(key, {})):
                new.setdefault(missing, []).append(key)
        for missing, of in new.items():
            self.batches += 1
            measured_s, settle_s = self.measured_s, self.settle_s
            runs = [HarmRun(*key, places[key[0]].scenario(key[1], key[2], measured_s, settle_s)) for key in of]
            for key, found in zip(of, self.run(f"{self.name}-{self.batches}", runs, missing), strict=True):
                self.found.setdefault(key, {}).update(found)

    def _is_settled(self, label: str, direction: str, companion: str) -> bool:
        """Whether the first seeds say on which side of the bound all figures are. An equal share is
        within it, whatever the defaults share.
        """
        of = self.seeds(label, direction, companion)
        equal = EQUAL_SHARE * equal_share(self.seeds(DEFAULTS, direction, companion))
        for metric in figures_of(companion):
            bound = self._bound(direction, companion, metric)
            if metric != "transfer_bps" and ratio([(run[metric], equal) for run in of.values()]).lo > 1.0:
                continue
            found = ratio([(run[metric], bound) for run in of.values()])
            if 1.0 / self.far < found.value < self.far or found.lo <= 1.0 <= found.hi:
                return False
        return True

    def _bound(self, direction: str, companion: str, metric: str) -> float:
        """The lowest mean of a figure that is no harm, in b/s."""
        default = self.seeds(DEFAULTS, direction, companion)
        bound = SHARE * _mean(default, metric)
        if metric != "transfer_bps":
            bound = min(bound, EQUAL_SHARE * equal_share(default))
        if self.as_it_is:
            bound = min(bound, SAME_AS_IT_IS * _mean(self.seeds(AS_IT_IS, direction, companion), metric))
        return bound

    def _harms(self, label: str) -> Iterable[Harm]:
        """The figures of a change below the bound, by the runs that decided."""
        for direction in self.directions:
            for companion in self.companions:
                first = self.look or self
                by = self if (label, direction, companion) in self.near else first
                for metric in figures_of(companion):
                    if harm := by._harm(label, direction, companion, metric):
                        yield harm

    def _harm(self, label: str, direction: str, companion: str, metric: str) -> Harm | None:
        of = self.seeds(label, direction, companion)
        bound = self._bound(direction, companion, metric)
        found = ratio([(run[metric], bound) for run in of.values()], confidence=CONFIDENCE)
        if found.value >= 1.0 and found.lo >= 1.0:
            return None
        value = _mean(of, metric)
        default = _mean(self.seeds(DEFAULTS, direction, companion), metric)
        text = harm_text(direction, companion, metric, value, default)
        if found.value >= 1.0:
            text += f", which {len(of)} seeds do not separate from the bound"
        return Harm(direction, companion, metric, value, default, len(of), text)


def harm_text(direction: str, companion: str, metric: str, value: float, default: float) -> str:
    """A harm as a clause, from goodputs or speeds in b/s."""
    what = "download" if direction == "down" else "upload"
    verb = "give" if metric == "own_bps" else "leave"
    share = f", {percent(value / default)} of what the host's defaults {verb}" if default > 0.0 else ""
    if metric == "transfer_bps":
        took, takes = (
            milliseconds(8e3 * TRANSFER_BYTES / bps) if bps > 0.0 else "for ever" for bps in (default, value)
        )
        return f"a {what} of 100 kB beside it takes {takes} instead of {took}{share}"
    figures = f"{rate(value)} instead of {rate(default)}{share}"
    if metric == "own_bps":
        return f"beside one {companion} {what} it gets {figures}"
    return f"one {companion} {what} beside it gets {figures}"


def equal_share(of: Seeds) -> float:
    """The half of what two flows have together in the mean, in b/s."""
    return (_mean(of, "own_bps") + _mean(of, "other_bps")) / 2.0


def _mean(of: Seeds, metric: str) -> float:
    return Moments.of(run.get(metric, math.nan) for run in of.values()).mean
