"""`python -m tests.live.table [FILE]`: the running kernel beside the simulator, as a Markdown page; `make kernel` writes it to docs.

Each transfer takes its 15 s of real time, and as many again where the machine was too busy.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.live.cells import KNOWN, LINKS, VARIANTS, Figures, Unmeasured, faults, kernel, missing, namespaces, simulator

SECONDS = 15.0
HEADINGS = (
    "link",
    "variant",
    "goodput kernel",
    "simulator",
    "",
    "RTT kernel",
    "simulator",
    "",
    "resent kernel",
    "simulator",
    "verdict",
)
ABOUT = """# The running kernel against the simulator

Written by `make kernel`. A bulk download of {seconds:.0f} s by Linux {release}, over `ackclock emulate LINK`, beside the
simulator's over the same link file with `host = "linux-6"` and this machine's `tcp_rmem` and `tcp_wmem`. Goodput is what the reader got in that time, from the first SYN;
RTT the mean over time of the sender's smoothed round trip (TCP_INFO every 20 ms); `resent` are retransmitted segments.
Promised are 5 % of goodput, 10 % of RTT, and a factor 1.5 or 5 segments of retransmissions. The emulation's audit held in every row; the machine was not otherwise idle.

Links: `wide` is 10 Mb/s, 100 ms, 125 kB of buffer; `narrow` 2 Mb/s down, 256 kb/s up, 60 ms, 30 kB; the others are packaged.
"""


def cells(ours: Figures, theirs: Figures) -> tuple[str, ...]:
    wrong = faults(ours, theirs)
    return (
        f"{theirs.goodput_bps / 1e6:.3f} Mb/s",
        f"{ours.goodput_bps / 1e6:.3f}",
        f"{ours.goodput_bps / theirs.goodput_bps - 1:+.1%}",
        f"{theirs.rtt_ms:.1f} ms",
        f"{ours.rtt_ms:.1f}",
        f"{ours.rtt_ms / theirs.rtt_ms - 1:+.1%}",
        str(theirs.retransmitted),
        str(ours.retransmitted),
        "misses: " + ", ".join(wrong) if wrong else "holds",
    )


def rows() -> Iterator[tuple[str, ...]]:
    """One row of each link and variant."""
    for link in LINKS:
        for variant in VARIANTS:
            why = missing(variant)
            if why:
                yield (link, variant, *[""] * 8, f"skipped: {why}")
                continue
            try:
                yield (link, variant, *cells(simulator(link, variant, SECONDS), kernel(link, variant, SECONDS)))
            except Unmeasured as error:
                yield (link, variant, *[""] * 8, f"not measured: {error}")


def reasons() -> list[str]:
    """What is known of figures that miss."""
    return [f"\n`{variant}` over `{link}`, {what}: {why}." for (link, variant, what), why in KNOWN.items()]


def main() -> int:
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    lines = [ABOUT.format(seconds=SECONDS, release=platform.release().split("-")[0])]
    lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    for row in rows():
        lines.append("| " + " | ".join(row) + " |")
        sys.stderr.write(lines[-1] + "\n")
    text = "\n".join([*lines, *reasons()]) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
