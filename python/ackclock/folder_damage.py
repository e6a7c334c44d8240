"""What is damaged in a run folder whose results cannot be shown.

A document of a run may lose a key or a value and stay JSON. It is checked only after a failure: a
run folder of an earlier version lacks keys that its results do not need.
"""

from __future__ import annotations

import io
import math
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pydantic import ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import ValidationInfo

from ackclock.documents import DOCUMENTS, checker
from ackclock.documents.analyze import StoredAnalysis
from ackclock.documents.parts import Open
from ackclock.documents.reproduce import PaperOnLink, StoredClaims
from ackclock.documents.simulate import ExplainedRun
from ackclock.errors import AckclockError, InputError, format_value
from ackclock.input.document import format_loc
from ackclock.storage import stored_files
from ackclock.storage.dataset_files import INDEX, POINTS
from ackclock.storage.run_folder import ENVIRONMENT, FINISHED, file_digests
from ackclock.storage.run_kind import (
    ANALYZE,
    COMPARE,
    EMULATE,
    ON_LINK,
    REPRODUCE,
    SCHEDULE,
    SIMULATE,
    SWEEP,
    RunKind,
    kind_of,
)


@contextmanager
def damage_named(*folders: Path) -> Iterator[None]:
    """Raise the InputError of the first damaged file of `folders` in place of an exception that
    the damage causes. Without damage the exception is a defect of this program, and stays.
    """
    with native_stderr() as held:
        try:
            yield
        except (ImportError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a panic of native code is no Exception
            damage = error if isinstance(error, AckclockError) else _damage(folders)
            if damage is None:
                raise
            if damage.code == "damaged-run":
                held.truncate(0)
            raise damage from None


def _damage(folders: Iterable[Path]) -> AckclockError | None:
    """The error of the first damaged file of the folders."""
    for folder in folders:
        if folder.is_dir():
            try:
                check_files(folder)
            except AckclockError as damage:
                return damage
    return None


@contextmanager
def native_stderr() -> Iterator[BinaryIO]:
    """Hold what is printed to stderr meanwhile: the Parquet reader panics on a damaged file, and
    its threads say so. At the end it is printed, but for what the caller removes from the file.
    """
    try:
        held = os.fdopen(os.memfd_create("stderr"), "r+b", buffering=0)
        stderr = os.fdopen(os.dup(2), "wb")
    except (AttributeError, OSError):  # no Linux, or no stderr
        yield io.BytesIO()
        return
    with held, stderr:
        sys.stderr.flush()
        os.dup2(held.fileno(), 2)
        try:
            yield held
        finally:
            sys.stderr.flush()
            os.dup2(stderr.fileno(), 2)
            held.seek(0)
            shutil.copyfileobj(held, stderr)


def check_files(folder: Path) -> None:
    """Raise InputError if a file of a run folder is damaged."""
    kind = kind_of(folder)
    if kind is not None:
        _check_document(folder / kind.document, kind)
    if kind in _SCENARIOS:
        _check(folder / "scenario.toml", stored_files.read_toml(folder / "scenario.toml"), _Scenario)
        stored_files.read_json(folder / ENVIRONMENT)
    for name, model in _STATES.items():
        if (folder / name).is_file():
            _check(folder / name, stored_files.read_json(folder / name), model)
    for path in sorted(folder.rglob("*.parquet")):
        _check_table(path, kind)
    if kind is not None:
        _check_digests(folder)


def _check_digests(folder: Path) -> None:
    """Raise the error of the first file that is not what the finished run wrote."""
    path = folder / ENVIRONMENT
    about = stored_files.read_json(path)
    if about.get("run", {}).get("state") != FINISHED:
        return
    if "files" not in about:
        raise stored_files.damaged(path, "the file has no digests of the run's files, as those of earlier versions")
    here = file_digests(folder)
    for name, digest in about["files"].items():
        if name not in here:
            raise stored_files.damaged(folder / name, "the file is missing from the run folder")
        if here[name] != digest:
            raise stored_files.damaged(folder / name, "the file is not what its run wrote (its SHA-256 differs)")


class _Flow(Open):
    name: str
    workload: Open
    count: int = 1


class _Resolved(Open):
    """What a report shows of a resolved scenario."""

    seeds: list[int]
    tcp: Open
    hop: list[Open]
    flow: list[_Flow]


class _Estimate(Open):
    mean: float | None
    n: int

    @field_validator("n")
    @classmethod
    def _has_a_mean(cls, n: int, info: ValidationInfo) -> int:
        if n and "mean" in info.data and info.data["mean"] is None:
            raise PydanticCustomError("no_mean", "0, as there is no mean")
        return n


class _ComparedCell(Open):
    metrics: dict[str, _Estimate]


class _Asymmetry(Open):
    k: float


class _ComparedParts(Open):
    """What a report shows of compare.json, whose document says less of it."""

    scenario: _Resolved
    asymmetry: _Asymmetry | None
    cells: list[_ComparedCell]


class _Identity(Open):
    kind: str
    digest: str
    state: Literal["", "begun", "finished"]


class _Environment(Open):
    """environment.json; earlier versions wrote no `run`."""

    seeds: list[int]
    host: Open = Open()
    packages: Open = Open()
    files: dict[str, str] = {}
    run: _Identity = _Identity(kind="", digest="", state="")


class _Scenario(Open):
    """What a report shows of scenario.toml."""

    duration: Any
    hop: list[Open]


class _Points(Open):
    seeds: list[int]
    points: list[Open]


class _Index(Open):
    runs: int


class _Schedule(Open):
    """schedule.json: the measurements that are done, failed or missed, by number."""

    what: Open
    times: int
    every_s: float
    runs: dict[int, Open]


_SCENARIOS = (SIMULATE, SWEEP, COMPARE, EMULATE)
"""The kinds of run folder whose input is a scenario."""
_DOCUMENTS: dict[RunKind, Any] = {
    SIMULATE: ExplainedRun,
    ANALYZE: StoredAnalysis,
    REPRODUCE: StoredClaims,
    ON_LINK: PaperOnLink,
    SCHEDULE: _Schedule,
}
"""Documents that differ from those of `--json`."""
_PARTS: dict[RunKind, Any] = {COMPARE: _ComparedParts}
"""Types of parts that the document leaves open."""
_STATES: dict[str, Any] = {ENVIRONMENT: _Environment, POINTS: _Points, INDEX: _Index}
"""The files of a run folder that say what it holds."""
_COLUMNS = {
    "series": ("flow", "time_s"),
    "hops": ("hop", "direction", "station", "time_s", "queue_packets"),
    "flows": ("flow",),
    "fates": ("fate", "sent_s"),
    "runs": ("run", "seed"),
    "summaries": ("run", "summary"),
}
"""Columns that a table of this name has in every kind of run."""


_OF_CAPTURES = {"flows": ("a2b_unique_bytes", "b2a_unique_bytes")}
"""Further ones of `analyze`."""


def _check_table(path: Path, kind: RunKind | None) -> None:
    table = stored_files.read_table(path)
    name = path.stem if path.stem in _COLUMNS else path.parent.name
    required = _COLUMNS.get(name, ()) + (_OF_CAPTURES.get(name, ()) if kind == ANALYZE else ())
    for column in required:
        if table.columns and column not in table.columns:
            raise stored_files.damaged(path, f"the file is not the table `{name}` of a run (no column {column})")
    points = path.parent.parent / POINTS
    if name == "runs" and points.is_file() and table.columns:
        stored = stored_files.read_json(points)
        count, last = len(stored["points"]) * len(stored["seeds"]), table["run"].max()
        if isinstance(last, int) and last >= count:
            raise stored_files.damaged(path, f"there is a run {last} of {count}")


def _check_document(path: Path, kind: RunKind) -> None:
    document = stored_files.read_json(path)
    for loc in _not_finite(document, ()):
        raise stored_files.damaged(path, f"{format_loc(loc, document)} is no number (RFC 8259, section 6)")
    if kind == SIMULATE and isinstance(document, list):
        if not document:
            raise stored_files.damaged(path, "the file has no run")
        for run in document:
            _check(path, run, ExplainedRun)
    else:
        _check(path, document, _DOCUMENTS.get(kind) or DOCUMENTS[kind.command])
        _check(path, document, _PARTS.get(kind, Open))


def _not_finite(value: Any, loc: tuple[int | str, ...]) -> Iterator[tuple[int | str, ...]]:
    """Where a document has NaN or an infinity, which Python reads as JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        yield loc
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _not_finite(part, (*loc, key))


def _check(path: Path, document: Any, model: Any) -> None:
    """Raise the error of the first key that a document of this type must have otherwise."""
    try:
        checker(model).validate_python(document)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        key = format_loc(first["loc"], document)
        absent = first["type"] == "missing"
        raise InputError(
            "no such key" if absent else _json_text(first["input"]),
            "the key is required" if absent else _ALLOWED.get(first["type"], _expected(first["msg"])),
            hint=stored_files.REMEDY,
            file=stored_files.shown_file(path),
            key=key,
            code="damaged-run",
        ) from None


_ALLOWED = {"model_type": "an object", "dict_type": "an object", "list_type": "an array", "string_type": "a string"}
"""What JSON calls the types of pydantic."""


def _expected(message: str) -> str:
    return message.removeprefix("Input should be ")


def _json_text(value: Any) -> str:
    return "null" if value is None else format_value(value)
