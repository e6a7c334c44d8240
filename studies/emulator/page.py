"""Writes the page of the emulator's accuracy and speed.

`python -m studies.emulator.page PAGE [accuracy|speed]`
"""

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

Written by `make bench-live`. `load` is the machine's 1-minute load average, `steal` the CPU time
that its hypervisor gave to other machines. Datagrams of 1500 B have a number and a transmission
timestamp; the kernel timestamps their arrival by the same clock. The error of a delay is
therefore the sum of the errors of sender, receiver and emulator. An invalid run, by the
emulator's audit, was repeated up to three times.
"""
ABOUT_RECORDED = (
    "Recorded links are saturated; an opportunity of 1500 B counts from the first used one to the last\n"
    "packet's arrival. The error of a loss is in standard deviations of the binomial distribution."
)


def page(parts: list[str]) -> Iterator[str]:
    yield ABOUT
    if "accuracy" in parts:
        data = os.environ.get("ACKCLOCK_DATA")
        yield "## Accuracy\n"
        yield from accuracy.markdown_table(
            chain(
                accuracy.rates(), accuracy.losses(), accuracy.recorded_links(Path(data) / "cellular" if data else None)
            )
        )
        yield f"\n{ABOUT_RECORDED}\n"
    if "speed" in parts:
        yield "## Speed\n"
        yield "A fixed rate with 30 ms of delay, even streams of 1500 B in both directions; rates are their sums.\n"
        yield from speed.lines()


def main() -> int:
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    if not PROGRAM.exists():
        sys.stderr.write(f"{PROGRAM.name} is not built: run make bench-live\n")
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
