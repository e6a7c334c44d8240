"""Findings at either end of a flow, and tables of the report and the terminal."""

from __future__ import annotations

import pytest

from ackclock import analyze
from ackclock.analysis.clocks import format_clock
from ackclock.analysis.diagnosis import acks, bottleneck, limits, loss, loss_models, recovery_time
from ackclock.analysis.diagnosis.bottleneck import has_queue
from ackclock.analysis.diagnosis.capture_context import DocumentContext
from ackclock.analysis.diagnosis.flow_context import FlowContext
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


def crossing(p50: float, p95: float) -> dict:
    return {"one_way_delay_ms": {"min": 60.0, "p50": p50, "p95": p95}}


def seen(document, there=None, back=None, shared=0.0, **figures) -> FlowContext:
    """A view of the download with figures of one's own."""
    best = DocumentContext(document).flow_context(document["flows"][0], "b2a")
    return FlowContext(
        best.flow, "b2a", {**best.figures, **figures}, best.other, best.place, there or {}, back or {}, shared
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


def test_probed_zero_window_has_its_share_and_its_reason(small_window):
    document = analyze(small_window[0]).document
    shares = {
        **document["flows"][0]["b2a"]["limited"],
        "receive_window": 0.9,
        "application": 0.0,
        "path_rate": 0.1,
        "cwnd": 0.0,
    }
    closed = seen(document, limited=shares, zero_windows=11, zero_window_probes=22)
    output = {finding.finding: finding for finding in limits.findings(closed)}
    assert output["receive_window"].share == pytest.approx(0.9)
    assert "probed the closed window" in output["receive_window"].evidence


@pytest.mark.parametrize(("smallest", "grows"), [(65_536, True), (20_000_000, False)])
def test_receive_window_that_grew_is_not_named_by_its_maximum(full_queue, smallest, grows):
    document = analyze(full_queue[0]).document
    shares = {**dict.fromkeys(document["flows"][0]["b2a"]["limited"], 0.0), "receive_window": 0.11}
    window = {"min": smallest, "mean": 1.5e7, "max": 20_000_000}
    context = seen(document, limited=shares, advertised_window_bytes=window)
    evidence = {one.finding: one for one in limits.findings(context)}["receive_window"].evidence
    assert ("filled it while it grew" in evidence) == grows
    assert ("one window per RTT" in evidence) == (not grows)


@pytest.mark.parametrize(("path_rate", "is_named"), [(0.6, False), (0.0, True)])
def test_spacing_of_acks_that_a_frame_carried_together_is_no_rate(full_queue, path_rate, is_named):
    document = analyze(full_queue[0]).document
    figures = document["flows"][0]["b2a"]
    rate_bps = 100.0 * figures["goodput_bps"]
    path = {"rate_bps": rate_bps, "share": 0.9, "by": "acks", "in_bursts": False, "token_bucket": None}
    context = seen(document, inferred_path=path, limited={**figures["limited"], "path_rate": path_rate})
    assert ("inferred_rate" in {one.finding for one in bottleneck.findings(context)}) == is_named


@pytest.mark.parametrize(("closed_s", "is_reader"), [(1e-4, False), (3.0, True)])
def test_reader_is_slow_only_when_the_window_is_closed_for_long(small_window, closed_s, is_reader):
    document = analyze(small_window[0]).document
    zero = {"acks": 2, "closed_s": closed_s, "longest_s": closed_s, "closed_at_end_s": None}
    found = {one.finding: one for one in limits.findings(seen(document, zero_windows=2, zero_window=zero))}
    window = found["receive_window"]
    assert ("reads more slowly" in window.evidence) == is_reader
    assert ("the reader keeps up" in window.evidence) == (not is_reader)
    assert window.advice.startswith("Examine the receiving application" if is_reader else "Enlarge the receive buffer")


def test_slow_reader_is_found_when_its_window_shrinks_below_a_segment(tmp_path):
    flows = [{"name": "download", "workload": {"kind": "bulk", "read_rate": "0.4 Mb/s"}}]
    hop = {"rate": "1.4 Mb/s", "delay": "5 ms", "queue": {"kind": "droptail", "packets": 8}}
    for capture in simulated_captures(tmp_path, hop, {"host": "linux-2.6.20"}, flows, "20 s"):
        output = finding_of(analyze(capture).document, "receive_window")
        assert output["advice"].startswith("Examine the receiving application")
        assert "0 times" not in output["evidence"]


def test_limit_is_the_direction_whose_queue_stands_longer(full_queue):
    document = analyze(full_queue[0]).document
    spikes = seen(document, crossing(144, 179), crossing(60.1, 559))
    assert next(f.finding for f in limits.findings(spikes)) == "bottleneck"
    queue = acks._queued(spikes)
    assert queue is not None
    assert queue.finding == "ack_queue"
    standing = seen(document, crossing(63, 179), crossing(997, 1059))
    assert next(f.finding for f in limits.findings(standing)) == "ack_path"
    assert acks._queued(standing) is None
    # A fifth of the time has a queue, and it is the ACKs' then: medians over the whole flow do not
    # speak of it.
    shares = {**dict.fromkeys(document["flows"][0]["b2a"]["limited"], 0.0), "path_rate": 0.19, "cwnd": 0.78}
    rarely = seen(document, crossing(68, 94), crossing(60.1, 490), limited=shares)
    assert "ack_path" in {f.finding for f in limits.findings(rarely)}


def test_single_loss_is_not_given_as_the_limit_of_the_window(full_queue):
    document = analyze(full_queue[0]).document
    shares = {**dict.fromkeys(document["flows"][0]["b2a"]["limited"], 0.0), "cwnd": 1.0}
    for events, output in ((1, "limited it only briefly"), (9, "kept the window small")):
        repairs = {**document["flows"][0]["b2a"]["repairs"], "recoveries": events, "timeouts": 0}
        few = seen(document, limited=shares, repairs=repairs, retransmitted_segments=9)
        assert output in next(f.advice for f in limits.findings(few))


def test_ack_priority_is_advised_only_when_data_shares_their_direction(full_queue):
    document = analyze(full_queue[0]).document
    assert "ACKs alone fill the link" in acks.relief(seen(document))
    assert "ACKs first" in acks.relief(seen(document, shared=1e5))


def test_longer_buffer_is_not_advised_when_a_deep_one_overflows(full_queue):
    document = analyze(full_queue[0]).document
    cause = {
        "loss_cause": {"verdict": "congestion", "evidence": "all"},
        "lost": {"between_captures": 9},
        "loss_rate": 0.01,
    }
    for delays, advice in (
        (crossing(900, 1050), "longer buffer would only add delay"),
        (crossing(62, 70), "A longer queue, active queue management"),
    ):
        found = loss._where(seen(document, {**delays, **cause}))
        assert found is not None
        assert advice in found.advice


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
        means = list(table.columns[-3].cells)
        assert float(str(means[-1])) > 30.0, means


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


def test_queue_of_less_than_a_packet_is_none():
    assert not has_queue({"max_based": 59, "rate_bps": 1000.0})
    assert has_queue({"max_based": 32_000, "rate_bps": 254e3})
    assert not has_queue({"max_based": 2000, "rate_bps": 10e6})
    assert not has_queue({"max_based": None, "rate_bps": None})


def test_rate_models_require_three_losses(full_queue):
    document = analyze(full_queue[0]).document
    few = seen(document, repairs={**document["flows"][0]["b2a"]["repairs"], "recoveries": 1, "timeouts": 0})
    assert loss_models.rate_models(few) == {}


def test_inferred_rate_below_the_goodput_is_discarded(full_queue):
    document = analyze(full_queue[0]).document
    goodput_bps = document["flows"][0]["b2a"]["goodput_bps"]
    for bps, output in ((0.1 * goodput_bps, 0), (1.2 * goodput_bps, 1)):
        path_ = {"rate_bps": bps, "share": 0.5, "by": "acks", "token_bucket": None}
        assert len(list(bottleneck.findings(seen(document, inferred_path=path_)))) == output


def test_spurious_retransmissions_are_not_counted_as_losses(full_queue):
    document = analyze(full_queue[0]).document
    repairs = {**document["flows"][0]["b2a"]["repairs"], "recoveries": 4, "timeouts": 0}
    again = seen(document, repairs=repairs, retransmitted_segments=427, spurious_retransmits=47)
    assert "95 segments were lost at a time" in recovery_time.finding(again, 0.3).advice


def test_cubic_model_is_at_least_reno_that_counts_segments(full_queue):
    document = analyze(full_queue[0]).document
    repairs = {**document["flows"][0]["b2a"]["repairs"], "recoveries": 200, "timeouts": 0}
    models = loss_models.rate_models(seen(document, repairs=repairs))
    assert models["cubic_bps"] >= models["counted_bps"] >= models["padhye_bps"]


def test_path_with_more_recovery_than_queue_is_not_called_full(full_queue):
    document = analyze(full_queue[0]).document
    shares = {**dict.fromkeys(document["flows"][0]["b2a"]["limited"], 0.0), "path_rate": 0.34, "recovery": 0.64}
    repairs = {**document["flows"][0]["b2a"]["repairs"], "recoveries": 8, "timeouts": 3}
    found = loss_models.finding(seen(document, limited=shares, repairs=repairs))
    assert found is not None
    assert "loss recovery took 64 %" in found.advice


@pytest.mark.parametrize(("waiting", "beginning"), [(0.8, "Fewer losses would gain little"), (0.3, "The losses limit")])
def test_losses_limit_a_rate_near_a_model_only_if_the_application_does_not(full_queue, waiting, beginning):
    document = analyze(full_queue[0]).document
    repairs = {**document["flows"][0]["b2a"]["repairs"], "recoveries": 40, "timeouts": 0}
    shares = {**dict.fromkeys(document["flows"][0]["b2a"]["limited"], 0.0), "application": waiting, "cwnd": 0.2}
    figures = {"limited": shares, "repairs": repairs, "inferred_path": None}
    models = loss_models.rate_models(seen(document, **figures))
    found = loss_models.finding(seen(document, **figures, goodput_bps=models["counted_bps"]))
    assert found is not None
    assert found.advice.startswith(beginning)


@pytest.mark.parametrize(
    ("times", "waiting", "is_near", "sentence"),
    [
        (1.0, 0.1, True, "which is near CUBIC's: a quarter of them would give about"),
        (0.51, 0.1, True, "which is near Reno's: a quarter of them would give about"),
        (1.9, 0.1, False, "which is 1.9 times what CUBIC would get: a quarter of them would give about 2."),
        (0.72, 0.1, False, "which is 0.7 times what CUBIC would get"),
        (1.0, 0.8, True, "by coincidence"),
        (1.9, 0.8, False, "Fewer losses would gain little"),
    ],
)
def test_rate_is_called_near_a_model_only_within_the_models_error(full_queue, times, waiting, is_near, sentence):
    document = analyze(full_queue[0]).document
    repairs = {**document["flows"][0]["b2a"]["repairs"], "recoveries": 40, "timeouts": 0}
    shares = {**dict.fromkeys(document["flows"][0]["b2a"]["limited"], 0.0), "application": waiting, "cwnd": 0.2}
    figures = {"limited": shares, "repairs": repairs, "inferred_path": None}
    models = loss_models.rate_models(seen(document, **figures))
    found = loss_models.finding(seen(document, **figures, goodput_bps=times * models["cubic_bps"]))
    assert found is not None
    assert sentence in found.advice
    assert ("near" in found.advice) == is_near


def test_number_that_rounds_up_has_three_digits():
    assert rate(9.996e6) == "10.0 Mb/s"
    assert rate(9.994e6) == "9.99 Mb/s"
    assert [rate(bps) for bps in (999.6e6, 999.4e6, 999_600.0, 999.6)] == [
        "1.00 Gb/s", "999 Mb/s", "1.00 Mb/s", "1.00 kb/s",
    ]  # fmt: skip
    assert [column_percent(share) for share in (0.0, 1e-19, 0.0004)] == ["0.0 %", "0.0 %", "<0.1 %"]
    assert milliseconds(0.0297) == "0.03 ms"
    assert milliseconds(0.779) == "0.779 ms"
