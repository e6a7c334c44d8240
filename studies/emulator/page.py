"""The emulator's accuracy and speed as a page: `python -m studies.emulator.page PAGE [accuracy|speed]`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from studies.emulator import accuracy, speed
from studies.emulator.traffic import PROGRAM
from tests.support.namespaces import namespaces

PARTS = ("accuracy", "speed")
ABOUT = """# The emulator, measured

Written by `make bench-live`, with the machine's 1-minute load and the share of CPU time that its own host gave to others. Datagrams of 1500 B
are numbered and stamped when they are sent, and stamped by the kernel when they arrive, by one clock: the error of a delay is what sender,
receiver and emulator add together. An audit is the emulator's own; invalid runs were repeated up to three times.
"""
ABOUT_RECORDED = (
    "Recorded links are saturated; an opportunity of 1500 B counts as there from the first use to the last packet's coming. Losses are in "
    "standard deviations of their binomial distribution."
)


def page(parts: list[str]) -> Iterator[str]:
    yield ABOUT
    if "accuracy" in parts:
        data = os.environ.get("ACKCLOCK_DATA")
        yield "## Accuracy\n"
        yield from accuracy.wholly(
            chain(accuracy.rates(), accuracy.losses(), accuracy.recorded(Path(data) / "cellular" if data else None))
        )
        yield f"\n{ABOUT_RECORDED}\n"
    if "speed" in parts:
        yield "## Speed\n"
        yield "A fixed rate with 30 ms of delay, even streams of 1500 B in both directions, counted together.\n"
        yield from speed.lines()


def main() -> int:
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    if not PROGRAM.exists():
        sys.stderr.write(f"there is no {PROGRAM.name}: make bench-live builds it\n")
        return 2
    target, *parts = sys.argv[1:]
    lines = []
    for line in page(parts or list(PARTS)):
        sys.stderr.write(line + "\n")
        lines.append(line)
    Path(target).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
