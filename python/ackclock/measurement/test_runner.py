"""Runs the tests of a plan in sequence in a session, and records the purpose of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeVar, cast

import polars as pl

from ackclock.documents.measure import Announced, Asked, Failure, Purpose, Queue
from ackclock.documents.parts import OPPOSITE, Direction
from ackclock.errors import InputError, RunFailed
from ackclock.input.units import rate_bps, show_rate, size_bytes
from ackclock.measurement.capacity import CapacitySearch, Found, Ran
from ackclock.measurement.pathchar import Hop
from ackclock.measurement.plan import AUTO, Plan, estimate
from ackclock.measurement.queue_facts import QueueFacts, Train, train_of
from ackclock.measurement.queue_inference import infer
from ackclock.measurement.session import LOW_RATE, Session, datagram_test, low_rate, paced

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionStats, TestSpec, Transfers

T = TypeVar("T")
Report = Callable[[int, int, str], None]

SLACK_S = 1.0
PROBE_EVERY_NS = 200_000_000
EXCHANGERS = 3
"""Connections that exchange a byte at a time beside the load: enough probes for an interval."""
LONGEST_TRANSFER_NS = 60_000_000_000


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
    """Estimated ``seconds`` of the measurement, and ``bytes`` once the capacity is known."""
    failed: Failure | None = None
    """The failed test (``test``), its step (``label``) and the reason (``why``); later tests were
    not started.
    """


class TestRunner:
    """Runs a plan's tests.

    ``report`` is called with the number of finished steps, the number of all steps, and the next
    one.
    """

    def __init__(self, session: Session, plan: Plan, report: Report | None, done: TestLog) -> None:
        self.session, self.plan, self.done = session, plan, done
        self.directions = cast("tuple[Direction, ...]", plan.directions)
        self._report = report
        self._count, self._number = len(plan.tests), 0
        self._rates: dict[str, float] = {}
        self._capacity_bytes = 0.0
        self._estimate, self._label = "", ""
        self.done.announced = {"seconds": estimate(plan, {})[0], "bytes": None}

    def run(self) -> Iterator[str]:
        """Run all tests in order; yield the name of each when it finishes.

        Raises:
            RunFailed, InputError, KeyboardInterrupt: a test failed; ``done.failed`` has the reason.
        """
        for number, name in enumerate(self.plan.tests):
            if name == "path":
                continue
            self._number, self._label = number, name
            try:
                getattr(self, f"_{name}")()
            except (RunFailed, InputError, KeyboardInterrupt) as error:
                self.done.failed = {"test": name, "label": self._label, "why": str(error) or "interrupted"}
                raise
            self.done.finished.append(name)
            yield name
        if self._report:
            self._report(self._count, self._count, "")

    def _go(
        self, specs: list[TestSpec], label: str, purpose: Purpose, start_after_s: Sequence[float] = ()
    ) -> tuple[list[int], list[list[DirectionStats]]]:
        def watch(seconds: float) -> None:
            if self._report:
                self._report(self._number, self._count, f"{label}, {seconds:.0f} s{self._estimate}")

        self._label = label
        numbers, directions = self.session.run(specs, watch, start_after_s)
        for number in numbers:
            self.done.purposes[number] = {**purpose, "label": label}
        return numbers, directions

    def _delay(self) -> None:
        train = low_rate(self.plan.seconds)
        self._go([{"datagrams": {"down": train, "up": train}}], "delay", {"kind": "delay"})

    def _capacity(self) -> None:
        maximum = float(self.session.far_end["caps"]["rate_bps"])
        for direction in self.directions:
            plan = self.plan
            stream = CapacitySearch(
                partial(self._capacity_run, direction),
                partial(self._queue, direction),
                direction,
                plan.seconds,
                plan.payload,
                plan.start_rate,
                maximum,
            ).search()
            self.done.filled[direction] = stream
        seconds, size = estimate(self.plan, self._rates, self._capacity_bytes)
        self.done.announced = {"seconds": seconds, "bytes": size}
        self._estimate = f" of about {seconds:.0f} s and {size / 1e6:.3g} MB in all"

    def _capacity_run(self, direction: Direction, specs: list[TestSpec], label: str) -> Ran:
        """Run a stream, with connections beside it; the rate of the direction is that of the last
        one.
        """
        numbers, directions = self._go(specs, label, {"kind": "capacity", "way": direction})
        for number in numbers[1:]:
            self.done.purposes[number] = {"label": label, "kind": "beside", "way": direction}
        figures = next(stats for stats in directions[0] if stats["direction"] == direction)
        self._rates[direction] = figures["received_bps"] or 0.0
        self._capacity_bytes += figures["sent"] * figures["ip_bytes"]

        def train() -> Train:
            delays = pl.DataFrame(self.session.so_far()[2])
            arrived = train_of(delays, numbers[0], direction, figures["ip_bytes"])
            assert arrived is not None
            return arrived

        return Ran(numbers[0], figures["received_bps"], figures["sent_bps"] or 0.0, train)

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
                spec: Transfers = {
                    "way": direction,
                    "bytes": size_bytes(size),
                    "count": self.plan.repeats,
                    "congestion": self.plan.congestion[0],
                    "every_ns": 0,
                    "limit_ns": LONGEST_TRANSFER_NS,
                }
                self._go(
                    [{"transfers": spec}], f"{size} {direction}", {"kind": "transfers", "way": direction, "size": size}
                )
