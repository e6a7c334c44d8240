"""Run folders: what a run leaves on disk. Everything appears by rename, so nothing is ever half written."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.engine import engine_digest
from ackclock.errors import InputError
from ackclock.link.trace import Recording
from ackclock.scenario.model import Scenario
from ackclock.scenario.resolved import recordings, resolved
from ackclock.toml_write import to_toml

if TYPE_CHECKING:
    import polars as pl

RUNS = Path("runs")
OWN_FILES = ("environment.json", "scenario.toml", "cells", "traces")


def atomic_write(path: Path, content: bytes) -> None:
    """Write a file so that it is either the old one or the whole new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_json(path: Path, document: Any) -> None:
    atomic_write(path, (json.dumps(document, indent=2) + "\n").encode())


def write_parquet(path: Path, frame: pl.DataFrame) -> None:
    """Parquet with fixed settings: the same table gives the same bytes."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        frame.write_parquet(beside, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 18)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def folder_by_rename(final: Path) -> Iterator[Path]:
    """A folder to fill, which takes its name only when it is full. If another one was faster, that one stays."""
    beside = final.with_name(f".{final.name}.{os.getpid()}.tmp")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        with contextlib.suppress(OSError):
            beside.rename(final)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def sweep_leftovers(folder: Path) -> None:
    """Remove what processes that are gone left half written."""
    for path in folder.glob(".*.tmp"):
        pid = path.name.split(".")[-2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def prepare(folder: Path) -> None:
    """Make a run folder, or take up an earlier one. Raises InputError for a folder that is something else."""
    if folder.exists() and not folder.is_dir():
        raise InputError("a file", "a folder for the run", file=str(folder), key="--out")
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / name).exists() for name in OWN_FILES):
        raise InputError("a folder with other files", "a new or empty folder, or an earlier run", file=str(folder), key="--out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"no folder can be made here ({error.strerror})", "a writable place", file=str(folder), key="--out"
        ) from None
    sweep_leftovers(folder)


def environment(seeds: Iterable[int]) -> dict[str, Any]:
    """What a run depended on besides its scenario."""
    return {
        "ackclock": version("ackclock"),
        "engine": engine_digest(),
        "seeds": list(seeds),
        "host": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
        },
        "packages": {name: version(name) for name in ("polars", "pydantic")},
    }


def write_scenario(folder: Path, scenario: Scenario, traces: str = "traces", extra: Mapping[str, Any] | None = None) -> None:
    """The scenario as resolved; its trace files are named under `traces`, relative to the run folder."""
    names = {recording.path: f"{traces}/{trace_file(recording)}" for recording in recordings(scenario)}
    extra = extra or {}
    data = resolved(scenario, lambda path: names[path], extra.get("sweep", ()))
    atomic_write(folder / "scenario.toml", to_toml({**data, **extra}).encode())


def trace_file(recording: Recording) -> str:
    """Name of a trace's copy in a run folder: its own, with its hash in front, as two may share one name."""
    return f"{recording.digest[:8]}-{recording.path.name}"


def keep_traces(folder: Path, scenario: Scenario) -> None:
    """Copy the traces a scenario uses into the run folder, so that it can be run again anywhere."""
    for recording in recordings(scenario):
        copy = folder / "traces" / trace_file(recording)
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            atomic_write(copy, recording.path.read_bytes())


def flows_frame(summaries: Iterable[Mapping[str, Any]], extra: Iterable[Mapping[str, Any]] | None = None) -> pl.DataFrame:
    """One row per seed and flow: the fields of `simulate --json`, nested names joined by underscores."""
    import polars as pl

    summaries = list(summaries)
    firsts = list(extra) if extra is not None else [{}] * len(summaries)
    rows = [
        {"seed": summary["seed"], **first, **_flat(flow)}
        for summary, first in zip(summaries, firsts, strict=True)
        for flow in summary["flows"]
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(pl.col(pl.Null).cast(pl.Float64))


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{before}{key}_"))
        else:
            flat[f"{before}{key}"] = value
    return flat
