"""Logs of QUIC endpoints: figures and findings as of a capture at the sender."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from ackclock import analyze
from ackclock.analysis.terminal_tables import source_tables
from ackclock.errors import InputError

RTT_MS = 40.0
PACKET = 1200


def download(
    lost_each: int = 100, queue_ms: float = 0.0, packets: int = 2000
) -> list[tuple[float, str, dict[str, Any]]]:
    """Events of a server that sends a packet each ms and loses each `lost_each`-th of them."""
    events: list[tuple[float, str, dict[str, Any]]] = []
    again: list[int] = []
    offset = 0
    for number in range(packets):
        at = float(number)
        start = again.pop() if again else offset
        offset = max(offset, start + PACKET - 35)
        frames = [{"frame_type": "stream", "stream_id": 1, "offset": start, "length": PACKET - 35}]
        header = {"packet_type": "1RTT", "packet_number": number}
        events.append((at, "packet_sent", {"header": header, "raw": {"length": PACKET}, "frames": frames}))
        rtt = RTT_MS + (queue_ms if number > packets // 4 else 0.0) * (1 + number % 7 / 10)
        metrics = {"latest_rtt": rtt, "smoothed_rtt": rtt, "min_rtt": RTT_MS}
        metrics |= {"congestion_window": 48_500, "bytes_in_flight": 48_000}
        events.append((at + 0.1, "metrics_updated", metrics))
        if lost_each and number % lost_each == lost_each - 1:
            events.append((at + 0.2, "packet_lost", {"header": header, "trigger": "reordering_threshold"}))
            again.append(start)
    events.append((float(packets) + RTT_MS, "packet_received", {"header": header, "raw": {"length": 32}, "frames": []}))
    return events


def sequence(events, version="0.3", names="quinn") -> str:
    """A JSON text sequence, as quinn, noq and quic-go write it."""
    prefix = {"metrics_updated": "recovery:", "packet_lost": "recovery:"}
    common = {"time_format": "relative", "reference_time": 1.7e12}
    header = {"qlog_format": "JSON-SEQ", "qlog_version": version, "title": names}
    if version == "0.4":
        header = {
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
        }
        common = {"time_format": "relative_to_epoch"}
        prefix = {
            "metrics_updated": "quic:recovery_",
            "packet_lost": "quic:",
            "packet_sent": "quic:",
            "packet_received": "quic:",
        }
    trace = {"vantage_point": {"type": "server"}, "common_fields": common}
    records: list[Any] = [{**header, "trace": trace}]
    records += [{"time": at, "name": prefix.get(name, "transport:") + name, "data": data} for at, name, data in events]
    return "".join(f"\x1e{json.dumps(record)}\n" for record in records)


def file_of_aioquic(events) -> str:
    def changed(name, data):
        if name == "metrics_updated":
            return {{"congestion_window": "cwnd"}.get(key, key): value for key, value in data.items()}
        if name == "packet_lost":
            return {"type": "1RTT", "packet_number": data["header"]["packet_number"]}
        return data

    prefix = {"metrics_updated": "recovery:", "packet_lost": "recovery:"}
    listed = [
        {"data": changed(name, data), "name": prefix.get(name, "transport:") + name, "time": 1.7e12 + at}
        for at, name, data in events
    ]
    trace = {"common_fields": {"ODCID": "00"}, "events": listed, "vantage_point": {"name": "aioquic", "type": "server"}}
    return json.dumps({"qlog_format": "JSON", "qlog_version": "0.3", "traces": [trace]})


def file_of_picoquic(events) -> str:
    """Lists as events, and microseconds."""

    def changed(name, data):
        if name == "metrics_updated":
            return {
                {"congestion_window": "cwnd"}.get(key, key): value * 1000 if key.endswith("rtt") else value
                for key, value in data.items()
            }
        if "raw" in data:
            frames = [{"frame_type": "stream", "id": 1, **frame} for frame in data["frames"]]
            return {"packet_type": "1RTT", "header": {"packet_size": data["raw"]["length"]}, "frames": frames}
        return data

    group = {"metrics_updated": "recovery", "packet_lost": "recovery"}
    listed = [[at * 1000, group.get(name, "transport"), name, changed(name, data)] for at, name, data in events]
    trace = {
        "vantage_point": {"name": "backend-67", "type": "server"},
        "event_fields": ["relative_time", "category", "event", "data"],
        "configuration": {"time_units": "us"},
        "events": listed,
    }
    return json.dumps({"qlog_version": "draft-00", "traces": [trace]})


WRITERS = {
    "noq": sequence,
    "quic-go 0.4": lambda events: sequence(events, "0.4"),
    "aioquic": file_of_aioquic,
    "picoquic": file_of_picoquic,
}


@pytest.fixture(params=WRITERS)
def written(request, tmp_path):
    def write(events):
        path = tmp_path / "connection.qlog"
        path.write_text(WRITERS[request.param](events), encoding="utf-8")
        return path

    return write


def test_qlog_has_the_figures_that_its_events_have(written):
    document = analyze(written(download())).document
    (flow,) = document["flows"]
    assert (flow["protocol"], flow["vantage"]["place"]) == ("quic", "server")
    sent: Any = flow["b2a"]
    assert (sent["packets"], sent["segments"], sent["retransmitted_segments"]) == (2000, 2000, 20)
    # The last one lost is not retransmitted.
    assert sent["unique_bytes"] == (2000 - 19) * (PACKET - 35)
    assert sent["rtt_ms"]["min"] == pytest.approx(RTT_MS)
    assert sent["outstanding_bytes"]["max"] == 48_000
    assert flow["duration_s"] == pytest.approx(2.04, abs=0.001)
    assert sum(value or 0 for value in sent["limited"].values()) == pytest.approx(1.0)


def test_findings_of_a_qlog_are_the_queue_or_the_window(written):
    def findings(events):
        (flow,) = analyze(written(events)).document["flows"]
        return {finding["finding"]: finding for finding in flow["diagnosis"]}

    assert findings(download(0, queue_ms=60.0))["bottleneck"]["share"] == pytest.approx(0.74, abs=0.03)
    idle = findings(download(0))
    assert "bottleneck" not in idle and idle["cwnd"]["share"] > 0.9
    assert findings(download(20))["recovery"]["share"] > 0.5


def test_qlog_is_read_compressed_and_printed_as_a_capture(tmp_path):
    path = tmp_path / "connection.sqlog.gz"
    path.write_bytes(gzip.compress(sequence(download()).encode()))
    analysis = analyze(path)
    assert analysis.flows["b2a_retransmitted_segments"].to_list() == [20]
    titles = [str(table.title) for table in source_tables(analysis.source)]
    assert titles[0] == "Summary" and "Findings" in titles
    assert json.loads(b"".join(analysis.source.json_text())) == analysis.document


def test_log_of_a_program_that_was_killed_is_read_to_its_end(tmp_path):
    path = tmp_path / "connection.sqlog"
    path.write_text(sequence(download())[:-20], encoding="utf-8")
    assert analyze(path).document["flows"][0]["b2a"]["packets"] == 2000


def test_damaged_qlogs_and_options_of_packets_are_refused(tmp_path):
    path = tmp_path / "connection.sqlog"
    lines = [f"{line}\n" for line in sequence(download(packets=20)).split("\n")[:-1]]
    path.write_text("".join([*lines[:5], "\x1e{broken}\n", *lines[5:]]), encoding="utf-8")
    with pytest.raises(InputError, match="no JSON in line 6"):
        analyze(path)
    path.write_text(lines[0], encoding="utf-8")
    with pytest.raises(InputError, match="without events"):
        analyze(path)
    path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match="without filter"):
        analyze(path, filter="port 443")
