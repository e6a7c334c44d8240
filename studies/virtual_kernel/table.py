"""The committed table of what the kernel did: table.csv, a line for each row, seed and flow.

A line is of the kernel's version and configuration, and of the digest of its script; a line whose
script has changed since is not read.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from studies.virtual_kernel.draws import Draws
from studies.virtual_kernel.runs import Figures, Outcome, netem_seed
from studies.virtual_kernel.setups import Row

FILE = Path(__file__).with_name("table.csv")


@dataclass(frozen=True)
class Measured:
    """One run of the kernel, with the digests of its script, of the kernel's configuration and
    program, and of the guest's programs."""

    row: str
    seed: int
    script: str
    version: str
    configuration: str
    build: str
    code: str
    date: str
    outcome: Outcome

    @property
    def key(self) -> tuple[str, int, str]:
        return (self.row, self.seed, self.script)


def script_digest(row: Row, seed: int, draws: Draws) -> str:
    return hashlib.sha256(row.script(seed, netem_seed(row, seed, draws)).encode()).hexdigest()[:12]


def as_lines(run: Measured) -> list[dict[str, Any]]:
    """The table's lines of a run, one for each flow; the run's own columns are on each."""
    shared = {field.name: getattr(run, field.name) for field in fields(run) if field.name != "outcome"}
    counts = {"drops": run.outcome.drops, "marks": run.outcome.marks, "digest": run.outcome.digest}
    return [{**shared, "flow": at, **asdict(flow), **counts} for at, flow in enumerate(run.outcome.flows, 1)]


def of_lines(lines: Iterable[Mapping[str, Any]]) -> list[Measured]:
    """The runs of `as_lines`."""
    runs: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for line in lines:
        runs.setdefault((line["row"], str(line["seed"]), line["script"]), []).append(line)
    return [_run(lines) for lines in runs.values()]


def _run(lines: list[Mapping[str, Any]]) -> Measured:
    first = lines[0]
    flows = tuple(
        Figures(
            float(line["goodput_bps"]),
            float(line["rtt_p50_ms"]),
            float(line["rtt_p95_ms"]),
            float(line["rtt_mean_ms"]),
            int(line["retransmitted"]),
            int(line["segments"]),
        )
        for line in lines
    )
    outcome = Outcome(flows, int(first["drops"]), int(first["marks"]), first["digest"])
    text = {name: first[name] for name in ("row", "script", "version", "configuration", "build", "code", "date")}
    return Measured(**text, seed=int(first["seed"]), outcome=outcome)


def read(path: Path = FILE) -> list[Measured]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return of_lines(csv.DictReader(file))


def write(runs: Iterable[Measured], path: Path = FILE) -> None:
    lines = [line for run in runs for line in as_lines(run)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
