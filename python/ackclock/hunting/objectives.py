"""What a hunt looks for: an objective by name, or a function of the user.

An objective measures one figure of a run. Its `worse` says which end of the figure is bad; a case
breaks where the figure passes `breaks`.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ackclock import _native
from ackclock.errors import InvalidValue, Key, RunFailed, choices, format_value
from ackclock.format import milliseconds, percent, three
from ackclock.input.link.bottleneck import slowest_bps
from ackclock.input.link.hop import base_rtt_ps
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.metrics import together_bps
from ackclock.user_class import PREFIX

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.simulate import ExplainedRun, SimulatedFlow

Worse = Literal["small", "large"]
PAYLOAD_SHARE = 1448 / 1500
"""Payload of a full packet with timestamps."""


@dataclass(frozen=True)
class HuntRun:
    """A run of a case, as an objective sees it. `series` is the table of `simulate`'s
    series.parquet: columns flow, time_s, delivered_bytes and others.
    """

    scenario: Scenario
    summary: ExplainedRun
    series: pl.DataFrame

    def flows(self, name: str | None) -> list[SimulatedFlow]:
        """The TCP flows of a name (of several, `NAME-1`, ..), without those that feed a proxy; all
        without a name.
        """
        flows = [one for one in self.summary["flows"] if one["variant"] != "udp" and not one.get("feeds")]
        return flows if name is None else [one for one in flows if is_of(one["flow"], name)]


def is_of(flow: str, name: str) -> bool:
    """Whether a flow of a run is one of the scenario's flow of this name."""
    head, _, number = flow.rpartition("-")
    return flow == name or (head == name and number.isdecimal())


Measure = Callable[[HuntRun, str | None], float]


@dataclass(frozen=True)
class Objective:
    """A figure of a run of which one end is bad.

    Attributes:
        name: as in [hunt].
        what: the figure in words, such as "the share of `bbr`".
        breaks: from which value on a case breaks.
        sides: the values of the key `key` that are compared; each is a run of its own, and the
            figure is the ratio of the first one's to the second one's.
    """

    name: str
    what: str
    worse: Worse
    breaks: float
    text: Callable[[float], str]
    measure: Measure
    flow: str | None = None
    key: str = ""
    sides: tuple[Any, ...] = ()
    source: str = field(default="", compare=False)
    """Of a function of the user: the digest of its file."""
    file: Path | None = field(default=None, compare=False)
    """Of a function of the user: its file."""

    def value(self, runs: Sequence[HuntRun]) -> float:
        """The figure of a case: of its run, or of the two that are compared."""
        values = [self.measure(run, self.flow) for run in runs]
        if not self.sides:
            return values[0]
        first, second = values
        return first / second if second else math.inf if first else math.nan

    def badness(self, value: float) -> float:
        """The value on an axis on which more is worse."""
        return -value if self.worse == "small" else value

    def is_broken(self, value: float) -> bool:
        """Whether a value is beyond `breaks`."""
        return self.badness(value) >= self.badness(self.breaks)

    @property
    def rule(self) -> str:
        """When a case breaks, as a clause."""
        return f"{self.what} is {self.text(self.breaks)} or {'less' if self.worse == 'small' else 'more'}"

    @cached_property
    def identity(self) -> list[Any]:
        """What its values follow from, as JSON."""
        return [self.name, self.flow, self.key, list(self.sides), self.source]


def _share(run: HuntRun, name: str | None) -> float:
    own = run.flows(name)[:1] if name is None else run.flows(name)
    all_ = [one for one in run.flows(None) if own and one["direction"] == own[0]["direction"]]
    total = sum(one["goodput_bps"] or 0.0 for one in all_)
    if not own or not total:
        return math.nan
    return sum(one["goodput_bps"] or 0.0 for one in own) / total * len(all_) / len(own)


def _of_link(run: HuntRun, name: str | None) -> float:
    flows = run.flows(name)
    allowed = [
        bps * PAYLOAD_SHARE
        for direction in dict.fromkeys(one["direction"] for one in flows)
        if (bps := slowest_bps(run.scenario.hop, direction))
    ]
    return together_bps(flows) / sum(allowed) if allowed else math.nan


def _retransmitted(run: HuntRun, name: str | None) -> float:
    flows = run.flows(name)
    sent = sum(one["segments_sent"] for one in flows)
    return sum(one["retransmitted_segments"] for one in flows) / sent if sent else math.nan


def _added_delay_ms(run: HuntRun, name: str | None) -> float:
    base = base_rtt_ps(run.scenario.hop) / 1e9
    worst = [one["rtt_ms"]["p95"] for one in run.flows(name) if one["rtt_ms"]["p95"] is not None]
    return max(worst) - base if worst else math.nan


def _mos(run: HuntRun, name: str | None) -> float:
    scores = [
        score["mean"]
        for one in run.summary["flows"]
        if (name is None or is_of(one["flow"], name))
        and (app := one.get("app"))
        and (score := app["score"].get("mos"))
        and score["mean"] is not None
    ]
    return min(scores, default=math.nan)


