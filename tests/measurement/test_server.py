"""Options of the server: captures at both ends, a STAMP reflector, `ackclockd --help`.

All on loopback.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.realtime

CLI = [sys.executable, "-m", "ackclock"]
NTP_EPOCH = 2_208_988_800
DAEMON = next((p for p in (Path("target") / k / "ackclockd" for k in ("release", "debug")) if p.exists()), None)


def may_capture() -> bool:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM).close()
    except (OSError, AttributeError):
        return False
    return True


@contextmanager
def far_end(folder: Path, *options: str):
    token = folder / "token"
    serve = subprocess.Popen(
        [*CLI, "serve", "--port", "0", "--token-file", token, *options], stdout=subprocess.PIPE, text=True, cwd=folder
    )
    assert serve.stdout is not None
    try:
        where = re.search(r"127\.0\.0\.1:(\d+)", serve.stdout.readline())
        assert where is not None
        yield where[1], token
    finally:
        serve.terminate()
        serve.wait(10)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.skipif(not may_capture(), reason="captures need CAP_NET_RAW")
def test_captures_of_both_ends_are_analyzed_and_the_server_writes_nothing(tmp_path):
    far = tmp_path / "far"
    far.mkdir()
    run = tmp_path / "run"
    with far_end(far, "--allow-capture", "4") as (port, token):
        reported = ["--tests", "tcp", "--duration", "0.3 s", "--direction", "down", "--capture", "--capture-far"]
        argv = [
            *CLI,
            "measure",
            "127.0.0.1",
            "--port",
            port,
            "--token-file",
            token,
            *reported,
            "--out",
            run,
            "--json",
            "--no-report",
        ]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        assert [path.name for path in far.iterdir()] == ["token"]
    document = json.loads(done.stdout)
    assert document["capture_far"]["file"] == "capture-far.pcap"
    found = json.loads((run / "analysis" / "analysis.json").read_text("utf-8"))
    flow = max(found["flows"], key=lambda f: f["b2a"]["unique_bytes"])
    assert flow["b2a"]["unique_bytes"] > 10_000
    # On loopback both ends see a packet at the same instant, so there is no delay to measure; the
    # tests over an emulated link have one.
    assert found["joined_flows"] == 2
    other = max(found["second"]["flows"], key=lambda f: f["b2a"]["unique_bytes"])
    # Loopback is faster than a busy machine's captures; the kernel reports dropped packets, at most
    # 64 KB each.
    missed = document["capture"]["dropped"] + document["capture_far"]["dropped"]
    assert abs(other["b2a"]["unique_bytes"] - flow["b2a"]["unique_bytes"]) <= missed * 65536


def test_server_captures_nothing_by_default(tmp_path):
    with far_end(tmp_path) as (port, token):
        argv = [
            *CLI,
            "measure",
            "127.0.0.1",
            "--port",
            port,
            "--token-file",
            token,
            "--tests",
            "delay",
            "--capture-far",
        ]
        done = subprocess.run(
            [*argv, "--out", tmp_path / "run"], capture_output=True, text=True, timeout=100, check=False
        )
    assert done.returncode == 2
    assert "--allow-capture" in done.stderr


def _ntp(at: float) -> bytes:
    return struct.pack(">Q", int((at + NTP_EPOCH) * 2**32))


@pytest.mark.parametrize("key", [None, b"a key that both know"])
def test_reflector_answers_a_sender_by_rfc_8762(tmp_path, key):
    """Sections 4.2 and 4.3, by another hand than the product's: 44 octets without a key, 112 with
    one.
    """
    timestamp = free_port()
    (tmp_path / "key").write_bytes(key or b"")
    how = ["--stamp-open"] if key is None else ["--stamp-key-file", str(tmp_path / "key")]
    probe = struct.pack(">I", 7) + (b"" if key is None else bytes(12)) + _ntp(time.time()) + b"\x80\x01"
    probe += bytes(30 if key is None else 70)
    probe += b"" if key is None else hmac.new(key, probe, hashlib.sha256).digest()[:16]
    assert len(probe) == (44 if key is None else 112)
    with (
        far_end(tmp_path, "--stamp-port", str(timestamp), *how),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        sender.settimeout(5.0)
        sender.connect(("127.0.0.1", timestamp))
        sender.send(probe)
        answer = sender.recv(2000)
        # Nothing is longer than what it answers, and what is too short or not authentic is nothing.
        assert len(answer) == len(probe)
        for wrong in (probe[:-1], probe[:43], bytes(len(probe)) if key else b""):
            sender.send(wrong)
        sender.settimeout(0.3)
        with pytest.raises(TimeoutError):
            sender.recv(2000)
    at = {"sent": 4, "received": 16, "number": 24, "stamp": 28, "ttl": 40}
    if key is not None:
        at = {"sent": 16, "received": 32, "number": 48, "stamp": 64, "ttl": 80}
        assert hmac.new(key, answer[:96], hashlib.sha256).digest()[:16] == answer[96:]
    probe_timestamp = probe[4:12] if key is None else probe[16:24]
    assert struct.unpack_from(">I", answer, at["number"])[0] == 7
    assert answer[at["stamp"] : at["stamp"] + 8] == probe_timestamp
    assert answer[at["ttl"]] == 64
    sent, received = (
        struct.unpack_from(">Q", answer, at[name])[0] / 2**32 - NTP_EPOCH for name in ("sent", "received")
    )
    assert abs(received - time.time()) < 10.0
    assert 0.0 <= sent - received < 1.0


@pytest.mark.parametrize(
    "options", [["--stamp-port", "9"], ["--stamp-open"], ["--stamp-port", "9", "--stamp-open", "--stamp-key-file", "x"]]
)
def test_reflector_requires_a_key_or_the_open_option(options):
    done = subprocess.run([*CLI, "serve", *options], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert "--stamp-" in done.stderr and "; " in done.stderr


@pytest.mark.skipif(DAEMON is None, reason="cargo has not built ackclockd")
def test_ackclockd_prints_help_and_refuses_invalid_options():
    helped = subprocess.run([str(DAEMON), "--help"], capture_output=True, text=True, timeout=30, check=False)
    assert helped.returncode == 0
    for option in (
        "--listen",
        "--token-file",
        "--new-token",
        "--max-rate",
        "--most-rate",
        "--log",
        "--user",
        "--most-bytes",
        "--allow-capture",
        "--stamp-port",
        "--stamp-open",
    ):
        assert option in helped.stdout
    for wrong in (["--listen", "nowhere"], ["--stamp-port", "9"], ["--most-rate", "-1"]):
        done = subprocess.run([str(DAEMON), *wrong], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 2, wrong
        assert done.stderr


@pytest.mark.skipif(shutil.which("ip") is None and not os.path.exists("/proc/net/if_inet6"), reason="no IPv6")  # noqa: PTH110
def test_measurement_over_ipv6_equals_one_over_ipv4(tmp_path):
    token = tmp_path / "token"
    serve = subprocess.Popen(
        [*CLI, "serve", "--listen", "::1", "--port", "0", "--token-file", token], stdout=subprocess.PIPE, text=True
    )
    assert serve.stdout is not None
    try:
        where = re.search(r"\[::1\]:(\d+)", serve.stdout.readline())
        if where is None:
            pytest.skip("no IPv6 on loopback")
        argv = [
            *CLI,
            "measure",
            "::1",
            "--port",
            where[1],
            "--token-file",
            token,
            "--tests",
            "delay,tcp,transfers",
            "--json",
        ]
        argv += ["--duration", "0.5 s", "--sizes", "10 kB", "--no-report", "--out", tmp_path / "run"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    finally:
        serve.terminate()
        serve.wait(10)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["delay"]["down"]["ip_bytes"] == 20 + 48
    assert all(flow["failed"] is None and flow["goodput_bps"] > 1e6 for flow in document["flows"])
    assert all(each["failed"] == 0 for each in document["transfers"])


@pytest.mark.finding("S6")
def test_new_token_writes_a_new_file_of_mode_0600_only(tmp_path):
    token = tmp_path / "token"
    argv = [*CLI, "serve", "--new-token", token]
    assert subprocess.run(argv, capture_output=True, timeout=30, check=False).returncode == 0
    made = token.read_text("ascii")
    assert token.stat().st_mode & 0o7777 == 0o600
    again = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert (again.returncode, token.read_text("ascii")) == (2, made)
    assert "a file of this name exists" in again.stderr


@pytest.mark.finding("S6")
@pytest.mark.parametrize("mode", [0o644, 0o666, 0o640])
def test_token_file_is_refused_with_the_remedy_when_others_can_read_it(tmp_path, mode):
    token = tmp_path / "token"
    token.write_text("xq7ZkX2mW9vB4nT8sL1rY6pD\n", encoding="ascii")
    token.chmod(mode)
    for argv in (["serve", "--port", "0", "--token-file", token], ["measure", "127.0.0.1", "--token-file", token]):
        done = subprocess.run([*CLI, *argv], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 2
        assert f"chmod 600 {token}" in done.stderr


@pytest.mark.finding("S6")
def test_weak_token_is_refused_when_it_is_long_enough(tmp_path):
    token = tmp_path / "token"
    token.write_text("a" * 22, encoding="ascii")
    token.chmod(0o600)
    done = subprocess.run(
        [*CLI, "serve", "--port", "0", "--token-file", token], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 2
    assert "--new-token" in done.stderr


@pytest.mark.finding("S6", "S7")
def test_serve_log_has_clients_and_dropped_privileges(tmp_path):
    log = tmp_path / "log"
    with far_end(tmp_path, "--log", log, "--max-rate", "50") as (port, token):
        argv = [
            *CLI,
            "measure",
            "127.0.0.1",
            "--port",
            port,
            "--token-file",
            token,
            "--tests",
            "delay",
            "--duration",
            "0.2 s",
        ]
        done = subprocess.run(
            [*argv, "--no-report", "--out", tmp_path / "run"], capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0
        lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    events = {line["event"]: line for line in lines}
    assert events["listening"]["max_rate_bps"] == 50_000_000
    assert events["privileges-dropped"]["net_raw"] is False
    assert os.geteuid() != 0 or events["privileges-dropped"]["uid"] != 0
    assert events["session-ended"]["from"].startswith("127.0.0.1:")
    assert events["session-ended"]["bytes_sent"] > 200
