"""`ackclock analyze`: output, files and findings, on simulated captures."""

from __future__ import annotations

import gzip
import json
import re
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock import analyze
from ackclock.analysis.xplot import write_xplot
from ackclock.errors import InputError
from tests.support.captures import finding_of, simulated_captures
from tests.support.documents import follows


@pytest.fixture(scope="module")
def lossy(tmp_path_factory) -> tuple[Path, Path]:
    return simulated_captures(
        tmp_path_factory.mktemp("lossy"), {"loss": {"down": 0.01}, "queue": {"kind": "droptail", "packets": 400}}
    )


def test_analysis_folder_has_document_tables_graphs_and_a_self_contained_page(ackclock, lossy, tmp_path):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    done = ackclock("analyze", *lossy, "--out", "found", "--json")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "found"
    assert json.loads(done.stdout) == json.loads((folder / "analysis.json").read_text())
    assert pl.read_parquet(folder / "flows.parquet").height == 1
    series = pl.read_parquet(folder / "series.parquet")
    assert set(series["capture"]) == {1, 2}
    page = (folder / "report.html").read_text()
    assert "<canvas" in page
    markup = page[: page.index("<script>")]
    assert re.findall(r"<(?:link|img|iframe)|(?:src|href)=(?!\"#)|@import|url\(", markup) == []
    assert max(path.name for path in (folder / "xplot").iterdir()) == "flow1-b2a.tsg.xpl"


def test_report_command_rewrites_the_page(ackclock, lossy, tmp_path):
    pytest.importorskip("vl_convert")
    assert ackclock("analyze", lossy[0], "--out", "found", "--no-report", "--quiet").returncode == 0
    assert not (tmp_path / "found" / "report.html").exists()
    assert ackclock("report", "found").returncode == 0
    assert (tmp_path / "found" / "report.html").is_file()


def test_analyze_writes_nothing_without_out(ackclock, lossy, tmp_path):
    assert ackclock("analyze", lossy[0]).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_series_has_every_packet_and_agrees_with_the_figures(lossy):
    done = analyze(*lossy, series=True)
    assert done.series is not None
    assert done.delays is not None
    flow, first = done.document["flows"][0], done.series.filter(pl.col("capture") == 1)
    assert first.height == flow["packets"]
    again = first.filter(pl.col("kind").is_in(["fast", "rack", "timeout", "go_back_n", "tail_probe", "unexplained"]))
    assert again.height == flow["b2a"]["retransmitted_segments"]
    data = first.filter(pl.col("way") == "b2a")
    assert data["payload_bytes"].sum() == flow["b2a"]["payload_bytes"]
    assert data["outstanding_bytes"].max() == flow["b2a"]["outstanding_bytes"]["max"]
    rtts = first.filter(pl.col("way") == "a2b")["rtt_ms"].drop_nulls()
    assert rtts.mean() == pytest.approx(flow["b2a"]["rtt_ms"]["mean"], rel=1e-6)
    assert (
        done.delays.filter(pl.col("way") == "b2a")["delay_ms"].null_count() == flow["b2a"]["lost"]["between_captures"]
    )


def test_rates_over_time_add_up_to_the_delivered_bytes(lossy, tmp_path):
    done = analyze(lossy[0], series=True)
    figures, rates = done.document["flows"][0]["b2a"], done.rates(0.5).filter(pl.col("way") == "b2a")
    assert float(rates["goodput_bps"].sum()) * 0.5 / 8 == pytest.approx(figures["unique_bytes"])
    life = done.document["flows"][0]["duration_s"]
    assert float(rates["throughput_bps"].sum()) * 0.5 == pytest.approx(figures["throughput_bps"] * life)
    assert (rates["sent_bps"] >= rates["throughput_bps"]).all()
    with pytest.raises(InputError, match="step"):
        done.rates(0)
    with pytest.raises(InputError, match="series"):
        analyze(lossy[0]).rates()


