"""Runs the tests of a plan in sequence in a session, and records the purpose of each.

Before each test the rest of the plan is fitted to the bytes that are left, and after each test the
time and the bytes of the whole measurement are announced again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeVar, cast

import polars as pl

from ackclock.documents.measure import Announced, Asked, Failure, Purpose, Queue
from ackclock.documents.parts import OPPOSITE, Direction
from ackclock.errors import InputError, RunFailed
from ackclock.input.units import PS_PER_S, rate_bps, show_rate, size_bytes
from ackclock.measurement.budget import (
    MIN_S,
    ByteBudget,
    Pace,
    bounded,
    cost,
    used_bytes,
)
from ackclock.measurement.capacity import CapacitySearch, Found, Ran
from ackclock.measurement.pathchar import Hop
from ackclock.measurement.plan import AUTO, Plan, fixed_bytes_of, full_seconds_of, seconds_of
from ackclock.measurement.queue_facts import QueueFacts, Train, train_of, train_of_test
from ackclock.measurement.queue_inference import infer
from ackclock.measurement.session import LOW_RATE, Session, datagram_test, low_rate, paced

if TYPE_CHECKING:
    from ackclock.documents.engine import TestResult, TestSpec, Transfers

T = TypeVar("T")
Report = Callable[[int, int, str], None]

SLACK_S = 1.0
PROBE_EVERY_NS = 200_000_000
EXCHANGERS = 3
"""Connections that exchange a byte at a time beside the load: enough probes for an interval."""
LONGEST_TRANSFER_NS = 60_000_000_000
MORE = 1.25
"""Bytes that a run may take, over its share of those that are left: rates are estimates."""
MIN_BULK = 20_000
"""Bytes of IP of a shorter bulk transfer show nothing."""
MIN_SEARCH_BYTES = 100_000
"""Two trials of the search for the capacity."""
SPARE = 0.02
"""Share of the bytes that no test is given: requests, reports and the end of the session."""


@dataclass
class TestLog:
    """The purpose of each test by its number: kind, direction and further parameters."""

    purposes: dict[int, Purpose] = field(default_factory=dict)
    filled: dict[Direction, Found] = field(default_factory=dict)
    """By direction: the run of `capacity` above the capacity, and the trials before it."""
    path: list[Hop] | None = None
    finished: list[str] = field(default_factory=list)
    """The finished tests of the plan."""
    announced: Announced | None = None
    """Estimated ``seconds`` of the measurement, and ``bytes`` once the capacity is known; both
    again after each test."""
    budget: ByteBudget | None = None
    probe_bytes: int = 0
    """IP bytes of the probes of ``path`` and of their replies."""
    reserved_bytes: int = 0
    """Bytes that the tests leave for the far end's capture."""
    failed: Failure | None = None
    """The failed test (``test``), its step (``label``) and the reason (``why``); later tests were
    not started.
    """


class OutOfBytes(Exception):
    """A run does not fit in the bytes that are left."""


def _full_s(spec: TestSpec) -> float:
    """Seconds for which a bulk test fills a direction, of both directions together."""
    if "bulk" not in spec:
        return 0.0
    bulk = spec["bulk"]
    return ((bulk["down"] > 0) + (bulk["up"] > 0)) * bulk["duration_ns"] * 1e-9


