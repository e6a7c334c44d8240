"""``measure``: active tests of the path to a far end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.document import Document
from ackclock.errors import InputError
from ackclock.measurement.capture import FAR, NEAR, join
from ackclock.measurement.document import document, series_frame
from ackclock.measurement.link import PORT, Figures, Session, read_token
from ackclock.measurement.path import Walked, walk
from ackclock.measurement.plan import Plan, plan_of
from ackclock.measurement.result import Measurement
from ackclock.measurement.steps import Done, Report, Steps

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
        capture: keep this end's packets of the session as ``capture.pcap`` in ``out``; needs CAP_NET_RAW.
        capture_far: have the far end's headers of the session's packets as ``capture-far.pcap`` in ``out``, if it allows that; with ``capture`` both are
            analyzed together into ``analysis``.
        progress: called with tests done, tests in all, and what is going on.

    Raises:
        InputError: the host cannot be reached, the token is not its, or the plan or its size is not allowed.
        RunFailed: the session began and failed.
    """
    checked = plan if isinstance(plan, Plan) else plan_of(Document(dict(plan or {})))
    if not 0 < port < 65536:
        raise InputError(str(port), "a port from 1 to 65535", key="port")
    started = datetime.now(UTC)
    session, captured = None, None
    if checked.tests != (PATH,):
        secret = read_token(token_file, token if token is not None else None if token_file else os.environ.get(TOKEN))
        session = Session(host, port, secret)
        _check(checked, session)
        captured = _capture(Path(out), session.address) if capture and out is not None else None
        if capture_far and out is not None:
            session.capture(MOST_CAPTURED)
    with captured or nullcontext():
        made = _made(_head(host, port, started, session), checked, session, progress, Path(out) if capture_far and out else None)
    made.document["seconds"] = (datetime.now(UTC) - started).total_seconds()
    if captured is not None:
        made.document["capture"] = {"file": NEAR, "dropped": captured.dropped}
    if out is None:
        return made
    if captured is not None and "capture_far" in made.document:
        join(Path(out))
    from ackclock.measurement.folder import write_folder

    write_folder(Path(out), made)
    return replace(made, folder=Path(out))


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


def _made(head: Figures, plan: Plan, session: Session | None, progress: Report | None, far: Path | None) -> Measurement:
    """``far``: the folder for the far end's packets, if it keeps them."""
    import polars as pl

    walked = _walked(head["host"], plan, progress) if PATH in plan.tests else None
    hops = walked.hops if walked else None
    probes = walked.probes if walked else None
    if session is None:
        # A walk asks nothing of a far end: no session, no connections, no datagrams.
        nothing = pl.DataFrame()
        found = document({"clock": None, "tests": []}, Done(path=hops), nothing)
        return Measurement({**head, **found}, plan, nothing, nothing, probes)
    done = Steps(session, plan, progress).run()
    done.path = hops
    if far is not None:
        head = {**head, "capture_far": _captured(far, session)}
    figures, samples, datagrams = session.finish()
    series = series_frame(samples)
    return Measurement({**head, **document(figures, done, series)}, plan, series, pl.DataFrame(datagrams), probes)


def _walked(host: str, plan: Plan, progress: Report | None) -> Walked:
    def report(share: float) -> None:
        if progress:
            progress(0, len(plan.tests), f"path, {share:.0%}" if share else "path, looking for hops")

    return walk(host, plan, report)


def _capture(folder: Path, address: str) -> Capture:
    """A capture, to be entered, of what goes to and from the far end."""
    from ackclock.measurement.capture import Capture
    from ackclock.runs import environment, prepare, write_json

    made = Capture(folder / "capture.pcap", address)
    prepare(folder)
    # What is kept at the end must find the folder to be a run's.
    write_json(folder / "environment.json", environment([]))
    return made


def _captured(folder: Path, session: Session) -> Figures:
    from ackclock.measurement.capture import header
    from ackclock.runs import atomic_write, environment, prepare, write_json

    records, dropped = session.captured()
    prepare(folder)
    write_json(folder / "environment.json", environment([]))
    atomic_write(folder / FAR, header() + records)
    return {"file": FAR, "dropped": dropped}


def _check(plan: Plan, session: Session) -> None:
    """What the far end will not or its kernel cannot do is said before anything is sent."""
    most_s = session.far_end["caps"]["test_ns"] / 1e9
    if plan.seconds > most_s:
        raise InputError(f"tests of {plan.seconds:g} s", f"{most_s:g} s at most, by the far end", key="duration")
    there = session.far_end["congestion"]
    here = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    own = here.read_text("ascii").split() if here.exists() else there
    for name in plan.congestion:
        if name not in there or name not in own:
            common = [known for known in own if known in there]
            raise InputError(name, f"a congestion control of both kernels: {', '.join(common)}", key="congestion")
