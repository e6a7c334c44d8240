"""The two ends of one live run: `python -m ackclock.papers.live.ends server|client FOLDER`, each in
its namespace of an emulation.

FOLDER has `job.json`. The client leaves `strand-N.json`, `strand-N-series.parquet` and
`strand-N-delays.parquet` there, or `walk.parquet`.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from pathlib import Path
from threading import Thread

from ackclock.arguments.measure import PORT
from ackclock.measurement.session import Session
from ackclock.papers.live.job import JobDocument, Strand, Walk
from ackclock.papers.live.summary import StrandResult
from ackclock.storage.stored_files import read_json

EARLY_S = 1.0
"""Time between the start of a session and its test."""
PATIENCE_S = 30.0
SYSCTL = Path("/proc/sys/net/ipv4")
LIMITS = {"test_ns": 3_600_000_000_000, "sessions": 8, "sessions_per_peer": 8, "rows": 20_000_000}


def main() -> int:
    """Run one end."""
    verb, folder = sys.argv[1], Path(sys.argv[2])
    _come_first()
    job: JobDocument = read_json(folder / "job.json")
    for name, value in job["sysctls"].items():
        (SYSCTL / name).write_text(str(value), "ascii")
    if (walk := job["walk"]) is not None:
        if walk["from"] == verb:
            _walk(walk, os.environ["ACKCLOCK_CLIENT" if verb == "server" else "ACKCLOCK_SERVER"], folder)
        _until(folder / "walk.parquet", job["seconds"] + PATIENCE_S)
    elif verb == "server":
        _serve(folder)
    else:
        _ask(job, folder)
    return 0


def _come_first() -> None:
    """Raise this process's priority, if allowed: a stream that pauses drains a queue that the
    paper's hosts kept full.
    """
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def _serve(folder: Path) -> None:
    from ackclock.measurement.server import serve

    serve("0.0.0.0", PORT, token_file=folder / "token", caps=LIMITS)


def _ask(job: JobDocument, folder: Path) -> None:
    host = os.environ["ACKCLOCK_SERVER"]
    _reach(host)
    token = (folder / "token").read_text("ascii").strip()
    begin = time.monotonic() + EARLY_S
    strands = [Thread(target=_strand, args=(n, s, (host, token, begin), folder)) for n, s in enumerate(job["strands"])]
    for strand in strands:
        strand.start()
    for strand in strands:
        strand.join()


def _reach(host: str) -> None:
    """Wait until the server listens."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            socket.create_connection((host, PORT), timeout=5.0).close()
            return
        except OSError:
            time.sleep(0.1)


def _strand(number: int, strand: Strand, where: tuple[str, str, float], folder: Path) -> None:
    host, token, begin = where
    time.sleep(max(0.0, begin - EARLY_S + strand["start_s"] - time.monotonic()))
    session = Session(host, PORT, token)
    time.sleep(max(0.0, begin + strand["start_s"] - time.monotonic()))
    session.run([strand["spec"]], lambda _: None)
    document, samples, delays = session.finish()
    import polars as pl

    from ackclock.measurement.document import series_frame

    series_frame(samples).write_parquet(folder / f"strand-{number}-series.parquet")
    pl.DataFrame(delays).write_parquet(folder / f"strand-{number}-delays.parquet")
    result: StrandResult = {**document["tests"][0], "clock": document["clock"]}
    (folder / f"strand-{number}.json").write_text(json.dumps(result), "utf-8")


def _walk(asked: Walk, host: str, folder: Path) -> None:
    from ackclock.measurement.path import walk
    from ackclock.measurement.plan import Plan

    time.sleep(EARLY_S)  # both ends' interfaces are up
    walked = walk(host, Plan.read({"path_sizes": asked["sizes"], "path_rounds": asked["rounds"]}), lambda _: None)
    beside = folder / "walk.tmp"
    walked.probes.write_parquet(beside)
    beside.replace(folder / "walk.parquet")


def _until(path: Path, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
