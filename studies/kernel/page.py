"""Compares the running kernel with the simulator, as a Markdown page; `make kernel` writes it.

`python -m studies.kernel.page [--kernel-cc | --conditions] [FILE]`

With --kernel-cc it writes the table of the variants that `ackclock kernel-cc load` loads, with
--conditions that of losses, reordering and HyStart's edge (`conditions.py`), otherwise the table of
the kernel's own. The other tables and the text below them stay. Each transfer takes 15
s of real time, once for each of five seeds, and again if it was invalid.

The table can be measured in parts: --kept FILE stores each valid transfer, and a stored transfer by
the present emulator is not repeated; --only LINK or LINK/VARIANT measures only these rows,
--minutes starts no transfer after this time, --jobs sets the number of concurrent transfers. The
simulator always runs the present code.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ackclock.format import date_of
from studies.kernel import conditions
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
    transfer_digest,
)
from studies.kernel.transfers import Figures, Transfer, TransferStore
from tests.support.namespaces import namespaces

SECONDS = 15.0
EARLIER = "kernel measured earlier"
NO_VALID_TRANSFER = "no valid transfer"
HEADINGS = (
    "link",
    "variant",
    "goodput kernel, Mb/s",
    "simulator",
    "",
    "RTT kernel, ms",
    "simulator",
    "",
    "retransmitted kernel",
    "simulator",
    "grades",
    "date",
    "load",
    "steal, %",
    "verdict",
)
ABOUT = """# The running kernel against the simulator

Written by `make kernel`. A bulk download of {seconds:.0f} s by Linux {release}, over `ackclock
emulate LINK`, compared with the simulator's over the same link file with `host = "linux-6"` and
this machine's `tcp_rmem` and `tcp_wmem`. Goodput is the data received in that time from the first
SYN; RTT is the mean over time of the sender's smoothed RTT (TCP_INFO every 20 ms);
`retransmitted` is the number of retransmitted segments.

The figures are medians of {seeds} runs of the kernel, each with another seed of the link's random
numbers, and of the simulator's with the same seeds, each started when the kernel's was, with
minimum and maximum in brackets where they differ. If fewer runs of the kernel were valid, the last column has their number; "kernel measured
earlier" marks rows by an earlier version of the emulator, three runs of one seed unless a number
is given. A run is valid if the emulation's [grade](../reference/emulate.md) is exact or usable, the sender's
process woke at most 10 ms late and the hypervisor gave at most 2 % of the CPU time to others (`steal`);
rows without grades had a deadline of 1 ms, or of a frame if the link is a radio that sends in
frames. `load` is the load average of the machine, which was shared with other work. The tolerances are 5 % of goodput, 10 % of RTT,
and a factor of 1.5 or 5 segments of retransmissions.

Links: `wide` is 10 Mb/s, 100 ms, 125 kB of buffer; `narrow` 2 Mb/s down, 256 kb/s up, 60 ms, 30
kB; the others are packaged.
"""
ABOUT_KERNEL_CC = """## The papers' variants in the kernel

Written by `make kernel` after `make kernel-cc` and `ackclock kernel-cc load`
([kernel-cc](../guides/kernel-cc.md)): the same transfers and tolerances, with the variants as eBPF programs
in Linux {release}. Both ends have real-time priority; a run whose sender woke more than 10 ms
late is not valid.
"""
ABOUT_CONDITIONS = """## Losses, reordering, HyStart's edge and a token bucket

Written by `make kernel`: transfers of {seconds:.0f} s by Linux {release} over links of 10 Mb/s, 40
ms and 100 kB with losses or reordering, of 5.5 to 7 Mb/s with 400 kB, and behind a token bucket of
10 Mb/s and 64 KiB. Each of {seeds} seeds is a run of the kernel paired with the simulator's of the same
draws; differences are means over the pairs. Bursts are of three packets on average. The tolerances
are those of the first table.

