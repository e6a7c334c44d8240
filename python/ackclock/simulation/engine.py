"""The Rust engine: runs a plan, returns a summary and tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock.errors import RunFailed, native_errors

if TYPE_CHECKING:
    import polars as pl

    from ackclock.simulation.plan import Plan


@dataclass(frozen=True)
class EngineOutput:
    """The engine's output for one plan: the summary (the fields of `simulate --json`) and the
    sampled tables.
    """

    summary: dict[str, Any]
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
            done = _native.run(plan.text(), congestion_control.classes(congestion_control.names_in(plan.document)))
    except _native.ControlError as error:
        raise RunFailed(congestion_control.traceback_of(error)) from error.__cause__
    return EngineOutput(json.loads(done.summary()), pl.DataFrame(done.series()), pl.DataFrame(done.hops()))
