"""The limit that a capture at the sender shows, in the kinds of a simulation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ackclock import analyze
from ackclock.analysis.capture_document import LiveDocument
from ackclock.input.scenario import draft_of
from ackclock.limit_words import KINDS
from ackclock.simulation.engine import run
from ackclock.simulation.plan import Capture, build_plan
from studies.limits.rows import FLOW, CaptureLimit, Row, Setting, captured, evaluate

READER = {"kind": "bulk", "read_rate": "1 Mb/s"}
PAGES = {
    "kind": "web", "persistent": True, "request": "200 B", "answers": 1, "size": "20 KiB", "think": "0.3 s", "jobs": 99,
}  # fmt: skip
FULL = Setting("plain", delay_ms=50.0, buffer_ms=400.0, variant="reno")


@pytest.mark.finding("U4")
@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        (FULL, "bottleneck"),
        (replace(FULL, receive_kib=16), "receive_window"),
        (replace(FULL, send_kib=16), "send_buffer"),
        (replace(FULL, loss=0.02), "cwnd"),
        (replace(FULL, workload=READER, receive_kib=64), "application"),
        (replace(FULL, workload=PAGES), "application"),
    ],
)
def test_capture_and_simulation_name_the_same_limit(setting: Setting, kind: str, tmp_path: Path) -> None:
    (row,) = evaluate([setting], tmp_path)
    assert row.label.document["kind"] == kind
    assert captured(row, tmp_path).kind == kind


def test_document_and_its_text_have_the_limit_of_each_direction(tmp_path: Path) -> None:
    path = tmp_path / "sender.pcap"
    setting = replace(FULL, receive_kib=16, seconds=3.0)
    run(build_plan(draft_of(setting.scenario(tmp_path)).check(), 1, [Capture(FLOW, "server", path)]))
    done = analyze(path)
    flow = done.document["flows"][0]
    assert flow["limit"] == {"a2b": None, "b2a": "receive_window"}
    assert flow["diagnosis"][0]["finding"] in KINDS
    assert flow["diagnosis"][0]["evidence"].startswith("The receive window (16 KB) limits goodput")
    assert isinstance(done.source, LiveDocument)
    assert json.loads(b"".join(done.source.json_text()))["flows"][0]["limit"] == flow["limit"]


def test_capture_at_the_receiver_shows_no_limit(tmp_path: Path) -> None:
    path = tmp_path / "receiver.pcap"
    scenario = replace(FULL, seconds=3.0).scenario(tmp_path)
    run(build_plan(draft_of(scenario).check(), 1, [Capture(FLOW, "client", path)]))
    assert analyze(path).document["flows"][0]["limit"] == {"a2b": None, "b2a": None}


def test_row_is_right_when_the_capture_names_any_limit_of_its_loss() -> None:
    row = Row(Setting("plain"), 1e6, None, {"channel": 2.0})
    assert row.truth == "channel"
    assert CaptureLimit(row, "recovery").right
    assert not CaptureLimit(row, "bottleneck").right
