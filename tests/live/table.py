"""`python -m tests.live.table [--kernel-cc] [FILE]`: the running kernel beside the simulator, as a Markdown page; `make kernel` writes it.

With --kernel-cc the part of the page with the variants that `ackclock kernel-cc load` brings; without, the part with the kernel's own.
The other part, and what people have written below the tables, stays. Each transfer takes its 15 s of real time, three times over, and as many again where the machine was too busy.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.live.cells import (
    KERNEL_CC,
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
Medians of {runs} runs of the kernel and of {seeds} seeds of the simulator, with the least and the largest in brackets where they differ. The emulation's audit held in every run that counts, and the sender's process woke at most 10 ms late; `load` is the machine's load average, which was
shared with other work.
Promised are 5 % of goodput, 10 % of RTT, and a factor 1.5 or 5 segments of retransmissions.

Links: `wide` is 10 Mb/s, 100 ms, 125 kB of buffer; `narrow` 2 Mb/s down, 256 kb/s up, 60 ms, 30 kB; the others are packaged.
"""
ABOUT_KERNEL_CC = """## The papers' variants in the kernel

Written by `make kernel`, too, after `make kernel-cc` and `ackclock kernel-cc load` ([kernel-cc](kernel-cc.md)): the same transfers and the same promises, with the variants as eBPF programs in
Linux {release} beside those of the simulator. Both ends have real-time priority; runs whose sender woke more than 10 ms late do not count.
"""
MIDDLE = ABOUT_KERNEL_CC.partition("\n")[0] + "\n"
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


def rows(variants: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """One row of each link and variant."""
    for link in LINKS:
        for variant in variants:
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


def part(about: str, variants: Sequence[str]) -> str:
    """A table with what is said above it."""
    release = platform.release().split("-")[0]
    lines = [about.format(seconds=SECONDS, release=release, runs=RUNS, seeds=len(SEEDS))]
    lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    for row in rows(variants):
        lines.append("| " + " | ".join(row) + " |")
        sys.stderr.write(lines[-1] + "\n")
    return "\n".join(lines) + "\n"


def main() -> int:
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    arguments = sys.argv[1:]
    ours = "--kernel-cc" in arguments
    pages = [Path(name) for name in arguments if name != "--kernel-cc"]
    if ours and all(map(missing, KERNEL_CC)):
        sys.stderr.write("skipped: `ackclock kernel-cc load` has loaded nothing\n")
        return 0
    text = part(ABOUT_KERNEL_CC, KERNEL_CC) if ours else part(ABOUT, VARIANTS)
    if not pages:
        print(text)
    for page in pages:
        page.write_text(with_part(page.read_text(encoding="utf-8") if page.exists() else "", text), encoding="utf-8")
    return 0


def with_part(page: str, new: str) -> str:
    """The page with one of its tables new; the other and what people have written below stay."""
    above, below, causes = page.partition(BELOW)
    first, middle, second = above.partition(MIDDLE)
    first, second = (first, new) if new.startswith(MIDDLE) else (new, middle + second)
    return "\n".join(text.rstrip() + "\n" for text in (first, second, below + causes) if text.strip())


if __name__ == "__main__":
    sys.exit(main())
