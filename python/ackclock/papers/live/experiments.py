"""The experiments of a paper, live: an emulation for each setting, several at a time, stored and
reused as simulated runs are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, cast

from ackclock.errors import RunFailed
from ackclock.notebook import Progress
from ackclock.papers.evidence import Unobservable
from ackclock.papers.experiments import ExperimentRuns, Experiments, Setting, experiments_file, settings_of
from ackclock.papers.live import run as live
from ackclock.papers.live.job import BUFFERS, NOTES, Budget, Job, available, jobs_of
from ackclock.papers.live.summary import LiveSummary
from ackclock.simulation.runner import RunResult
from ackclock.statistics import Interval, interval

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.engine import DirectionReport
    from ackclock.papers.documents import LiveDocument, LiveRow

AT_ONCE = 6
"""Concurrent emulations: each link is slow and mostly idle."""


@dataclass(frozen=True)
class LiveResult:
    """A run of one setting, with the attributes of a simulated run that evaluators use."""

    runs: Sequence[live.LiveRun]
    summary: LiveSummary

    @classmethod
    def of(cls, done: Sequence[live.LiveRun]) -> LiveResult:
        """The result of several emulations of one setting, if each of its flows has its own
        link.
        """
        summaries = [each.summary for each in done]
        flows = [flow for summary in summaries for flow in summary["flows"]]
        hops = [hop for summary in summaries for hop in summary["hops"]]
        return cls(done, {"flows": flows, "hops": hops})

    @property
    def series(self) -> pl.DataFrame:
        """The senders' samples of TCP_INFO."""
        return self.runs[0].series

    @property
    def hops(self) -> pl.DataFrame:
        """Unobservable: a measurement observes a path, not its queues."""
        raise Unobservable("queues of the link's hops, which a measurement of the path cannot observe")

    def analysis(self, flow: str) -> DirectionReport:
        """The analysis of a flow's data direction, from the captures of both ends."""
        return self.runs[0].summary["analyses"][flow]


class LiveExperimentRuns(ExperimentRuns):
    """The runs of an experiment, by setting. A setting that could not be run raises the reason on
    access. ``on_invalid`` is called with the reason why a run for was not valid."""

    on_invalid: Callable[[str], None]

    def __init__(
        self, results: Sequence[tuple[Setting, Sequence[LiveResult] | str]], on_invalid: Callable[[str], None]
    ) -> None:
        super().__init__([(place, cast("Sequence[RunResult]", found)) for place, found in results])
        # A tuple, since `Measured` is frozen.
        object.__setattr__(self, "on_invalid", on_invalid)

    def at(self, network: str, scheme: str, **swept: Any) -> Sequence[RunResult]:
        """As for simulated runs. Raises Unobservable."""
        found = super().at(network, scheme, **swept)
        if isinstance(found, str):
            raise Unobservable(found)
        for result in cast("Sequence[LiveResult]", found):
            for run in result.runs:
                if not run.audit["valid"]:
                    self.on_invalid(run.audit["why"])
        return found

    def mean(self, measure: Callable[[RunResult], float], network: str, scheme: str, **swept: Any) -> Interval:
        """The same for live runs as for simulated runs. Raises Unobservable."""
        return interval([measure(result) for result in self.at(network, scheme, **swept)])


@dataclass
class _Asked:
    """All jobs, without duplicates: two experiments may share a setting."""

    jobs: dict[str, Job] = field(default_factory=dict)
    of: dict[str, list[tuple[Setting, list[list[str]] | str]]] = field(default_factory=dict)