"""
CONDITIONS_HEADINGS = (
    "link", "variant", "goodput kernel, Mb/s", "simulator", "paired", "RTT kernel, ms", "simulator", "paired",
    "retransmitted kernel", "simulator", "grades", "date", "load", "steal, %", "verdict",
)  # fmt: skip
MIDDLE = ABOUT_KERNEL_CC.partition("\n")[0] + "\n"
SIDE = ABOUT_CONDITIONS.partition("\n")[0] + "\n"
BELOW = "## What the traces showed\n"


def spread(values: Sequence[float], form: str) -> str:
    """The median, with the range if it differs as formatted."""
    low, middle, high = (format(f(values), form) for f in (min, lambda v: sorted(v)[(len(v) - 1) // 2], max))
    return middle if low == high else f"{middle} ({low} to {high})"


@dataclass(frozen=True)
class KernelSide:
    """The kernel's part of a row: its cells, the medians, the start of each measured seed's
    transfer since the link's, and a note."""

    goodput: str
    rtt: str
    retransmitted: str
    grades: str
    date: str
    load: str
    steal: str
    medians: Figures
    began_s: Mapping[int, float]
    note: str


def of_transfers(measured: Sequence[Transfer], seeds: Sequence[int] = SEEDS) -> KernelSide:
    figures, grades = [run.figures for run in measured], [run.grade for run in measured]
    return KernelSide(
        spread([run.goodput_bps / 1e6 for run in figures], ".3f"),
        spread([run.rtt_ms for run in figures], ".1f"),
        spread([run.retransmitted for run in figures], "d"),
        ", ".join(f"{grades.count(grade)} {grade}" for grade in ("exact", "usable") if grade in grades),
        date_of(max(run.started for run in measured)),
        spread([run.load for run in measured], ".0f"),
        spread([run.steal_percent for run in measured], ".1f"),
        median(figures),
        {run.seed: run.began_s for run in measured},
        "" if len(figures) >= len(seeds) else f" ({len(figures)} {'run' if len(figures) == 1 else 'runs'})",
    )


def of_page(page: str) -> dict[tuple[str, str], KernelSide]:
    """The rows of an existing page of this kernel, for transfers that are not stored."""
    rows_on_page = {}
    headings: list[str] = []
    for line in page.splitlines() if f"Linux {release()}" in page else []:
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if row[:2] == list(HEADINGS[:2]):
            headings = row
        if len(row) == len(headings) and row[2][:1].isdigit():
            cell = dict(zip(headings, row, strict=True))  # earlier pages have fewer columns
            goodput, rtt, retransmitted = (float(row[at].split()[0]) for at in (2, 5, 8))
            medians = Figures(goodput * 1e6, rtt, int(retransmitted))
            few = re.search(r"\((\d runs?)", cell["verdict"])
            note = f" ({few[1]}, {EARLIER})" if few else f" ({EARLIER})"
            grades, date, load, steal = (cell.get(name, "") for name in HEADINGS[10:14])
            rows_on_page[row[0], row[1]] = KernelSide(
                *(row[2], row[5], row[8], grades, date, load, steal),
                medians=medians,
                began_s=dict.fromkeys(SEEDS, 0.0),
                note=note,
            )
    return rows_on_page


def cells(simulated: Sequence[Figures], kernel: KernelSide) -> tuple[str, ...]:
    model, reference = median(simulated), kernel.medians
    goodput, rtt = model.goodput_bps / reference.goodput_bps - 1, model.rtt_ms / reference.rtt_ms - 1
    return _cells(simulated, kernel, (goodput, rtt), faults(model, reference))


