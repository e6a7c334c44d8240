"""IEEE 802.16 and 802.11b of ackclock and ns-3: CPU seconds per million delivered datagrams.

Six stations are offered more datagrams of 1000 bytes than the medium carries. The 802.16 cells have
equal settings but different capacities (ns-3's is half of ours), so each is offered 120 % of its
own. Runs of both programs alternate; CPU time is that of the child process. Without ns-3 (Debian:
libns3-dev and g++) it prints one line and exits 0.

usage: python3 -m benches.peers.ns3_speed [--binary target/release/ackclock-bench] [--repeats 5]
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benches import programs
from benches.peers import ns2_speed

SOURCE = Path(__file__).with_name("ns3_media.cc")
LIBRARIES = ("wimax", "wifi", "applications", "internet", "mobility", "network", "core")
TARGET = 50
STATIONS = 6


@dataclass(frozen=True)
class Case:
    """Names in both programs, offered load of ns-3 in bit/s per station, and seconds."""

    ours: str
    theirs: str
    bps: float
    seconds: float


# Capacities of ns-3: 7.7 Mb/s for 802.16 with a frame split of its own, 5.1 Mb/s for 802.11b as
# ours.
CASES = [Case("wimax-6", "wimax", 1.5e6, 30), Case("wlan-6", "wifi", 1e6, 30)]


def build(folder: Path) -> Path | None:
    """The compiled program for ns-3; none if ns-3 or a compiler is missing."""
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/ns3/wimax-helper.h").exists():
        return None
    program = folder / "ns3_media"
    if not program.exists() or program.stat().st_mtime < SOURCE.stat().st_mtime:
        libraries = [f"-lns3-{name}" for name in LIBRARIES]
        command = [compiler, "-O2", "-std=c++17", str(SOURCE), "-o", str(program), *libraries]
        subprocess.run(command, check=True, capture_output=True)
    return program


def run_theirs(program: Path, case: Case) -> tuple[int, programs.Child]:
    child = programs.run([str(program), case.theirs, str(STATIONS), str(case.seconds), str(case.bps)])
    return int(json.loads(child.output)["data_packets"]), child


def run_ours(binary: Path, case: Case) -> tuple[int, programs.Child]:
    child = programs.run([str(binary), case.ours])
    return int(json.loads(child.output)["data_packets"]), child


def table(binary: Path, program: Path, repeats: int) -> list[str]:
    """The comparison as lines of text."""
    head = f"{'case':10} {'packets ours':>12} {'ns-3':>8}  {'ours min':>8} {'median':>7}  {'ns-3 min':>8} {'median':>7}"
    lines = [head + f"  {'ratio min':>9} {'median':>7}  {'target':>6}"]
    for case in CASES:
        pairs = [(run_ours(binary, case), run_theirs(program, case)) for _ in range(repeats)]
        ours, theirs = ns2_speed.cost([pair[0] for pair in pairs]), ns2_speed.cost([pair[1] for pair in pairs])
        lines.append(
            f"{case.ours:10} {ours.packets:12,} {theirs.packets:8,}  {ours.min:8.3f} {ours.median:7.3f}"
            f"  {theirs.min:8.2f} {theirs.median:7.2f}"
            f"  {theirs.min / ours.min:8.0f}x {theirs.median / ours.median:6.0f}x  {TARGET:5}x"
        )
    return lines


def main() -> int:
    args = ns2_speed.arguments(__doc__)
    program = build(args.binary.parent)
    if program is None:
        print("skip: ns-3 (libns3-dev) or g++ is not installed, so there is no ratio to it")
        return 0
    print("CPU seconds per million delivered datagrams; six stations, runs alternate")
    print("\n".join(table(args.binary, program, args.repeats)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
