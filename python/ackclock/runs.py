"""Run folders: what a run leaves on disk. Everything appears by rename, so nothing is ever half written."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import platform
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import leftovers
from ackclock.engine import engine_digest
from ackclock.link.trace import Recording
from ackclock.scenario.model import Scenario
from ackclock.scenario.resolved import recordings, resolved
from ackclock.toml_write import to_toml

if TYPE_CHECKING:
    import polars as pl

RUNS = Path("runs")
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def atomic_write(path: Path, content: bytes) -> None:
    """Write a file so that it is either the old one or the whole new one."""
    beside = leftovers.beside(path)
    try:
        beside.write_bytes(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_json(path: Path, document: Any) -> None:
    atomic_write(path, (json.dumps(document, indent=2) + "\n").encode())


def write_parquet(path: Path, frame: pl.DataFrame) -> None:
    """Parquet with fixed settings: the same table gives the same bytes. Raises OSError, such as on a full disk."""
    content = io.BytesIO()  # native code does not say which error of the operating system a write met
    frame.write_parquet(content, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 18)
    atomic_write(path, content.getvalue())


def errno_of(error: BaseException) -> int | None:
    """The errno of an exception, parsed from its message where native code raised it; None without one."""
    if isinstance(error, OSError):
        return error.errno
    text = str(error).lower()
    found = re.search(r"\(os error (\d+)\)", text)
    if found:
        return int(found[1])
    return next((number for number in UNWRITABLE if f"({os.strerror(number).lower()})" in text), None)


@contextlib.contextmanager
def folder_by_rename(final: Path) -> Iterator[Path]:
    """A folder to fill, which takes its name only when it is full. If another one was faster, that one stays."""
    beside = leftovers.beside(final)
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        try:
            beside.rename(final)
        except OSError:
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


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
