"""`ackclock analyze --follow`: files and pipes that are still being written."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze
from tests.support.captures import simulated_captures

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def lossy(tmp_path_factory) -> Path:
    hop = {"loss": {"down": 0.01}, "queue": {"kind": "droptail", "packets": 400}}
    return simulated_captures(tmp_path_factory.mktemp("lossy"), hop)[0]


def _flows_of_one_reading(capture: Path) -> Any:
    """The flows of a file without congestion controls, which take a second reading of the file."""
    flows: Any = analyze(capture).document["flows"]
    for flow in flows:
        for direction in (flow["a2b"], flow["b2a"]):
            if direction["congestion_control"] is not None:
                direction["congestion_control"] = {"family": "unknown", "confident": False, "candidates": []}
    return flows


def test_follow_prints_its_results_on_ctrl_c(lossy, tmp_path):
    whole, growing = lossy.read_bytes(), tmp_path / "growing.pcap"
    growing.write_bytes(whole[: len(whole) // 2])
    command = [sys.executable, "-m", "ackclock", "analyze", "--follow", "--json", str(growing)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        assert run.stderr.readline().endswith("packets\n")
        with growing.open("ab") as file:
            file.write(whole[len(whole) // 2 :])
        assert run.stderr.readline().endswith("packets\n")
        run.send_signal(signal.SIGINT)
        finding, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert json.loads(finding)["flows"] == _flows_of_one_reading(lossy)


def test_follow_ends_with_the_writer_of_a_pipe(lossy):
    command = [sys.executable, "-m", "ackclock", "analyze", "--follow", "--json", "--quiet", "-"]
    done = subprocess.run(command, input=lossy.read_bytes(), capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout)["flows"] == _flows_of_one_reading(lossy)


def test_follow_shows_an_open_pipe_until_ctrl_c(lossy):
    command = [sys.executable, "-m", "ackclock", "analyze", "--follow", "--json", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdin is not None
        assert run.stderr is not None
        run.stdin.write(lossy.read_bytes())
        run.stdin.flush()
        assert run.stderr.readline().endswith(b"packets\n")
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        assert run.stdout is not None
        finding = run.stdout.read()
    assert run.returncode == 0
    assert json.loads(finding)["flows"] == _flows_of_one_reading(lossy)


def test_follow_shows_a_slow_stream_of_packets(lossy):
    whole = lossy.read_bytes()
    command = [sys.executable, "-m", "ackclock", "analyze", "--follow", "--json", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0
    ) as run:
        assert run.stdin is not None
        assert run.stderr is not None
        shown = 0
        for at in range(0, len(whole), 500):
            run.stdin.write(whole[at : at + 500])
            time.sleep(0.01)
            if select.select([run.stderr], [], [], 0)[0]:
                shown += run.stderr.read(4096).count(b"packets\n")
            if shown >= 2:
                break
        run.stdin.close()
        run.stderr.read()
    assert run.returncode == 0
    assert shown >= 2


def test_analysis_completes_when_stderr_is_closed(lossy):
    command = [sys.executable, "-m", "ackclock", "analyze", "--follow", "--json", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stderr is not None
        run.stderr.close()
        document, _ = run.communicate(lossy.read_bytes(), timeout=60)
    assert run.returncode == 0
    assert json.loads(document)["flows"] == _flows_of_one_reading(lossy)


def test_follow_waits_for_the_header_and_draws_on_a_terminal(lossy, tmp_path):
    whole, growing = lossy.read_bytes(), tmp_path / "growing.pcap"
    growing.touch()
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 180, 0, 0))
    command = [sys.executable, "-m", "ackclock", "analyze", "--follow", growing.name]
    with subprocess.Popen(command, cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal) as run:
        os.close(terminal)
        time.sleep(0.5)
        packets = []
        for part in (whole[: len(whole) // 2], whole[len(whole) // 2 :]):
            with growing.open("ab") as file:
                file.write(part)
            packets.append(_drawn(screen))
        run.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # a terminal without its program
            while os.read(screen, 65536):
                pass
    os.close(screen)
    assert run.returncode == 0
    assert packets[0] < packets[1] == analyze(lossy).document["packets"]


def _drawn(screen: int) -> int:
    """The packets that the next table drawn is of."""
    seen = b""
    while (found := re.search(rb"growing.pcap: (\d+) packets", seen)) is None:
        assert select.select([screen], [], [], 30)[0], seen
        seen += os.read(screen, 65536)
    return int(found[1])


def test_follow_reads_a_growing_file(lossy, tmp_path):
    from ackclock.analysis.filter import PacketFilter
    from ackclock.analysis.run import live_document, open_capture

    whole, growing = lossy.read_bytes(), tmp_path / "growing.pcap"
    growing.write_bytes(whole[: len(whole) // 2 + 7])
    reader = open_capture(str(growing), PacketFilter())
    first = reader.advance(1_000_000)

    def more() -> None:
        time.sleep(0.1)
        with growing.open("ab") as file:
            file.write(whole[len(whole) // 2 + 7 :])

    writer = threading.Thread(target=more)
    writer.start()
    writer.join()
    assert reader.advance(1_000_000) > 0
    reader.finish()
    document = live_document(str(growing), reader).whole()
    assert document["packets"] > first
    assert document["malformed"] == 0
    assert document["flows"] == analyze(lossy).document["flows"]
