"""`kill -9` at random moments: finished results are readable, and the same command continues to the
same bytes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.kill_loop import CLI, Killed
from tests.support.namespaces import namespaces

SCENARIO = """\
duration = "{duration}"
sample = "100 ms"
seeds = {seeds}
[[hop]]
name = "air"
rate = "{rate}"
delay = "20 ms"
queue = {{ packets = 40 }}
loss.down = 0.01
[[flow]]
workload = {{ kind = "bulk" }}
"""
SWEPT = '[sweep]\n"tcp.variant" = ["reno", "cubic", "vegas"]\n"hop.air.delay" = ["10 ms", "40 ms"]\n'
KILLS = 200


def scenario(folder: Path, *, duration: str, seeds: int, rate: str = "10 Mb/s", swept: str = "") -> str:
    path = folder / "scenario.toml"
    path.write_text(SCENARIO.format(duration=duration, seeds=seeds, rate=rate) + swept, "utf-8")
    return str(path)


def compared(duration: str, seeds: int) -> list[str]:
    return ["compare", "dumbbell-10m", "--variants", "reno,cubic", "--buffers", "auto", "--delayed-ack", "on", "--no-report",
            "--duration", duration, "--seeds", str(seeds), "--workers", "1"]  # fmt: skip


@pytest.mark.finding("U12", "L6")
@pytest.mark.parametrize(("command", "kills"), [("simulate", 4), ("sweep", 3), ("compare", 3)])
def test_killed_command_continues_to_the_same_bytes(command: str, kills: int, tmp_path: Path) -> None:
    arguments = {
        "simulate": lambda: ["simulate", scenario(tmp_path, duration="10 s", seeds=6), "--workers", "1", "--no-report"],
        "sweep": lambda: [
            "sweep",
            scenario(tmp_path, duration="4 s", seeds=1, swept=SWEPT),
            "--workers",
            "1",
            "--no-report",
        ],
        "compare": lambda: compared("4 s", 1),
    }[command]()
    found = Killed(arguments, tmp_path, seed=15).kill(kills, rerun_each=kills)
    assert found.kills == kills


@pytest.mark.slow
@pytest.mark.finding("U12", "L6")
@pytest.mark.parametrize("command", ["simulate", "simulate --pcap", "sweep", "compare", "reproduce", "analyze"])
def test_two_hundred_kills_lose_nothing(
    command: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    def capture() -> str:
        source = scenario(tmp_path, duration="60 s", seeds=1, rate="40 Mb/s")
        subprocess.run([*CLI, "simulate", source, "--pcap", "--no-report", "--quiet", "--out", str(tmp_path / "source")], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        return str(next((tmp_path / "source" / "captures").glob("*.server.pcap")))

    arguments = {
        "simulate": lambda: ["simulate", scenario(tmp_path, duration="30 s", seeds=8)],
        "simulate --pcap": lambda: ["simulate", scenario(tmp_path, duration="30 s", seeds=8), "--pcap"],
        "sweep": lambda: ["sweep", scenario(tmp_path, duration="15 s", seeds=2, swept=SWEPT)],
        "compare": lambda: compared("10 s", 6),
        "reproduce": lambda: ["reproduce", "wimax-measured", "--quick"],
        "analyze": lambda: ["analyze", capture()],
    }[command]()
    if command.startswith(("simulate", "sweep", "analyze")):
        arguments.append("--no-report")
    # A whole `reproduce` takes longer than the others.
    found = Killed(arguments, tmp_path, seed=15).kill(KILLS, rerun_each=10 if command == "reproduce" else 2)
    record_property("figures", vars(found))
    print(command, vars(found))


@pytest.fixture
def far_end(tmp_path: Path) -> Iterator[list[str]]:
    """A far end on loopback: the options with which `measure` reaches it."""
    token = tmp_path / "token"
    argv = [*CLI, "serve", "--port", "0", "--max-rate", "50", "--token-file", str(token)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as serve:
        assert serve.stdout is not None
        port = serve.stdout.readline().split()[2].rpartition(":")[2]
        try:
            yield ["--port", port, "--token-file", str(token)]
        finally:
            serve.terminate()


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.finding("U12", "L6")
def test_two_hundred_kills_of_a_measurement_lose_nothing(far_end: list[str], tmp_path: Path) -> None:
    arguments = [
        "measure",
        "127.0.0.1",
        "--tests",
        "delay,capacity,tcp",
        "--duration",
        "300 ms",
        "--no-report",
        *far_end,
    ]
    print("measure", vars(Killed(arguments, tmp_path, seed=15, real=True).kill(KILLS, rerun_each=4)))


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.finding("U12", "L6")
@pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")
def test_two_hundred_kills_of_an_emulation_lose_nothing(tmp_path: Path) -> None:
    send = "import os, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    send += "for n in range(3000): s.sendto(bytes(500), (os.environ['ACKCLOCK_SERVER'], 9))"
    arguments = ["emulate", "dsl-16m", "--no-report", "--", sys.executable, "-c", send]
    print("emulate", vars(Killed(arguments, tmp_path, seed=15, real=True).kill(KILLS, rerun_each=4)))
