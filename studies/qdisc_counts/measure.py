"""`python -m studies.qdisc_counts.measure [PART ..]`: what Linux counts for packets and polices.

Writes overheads.csv, policer.csv and tunnels.csv beside this file, from Debian's user-mode Linux;
`make qdisc-counts`.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.qdisc_counts.guest import BURST, RATE
from studies.virtual_kernel.build import MISSING, Unavailable
from studies.virtual_kernel.uml import run

HERE = Path(__file__).parent
OVERHEADS, POLICER, TUNNELS = HERE / "overheads.csv", HERE / "policer.csv", HERE / "tunnels.csv"
LIMIT_S = 900.0


@dataclass(frozen=True)
class Arrival:
    """A packet at the policer: time in ns since the first, bytes, and whether it passed."""

    at_ns: int
    size: int
    passed: bool


def overheads() -> list[tuple[str, int, int]]:
    """cake's keyword, bytes of the IP packet, and what cake counted for it."""
    return [(keyword, int(size), int(counted)) for keyword, size, counted in _rows(OVERHEADS)]


def tunnels() -> list[tuple[str, int, int]]:
    """Kind of a tunnel, bytes of the IP packet inside, and those of the one around it."""
    return [(kind, int(inner), int(outer)) for kind, inner, outer in _rows(TUNNELS)]


def arrivals() -> list[Arrival]:
    """Those of policer.csv."""
    return [Arrival(int(at), int(size), passed == "1") for at, size, passed in _rows(POLICER)]


def differences(packets: Sequence[Arrival], rate: int, burst: int) -> list[float]:
    """Of each packet that a bucket which starts full would treat otherwise: by how many bytes its
    tokens exceed the packet, below zero where the bucket drops it.
    """
    tokens, last, found = float(burst), 0, []
    for packet in packets:
        tokens, last = min(burst, tokens + (packet.at_ns - last) * rate / 8e9), packet.at_ns
        margin = tokens - packet.size
        if (margin >= 0) != packet.passed:
            found.append(margin)
        if margin >= 0:
            tokens -= packet.size
    return found


def _rows(path: Path) -> Iterator[list[str]]:
    with path.open(newline="", encoding="ascii") as file:
        yield from csv.reader(line for line in file if not line.startswith("#"))


def _write(path: Path, title: str, rows: Sequence[Sequence[object]]) -> None:
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join([f"# {title}", *lines, ""]), "ascii")


def main() -> int:
    parts = sys.argv[1:] or ["overheads", "policer", "tunnels"]
    program = (HERE / "guest.py").read_text("utf-8")
    try:
        result = run(f"cat >guest.py <<'END'\n{program}\nEND\npython3 guest.py {' '.join(parts)}\n", LIMIT_S)
    except Unavailable as why:
        sys.stderr.write(f"qdisc_counts: skipped: {why}\n")
        return MISSING
    if result.status:
        sys.stderr.write(result.output)
        return 1
    found = json.loads(result.output)
    kernel = f"Linux {found['kernel']}"
    titles = {
        "overheads": (OVERHEADS, "keyword of cake, bytes of the IP packet, bytes counted"),
        "tunnels": (TUNNELS, "kind of the tunnel, bytes of the IP packet inside, bytes of the one around it"),
        "policer": (POLICER, f"act_police of {RATE} b/s and {BURST} B: ns, bytes of the IP packet, passed"),
    }
    for part in parts:
        path, title = titles[part]
        _write(path, f"{kernel}: {title}", found[part])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
