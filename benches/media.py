"""What an access medium costs: six stations that are sent more than it carries, beside the same datagrams over a plain rate.

CPU time for each delivered packet, sources, queues and sinks included, the cheapest of several runs; and instructions, where valgrind is
installed. Every link measures its queue, as it does in a run with a summary.

usage: media.py [--binary target/release/ackclock-bench] [--repeats 5]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from peers import ns2_speed

PLAIN = "plain-6"
MEDIA = ("wimax-6", "wlan-6", "grants-6")
MOST = {"wimax-6": 3.0}
INSTRUCTIONS_SECONDS = 10


@dataclass(frozen=True)
class Cost:
    """One case: datagrams delivered, and what each took."""

    packets: int
    ns: float
    instructions: float | None


def cost(binary: Path, case: str, repeats: int) -> Cost:
    runs = [json.loads(ns2_speed.run([str(binary), case, "--metered"]).output) for _ in range(repeats)]
    packets = int(runs[0]["data_packets"])
    return Cost(packets, min(float(run["cpu_s"]) for run in runs) / packets * 1e9, instructions(binary, case))


def instructions(binary: Path, case: str) -> float | None:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    command = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", str(binary), case, "--metered"]
    done = subprocess.run([*command, "--seconds", str(INSTRUCTIONS_SECONDS)], check=True, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise RuntimeError(f"callgrind said nothing of instructions: {done.stderr[-500:]}")
    return int(collected[1]) / int(json.loads(done.stdout)["data_packets"])


def table(binary: Path, repeats: int) -> list[str]:
    """The comparison as lines of text."""
    costs = {case: cost(binary, case, repeats) for case in (PLAIN, *MEDIA)}
    plain = costs[PLAIN]
    lines = [f"{'case':10} {'packets':>8} {'ns/packet':>10} {'ratio':>6} {'instructions':>13} {'ratio':>6}"]
    for case, one in costs.items():
        counted, more = "-", "-"
        if one.instructions and plain.instructions:
            counted, more = f"{one.instructions:,.0f}", f"{one.instructions / plain.instructions:.2f}x"
        ratio = one.ns / plain.ns
        most = MOST.get(case)
        judged = "" if most is None else f"  (at most {most}x){'' if ratio <= most else '  OVER'}"
        lines.append(f"{case:10} {one.packets:8,} {one.ns:10.1f} {ratio:5.2f}x {counted:>13} {more:>6}{judged}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binary", type=Path, default=Path("target/release/ackclock-bench"))
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print("\n".join(table(args.binary, args.repeats)))


if __name__ == "__main__":
    main()
