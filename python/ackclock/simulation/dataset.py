"""The results of a list of runs, in a run folder or in memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import InputError, RunFailed
from ackclock.json_text import json_value
from ackclock.simulation import engine, run_files
from ackclock.simulation.limits import explained
from ackclock.simulation.run_list import ChunkWork, RunList
from ackclock.simulation.runner import RunResult, RunSpec
from ackclock.storage import atomic_files, dataset_files, remote_folder, run_folder, temporary_files
from ackclock.storage.dataset_files import CHUNK_FILE, CHUNKS, INDEX, TABLES
from ackclock.storage.null_columns import typed_nulls
from ackclock.storage.stored_files import read_json, read_table

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.engine import Summary
    from ackclock.documents.simulate import ExplainedRun
    from ackclock.storage.run_folder import Identity


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
        stored = zip(output.stored.iter_rows(), output.summaries, strict=True)
        for part in work.points:
            for seed, _ in part.runs:
                (number, text), made = next(stored)
                digest.update(run_bytes(number, seed, part.columns, text))
                summary = explained(made, part.plan.document)
                key = {"run": number, **part.columns, "seed": seed}
                rows.append({**key, **work.metrics(summary)})
                flows += [{**key, **run_files.flat(flow)} for flow in summary["flows"]]
        tables = {
            "runs": _typed(pl.DataFrame(rows, infer_schema_length=None), work.types),
            "flows": _typed(pl.DataFrame(flows, infer_schema_length=None), work.types),
            "series": output.series,
            "hops": output.hops,
            "summaries": output.stored,
        }
        return cls(tables, digest.hexdigest())


def run_bytes(number: int, seed: int, columns: Mapping[str, Any], summary: str) -> bytes:
    """The bytes of one run that a chunk's digest covers."""
    return f"{number} {seed} {json.dumps(columns, sort_keys=True)}\n{summary}\n".encode()


def _typed(frame: pl.DataFrame, types: Mapping[str, type]) -> pl.DataFrame:
    """A table with the column types that the chunks of a dataset have in common."""
    import polars as pl

    dtypes: dict[type, Any] = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}
    casts = [pl.col(key).cast(dtypes[type_]) for key, type_ in types.items()]
    keys = [pl.col(key).cast(pl.UInt64) for key in ("run", "seed")]
    return typed_nulls(frame.with_columns(*casts, *keys))


