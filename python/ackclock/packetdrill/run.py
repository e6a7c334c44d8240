"""Scripts against the engine, one after the other."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

from ackclock import _native, congestion_control
from ackclock.errors import InputError, InvalidValue, RunFailed
from ackclock.input.checked_table import CheckedTable
from ackclock.input.scenario.hosts import DEFAULT_HOST, READ_KEYS, resolve
from ackclock.packetdrill.stack_settings import stack_settings

Verdict = Literal["passes", "fails", "unsupported", "unreadable"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Ignored = Literal["psh", "window", "info", "time"]
"""What a run need not compare: the flag PSH, the window field, assertions over `struct tcp_info`,
and when a segment leaves."""
IGNORED: tuple[Ignored, ...] = get_args(Ignored)
MAX_BYTES = 1 << 20
TOLERANCE = 4 * 10**9  # packetdrill's own, in ps


class TraceRow(TypedDict):
    """A packet or a call, and the line of the script that it is of."""

    time_s: float
    line: int | None
    text: str


@dataclass(frozen=True)
class ScriptResult:
    """The verdict on a script.

    Attributes:
        script: its path.
        verdict: "passes", "fails", "unsupported" or "unreadable" (`run_scripts` only).
        statements: how many statements hold.
        line: the line that ends the run, from 1; None of a script that passes.
        statement: its text.
        expected, got: what the statement asks for, and what happened ("fails").
        differs: what differs, one entry each ("fails").
        state: the sender's state in the terms of the kernel's `struct tcp_info` ("fails").
        why: why it cannot be played ("unsupported") or read ("unreadable").
        trace: packets and calls in order, with `time_s`, `line` and `text`, if they were asked for.
    """

    script: Path
    verdict: Verdict
    statements: int = 0
    line: int | None = None
    statement: str = ""
    expected: str = ""
    got: str = ""
    differs: tuple[str, ...] = ()
    state: str | None = None
    why: str = ""
    trace: tuple[TraceRow, ...] = ()

    def document(self) -> dict[str, Any]:
        """The result as JSON has it: fields that say nothing are left out."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["script"] = str(self.script)
        kept = ("script", "verdict", "statements")
        return {name: value for name, value in fields.items() if name in kept or value not in (None, "", ())}


def scripts_in(path: Path) -> Iterator[Path]:
    """The file itself, or every .pkt file below a folder, by name.

    Raises:
        InputError: there is no such file, or no script in the folder.
    """
    if path.is_dir():
        found = sorted(path.rglob("*.pkt"))
        if not found:
            raise InputError.problem(f"{path} has no .pkt file", "name a script, or a folder with scripts")
        yield from found
    elif path.is_file():
        yield path
    else:
        raise InputError.problem(f"there is no file {path}", "name a packetdrill script, or a folder with scripts")


def run_script(
    script: str | Path,
    host: str = DEFAULT_HOST,
    *,
    tcp: Mapping[str, Any] | None = None,
    tolerance_ps: int = TOLERANCE,
    ignored: Collection[Ignored] = (),
    trace: bool = False,
) -> ScriptResult:
    """Play a packetdrill script against a host stack, in virtual time.

    Commands in backquotes are read for their sysctls, never executed; the script opens no file.

    Args:
        script: a file in packetdrill's language.
        host: a host stack, one of `ackclock.list_hosts()`.
        tcp: keys of a [tcp] table in place of the host's; a script's sysctls come before them.
            `{"variant": MyControl}` tests a congestion control in Python.
        tolerance_ps: how much earlier or later than the script says a segment may leave, in
            picoseconds; a script's own --tolerance_usecs replaces it.
        ignored: differences that do not end the run: "psh"; "window", the field of the header;
            "info", assertions over `struct tcp_info`; "time", when a segment leaves, as long as it
            is before the next statement that is no expected segment.
        trace: record every packet and call.

    Raises:
        InputError: the file cannot be read, is not of packetdrill's language, or `tcp` has an
            invalid key.
        RunFailed: the congestion control in Python raised an exception.

    >>> from pathlib import Path
    >>> import tempfile
    >>> text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\\n+0 bind(3, ..., ...) = 0\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "open.pkt"
    ...     _ = path.write_text(text)
    ...     run_script(path).verdict
    'passes'
    """
    path = Path(script)
    text = _text(path)
    try:
        settings = stack_settings(_native.packetdrill_settings(text))
    except _native.InputError as error:
        raise InputError(error.found, error.allowed, file=str(path), line=error.line) from None
    if settings.unsupported:
        first = settings.unsupported[0]
        return ScriptResult(path, "unsupported", line=first.line, statement=first.statement, why=first.why)
    own = _keys(congestion_control.with_names(tcp or {}))
    try:
        plan = resolve(_keys(replace(settings.tcp, host=host).to_dict()), own).plan()
    except InputError as error:
        return ScriptResult(path, "unsupported", why=str(error))
    control = None
    if congestion_control.is_user(plan["variant"]):
        control = congestion_control.classes([plan["variant"]])
        plan["variant"] = "reno"
    try:
        options = {"tolerance_us": tolerance_ps // 10**6, "ignored": list(ignored), "trace": trace}
        outcome = _native.packetdrill_run(text, json.dumps(plan), json.dumps(options), control)
    except _native.ControlError as error:
        raise RunFailed(congestion_control.traceback_of(error)) from error.__cause__
    outcome |= {name: tuple(outcome.get(name, ())) for name in ("differs", "trace")}
    return ScriptResult(path, **outcome)


def run_scripts(
    scripts: Sequence[Path],
    host: str = DEFAULT_HOST,
    *,
    tcp: Mapping[str, Any] | None = None,
    tolerance_ps: int = TOLERANCE,
    ignored: Collection[Ignored] = (),
    trace: bool = False,
) -> Iterator[ScriptResult]:
    """Play scripts one after the other: one that cannot be read ends nothing, and its verdict is
    "unreadable". A single script that cannot be read is an error. The arguments are those of
    `run_script`.

    Raises:
        InputError: the only script cannot be read, or `tcp` has an invalid key.
        RunFailed: the congestion control in Python raised an exception.
    """
    for script in scripts:
        try:
            yield run_script(script, host, tcp=tcp, tolerance_ps=tolerance_ps, ignored=ignored, trace=trace)
        except InputError as error:
            if len(scripts) == 1 or error.key:
                raise
            why = (
                f"{error.statement}; {error.hint}"
                if error.statement
                else f"found {error.found}; allowed: {error.allowed}"
            )
            yield ScriptResult(script, "unreadable", line=error.line, why=why)


def _keys(table: Mapping[str, Any]) -> CheckedTable:
    """A [tcp] table, checked."""
    try:
        return READ_KEYS(dict(table))
    except InvalidValue as invalid:
        raise InputError(invalid.found, invalid.allowed, key=".".join(map(str, ("tcp", *invalid.key)))) from None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError.problem(f"{path} is larger than 1 MiB", "name a packetdrill script")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError.problem(f"{path} cannot be read ({error.strerror})", "name a packetdrill script") from error