def longest_gap_s(times: Sequence[float], delivered: Sequence[float], end_s: float) -> float:
    """The longest time in which a flow delivered nothing after its first byte, until `end_s`.

    >>> longest_gap_s([0.1, 0.2, 0.3, 0.4, 0.5], [0, 10, 10, 10, 20], 0.5)
    0.3
    """
    longest, since, last = 0.0, None, 0.0
    for at, bytes_ in zip(times, delivered, strict=True):
        if bytes_ > last:
            longest = max(longest, at - since) if since is not None else longest
            since, last = at, bytes_
    return round(max(longest, end_s - since) if since is not None else 0.0, 9)


def _gap_s(run: HuntRun, name: str | None) -> float:
    gaps = []
    for flow in run.flows(name):
        rows = run.series.filter(run.series["flow"] == flow["flow"]).sort("time_s")
        end = flow["completed_s"] if flow["completed_s"] is not None else flow["end_s"]
        gaps.append(longest_gap_s(rows["time_s"].to_list(), rows["delivered_bytes"].to_list(), end))
    return max(gaps, default=math.nan)


def _seconds(value: float) -> str:
    return f"{three(value)} s"


def _ratio(value: float) -> str:
    return f"{three(value)} times" if value >= 10 else percent(value)


NAMED: Mapping[str, Objective] = {
    one.name: one
    for one in (
        Objective("share", "the goodput of {flow}, relative to an equal share,", "small", 0.5, percent, _share),
        Objective(
            "goodput", "the goodput of {flow}, relative to what the link allows,", "small", 0.5, percent, _of_link
        ),
        Objective(
            "delay",
            "the p95 RTT of {flow}, less that of the empty path,",
            "large",
            200.0,
            milliseconds,
            _added_delay_ms,
        ),
        Objective(
            "retransmissions",
            "the share of the segments of {flow} that was retransmitted",
            "large",
            0.1,
            percent,
            _retransmitted,
        ),
        Objective("mos", "the MOS of {flow}", "small", 3.6, three, _mos),
        Objective("repair", "the longest time without progress of {flow}", "large", 2.0, _seconds, _gap_s),
    )
}
"""The objectives by name, each with its usual `breaks`."""
DIFFERENCE = "difference"


def read_objective(read: _native.CheckedTable, breaks: float | None, flows: Sequence[str], folder: Path) -> Objective:
    """The objective of [hunt], a table `HuntObjective`.

    `flows` are the names of the scenario's flows; the module of a function is a file in `folder` or
    in the current folder.

    Raises:
        InvalidValue: its key is below [hunt].
    """
    table: Any = read
    name, flow = table.name, table.flow
    at: Key = ("objective",)
    if flow is not None and flow not in flows:
        raise InvalidValue(format_value(flow), choices(flows, flow), (*at, "flow"))
    if name.startswith(PREFIX):
        found = _of_user(name, folder, breaks, at)
    elif name == DIFFERENCE:
        found = _difference(NAMED[table.of or "goodput"], table.key, table.values)
    else:
        found = NAMED[name]
    named = flow or (flows[0] if name == "share" else "all flows")
    if name == "mos":
        named = flow or "the worst call"
    found = replace(found, flow=flow or (flows[0] if name == "share" and flows else None))
    found = replace(found, what=found.what.replace("{flow}", named))
    return found if breaks is None else replace(found, breaks=breaks)


def _difference(inner: Objective, key: str, values: Sequence[Any]) -> Objective:
    first, second = map(str, values)
    what = f"{inner.what.rstrip(',')}, with {first} relative to {second},"
    breaks = 0.5 if inner.worse == "small" else 2.0
    return Objective(DIFFERENCE, what, inner.worse, breaks, _ratio, inner.measure, key=key, sides=tuple(values))


def _of_user(name: str, folder: Path, breaks: float | None, at: Key) -> Objective:
    module_name, _, function = name.removeprefix(PREFIX).rpartition(".")
    allowed = "python:module.function, a function of a run that returns a number, more of which is worse"
    if not all(part.isidentifier() for part in (*module_name.split("."), function)):
        raise InvalidValue(format_value(name), allowed, at)
    file = f"{module_name.replace('.', '/')}.py"
    path = next((path for path in (folder / file, Path(file)) if path.is_file()), folder / file)
    try:
        text = path.read_bytes()
        spec = importlib.util.spec_from_file_location(f"ackclock_hunt_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        called = getattr(module, function, None)
    except (OSError, AssertionError):
        raise InvalidValue(f"no file {format_value(file)}", allowed, at) from None
    except Exception as error:
        raise InvalidValue(f"{format_value(file)}, which cannot be imported ({error})", allowed, at) from None
    if not callable(called):
        raise InvalidValue(f"{format_value(name)}, and {file} has no function {function}", allowed, at)
    if breaks is None:
        raise InvalidValue.problem(
            "an objective in Python needs `breaks`", "add breaks = .., from which a case breaks", at
        )

    def measure(run: HuntRun, _: str | None) -> float:
        try:
            return float(called(run))
        except Exception as error:
            raise RunFailed(f"{name} failed: {type(error).__name__}: {error}") from error

    what, digest = f"{function} of {Path(file).name}", sha256(text).hexdigest()[:16]
    return Objective(name, what, "large", breaks, three, measure, source=digest, file=path)
