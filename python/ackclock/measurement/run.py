"""``measure``: active tests of the path to a measurement server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ackclock.arguments import with_arguments
from ackclock.arguments.measure import MeasureArguments
from ackclock.errors import InputError, RunFailed
from ackclock.input.units import rate_bps, show_rate
from ackclock.linux import require_linux
from ackclock.measurement.capture import FAR, NEAR, Capture, header, join
from ackclock.measurement.document import document, series_frame
from ackclock.measurement.folder import write_folder
from ackclock.measurement.path import PathProbes, walk
from ackclock.measurement.plan import Plan, asked_plan
from ackclock.measurement.pulses import PulseRecorder, recorders
from ackclock.measurement.result import Measurement, MeasurementFailed
from ackclock.measurement.session import Session, read_token
from ackclock.measurement.test_runner import Report, TestLog, TestRunner
from ackclock.storage.atomic_files import atomic_write
from ackclock.storage.run_folder import Identity, opened

if TYPE_CHECKING:
    from ackclock.documents.measure import CaptureState, MeasurementHead
    from ackclock.documents.measure import Measurement as MeasurementDocument

TOKEN = "ACKCLOCK_TOKEN"
MAX_CAPTURED = 64_000_000
"""Maximum bytes of headers in the server's capture; the server may allow less."""
PATH = "path"
"""The test without a server."""


@with_arguments(MeasureArguments)
def measure(arguments: MeasureArguments) -> Measurement:
    """Active tests of the path to a host on which ``ackclockd`` or ``ackclock serve`` runs.

    Raises:
        InputError: the host is unreachable, the token is wrong, the plan or its size is not
            allowed, or ``out`` has another run.
        RunFailed: the session failed; MeasurementFailed if some tests had finished, whose results
            are kept.
    """
    require_linux("measure", "kernel timestamps, pacing and packet sockets")
    plan = asked_plan(arguments)
    if not 0 < arguments.port < 65536:
        raise InputError(str(arguments.port), "a port from 1 to 65535", key="port")
    identity = Identity.of("measure", arguments.identified(plan.written), once=True, any_engine=True)
    with opened(arguments.out, identity, force=arguments.force) as run:
        done = _measured(arguments, plan)
        if run:
            run.finish()
    return done


def _measured(arguments: MeasureArguments, plan: Plan) -> Measurement:
    started = datetime.now(UTC)
    session, capture_ = None, None
    folder = Path(arguments.out) if arguments.out is not None else None
    pulses = recorders(arguments.pps, folder) if folder is not None else []
    if plan.tests != (PATH,):
        token = arguments.token
        if token is None and not arguments.token_file:
            token = os.environ.get(TOKEN)
        session = Session(arguments.host, arguments.port, read_token(arguments.token_file, token))
        _check(plan, session)
        capture_ = Capture(folder / NEAR, session.address) if arguments.capture and folder is not None else None
        if arguments.capture_far and folder is not None:
            session.capture(_captured_bytes(plan))
    head: MeasurementHead = {
        "host": arguments.host,
        "port": arguments.port,
        "address": session.address if session else None,
        "started": started.isoformat(timespec="seconds"),
        "labels": dict(plan.labels),
        "seconds": 0.0,
        "far_end": session.far_end if session else None,
        "near_clock": session.clock if session else None,
    }
    captures_far = arguments.capture_far and folder is not None
    running = _Running(started, head, plan, session, arguments.progress, folder, captures_far=captures_far)
    error: Exception | KeyboardInterrupt | None = None
    with capture_ or nullcontext(), ExitStack() as stack:
        for recorder in pulses:
            stack.enter_context(recorder)
        try:
            running.run()
            if arguments.capture_far and folder is not None and session is not None:
                running.head["capture_far"] = _captured(folder, session)
        except (RunFailed, InputError, KeyboardInterrupt) as why:
            error = why
    if error is not None and not running.done.finished:
        raise error
    make = running.make(final=True)
    if capture_ is not None:
        capture: CaptureState = {"file": NEAR, "dropped": capture_.dropped}
        make.document["capture"] = {**capture, "broken": capture_.broken} if capture_.broken else capture
    names: tuple[Literal["pps", "pps_far"], ...] = ("pps", "pps_far")
    for name, recorder in zip(names, pulses, strict=False):
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


def _join(folder: Path, document: MeasurementDocument, pulses: Sequence[PulseRecorder]) -> None:
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
    write_folder(folder, make)
    return replace(make, folder=folder)


@dataclass
class _Running:
    """A running measurement. With a folder the finished tests are written after every test."""

    started: datetime
    head: MeasurementHead
    plan: Plan
    session: Session | None
    progress: Report | None
    folder: Path | None
    done: TestLog = field(default_factory=TestLog)
    path_probes: PathProbes | None = None
    captures_far: bool = False

    def run(self) -> None:
        if PATH in self.plan.tests:
            self._walk()
        if self.session is None:
            return
        if self.captures_far:
            self.done.reserved_bytes = _captured_bytes(self.plan)
        elapsed_s = (datetime.now(UTC) - self.started).total_seconds()
        runner = TestRunner(self.session, self.plan, self.progress, self.done, elapsed_s)
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
        self.done.probe_bytes = self.path_probes.ip_bytes
        self.done.finished.append(PATH)

    def make(self, *, final: bool) -> Measurement:
        """The measurement so far; ``final`` ends the session."""
        import polars as pl

        probes = self.path_probes.probes if self.path_probes else None
        self.head["seconds"] = (datetime.now(UTC) - self.started).total_seconds()
        if self.session is None:
            # The path test has no session, no connections and no datagrams.
            nothing = pl.DataFrame()
            results = document({"clock": None, "tests": []}, self.done, nothing, nothing, self.plan.tests)
            return Measurement({**self.head, **results}, self.plan, nothing, nothing, probes)
        control_bytes = self.session.control_bytes()
        figures, samples, datagrams = self.session.finish() if final else self.session.so_far()
        series = series_frame(samples)
        delays = pl.DataFrame(datagrams)
        results = document(figures, self.done, series, delays, self.plan.tests, control_bytes)
        return Measurement({**self.head, **results}, self.plan, series, delays, probes)


def _captured(folder: Path, session: Session) -> CaptureState:
    records, dropped = session.captured()
    atomic_write(folder / FAR, header() + records)
    return {"file": FAR, "dropped": dropped}


def _captured_bytes(plan: Plan) -> int:
    """Bytes of headers in the server's capture, which counts among those of the measurement."""
    return min(MAX_CAPTURED, plan.max_bytes // 5)


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
