"""Runs of one scenario with one seed, on all cores; each result is written to disk when its run
ends.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import congestion_control
from ackclock.errors import RunFailed
from ackclock.input.scenario.model import Scenario
from ackclock.notebook import Progress, notebook_progress
from ackclock.simulation import engine, run_files, worker_process
from ackclock.simulation.limits import explained
from ackclock.simulation.plan import Capture, Plan, build_plan
from ackclock.storage import atomic_files, run_kind, temporary_files
from ackclock.storage.environment import engine_digest, environment
from ackclock.storage.stored_files import read_json, read_table

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.engine import Summary


@dataclass(frozen=True)
class RunSpec:
    """One run to execute.

    `params` has the varied values, for tables; `captures` is "pcap", "pcapng" or None; `offloads`
    merges the captured segments as the hosts' GSO, TSO and GRO do.
    """

    scenario: Scenario
    seed: int
    params: Mapping[str, Any] = field(default_factory=dict)
    captures: str | None = None
    offloads: bool = False

    @cached_property
    def plan(self) -> Plan:
        return build_plan(self.scenario, self.seed)

    @cached_property
    def key(self) -> str:
        """16 hex digits over the plan and the engine: equal keys have equal results."""
        return sha256(f"{self.plan.digest} {engine_digest()}".encode()).hexdigest()[:16]

    @cached_property
    def capture_names(self) -> dict[str, tuple[str, str]]:
        """The flow and the end of each capture, by file name; empty without captures."""
        if self.captures is None:
            return {}
        suffix = f"offloads.{self.captures}" if self.offloads else self.captures
        flows = self.plan.flow_names
        return {f"{flow}.{end}.{suffix}": (flow, end) for flow in flows for end in ("server", "client")}

    def capture_plan(self, folder: Path) -> Plan:
        """The plan with captures of every flow at both ends, written to `folder`."""
        captures = [
            Capture(flow, end, folder / name, self.captures or "pcap", offloads=self.offloads)
            for name, (flow, end) in self.capture_names.items()
        ]
        return build_plan(self.scenario, self.seed, captures)

    def captures_exist(self, folder: Path, prefix: str = "") -> bool:
        """Whether a folder has every capture of this run."""
        return all((folder / f"{prefix}{name}").exists() for name in self.capture_names)

    def label(self) -> str:
        values = [f"{key}={value}" for key, value in self.params.items() if value != ""]
        return " ".join([*values, f"seed {self.seed}"])


class RunResult:
    """The result of a run.

    `summary` has the fields of `simulate --json`; the tables are read on access.
    """

    def __init__(self, spec: RunSpec, summary: Summary, stored: engine.EngineOutput | Path) -> None:
        self.spec = spec
        self.summary = explained(summary, spec.plan.document)
        self._stored = stored

    @property
    def params(self) -> Mapping[str, Any]:
        return self.spec.params

    @property
    def seed(self) -> int:
        return self.spec.seed

    @property
    def folder(self) -> Path | None:
        """The run's own folder; None without a run folder."""
        return self._stored if isinstance(self._stored, Path) else None

    @property
    def series(self) -> pl.DataFrame:
        """Time series per flow, columns as in series.parquet."""
        return self._table("series")

    @property
    def hops(self) -> pl.DataFrame:
        """Time series per hop, columns as in hops.parquet."""
        return self._table("hops")

    def _table(self, name: str) -> pl.DataFrame:
        if isinstance(self._stored, Path):
            return read_table(self._stored / f"{name}.parquet")
        return self._stored.series if name == "series" else self._stored.hops


