"""The summary of a capture: connections, top lists, frame numbers, verdict, and timeline."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ackclock import InputError, analyze
from ackclock.analysis.filter import PacketFilter
from ackclock.analysis.run import live_document, open_capture
from ackclock.analysis.summary import verdict_line, worst_flows
from ackclock.analysis.terminal_tables import MAX_FLOWS, analysis_tables, source_tables
from ackclock.analysis.timeline import timeline_table
from tests.support.captures import simulated_captures
from tests.support.short_flows import (
    ACK,
    PSH,
    RST,
    SYN,
    Connection,
    Packet,
    exchange,
    refused,
    unanswered,
    write_connections,
)

LATER = (Packet(5.0, True, PSH | ACK, 1, 1, 300), Packet(5.02, False, ACK, 1, 301, 800))
HALF_OPEN = (Packet(6.0, True, SYN), Packet(6.02, False, SYN | ACK, 0, 1))
RESET = (*exchange(7.0)[:-3], Packet(7.1, True, RST | ACK, 301, 2897))


@pytest.fixture(scope="module")
def mixture(tmp_path_factory):
    """20 exchanges with port 443, 3 refused, 2 unanswered, one reset, half open, from midstream."""
    packets = [exchange(number * 0.1) for number in range(20)]
    packets += [refused(3.0 + number) for number in range(3)]
    packets += [unanswered(4.0 + number) for number in range(2)]
    packets += [RESET, HALF_OPEN, LATER]
    connections = [
        Connection(one, ("10.0.0.1", 2000 + number), ("192.0.2.1", 443) if number < 20 else ("192.0.2.2", 22))
        for number, one in enumerate(packets)
    ]
    return write_connections(tmp_path_factory.mktemp("mixture") / "mixture.pcap", connections)


def _column(table, index: int) -> list[str]:
    return list(table.columns[index].cells)


def test_connections_are_counted_by_how_they_began_and_ended(mixture):
    counts = analyze(mixture).document["summary"]["connections"]
    assert counts == {"established": 21, "refused": 3, "unanswered": 2, "half_open": 1, "midstream": 1, "reset": 1}


def test_top_lists_have_hosts_ports_and_flows_by_each_quantity(mixture):
    summary = analyze(mixture).document["summary"]
    tops = {(top["of"], top["by"]): top["rows"] for top in summary["top"]}
    assert [row["name"] for row in tops["host", "bytes"]] == ["10.0.0.1", "192.0.2.1", "192.0.2.2"]
    assert [(row["name"], row["flows"]) for row in tops["port", "bytes"]] == [("443", 20), ("22", 8)]
    assert len(tops["flow", "bytes"]) == 10
    # An unanswered SYN is retransmitted after 1 s and 3 s.
    assert [(row["time_lost_s"], row["retransmitted_segments"]) for row in tops["flow", "time_lost_s"]] == [
        (3.0, 2)
    ] * 2
    assert worst_flows(summary)[:2] == [row["flow"] for row in tops["flow", "time_lost_s"]]


def test_frames_are_numbered_as_in_the_file_whatever_the_filter(mixture):
    flows = {flow["client"]: flow for flow in analyze(mixture).document["flows"]}
    assert flows["10.0.0.1:2000"]["frames"] == {"first": 1, "last": 10}
    part = {flow["client"]: flow for flow in analyze(mixture, since=1.0, filter="port 22").document["flows"]}
    assert part
    for client, flow in part.items():
        assert flow["frames"] == flows[client]["frames"]
    waiting = flows["10.0.0.1:2023"]
    events = waiting["a2b"]["events"]
    assert [event["kind"] for event in events] == ["handshake", "handshake"]
    assert events[-1]["frame"] == waiting["frames"]["last"]
    assert events[-1]["time_s"] == pytest.approx(waiting["start_s"] + 3.0)
    assert [event["kind"] for event in flows["10.0.0.1:2025"]["a2b"]["events"]] == ["reset"]


def test_events_have_the_frames_and_kinds_of_the_series(tmp_path):
    server, _ = simulated_captures(tmp_path, {"loss": {"kind": "bernoulli", "mean": 0.01}})
    analysis = analyze(server, series=True)
    assert analysis.series is not None
    rows = analysis.series.filter(~analysis.series["kind"].is_in(["new", "ack", "after_hole", "syn"]))
    events = analyze(server).document["flows"][0]["b2a"]["events"]
    assert len(events) > 10
    assert [(event["frame"], event["kind"]) for event in events] == list(zip(rows["frame"], rows["kind"], strict=True))


def test_terminal_tables_end_after_ten_flows_the_worst_first(mixture):
    source = analyze(mixture).source
    summary, top, flows, *_ = source_tables(source)
    assert _column(summary, 1)[3] == "21 established, 3 refused, 2 unanswered, 1 half open, 1 midstream and 1 reset"
    assert _column(top, 1) == ["10.0.0.1", "192.0.2.1", "192.0.2.2", "443", "22"]
    assert f"the {MAX_FLOWS} worst of 28 flows (--all prints all)" in str(flows.title)
    whole = source_tables(source, all_flows=True)
    assert "worst" not in str(whole[2].title)
    assert len(set(_column(whole[2], 0))) > len(set(_column(flows, 0)))
    assert source.worst(3)[:2] == worst_flows(source.summary())[:2]


CASES: dict[str, dict[str, Any]] = {
    "receiving_host": {"tcp": {"receive_buffer": "16 KiB"}},
    "sending_host": {"tcp": {"send_buffer": "16 KiB"}},
    "network": {"hop": {"queue": {"kind": "droptail", "packets": 200}}},
    "nothing_wrong": {"tcp": {"variant": "vegas"}},
}
PAUSES = tuple(
    Packet(0.1 + 0.5 * number + after, from_client, PSH | ACK, *numbers)
    for number in range(20)
    for after, from_client, numbers in (
        (0.0, True, (1 + 1400 * number, 1 + 300 * number, 1400)),
        (0.02, False, (1 + 300 * number, 1401 + 1400 * number, 300)),
    )
)
"""A message of 1,400 bytes each half a second, answered with 300."""


def test_verdict_is_application_when_the_hosts_pause_between_messages(tmp_path):
    path = write_connections(tmp_path / "a.pcap", [Connection((*exchange(0.0)[:3], *PAUSES), ("10.0.0.1", 2000))])
    summary = analyze(path).document["summary"]
    assert summary["verdict"]["verdict"] == "application", verdict_line(summary)
    assert (summary["verdict"]["flow"], summary["verdict"]["direction"]) == (1, "a2b")


def test_verdict_is_network_when_a_small_flow_repeats_a_segment_without_an_ack(tmp_path):
    copies = tuple(Packet(0.1 + after, True, PSH | ACK, 301, 2897, 400) for after in (0.0, 0.3, 0.9, 2.1, 4.5))
    path = write_connections(tmp_path / "a.pcap", [Connection((*exchange(0.0)[:-3], *copies), ("10.0.0.1", 2000))])
    summary = analyze(path).document["summary"]
    assert summary["verdict"]["verdict"] == "network", verdict_line(summary)
    assert "was sent 5 times (after waits of 300 ms, 600 ms, 1.2 s, 2.4 s" in summary["verdict"]["evidence"]


@pytest.mark.parametrize("case", CASES)
def test_verdict_of_two_captures_is_the_same_in_either_order(case, tmp_path):
    server, client = simulated_captures(tmp_path, duration="20 s", **CASES[case])
    verdicts = [analyze(*captures).document["summary"]["verdict"] for captures in ((server, client), (client, server))]
    assert [verdict["verdict"] for verdict in verdicts] == [case, case], verdicts
    assert verdicts[0]["share"] == pytest.approx(verdicts[1]["share"])


LOSSY = {"loss": {"down": 0.02}}
AT_RECEIVER: dict[str, tuple[str, dict[str, Any]]] = {
    "losses": ("network", {"hop": LOSSY}),
    "long queue": ("network", {"hop": {"queue": {"kind": "droptail", "packets": 200}}}),
    "send buffer": ("sending_host", {"tcp": {"send_buffer": "16 KiB"}}),
    "small window and losses": ("receiving_host", {"hop": LOSSY, "tcp": {"receive_buffer": "8 KiB"}}),
    "path's rate with a short queue": ("nothing_wrong", {"hop": {"queue": {"kind": "droptail", "packets": 15}}}),
    "path's rate with early drops": ("nothing_wrong", {"hop": {"queue": {"kind": "fq-codel"}}}),
    "path's rate without a queue": ("nothing_wrong", {"tcp": {"variant": "vegas"}}),
}


@pytest.mark.parametrize("case", AT_RECEIVER)
def test_verdict_at_the_receiver_is_of_what_its_end_shows(case, tmp_path):
    expected, settings = AT_RECEIVER[case]
    _, client = simulated_captures(tmp_path, duration="20 s", **settings)
    verdict = analyze(client).document["summary"]["verdict"]
    assert verdict["verdict"] == expected, verdict["evidence"]
    if expected == "nothing_wrong":
        assert "does not show the sender's limits" in verdict["evidence"]


@pytest.mark.parametrize(
    ("hop", "verdict"),
    [(LOSSY, "network"), ({"queue": {"kind": "droptail", "packets": 10}}, "nothing_wrong")],
    ids=["radio", "shallow queue"],
)
def test_verdict_is_network_when_losses_keep_the_window_below_the_paths_rate(hop, verdict, tmp_path):
    server, _ = simulated_captures(tmp_path, hop, {"variant": "reno"}, duration="20 s")
    found = analyze(server).document["summary"]["verdict"]
    assert found["verdict"] == verdict, found["evidence"]
    assert ("limited by losses" in found["evidence"]) == (verdict == "network")


@pytest.mark.parametrize("verdict", CASES)
def test_verdict_names_the_party_whose_limit_has_the_largest_share(verdict, tmp_path):
    server, _ = simulated_captures(tmp_path, **CASES[verdict])
    summary = analyze(server).document["summary"]
    assert summary["verdict"]["verdict"] == verdict, verdict_line(summary)
    assert (summary["verdict"]["share"] is None) == (verdict == "nothing_wrong")


@pytest.mark.parametrize(
    ("failed", "verdict"), [(refused, "receiving_host"), (unanswered, "network"), (exchange, "nothing_wrong")]
)
def test_verdict_is_of_the_connections_when_one_in_five_failed(failed, verdict, tmp_path):
    for number, expected in ((2, verdict), (10, "nothing_wrong")):
        connections = [
            Connection(failed(at * 0.1) if at % number == 0 else exchange(at * 0.1), ("10.0.0.1", 2000 + at))
            for at in range(20)
        ]
        path = write_connections(tmp_path / f"{number}.pcap", connections)
        assert analyze(path).document["summary"]["verdict"]["verdict"] == expected


def test_summary_is_the_same_from_the_text_and_from_the_objects(mixture):
    texts = []
    for make in (lambda source: b"".join(source.json_text()), lambda source: json.dumps(source.whole()).encode()):
        reader = open_capture(str(mixture), PacketFilter())
        while reader.advance(1000):
            pass
        texts.append(json.loads(make(live_document(str(mixture), reader)))["summary"])
    assert texts[0] == texts[1]
    assert texts[0]["findings"][0] == {"finding": "connection_refused", "flows": 3}


def test_timeline_has_a_line_for_each_event_and_sums_between(tmp_path):
    server, _ = simulated_captures(tmp_path, {"loss": {"kind": "bernoulli", "mean": 0.01}})
    analysis = analyze(server, series=True)
    table = timeline_table(analysis, 1, all_lines=True)
    events = analysis.document["flows"][0]["b2a"]["events"]
    frames = _column(table, 1)
    assert [frame for frame in frames if frame in {str(event["frame"]) for event in events}]
    assert {str(event["frame"]) for event in events} <= set(frames)
    first = [cell for cell in _column(table, 3) if "segments" in cell]
    assert first
    with pytest.raises(InputError, match="a number from 1 to 1"):
        timeline_table(analysis, 2)
    with pytest.raises(InputError, match="no series"):
        timeline_table(analyze(server), 1)


def test_tables_of_an_analysis_without_a_summary_are_printed(mixture):
    document = analyze(mixture).document
    del document["summary"]
    assert str(analysis_tables(document)[0].title).startswith(str(mixture))