def _cells(
    simulated: Sequence[Figures], kernel: KernelSide, differences: tuple[float, float], failed: Sequence[str]
) -> tuple[str, ...]:
    """`differences`: of goodput and RTT, as shares of the kernel's."""
    goodput, rtt = differences
    return (
        kernel.goodput,
        spread([run.goodput_bps / 1e6 for run in simulated], ".3f"),
        f"{goodput:+.1%}",
        kernel.rtt,
        spread([run.rtt_ms for run in simulated], ".1f"),
        f"{rtt:+.1%}",
        kernel.retransmitted,
        spread([run.retransmitted for run in simulated], "d"),
        kernel.grades,
        kernel.date,
        kernel.load,
        kernel.steal,
        ("misses: " + ", ".join(failed) if failed else "holds") + kernel.note,
    )


def stored_runs(store: TransferStore, link: str, variant: str, seeds: Sequence[int] = SEEDS) -> list[Transfer]:
    """The first stored run of each seed. Later ones are ignored, so that no result is selected."""
    first: dict[int, Transfer] = {}
    for run in store.of(link, variant, SECONDS, release(), link_digest(link), transfer_digest()):
        if run.seed in seeds:
            first.setdefault(run.seed, run)
    return list(first.values())


def measure(
    store: TransferStore, rows: Sequence[tuple[str, str]], jobs: int, until: float, seeds: Sequence[int] = SEEDS
) -> None:
    """Measure the missing transfers of the rows, ``jobs`` at a time.

    A transfer without a valid run stays missing.
    """
    stored = {row: {run.seed for run in stored_runs(store, *row, seeds)} for row in rows}
    missing_runs = [(*row, seed) for seed in seeds for row in rows if seed not in stored[row]]

    def one(link: str, variant: str, seed: int) -> None:
        if time.monotonic() > until:
            return
        try:
            store.add(transfer(link, variant, SECONDS, seed))
        except Unmeasured as error:
            sys.stderr.write(f"{link} {variant}, seed {seed}: not measured: {error}\n")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda job: one(*job), missing_runs))


def rows(
    variants: Sequence[str], store: TransferStore, earlier: dict[tuple[str, str], KernelSide]
) -> Iterator[tuple[str, ...]]:
    """A row per measured link and variant; for others link, variant and the reason."""
    for link in LINKS:
        for variant in variants:
            measured = stored_runs(store, link, variant)
            kernel = of_transfers(measured) if measured else earlier.get((link, variant))
            if kernel is None:
                yield (link, variant, missing(variant) or NO_VALID_TRANSFER)
            else:
                simulated = simulator(link, variant, SECONDS, kernel.began_s, sorted(kernel.began_s))
                yield (link, variant, *cells(simulated, kernel))


def part(about: str, variants: Sequence[str], store: TransferStore, page: str) -> str:
    """A table with the text above it and the list of missing rows below it."""
    lines = [about.format(seconds=SECONDS, release=release(), seeds=len(SEEDS))]
    lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    absent = []
    for row in rows(variants, store, of_page(page)):
        if len(row) == len(HEADINGS):
            lines.append("| " + " | ".join(row) + " |")
            sys.stderr.write(lines[-1] + "\n")
        else:
            absent.append("`{}` {} ({})".format(*row))
    if absent:
        lines += ["", "Not measured: " + ", ".join(absent) + "."]
    return "\n".join(lines) + "\n"


def conditions_part(store: TransferStore) -> str:
    """The table of losses, reordering, HyStart's edge and the token bucket."""
    seeds = conditions.SEEDS
    text = ABOUT_CONDITIONS.format(seconds=SECONDS, release=release(), seeds=len(seeds))
    lines = [text + "| " + " | ".join(CONDITIONS_HEADINGS) + " |", "|" + "---|" * len(CONDITIONS_HEADINGS)]
    absent, holds, measured_rows = [], 0, 0
    for link in conditions.CONDITIONS:
        for variant in conditions.variants_of(link):
            measured = sorted(stored_runs(store, link, variant, seeds), key=lambda run: run.seed)
            if not measured:
                absent.append(f"{link} {variant} ({missing(variant) or NO_VALID_TRANSFER})")
                continue
            ran = [run.seed for run in measured]
            simulated = simulator(link, variant, SECONDS, {run.seed: run.began_s for run in measured}, ran)
            row = _paired_row(link, variant, simulated, measured)
            measured_rows += 1
            holds += row[-1].startswith("holds")
            lines.append("| " + " | ".join(row) + " |")
            sys.stderr.write(lines[-1] + "\n")
    lines += ["", f"{holds} of {measured_rows} rows hold."]
    if absent:
        lines += ["", "Not measured: " + ", ".join(absent) + "."]
    return "\n".join(lines) + "\n"