def test_loss_panel_has_no_line_across_times_without_packets():
    from ackclock.plot.capture import loss_share

    delays = pl.DataFrame({"time_s": [0.01, 0.02, 0.05, 5.0, 5.01], "delay_ms": [1.0, None, 1.0, None, None]})
    drawn = loss_share(delays, 0.1)
    assert list(zip(drawn.times, drawn.values, strict=True)) == [
        (0.05, pytest.approx(100 / 3)), (pytest.approx(0.15), 0.0), (pytest.approx(4.95), 0.0), (pytest.approx(5.05), 100.0),
    ]  # fmt: skip


def test_xplot_graphs_have_a_stroke_for_each_segment_and_a_letter_for_each_retransmission(lossy, tmp_path):
    done = analyze(lossy[0], series=True)
    write_xplot(done, tmp_path)
    lines = (tmp_path / "flow1-b2a.tsg.xpl").read_text().splitlines()
    assert lines[:2] == ["timeval unsigned", "title"]
    assert lines[-1] == "go"
    figures = done.document["flows"][0]["b2a"]
    # The SYN-ACK has a stroke as well, and so has its FIN where there is one.
    assert sum(line.startswith("darrow") for line in lines) - figures["segments"] in (0, 1, 2)
    assert sum(line.startswith("atext") for line in lines) == figures["retransmitted_segments"]
    with pytest.raises(InputError, match="series"):
        write_xplot(analyze(lossy[0]), tmp_path)


def test_options_since_until_flow_and_filter_select_flows(ackclock, lossy):
    whole = json.loads(ackclock("analyze", lossy[0], "--json").stdout)
    part = json.loads(ackclock("analyze", lossy[0], "--json", "--since", "2 s", "--until", "4 s").stdout)
    assert 0 < part["packets"] < 0.5 * whole["packets"]
    assert 2.0 <= part["flows"][0]["start_s"] < 2.1
    assert part["flows"][0]["duration_s"] <= 2.0
    end = whole["flows"][0]["server"]
    assert len(json.loads(ackclock("analyze", lossy[0], "--json", "--flow", end).stdout)["flows"]) == 1
    assert ackclock("analyze", lossy[0], "--flow", "7").returncode == 2
    address, port = end.rsplit(":", 1)
    chosen = json.loads(ackclock("analyze", lossy[0], "--json", "--filter", f"host {address} and port {port}").stdout)
    assert len(chosen["flows"]) == 1
    none = json.loads(ackclock("analyze", lossy[0], "--json", "--filter", "host 203.0.113.9").stdout)
    assert none["flows"] == []
    assert ackclock("analyze", lossy[0], "--filter", "udp").returncode == 2


def test_filter_selects_flows_by_and_or_and_not(lossy):
    (flow,) = follows("analyze", analyze(lossy[0]).document)["flows"]
    (client, _), (server, port) = flow["client"].rsplit(":", 1), flow["server"].rsplit(":", 1)
    near = f"{client.rsplit('.', 1)[0]}.0/24"
    for expression, kept in (
        (f"host {client} and port {port}", 1), (f"not host {client}", 0), (f"port 1 or net {near}", 1), (f"tcp port {port}", 1), ("tcp", 1),
        (f"portrange 1-{port} && !(port 1||port 2)", 1), (f"(host {server} or port 1) and not net {near}", 0), ("net ::/0 and not net 2001:db8::/32", 1),
        # As in tcpdump's filters, `and` and `or` bind alike.
        (f"port {port} or port {port} and port 1", 0), (f"port {port} or (port {port} and port 1)", 1),
    ):  # fmt: skip
        assert len(analyze(lossy[0], filter=expression).document["flows"]) == kept, expression