class TestRunner:
    """Runs a plan's tests.

    ``report`` is called with the number of finished steps, the number of all steps, and the next
    one.
    """

    def __init__(
        self, session: Session, plan: Plan, report: Report | None, done: TestLog, elapsed_s: float = 0.0
    ) -> None:
        self.session, self.plan, self.done = session, plan, done
        self.directions = cast("tuple[Direction, ...]", plan.directions)
        self._report = report
        self._count, self._number = len(plan.tests), 0
        self._rates: dict[str, float] = {}
        self._label = ""
        self._began = time.monotonic() - elapsed_s
        self._pace, self._test_began = Pace(), 0.0
        self._results: list[TestResult] = []
        self.budget = ByteBudget(plan.max_bytes, done.probe_bytes, done.reserved_bytes)
        self.done.budget = self.budget
        self._rest = [name for name in plan.tests if name != "path"]
        """The tests that are not finished, the running one first."""
        self._left_out: set[str] = set()
        self._planned_s = plan.seconds
        self._full_s = 0.0
        """Seconds for which the runs of the running test that are not done fill a direction."""
        self.done.announced = {"seconds": self._total_s(), "bytes": None, "renewed": []}

    def run(self) -> Iterator[str]:
        """Run all tests in order; yield the name of each when it finishes.

        Raises:
            RunFailed, InputError, KeyboardInterrupt: a test failed; ``done.failed`` has the reason.
        """
        for number, name in enumerate(self.plan.tests):
            if name == "path":
                continue
            self._number, self._label = number, name
            self._test_began = self._elapsed_s()
            try:
                if self._fit(name):
                    getattr(self, f"_{name}")()
            except (RunFailed, InputError, KeyboardInterrupt) as error:
                self.done.failed = {"test": name, "label": self._label, "why": str(error) or "interrupted"}
                raise
            self.done.finished.append(name)
            self._rest.remove(name)
            if name != "capacity":  # its search has more steps where the queue does not overflow
                self._pace.finished(seconds_of(self.plan)[name], self._elapsed_s() - self._test_began)
            self._test_began = self._elapsed_s()
            self._shorten_rest()
            self._announce(name)
            yield name
        if self._report:
            self._report(self._count, self._count, "")

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def _total_s(self) -> float:
        """Estimated seconds of the whole measurement: those taken, and the rest at the pace so
        far."""
        running = self._rest[0] if self._rest else None
        estimates = {name: s for name, s in seconds_of(self.plan).items() if name not in self._left_out}
        factor, elapsed_s = self._pace.factor, self._elapsed_s()
        rest_s = factor * sum(estimates.get(name, 0.0) for name in self._rest)
        taken_s = elapsed_s - self._test_began if self._test_began else 0.0
        # A test that takes longer than its estimate may end at any time.
        return elapsed_s + rest_s - min(taken_s, factor * estimates.get(running, 0.0) if running else 0.0)

    def _total_bytes(self) -> float:
        """Estimated bytes of the whole measurement: those taken, and the rest at the known
        rates."""
        size = sum(self._bytes_of(name) for name in self._rest if name not in self._left_out)
        return min(self.budget.used + size, float(self.budget.max_bytes))

    def _bytes_of(self, name: str) -> float:
        """Estimated bytes of a test in both directions at the known rates."""
        full_s, fixed = full_seconds_of(self.plan)[name], fixed_bytes_of(self.plan)[name]
        return fixed + full_s * sum(self._rates.get(direction, 0.0) / 8 for direction in self.directions)

    def _announce(self, after: str) -> None:
        """Announce time and bytes of the whole measurement again."""
        announced = self.done.announced
        assert announced is not None
        seconds, size = self._total_s(), self._total_bytes() if self._rates else None
        if after == "capacity":
            announced["seconds"], announced["bytes"] = seconds, size
        announced["renewed"].append({"after": after, "at_s": self._elapsed_s(), "seconds": seconds, "bytes": size})

    def _fit(self, name: str) -> bool:
        """Whether the next test fits in the bytes that are left, in a plan that is shortened to
        them."""
        self._shorten_rest()
        self._full_s = len(self.directions) * full_seconds_of(self.plan)[name]
        if name in self._left_out:
            self.budget.leave_out(name, name)
        return name not in self._left_out

    def _shorten_rest(self) -> None:
        """Shorten the rest of the plan to the bytes that are left.

        The runs of all tests become shorter by the same factor. Where a run would be shorter than a
        second, the last test is left out.
        """
        planned_s, left = self.plan.seconds, self.budget.left * (1 - SPARE)
        load = [test for test in self._rest if test not in self._left_out]
        while load:
            needed = sum(self._bytes_of(test) for test in load)
            fixed = sum(fixed_bytes_of(self.plan)[test] for test in load)
            if needed <= left:
                return
            share = (left - fixed) / (needed - fixed) if needed > fixed else 0.0
            if share * planned_s >= min(MIN_S, planned_s):
                self.plan = replace(self.plan, duration=round(share * planned_s * PS_PER_S))
                for test in load:
                    if full_seconds_of(self.plan)[test] and test != "capacity":
                        self.budget.shorten(test, share * planned_s, self._planned_s)
                return
            self._left_out.add(load.pop())

    def _affordable(self, specs: list[TestSpec], label: str) -> list[TestSpec] | None:
        """The tests of a run with their bytes bounded; None if the run does not fit."""
        test = self.plan.tests[self._number]
        left = self.budget.left * (1 - SPARE)
        left -= sum(cost(spec) for spec in specs if "bulk" not in spec)
        running_s = sum(map(_full_s, specs))
        if running_s and left > 0:
            full = full_seconds_of(self.plan)
            later_s = sum(full[name] for name in self._rest[1:] if name not in self._left_out)
            share = running_s / max(running_s, self._full_s + len(self.directions) * later_s)
            allowed = min(left, MORE * share * left)
            self._full_s = max(0.0, self._full_s - running_s)
            specs = [bounded(spec, allowed * _full_s(spec) / running_s) if _full_s(spec) else spec for spec in specs]
            left -= sum(cost(spec) for spec in specs if "bulk" in spec)
        if left < 0 or any("bulk" in spec and (spec["bulk"]["max_bytes"] or 0) < MIN_BULK for spec in specs):
            self.budget.leave_out(test, label)
            return None
        return specs

    def _go(
        self, specs: list[TestSpec], label: str, purpose: Purpose, start_after_s: Sequence[float] = ()
    ) -> tuple[list[int], list[TestResult]]:
        """Run tests concurrently: their numbers and results, none if they do not fit in the
        bytes."""

        def watch(seconds: float) -> None:
            if self._report:
                self._report(self._number, self._count, f"{label}, {seconds:.0f} s{self._estimate()}")

        self._label = label
        fitted = self._affordable(specs, label)
        if fitted is None:
            return [], []
        numbers, results = self.session.run(fitted, watch, start_after_s)
        for number in numbers:
            self.done.purposes[number] = {**purpose, "label": label}
        self._results += results
        self._learn(results)
        self.budget.used = used_bytes(self._results, self.session.control_bytes(), self.done.probe_bytes)
        return numbers, results

    def _learn(self, results: Sequence[TestResult]) -> None:
        """Without the test `capacity`, the rates are those of the first bulk transfers."""
        for result in results:
            if "bulk" not in result["spec"]:
                continue
            for direction in self.directions:
                # Downloads are received here, uploads at the far end.
                ends = result["near_flows"] if direction == "down" else result["far_flows"]
                own = [flow for flow in ends if not flow["sends"]]
                if own and direction not in self._rates:
                    seconds = max(flow["elapsed_ns"] for flow in own) * 1e-9
                    self._rates[direction] = sum(flow["bytes"] for flow in own) * 8 / max(seconds, 1e-3)

    def _estimate(self) -> str:
        """The announcement for people: renewed as the measurement goes."""
        size = f" and {self._total_bytes() / 1e6:.3g} MB" if self._rates else ""
        return f" of about {self._total_s():.0f} s{size} in all"

    def _delay(self) -> None:
        train = low_rate(self.plan.seconds)
        self._go([{"datagrams": {"down": train, "up": train}}], "delay", {"kind": "delay"})

    def _capacity(self) -> None:
        maximum = float(self.session.far_end["caps"]["rate_bps"])
        plan = self.plan
        for number, direction in enumerate(self.directions):
            # Its shares count twice: the other tests are shorter where the capacity is known.
            full = full_seconds_of(plan)
            own = 2 * full["capacity"] * (len(self.directions) - number)
            later = len(self.directions) * sum(full[name] for name in self._rest if name != "capacity")
            share = 2 * full["capacity"] / (own + later)
            end_bytes = self.budget.used + share * self.budget.left * (1 - SPARE)
            if end_bytes - self.budget.used < MIN_SEARCH_BYTES:
                self.budget.leave_out("capacity", direction)
                continue
            search = CapacitySearch(
                partial(self._capacity_run, direction),
                partial(self._queue, direction),
                direction,
                plan.seconds,
                plan.payload,
                plan.start_rate,
                maximum,
                partial(self._allowance, end_bytes),
            )
            try:
                self.done.filled[direction] = search.search()
            except OutOfBytes:
                self.budget.leave_out("capacity", direction)
                continue
            if search.bounded is not None:
                self.budget.leave_out("capacity", f"{direction}, {search.bounded}")
            elif search.shortest_s < plan.seconds:
                self.budget.shorten("capacity", search.shortest_s, self._planned_s)

    def _capacity_run(self, direction: Direction, specs: list[TestSpec], label: str) -> Ran:
        """Run a stream, with connections beside it; the rate of the direction is that of the last
        one.
        """
        numbers, results = self._go(specs, label, {"kind": "capacity", "way": direction})
        if not results:
            raise OutOfBytes(label)
        for number in numbers[1:]:
            self.done.purposes[number] = {"label": label, "kind": "beside", "way": direction}
        figures = next(stats for stats in results[0]["directions"] if stats["direction"] == direction)
        self._rates[direction] = figures["received_bps"] or 0.0

        def train() -> Train:
            arrived = train_of_test(pl.DataFrame(self.session.so_far()[2]), numbers[0], direction, results[0])
            assert arrived is not None
            return arrived

        asked_bps = figures["ip_bytes"] * 8e6 / figures["asked_gap_us"]
        return Ran(numbers[0], figures["received_bps"], figures["sent_bps"] or 0.0, train, asked_bps)

    def _allowance(self, end_bytes: float) -> float:
        """Bytes until the measurement has taken so many."""
        return end_bytes - self.budget.used

    def _queue(self, direction: Direction, stream: Train) -> Queue:
        """What the stream and the sparse datagrams before it show of the queue."""
        number = next((n for n, p in self.done.purposes.items() if p["kind"] == "delay"), None)
        idle = None
        if number is not None:
            size = stream.ip_bytes - self.plan.payload + LOW_RATE["payload"]
            idle = train_of(pl.DataFrame(self.session.so_far()[2]), number, direction, size)
        statements = infer(QueueFacts(idle=idle, stream=stream))
        if statements["rate"] is not None:
            self._rates[direction] = statements["rate"]["p50_bps"]
        return statements

    def _in_order(self, runs: Iterable[T]) -> Iterator[tuple[Direction, T]]:
        """Each run in each direction: all of one direction first, or the directions in turn."""
        runs = list(runs)
        if self.plan.alternate:
            return ((direction, run) for run in runs for direction in self.directions)
        return ((direction, run) for direction in self.directions for run in runs)

    def _steps(self) -> None:
        absolute = [(None, float(rate_bps(text))) for text in self.plan.steps]
        for direction, (share, rate) in self._in_order(absolute or [(share, 0.0) for share in self.plan.shares]):
            capacity_bps = self._rates.get(direction)
            if share is not None:
                if not capacity_bps:
                    continue
                rate = share * capacity_bps
            train = paced(rate, self.plan.seconds / 2, self.plan.payload)
            spec = datagram_test(direction, train, low_rate(self.plan.seconds / 2))
            what = show_rate(round(rate)) if share is None else f"{share:.0%} of the capacity"
            shown = rate / capacity_bps if capacity_bps else None
            purpose: Purpose = {
                "kind": "steps",
                "way": direction,
                "share": shown if share is None else share,
                "asked_bps": rate,
            }
            self._go([spec], f"{what} {direction}", purpose)

    def _bulk(
        self, down: int, up: int, congestion: str | None = None, buffer: str = AUTO, *, more_s: float = 0.0
    ) -> TestSpec:
        size = None if buffer == AUTO else size_bytes(buffer)
        return {
            "bulk": {
                "down": down,
                "up": up,
                "congestion": congestion,
                "send_buffer": size,
                "receive_buffer": size,
                "receive_window": None,
                "duration_ns": round((self.plan.seconds + more_s) * 1e9),
                "sample_ns": self.plan.sample_ns,
            }
        }

    def _single_direction(
        self, direction: Direction, count: int, congestion: str | None = None, buffer: str = AUTO
    ) -> TestSpec:
        return self._bulk(count if direction == "down" else 0, count if direction == "up" else 0, congestion, buffer)

    def _tcp(self) -> None:
        for direction, (congestion, buffer) in self._in_order(product(self.plan.congestion, self.plan.buffers)):
            requested: Asked = {"congestion": congestion, "buffer": buffer}
            spec = self._single_direction(direction, 1, congestion, buffer)
            self._go([spec], f"{congestion} {direction}, buffer {buffer}", {"kind": "tcp", "asked": requested})

    def _bidirectional(self) -> None:
        congestion, offset = self.plan.congestion[0], self.plan.offset_s
        purpose: Purpose = {"kind": "bidirectional", "asked": {"congestion": congestion, "buffer": AUTO}}
        if offset is None:
            self._go([self._bulk(1, 1, congestion)], "both directions", purpose)
            return
        for first in self.directions:
            second = OPPOSITE[first]
            longer = self._bulk(int(first == "down"), int(first == "up"), congestion, more_s=2 * offset)
            specs = [longer, self._single_direction(second, 1, congestion)]
            label = f"{second} from {offset:g} s on beside {first}"
            self._go(specs, label, {**purpose, "first": first, "offset_s": offset}, (0.0, offset))

    def _flows(self) -> None:
        requested: Asked = {"congestion": self.plan.congestion[0], "buffer": AUTO}
        for direction in self.directions:
            spec = self._single_direction(direction, self.plan.flows, self.plan.congestion[0])
            self._go([spec], f"{self.plan.flows} flows {direction}", {"kind": "flows", "asked": requested})

    def _latency(self) -> None:
        requested: Asked = {"congestion": self.plan.congestion[0], "buffer": AUTO}
        for direction in self.directions:
            probe = low_rate(self.plan.seconds)
            limit = round((self.plan.seconds + SLACK_S) * 1e9)
            exchanges: Transfers = {
                "way": "down",
                "bytes": 1,
                "count": max(1, round(self.plan.seconds * 1e9 / PROBE_EVERY_NS)),
                "congestion": None,
                "every_ns": PROBE_EVERY_NS,
                "limit_ns": limit,
            }
            specs: list[TestSpec] = [
                self._single_direction(direction, self.plan.flows, self.plan.congestion[0]),
                {"datagrams": {"down": probe, "up": probe}},
            ]
            specs += [{"transfers": exchanges}] * EXCHANGERS
            self._go(
                specs, f"latency under load {direction}", {"kind": "latency", "way": direction, "asked": requested}
            )

    def _transfers(self) -> None:
        for direction in self.directions:
            for size in self.plan.sizes:
                one: Transfers = {
                    "way": direction,
                    "bytes": size_bytes(size),
                    "count": 1,
                    "congestion": self.plan.congestion[0],
                    "every_ns": 0,
                    "limit_ns": LONGEST_TRANSFER_NS,
                }
                label = f"{size} {direction}"
                count = self._repeats_within({"transfers": one}, label)
                if count:
                    purpose: Purpose = {"kind": "transfers", "way": direction, "size": size}
                    self._go([{"transfers": {**one, "count": count}}], label, purpose)

    def _repeats_within(self, one: TestSpec, label: str) -> int:
        """How many of the plan's repeats of a transfer fit in the bytes that are left."""
        fit = int(self.budget.left * (1 - SPARE) / cost(one))
        if fit < self.plan.repeats:
            self.budget.leave_out("transfers", f"{label}: {self.plan.repeats - fit} of {self.plan.repeats}")
        return min(self.plan.repeats, fit)
