"""What an emulation writes: captures of both ends, every packet's fate, queues; and that an analysis of the captures finds the log's truth."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys

import polars as pl
import pytest

import ackclock
from ackclock.emulation.run import open_emulation
from tests.support.namespaces import namespaces

pytestmark = [pytest.mark.realtime, pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")]

LOSSY = """title = "a short queue and losses by chance, two hops"
source = "test"
[[hop]]
name = "core"
rate = "20 Mb/s"
delay = "5 ms"
loss.down = { kind = "bernoulli", mean = 0.003 }
[[hop]]
name = "access"
rate = "8 Mb/s"
delay = "10 ms"
queue = { kind = "droptail", packets = 6 }
loss.up = { kind = "bernoulli", mean = 0.01 }
"""
NS = 1e-9


SEND = """
import socket
with socket.create_server(("", 5001)) as listener:
    connection, _ = listener.accept()
connection.sendall(bytes(3_000_000))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
"""
FETCH = """
import os, socket, time
while True:
    try:
        connection = socket.create_connection((os.environ["ACKCLOCK_SERVER"], 5001))
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
while connection.recv(1 << 18):
    pass
connection.close()
time.sleep(0.3)
"""


@pytest.fixture(scope="module")
def emulation(tmp_path_factory):
    """A download of 3 MB over the lossy link: its run folder."""
    folder = tmp_path_factory.mktemp("emulation")
    (folder / "link.toml").write_text(LOSSY, encoding="utf-8")

    argv = [sys.executable, "-m", "ackclock", "emulate", "link.toml", "--json", "--out", "run", "--no-report", "--seconds", "30"]
    argv += ["--server", shlex.join([sys.executable, "-c", SEND]), "--", sys.executable, "-c", FETCH]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), open_emulation(folder / "run")


def test_the_run_folder_has_everything_and_every_packet_has_one_fate(emulation):
    document, run = emulation
    assert run.document == {**document, "folder": run.document["folder"]}
    assert [path.name for path in run.captures] == ["server.pcapng", "client.pcapng"]
    fates = run.fates
    assert fates["packet"].is_unique().all()
    assert len(fates) == document["packets_in"]
    assert (fates["fate"] == "delivered").sum() == document["packets_out"]
    dropped = fates.filter(~pl.col("fate").is_in(["delivered", "in_flight"]))
    assert set(dropped["fate"]) == {"loss", "queue_full"}
    counted = dropped.group_by("hop", "from").len()
    asked = {(hop["hop"], "server" if hop["direction"] == "down" else "client"): hop["drops"] for hop in document["hops"]}
    assert {(hop, by): n for hop, by, n in counted.iter_rows()} == {key: n for key, n in asked.items() if n}
    assert run.hops.filter(pl.col("hop") == "access")["queue_packets"].max() <= 6


def test_an_analysis_of_both_captures_finds_exactly_the_packets_that_the_log_has_dropped(emulation):
    document, run = emulation
    analysis = ackclock.analyze(*run.captures)
    # The first attempts may have found nobody listening.
    flows = analysis.document["flows"]
    for way, sender in (("b2a", "server"), ("a2b", "client")):
        found = sorted(packet["time_s"] for flow in flows for packet in flow[way]["lost"]["packets"])
        sent = run.fates.filter(pl.col("from") == sender)
        lost = sent.filter(~pl.col("fate").is_in(["delivered", "in_flight"]))
        # What nothing follows may be on its way still, for all that captures show.
        last = sent.filter(pl.col("fate") == "delivered")["sent_s"].max()
        lost = lost.filter(pl.col("sent_s") < last)
        true = sorted((lost["sent_s"] + document["started"]).to_list())
        assert len(true) > 5
        assert found == pytest.approx(true, abs=1e-5, rel=0)


def test_captures_and_log_tell_the_same_times_for_the_same_packet_numbers(emulation):
    document, run = emulation
    fields = ["-T", "fields", "-e", "frame.packet_id", "-e", "frame.time_epoch", "-e", "ip.src"]
    try:
        read = [
            subprocess.run(["tshark", "-r", str(path), *fields], capture_output=True, text=True, check=True).stdout.splitlines()
            for path in run.captures
        ]
    except FileNotFoundError:
        pytest.skip("tshark is not installed")
    seen = [{int(n): float(t) for n, t, _ in (line.split("\t") for line in lines)} for lines in read]
    for row in run.fates.to_dicts():
        sender, receiver = seen if row["from"] == "server" else reversed(seen)
        assert sender[row["packet"]] == pytest.approx(row["sent_s"] + document["started"], abs=1e-5, rel=0)
        if row["fate"] == "delivered":
            assert receiver[row["packet"]] == pytest.approx(row["at_s"] + document["started"], abs=1e-5, rel=0)
        else:
            assert row["packet"] not in receiver


def test_the_flows_table_has_the_connection_and_the_report_says_whether_to_believe_it(emulation):
    document, run = emulation
    flows = run.flows
    assert 1e6 < flows["b2a_goodput_bps"].max() < 8e6
    text = run.report().read_text("utf-8")
    assert ("Valid:" if document["valid"] else "INVALID") in text
    assert "access" in text


SECRET = b"GET /what-nobody-else-reads"
TALK = f"""
import os, socket, threading
server = os.environ["ACKCLOCK_SERVER"]
connection = socket.create_connection((server, 5001))
connection.sendall({SECRET!r} * 40)
connection.shutdown(socket.SHUT_WR)
while connection.recv(1 << 16):
    pass
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.sendto({SECRET!r} * 40, (server, 5001))
udp.sendto({SECRET!r} * 100, (server, 5001))
"""
ANSWER = f"""
import socket
with socket.create_server(("", 5001)) as listener:
    connection, _ = listener.accept()
