"""`python -m studies.kernel.page [--kernel-cc] [FILE]`: the running kernel beside the simulator, as a Markdown page; `make kernel` writes it.

With --kernel-cc the part of the page with the variants that `ackclock kernel-cc load` brings; without, the part with the kernel's own.
The other part, and what people have written below the tables, stays. Each transfer takes its 15 s of real time, once for each of five seeds, and as many again where the machine was too busy.

It can be done in parts: --kept FILE remembers each transfer that counts, --only LINK or LINK/VARIANT measures those alone, --minutes
begins nothing after so long, --jobs runs so many transfers at a time. The simulator's side is always of the present code.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from studies.kernel.runs import (
    KERNEL_CC,
    LINKS,
    SEEDS,
    VARIANTS,
    Unmeasured,
    faults,
    link_digest,
    median,
    missing,
    release,
    simulator,
    transfer,
)
from studies.kernel.transfers import Figures, Kept, Transfer
from tests.support.namespaces import namespaces

SECONDS = 15.0
EARLIER = "kernel measured earlier"
UNKEPT = "no transfer that counts"
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
Medians of {seeds} runs of the kernel, each with another seed of the link's chance (where fewer were valid, their number is in the last column; "kernel measured earlier" are rows of earlier series, three runs of one seed), and of {seeds} seeds of the simulator, with the least and the largest in brackets where they differ. The emulation's audit held in every run that counts (late is a millisecond, or a frame where the link is a radio that sends in frames), and the sender's process woke at most 10 ms late; `load` is the machine's load average, which was
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


@dataclass(frozen=True)
class KernelSide:
    """A row's half: the cells as they are written, the medians, when the transfers began on the link, and what is to be said of them."""

    goodput: str
    rtt: str
    resent: str
    load: str
    medians: Figures
    began_s: float
    note: str


def of_transfers(measured: Sequence[Transfer]) -> KernelSide:
    theirs = [run.figures for run in measured]
    return KernelSide(
        spread([run.goodput_bps / 1e6 for run in theirs], ".3f"),
        spread([run.rtt_ms for run in theirs], ".1f"),
        spread([run.retransmitted for run in theirs], "d"),
        spread([run.load for run in measured], ".0f"),
        median(theirs),
        sorted(run.began_s for run in measured)[(len(measured) - 1) // 2],
        "" if len(theirs) >= len(SEEDS) else f" ({len(theirs)} {'run' if len(theirs) == 1 else 'runs'})",
    )


def of_page(page: str) -> dict[tuple[str, str], KernelSide]:
    """The rows that a page of this kernel's has, of transfers that were not kept."""
    found = {}
    for line in page.splitlines() if f"Linux {release()}" in page else []:
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if len(row) == len(HEADINGS) and row[2][:1].isdigit():
            goodput, rtt, resent = (float(row[at].split()[0]) for at in (2, 5, 8))
            medians = Figures(goodput * 1e6, rtt, int(resent))
            few = re.search(r"\((\d runs?)", row[11])
            note = f" ({few[1]}, {EARLIER})" if few else f" ({EARLIER})"
            found[row[0], row[1]] = KernelSide(row[2], row[5], row[8], row[10], medians, 0.0, note)
    return found


def cells(ours: Sequence[Figures], theirs: KernelSide) -> tuple[str, ...]:
    us, them = median(ours), theirs.medians
    wrong = faults(us, them)
    return (
        theirs.goodput,
        spread([run.goodput_bps / 1e6 for run in ours], ".3f"),
        f"{us.goodput_bps / them.goodput_bps - 1:+.1%}",
        theirs.rtt,
        spread([run.rtt_ms for run in ours], ".1f"),
        f"{us.rtt_ms / them.rtt_ms - 1:+.1%}",
        theirs.resent,
        spread([run.retransmitted for run in ours], "d"),
        theirs.load,
        ("misses: " + ", ".join(wrong) if wrong else "holds") + theirs.note,
    )


def kept_runs(kept: Kept, link: str, variant: str) -> list[Transfer]:
    """The first run of each seed: more are not chosen from."""
    found: dict[int, Transfer] = {}
    for run in kept.of(link, variant, SECONDS, release(), link_digest(link)):
        if run.seed in SEEDS:
            found.setdefault(run.seed, run)
    return list(found.values())


def measure(kept: Kept, wanted: Sequence[tuple[str, str]], jobs: int, until: float) -> None:
    """What the rows still lack, so many transfers at a time; those that the machine could not carry are left out."""
    done = {row: {run.seed for run in kept_runs(kept, *row)} for row in wanted}
    todo = [(*row, seed) for seed in SEEDS for row in wanted if seed not in done[row]]

    def one(link: str, variant: str, seed: int) -> None:
        if time.monotonic() > until:
            return
        try:
            kept.add(transfer(link, variant, SECONDS, seed))
        except Unmeasured as error:
            sys.stderr.write(f"{link} {variant}, seed {seed}: not measured: {error}\n")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda job: one(*job), todo))


