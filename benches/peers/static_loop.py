"""The engine against a lower bound: the same cases as one static loop (static_loop.rs describes its
limits).
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from benches import programs
from benches.peers import ns2_speed

SOURCE = Path(__file__).with_name("static_loop.rs")


def build(folder: Path) -> Path | None:
    rustc = programs.find("rustc", "the static loop")
    if rustc is None:
        return None
    program = folder / "static_loop"
    command = [rustc, "-C", "opt-level=3", "--edition", "2024", str(SOURCE), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def run(program: Path, case: ns2_speed.Case) -> tuple[int, programs.Child]:
    child = programs.run([str(program), str(case.flows), str(case.rate_bps), str(case.seconds)])
    return int(json.loads(child.output)["data_packets"]), child


def table(binary: Path, cases: list[ns2_speed.Case], repeats: int) -> list[str]:
    """The comparison as lines of text."""
    program = build(binary.parent)
    if program is None:
        return []
    lines = [f"{'case':14} {'packets ours':>12} {'static':>9}  {'ours ns':>8} {'static':>8}  {'ratio':>6}"]
    for case in cases:
        pairs = [(ns2_speed.run_ours(binary, case), run(program, case)) for _ in range(repeats)]
        ours, bound = ns2_speed.cost([pair[0] for pair in pairs]), ns2_speed.cost([pair[1] for pair in pairs])
        lines.append(
            f"{case.name:14} {ours.packets:12,} {bound.packets:9,}  {ours.min * 1e3:8.1f} {bound.min * 1e3:8.1f}"
            f"  {ours.min / bound.min:5.1f}x"
        )
    return lines
