"""Linux in virtual time beside the simulator: `make virtual-kernel` writes table.csv, misses.toml
and a page.

`python -m studies.virtual_kernel.page [--simulator] [FILE]`

Without --simulator it builds the kernel if it is not there (build.py) and runs what the table
lacks: about 6 s of CPU for each minute of a row. --kept FILE stores each run at once, --minutes
starts no run after this time, so the table can be measured in parts; --only ROW takes rows whose
name begins so, --again runs them although the table has them, --repeat N runs N of the table's rows
once more and notes whether the bytes were the same (repeats.csv).

With --simulator the kernel is not needed: the present simulator is compared with the table, and
misses.toml and the page are renewed, in a minute.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

from ackclock.format import date_of
from studies.outcome_files import keep, kept, write_page
from studies.virtual_kernel import compare, draws, guest, table
from studies.virtual_kernel.build import HZ, Kernel, Unavailable, build
from studies.virtual_kernel.compare import Comparison, Figure
from studies.virtual_kernel.runs import Outcome, simulated, virtual_kernel
from studies.virtual_kernel.setups import PHASE_MS, Row, rows
from studies.virtual_kernel.table import Measured, script_digest

REPEATS = Path(__file__).with_name("repeats.csv")
HEADINGS = (
    *("transfer", "goodput kernel, Mb/s", "simulator", "median RTT kernel, ms", "simulator"),
    *("95 % RTT kernel, ms", "simulator", "retransmissions kernel", "simulator", "drops", "marks", "verdict"),
)
ABOUT = """# Linux in virtual time beside the simulator

Written by `make virtual-kernel`. Linux {versions}, built from Debian's source package as user-mode
Linux with a tick of {hz} Hz, runs in virtual time: its clock moves from event to event, so a run does
not depend on the load of the machine, and gives the same bytes each time. Two hosts and two routers
are network namespaces of one virtual machine; sender, receiver and queueing disciplines are the
kernel's. What it did is committed ([table.csv](../../studies/virtual_kernel/table.csv)), and `make test`
compares the present simulator with it.

{summary}

| | |
|---|---|
| goodput | payload received in {seconds:.0f} s from the SYN on; of a transfer with a size, until its last byte |
| RTT | of the ACKs at the sender's interface, by Karn's rule, of the last segment that each acknowledges |
| holds | goodput within {goodput:.0%}, median and 95th percentile of the RTT within {rtt:.0%} or {rtt_ms:.0f} ms, retransmissions within {retransmitted:.0%} or {segments:.0f} |
| spread | beyond a tolerance, but zero is in the 95 % interval of the difference of the means |
| drops, marks | of the kernel's queue or policer, ACKs that a filter removes included |

The figures are means of the runs. Rows that draw random numbers (bbr, random loss, reordering, red,
pie) have a run for each seed. Of random loss both sides lose the same packet numbers: netem's draws
depend only on its seed and the packet's number, and the simulator gets them as a list; intervals are
those of paired differences. The other rows have three runs whose delay differs by {phase:.2f} ms, on
both sides: it moves the phase of queue and ACKs, on which the drops at each overflow depend. The
simulator's bbr draws its first phase from the instant, so its flows start {phase:.2f} ms later with
each seed.

The link file is that of the row, the host `linux-6`, with what differs in this guest:

| setting of the simulator | why |
|---|---|
| `rto_tick` {tick:g} ms, not 4 | the guest's HZ; Westwood+'s bandwidth depends on it |
| `processing_jitter` off | CPU time is free in virtual time: over the 4 BDP queue reno's ACKs come at multiples of 1.2 ms, the serialisation, within 1 us (99th percentile); `linux-6` takes 14 us at the median |
| `phase_jitter` off | the guest's starts and sending hosts have no random delays, either; with them two of bbr's flows, or bbr beside cubic, lose up to a fifth less and share otherwise |
| clients with cubic | the guest's clients have the default control, so that the ACKs of a dctcp flow echo CE as RFC 3168 says (ECE until CWR), not as dctcp's receiver |

Without these settings, with the same simulator, 102 rows hold, 34 differ by no more than their seeds
and 30 miss (2026-11-26). The receive buffer is that of Linux 6.16 and later, although 6.12 is
older: its `receive_growth = "lead"` counts no packet memory here and agrees less (16 ACKs of single
segments at the start, the kernel's 24, with 6.16's 22).

