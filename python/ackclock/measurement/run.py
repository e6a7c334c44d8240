"""``measure``: active tests of the path to a measurement server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import InputError, RunFailed
from ackclock.input.document import Document
from ackclock.input.objects import time_text
from ackclock.input.units import rate_bps, show_rate
from ackclock.linux import require_linux
from ackclock.measurement.capture import FAR, NEAR, join
from ackclock.measurement.document import document, series_frame
from ackclock.measurement.path import PathProbes, walk
from ackclock.measurement.plan import Plan, plan_of
from ackclock.measurement.pulses import PulseRecorder, recorders
from ackclock.measurement.result import Measurement, MeasurementFailed
from ackclock.measurement.session import PORT, Figures, Session, read_token
from ackclock.measurement.test_runner import Report, TestLog, TestRunner
from ackclock.storage.run_folder import Identity, opened

if TYPE_CHECKING:
    from ackclock.measurement.capture import Capture

TOKEN = "ACKCLOCK_TOKEN"
MAX_CAPTURED = 64_000_000
"""Maximum bytes of headers in the server's capture; the server may allow less."""
PATH = "path"
"""The test without a server."""


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
    pps: Sequence[str | Path] = (),
    progress: Report | None = None,
) -> Measurement:
    """Active tests of the path to a host on which ``ackclockd`` or ``ackclock serve`` runs.

    Args:
        host: a name or an address.
        plan: the plan of docs/reference/measure.md as a mapping; absent keys have defaults.
            `duration` and `sample` may also be seconds as a number, or a timedelta.
        port: TCP and UDP port of the server.
        token: the server's token; else ``token_file`` or the environment's ACKCLOCK_TOKEN.
        token_file: a file with the token.
        out: the run folder; nothing is written without it.
        force: rename another run in ``out`` (to ``out.1``) instead of raising InputError.
        capture: capture the client's packets of the session as ``capture.pcap`` in ``out``;
            requires CAP_NET_RAW.
        capture_far: store the server's headers of the session's packets as ``capture-far.pcap`` in
            ``out``, if it allows that; with ``capture`` both are analyzed together into
            ``analysis``.
        pps: files with the pulses of this end's clock, and then of the far end's, which are
            recorded as ``pulses.txt`` and ``pulses-far.txt`` in ``out``; with both, ``analysis``
            converts the captures' timestamps to UTC by them.
        progress: called with the number of finished tests, the number of all tests, and a label.

    Raises:
        InputError: the host is unreachable, the token is wrong, the plan or its size is not
            allowed, or ``out`` has another run.
        RunFailed: the session failed; MeasurementFailed if some tests had finished, whose results
            are kept.
    """
    require_linux("measure", "kernel timestamps, pacing and packet sockets")
    checked = plan if isinstance(plan, Plan) else plan_of(Document(_with_time_units(plan or {})))
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
            pps=pps,
            progress=progress,
        )
        if run:
            run.finish()
    return done


def _with_time_units(plan: Mapping[str, Any]) -> dict[str, Any]:
    times = {key: time_text(plan[key]) for key in ("duration", "sample", "offset") if plan.get(key) is not None}
    return {**plan, **times}


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
    pps: Sequence[str | Path],
    progress: Report | None,
) -> Measurement:
    started = datetime.now(UTC)
    session, capture_ = None, None
    pulses = recorders(pps, Path(out)) if out is not None else []
    if checked.tests != (PATH,):
        secret = read_token(token_file, token if token is not None else None if token_file else os.environ.get(TOKEN))
        session = Session(host, port, secret)
        _check(checked, session)
        capture_ = _capture(Path(out), session.address) if capture and out is not None else None
        if capture_far and out is not None:
            session.capture(MAX_CAPTURED)
    folder = Path(out) if out is not None else None
    running = _Running(started, _head(host, port, started, session, checked.labels), checked, session, progress, folder)
    error: Exception | KeyboardInterrupt | None = None
    with capture_ or nullcontext(), ExitStack() as stack:
        for recorder in pulses:
            stack.enter_context(recorder)
        try:
            running.run()
            if capture_far and folder is not None and session is not None:
                running.head["capture_far"] = _captured(folder, session)
        except (RunFailed, InputError, KeyboardInterrupt) as why:
            error = why
    if error is not None and not running.done.finished:
        raise error
    make = running.make(final=True)
    if capture_ is not None:
        make.document["capture"] = {
            "file": NEAR,
            "dropped": capture_.dropped,
            **({"broken": capture_.broken} if capture_.broken else {}),
        }
    for name, recorder in zip(("pps", "pps_far"), pulses, strict=False):
        make.document[name] = recorder.summary()
    if folder is not None:
        if capture_ is not None and "capture_far" in make.document:
            _join(folder, make.document, pulses)
        make = _kept(folder, make)
    if isinstance(error, KeyboardInterrupt):
        raise error
    if make.document["failed"] is not None:
        raise MeasurementFailed(make) from error
    if error is not None:
        raise error
    return make


