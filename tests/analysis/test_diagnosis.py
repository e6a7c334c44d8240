"""Findings at either end of a flow, and tables of the report and the terminal.

The rules have their own tests (crates/diagnose).
"""

from __future__ import annotations

import re

import pytest

from ackclock import analyze
from ackclock.analysis.clocks import format_clock
from ackclock.analysis.report_page import page
from ackclock.analysis.report_tables import flows_table, handshakes_table, limits_table
from ackclock.analysis.terminal_tables import analysis_tables
from ackclock.format import column_percent, milliseconds, rate
from ackclock.report.page import Chart, Facts
from tests.support.captures import finding_of, simulated_captures


@pytest.fixture(scope="module")
def small_window(tmp_path_factory):
    folder = tmp_path_factory.mktemp("window")
    return simulated_captures(folder, tcp={"receive_buffer": "16 KiB"})


@pytest.fixture(scope="module")
def full_queue(tmp_path_factory):
    return simulated_captures(
        tmp_path_factory.mktemp("queue"), {"queue": {"kind": "droptail", "packets": 200}}, duration="20 s"
    )


def test_diagnosis_at_the_receiver_omits_application_and_models(full_queue):
    document = analyze(full_queue[1]).document
    names = {finding["finding"] for finding in document["flows"][0]["diagnosis"]}
    assert names & {"application", "models", "bottleneck", "cwnd", "ack_compression"} == set()
    assert "not at its end" in finding_of(document, "far_end")["evidence"]
    assert isinstance(limits_table(document), Facts)


def test_receive_window_is_found_at_the_receiver_when_it_explains_the_rate(small_window):
    output = finding_of(analyze(small_window[1]).document, "receive_window")
    assert "limits this flow" in output["evidence"]
    assert "SO_RCVBUF" in output["advice"]


def test_slow_reader_is_found_when_its_window_shrinks_below_a_segment(tmp_path):
    flows = [{"name": "download", "workload": {"kind": "bulk", "read_rate": "0.4 Mb/s"}}]
    hop = {"rate": "1.4 Mb/s", "delay": "5 ms", "queue": {"kind": "droptail", "packets": 8}}
    for capture in simulated_captures(tmp_path, hop, {"host": "linux-2.6.20"}, flows, "20 s"):
        output = finding_of(analyze(capture).document, "receive_window")
        assert output["advice"].startswith("Examine the receiving application")
        assert "0 times" not in output["evidence"]


def test_flows_table_has_a_cell_for_every_column(full_queue):
    for captures in (full_queue, full_queue[:1], full_queue[1:]):
        document = analyze(*captures).document
        for table in (flows_table(document), limits_table(document), handshakes_table(document)):
            if not isinstance(table, Facts):
                assert {len(row) for row in table.rows} == {len(table.columns)}


def test_handshake_row_has_negotiated_options_and_end(full_queue):
    (row,) = handshakes_table(analyze(full_queue[0]).document).rows
    assert row[1].text == "60 ms"
    assert row[2].text == "1460"
    assert row[4].text == "SACK, timestamps, window scaling"
    assert row[7].text == "open"


def test_rtt_at_the_receiver_is_from_echoed_timestamps(full_queue):
    near, far = (flows_table(analyze(capture).document).rows[0] for capture in full_queue)
    assert "echoes" in far[3].note
    assert "echoes" not in near[3].note


def test_terminal_table_has_the_senders_rtt_for_any_order_of_captures(full_queue):
    for captures in (full_queue, full_queue[::-1]):
        table = analysis_tables(analyze(*captures).document)[1]
        (text,) = (str(cell) for cell in table.columns[-1].cells if "retransmitted" in str(cell))
        mean = re.search(r"RTT \S+ / (\S+) / \S+ ms", text)
        assert mean is not None and float(mean[1]) > 30.0, text


def test_one_flow_fits_a_terminal_of_24_lines(small_window, ackclock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = ackclock("analyze", str(small_window[0]))
    assert len(done.stdout.splitlines()) <= 24, done.stdout
    assert "SYN" not in done.stdout and "0 out of order" not in done.stdout


def test_terminal_table_has_the_advice_of_a_finding(small_window):
    held = analysis_tables(analyze(small_window[0]).document)[-1]
    assert any("-> Enlarge the receive buffer" in str(cell) for cell in held.columns[-1].cells)


def test_slow_clock_is_reported_as_slow():
    output = format_clock({"offset_ms": -0.01, "skew_ppm": -0.2, "offset_interval_ms": [-60.0, 60.0]})
    assert "0.010 ms behind" in output
    assert "0.2 ppm slow" in output


def test_page_has_no_rtt_chart_when_the_capture_is_at_the_receiver(full_queue):
    drawn = []
    for capture in full_queue:
        section = next(s for s in page(analyze(capture, series=True)).sections if s.title.startswith("Flow 1"))
        drawn.append({block.title for block in section.blocks if isinstance(block, Chart)})
    assert {"Round-trip time", "Bytes in flight", "Gaps between ACKs"} <= drawn[0]
    assert drawn[1] == {"Goodput"}


def test_number_that_rounds_up_has_three_digits():
    assert rate(9.996e6) == "10.0 Mb/s"
    assert rate(9.994e6) == "9.99 Mb/s"
    assert [rate(bps) for bps in (999.6e6, 999.4e6, 999_600.0, 999.6)] == [
        "1.00 Gb/s", "999 Mb/s", "1.00 Mb/s", "1.00 kb/s",
    ]  # fmt: skip
    assert [column_percent(share) for share in (0.0, 1e-19, 0.0004)] == ["0.0 %", "0.0 %", "<0.1 %"]
    assert milliseconds(0.0297) == "0.03 ms"
    assert milliseconds(0.779) == "0.779 ms"