while connection.recv(1 << 16):
    pass
connection.sendall({SECRET!r} * 1000)
connection.close()
"""


@pytest.mark.realtime
@pytest.mark.finding("L7")
def test_captures_hold_no_payload_and_are_their_owners_only_when_an_emulation_keeps_them(tmp_path):
    hop = {"name": "line", "rate": "10 Mb/s"}
    server, client = ([sys.executable, "-c", text] for text in (ANSWER, TALK))
    before = os.umask(0)
    try:
        run = ackclock.emulate({"title": "a line", "source": "test", "hop": [hop]}, client, server=server, out=tmp_path / "run")
    finally:
        os.umask(before)
    assert run.document["command"]["exit"] == 0
    assert len(run.captures) == 2
    for capture in run.captures:
        content = capture.read_bytes()
        # One byte of each segment and datagram may be there.
        assert b"ET" not in content
        assert b"nobody" not in content
        assert stat.S_IMODE(capture.stat().st_mode) == 0o600
        assert stat.S_IMODE(capture.parent.stat().st_mode) == 0o700
    # Lengths are the packets' own: an analysis counts every byte.
    flow = run.flows.to_dicts()[0]
    assert flow["b2a_unique_bytes"] == len(SECRET) * 1000
    assert flow["a2b_unique_bytes"] == len(SECRET) * 40


def test_no_log_keeps_no_captures(tmp_path):
    (tmp_path / "link.toml").write_text(LOSSY, encoding="utf-8")
    argv = [sys.executable, "-m", "ackclock", "emulate", "link.toml", "--no-log", "--out", "run", "--", "true"]
    subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left == {"emulation.json", "environment.json", "scenario.toml"}


def test_a_bad_place_for_the_run_is_exit_status_2_and_nothing_is_started(tmp_path):
    (tmp_path / "link.toml").write_text(LOSSY, encoding="utf-8")
    (tmp_path / "file").write_text("", encoding="utf-8")
    argv = [sys.executable, "-m", "ackclock", "emulate", "link.toml", "--out", "file", "--", "touch", str(tmp_path / "ran")]
    done = subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "--out" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_from_python_an_emulation_gives_frames_and_keeps_nothing_unless_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hop = {"name": "line", "rate": "1 Mb/s", "delay": "10 ms"}
    server, client = ([sys.executable, "-c", text] for text in (SEND.replace("3_000_000", "50_000"), FETCH))
    done = ackclock.emulate({"title": "a line", "source": "test", "hop": [hop]}, client, server=server, seconds=20)
    assert done.document["command"]["exit"] == 0
    assert done.folder is None
    assert done.captures == []
    assert not list(tmp_path.iterdir())
    assert done.flows["b2a_unique_bytes"].max() == 50_000
    assert set(done.fates["fate"]) <= {"delivered", "in_flight"}
    assert done.hops.columns[:4] == ["hop", "direction", "station", "time_s"]
    assert done.series.is_empty()


def test_from_python_bad_input_is_an_input_error():
    with pytest.raises(ackclock.InputError, match="no-such-link"):
        ackclock.emulate("no-such-link", ["true"])


BURST = """
import os, socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(8000):
    sender.sendto(bytes(50), (os.environ["ACKCLOCK_SERVER"], 9))
    if number % 10 == 0:
        time.sleep(0.0005)
