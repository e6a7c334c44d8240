"""The Rust engine: runs plans, returns summaries and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.errors import RunFailed, native_errors

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.engine import Summary
    from ackclock.simulation.plan import Plan


@dataclass(frozen=True)
class EngineOutput:
    """The engine's output for one plan: the summary (the fields of `simulate --json`) and the
    sampled tables.
    """

    summary: Summary
    series: pl.DataFrame
    hops: pl.DataFrame


def run(plan: Plan) -> EngineOutput:
    """Run a plan. The interpreter's lock is released meanwhile, so threads run in parallel.

    Raises RunFailed; the message has the traceback of a congestion control in Python that raised.
    """
    import polars as pl

    from ackclock import _native, congestion_control

    try:
        with native_errors():
            done = _native.run(plan.text(), congestion_control.classes(plan.user_classes))
    except _native.ControlError as error:
        raise RunFailed(congestion_control.traceback_of(error)) from error.__cause__
    return EngineOutput(done.summary(), pl.DataFrame(done.series()), pl.DataFrame(done.hops()))


@dataclass(frozen=True)
class BatchOutput:
    """The engine's output for several runs: their summaries, and the sampled tables with the run's
    number as `run`. `stored` has the summaries as JSON, as a dataset keeps them.
    """

    summaries: list[Summary]
    stored: pl.DataFrame
    series: pl.DataFrame
    hops: pl.DataFrame


class Batches:
    """Threads of the engine. Several threads of Python may call `run` at a time."""

    def __init__(self, threads: int) -> None:
        from ackclock import _native

        self._native = _native.Batches(threads)

    def run(self, plans: Sequence[Plan], runs: Sequence[tuple[int, int, bool]], first: int) -> BatchOutput:
        """Run plans with other seeds: for each run the index of its plan, its seed, and whether its
        series are kept.

        The first run has the number `first`; the plans have no captures.

        Raises RunFailed; its `run` is the index of the run that failed.
        """
        import polars as pl

        from ackclock import _native, congestion_control

        names = {name for plan in plans for name in plan.user_classes}
        controls = congestion_control.classes(sorted(names))
        try:
            with native_errors():
                done = self._native.run([plan.text() for plan in plans], list(runs), first, controls or None)
        except _native.ControlError as error:
            failed = RunFailed(congestion_control.traceback_of(error))
            failed.run = getattr(error, "run", None)
            raise failed from error.__cause__
        except RunFailed as error:
            error.run = getattr(error.__context__, "run", None)
            raise
        tables = (pl.DataFrame(table) for table in (done.stored_summaries(), done.series(), done.hops()))
        return BatchOutput(done.summaries(), *tables)

    def stop(self) -> None:
        """End the runs in progress; `run` raises RunFailed."""
        self._native.stop()
