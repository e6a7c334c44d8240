"""Captures of the running kernel with offloads, and the analyzer beside its counters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import ackclock
from studies.analyzer.host_accuracy import Retransmissions, Row, capture_pairs, rows, within
from studies.analyzer.host_captures import CASES, PROGRAMS
from studies.analyzer.kernel_counters import KernelRetransmissions, read_counters
from studies.analyzer.segment_sizes import Run, simulated
from tests.support.namespaces import namespaces

ORACLES = Path(os.environ.get("ACKCLOCK_ORACLES", "absent"))

NSTAT = """== client
#kernel
TcpActiveOpens                  2                  0.0
TcpRetransSegs                  6                  0.0
TcpExtTCPFastRetrans            2                  0.0
TcpExtTCPTimeouts               3                  0.0
TcpExtTCPLossProbes             2                  0.0
TcpExtTCPSynRetrans             2                  0.0
TcpExtTcpTimeoutRehash          3                  0.0
== server
TcpPassiveOpens                 2                  0.0
TcpRetransSegs                  2                  0.0
TcpExtTCPTimeouts               1                  0.0
TcpExtTCPSynRetrans             2                  0.0
"""


def kernel(**counts):
    return KernelRetransmissions(**{name: counts.get(name, 0) for name in KernelRetransmissions.__dataclass_fields__})


def reported(**counts):
    return Retransmissions(**{name: counts.get(name, 0) for name in Retransmissions.__dataclass_fields__})


def test_kernel_counters_exclude_handshakes_from_timeouts_when_syn_and_syn_ack_were_repeated(tmp_path):
    (tmp_path / "a.nstat.txt").write_text(NSTAT, encoding="utf-8")
    counters = read_counters(tmp_path / "a.nstat.txt")
    client, server = (KernelRetransmissions.of(counters[host]) for host in ("client", "server"))
    assert client == kernel(total=6, fast=2, timeouts=1, handshake=2, tlp_retransmits=1, new_data_probes=1)
    assert server == kernel(total=2, handshake=2)


@pytest.mark.parametrize(
    ("of", "true", "lost", "right"),
    [
        (2, 0, 0, True),
        (3, 0, 0, False),
        (97, 100, 0, True),
        (96, 100, 0, False),
        (104, 100, 0, False),
        (90, 100, 8, True),
        (108, 100, 8, False),
    ],
)
def test_count_is_right_when_within_3_percent_or_2_or_lower_by_lost_ones(of, true, lost, right):
    assert within(of, true, lost) == right


def test_row_names_the_figures_that_differ_when_causes_are_confused():
    counters = kernel(total=155, fast=155)
    assert Row("a", "server", "server", counters, reported(total=155, fast=9, go_back_n=102, timeouts=44)).misses == [
        "fast",
        "go_back_n",
        "timeouts",
    ]
    assert Row("a", "server", "server", counters, reported(total=154, fast=154)).misses == ["total"]
    assert Row("a", "client", "server", counters, reported(total=154, fast=154), lost=1).misses == []
    assert Row("a", "client", "server", counters, reported(total=153, fast=153), lost=1).misses == ["total"]


@pytest.mark.skipif(not (ORACLES / "captures").is_dir(), reason="ACKCLOCK_ORACLES is not set")
def test_rows_have_both_ends_and_hosts_of_a_shared_capture():
    pair = next(pair for pair in capture_pairs(ORACLES / "captures") if pair.name == "up-cubic")
    found = {(row.end, row.host): row for row in rows(pair, peers=False)}
    assert sorted(found) == [("client", "client"), ("client", "server"), ("server", "client"), ("server", "server")]
    own = found["client", "client"]
    assert (own.kernel.total, own.kernel.fast, own.kernel.timeouts, own.kernel.tlp_retransmits) == (21, 18, 1, 2)
    assert own.misses == []
    assert found["server", "client"].lost == 1


@pytest.mark.realtime
@pytest.mark.slow
@pytest.mark.skipif(
    not namespaces() or any(shutil.which(program) is None for program in PROGRAMS),
    reason="this machine has no network namespaces, or not all programs",
)
def test_host_capture_has_super_segments_at_both_ends_when_offloads_are_on(tmp_path):
    command = [sys.executable, "-m", "studies.analyzer.host_captures", str(tmp_path), "jumbo"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    truth = json.loads((tmp_path / "jumbo.truth.json").read_text(encoding="utf-8"))
    assert truth["offloads"] == {host: {"tso": True, "gso": True, "gro": True} for host in ("client", "server")}
    assert truth["capture_drops"] == {"client": 0, "server": 0}
    assert truth["retransmissions"]["server"]["total"] >= truth["bucket_drops"]["down"] > 0
    for end in ("client", "server"):
        series = ackclock.analyze(tmp_path / f"jumbo.{end}.pcap", series=True).series
        assert series is not None
        assert series.filter((pl.col("way") == "b2a") & (pl.col("payload_bytes") > truth["mtu"])).height > 100
    assert not Path("/run/netns/client-edge").exists()


def test_cases_cover_the_hosts_that_the_accuracy_page_names():
    assert len(CASES) == 12
    assert any(case.ipv6 for case in CASES.values())
    assert {case.path.mtu for case in CASES.values()} == {1500, 9000}
    assert {"net.ipv4.tcp_sack": "0"} in [dict(case.path.sysctls) for case in CASES.values()]


SIZES = pl.read_csv(Path(__file__).parents[2] / "studies" / "analyzer" / "segment_sizes.csv")


@pytest.mark.parametrize("control", ["cubic", "bbr"])
@pytest.mark.parametrize("rate", [10_000_000, 100_000_000])
def test_simulated_super_segments_have_the_measured_sizes_when_the_path_has_a_delay(control, rate):
    run = Run(rate, 1500, control, delay_ms=10)
    for row in simulated(run, seconds=2):
        is_same = (pl.col(name) == value for name, value in {**run.document, "end": row["end"]}.items())
        (measured,) = SIZES.filter(*is_same).iter_rows(named=True)
        for quantile in ("segments_p50", "segments_p90", "segments_p99"):
            assert abs(row[quantile] - measured[quantile]) <= 1, (row, measured)
        assert row["gap_us_p50"] == pytest.approx(measured["gap_us_p50"], rel=0.15)