{repeats}
"""
LIMITS = """## What it does not judge

Virtual time has no load, one CPU and no network cards: nothing here is said about TSO, GRO,
interrupt moderation or scheduling. The hosts have GSO on and TSO off: TCP makes super-segments, which
the device cuts into packets. prague, bbr3 and dualpi2 are not in this kernel, media with frames are
in none. [The running kernel over emulated links](kernel-vs-simulator.md) is the other judge.

Another compiler makes another program, which draws other random numbers, and another version of bash,
ip or tc reads the clock more or less often, which moves a run by microseconds: the figures of rows
without random numbers stay within a few segments, their bytes do not.

## A script in real time

`make uml RUN=SCRIPT` boots Debian's user-mode Linux in some seconds and runs the script as root:
recipes of tc, ip and sysctl, and what undoes them, without a risk for the machine.

```sh
make uml RUN='tc qdisc add dev lo root cake bandwidth 10mbit; tc qdisc show dev lo'
```
"""


def missing(measured: Iterable[Measured], wanted: Iterable[Row], draw: draws.Draws) -> list[tuple[Row, int]]:
    """Rows and seeds that the table lacks: the first seed of each row, then the others."""
    have = {run.key for run in measured}
    wanting = [(row, seed) for row in wanted for seed in row.seeds]
    wanting.sort(key=lambda job: job[1])
    return [(row, seed) for row, seed in wanting if (row.name, seed, script_digest(row, seed, draw)) not in have]


def measure(
    kernel: Kernel, jobs: Sequence[tuple[Row, int]], draw: draws.Draws, options: argparse.Namespace
) -> list[Measured]:
    """Run the jobs, options.jobs at a time; a run that fails is reported and left out."""

    started = time.monotonic()

    def one(job: tuple[Row, int]) -> Measured | None:
        row, seed = job
        began = time.monotonic()
        if began - started > 60 * options.minutes:
            return None
        try:
            outcome = virtual_kernel(kernel, row, seed, draw)
        except guest.Failed as why:
            sys.stderr.write(f"{row.name}, seed {seed}: failed: {why}\n")
            return None
        run = Measured(
            row=row.name,
            seed=seed,
            script=script_digest(row, seed, draw),
            version=kernel.version,
            configuration=kernel.configuration,
            build=kernel.build,
            code=guest.source_digest(),
            date=date_of(time.time()),
            outcome=outcome,
        )
        for line in table.as_lines(run):
            keep(options.kept, line)
        flows = ", ".join(f"{flow.goodput_bps / 1e6:.3f} Mb/s" for flow in outcome.flows)
        sys.stderr.write(f"{row.name}, seed {seed}: {flows} in {time.monotonic() - began:.0f} s\n")
        return run

    with ThreadPoolExecutor(options.jobs) as pool:
        return [run for run in pool.map(one, jobs) if run is not None]


def simulate_all(wanted: Sequence[Row], draw: draws.Draws) -> dict[tuple[str, int], Outcome]:
    """The simulator's outcomes by row and seed."""
    jobs = [(row, seed) for row in wanted if row.path.missing is None for seed in row.seeds]
    with ProcessPoolExecutor() as pool:
        outcomes = pool.map(simulated, *zip(*jobs, strict=True), [draw] * len(jobs), chunksize=8)
        return {(row.name, seed): outcome for (row, seed), outcome in zip(jobs, outcomes, strict=True)}


def measured_rows(measured: Iterable[Measured], draw: draws.Draws) -> Iterator[tuple[Row, list[Measured]]]:
    """Rows of which the table has runs by the present script, with these runs, by seed."""
    runs = {run.key: run for run in measured}
    for row in rows():
        keys = [(row.name, seed, script_digest(row, seed, draw)) for seed in row.seeds]
        if found := [runs[key] for key in keys if key in runs]:
            yield row, found


def comparisons(
    measured: Iterable[Measured], draw: draws.Draws, simulator: Mapping[tuple[str, int], Outcome]
) -> Iterator[tuple[Row, list[Measured], Comparison | None]]:
    """Each measured row with its comparison; None if the link file cannot say it."""
    for row, runs in measured_rows(measured, draw):
        kernel = [run.outcome for run in runs]
        same = [simulator[row.name, run.seed] for run in runs if (row.name, run.seed) in simulator]
        yield row, runs, compare.compare(row, kernel, same) if same else None


