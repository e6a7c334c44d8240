"""Campaigns: absolute rates, labels, alternating directions, schedules and their report."""

from __future__ import annotations

import json
from typing import Any, cast

import polars as pl
import pytest

from ackclock.arguments.measure import rates_of
from ackclock.errors import InputError
from ackclock.input.document import Document
from ackclock.measurement import test_runner
from ackclock.measurement.budget import ip_bytes
from ackclock.measurement.document import _concurrent, _responsiveness, beside, shaping
from ackclock.measurement.plan import estimate, plan_of
from ackclock.measurement.schedule import Schedule, keep
from ackclock.measurement.schedule_page import _axis_unit, _period, groups, interval, rows_of, schedule_page
from ackclock.measurement.session import Session
from ackclock.result_folder import page_of


class RecordedSession:
    """A session that records the specs it is asked to run."""

    far_end: dict = {"caps": {"rate_bps": 1e9}}

    def __init__(self):
        self.specs = []
        self.starts = []

    def run(self, specs, watch, start_after_s=()):
        first = len(self.specs)
        self.specs += specs
        self.starts.append(tuple(start_after_s))
        results = [{"spec": spec, "directions": [], "near_flows": [], "far_flows": []} for spec in specs]
        return list(range(first, len(self.specs))), results

    def control_bytes(self):
        return 0


def ran(**plan):
    log, session = test_runner.TestLog(), RecordedSession()
    list(test_runner.TestRunner(cast(Session, session), plan_of(Document(plan)), None, log).run())
    return log, session


@pytest.mark.finding("M7")
def test_steps_have_the_asked_rates_and_alternate_directions_when_asked():
    log, session = ran(tests=["steps"], steps=rates_of("0.5,1,2 Mb/s"), alternate=True, duration="4 s")
    steps = [log.purposes[n] for n in sorted(log.purposes)]
    assert [one["way"] for one in steps] == ["down", "up"] * 3
    assert [one["asked_bps"] for one in steps] == [5e5, 5e5, 1e6, 1e6, 2e6, 2e6]
    for one, spec in zip(steps, session.specs, strict=True):
        train = spec["datagrams"][one["way"]]
        assert (train["payload"] + 28) * 8e9 / train["gap_ns"] == pytest.approx(one["asked_bps"], rel=1e-4)
    log, _ = ran(tests=["tcp"], congestion=["cubic", "reno"], duration="4 s")
    labels = [log.purposes[n]["label"] for n in sorted(log.purposes)]
    assert [label.split(",")[0] for label in labels] == ["cubic down", "reno down", "cubic up", "reno up"]


@pytest.mark.finding("M7")
def test_plan_refuses_rates_and_labels_that_are_none():
    with pytest.raises(InputError, match="steps"):
        plan_of(Document({"steps": ["fast"]}))
    with pytest.raises(InputError, match="labels"):
        plan_of(Document({"labels": {"ssi": ""}}))
    plan = plan_of(Document({"steps": ["2 Mb/s"], "labels": {"ssi": 3}, "tests": ["steps"], "directions": ["down"]}))
    assert plan.labels == {"ssi": "3"}
    assert estimate(plan, {})[1] == pytest.approx(5 * 2e6 / 8)


@pytest.mark.finding("M7")
def test_jain_index_is_that_of_concurrent_connections_of_one_direction():
    flow = {"test": 4, "label": "4 flows down", "direction": "down", "duration_s": 10.0}
    rows = _concurrent(
        [{**flow, "goodput_bps": 4e6}, {**flow, "goodput_bps": 2e6}, {**flow, "test": 5, "goodput_bps": 1e6}]
    )
    found: Any = [(row["flows"], row["goodput_bps"], row["jain"]) for row in rows]
    assert found == [(2, 6e6, pytest.approx(0.9))]


@pytest.mark.finding("M7")
@pytest.mark.parametrize(
    ("tcp_bps", "kind", "lost", "verdict"),
    [
        (2e6, "droptail", 0, "TCP is shaped, UDP is not"),
        (9.5e6, "droptail", 0, "not shaped"),
        (2e6, "droptail", 4, "unknown"),
        (2e6, "unknown", 0, "unknown"),
    ],
)
def test_tcp_is_shaped_only_if_connections_together_stay_far_below_udp(tcp_bps, kind, lost, verdict):
    queue = {"kind": kind, "rate": {"p50_bps": 1e7, "wanders": False}, "channel_loss": {"lost": lost}}
    concurrent: Any = [{"direction": "down", "goodput_bps": tcp_bps}]
    found = shaping({"down": {"queue": queue, "at_least": False}}, concurrent)
    assert found["down"]["verdict"] == verdict


