"""`python -m studies.fit.from_measure [FILE]`: links that are measured through the emulator and
fitted, and what the fits predict, as Markdown. `make fit-measure` writes it to docs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import ackclock
from ackclock.documents.fit import FittedParameter
from ackclock.input.toml_writer import to_toml
from ackclock.storage.run_kind import MEASURE
from studies.fit.links import TrueLink, links
from studies.fit.page import percent, quantile
from studies.fit.predictions import FULL, HELD_OUT, Cell, outcome
from studies.kernel.runs import Unmeasured
from studies.measurement.emulated_path import measured
from studies.outcome_files import keep, kept, write_page

SEED, COUNT = 611, 8
RATES = (0.5e6, 20e6)
"""Downlinks that are measured, in bit/s: slow ones take long, and fast ones load two processors."""
TESTS, TEST = "delay,capacity,latency", "5 s"
LIMIT_S = 600.0
"""Maximum duration of a measurement: one of 57 to 94 s on an idle machine lasts 147 s at a load of
15 on two processors: programs start late, and the search for the capacity makes more trials."""


@dataclass(frozen=True)
class MeasuredFit:
    """A link with the fit to its measurement, and its predictions."""

    number: int
    kind: str
    seconds: float
    failed: str = ""
    parameters: list[FittedParameter] = field(default_factory=list)
    truth: dict[str, float] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)

    def kept(self) -> dict[str, Any]:
        """As JSON; `restored` reverts it."""
        return asdict(self)

    @staticmethod
    def restored(kept: dict[str, Any]) -> MeasuredFit:
        """What was kept."""
        return MeasuredFit(**{**kept, "cells": [Cell(**cell) for cell in kept["cells"]]})

    def coverage(self) -> Iterator[tuple[str, bool]]:
        """The path of each identified parameter of known truth, and whether its interval has it."""
        for row in self.parameters:
            path = row["path"].removeprefix("hop.access.")
            if row["status"] == "identified" and path in self.truth:
                yield path, row["lo"] <= self.truth[path] <= row["hi"]


def drawn(count: int = COUNT, seed: int = SEED) -> list[TrueLink]:
    """The first links of the seed within `RATES`, without cross traffic."""

    def rate(link: TrueLink) -> float:
        return link.truth.get("rate.down", 10e6)

    found = (link for link in links(1000, seed) if RATES[0] <= rate(link) <= RATES[1] and not link.cross)
    return list(islice(found, count))


def fitted(link: TrueLink) -> MeasuredFit:
    """Measure a link through the emulator, fit the measurement, and predict."""
    started = time.monotonic()
    text = to_toml({"title": link.name, "source": "test", "hop": link.hops})
    try:
        document = measured(text, "--tests", TESTS, "--duration", TEST, seconds=LIMIT_S)
    except (Unmeasured, AssertionError) as why:
        # A busy machine: the emulation was not valid, or the session ended early.
        last = str(why).strip().splitlines()[-1]
        return MeasuredFit(link.number, link.kind, time.monotonic() - started, last)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / MEASURE.document).write_text(json.dumps(document), "utf-8")
        fit = ackclock.fit(folder, score=False)
    cells = []
    for held_out in HELD_OUT:
        truth = outcome(link.hops, (), *held_out)
        predicted = outcome(fit.document["link"]["hop"], (), *held_out)
        errors = predicted.goodput_bps / truth.goodput_bps - 1, predicted.rtt_p95_ms / truth.rtt_p95_ms - 1
        cells.append(Cell(*held_out, *errors, float("nan"), float("nan"), is_full=truth.utilization >= FULL))
    parameters = fit.document["parameters"]
    return MeasuredFit(link.number, link.kind, time.monotonic() - started, "", parameters, link.truth, cells)


def _unmeasured(done: Sequence[MeasuredFit]) -> str:
    """A sentence on the links that could not be measured, with the reasons; empty without any."""
    failed = [f"link {link.number} ({link.kind}): {link.failed}" for link in done if link.failed]
    return f"{len(failed)} of them could not be measured ({'; '.join(failed)}). " if failed else ""


def page(done: Sequence[MeasuredFit]) -> str:
    """The page."""
    fits = [link for link in done if not link.failed]
    cells = [cell for link in fits for cell in link.cells]
    covered = [(link, path, covers) for link in fits for path, covers in link.coverage()]
    about = (
        f"Written by `make fit-measure` ([from_measure.py](../../studies/fit/from_measure.py)): {len(done)} links of seed {SEED} "
        f"with downlinks of {RATES[0] / 1e6:g} to {RATES[1] / 1e6:g} Mb/s, emulated in real time and measured by the tests "
        f"`{TESTS}` of {TEST} each, without captures. {_unmeasured(done)}"
        "`ackclock fit FOLDER` predicts reno, bbr and vegas downloads with socket buffers of 64 KiB and automatic ones, "
        "and an upload; truth and prediction are means of 10 seeds. The target is a median error of 7 % of the goodput."
    )
    groups: dict[str, Sequence[Cell]] = {
        "all": cells,
        "below 95 % use": [cell for cell in cells if not cell.is_full],
        "download": [cell for cell in cells if cell.direction == "down"],
        "upload": [cell for cell in cells if cell.direction == "up"],
        **{f"link {link.number} ({link.kind})": link.cells for link in fits},
    }
    errors: tuple[Callable[[Cell], float], ...] = (lambda one: abs(one.goodput_error), lambda one: abs(one.rtt_error))
    rows = []
    for name, group in groups.items():
        figures = [percent(quantile(map(error, group), q)) for error in errors for q in (0.5, 0.9)]
        rows.append(f"| {name} | {len(group)} | " + " | ".join(figures) + " |")
    outside = [f"link {link.number} ({link.kind}) `{path}`" for link, path, covers in covered if not covers]
    text = (
        f"Of {len(covered)} intervals of identified parameters, {len(covered) - len(outside)} contain the truth"
        f"{'; not: ' + ', '.join(outside) if outside else ''}."
    )
    return "\n".join(
        [
            "# Fits to measurements",
            "",
            *textwrap.wrap(about, 100, break_long_words=False, break_on_hyphens=False),
            "",
            "| cells | n | goodput, median | 90 % | p95 RTT, median | 90 % |",
            "|---|--:|--:|--:|--:|--:|",
            *rows,
            "",
            *textwrap.wrap(text, 100),
            "",
            "`measure` states no frames, grants and no length of loss bursts: links that have them are fitted without.",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--kept", type=Path, help="a file of JSON lines that keeps outcomes: a later call continues")
    options = parser.parse_args()
    done = {one["number"]: MeasuredFit.restored(one) for one in kept(options.kept)}
    for link in drawn():
        if link.number in done:
            continue
        found = done[link.number] = fitted(link)
        print(f"link {link.name}: {found.seconds:.0f} s {found.failed}", file=sys.stderr)
        keep(options.kept, found.kept())
    write_page(options.file, page(list(done.values())))


if __name__ == "__main__":
    main()
