"""`python -m tests.live.table [FILE]`: the running kernel beside the simulator, as a Markdown page; `make kernel` writes it to docs.

Each transfer takes its 15 s of real time, three times over, and as many again where the machine was too busy.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.live.cells import (
    LINKS,
    RUNS,
    SEEDS,
    VARIANTS,
    Figures,
    Unmeasured,
    faults,
    kernel,
    median,
    missing,
    namespaces,
    simulator,
)

SECONDS = 15.0
HEADINGS = (
    "link",
    "variant",
    "goodput kernel, Mb/s",
    "simulator",
    "",
    "RTT kernel, ms",
    "simulator",
    "",
    "resent kernel",
    "simulator",
    "load",
    "verdict",
)
ABOUT = """# The running kernel against the simulator

Written by `make kernel`. A bulk download of {seconds:.0f} s by Linux {release}, over `ackclock emulate LINK`, beside the
simulator's over the same link file with `host = "linux-6"` and this machine's `tcp_rmem` and `tcp_wmem`. Goodput is what the reader got in that time, from the first SYN;
RTT the mean over time of the sender's smoothed round trip (TCP_INFO every 20 ms); `resent` are retransmitted segments.
Medians of {runs} runs of the kernel and of {seeds} seeds of the simulator, with the least and the largest in brackets where they differ. The emulation's audit held in every run that counts; `load` is the machine's load average, which was
shared with other work.
Promised are 5 % of goodput, 10 % of RTT, and a factor 1.5 or 5 segments of retransmissions.

Links: `wide` is 10 Mb/s, 100 ms, 125 kB of buffer; `narrow` 2 Mb/s down, 256 kb/s up, 60 ms, 30 kB; the others are packaged.
"""
BELOW = "## What the traces showed\n"


def spread(values: Sequence[float], form: str) -> str:
    """The median, with the range where it shows."""
    low, middle, high = (format(f(values), form) for f in (min, lambda v: sorted(v)[(len(v) - 1) // 2], max))
    return middle if low == high else f"{middle} ({low} to {high})"


def cells(ours: Sequence[Figures], theirs: Sequence[Figures]) -> tuple[str, ...]:
    us, them = median(ours), median(theirs)
    wrong = faults(us, them)
    return (
        spread([run.goodput_bps / 1e6 for run in theirs], ".3f"),
        spread([run.goodput_bps / 1e6 for run in ours], ".3f"),
        f"{us.goodput_bps / them.goodput_bps - 1:+.1%}",
        spread([run.rtt_ms for run in theirs], ".1f"),
        spread([run.rtt_ms for run in ours], ".1f"),
        f"{us.rtt_ms / them.rtt_ms - 1:+.1%}",
        spread([run.retransmitted for run in theirs], "d"),
        spread([run.retransmitted for run in ours], "d"),
        f"{os.getloadavg()[0]:.0f}",
        "misses: " + ", ".join(wrong) if wrong else "holds",
    )


def rows() -> Iterator[tuple[str, ...]]:
    """One row of each link and variant."""
    for link in LINKS:
        for variant in VARIANTS:
            why = missing(variant)
            if why:
                yield (link, variant, *[""] * 9, f"skipped: {why}")
                continue
            try:
                theirs = [kernel(link, variant, SECONDS) for _ in range(RUNS)]
            except Unmeasured as error:
                yield (link, variant, *[""] * 9, f"not measured: {error}")
                continue
            yield (link, variant, *cells(simulator(link, variant, SECONDS), theirs))


def main() -> int:
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    release = platform.release().split("-")[0]
    lines = [ABOUT.format(seconds=SECONDS, release=release, runs=RUNS, seeds=len(SEEDS))]
    lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    for row in rows():
        lines.append("| " + " | ".join(row) + " |")
        sys.stderr.write(lines[-1] + "\n")
    text = "\n".join(lines) + "\n"
    if len(sys.argv) > 1:
        page = Path(sys.argv[1])
        page.write_text(text + causes(page), encoding="utf-8")
    else:
        print(text)
    return 0


def causes(page: Path) -> str:
    """What people have written below the table stays."""
    below = page.read_text(encoding="utf-8").partition(BELOW)[2] if page.exists() else ""
    return f"\n{BELOW}{below}" if below else ""


if __name__ == "__main__":
    sys.exit(main())