def _paired_row(link: str, variant: str, simulated: Sequence[Figures], measured: Sequence[Transfer]) -> tuple[str, ...]:
    kernel, runs = of_transfers(measured, conditions.SEEDS), [run.figures for run in measured]
    difference = conditions.paired(simulated, runs)
    failed = conditions.paired_faults(difference, simulated, runs)
    return link, variant, *_cells(simulated, kernel, (difference.goodput, difference.rtt), failed)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The running kernel beside the simulator.")
    parser.add_argument("pages", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--kernel-cc", action="store_true", help="the variants that `ackclock kernel-cc load` loads")
    parser.add_argument("--conditions", action="store_true", help="losses, reordering, HyStart's edge, a token bucket")
    parser.add_argument("--only", action="append", metavar="LINK[/VARIANT]", help="measure only these rows")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="file of valid transfers")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent transfers")
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="start no transfer after this time")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    if options.kernel_cc and all(map(missing, KERNEL_CC)):
        sys.stderr.write("skipped: `ackclock kernel-cc load` has loaded nothing\n")
        return 0
    if options.conditions:
        return _conditions(options)
    about, variants = (ABOUT_KERNEL_CC, KERNEL_CC) if options.kernel_cc else (ABOUT, VARIANTS)
    every = [(link, variant) for link in LINKS for variant in variants if not missing(variant)]
    store = TransferStore(options.kept)
    selected = [row for row in every if not options.only or row[0] in options.only or "/".join(row) in options.only]
    measure(store, selected, options.jobs, time.monotonic() + 60.0 * options.minutes)
    if not options.pages and options.only:
        return 0
    old = {page: page.read_text(encoding="utf-8") if page.exists() else "" for page in options.pages}
    text = part(about, variants, store, next(iter(old.values()), ""))
    if not old:
        print(text)
    for page, above in old.items():
        page.write_text(with_part(above, text), encoding="utf-8")
    return 0


def _conditions(options: argparse.Namespace) -> int:
    every = [(link, variant) for link in conditions.CONDITIONS for variant in conditions.variants_of(link)]
    selected = [row for row in every if not options.only or row[0] in options.only or "/".join(row) in options.only]
    store = TransferStore(options.kept)
    until = time.monotonic() + 60.0 * options.minutes
    measure(store, [row for row in selected if not missing(row[1])], options.jobs, until, conditions.SEEDS)
    if not options.pages and options.only:
        return 0
    text = conditions_part(store)
    if not options.pages:
        print(text)
    for page in options.pages:
        page.write_text(with_part(page.read_text(encoding="utf-8") if page.exists() else "", text), encoding="utf-8")
    return 0


def with_part(page: str, new: str) -> str:
    """The page with one of its tables replaced. The other tables and the text below them stay."""
    above, below, causes = page.partition(BELOW)
    above, side, third = above.partition(SIDE)
    first, middle, second = above.partition(MIDDLE)
    second, third = middle + second, side + third
    if new.startswith(MIDDLE):
        second = new
    elif new.startswith(SIDE):
        third = new
    else:
        first = new
    return "\n".join(text.rstrip() + "\n" for text in (first, second, third, below + causes) if text.strip())


if __name__ == "__main__":
    sys.exit(main())
