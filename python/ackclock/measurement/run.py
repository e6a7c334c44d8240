"""``measure``: active tests of the path to a far end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import InputError, RunFailed
from ackclock.input.document import Document
from ackclock.measurement.capture import FAR, NEAR, join
from ackclock.measurement.document import document, series_frame
from ackclock.measurement.path import PathProbes, walk
from ackclock.measurement.plan import Plan, plan_of
from ackclock.measurement.result import Measurement, MeasurementFailed
from ackclock.measurement.session import PORT, Figures, Session, read_token
from ackclock.measurement.test_runner import Report, TestLog, TestRunner
from ackclock.storage.run_folder import Identity, opened

if TYPE_CHECKING:
    from ackclock.measurement.capture import Capture

TOKEN = "ACKCLOCK_TOKEN"
MOST_CAPTURED = 64_000_000
"""Bytes of headers that a far end is asked to keep; it may allow less."""
PATH = "path"
"""The one test that needs no far end."""


def measure(
    host: str,
    plan: Plan | Mapping[str, Any] | None = None,
    *,
    port: int = PORT,
    token: str | None = None,
    token_file: str | Path | None = None,
    out: str | Path | None = None,
    force: bool = False,
    capture: bool = False,
    capture_far: bool = False,
    progress: Report | None = None,
) -> Measurement:
    """Active tests of the path to a host on which ``ackclockd`` or ``ackclock serve`` runs.

    Args:
        host: a name or an address.
        plan: the keys of docs/measure.md's plan as a mapping; defaults where left out.
        port: TCP and UDP port of the far end.
        token: the far end's token; else ``token_file`` or the environment's ACKCLOCK_TOKEN.
        token_file: a file that holds it.
        out: a run folder to keep it in; nothing is written without it.
        force: move another run that is in ``out`` aside (to ``out.1``) instead of refusing to write there.
        capture: keep this end's packets of the session as ``capture.pcap`` in ``out``; needs CAP_NET_RAW.
        capture_far: have the far end's headers of the session's packets as ``capture-far.pcap`` in ``out``, if it allows that; with ``capture`` both are
            analyzed together into ``analysis``.
        progress: called with tests done, tests in all, and what is going on.

    Raises:
        InputError: the host cannot be reached, the token is not its, the plan or its size is not allowed, or ``out`` holds another run.
        RunFailed: the session began and failed; MeasurementFailed where some tests had been finished by then, which are kept.
    """
    checked = plan if isinstance(plan, Plan) else plan_of(Document(dict(plan or {})))
    if not 0 < port < 65536:
        raise InputError(str(port), "a port from 1 to 65535", key="port")
    resolved = {"host": host, "port": port, "plan": checked.model_dump(mode="json")}
    with opened(out, Identity.of("measure", resolved, once=True, any_engine=True), force=force) as run:
        done = _measured(
            host,
            checked,
            port=port,
            token=token,
            token_file=token_file,
            out=out,
            capture=capture,
            capture_far=capture_far,
            progress=progress,
        )
        if run:
            run.finish()
    return done


def _measured(
    host: str,
    checked: Plan,
    *,
    port: int,
    token: str | None,
    token_file: str | Path | None,
    out: str | Path | None,
    capture: bool,
    capture_far: bool,
    progress: Report | None,
) -> Measurement:
    started = datetime.now(UTC)
    session, captured = None, None
    if checked.tests != (PATH,):
        secret = read_token(token_file, token if token is not None else None if token_file else os.environ.get(TOKEN))
        session = Session(host, port, secret)
        _check(checked, session)
        captured = _capture(Path(out), session.address) if capture and out is not None else None
        if capture_far and out is not None:
            session.capture(MOST_CAPTURED)
    folder = Path(out) if out is not None else None
    running = _Running(started, _head(host, port, started, session), checked, session, progress, folder)
    error: Exception | KeyboardInterrupt | None = None
    with captured or nullcontext():
        try:
            running.run()
            if capture_far and folder is not None and session is not None:
                running.head["capture_far"] = _captured(folder, session)
        except (RunFailed, InputError, KeyboardInterrupt) as why:
            error = why
    if error is not None and not running.done.finished:
        raise error
    made = running.made(final=True)
    if captured is not None:
        made.document["capture"] = {
            "file": NEAR,
            "dropped": captured.dropped,
            **({"broken": captured.broken} if captured.broken else {}),
        }
    if folder is not None:
        if captured is not None and "capture_far" in made.document:
            join(folder)
        made = _kept(folder, made)
    if isinstance(error, KeyboardInterrupt):
        raise error
    if made.document["failed"] is not None:
        raise MeasurementFailed(made) from error
    if error is not None:
        raise error
    return made


def _kept(folder: Path, made: Measurement) -> Measurement:
    from ackclock.measurement.folder import write_folder

    write_folder(folder, made)
    return replace(made, folder=folder)


def _head(host: str, port: int, started: datetime, session: Session | None) -> Figures:
    return {
        "host": host,
        "port": port,
        "address": session.address if session else None,
        "started": started.isoformat(timespec="seconds"),
        "seconds": 0.0,
        "far_end": session.far_end if session else None,
        "near_clock": session.clock if session else None,
    }


@dataclass
class _Running:
    """A running measurement. With a folder the finished tests are written after every test."""

    started: datetime
    head: Figures
    plan: Plan
    session: Session | None
    progress: Report | None
    folder: Path | None
    done: TestLog = field(default_factory=TestLog)
    walked: PathProbes | None = None

    def run(self) -> None:
        if PATH in self.plan.tests:
            self._walk()
        if self.session is None:
            return
        steps = TestRunner(self.session, self.plan, self.progress, self.done)
        for name in steps.run():
            if self.folder is not None and name != self.plan.tests[-1]:
                _kept(self.folder, self.made(final=False))

    def _walk(self) -> None:
        label = "path, looking for hops"

        def report(share: float) -> None:
            nonlocal label
            label = f"path, {share:.0%}" if share else label
            # No test runs meanwhile, so the session needs keepalives.
            if self.session is not None:
                self.session.keep_alive()
            if self.progress:
                self.progress(0, len(self.plan.tests), label)

        self.walked = walk(self.head["host"], self.plan, report)
        self.done.path = self.walked.hops
        self.done.finished.append(PATH)

    def made(self, *, final: bool) -> Measurement:
        """The measurement so far; ``final`` ends the session."""
        import polars as pl

        probes = self.walked.probes if self.walked else None
        head = {**self.head, "seconds": (datetime.now(UTC) - self.started).total_seconds()}
        if self.session is None:
            # A walk needs no far end: no session, no connections, no datagrams.
            nothing = pl.DataFrame()
            found = document({"clock": None, "tests": []}, self.done, nothing, self.plan.tests)
            return Measurement({**head, **found}, self.plan, nothing, nothing, probes)
        figures, samples, datagrams = self.session.finish() if final else self.session.so_far()
        series = series_frame(samples)
        found = document(figures, self.done, series, self.plan.tests)
        return Measurement({**head, **found}, self.plan, series, pl.DataFrame(datagrams), probes)


def _capture(folder: Path, address: str) -> Capture:
    """A capture, to be entered, of what goes to and from the far end."""
    from ackclock.measurement.capture import Capture

    return Capture(folder / "capture.pcap", address)


def _captured(folder: Path, session: Session) -> Figures:
    from ackclock.measurement.capture import header
    from ackclock.storage.atomic_files import atomic_write

    records, dropped = session.captured()
    atomic_write(folder / FAR, header() + records)
    return {"file": FAR, "dropped": dropped}


def _check(plan: Plan, session: Session) -> None:
    """What the far end will not or its kernel cannot do is said before anything is sent."""
    most_s = session.far_end["caps"]["test_ns"] / 1e9
    if plan.seconds > most_s:
        raise InputError(f"tests of {plan.seconds:g} s", f"{most_s:g} s at most, by the far end's limits", key="duration")
    there = session.far_end["congestion"]
    here = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    own = here.read_text("ascii").split() if here.exists() else there
    for name in plan.congestion:
        if name not in there or name not in own:
            common = [known for known in own if known in there]
            raise InputError(name, f"a congestion control of both kernels: {', '.join(common)}", key="congestion")
