"""Cells: single runs (one scenario, one seed) on all cores, each kept on disk as soon as it is done."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import congestion_control
from ackclock.errors import InputError, RunFailed
from ackclock.input.scenario.model import Scenario
from ackclock.simulation import engine, run_files, worker_process
from ackclock.simulation.plan import Capture, Plan, build_plan
from ackclock.simulation.throughput import with_models
from ackclock.storage import atomic_files, temporary_files
from ackclock.storage.environment import engine_digest, environment

if TYPE_CHECKING:
    import polars as pl

Progress = Callable[[int, int, str], None]
"""Called with cells done, cells in all, and what was done last."""


@dataclass(frozen=True)
class Cell:
    """One run to do. `params` says what is varied (for tables); `captures` asks for pcap or pcapng of each flow."""

    scenario: Scenario
    seed: int
    params: Mapping[str, Any] = field(default_factory=dict)
    captures: str | None = None

    @cached_property
    def plan(self) -> Plan:
        return build_plan(self.scenario, self.seed)

    @cached_property
    def key(self) -> str:
        """16 hex digits over the plan and the engine: equal keys, equal results."""
        return sha256(f"{self.plan.digest} {engine_digest()}".encode()).hexdigest()[:16]

    def capture_plan(self, folder: Path) -> Plan:
        """The plan with captures of every flow at both ends, written to `folder`."""
        form = self.captures or "pcap"
        captures = [
            Capture(flow["name"], end, folder / f"{flow['name']}.{end}.{form}", form)
            for flow in self.plan.document["flows"]
            for end in ("server", "client")
        ]
        return build_plan(self.scenario, self.seed, captures)

    def label(self) -> str:
        said = [f"{key}={value}" for key, value in self.params.items()]
        return " ".join([*said, f"seed {self.seed}"])


class CellResult:
    """What a cell gave. `summary` has the fields of `simulate --json`; the tables are read when asked for."""

    def __init__(self, cell: Cell, summary: dict[str, Any], kept: engine.RunResult | Path) -> None:
        self.cell = cell
        self.summary = with_models(summary, cell.plan.document["flows"])
        self._kept = kept

    @property
    def params(self) -> Mapping[str, Any]:
        return self.cell.params

    @property
    def seed(self) -> int:
        return self.cell.seed

    @property
    def folder(self) -> Path | None:
        """The cell's run folder; None when nothing was kept on disk."""
        return self._kept if isinstance(self._kept, Path) else None

    @property
    def series(self) -> pl.DataFrame:
        """Time series per flow, columns as in series.parquet."""
        return self._table("series")

    @property
    def hops(self) -> pl.DataFrame:
        """Time series per hop, columns as in hops.parquet."""
        return self._table("hops")

    def _table(self, name: str) -> pl.DataFrame:
        if isinstance(self._kept, Path):
            import polars as pl

            return pl.read_parquet(self._kept / f"{name}.parquet", glob=False)
        return self._kept.series if name == "series" else self._kept.hops


