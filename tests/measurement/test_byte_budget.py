"""The bytes of a measurement on a metered link, and the time that it announces as it goes."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.errors import InputError
from ackclock.input.document import Document
from ackclock.measurement import test_runner
from ackclock.measurement.budget import Pace, bounded, cost, used_bytes
from ackclock.measurement.capacity import CapacitySearch
from ackclock.measurement.plan import plan_of
from ackclock.measurement.session import Session

LOADING = ["delay", "capacity", "steps", "tcp", "bidirectional", "flows", "latency", "transfers"]


class MeteredPath:
    """A session over a path of these rates (b/s, down and up): what its tests take, in bytes and in
    seconds; without queues, so that the search for the capacity ends at its checks.
    """

    far_end: dict = {"caps": {"rate_bps": 1e9}}

    def __init__(self, down: float, up: float, slow: float = 1.0) -> None:
        self.rates, self.slow = {"down": down, "up": up}, slow
        self.now = 0.0
        self.specs: list[Any] = []
        self.tests: list[Any] = []

    def control_bytes(self) -> int:
        return 2_000 * len(self.tests)

    def run(self, specs: list[Any], watch: Any, start_after_s: Any = ()) -> Any:
        first = len(self.tests)
        results = [self._result(spec) for spec in specs]
        self.specs += specs
        self.tests += results
        self.now += self.slow * max(_seconds(spec) + 0.5 for spec in specs)
        return list(range(first, len(self.tests))), results

    def so_far(self) -> Any:
        return {}, {}, {}

    def _result(self, spec: Any) -> Any:
        result: Any = {"spec": spec, "directions": [], "near_flows": [], "far_flows": []}
        for direction, train in spec.get("datagrams", {}).items():
            if train:
                size = train["payload"] + 28
                sent_bps = size * 8e9 / train["gap_ns"]
                result["directions"].append({
                    "direction": direction,
                    "ip_bytes": size,
                    "asked_gap_us": train["gap_ns"] * 1e-3,
                    "sent": train["count"],
                    "sent_bps": sent_bps,
                    "received_bps": min(sent_bps, self.rates[direction]),
                })  # fmt: skip
        for flow, (sends, size, seconds) in enumerate(self._flows(spec)):
            figures = {"flow": flow, "mss": 1448, "elapsed_ns": seconds * 1e9, "retransmitted": 0}
            near = {**figures, "sends": sends, "bytes": size, "segments_sent": sends * -(-size // 1448)}
            result["near_flows"].append(near)
            result["far_flows"].append({**near, "sends": not sends, "segments_sent": (not sends) * -(-size // 1448)})
        return result

    def _flows(self, spec: Any) -> Any:
        if "transfers" in spec:
            return [(spec["transfers"]["way"] == "up", spec["transfers"]["bytes"], 0.1)] * spec["transfers"]["count"]
        if "bulk" not in spec:
            return []
        bulk, seconds = spec["bulk"], spec["bulk"]["duration_ns"] * 1e-9
        connections = [("down", bulk["down"])] * bulk["down"] + [("up", bulk["up"])] * bulk["up"]
        limit = (bulk["max_bytes"] or 1e18) * 1448 / 1500
        sizes = [self.rates[direction] / 8 * 1448 / 1500 * seconds / count for direction, count in connections]
        share = min(1.0, limit / max(1.0, sum(sizes)))
        return [
            (d == "up", int(share * size), share * seconds) for (d, _), size in zip(connections, sizes, strict=True)
        ]


def _seconds(spec: Any) -> float:
    if "bulk" in spec:
        return spec["bulk"]["duration_ns"] * 1e-9
    if "transfers" in spec:
        return 0.1 * spec["transfers"]["count"]
    return max(train["gap_ns"] * train["count"] * 1e-9 for train in spec["datagrams"].values() if train)


def ran(monkeypatch: pytest.MonkeyPatch, path: MeteredPath, **plan: Any) -> test_runner.TestLog:
    """The log of a plan over a path, by the path's clock."""
    monkeypatch.setattr("ackclock.measurement.test_runner.time.monotonic", lambda: path.now)
    monkeypatch.setattr(CapacitySearch, "_busy", lambda *_: True)
    monkeypatch.setattr(test_runner, "train_of_test", lambda *_: cast(Any, "a train"))
    monkeypatch.setattr(
        test_runner.TestRunner, "_queue", lambda *_: {"rate": {"busy_share": 1.0}, "losses": "overflow"}
    )
    log = test_runner.TestLog()
    runner = test_runner.TestRunner(cast(Session, path), plan_of(Document({"tests": LOADING, **plan})), None, log)
    list(runner.run())
    return log


