"""A household on a link by its real programs, and by the simulator, with the same figures."""

from __future__ import annotations

import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ackclock
from ackclock.format import date_of
from ackclock.input.document import read_document
from ackclock.input.toml_writer import to_toml
from ackclock.simulation.household import FILE, FIRST_PAGE
from studies.apps.links import link_of
from studies.emulator.code_digest import ROOT, emulator_digest
from studies.kernel.runs import STEAL_PERCENT, host_keys, release

SEEDS = (1, 2, 3)
SIMULATED = tuple(range(1, 31))
"""Seeds of the simulator: a load beside transfers differs by half from the next one."""
ATTEMPTS = 3
HOSTS: Mapping[str, Any] = {"processing_jitter": False, "gro": False}
"""The hosts' interfaces have no GRO; the processing times are the machine's own."""
PROGRAMS = ("programs/src", "core/src/app", "core/src/score")


class Unmeasured(Exception):
    """No run was valid."""


@dataclass(frozen=True)
class Figures:
    """Of one run. A page that was not complete has an infinite load time; a load is in s, a share
    is a fraction, a rate is in bit/s.
    """

    call_mos: float
    game_late: float
    page_alone: float
    pages_beside: tuple[float, ...]
    down: float
    up: float


def programs_digest() -> str:
    """Digest of the code of the kernel's side: the emulator, the programs, their scores, and the
    household.
    """
    files = sorted(path for folder in PROGRAMS for path in (ROOT / folder).rglob("*.rs"))
    digest = hashlib.sha256(emulator_digest().encode() + FILE.read_bytes())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def link_digest(name: str) -> str:
    """Identifies the link of a stored run."""
    return hashlib.sha256(to_toml(link_of(name)).encode()).hexdigest()[:16]


def figures_of(flows: Iterable[Mapping[str, Any]]) -> Figures:
    """The figures of a run's flows, or of the rows of its programs."""
    flows = list(flows)
    scores = {flow["flow"]: flow["app"]["score"] for flow in flows if "app" in flow}
    goodput = {flow["flow"]: flow["goodput_bps"] or 0.0 for flow in flows}
    loads = {
        name: float("inf") if score["load_s"] is None else score["load_s"]
        for name, score in scores.items()
        if "load_s" in score
    }
    alone = loads.pop(FIRST_PAGE)
    call, game = scores["call"]["mos"]["mean"], scores["game"]["late_share"]
    return Figures(call, game, alone, tuple(loads.values()), goodput["download"], goodput["upload"])


def real(name: str, seed: int) -> dict[str, Any]:
    """One valid run of the programs over the emulated link, with its conditions.

    Repeats invalid runs. Raises Unmeasured.
    """
    why = ""
    for _ in range(ATTEMPTS):
        document = _emulate(name, seed)
        late = [row["flow"] for row in document["programs"] if not row["valid"]]
        steal = document["steal_percent"]
        if not document["valid"]:
            why = document["why"]
        elif late:
            why = f"late programs: {', '.join(late)}"
        elif steal > STEAL_PERCENT:
            why = f"{steal:.1f} % of the CPU was stolen"
        else:
            return {
                "link": name,
                "seed": seed,
                "link_digest": link_digest(name),
                "code": programs_digest(),
                "kernel": release(),
                "date": date_of(document["started"]),
                "load": document["load"],
                "steal_percent": steal,
                "grade": document["grade"],
                "late_ms": max(row["lateness"]["p99_ms"] or 0.0 for row in document["programs"] if "app" in row),
                "figures": asdict(figures_of(document["programs"])),
                "household": document["household"],
            }
        sys.stderr.write(f"{name}, seed {seed}: not valid: {why}\n")
    raise Unmeasured(why)


def _emulate(name: str, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        link = Path(scratch) / "link.toml"
        link.write_text(to_toml(link_of(name)), "utf-8")
        words = [str(link), "--beside", "household", "--seed", str(seed), "--json", "--no-log", "--no-report"]
        command = [sys.executable, "-m", "ackclock", "emulate", *words, "--out", str(Path(scratch) / "run")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def simulated(name: str, seeds: Sequence[int] = SIMULATED, **keys: Any) -> list[Figures]:
    """The simulator's figures, one per seed, with this machine's tcp_rmem and tcp_wmem, and without
    what the hosts of an emulation do not have. `keys` are keys of [tcp].
    """
    household = {key: value for key, value in read_document(FILE).data.items() if key not in ("title", "seeds")}
    scenario = {**household, **link_of(name), "tcp": {**host_keys("cubic"), **HOSTS, **keys}}
    done = ackclock.simulate(scenario, seeds=tuple(seeds))
    return [figures_of(summary["flows"]) for summary in done.summaries]


def read_figures(kept: Mapping[str, Any]) -> Figures:
    """The figures of a kept run."""
    figures = kept["figures"]
    return Figures(**{**figures, "pages_beside": tuple(figures["pages_beside"])})


@dataclass(frozen=True)
class Medians:
    """Medians over the seeds; of the pages over all loads beside the download and the upload."""

    call_mos: float
    game_late: float
    page_alone: float
    page_beside: float
    down: float
    up: float

    @classmethod
    def of(cls, runs: Sequence[Figures]) -> Medians:
        middle = statistics.median
        return cls(
            middle(run.call_mos for run in runs),
            middle(run.game_late for run in runs),
            middle(run.page_alone for run in runs),
            middle(load for run in runs for load in run.pages_beside),
            middle(run.down for run in runs),
            middle(run.up for run in runs),
        )
