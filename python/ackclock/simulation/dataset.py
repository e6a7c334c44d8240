"""The results of a list of runs, in a run folder or in memory."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import InputError
from ackclock.simulation import engine, run_files
from ackclock.simulation.run_list import ChunkWork, RunList
from ackclock.simulation.runner import RunResult, RunSpec
from ackclock.simulation.throughput import with_models
from ackclock.storage import atomic_files, dataset_files, temporary_files
from ackclock.storage.dataset_files import CHUNK_FILE, CHUNKS, INDEX, TABLES

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class ChunkTables:
    """The results of one chunk: its tables, and a digest over its runs in order.

    The digest is SHA-256 over number, seed, varied values and summary of each run.
    """

    tables: Mapping[str, pl.DataFrame]
    digest: str

    @classmethod
    def of(cls, work: ChunkWork, output: engine.BatchOutput) -> ChunkTables:
        """The tables of a chunk from the engine's output for its runs."""
        import polars as pl

        digest = sha256()
        rows: list[dict[str, Any]] = []
        flows: list[dict[str, Any]] = []
        texts = iter(output.summaries)
        numbers = itertools.count(work.first)
        for part in work.points:
            planned = part.plan.document["flows"]
            label = json.dumps(part.columns, sort_keys=True)
            for seed, _ in part.runs:
                number, text = next(numbers), next(texts)
                digest.update(f"{number} {seed} {label}\n{text}\n".encode())
                summary = with_models(json.loads(text), planned)
                key = {"run": number, **part.columns, "seed": seed}
                rows.append({**key, **work.metrics(summary)})
                flows += [{**key, **run_files.flat(flow)} for flow in summary["flows"]]
        tables = {
            "runs": _typed(pl.DataFrame(rows, infer_schema_length=None), work.types),
            "flows": _typed(pl.DataFrame(flows, infer_schema_length=None), work.types),
            "series": output.series,
            "hops": output.hops,
            "summaries": pl.DataFrame({"run": [row["run"] for row in rows], "summary": output.summaries}).with_columns(
                pl.col("run").cast(pl.UInt64)
            ),
        }
        return cls(tables, digest.hexdigest())


def _typed(frame: pl.DataFrame, types: Mapping[str, type]) -> pl.DataFrame:
    """A table with the column types that the chunks of a dataset have in common."""
    import polars as pl

    dtypes: dict[type, Any] = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}
    casts = [pl.col(key).cast(dtypes[type_]) for key, type_ in types.items()]
    keys = [pl.col(key).cast(pl.UInt64) for key in ("run", "seed")]
    return frame.with_columns(*casts, *keys).with_columns(pl.col(pl.Null).cast(pl.Float64))


