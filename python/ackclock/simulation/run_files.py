"""The files that a simulated run leaves in its run folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.input.link.trace import Recording
from ackclock.input.scenario.model import Scenario
from ackclock.input.scenario.resolution import recordings, resolved
from ackclock.input.toml_writer import to_toml
from ackclock.storage.atomic_files import atomic_write
from ackclock.storage.null_columns import typed_nulls

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.simulate import RunFlows


def write_scenario(
    folder: Path, scenario: Scenario, traces: str = "traces", extra: Mapping[str, Any] | None = None
) -> None:
    """Write the resolved scenario. Its trace files have paths under `traces`, relative to the run
    folder.
    """
    extra = extra or {}
    write_resolved(folder, resolved_in_folder(scenario, extra.get("sweep", ()), traces), extra)


def write_resolved(folder: Path, data: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
    """Write scenario.toml with these keys."""
    atomic_write(folder / "scenario.toml", to_toml({**data, **extra}).encode())


def resolved_in_folder(scenario: Scenario, swept: Collection[str], traces: str = "traces") -> dict[str, Any]:
    """The resolved scenario whose trace files are those of its run folder; `swept` are the paths
    that are varied.
    """
    names = {recording.path: f"{traces}/{trace_file(recording)}" for recording in recordings(scenario)}
    return resolved(scenario, lambda path: names[path], swept)


def trace_file(recording: Recording) -> str:
    """The name of a trace's copy in a run folder: the file's name after 8 digits of its hash, since
    two files may share a name.
    """
    return f"{recording.digest[:8]}-{recording.path.name}"


def keep_traces(folder: Path, scenario: Scenario) -> None:
    """Copy the scenario's traces into the run folder, which makes it independent of their files."""
    copy_traces(folder, recordings(scenario))


def copy_traces(folder: Path, of: Iterable[Recording]) -> None:
    """Copy recorded rates into a run folder; copies that exist stay."""
    for recording in of:
        copy = folder / "traces" / trace_file(recording)
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            atomic_write(copy, recording.path.read_bytes())


def flows_frame(summaries: Iterable[RunFlows], extra: Iterable[Mapping[str, Any]] | None = None) -> pl.DataFrame:
    """One row for each seed and flow: the fields of `simulate --json`, nested names joined by
    underscores.
    """
    import polars as pl

    summaries = list(summaries)
    all_columns = list(extra) if extra is not None else [{}] * len(summaries)
    rows = [
        {"seed": summary["seed"], **columns, **flat(flow)}
        for summary, columns in zip(summaries, all_columns, strict=True)
        for flow in summary["flows"]
    ]
    return typed_nulls(pl.DataFrame(rows, infer_schema_length=None))


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested names joined by underscores."""
    columns: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            columns.update(flat(value, f"{prefix}{key}_"))
        else:
            columns[f"{prefix}{key}"] = value
    return columns


def entries_frame(entries: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """A row for each entry of a document, nested names joined by underscores."""
    import polars as pl

    return pl.DataFrame([flat(entry) for entry in entries], infer_schema_length=None, strict=False)