class Dataset:
    """The results of a list of runs, in a run folder or in memory."""

    def __init__(self, runs: RunList, folder: Path | None = None) -> None:
        self.runs = runs
        self.folder = folder
        self._in_memory: dict[int, ChunkTables] = {}
        self._all_here = False

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
        if remote := remote_folder.of(self.folder):
            remote.push(f"{CHUNKS}/{self._chunk_folder(index).name}", last=CHUNK_FILE)

    def open(self) -> None:
        """Create the folder of the chunks and remove the temporary files of ended processes."""
        if self.folder and not self.joined:
            (self.folder / CHUNKS).mkdir(parents=True, exist_ok=True)
            temporary_files.sweep(self.folder / CHUNKS, alone=False)

    def collect(self, parts: Sequence[Path], identity: Identity) -> None:
        """Copy the chunks of other run folders of the same runs, and check that none is missing.

        Raises:
            InputError: a folder of other runs, a chunk whose content is not that of its digest, or
                a chunk that no folder has.
        """
        assert self.folder is not None
        self.open()
        for part in parts:
            if run_folder.identity_in(part) != identity:
                raise InputError(
                    "a folder without chunks of this sweep",
                    "the folders of `sweep --part`",
                    option="--collect",
                    file=remote_folder.shown(part),
                )
            for index in self.missing():
                if (chunk := dataset_files.chunk_folder(part, index)).is_dir():
                    self._check_content(index, chunk)
                    with atomic_files.folder_by_rename(self._chunk_folder(index)) as copy:
                        shutil.copytree(chunk, copy, dirs_exist_ok=True)
        if missing := self.missing():
            first = self.runs.chunks[missing[0]]
            raise InputError.problem(
                f"{len(missing)} of {len(self.runs.chunks)} chunks are in no part; the first is chunk {missing[0]} "
                f"(runs {first.start} to {first.stop - 1})",
                "run the missing part, or give its folder, too",
                option="--collect",
            )

    def _check_content(self, index: int, chunk: Path) -> None:
        """Check the tables of a chunk from elsewhere against its digest."""

        numbers = self.runs.chunks[index]
        about = read_json(chunk / CHUNK_FILE)
        texts = read_table(chunk / "summaries.parquet")
        found = sha256()
        for number, text in texts.iter_rows():
            found.update(run_bytes(number, self.runs.seed(number), self.runs.columns(self.runs.point(number)), text))
        rows = read_table(chunk / "runs.parquet")["run"].to_list()
        if (texts["run"].to_list(), rows, found.hexdigest()) != (list(numbers), list(numbers), about["digest"]):
            raise InputError.problem(
                f"chunk {index} is damaged: its runs do not have its digest",
                "run its part again into another folder",
                option="--collect",
                file=str(chunk),
            )

    def digest(self) -> str:
        """SHA-256 over the digests of all chunks in order: equal results have equal digests."""
        if self.folder and self.joined:
            return str(dataset_files.read_index(self.folder)["digest"])
        return sha256("".join(self._digest(index) for index in range(len(self.runs.chunks))).encode()).hexdigest()

    def _digest(self, index: int) -> str:
        if self.folder is None:
            return self._in_memory[index].digest
        about = read_json(self._chunk_folder(index) / CHUNK_FILE)
        chunk = self.runs.chunks[index]
        if (about["first"], about["runs"]) != (chunk.start, len(chunk)):
            raise InputError.problem(
                f"chunk {index} has other runs than this sweep",
                "give another --out, or --force",
                file=remote_folder.shown(self.folder),
            )
        return str(about["digest"])

    def join(self) -> None:
        """Write the tables of all chunks as few files; `clear` then removes the chunks.

        An interrupted call leaves the chunks, and the next one writes the same bytes.
        """
        if self.folder is None or self.joined:
            return
        self._pull_chunks()
        chunks = [self._chunk_folder(index) for index in range(len(self.runs.chunks))]
        for name in TABLES:
            dataset_files.join(self.folder, name, chunks)
        index = {"runs": len(self.runs), "chunks": len(self.runs.chunks), "digest": self.digest()}
        atomic_files.write_json(self.folder / INDEX, index)

    def clear(self) -> None:
        """Remove the chunks of a joined dataset."""
        if self.folder:
            shutil.rmtree(self.folder / CHUNKS, ignore_errors=True)
            if remote := remote_folder.of(self.folder):
                remote.remove_chunks()

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
        self._pull_chunks()
        paths = [self._chunk_folder(i) / f"{name}.parquet" for i in range(len(self.runs.chunks)) if self.has(i)]
        return pl.concat([pl.scan_parquet(path, glob=False) for path in paths], how="diagonal_relaxed")

    def result(self, number: int) -> DatasetRun:
        """One run; its tables are read on access."""
        return DatasetRun(self, number)

    def results(self, point: int) -> tuple[DatasetRun, ...]:
        """The runs of a point, in the order of the seeds."""
        return tuple(self.result(number) for number in self.runs.numbers(point))

    def summaries(self, numbers: Sequence[int]) -> Iterator[Summary]:
        """The engine's summaries of these runs, in ascending order, without the flows' limits."""
        import polars as pl

        found = self.scan("summaries").filter(pl.col("run").is_in(list(numbers))).collect()
        yield from map(json_value, found["summary"])

    def metrics(self) -> list[list[dict[str, float]]]:
        """For each point the metrics of its runs, in the order of the seeds; a metric without a
        value is left out.
        """
        table = self.table("runs").drop("run", "seed", *self.runs.param_types, strict=False)
        rows = [{name: v for name, v in row.items() if v is not None} for row in table.iter_rows(named=True)]
        each = len(self.runs.seeds)
        return [rows[i : i + each] for i in range(0, len(rows), each)]

    def _pull_chunks(self) -> None:
        """Copy the tables of all chunks to this machine, where another process may have stored
        some.
        """
        if self.folder and not self._all_here and (remote := remote_folder.of(self.folder)):
            remote.pull_chunks()
            here = [self._chunk_folder(index) for index in range(len(self.runs.chunks)) if self.has(index)]
            if not all((chunk / f"{name}.parquet").is_file() for chunk in here for name in TABLES):
                raise RunFailed(
                    f"another process has finished or removed the chunks of {remote.shown}",
                    "run the same command again",
                )
            self._all_here = not self.missing()

    def _chunk_folder(self, index: int) -> Path:
        assert self.folder is not None
        return dataset_files.chunk_folder(self.folder, index)


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
    def summary(self) -> ExplainedRun:
        """The fields of `simulate --json`."""
        (summary,) = self.data.summaries([self.number])
        return explained(summary, self.spec.plan.document)

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
        output = engine.run(self.spec.plan)
        return RunResult(self.spec, output.summary, output)
