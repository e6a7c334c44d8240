"""The tests of a plan, run one after another in a session; what each number was for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ackclock.errors import InputError, RunFailed
from ackclock.input.units import size_bytes
from ackclock.measurement.capacity import search
from ackclock.measurement.pathchar import Hop
from ackclock.measurement.plan import AUTO, Plan, estimate
from ackclock.measurement.session import Figures, Session, datagram_test, low_rate, paced

Report = Callable[[int, int, str], None]

SLACK_S = 1.0
PROBE_EVERY_NS = 200_000_000
LONGEST_TRANSFER_NS = 60_000_000_000


@dataclass
class TestLog:
    """Which tests were run for what: kind, direction and whatever else tells them apart, by test number."""

    purposes: dict[int, Figures] = field(default_factory=dict)
    filled: dict[str, tuple[int, bool]] = field(default_factory=dict)
    path: list[Hop] | None = None
    finished: list[str] = field(default_factory=list)
    """The finished tests of the plan."""
    failed: Figures | None = None
    """The failed test (``test``), its step (``label``) and the reason (``why``); later tests were not begun."""


class TestRunner:
    """Runs a plan's tests. ``report`` hears how many steps are done, of how many, and which is next."""

    def __init__(self, session: Session, plan: Plan, report: Report | None, done: TestLog) -> None:
        self.session, self.plan, self.done = session, plan, done
        self._report = report
        self._count, self._number = len(plan.tests), 0
        self._rates: dict[str, float] = {}
        self._whole, self._label = "", ""

    def run(self) -> Iterator[str]:
        """Run all tests in order; yields the name of each finished one.

        Raises:
            RunFailed, InputError, KeyboardInterrupt: a test could not be finished; ``done.failed`` says which.
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
            self._report(self._count, self._count, "done")

    def _go(self, specs: list[dict[str, Any]], label: str, **purpose: Any) -> tuple[list[int], list[list[Figures]]]:
        def watch(seconds: float) -> None:
            if self._report:
                self._report(self._number, self._count, f"{label}, {seconds:.0f} s{self._whole}")

        self._label = label
        numbers, ways = self.session.run(specs, watch)
        for number in numbers:
            self.done.purposes[number] = {"label": label, **purpose}
        return numbers, ways

    def _delay(self) -> None:
        train = low_rate(self.plan.seconds)
        self._go([{"datagrams": {"down": train, "up": train}}], "delay", kind="delay")

    def _capacity(self) -> None:
        most = float(self.session.far_end["caps"]["rate_bps"])
        for way in self.plan.directions:

            def run(specs: list[dict[str, Any]], label: str, way: str = way) -> tuple[list[int], list[list[Figures]]]:
                numbers, ways = self._go(specs, label, kind="capacity", way=way)
                for figures in ways[0]:
                    if figures["direction"] == way:
                        self._rates[way] = figures["bottleneck"]["rate_bps"] or figures["received_bps"] or 0.0
                return numbers, ways

            plan = self.plan
            self.done.filled[way] = search(run, way, plan.seconds, plan.payload, plan.start_rate, most)
        seconds, size = estimate(self.plan, self._rates)
        self._whole = f" of about {seconds:.0f} s and {size / 1e6:.3g} MB in all"

    def _steps(self) -> None:
        for way in self.plan.directions:
            rate = self._rates.get(way)
            for share in self.plan.shares if rate else ():
                train = paced(share * (rate or 0.0), self.plan.seconds / 2, self.plan.payload)
                spec = datagram_test(way, train, low_rate(self.plan.seconds / 2))
                self._go([spec], f"{share:.0%} of the capacity {way}", kind="steps", way=way, share=share)

    def _bulk(self, down: int, up: int, congestion: str | None = None, buffer: str = AUTO) -> dict[str, Any]:
        size = None if buffer == AUTO else size_bytes(buffer)
        return {
            "bulk": {
                "down": down,
                "up": up,
                "congestion": congestion,
                "send_buffer": size,
                "receive_buffer": size,
                "duration_ns": round(self.plan.seconds * 1e9),
                "sample_ns": self.plan.sample_ns,
            }
        }

    def _one_way(self, way: str, count: int, congestion: str | None = None, buffer: str = AUTO) -> dict[str, Any]:
        return self._bulk(count if way == "down" else 0, count if way == "up" else 0, congestion, buffer)

    def _tcp(self) -> None:
        for way in self.plan.directions:
            for congestion in self.plan.congestion:
                for buffer in self.plan.buffers:
                    asked = {"congestion": congestion, "buffer": buffer}
                    label = f"{congestion} {way}, buffer {buffer}"
                    self._go([self._one_way(way, 1, congestion, buffer)], label, kind="tcp", asked=asked)

    def _bidirectional(self) -> None:
        asked = {"congestion": self.plan.congestion[0], "buffer": AUTO}
        self._go([self._bulk(1, 1, self.plan.congestion[0])], "both ways", kind="bidirectional", asked=asked)

    def _flows(self) -> None:
        asked = {"congestion": self.plan.congestion[0], "buffer": AUTO}
        for way in self.plan.directions:
            spec = self._one_way(way, self.plan.flows, self.plan.congestion[0])
            self._go([spec], f"{self.plan.flows} flows {way}", kind="flows", asked=asked)

    def _latency(self) -> None:
        asked = {"congestion": self.plan.congestion[0], "buffer": AUTO}
        for way in self.plan.directions:
            probe = low_rate(self.plan.seconds)
            limit = round((self.plan.seconds + SLACK_S) * 1e9)
            exchanges = {
                "way": "down",
                "bytes": 1,
                "count": max(1, round(self.plan.seconds * 1e9 / PROBE_EVERY_NS)),
                "congestion": None,
                "every_ns": PROBE_EVERY_NS,
                "limit_ns": limit,
            }
            specs = [
                self._one_way(way, self.plan.flows, self.plan.congestion[0]),
                {"datagrams": {"down": probe, "up": probe}},
                {"transfers": exchanges},
            ]
            self._go(specs, f"latency under load {way}", kind="latency", way=way, asked=asked)

    def _transfers(self) -> None:
        for way in self.plan.directions:
            for size in self.plan.sizes:
                spec = {
                    "way": way,
                    "bytes": size_bytes(size),
                    "count": self.plan.repeats,
                    "congestion": self.plan.congestion[0],
                    "every_ns": 0,
                    "limit_ns": LONGEST_TRANSFER_NS,
                }
                self._go([{"transfers": spec}], f"{size} {way}", kind="transfers", way=way, size=size)
