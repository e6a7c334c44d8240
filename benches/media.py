"""Cost of an access medium: six overloaded stations, beside the same datagrams over a fixed rate.

CPU time per delivered packet with sources, queues and sinks, the minimum of several runs; and
instructions, where valgrind is installed. Every link measures its queue, as in a run with a
summary.

usage: python3 -m benches.media [--binary target/release/ackclock-bench] [--repeats 5]
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from benches import programs

PLAIN = "plain-6"
MEDIA = ("wimax-6", "wlan-6", "grants-6")
MAX_RATIO = {"wimax-6": 3.0}
MAX_INSTRUCTIONS = {"wimax-6": 2500, "wlan-6": 3500, "grants-6": 3900}
INSTRUCTIONS_SECONDS = 10


@dataclass(frozen=True)
class Cost:
    """Cost of one case: datagrams delivered, ns and instructions of each."""

    packets: int
    ns: float
    instructions: float | None


def cost(binary: Path, case: str, repeats: int, valgrind: str | None) -> Cost:
    runs = [json.loads(programs.run([str(binary), case]).output) for _ in range(repeats)]
    packets = int(runs[0]["data_packets"])
    ns = min(float(run["cpu_s"]) for run in runs) / packets * 1e9
    if valgrind is None:
        return Cost(packets, ns, None)
    arguments = [case, "--seconds", str(INSTRUCTIONS_SECONDS)]
    return Cost(packets, ns, programs.instructions_per_packet(valgrind, binary, arguments))


def table(binary: Path, repeats: int) -> list[str]:
    """The comparison as lines of text."""
    valgrind = programs.find("valgrind", "instructions of access media")
    costs = {case: cost(binary, case, repeats, valgrind) for case in (PLAIN, *MEDIA)}
    plain = costs[PLAIN]
    lines = [f"{'case':10} {'packets':>8} {'ns/packet':>10} {'ratio':>6} {'instructions':>13} {'ratio':>6}"]
    for case, one in costs.items():
        instructions, instruction_ratio = "-", "-"
        if one.instructions and plain.instructions:
            instructions, instruction_ratio = (
                f"{one.instructions:,.0f}",
                f"{one.instructions / plain.instructions:.2f}x",
            )
        ratio = one.ns / plain.ns
        max_ratio = MAX_RATIO.get(case)
        max_instructions = MAX_INSTRUCTIONS.get(case)
        bound = "" if max_ratio is None else f"  (at most {max_ratio}x){'' if ratio <= max_ratio else '  OVER'}"
        if max_instructions is not None and one.instructions:
            bound += f"  (at most {max_instructions:,}){'' if one.instructions <= max_instructions else '  OVER'}"
        lines.append(
            f"{case:10} {one.packets:8,} {one.ns:10.1f} {ratio:5.2f}x {instructions:>13} {instruction_ratio:>6}{bound}"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binary", type=Path, default=Path("target/release/ackclock-bench"))
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print("\n".join(table(args.binary, args.repeats)))


if __name__ == "__main__":
    main()
