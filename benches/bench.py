"""Speed of the engine: packets and element calls per CPU second, instructions, memory, growth,
ratio to ns-2.

A figure that misses its target ends with OVER or UNDER. The exit status is then 1.

Standard library only. Every figure is of the engine alone (`ackclock-bench`, one process, one
core), but for the last table, which is of the command `analyze`: the minimum of several runs, as
other work on the machine only adds. The output ends with the parts left out and the reasons.

usage: python3 -m benches.bench [--binary target/release/ackclock-bench]
                                [--command .venv/bin/ackclock] [--repeats 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from benches import captures, media, programs
from benches.peers import ns2_speed, static_loop

OURS = [*(case.name for case in ns2_speed.CASES), "flows-10", "flows-1000", "flows-10000", "noloss-6000", "loss-6000"]
MAX_INSTRUCTIONS = {"one-1g": 2600, "hundred-1g": 2970, "codel-2": 2735}
"""A delivered data packet. The last two are in proportion: they took 4,374 and 4,024 when `one-1g`
took 3,827."""
INSTRUCTIONS_SECONDS = 2  # callgrind is about 50 times slower than the machine
CODEL_SECONDS = 20  # at 20 Mb/s
MAX_RSS_MB = 64
VARIANTS_CASE, VARIANTS_SECONDS = "one-10m", 20  # the window is full at once: all variants do the same work
MAX_VARIANT_COST = 1.5


@dataclass(frozen=True)
class Result:
    """The result of one case."""

    case: str
    data_packets: int
    element_calls: int
    cpu_s: float
    peak_rss_mb: float

    @property
    def ns_per_packet(self) -> float:
        return self.cpu_s / self.data_packets * 1e9


_missed: list[str] = []


def show(lines: Iterable[str]) -> None:
    """Print lines, and keep those with a figure that misses its target."""
    for line in lines:
        print(line, flush=True)
        if re.search(r"\b(OVER|UNDER)\b", line):
            _missed.append(line)


def measure(binary: Path, case: str, repeats: int) -> Result:
    runs = [json.loads(programs.run([str(binary), case]).output) for _ in range(repeats)]
    best = min(runs, key=lambda run: float(run["cpu_s"]))
    return Result(
        case=case,
        data_packets=best["data_packets"],
        element_calls=best["element_calls"],
        cpu_s=best["cpu_s"],
        peak_rss_mb=max(run["peak_rss_kb"] for run in runs) / 1024,
    )


def print_engine(results: list[Result]) -> None:
    print(
        f"{'case':18} {'data packets':>12} {'packets/CPU s':>14} {'calls/CPU s':>13} {'ns/packet':>10} {'peak MB':>8}"
    )
    for r in results:
        print(
            f"{r.case:18} {r.data_packets:12,} {r.data_packets / r.cpu_s:14,.0f} {r.element_calls / r.cpu_s:13,.0f}"
            f" {r.ns_per_packet:10.1f} {r.peak_rss_mb:8.1f}"
        )


def print_growth(results: list[Result]) -> list[dict[str, object]]:
    """Costs with many flows and with losses, beside those of few and none."""
    by_name = {r.case: r for r in results}
    rows: list[dict[str, object]] = []
    lines = []
    for what, case, base, max_ratio in (
        ("1,000 flows over 10", "flows-1000", "flows-10", 2.0),
        ("10,000 flows over 10", "flows-10000", "flows-10", 3.5),
        ("2,000 of 6,000 segments lost at once, over none", "loss-6000", "noloss-6000", 3.0),
    ):
        ns = by_name[case].ns_per_packet
        ratio = ns / by_name[base].ns_per_packet
        verdict = "" if ratio <= max_ratio else "  OVER"
        lines.append(f"{what:50} {ratio:5.2f}x  (at most {max_ratio}x)  {ns:5.1f} ns{verdict}")
        rows.append({"what": what, "ratio": ratio, "most": max_ratio, "ns": ns})
    memory = by_name["hundred-1g"].peak_rss_mb
    lines.append(
        f"{'peak memory with 100 flows':50} {memory:5.1f} MB (at most {MAX_RSS_MB} "
        f"MB){'' if memory <= MAX_RSS_MB else '  OVER'}"
    )
    show(lines)
    return rows


def print_instructions(binary: Path) -> dict[str, float]:
    valgrind = programs.find("valgrind", "instructions of whole cases")
    if valgrind is None:
        return {}
    instructions = {}
    for case, target in MAX_INSTRUCTIONS.items():
        seconds = str(CODEL_SECONDS if case == "codel-2" else INSTRUCTIONS_SECONDS)
        count = programs.instructions_per_packet(valgrind, binary, [case, "--seconds", seconds])
        instructions[case] = count
        verdict = "" if count <= target else "  OVER"
        show([f"{case:18} {count:8,.0f} instructions per delivered data packet  (at most {target:,}){verdict}"])
    return instructions


def variant_names(binary: Path) -> list[str]:
    """Every congestion control of the binary."""
    names: list[str] = json.loads(
        subprocess.run([str(binary), "variants"], check=True, capture_output=True, text=True).stdout
    )
    return names


def print_variants(binary: Path) -> dict[str, float]:
    """Instructions per packet of each congestion control, over NewReno's."""
    valgrind = programs.find("valgrind", "instructions by congestion control")
    if valgrind is None:
        return {}
    names = variant_names(binary)
    instructions = {
        name: programs.instructions_per_packet(
            valgrind, binary, [VARIANTS_CASE, "--seconds", str(VARIANTS_SECONDS), "--variant", name]
        )
        for name in names
    }
    for name, count in sorted(instructions.items(), key=lambda item: item[1]):
        ratio = count / instructions["newreno"]
        show([f"{name:18} {count:8,.0f} {ratio:6.2f}x{'' if ratio <= MAX_VARIANT_COST else '  OVER'}"])
    return instructions


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binary", type=Path, default=Path("target/release/ackclock-bench"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--command", type=Path, default=Path(".venv/bin/ackclock"))
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    args = parser.parse_args()

    print("engine alone, cheapest of", args.repeats, "runs")
    results = [measure(args.binary, case, args.repeats) for case in OURS]
    print_engine(results)

    print("\ngrowth of the cost per packet")
    growth = print_growth(results)

    print("\ninstructions (callgrind)")
    instructions = print_instructions(args.binary)

    print(f"\ninstructions per packet by congestion control, and over newreno (at most {MAX_VARIANT_COST}x)")
    variants = print_variants(args.binary)

    print("\nlower bound: a static loop for these cases only")
    lower_bound = static_loop.table(args.binary, ns2_speed.CASES, args.repeats)
    show(lower_bound)

    print("\nns-2, CPU seconds per million delivered data packets; lean headers, runs alternate")
    ns = programs.find("ns", "ratio to ns-2")
    if ns is not None:
        show(ns2_speed.table(args.binary, ns, args.repeats))

    print("\naccess media: six overloaded stations, beside a fixed rate")
    show(media.table(args.binary, args.repeats))

    print("\ncaptures: the per-flow table")
    lines, capture_figures = captures.table(args.binary, args.repeats)
    show(lines)

    print("\ncaptures: `analyze --json` by number of flows, minimum of", args.repeats, "alternating runs")
    lines, command_figures = captures.by_flows(args.binary, args.command, args.repeats)
    show(lines)

    print("\ntargets missed")
    print("\n".join(_missed) or "none")
    print("\nleft out")
    print("\n".join(programs.left_out()) or "nothing")

    if args.json:
        figures = {
            "captures": capture_figures,
            "captures_by_flows": command_figures,
            "cases": [asdict(r) for r in results],
            "growth": growth,
            "instructions_per_packet": instructions,
            "variants": variants,
        }
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 1 if _missed else 0


if __name__ == "__main__":
    sys.exit(main())
