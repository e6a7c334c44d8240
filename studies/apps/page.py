"""What people feel of ten links by real programs and by the simulator, as a Markdown page; `make
apps-accuracy` writes it.

`python -m studies.apps.page [--kept FILE] [--minutes N] [--jobs N] [FILE]`

Each run of the programs takes 61 s of real time, once for each of three seeds, and again if it was
not valid. A kept run by the present code is not repeated; the simulator always runs the present
code.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from studies.apps.links import LINKS
from studies.apps.runs import (
    SEEDS,
    SIMULATED,
    Figures,
    Medians,
    Unmeasured,
    link_digest,
    programs_digest,
    read_figures,
    real,
    simulated,
)
from studies.outcome_files import begun_within, keep, kept, write_page
from tests.support.namespaces import namespaces

MOS, LOAD, LATE = 0.2, 0.10, 0.03
"""Tolerances: of the MOS, of a load time as a share, of the late share."""
TOP = """# Calls, pages and games of real programs against the simulator

Written by `make apps-accuracy`. A [household](../models/applications.md#household) on ten links: a call, a game, and the page
`light` each 10 s, beside a download and an upload from 10 s on. The programs run over the TCP and UDP of
Linux {release} in `ackclock emulate LINK --beside household`; the simulator's run has the same link,
`host = "linux-6"`, CUBIC, and this machine's `tcp_rmem` and `tcp_wmem`. Both have the same scores
([scores](../models/scores.md)): functions of what arrived and when, for which the programs take the kernel's
timestamps.

Figures are medians, with the range of the runs in brackets: of the programs over up to {seeds} runs, of the simulator over
{simulated} seeds; of pages, over the five loads of each run beside the transfers. A run is valid if the emulation's [grade](../reference/emulate.md) is exact or
usable, each program did at most 1 % of its work, or one thing, later than 1 ms, and the hypervisor gave at most 2 % of the
CPU time to others. The tolerances are a MOS of {mos}, {load:.0f} % of a load time, and {late:.0f} points of the
share of a game's answers that are late. Of load times the 95 % interval of the difference of the medians is in brackets
(bootstrap over the runs); *spread* is a difference beyond the tolerance whose interval contains zero.

"""
RESAMPLES = 2000
HEAD = (
    "link", "call MOS, programs", "simulator", "", "page alone, s, programs", "simulator", "",
    "page beside, s, programs", "simulator", "", "game late, programs", "simulator", "",
    "download, Mb/s", "simulator", "upload, Mb/s", "simulator", "runs",
)  # fmt: skip
CONDITIONS = ("link", "seed", "grade", "p99 of lateness, ms", "load", "steal, %", "date")


def _spread(values: Sequence[float], form: str, middle: float) -> str:
    """The median, with the range of the runs where it differs as text."""
    shown = [format(value, form) for value in (middle, min(values), max(values))]
    return shown[0] if len(set(shown)) == 1 else f"{shown[0]} ({shown[1]} to {shown[2]})"


def _verdict(holds: bool, difference: str) -> str:
    return difference if holds else f"**{difference}**"


def _ratio(found: float, truth: float) -> float:
    return 1.0 if found == truth else found / truth


@dataclass(frozen=True)
class LoadTimes:
    """A median of load times on both sides: its difference as text, and the verdict on it."""

    verdict: Literal["holds", "spread", "misses"]
    difference: str

    @property
    def cell(self) -> str:
        if self.verdict == "spread":
            return f"{self.difference} *spread*"
        return _verdict(self.verdict == "holds", self.difference)


def load_times(figure: str, programs: Sequence[Figures], simulator: Sequence[Figures]) -> LoadTimes:
    """Compare the medians of a figure.

    Runs are resampled whole, since loads of one run depend on each other.
    """

    def median(runs: Sequence[Figures]) -> float:
        return float(getattr(Medians.of(runs), figure))

    found, truth = median(simulator), median(programs)
    if math.isinf(found) or math.isinf(truth):
        both = found == truth
        return LoadTimes("holds" if both else "misses", "both incomplete" if both else "one incomplete")
    draws = random.Random(figure)
    ratios = sorted(
        _ratio(median(draws.choices(simulator, k=len(simulator))), median(draws.choices(programs, k=len(programs))))
        for _ in range(RESAMPLES)
    )
    low, high = (ratios[round(share * (RESAMPLES - 1))] - 1 for share in (0.025, 0.975))
    share = found / truth - 1
    holds, spread = abs(share) <= LOAD, low <= 0 <= high
    bounds = ", ".join("more" if not math.isfinite(bound) else f"{100 * bound:+.0f}" for bound in (low, high))
    return LoadTimes("holds" if holds else "spread" if spread else "misses", f"{100 * share:+.0f} % ({bounds})")


def row(name: str, runs: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """The cells of a link, and the verdicts on its claims: call, page alone, page beside, game."""
    programs = [read_figures(run) for run in runs]
    simulator = simulated(name)
    a, b = Medians.of(programs), Medians.of(simulator)
    call = abs(b.call_mos - a.call_mos) <= MOS
    game = abs(b.game_late - a.game_late) <= LATE
    alone, beside = (load_times(figure, programs, simulator) for figure in ("page_alone", "page_beside"))

    def both(figure: str, form: str, scale: float = 1.0) -> list[str]:
        return [
            _spread([scale * getattr(run, figure) for run in side], form, scale * getattr(middle, figure))
            for side, middle in ((programs, a), (simulator, b))
        ]

    def loads() -> list[str]:
        sides = ((programs, a), (simulator, b))
        return [
            _spread([load for run in side for load in run.pages_beside], ".2f", middle.page_beside)
            for side, middle in sides
        ]

    cells = [
        name,
        *both("call_mos", ".2f"), _verdict(call, f"{b.call_mos - a.call_mos:+.2f}"),
        *both("page_alone", ".2f"), alone.cell,
        *loads(), beside.cell,
        *both("game_late", ".1f", 100), _verdict(game, f"{100 * (b.game_late - a.game_late):+.1f}"),
        *both("down", ".1f", 1e-6), *both("up", ".2f", 1e-6),
        str(len(runs)),
    ]  # fmt: skip
    words = ["holds" if holds else "misses" for holds in (call, game)]
    return cells, [words[0], alone.verdict, beside.verdict, words[1]]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _claim(name: str, verdicts: Sequence[str]) -> str:
    spread = verdicts.count("spread")
    return f"{name} {verdicts.count('holds')} of {len(verdicts)}" + (f" ({spread} more by spread)" if spread else "")


def page(runs: Sequence[Mapping[str, Any]], below: str) -> str:
    """The page of these runs; `below` is kept."""
    by_link = {name: [run for run in runs if run["link"] == name] for name in LINKS}
    measured = {name: row(name, of) for name, of in by_link.items() if of}
    verdicts = [[of[i] for _, of in measured.values()] for i in range(4)]
    names = ("call", "page alone", "page beside", "game")
    claims = ", ".join(_claim(name, of) for name, of in zip(names, verdicts, strict=True))
    missing = [name for name in LINKS if name not in measured]
    not_measured = f" Not measured: {', '.join(missing)}." if missing else ""
    release = max(run["kernel"] for run in runs) if runs else "-"
    top = TOP.format(
        release=release, seeds=len(SEEDS), simulated=len(SIMULATED), mos=MOS, load=100 * LOAD, late=100 * LATE
    )
    conditions = [
        [run["link"], str(run["seed"]), run["grade"], f"{run['late_ms']:.2f}", f"{run['load']:.1f}",
         f"{run['steal_percent']:.1f}", run["date"]]
        for run in runs
    ]  # fmt: skip
    return "".join((
        top,
        f"Within the tolerances: {claims}.{not_measured} Bold: a miss.\n\n",
        table(HEAD, [cells for cells, _ in measured.values()]),
        "\n",
        below,
        "## The runs\n\n",
        table(CONDITIONS, conditions),
    ))  # fmt: skip


def written_by_hand(path: Path | None) -> str:
    """The sections of the page between the table and the runs, which a new page keeps."""
    text = path.read_text("utf-8") if path and path.is_file() else ""
    begin = text.find("\n## ")
    end = text.find("\n## The runs\n")
    return text[begin + 1 : end + 1 if end >= 0 else None] if begin >= 0 else ""


def measured(
    runs: Sequence[dict[str, Any]], minutes: float | None, jobs: int, path: Path | None
) -> Iterator[dict[str, Any]]:
    """The kept runs by the present code, and those that are missing, within the time. Seeds in the
    outer loop: each link has one run early.
    """
    code = programs_digest()
    wanted = [(name, seed) for seed in SEEDS for name in LINKS]
    digests = {name: link_digest(name) for name in LINKS}
    valid = {
        (run["link"], run["seed"]): run
        for run in runs
        if run["code"] == code and digests.get(run["link"]) == run["link_digest"]
    }
    yield from valid.values()

    missing = begun_within(minutes, (at for at in wanted if at not in valid))
    lock = Lock()

    def worker() -> list[dict[str, Any]]:
        done: list[dict[str, Any]] = []
        while True:
            with lock:
                at = next(missing, None)
            if at is None:
                return done
            try:
                run = real(*at)
            except Unmeasured as error:
                sys.stderr.write(f"{at[0]}, seed {at[1]}: no valid run: {error}\n")
                continue
            with lock:
                keep(path, run)
            done.append(run)

    with ThreadPoolExecutor(jobs) as pool:
        for worked in [pool.submit(worker) for _ in range(jobs)]:
            yield from worked.result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    runs = sorted(
        measured(kept(arguments.kept), arguments.minutes, arguments.jobs, arguments.kept),
        key=lambda run: (list(LINKS).index(run["link"]), run["seed"]),
    )
    write_page(arguments.file, page(runs, written_by_hand(arguments.file)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
