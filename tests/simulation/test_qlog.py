"""qlog files of a run: the frame of the main schema, segments beside the run's own counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze, cli
from ackclock.errors import RunFailed
from ackclock.simulation.qlog import EVENT_SCHEMA, QUIC_SCHEMA, segments

SCENARIO = """
duration = "4 s"
seeds = {seeds}
[[hop]]
name = "line"
rate = "2 Mb/s"
delay = "10 ms"
queue = {{ kind = "droptail", packets = 8 }}
[[flow]]
name = "get"
workload = {{ kind = "bulk" }}
[[flow]]
name = "put"
direction = "up"
workload = {{ kind = "transfer", size = "50 kB" }}
[[flow]]
name = "noise"
workload = {{ kind = "cbr", rate = "100 kb/s" }}
"""


def run(folder: Path, *options: str, seeds: str = "[3]") -> tuple[int, Path]:
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO.format(seeds=seeds), encoding="utf-8")
    out = folder / "run"
    arguments = ["simulate", str(scenario), "--no-report", "--quiet", "--json", "--out", str(out)]
    return cli.run([*arguments, *options]), out


def test_flow_over_quic_has_packets_and_losses_that_analyze_counts_like_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "scenario.toml"
    text = SCENARIO.format(seeds="[3]").replace('name = "get"', 'name = "get"\ntransport = "quic"')
    scenario.write_text(text, encoding="utf-8")
    out = tmp_path / "run"
    arguments = ["simulate", str(scenario), "--no-report", "--quiet", "--json", "--qlog", "--out", str(out)]
    assert cli.run(arguments) == 0
    flow = next(flow for flow in json.loads(capsys.readouterr().out)["flows"] if flow["flow"] == "get")
    traces = {name: json.loads((out / "qlog" / f"{name}.qlog").read_text("utf-8"))["traces"] for name in ("get", "put")}
    (quic,), (tcp,) = traces["get"], traces["put"]
    assert (quic["event_schemas"], tcp["event_schemas"]) == ([QUIC_SCHEMA], [EVENT_SCHEMA])
    assert {event["name"] for event in quic["events"]} == {
        f"quic:{name}" for name in ("recovery_metrics_updated", "packet_sent", "packet_received", "packet_lost")
    }
    sent = [event["data"] for event in quic["events"] if event["name"] == "quic:packet_sent"]
    lost = [event["data"] for event in quic["events"] if event["name"] == "quic:packet_lost"]
    numbers = [data["header"]["packet_number"] for data in sent if data["header"]["packet_type"] == "1RTT"]
    # One packet of the handshake begins beyond the captured bytes of its datagram.
    assert numbers == sorted(set(numbers)) and len(sent) == flow["segments_sent"] - 1
    repaired = [data for data in lost if not data.get("is_mtu_probe_packet")]
    assert len(repaired) == flow["retransmitted_segments"] > 5
    metrics = [event["data"] for event in quic["events"] if event["name"].endswith("metrics_updated")]
    assert max(data.get("congestion_window", 0) for data in metrics) > 12_000
    assert not any("retransmitted_segments" in data for data in metrics)
    (read,) = analyze(out / "qlog" / "get.qlog").document["flows"]
    assert (read["b2a"]["packets"], read["b2a"]["retransmitted_segments"]) == (len(sent), len(lost))
    assert read["b2a"]["unique_bytes"] >= flow["goodput_bps"] * 4 / 8


def test_segments_and_retransmissions_are_those_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(tmp_path, "--qlog")
    assert status == 0
    flows = {flow["flow"]: flow for flow in json.loads(capsys.readouterr().out)["flows"]}
    assert sorted(path.name for path in (out / "qlog").iterdir()) == ["get.qlog", "put.qlog"], "UDP has none"
    for name, side in (("get", "server"), ("put", "client")):
        document: dict[str, Any] = json.loads((out / "qlog" / f"{name}.qlog").read_text("utf-8"))
        assert document["file_schema"] == "urn:ietf:params:qlog:file:contained"
        assert document["serialization_format"] == "application/qlog+json"
        (trace,) = document["traces"]
        assert trace["event_schemas"] == [EVENT_SCHEMA]
        assert trace["vantage_point"]["type"] == side
        events = trace["events"]
        times = [event["time"] for event in events]
        assert times == sorted(times) and times[0] >= 0
        data = [e["data"] for e in events if e["name"] == "tcp:packet_sent" and e["data"]["raw"]["payload_length"]]
        again = sum(one.get("is_retransmission", False) for one in data)
        assert (len(data), again) == (flows[name]["segments_sent"], flows[name]["retransmitted_segments"])
        kinds = Counter(event["name"].partition(":")[0] for event in events)
        assert set(kinds) == {"tcp"}
    assert flows["get"]["retransmitted_segments"] > 0, "the scenario has losses"


def test_metrics_are_the_samples_of_the_series(tmp_path: Path) -> None:
    import polars as pl

    _, out = run(tmp_path, "--qlog")
    events = json.loads((out / "qlog" / "get.qlog").read_text("utf-8"))["traces"][0]["events"]
    metrics = [event for event in events if event["name"] == "tcp:recovery_metrics_updated"]
    series = pl.read_parquet(out / "series.parquet").filter(pl.col("flow") == "get")
    assert [round(event["time"] / 1e3, 9) for event in metrics] == series["time_s"].round(9).to_list()
    windows = [event["data"]["congestion_window"] for event in metrics]
    assert windows == [round(value) for value in series["cwnd_bytes"]]


def test_files_carry_the_seed_when_there_are_several_and_a_second_run_renews_them(tmp_path: Path) -> None:
    for _ in range(2):
        status, out = run(tmp_path, "--qlog", seeds="2")
        assert status == 0
    assert sorted(path.name for path in (out / "qlog").iterdir()) == [
        "seed1-get.qlog", "seed1-put.qlog", "seed2-get.qlog", "seed2-put.qlog",
    ]  # fmt: skip


def test_qlog_excludes_offloads_and_pcapng(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--qlog", "--pcap-offloads")[0] == 2
    assert run(tmp_path, "--qlog", "--pcap-format", "pcapng")[0] == 2
    assert "--qlog excludes" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()


def test_other_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.pcap"
    for content in (b"", b"\x0a\x0d\x0d\x0a" + bytes(40)):
        file.write_bytes(content)
        with pytest.raises(RunFailed, match="form pcap"):
            list(segments(file, "down"))
