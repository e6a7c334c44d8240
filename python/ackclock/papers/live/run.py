"""One live run: an emulation with both ends in it, and its results in a folder."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from ackclock.errors import RunFailed
from ackclock.input.toml_writer import to_toml
from ackclock.json_text import json_value
from ackclock.papers.live.job import Job
from ackclock.papers.live.summary import Audit, LiveSummary, StoredSummary
from ackclock.storage import atomic_files
from ackclock.storage.environment import environment
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.emulate import EmulationAudit

ATTEMPTS = 3
GRACE_S = 60.0
"""For sessions to begin, and for what they found to cross the slowest link."""
SUMMARY = "summary.json"
MAX_OUTPUT = 300
ENDED_BY_SIGTERM = 128 + signal.SIGTERM
LOOK_S = 0.5
"""Between two looks whether all is to stop."""
LATE_MS = 25.0
"""What a stream's sender may pause too long: a tenth of what wibro's smaller buffer takes to
drain.
"""


class LiveRun:
    """A run that is on disk: ``summary`` has flows, hops and the emulation's ``audit``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary: StoredSummary = read_json(folder / SUMMARY)

    @property
    def audit(self) -> Audit:
        """What the emulation says of itself."""
        return self.summary["audit"]

    @property
    def series(self) -> pl.DataFrame:
        """The senders' samples."""
        import polars as pl

        return pl.read_parquet(self.folder / "series.parquet", glob=False)


def find(store: Path, job: Job) -> LiveRun | None:
    """A run that is already there, and was valid."""
    if not (store / job.key / SUMMARY).is_file():
        return None
    found = LiveRun(store / job.key)
    return found if found.audit["valid"] else None


def run(store: Path, job: Job, stop: Event) -> LiveRun:
    """Do it, again up to three times in all while its grade is invalid, and not
    at all once ``stop`` is set. Raises RunFailed.
    """
    final = store / job.key
    shutil.rmtree(final, ignore_errors=True)
    with atomic_files.folder_by_rename(final) as folder:
        for attempt in range(1, ATTEMPTS + 1):
            shutil.rmtree(folder / "emulation", ignore_errors=True)
            audit, missing = _emulated(folder, job, stop), _missing(folder, job)
            if not missing:
                audit = _with_pauses(folder, job, audit)
            if (audit["valid"] and not missing) or attempt == ATTEMPTS:
                break
        if missing:
            raise RunFailed(f"the ends did not finish within {job.seconds + GRACE_S:.0f} s, in {ATTEMPTS} attempts")
        _keep(folder, job, audit, attempt)
    return LiveRun(final)


def _with_pauses(folder: Path, job: Job, audit: EmulationAudit) -> EmulationAudit:
    """The audit, invalid if a sender was suspended: the emulator audits the link only."""
    from ackclock.papers.live.summary import held_up_ms

    streams = [
        (folder / f"strand-{number}.json", strand["direction"])
        for number, strand in enumerate(job.strands)
        if strand["variant"] == "udp"
    ]
    worst = max((held_up_ms(read_json(path), direction) for path, direction in streams), default=0.0)
    if worst <= LATE_MS or not audit["valid"]:
        return audit
    why = f"the sender's process was suspended for {worst:.0f} ms"
    return {**audit, "valid": False, "grade": "invalid", "why": why}


def _missing(folder: Path, job: Job) -> bool:
    """Whether the results of an end are missing, as on an overloaded machine."""
    names = (
        ["walk.parquet"] if job.walk is not None else [f"strand-{number}.json" for number in range(len(job.strands))]
    )
    return not all((folder / name).is_file() for name in names)


def _emulated(folder: Path, job: Job, stop: Event) -> EmulationAudit:
    atomic_files.write_json(folder / "job.json", job.document)
    link = {
        "title": "one place of a live reproduction",
        "source": "ackclock reproduce --live",
        "hop": list(job.hops),
        **({"flow": list(job.load)} if job.load else {}),
    }
    (folder / "link.toml").write_text(to_toml(link), "utf-8")
    ends = [sys.executable, "-m", "ackclock.papers.live.ends"]
    end = {verb: [*ends, verb, str(folder.absolute())] for verb in ("server", "client")}
    limit = job.seconds + GRACE_S
    argv = [
        sys.executable,
        "-m",
        "ackclock",
        "emulate",
        str(folder / "link.toml"),
        "--json",
        "--no-report",
        "--seed",
        str(job.seed),
    ]
    argv += [
        "--seconds",
        str(limit),
        "--out",
        str(folder / "emulation"),
        "--server",
        shlex.join(end["server"]),
        "--",
        *end["client"],
    ]
    status, out, error = _until_done(argv, limit + 60.0, stop)
    # The client is ended at its time limit; without its output the run is repeated.
    if status not in (0, ENDED_BY_SIGTERM) or not out:
        statement = error.strip().splitlines() or ["it said nothing"]
        raise RunFailed(f"a live run ended with exit status {status}: {statement[-1][:MAX_OUTPUT]}")
    document: EmulationAudit = json_value(out)
    return document


def _until_done(argv: Sequence[str], limit_s: float, stop: Event) -> tuple[int, str, str]:
    """A command's exit status and output.

    On an interrupt the process ends with its namespaces, and no further one starts.
    """
    if stop.is_set():
        raise RunFailed("interrupted")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + limit_s
        while True:
            try:
                out, error = process.communicate(timeout=LOOK_S)
            except subprocess.TimeoutExpired:
                if stop.is_set() or time.monotonic() > until:
                    process.terminate()
                continue
            return process.returncode, out, error


def _keep(folder: Path, job: Job, audit: EmulationAudit, attempts: int) -> None:
    """Captures and packet fates are large, and read by now: figures, samples and the audit stay."""
    import polars as pl

    from ackclock.emulation.run import captures_in
    from ackclock.papers.live import summary

    found: LiveSummary
    if job.walk is not None:
        found = {"flows": [summary.of_walk(job.walk, pl.read_parquet(folder / "walk.parquet"))], "hops": []}
    else:
        found, series = summary.of_strands(job.document, folder, captures_in(folder / "emulation"))
        atomic_files.write_parquet(folder / "series.parquet", series)
    shutil.rmtree(folder / "emulation", ignore_errors=True)
    (folder / "token").unlink(missing_ok=True)
    atomic_files.write_json(folder / "environment.json", environment([job.seed]))
    stored: StoredSummary = {**found, "seed": job.seed, "audit": summary.kept(audit, attempts)}
    atomic_files.write_json(folder / SUMMARY, stored)