class Dataset:
    """The results of a list of runs, in a run folder or in memory."""

    def __init__(self, runs: RunList, folder: Path | None = None) -> None:
        self.runs = runs
        self.folder = folder
        self._in_memory: dict[int, ChunkTables] = {}

    def missing(self) -> list[int]:
        """The indices of the chunks without results."""
        return [index for index in range(len(self.runs.chunks)) if not self.has(index)]

    def has(self, index: int) -> bool:
        """Whether a chunk has results."""
        if self.folder is None:
            return index in self._in_memory
        return self.joined or self._chunk_folder(index).is_dir()

    @property
    def joined(self) -> bool:
        """Whether the run folder has the joined tables of all runs."""
        return self.folder is not None and (self.folder / INDEX).is_file()

    def put(self, index: int, results: ChunkTables) -> None:
        """Store the results of a chunk."""
        if self.folder is None:
            self._in_memory[index] = results
            return
        chunk = self.runs.chunks[index]
        with atomic_files.folder_by_rename(self._chunk_folder(index)) as folder:
            for name, table in results.tables.items():
                atomic_files.write_parquet(folder / f"{name}.parquet", table)
            about = {"first": chunk.start, "runs": len(chunk), "digest": results.digest}
            atomic_files.write_json(folder / CHUNK_FILE, about)

    def open(self) -> None:
        """Create the folder of the chunks and remove the temporary files of ended processes."""
        if self.folder and not self.joined:
            (self.folder / CHUNKS).mkdir(parents=True, exist_ok=True)
            temporary_files.sweep(self.folder / CHUNKS, alone=False)

    def digest(self) -> str:
        """SHA-256 over the digests of all chunks in order: equal results have equal digests."""
        if self.folder and self.joined:
            return str(dataset_files.read_index(self.folder)["digest"])
        return sha256("".join(self._digest(index) for index in range(len(self.runs.chunks))).encode()).hexdigest()

    def _digest(self, index: int) -> str:
        if self.folder is None:
            return self._in_memory[index].digest
        about = json.loads((self._chunk_folder(index) / CHUNK_FILE).read_text())
        chunk = self.runs.chunks[index]
        if (about["first"], about["runs"]) != (chunk.start, len(chunk)):
            raise InputError.problem(
                f"chunk {index} has other runs than this sweep",
                "give another --out, or --force",
                file=str(self.folder),
            )
        return str(about["digest"])

    def join(self) -> None:
        """Write the tables of all chunks as few files; `clear` then removes the chunks.

        An interrupted call leaves the chunks, and the next one writes the same bytes.
        """
        if self.folder is None or self.joined:
            return
        chunks = [self._chunk_folder(index) for index in range(len(self.runs.chunks))]
        for name in TABLES:
            dataset_files.join(self.folder, name, chunks)
        index = {"runs": len(self.runs), "chunks": len(self.runs.chunks), "digest": self.digest()}
        atomic_files.write_json(self.folder / INDEX, index)

    def clear(self) -> None:
        """Remove the chunks of a joined dataset."""
        if self.folder:
            shutil.rmtree(self.folder / CHUNKS, ignore_errors=True)

    def table(self, name: str) -> pl.DataFrame:
        """A table of all runs, in the order of the runs."""
        return self.scan(name).collect()

    def scan(self, name: str) -> pl.LazyFrame:
        """A table of all runs as a lazy frame: a filter on `run` reads what it needs."""
        import polars as pl

        if self.folder is None:
            parts = [self._in_memory[index].tables[name] for index in sorted(self._in_memory)]
            return pl.concat(parts, how="diagonal_relaxed").lazy()
        if self.joined:
            return dataset_files.scan(self.folder, name)
        paths = [self._chunk_folder(i) / f"{name}.parquet" for i in range(len(self.runs.chunks)) if self.has(i)]
        return pl.concat([pl.scan_parquet(path, glob=False) for path in paths], how="diagonal_relaxed")

    def result(self, number: int) -> DatasetRun:
        """One run; its tables are read on access."""
        return DatasetRun(self, number)

    def results(self, point: int) -> tuple[DatasetRun, ...]:
        """The runs of a point, in the order of the seeds."""
        return tuple(self.result(number) for number in self.runs.numbers(point))

    def metrics(self) -> list[list[dict[str, float]]]:
        """For each point the metrics of its runs, in the order of the seeds; a metric without a
        value is left out.
        """
        table = self.table("runs").drop("run", "seed", *self.runs.param_types, strict=False)
        rows = [{name: v for name, v in row.items() if v is not None} for row in table.iter_rows(named=True)]
        each = len(self.runs.seeds)
        return [rows[i : i + each] for i in range(0, len(rows), each)]

    def _chunk_folder(self, index: int) -> Path:
        assert self.folder is not None
        return self.folder / CHUNKS / f"{index:05d}"


@dataclass(frozen=True)
class DatasetRun:
    """One run of a dataset, with the attributes of a `RunResult`."""

    data: Dataset = field(repr=False)
    number: int

    @cached_property
    def spec(self) -> RunSpec:
        """The scenario and the seed."""
        return self.data.runs.spec(self.number)

    @property
    def params(self) -> Mapping[str, Any]:
        """The varied values."""
        return self.data.runs.params[self.data.runs.point(self.number)]

    @property
    def seed(self) -> int:
        """The seed."""
        return self.data.runs.seed(self.number)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The fields of `simulate --json`."""
        import polars as pl

        found = self.data.scan("summaries").filter(pl.col("run") == self.number).collect()
        return with_models(json.loads(found["summary"][0]), self.spec.plan.document["flows"])

    @property
    def series(self) -> pl.DataFrame:
        """Time series per flow, columns as in series.parquet."""
        return self._samples("series")

    @property
    def hops(self) -> pl.DataFrame:
        """Time series per hop, columns as in hops.parquet."""
        return self._samples("hops")

    def _samples(self, name: str) -> pl.DataFrame:
        import polars as pl

        if not self.data.runs.keeps_series(self.number):
            # The same seed gives the same samples.
            return self._simulated.series if name == "series" else self._simulated.hops
        return self.data.scan(name).filter(pl.col("run") == self.number).drop("run").collect()

    @cached_property
    def _simulated(self) -> RunResult:
        return RunResult(self.spec, *_simulate(self.spec))


def _simulate(spec: RunSpec) -> tuple[dict[str, Any], engine.EngineOutput]:
    output = engine.run(spec.plan)
    return output.summary, output