@pytest.mark.finding("M7")
def test_second_direction_starts_an_offset_later_and_ends_as_much_earlier_when_one_is_asked():
    plan = {"tests": ["bidirectional"], "duration": "4 s", "offset": "2 s"}
    log, session = ran(**plan)
    assert session.starts == [(0.0, 2.0)] * 2
    bulks = [spec["bulk"] for spec in session.specs]
    assert [(b["down"], b["up"], b["duration_ns"] / 1e9) for b in bulks] == [(1, 0, 8), (0, 1, 4), (0, 1, 8), (1, 0, 4)]
    assert [log.purposes[n]["first"] for n in sorted(log.purposes)] == ["down", "down", "up", "up"]
    seconds, size = estimate(plan_of(Document(plan)), {"down": 8e6, "up": 8e6})
    assert (seconds, size) == (2 * 9.0, 2 * (8e6 + 4e6))
    with pytest.raises(InputError, match="1 s to 20 s"):
        plan_of(Document({"offset": "21 s"}))


@pytest.mark.finding("M7")
def test_goodput_of_each_phase_is_that_of_the_receiver_when_the_other_direction_halves_it():
    def rows(test, read, sends, rtt):
        times = [n / 10 for n in range(len(read))]
        return {"test": test, "time_s": times, "bytes": read, "sends": sends, "srtt_ms": rtt}

    # 1 MB/s alone for 2 s, 0.5 MB/s beside the other for 4 s, 1 MB/s alone for 2 s.
    read = [1e6 * min(n / 10, 2) + 5e5 * min(max(n / 10 - 2, 0), 4) + 1e6 * max(n / 10 - 6, 0) for n in range(81)]
    other = [0 if n < 20 else 2e5 * (min(n, 60) - 20) / 10 for n in range(81)]
    rtt = [90.0 if 20 <= n <= 60 else 40.0 for n in range(81)]
    frames = [rows(5, read, False, [None] * 81), rows(5, read, True, rtt), rows(6, other, False, [None] * 81)]
    series = pl.concat(
        pl.DataFrame(one, schema_overrides={"bytes": pl.Float64, "srtt_ms": pl.Float64}) for one in frames
    )
    test: Any = {"test": 5, "began_s": 0.0, "spec": {"bulk": {"down": 1, "duration_ns": 8e9}}}
    found: Any = beside(test, {"label": "l", "first": "down", "offset_s": 2.0}, series)
    phases = [found[name] for name in ("before", "during", "after")]
    assert [phase["seconds"] for phase in phases] == [2.0, 4.0, 2.0]
    assert [phase["first"]["goodput_bps"] for phase in phases] == pytest.approx([8e6, 4e6, 8e6])
    assert [phase["first"]["rtt_p50_ms"] for phase in phases] == [40.0, 90.0, 40.0]
    assert [phase["second"] and phase["second"]["goodput_bps"] for phase in phases] == [
        None,
        pytest.approx(1.6e6),
        None,
    ]


@pytest.mark.finding("M8")
def test_estimate_has_the_bytes_of_the_capacity_search_up_to_the_maximum():
    plan = {"tests": ["capacity", "tcp"], "duration": "4 s"}
    rates = {"down": 8e6, "up": 8e6}
    assert estimate(plan_of(Document(plan)), rates)[1] == pytest.approx(2 * 1e6 * (1.25 * 6 + 4))
    assert estimate(plan_of(Document({**plan, "max_bytes": "5 MB"})), rates)[1] == 5e6


@pytest.mark.finding("M8")
def test_bytes_of_tests_are_datagrams_and_segments_with_their_headers():
    sender = {"flow": 0, "sends": True, "bytes": 0, "retransmitted": 2, "mss": 1448, "segments_sent": 10}
    receiver = {"flow": 0, "sends": False, "bytes": 8 * 1448, "retransmitted": 0, "mss": 1448, "segments_sent": 0}
    spec: Any = {"bulk": {}}
    test: Any = {
        "spec": spec,
        "directions": [{"sent": 100, "ip_bytes": 1200}],
        "near_flows": [receiver],
        "far_flows": [sender],
    }
    assert ip_bytes(test) == 120_000 + 10 * 1500


