"""Links measured through the emulator, fitted, and what the fits predict."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import ackclock
from ackclock.input.toml_writer import to_toml
from ackclock.storage.run_kind import MEASURE
from studies.fit.links import TrueLink, links
from studies.fit.predictions import HELD_OUT, Cell, outcome
from studies.kernel.runs import Unmeasured
from studies.measurement.emulated_path import measured

SEED, COUNT = 611, 8
RATES = (0.5e6, 20e6)
"""Downlinks that are measured, in bit/s: slow ones take long, and fast ones load two processors."""
TESTS, TEST = "delay,capacity,latency", "5 s"
LIMIT_S = 150.0


@dataclass(frozen=True)
class MeasuredFit:
    """A link with the fit to its measurement, and its predictions."""

    number: int
    kind: str
    seconds: float
    failed: str = ""
    parameters: list[dict[str, Any]] = field(default_factory=list)
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
    except Unmeasured as why:
        return MeasuredFit(link.number, link.kind, time.monotonic() - started, f"the emulation was not valid: {why}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / MEASURE.document).write_text(json.dumps(document), "utf-8")
        fit = ackclock.fit(folder, score=False)
    cells = []
    for held_out in HELD_OUT:
        truth = outcome(link.hops, (), *held_out)
        predicted = outcome(fit.document["link"]["hop"], (), *held_out)
        errors = predicted.goodput_bps / truth.goodput_bps - 1, predicted.rtt_p95_ms / truth.rtt_p95_ms - 1
        cells.append(Cell(*held_out, *errors, float("nan"), float("nan"), is_full=truth.utilization >= 0.95))
    parameters = fit.document["parameters"]
    return MeasuredFit(link.number, link.kind, time.monotonic() - started, "", parameters, link.truth, cells)
