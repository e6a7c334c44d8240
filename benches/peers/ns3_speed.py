"""Our 802.16 and 802.11b beside ns-3's: CPU seconds per million delivered datagrams, the same kind of work, in one run.

Six stations with more datagrams of 1000 bytes than their medium carries. The two 802.16 cells are set up alike but do not carry alike (ns-3's
gets half of ours through its frame), so each is offered a fifth more than it carries itself, and a delivered packet is what is counted.
Runs of both programs alternate; CPU time is the child process's own. Without ns-3 (Debian: libns3-dev and g++) it prints one line and
exits 0.

usage: ns3_speed.py [--binary target/release/ackclock-bench] [--repeats 5]
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("ns3_media.cc")
if not __package__:  # run as a program
    sys.path.insert(0, str(SOURCE.parent.parent))

from peers import ns2_speed  # noqa: E402

LIBRARIES = ("wimax", "wifi", "applications", "internet", "mobility", "network", "core")
TARGET = 50
STATIONS = 6


@dataclass(frozen=True)
class Case:
    """What our program calls it and ns-3's, the bits a second that ns-3 is offered for each station, and seconds."""

    ours: str
    theirs: str
    bps: float
    seconds: float


# ns-3's cell carries some 7.7 Mb/s of such datagrams with a split of the frame that is its own; its 802.11b 5.1 Mb/s, as ours.
CASES = [Case("wimax-6", "wimax", 1.5e6, 30), Case("wlan-6", "wifi", 1e6, 30)]


def build(folder: Path) -> Path | None:
    """Our program for ns-3, compiled; none where ns-3 or a compiler is missing."""
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/ns3/wimax-helper.h").exists():
        return None
    program = folder / "ns3_media"
    if not program.exists() or program.stat().st_mtime < SOURCE.stat().st_mtime:
        libraries = [f"-lns3-{name}" for name in LIBRARIES]
        command = [compiler, "-O2", "-std=c++17", str(SOURCE), "-o", str(program), *libraries]
        subprocess.run(command, check=True, capture_output=True)
    return program


def run_theirs(program: Path, case: Case) -> tuple[int, ns2_speed.Child]:
    child = ns2_speed.run([str(program), case.theirs, str(STATIONS), str(case.seconds), str(case.bps)])
    return int(json.loads(child.output)["data_packets"]), child


def run_ours(binary: Path, case: Case) -> tuple[int, ns2_speed.Child]:
    child = ns2_speed.run([str(binary), case.ours, "--metered"])
    return int(json.loads(child.output)["data_packets"]), child


def table(binary: Path, program: Path, repeats: int) -> list[str]:
    """The comparison as lines of text."""
    head = f"{'case':10} {'packets ours':>12} {'ns-3':>8}  {'ours min':>8} {'median':>7}  {'ns-3 min':>8} {'median':>7}"
    lines = [head + f"  {'ratio min':>9} {'median':>7}  {'target':>6}"]
    for case in CASES:
        pairs = [(run_ours(binary, case), run_theirs(program, case)) for _ in range(repeats)]
        ours, theirs = ns2_speed.cost([pair[0] for pair in pairs]), ns2_speed.cost([pair[1] for pair in pairs])
        lines.append(
            f"{case.ours:10} {ours.packets:12,} {theirs.packets:8,}  {ours.least:8.3f} {ours.median:7.3f}"
            f"  {theirs.least:8.2f} {theirs.median:7.2f}"
            f"  {theirs.least / ours.least:8.0f}x {theirs.median / ours.median:6.0f}x  {TARGET:5}x"
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