@pytest.mark.finding("M5")
def test_responsiveness_has_an_interval_only_with_enough_probes():
    few = _responsiveness([50.0] * 10, [50.0] * 10, [60.0] * 40)
    assert few is not None
    assert (few["lo"], few["hi"]) == (None, None)
    waves = [40.0 + 10 * (n % 4) + n / 5 for n in range(100)]
    found = _responsiveness(waves, waves, waves)
    assert found is not None
    assert found["lo"] < found["rpm"] < found["hi"]
    assert found["hi"] - found["lo"] < 0.6 * found["rpm"]


@pytest.mark.finding("M8")
def test_measurements_keep_their_distance_when_a_schedule_restarts_late(tmp_path):
    clock, starts = [1000.0], []

    def sleep(seconds):
        clock[0] += seconds

    def once(folder):
        starts.append(clock[0])
        if len(starts) == 2:
            raise KeyboardInterrupt
        folder.mkdir(exist_ok=True)
        (folder / "measurement.json").write_text('{"capacity": {}, "flows": [], "delay": null}')

    def go():
        keep(tmp_path / "s", Schedule(6.0, 4), {}, once, report=print, now=lambda: clock[0], sleep=sleep)

    with pytest.raises(KeyboardInterrupt):
        go()
    clock[0] += 4.0
    go()
    assert starts == [1000.0, 1006.0, 1010.0, 1016.0, 1022.0]


def _document(hour, ssi, goodput):
    flow = {
        "purpose": "tcp",
        "variant": "cubic",
        "direction": "down",
        "goodput_bps": goodput,
        "rtt_ms": {"p50": 40.0},
        "retransmission_rate": 0.01,
        "asked": {"buffer": "64 KiB"},
    }
    capacity = {"down": {"rate_bps": 1e7}}
    started = f"2026-03-01T{hour:02d}:00:00+00:00"
    return {"started": started, "labels": {"ssi": ssi}, "flows": [flow], "capacity": capacity, "delay": None}


@pytest.mark.finding("M7")
def test_schedule_report_keeps_directions_apart_when_a_plan_measures_both():
    up = _document(8, "3", 1e6)
    up["flows"][0]["direction"], up["capacity"] = "up", {"up": {"rate_bps": 2e6}}
    rows = rows_of(enumerate([_document(8, "3", 4e6), up]))
    for key in ("label.ssi", "variant", "buffer", "hour", "direction"):
        goodput = [group for group in groups(rows, key) if group.metric == "goodput_bps"]
        assert [(group.direction, group.values) for group in goodput] == [("down", [4e6]), ("up", [1e6])], key


def test_interval_of_a_mean_is_never_negative() -> None:
    low, high = interval([0.0, 0.0, 10.0]) or (None, None)
    assert low == 0.0 and high is not None and high > 10.0


@pytest.mark.finding("M7")
def test_schedule_report_groups_by_label_variant_buffer_direction_and_hour(tmp_path):
    documents = [_document(8, "3", 2e6), _document(8, "3", 4e6), _document(9, "5", 8e6)]
    rows = rows_of(enumerate(documents))
    goodput = [group for group in groups(rows, "label.ssi") if group.metric == "goodput_bps"]
    assert [(group.value, group.values) for group in goodput] == [("3", [2e6, 4e6]), ("5", [8e6])]
    assert {group.value for group in groups(rows, "hour")} == {"08", "09"}
    runs = {}
    for number, document in enumerate(documents):
        (tmp_path / f"{number:05d}").mkdir()
        (tmp_path / f"{number:05d}" / "measurement.json").write_text(json.dumps(document))
        runs[str(number)] = {"began": document["started"], "folder": f"{number:05d}"}
    state = {"every_s": 60.0, "times": 4, "what": {"host": "h"}, "began": 0.0, "runs": {**runs, "3": {"missed": True}}}
    (tmp_path / "schedule.json").write_text(json.dumps(state))
    page = schedule_page(tmp_path)
    assert "3 of 4 measurements are done; 0 failed, 1 were missed" in page.answer
    titles = [section.title for section in page.sections]
    assert titles == ["Over time", "By ssi", "By variant", "By buffer", "By direction", "By hour"]
    assert (
        page_of(tmp_path).because
        == page.because
        == "The highest mean goodput down is 4.67 Mb/s (cubic, buffer 64 KiB)."
    )


def test_period_and_axis_of_a_schedule_have_the_unit_that_fits() -> None:
    assert [_period(seconds) for seconds in (6, 90.0, 3600.0, 86400.0)] == ["6 s", "1.50 min", "1 h", "1 d"]
    assert [_axis_unit(seconds)[1] for seconds in (0.0, 119.0, 5 * 3600.0, 3 * 86400.0)] == ["s", "s", "h", "d"]