class RunStore:
    """The finished runs of a run folder, each in `cells/<key>/`, which is a run folder itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cells = folder / "cells"

    def open(self) -> None:
        """Create the folder and remove the temporary files of ended processes."""
        self.cells.mkdir(parents=True, exist_ok=True)
        temporary_files.sweep(self.cells, alone=False)

    def find(self, spec: RunSpec) -> RunResult | None:
        """The stored result of a run; None without one."""
        folder = self.cells / spec.key
        if not folder.is_dir() or not spec.captures_exist(folder / "captures"):
            return None
        return RunResult(spec, _read_summary(folder), folder)

    def save(self, spec: RunSpec, result: engine.EngineOutput, captures: Path | None = None) -> RunResult:
        """Store a result. Its folder appears by a rename, complete."""
        run_files.keep_traces(self.folder, spec.scenario)
        one_seed = spec.scenario.with_seeds([spec.seed])
        final = self.cells / spec.key
        if captures and final.exists():  # the same run, stored without captures
            shutil.rmtree(final)
        with atomic_files.folder_by_rename(final) as folder:
            run_files.write_scenario(folder, one_seed, traces="../../traces")
            atomic_files.write_json(folder / "environment.json", environment([spec.seed]))
            atomic_files.write_parquet(folder / "flows.parquet", run_files.flows_frame([result.summary]))
            atomic_files.write_parquet(folder / "series.parquet", result.series)
            atomic_files.write_parquet(folder / "hops.parquet", result.hops)
            atomic_files.write_json(folder / run_kind.SIMULATE.document, result.summary)
            if captures:
                captures.rename(folder / "captures")
        return RunResult(spec, result.summary, final)


def _read_summary(folder: Path) -> Summary:
    summary: Summary = read_json(folder / run_kind.SIMULATE.document)
    return summary


def run_specs(
    specs: Sequence[RunSpec],
    *,
    workers: int | None = None,
    store: RunStore | None = None,
    progress: Progress | None = None,
) -> list[RunResult]:
    """Execute runs on `workers` threads (default: all cores). Results keep the order of `specs`.

    With a `store`, stored results are reused and each new one is stored when its run ends. An
    interrupted call loses only the runs in progress.

    Raises:
        RunFailed: a run failed.
        KeyboardInterrupt: Ctrl-C; finished runs are stored.
    """
    results: dict[int, RunResult] = {}
    if store:
        store.open()
        results = {index: result for index, spec in enumerate(specs) if (result := store.find(spec))}
    missing = [index for index in range(len(specs)) if index not in results]
    progress = progress or notebook_progress()
    if progress:
        progress(len(results), len(specs), "from an earlier run" if results else "")
    with executor(workers) as threads:
        in_subprocess = len(missing) > 1 and all(map(congestion_control.is_importable, _user_classes(specs)))
        futures: dict[Future[engine.EngineOutput], int] = {}
        for index in missing:
            futures[_submit(threads, specs[index], store, in_subprocess=in_subprocess)] = index
        for future in as_completed(futures):
            index = futures[future]
            results[index] = _take(specs[index], future, store)
            if progress:
                progress(len(results), len(specs), specs[index].label())
    return [results[index] for index in range(len(specs))]


def _user_classes(specs: Sequence[RunSpec]) -> set[str]:
    return {name for spec in specs for name in spec.plan.user_classes}


def _submit(
    executor: Executor, spec: RunSpec, store: RunStore | None, *, in_subprocess: bool
) -> Future[engine.EngineOutput]:
    """Submit a run.

    One with a congestion control in Python gets a process of its own: threads would share the
    interpreter's lock.
    """
    in_subprocess = in_subprocess and bool(spec.plan.user_classes)
    run = partial(worker_process.call, engine.run) if in_subprocess else engine.run
    if not spec.captures or store is None:
        return executor.submit(run, spec.plan)
    folder = _capture_folder(spec, store)
    folder.mkdir(exist_ok=True)
    return executor.submit(run, spec.capture_plan(folder))


def _capture_folder(spec: RunSpec, store: RunStore) -> Path:
    return temporary_files.beside(store.cells / f"captures-{spec.key}")


def _take(spec: RunSpec, future: Future[engine.EngineOutput], store: RunStore | None) -> RunResult:
    try:
        result = future.result()
    except RunFailed as error:
        raise error.within(spec.label()) from error
    if store is None:
        return RunResult(spec, result.summary, result)
    return store.save(spec, result, _capture_folder(spec, store) if spec.captures else None)


@contextmanager
def executor(workers: int | None) -> Iterator[Executor]:
    """Threads, all cores without a number; an exception in the block cancels what has not begun."""
    threads = ThreadPoolExecutor(workers or os.cpu_count() or 1)
    try:
        yield threads
    except BaseException:
        # Do not wait: running threads cannot be stopped, and finished results are stored.
        threads.shutdown(wait=False, cancel_futures=True)
        raise
    threads.shutdown()
