"""Writes the page of the emulator's accuracy, its bounds and its speed.

`python -m studies.emulator.page PAGE [accuracy|bound|speed ..] [--again] [--kept FILE]`

A section is measured again only if it was measured with an earlier version of the emulator, or with
--again; a line below its heading has the digest of the emulator's code. --kept stores the runs of
the section on the bound.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from studies.emulator import accuracy, bound, speed
from studies.emulator.code_digest import emulator_digest
from studies.emulator.traffic import PROGRAM
from tests.support.namespaces import namespaces

ABOUT = """# The emulator, measured

Written by `make bench-live`, which repeats only the sections that an earlier version of the
emulator has measured. `load` is the machine's 1-minute load average, `steal` the CPU time that its
hypervisor gave to other machines, `grade` that of [the audit](../reference/emulate.md). Datagrams of 1500 B have
a number and a transmission timestamp; the kernel timestamps their arrival by the same clock. The
error of a delay is therefore the sum of the errors of sender, receiver and emulator. An invalid run
was repeated up to three times.
"""
ABOUT_RECORDED = (
    "Recorded links are saturated; an opportunity of 1500 B counts from the first used one to the last\n"
    "packet's arrival. The error of a loss is in standard deviations of the binomial distribution."
)
HOUR_S = 3600.0


def accuracy_lines(_: Path | None) -> Iterator[str]:
    """Accuracy against the link file."""
    data = os.environ.get("ACKCLOCK_DATA")
    recorded = accuracy.recorded_links(Path(data) / "cellular" if data else None)
    yield from accuracy.markdown_table(chain(accuracy.rates(), accuracy.losses(), recorded))
    yield f"\n{ABOUT_RECORDED}"


def bound_lines(kept: Path | None) -> Iterator[str]:
    """The bound of a usable run beside its true error."""
    store = bound.RunStore(kept)
    bound.measure(store, bound.RUNS, time.monotonic() + HOUR_S)
    yield from bound.table(store)


def speed_lines(_: Path | None) -> Iterator[str]:
    """One fast link, and many links."""
    yield "A fixed rate with 30 ms of delay, even streams of 1500 B in both directions; rates are their sums.\n"
    yield from speed.lines()


SECTIONS: dict[str, tuple[str, Callable[[Path | None], Iterator[str]]]] = {
    "accuracy": ("Accuracy", accuracy_lines),
    "bound": ("The bound beside the true error", bound_lines),
    "speed": ("Speed", speed_lines),
}


def code_line() -> str:
    """The line below the heading of a section that the present emulator has measured."""
    return f"<!-- emulator {emulator_digest()} -->"


def sections_of(page: str) -> dict[str, str]:
    """The text of each section by its heading.

    >>> sections_of("# Page\\n\\n## One\\n\\ntext\\n\\n## Two\\n")
    {'One': 'text', 'Two': ''}
    """
    parts = [part.partition("\n") for part in f"\n{page}".split("\n## ")[1:]]
    return {heading.strip(): text.strip() for heading, _, text in parts}


def page_of(sections: dict[str, str]) -> str:
    """The page with the sections that exist, in their order."""
    texts = [f"## {heading}\n\n{sections[heading]}\n" for heading, _ in SECTIONS.values() if sections.get(heading)]
    return "\n".join([ABOUT, *texts])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("parts", nargs="*", choices=[[], *SECTIONS])
    parser.add_argument("--again", action="store_true", help="measure sections of the present emulator again")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="file of the runs on the bound")
    options = parser.parse_args()
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    parts = options.parts or list(SECTIONS)
    if parts != ["bound"] and not PROGRAM.exists():
        sys.stderr.write(f"{PROGRAM.name} is not built: run make bench-live\n")
        return 2
    sections = sections_of(options.page.read_text("utf-8")) if options.page.exists() else {}
    for part in parts:
        heading, lines_of = SECTIONS[part]
        if sections.get(heading, "").startswith(code_line()) and not options.again:
            sys.stderr.write(f"{heading}: measured by the present emulator\n")
            continue
        lines = [code_line(), ""]
        for line in lines_of(options.kept):
            sys.stderr.write(line + "\n")
            lines.append(line)
        sections[heading] = "\n".join(lines)
        options.page.write_text(page_of(sections), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