"""


@pytest.mark.finding("L5", "U12")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_emulation_keeps_its_audit_and_what_was_logged_when_the_disk_fills_up(tmp_path):
    (tmp_path / "link.toml").write_text('[[hop]]\nname = "line"\nrate = "50 Mb/s"\ndelay = "2 ms"\n', "utf-8")
    (tmp_path / "disk").mkdir()
    (tmp_path / "copy").mkdir()
    argv = [
        sys.executable,
        "-m",
        "ackclock",
        "emulate",
        "link.toml",
        "--json",
        "--out",
        "disk/run",
        "--",
        sys.executable,
        "-c",
        BURST,
    ]
    script = 'mount -t tmpfs -o size=700k none disk; "$@"; status=$?; cp -r disk/run copy; exit $status'
    run = ["unshare", "-m", "sh", "-c", script, "sh", *argv]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["packets_in"] >= 8000
    assert document["log"]["complete"] is False
    assert 0 < document["log"]["until_s"] < document["seconds"]
    assert "the log is incomplete: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    kept = open_emulation(tmp_path / "copy" / "run")
    assert {**kept.document, "folder": ""} == {**document, "folder": ""}
    assert 100 < kept.fates.height < document["packets_in"]
    assert not kept.hops.is_empty()
    assert all(ackclock.analyze(capture).document["malformed"] == 0 for capture in kept.captures)
    assert not list((tmp_path / "copy").rglob("*.tmp"))


@pytest.mark.finding("L6")
def test_emulation_leaves_no_folder_when_nothing_is_to_be_kept(tmp_path):
    argv = [sys.executable, "-m", "ackclock", "emulate", "dsl-16m", "--no-log", "--no-report", "--json", "--", "true"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "folder" not in json.loads(done.stdout)
    assert not list(tmp_path.iterdir())


@pytest.mark.finding("U1")
def test_emulation_never_replaces_another_even_of_the_same_command(tmp_path):
    argv = [sys.executable, "-m", "ackclock", "emulate", "dsl-16m", "--no-log", "--quiet", "--json", "--out", "run"]
    run = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60, "check": False}
    assert subprocess.run([*argv, "--", "true"], **run).returncode == 0
    before = (tmp_path / "run" / "emulation.json").read_bytes()
    done = subprocess.run([*argv, "--", "touch", "ran"], **run)
    assert (done.returncode, (tmp_path / "ran").exists()) == (2, False)
    assert subprocess.run([*argv, "--force", "--", "true"], **run).returncode == 0
    assert (tmp_path / "run.1" / "emulation.json").read_bytes() == before
