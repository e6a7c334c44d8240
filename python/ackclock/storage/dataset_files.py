"""The files of a dataset: five tables of all runs of a sweep or a comparison, in few files.

A run folder has `runs/`, `flows/`, `series/`, `hops/` and `summaries/`, each with Parquet files of
one schema: Polars and DuckDB read a table with one call. `run` is the number of the run in every
table.

- runs: a row for each run: the varied values, the seed, the metrics.
- flows: a row for each run and flow: the fields of `simulate --json`, nested names joined by
  underscores.
- series, hops: samples of flows and queues, of the runs whose series are kept.
- summaries: the summary of each run as JSON (docs/inside/plan.md).

While runs are missing, each finished chunk is a folder in `chunks/`, which appears by a rename,
complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict

from ackclock.storage import atomic_files, temporary_files
from ackclock.storage.stored_files import damaged, read_json, scan_table

if TYPE_CHECKING:
    import polars as pl

TABLES = ("runs", "flows", "series", "hops", "summaries")
INDEX = "dataset.json"
"""The file with the number of runs and the digest of a complete dataset."""
CHUNKS = "chunks"
"""The folder of the finished chunks of an unfinished dataset."""
CHUNK_FILE = "chunk.json"
"""The file of a chunk with the numbers of its runs and their digest."""
POINTS = "points.json"
"""The file with the varied values of each point by dotted path, and the seeds."""
ROWS_A_FILE = 4_000_000
"""Maximum rows of a file, but for a chunk with more."""


def chunk_folder(folder: Path, index: int) -> Path:
    """The folder of a finished chunk in a run folder."""
    return folder / CHUNKS / f"{index:05d}"


def scan(folder: Path, name: str) -> pl.LazyFrame:
    """A table of a complete dataset in a run folder."""
    import polars as pl

    paths = sorted((folder / name).glob("*.parquet"))
    if not paths:
        raise damaged(folder / name, "the folder has no Parquet table")
    return pl.concat([scan_table(path) for path in paths])


class DatasetIndex(TypedDict):
    """dataset.json: the number of runs and of chunks, and the digest of the rows."""

    runs: int
    chunks: int
    digest: str


def read_index(folder: Path) -> DatasetIndex:
    """dataset.json of a run folder."""
    index: DatasetIndex = read_json(folder / INDEX)
    return index


def stored_runs(folder: Path) -> int:
    """The number of runs of a complete dataset; 0 without one."""
    return int(read_index(folder)["runs"]) if (folder / INDEX).is_file() else 0


@dataclass(frozen=True)
class Points:
    """points.json, from which each run can be made again: the varied values of each point by dotted
    path, the seeds, and what the points vary, if not scenario.toml.
    """

    seeds: Sequence[int]
    points: Sequence[Mapping[str, Any]]
    scenario: dict[str, Any] | None = None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """That of a dataset."""
        document = read_json(folder / POINTS)
        return cls(document["seeds"], document["points"], document.get("scenario"))

    def write(self, folder: Path) -> None:
        """Write it into a run folder."""
        scenario = {} if self.scenario is None else {"scenario": self.scenario}
        document = {"seeds": list(self.seeds), "points": [dict(point) for point in self.points], **scenario}
        atomic_files.atomic_write(folder / POINTS, json.dumps(document).encode())

    def __len__(self) -> int:
        return len(self.points) * len(self.seeds)

    def of_run(self, number: int) -> tuple[Mapping[str, Any], int]:
        """The point and the seed of a run: all seeds of one point after the other."""
        return self.points[number // len(self.seeds)], self.seeds[number % len(self.seeds)]


def join(folder: Path, name: str, chunks: Sequence[Path]) -> None:
    """Write a table of all chunks as few files of one schema, in the order of the chunks.

    The bytes follow from the chunks: an interrupted call may be repeated.
    """
    import polars as pl

    paths = [chunk / f"{name}.parquet" for chunk in chunks]
    # Columns of chunks without values, and columns that only some chunks have, get the type of the
    # others.
    heads = [pl.read_parquet(path, n_rows=0, glob=False) for path in paths]
    empty = pl.concat(heads, how="diagonal_relaxed")
    target = folder / name
    target.mkdir(exist_ok=True)
    for old in target.iterdir():
        temporary_files.remove(old)
    for number, group in enumerate(_grouped(paths)):
        parts = [pl.read_parquet(path, glob=False) for path in group]
        atomic_files.write_parquet(target / f"{number:05d}.parquet", pl.concat([empty, *parts], how="diagonal_relaxed"))


def _grouped(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Parquet files in groups of at most `ROWS_A_FILE` rows, in order."""
    import polars as pl

    group: list[Path] = []
    rows = 0
    for path in paths:
        here = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        if group and rows + here > ROWS_A_FILE:
            yield group
            group, rows = [], 0
        group.append(path)
        rows += here
    yield group