class LiveExperiments(Experiments):
    """Runs all experiments of a paper on first use: they take real time, so they run
    concurrently.
    """

    def __init__(
        self, paper: str, budget: Budget, folder: Path, workers: int | None = None, progress: Progress | None = None
    ) -> None:
        super().__init__(tuple(range(1, budget.repeats + 1)), workers, folder, progress, paper)
        self.budget = budget
        self.store = folder / "live"
        self.failed: dict[str, str] = {}
        self.invalid_reasons: list[str] = []
        """Reasons of invalid runs since the last reset."""
        self._runs: dict[str, live.LiveRun] | None = None
        self._asked = _Asked()

    def _run(self, name: str) -> ExperimentRuns:
        if self._runs is None:
            self._runs = self._everything()
        return LiveExperimentRuns(
            [(place, self._results(keys)) for place, keys in self._asked.of[name]], self.invalid_reasons.append
        )

    def analysed(self, result: RunResult, flow: str, direction: str) -> DirectionReport:
        """The analysis of the captures of both ends, made before their removal."""
        return cast("LiveResult", result).analysis(flow)

    def _results(self, keys: list[list[str]] | str) -> list[LiveResult] | str:
        if isinstance(keys, str):
            return keys
        if failed := [self.failed[key] for repeat in keys for key in repeat if key in self.failed]:
            return failed[0]
        done = self._runs or {}
        return [LiveResult.of([done[key] for key in repeat]) for repeat in keys]

    def _everything(self) -> dict[str, live.LiveRun]:
        for name, experiment in experiments_file(self.paper)["experiments"].items():
            self._asked.of[name] = [
                (place, self._ask(scenario)) for place, scenario in settings_of(experiment, self.paper)
            ]
        self.store.mkdir(parents=True, exist_ok=True)
        done = {key: found for key, job in self._asked.jobs.items() if (found := live.find(self.store, job))}
        missing = [job for key, job in self._asked.jobs.items() if key not in done]
        self._describe(len(done), "taken from an earlier run" if done else "")
        for job, made in self._all(missing):
            if isinstance(made, str):
                self.failed[job.key] = made
            else:
                done[job.key] = made
            self._describe(len(done) + len(self.failed), f"{job.seconds:.0f} s of {_label(job)}")
        return done

    def _ask(self, scenario: Any) -> list[list[str]] | str:
        keys = []
        for seed in self._seeds:
            try:
                jobs = jobs_of(scenario, self.budget, seed)
            except Unobservable as why:
                return str(why)
            self._asked.jobs.update({job.key: job for job in jobs})
            keys.append([job.key for job in jobs])
        return keys

    def _all(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, live.LiveRun | str]]:
        """The jobs, the longest first, so that the last one does not run alone."""
        stop = Event()
        with ThreadPoolExecutor(self._workers or AT_ONCE) as pool:
            futures: dict[Future[live.LiveRun], Job] = {
                pool.submit(live.run, self.store, job, stop): job for job in sorted(jobs, key=lambda job: -job.seconds)
            }
            try:
                for future in as_completed(futures):
                    try:
                        yield futures[future], future.result()
                    except RunFailed as failed:
                        yield futures[future], str(failed)
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _describe(self, done: int, last: str) -> None:
        if self._progress:
            self._progress(done, len(self._asked.jobs), last)

    def document(self) -> LiveDocument:
        """The runs in the reproduction's document: the kernel, the durations, every run's audit."""
        done = self._runs or {}
        variants = {strand["variant"] for key in done for strand in self._asked.jobs[key].strands}
        notes = [text for variant, text in NOTES.items() if variant in variants]
        return {
            "congestion": sorted(available()),
            "longest_s": self.budget.longest_s,
            "repeats": self.budget.repeats,
            "notes": [*notes, BUFFERS],
            "runs": [self._row(key, done[key]) for key in self._asked.jobs if key in done],
            "failed": list(dict.fromkeys(self.failed.values())),
        }

    def _row(self, key: str, done: live.LiveRun) -> LiveRow:
        names = [
            f"{name} {_place(place)}".strip()
            for name, of in self._asked.of.items()
            for place, keys in of
            if _has(keys, key)
        ]
        return {
            "run": key,
            "places": names,
            "seconds": self._asked.jobs[key].seconds,
            "flows": done.summary["flows"],
            **done.audit,
        }


def _has(keys: list[list[str]] | str, key: str) -> bool:
    return not isinstance(keys, str) and any(key in repeat for repeat in keys)


def _place(place: Setting) -> str:
    return " ".join(str(part) for part in (place.network, place.scheme, *place.point.values()) if part)


def _label(job: Job) -> str:
    return "a walk" if job.walk else ", ".join(name for strand in job.strands for name in strand["names"])