def causes(compared: Iterable[tuple[Row, list[Measured], Comparison | None]]) -> dict[str, str]:
    """misses.toml renewed: the rows that miss, with the cause known so far."""
    known = compare.known_misses()
    return {
        row.name: row.path.missing or known.get(row.name, compare.UNTRACED)
        for row, _, comparison in compared
        if comparison is None or comparison.verdict == "misses"
    }


def _cell(figures: Sequence[Figure], at: int) -> list[str]:
    figure = figures[at]
    if figure.name == "goodput":
        return [f"{figure.kernel / 1e6:.3f}", f"{figure.simulator / 1e6:.3f}"]
    form = ".0f" if figure.name == "retransmissions" else ".1f"
    return [format(figure.kernel, form), format(figure.simulator, form)]


def _kernel_only(row: Row, runs: Sequence[Measured]) -> list[list[str]]:
    flows = zip(*(run.outcome.flows for run in runs), strict=True)
    lines = []
    for flow in flows:
        means = [statistics.fmean(getattr(one, name) for one in flow) for name in
                 ("goodput_bps", "rtt_p50_ms", "rtt_p95_ms", "retransmitted")]  # fmt: skip
        shown = (f"{means[0] / 1e6:.3f}", f"{means[1]:.1f}", f"{means[2]:.1f}", f"{means[3]:.0f}")
        lines.append([cell for value in shown for cell in (value, "")])
    return lines


def _name(row: Row, at: int) -> str:
    flow = row.flows[at]
    size = "" if flow.bytes is None else f", {flow.bytes // 1000} kB"
    others = [other.variant for number, other in enumerate(row.flows) if number != at]
    beside = f" beside {others[0]}" if others else ""
    return f"{flow.variant}{beside}{', 80 ms' if flow.client == 'D' else ''}{size}"


def path_tables(compared: Sequence[tuple[Row, list[Measured], Comparison | None]]) -> Iterator[str]:
    """A section for each path."""
    paths = list(dict.fromkeys(row.path.name for row, _, _ in compared))
    for name in paths:
        of_path = [one for one in compared if one[0].path.name == name]
        yield f"### {name}\n\n{of_path[0][0].path.title}.\n"
        yield "| " + " | ".join(HEADINGS) + " |\n|" + "---|" * len(HEADINGS)
        for row, runs, comparison in of_path:
            outcomes = [run.outcome for run in runs]
            counts = [f"{statistics.fmean(getattr(one, what) for one in outcomes):.0f}" for what in ("drops", "marks")]
            kernel_only = _kernel_only(row, runs)
            for at in range(len(row.flows)):
                if comparison is None:
                    cells, verdict = kernel_only[at], "not simulated"
                else:
                    cells = [cell for which in range(4) for cell in _cell(comparison.flows[at], which)]
                    words = [figure.name for figure in comparison.flows[at] if figure.verdict == "misses"]
                    spread = any(figure.verdict == "spread" for figure in comparison.flows[at])
                    verdict = "misses: " + ", ".join(words) if words else "spread" if spread else "holds"
                if len(runs) < len(row.seeds):
                    verdict += f" ({len(runs)} of {len(row.seeds)} seeds)"
                yield "| " + " | ".join([_name(row, at), *cells, *(counts if at == 0 else ["", ""]), verdict]) + " |"
        yield ""


def summary(compared: Sequence[tuple[Row, list[Measured], Comparison | None]], known: Mapping[str, str]) -> str:
    words = ["misses" if one is None else one.verdict for _, _, one in compared]
    lines = [
        f"Of {len(words)} rows {words.count('holds')} hold, {words.count('spread')} differ by no more than their "
        f"seeds, {words.count('misses')} miss.",
        "",
        "| cause | rows |",
        "|---|---|",
    ]
    by_cause: dict[str, list[str]] = {}
    for row, _, one in compared:
        if row.name in known:
            what = "" if one is None else f" ({', '.join(one.missed)})"
            by_cause.setdefault(known[row.name], []).append(f"{row.name}{what}")
    lines += [
        f"| {cause} | {'; '.join(names)} |" for cause, names in sorted(by_cause.items(), key=lambda c: -len(c[1]))
    ]
    return "\n".join(lines)