@pytest.mark.parametrize(
    "expression",
    ["", "udp", "host", "host x", "host 10.0.0.1 port", "port 70000", "port 1 or", "(port 1", "port 1)", "not", "src host 10.0.0.1", "net 10.0.0.0/33",
     "portrange 5", "port 1 port 2", "(" * 500 + "port 1" + ")" * 500, "tcp " * 3000, " and ".join(["port 1 or port 2"] * 300)],
)  # fmt: skip
def test_filter_with_a_syntax_error_is_refused_with_the_grammar(lossy, expression):
    with pytest.raises(InputError) as refused:
        analyze(lossy[0], filter=expression)
    assert "--filter" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "part"),
    [(b"", "empty"), (b"hello, world", "begins with"), (gzip.compress(b"\xd4\xc3\xb2\xa1", mtime=0), "header")],
)
def test_invalid_capture_is_one_line_and_exit_status_2(ackclock, tmp_path, content, part):
    (tmp_path / "bad.pcap").write_bytes(content)
    done = ackclock("analyze", "bad.pcap")
    assert done.returncode == 2
    assert part in done.stderr
    assert done.stderr.count("\n") == 1


def test_send_buffer_is_found_with_its_size_and_the_size_that_fills_the_path(tmp_path):
    server, _ = simulated_captures(tmp_path, tcp={"send_buffer": "20 KiB", "receive_buffer": "256 KiB"})
    output = finding_of(analyze(server).document, "send_buffer")
    assert output["share"] > 0.8
    assert "inferred, not on the wire" in output["evidence"]
    assert "SO_SNDBUF" in output["advice"]


def test_receive_window_is_found(tmp_path):
    server, _ = simulated_captures(tmp_path, tcp={"receive_buffer": "16 KiB"})
    output = finding_of(analyze(server).document, "receive_window")
    assert output["share"] > 0.8
    assert "SO_RCVBUF" in output["advice"]


def test_full_queue_is_found_and_measured(tmp_path):
    done = analyze(*simulated_captures(tmp_path, {"queue": {"kind": "droptail", "packets": 200}}, duration="20 s"))
    output = finding_of(done.document, "bottleneck")
    assert "of queue in the direction of the data" in output["evidence"]
    assert "congestion" in finding_of(done.document, "loss_congestion")["finding"]
    assert "buffer overflow, not radio" in finding_of(done.document, "loss_congestion")["evidence"]
    assert finding_of(done.document, "buffer")["evidence"].startswith("The bottleneck's buffer holds")


def test_random_loss_is_attributed_to_the_link(lossy):
    document = analyze(*lossy).document
    assert "no buffer overflows" in finding_of(document, "loss_radio")["evidence"]
    assert "Padhye" in finding_of(document, "models")["evidence"]


def test_proxy_is_not_found_without_one(lossy):
    for captures in (lossy, lossy[::-1], lossy[:1], lossy[1:]):
        names = {finding["finding"] for finding in analyze(*captures).document["flows"][0]["diagnosis"]}
        assert "split_tcp_proxy" not in names


def test_shares_of_time_add_up_to_one(lossy):
    figures: Any
    for figures in (analyze(path).document["flows"][0]["b2a"]["limited"] for path in lossy):
        assert sum(share for share in figures.values() if share is not None) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.finding("U19")
@pytest.mark.parametrize("cut", [1, 40])
def test_truncated_capture_names_its_packet_and_byte_when_read(ackclock, tmp_path, cut):
    head = b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(8) + b"\xff\xff\x00\x00\x01\x00\x00\x00"
    record = bytes(8) + struct.pack("<II", 60, 60) + bytes(60)
    path = tmp_path / "cut.pcap"
    path.write_bytes(head + record * 3 + record[:cut])
    done = ackclock("analyze", path, "--json")
    begins = len(head) + 3 * len(record)
    truncated = {"kind": "cut_off_file", "packet": 4, "byte": begins, "end": begins + cut}
    assert json.loads(done.stdout)["truncated"] == truncated
    assert (
        f"packet 4 begins at byte {begins} and is not whole" in done.stderr and "the 3 packets before it" in done.stderr
    )
    assert done.stderr.count("\n") == 1 and done.returncode == 0
    path.write_bytes(head + record * 3)
    assert json.loads(ackclock("analyze", path, "--json").stdout)["truncated"] is None