def rows(variants: Sequence[str], kept: Kept, earlier: dict[tuple[str, str], KernelSide]) -> Iterator[tuple[str, ...]]:
    """One row of each link and variant that has been measured; of others why not."""
    for link in LINKS:
        for variant in variants:
            measured = kept_runs(kept, link, variant)
            theirs = of_transfers(measured) if measured else earlier.get((link, variant))
            if theirs is None:
                yield (link, variant, missing(variant) or UNKEPT)
            else:
                yield (link, variant, *cells(simulator(link, variant, SECONDS, began_s=theirs.began_s), theirs))


def part(about: str, variants: Sequence[str], kept: Kept, page: str) -> str:
    """A table with what is said above it, and below it what is not in it."""
    lines = [about.format(seconds=SECONDS, release=release(), seeds=len(SEEDS))]
    lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    absent = []
    for row in rows(variants, kept, of_page(page)):
        if len(row) == len(HEADINGS):
            lines.append("| " + " | ".join(row) + " |")
            sys.stderr.write(lines[-1] + "\n")
        else:
            absent.append("`{}` {} ({})".format(*row))
    if absent:
        lines += ["", "Not measured: " + ", ".join(absent) + "."]
    return "\n".join(lines) + "\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The running kernel beside the simulator.")
    parser.add_argument("pages", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--kernel-cc", action="store_true", help="the variants that `ackclock kernel-cc load` brings")
    parser.add_argument("--only", action="append", metavar="LINK[/VARIANT]", help="measure these rows alone")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="where transfers that count are kept")
    parser.add_argument("--jobs", type=int, default=1, help="transfers at a time")
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="begin nothing after so long")
    return parser.parse_args()


def main() -> int:
    said = arguments()
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    if said.kernel_cc and all(map(missing, KERNEL_CC)):
        sys.stderr.write("skipped: `ackclock kernel-cc load` has loaded nothing\n")
        return 0
    about, variants = (ABOUT_KERNEL_CC, KERNEL_CC) if said.kernel_cc else (ABOUT, VARIANTS)
    every = [(link, variant) for link in LINKS for variant in variants if not missing(variant)]
    kept = Kept(said.kept)
    wanted = [row for row in every if not said.only or row[0] in said.only or "/".join(row) in said.only]
    measure(kept, wanted, said.jobs, time.monotonic() + 60.0 * said.minutes)
    if not said.pages and said.only:
        return 0
    old = {page: page.read_text(encoding="utf-8") if page.exists() else "" for page in said.pages}
    text = part(about, variants, kept, next(iter(old.values()), ""))
    if not old:
        print(text)
    for page, above in old.items():
        page.write_text(with_part(above, text), encoding="utf-8")
    return 0


def with_part(page: str, new: str) -> str:
    """The page with one of its tables new; the other and what people have written below stay."""
    above, below, causes = page.partition(BELOW)
    first, middle, second = above.partition(MIDDLE)
    first, second = (first, new) if new.startswith(MIDDLE) else (new, middle + second)
    return "\n".join(text.rstrip() + "\n" for text in (first, second, below + causes) if text.strip())


if __name__ == "__main__":
    sys.exit(main())