class Store:
    """The finished cells of a run folder, each in `cells/<key>/`, a run folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cells = folder / "cells"

    def open(self) -> None:
        """Make the folder and clear away what a killed run left half written."""
        self.cells.mkdir(parents=True, exist_ok=True)
        temporary_files.sweep(self.cells, alone=False)

    def find(self, cell: Cell) -> CellResult | None:
        """The result of a cell that is already there."""
        folder = self.cells / cell.key
        if not folder.is_dir() or (cell.captures and not (folder / "captures").is_dir()):
            return None
        return CellResult(cell, _read_summary(folder), folder)

    def save(self, cell: Cell, result: engine.RunResult, captures: Path | None = None) -> CellResult:
        """Keep a result; it is there whole or not at all."""
        run_files.keep_traces(self.folder, cell.scenario)
        one_seed = cell.scenario.model_copy(update={"seeds": (cell.seed,)})
        final = self.cells / cell.key
        if captures and final.exists():  # the same run without captures
            shutil.rmtree(final)
        with atomic_files.folder_by_rename(final) as folder:
            run_files.write_scenario(folder, one_seed, traces="../../traces")
            atomic_files.write_json(folder / "environment.json", environment([cell.seed]))
            atomic_files.write_parquet(folder / "flows.parquet", run_files.flows_frame([result.summary]))
            atomic_files.write_parquet(folder / "series.parquet", result.series)
            atomic_files.write_parquet(folder / "hops.parquet", result.hops)
            atomic_files.write_json(folder / "summary.json", result.summary)
            if captures:
                captures.rename(folder / "captures")
        return CellResult(cell, result.summary, final)


def _read_summary(folder: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary


def run_cells(
    cells: Sequence[Cell],
    *,
    workers: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
    dask: str | None = None,
) -> list[CellResult]:
    """Run cells on `workers` threads (default: all cores) or on the Dask cluster at `dask`; results in the order given.

    With a `store`, finished cells are taken from it and new ones kept in it at once, so an interrupted call loses
    only what was under way. Raises RunFailed when a run fails and KeyboardInterrupt through, finished cells kept.
    """
    done: dict[int, CellResult] = {}
    if store:
        store.open()
        done = {index: found for index, cell in enumerate(cells) if (found := store.find(cell))}
    missing = [index for index in range(len(cells)) if index not in done]
    if progress:
        progress(len(done), len(cells), "taken from an earlier run" if done else "")
    with _executor(workers, dask) as executor:
        apart = len(missing) > 1 and not dask and all(map(congestion_control.elsewhere, _user_variants(cells)))
        futures: dict[Future[engine.RunResult], int] = {}
        for index in missing:
            futures[_submit(executor, cells[index], store, apart=apart)] = index
        for future in as_completed(futures):
            index = futures[future]
            done[index] = _take(cells[index], future, store)
            if progress:
                progress(len(done), len(cells), cells[index].label())
    return [done[index] for index in range(len(cells))]


def _user_variants(cells: Sequence[Cell]) -> set[str]:
    return {name for cell in cells for name in congestion_control.names_in(cell.plan.document)}


def _submit(executor: Executor, cell: Cell, store: Store | None, *, apart: bool) -> Future[engine.RunResult]:
    """Runs with a congestion control in Python go into processes of their own (`apart`): threads would take turns."""
    run = worker_process.run if apart and congestion_control.names_in(cell.plan.document) else engine.run
    if not cell.captures or store is None:
        return executor.submit(run, cell.plan)
    folder = _capture_folder(cell, store)
    folder.mkdir(exist_ok=True)
    return executor.submit(run, cell.capture_plan(folder))


def _capture_folder(cell: Cell, store: Store) -> Path:
    return temporary_files.beside(store.cells / f"captures-{cell.key}")


def _take(cell: Cell, future: Future[engine.RunResult], store: Store | None) -> CellResult:
    try:
        result = future.result()
    except RunFailed as error:
        raise error.within(cell.label()) from error
    if store is None:
        return CellResult(cell, result.summary, result)
    return store.save(cell, result, _capture_folder(cell, store) if cell.captures else None)


@contextmanager
def _executor(workers: int | None, dask: str | None) -> Iterator[Executor]:
    if dask:
        with _dask_client(dask) as client:
            yield client.get_executor()
        return
    threads = ThreadPoolExecutor(workers or os.cpu_count() or 1)
    try:
        yield threads
    except BaseException:
        # Do not wait: runs under way cannot be stopped, and what is finished is kept already.
        threads.shutdown(wait=False, cancel_futures=True)
        raise
    threads.shutdown()


def _dask_client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise InputError.problem(
            "--dask requires the package distributed", 'pip install "ackclock[dask]"', option="--dask"
        ) from None
    try:
        return Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        why = f"no Dask scheduler answers at {address} ({error})"
        raise InputError.problem(
            why, "give the address that `dask scheduler` prints, such as tcp://host:8786", option="--dask"
        ) from None