def repeats_line() -> str:
    if not REPEATS.exists():
        return "No run has been repeated yet."
    with REPEATS.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    same = sum(line["same"] == "yes" for line in lines)
    days = sorted({line["date"] for line in lines})
    return (
        f"{len(lines)} runs were repeated ({' to '.join(dict.fromkeys((days[0], days[-1])))}); {same} of them gave the "
        "same bytes: every RTT, every sample of TCP_INFO, the counters of TCP and of the queues."
    )


def repeat(kernel: Kernel, measured: Sequence[Measured], count: int, draw: draws.Draws) -> None:
    """Run rows of the table, evenly spread over it, once more."""
    present = [(row, run) for row, runs in measured_rows(measured, draw) for run in runs]
    fresh = [(row, run) for row, run in present if (run.build, run.code) == (kernel.build, guest.source_digest())]
    chosen = fresh[:: max(1, len(fresh) // count)][:count]
    lines = []
    for row, run in chosen:
        again = virtual_kernel(kernel, row, run.seed, draw)
        lines.append((row.name, run.seed, date_of(time.time()), "yes" if again == run.outcome else "no"))
        sys.stderr.write(f"{row.name}, seed {run.seed}: the same bytes: {lines[-1][-1]}\n")
    with REPEATS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("row", "seed", "date", "same"), *lines])


def page(compared: Sequence[tuple[Row, list[Measured], Comparison | None]], known: Mapping[str, str]) -> str:
    versions = sorted({run.version for _, runs, _ in compared for run in runs})
    dates = sorted({run.date for _, runs, _ in compared for run in runs})
    about = ABOUT.format(
        versions=" and ".join(versions),
        hz=HZ,
        summary=f"The kernel ran {' to '.join(dict.fromkeys((dates[0], dates[-1])))}. " + summary(compared, known),
        seconds=60,
        goodput=compare.GOODPUT,
        rtt=compare.RTT,
        rtt_ms=compare.RTT_MS,
        retransmitted=compare.RETRANSMITTED,
        segments=compare.SEGMENTS,
        repeats=repeats_line(),
        phase=PHASE_MS,
        tick=1000 / HZ,
    )
    return "\n".join([about, LIMITS, "## The rows\n", *path_tables(compared)]).rstrip() + "\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Linux in virtual time beside the simulator.")
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    parser.add_argument("--simulator", action="store_true", help="run only the simulator")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="file of runs, as lines of JSON")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no run after this time")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent runs of the kernel")
    parser.add_argument("--only", action="append", metavar="ROW", help="run only rows whose name begins so")
    parser.add_argument("--again", action="store_true", help="run rows although the table has them")
    parser.add_argument("--repeat", type=int, default=0, metavar="N", help="run N rows once more, compare the bytes")
    return parser.parse_args()


def run_kernel(options: argparse.Namespace) -> None:
    """Extend the table. Raises Unavailable."""
    guest.programs()
    kernel = build()
    draw = draws.read() if draws.FILE.exists() else draws.write(kernel)
    runs = {run.key: run for run in [*table.read(), *table.of_lines(kept(options.kept))]}
    wanted = [row for row in rows() if not options.only or row.name.startswith(tuple(options.only))]
    jobs = missing([] if options.again else runs.values(), wanted, draw)
    runs |= {run.key: run for run in measure(kernel, jobs, draw, options)}
    order = {row.name: at for at, row in enumerate(rows())}
    present = [run for row, found in measured_rows(runs.values(), draw) for run in found]
    table.write(sorted(present, key=lambda run: (order[run.row], run.seed)))
    if options.repeat:
        repeat(kernel, present, options.repeat, draw)


def main() -> int:
    options = arguments()
    if not options.simulator:
        try:
            run_kernel(options)
        except Unavailable as why:
            sys.stderr.write(f"virtual-kernel: skipped: {why}\n")
            return 0
    draw, measured = draws.read(), table.read()
    found = [row for row, _ in measured_rows(measured, draw)]
    compared = list(comparisons(measured, draw, simulate_all(found, draw)))
    known = causes(compared)
    compare.write_misses(known)
    write_page(options.file, page(compared, known))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