def _join(folder: Path, document: Figures, pulses: Sequence[PulseRecorder]) -> None:
    """Analyze both captures; by the pulses of both ends if these are valid."""
    both = [recorder.target for recorder in pulses] if len(pulses) == 2 else []
    try:
        join(folder, both)
    except InputError as why:
        if not both:
            raise
        document["pps"]["broken"] = str(why)
        join(folder)


def _kept(folder: Path, make: Measurement) -> Measurement:
    from ackclock.measurement.folder import write_folder

    write_folder(folder, make)
    return replace(make, folder=folder)


def _head(host: str, port: int, started: datetime, session: Session | None, labels: Mapping[str, str]) -> Figures:
    return {
        "host": host,
        "port": port,
        "address": session.address if session else None,
        "started": started.isoformat(timespec="seconds"),
        "labels": dict(labels),
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
    path_probes: PathProbes | None = None

    def run(self) -> None:
        if PATH in self.plan.tests:
            self._walk()
        if self.session is None:
            return
        runner = TestRunner(self.session, self.plan, self.progress, self.done)
        for name in runner.run():
            if self.folder is not None and name != self.plan.tests[-1]:
                _kept(self.folder, self.make(final=False))

    def _walk(self) -> None:
        label = "path, searching for hops"

        def report(share: float) -> None:
            nonlocal label
            label = f"path, {share:.0%}" if share else label
            # No test runs meanwhile, so the session needs keepalives.
            if self.session is not None:
                self.session.keep_alive()
            if self.progress:
                self.progress(0, len(self.plan.tests), label)

        self.path_probes = walk(self.head["host"], self.plan, report)
        self.done.path = self.path_probes.hops
        self.done.finished.append(PATH)

    def make(self, *, final: bool) -> Measurement:
        """The measurement so far; ``final`` ends the session."""
        import polars as pl

        probes = self.path_probes.probes if self.path_probes else None
        head = {**self.head, "seconds": (datetime.now(UTC) - self.started).total_seconds()}
        if self.session is None:
            # The path test has no session, no connections and no datagrams.
            nothing = pl.DataFrame()
            results = document({"clock": None, "tests": []}, self.done, nothing, nothing, self.plan.tests)
            return Measurement({**head, **results}, self.plan, nothing, nothing, probes)
        figures, samples, datagrams = self.session.finish() if final else self.session.so_far()
        series = series_frame(samples)
        delays = pl.DataFrame(datagrams)
        results = document(figures, self.done, series, delays, self.plan.tests)
        return Measurement({**head, **results}, self.plan, series, delays, probes)


def _capture(folder: Path, address: str) -> Capture:
    """A capture, as a context manager, of the packets to and from the server."""
    from ackclock.measurement.capture import Capture

    return Capture(folder / "capture.pcap", address)


def _captured(folder: Path, session: Session) -> Figures:
    from ackclock.measurement.capture import header
    from ackclock.storage.atomic_files import atomic_write

    records, dropped = session.captured()
    atomic_write(folder / FAR, header() + records)
    return {"file": FAR, "dropped": dropped}


def _check(plan: Plan, session: Session) -> None:
    """Raise InputError for limits of the server or its kernel before any test."""
    max_s = session.far_end["caps"]["test_ns"] / 1e9
    longest = plan.seconds + 2 * (plan.offset_s or 0.0)
    if longest > max_s:
        raise InputError(f"tests of {longest:g} s", f"at most {max_s:g} s, the server's limit", key="duration")
    max_bps = session.far_end["caps"]["rate_bps"]
    if "steps" in plan.tests and any(rate_bps(one) > max_bps for one in plan.steps):
        raise InputError(", ".join(plan.steps), f"at most {show_rate(max_bps)}, the server's limit", key="steps")
    server = session.far_end["congestion"]
    proc = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    client = proc.read_text("ascii").split() if proc.exists() else server
    for name in plan.congestion:
        if name not in server or name not in client:
            common = [known for known in client if known in server]
            raise InputError(name, f"a congestion control of both kernels: {', '.join(common)}", key="congestion")