def taken(path: MeteredPath) -> int:
    return used_bytes(path.tests, path.control_bytes(), 0)


@pytest.mark.finding("M12")
@pytest.mark.parametrize("max_bytes", ["200 kB", "1 MB", "5 MB", "20 MB", "100 MB", "500 MB"])
@pytest.mark.parametrize(("down", "up"), [(2e6, 256e3), (10e6, 2e6), (100e6, 20e6), (900e6, 900e6)])
def test_measurement_takes_no_more_bytes_than_its_maximum(monkeypatch, down, up, max_bytes):
    path = MeteredPath(down, up)
    log = ran(monkeypatch, path, max_bytes=max_bytes)
    assert log.budget is not None and log.failed is None
    assert taken(path) <= log.budget.max_bytes, log.budget
    assert log.finished == LOADING
    if taken(path) < 0.3 * log.budget.max_bytes:
        # It did not leave out or shorten what fits.
        assert not [one for one in log.budget.shortened if one["test"] != "capacity"], log.budget


@pytest.mark.finding("M12")
def test_plan_is_whole_when_it_fits_and_names_what_is_left_out_when_it_does_not(monkeypatch):
    whole = ran(monkeypatch, MeteredPath(2e6, 1e6))
    assert whole.budget is not None
    assert (whole.budget.left_out, whole.budget.shortened) == ([], [])
    path = MeteredPath(10e6, 2e6)
    cut = ran(monkeypatch, path, max_bytes="20 MB").budget
    assert cut is not None
    assert {one["test"] for one in cut.shortened} >= {"tcp", "latency"}
    assert all(1.0 <= one["seconds"] < one["planned_s"] for one in cut.shortened)
    assert taken(path) > 0.6 * 20e6
    tiny = ran(monkeypatch, MeteredPath(100e6, 20e6), max_bytes="1 MB").budget
    assert tiny is not None
    assert {one["test"] for one in tiny.left_out} >= {"capacity", "latency"}


@pytest.mark.finding("M12")
def test_bulk_transfers_are_bounded_when_no_rate_is_known(monkeypatch):
    path = MeteredPath(900e6, 900e6)
    log = ran(monkeypatch, path, tests=["tcp", "bidirectional", "latency"], max_bytes="30 MB")
    assert taken(path) <= 30e6
    bulks = [spec["bulk"] for spec in path.specs if "bulk" in spec]
    assert all(bulk["max_bytes"] for bulk in bulks)
    # The first transfer leaves bytes to the others.
    assert bulks[0]["max_bytes"] < 0.4 * 30e6
    assert log.purposes


@pytest.mark.finding("M12")
def test_maximum_is_a_size_of_100_kb_or_more():
    assert plan_of(Document({})).max_bytes == 500_000_000
    assert plan_of(Document({"max_bytes": "2 GB"})).max_bytes == 2_000_000_000
    with pytest.raises(InputError, match="max_bytes"):
        plan_of(Document({"max_bytes": "99 kB"}))


@pytest.mark.finding("M12")
@given(st.integers(1, 64), st.integers(0, 64), st.floats(0.1, 120.0), st.floats(2e5, 1e10))
def test_bounded_bulk_test_costs_no_more_than_it_may(down, up, seconds, may):
    spec: Any = {"bulk": {"down": down, "up": up, "duration_ns": round(seconds * 1e9), "sample_ns": 1_000_000_000}}
    assert cost(spec) == float("inf")
    bound = bounded(spec, may)
    assert bound["bulk"]["max_bytes"] == 1 or cost(bound) <= may


@pytest.mark.finding("M11")
@pytest.mark.parametrize("slow", [1.0, 1.8])
def test_announced_time_is_renewed_after_each_test(monkeypatch, slow):
    path = MeteredPath(10e6, 2e6, slow)
    log = ran(monkeypatch, path)
    assert log.announced is not None
    renewed = log.announced["renewed"]
    assert [one["after"] for one in renewed] == LOADING
    assert all(one["seconds"] >= one["at_s"] for one in renewed)
    assert renewed[-1]["seconds"] == pytest.approx(path.now)
    # From the test `steps` on, the pace of this machine is known.
    steps = next(one for one in renewed if one["after"] == "steps")
    assert steps["seconds"] == pytest.approx(path.now, rel=0.25)


@pytest.mark.finding("M11")
def test_pace_is_one_until_a_test_has_taken_longer_than_its_estimate():
    pace = Pace()
    assert pace.factor == 1.0
    pace.finished(10.0, 8.0)
    assert pace.factor == 1.0
    pace.finished(10.0, 28.0)
    assert pace.factor == pytest.approx(1.8)
