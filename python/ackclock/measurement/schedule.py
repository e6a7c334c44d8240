"""Scheduled measurements, which continue after a restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from ackclock.errors import InputError, RunFailed
from ackclock.measurement.folder import DOCUMENT, is_complete
from ackclock.storage import run_kind
from ackclock.storage.atomic_files import write_json
from ackclock.storage.run_folder import Identity, RunFolder
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.documents.measure import Measurement
    from ackclock.documents.parts import Direction

STATE = run_kind.SCHEDULE.document
LOOK_S = 1.0
"""Maximum duration of a sleep, since the wall clock may be set and a suspended machine wakes
late.
"""


@dataclass(frozen=True)
class Schedule:
    """``times`` measurements, one ``every_s`` seconds after the other."""

    every_s: float
    times: int

    def due(self, began: float, number: int) -> float:
        """The start of a measurement by the wall clock, so that a restart keeps the schedule."""
        return began + number * self.every_s


class ScheduledRun(TypedDict, total=False):
    """A measurement that began, with its folder or the reason of its failure; or a missed one."""

    began: str
    began_s: float
    folder: str
    failed: str
    missed: bool


class ScheduleState(TypedDict):
    """schedule.json: what is measured, how often, and the measurements by number."""

    every_s: float
    times: int
    what: Mapping[str, Any]
    began: float
    runs: dict[str, ScheduledRun]


class ScheduleRow(TypedDict):
    """A measurement with its results, or the reason of their absence."""

    number: int
    began: str | None
    failed: str | None
    capacity_down_bps: NotRequired[float | None]
    goodput_down_bps: NotRequired[float | None]
    loss_down: NotRequired[float | None]
    capacity_up_bps: NotRequired[float | None]
    goodput_up_bps: NotRequired[float | None]
    loss_up: NotRequired[float | None]


def keep(
    folder: Path,
    schedule: Schedule,
    what: Mapping[str, Any],
    once: Callable[[Path], object],
    *,
    report: Callable[[str], None],
    force: bool = False,
    now: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> ScheduleState:
    """Run the schedule or the rest of it. The folder has its state, updated after each measurement.

    ``what`` identifies the measurement; a folder with another schedule or plan is refused, or
    renamed with ``force``. ``once`` measures into a folder. A failure is recorded and does not end
    the schedule. A measurement whose time has passed is recorded as missed, except the latest one,
    which begins at once. Returns the state.

    Raises:
        InputError: the folder has other contents.
    """
    request = {"every_s": schedule.every_s, "times": schedule.times, "what": what}
    with RunFolder(folder, Identity.of(run_kind.SCHEDULE.command, request, any_engine=True), force=force) as run:
        if (folder / STATE).is_file():
            state: ScheduleState = read_json(folder / STATE)
        else:
            state = {"every_s": schedule.every_s, "times": schedule.times, "what": what, "began": now(), "runs": {}}
            write_json(folder / STATE, state)
        for number in range(schedule.times):
            if str(number) in state["runs"]:
                continue
            if now() >= schedule.due(state["began"], number + 1) and number + 1 < schedule.times:
                state["runs"][str(number)] = {"missed": True}
                write_json(folder / STATE, state)
                continue
            # After a late start, as after a restart, the next one keeps its distance.
            previous = state["runs"].get(str(number - 1), {}).get("began_s")
            due = schedule.due(state["began"], number)
            due = due if previous is None else max(due, previous + schedule.every_s)
            while (left := due - now()) > 0:
                sleep(min(left, LOOK_S))
            report(f"measurement {number + 1} of {schedule.times}")
            state["runs"][str(number)] = _measure_once(folder / f"{number:05d}", once, now())
            write_json(folder / STATE, state)
        run.finish()
    return state


def _measure_once(folder: Path, once: Callable[[Path], object], began: float) -> ScheduledRun:
    at: ScheduledRun = {"began": datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"), "began_s": began}
    if is_complete(folder):
        # The process ended between the measurement and its record.
        return {**at, "folder": folder.name}
    try:
        once(folder)
    except (InputError, RunFailed) as error:
        return {**at, "failed": str(error)}
    return {**at, "folder": folder.name}


def overview(folder: Path, state: ScheduleState) -> list[ScheduleRow]:
    """A row for each measurement: its results or the reason of their absence."""
    rows = []
    for number, run in sorted(state["runs"].items(), key=lambda one: int(one[0])):
        failed = run.get("failed") or ("missed" if run.get("missed") else None)
        row: ScheduleRow = {"number": int(number), "began": run.get("began"), "failed": failed}
        if "folder" in run:
            found: Measurement = read_json(folder / run["folder"] / DOCUMENT)
            row["capacity_down_bps"], row["goodput_down_bps"], row["loss_down"] = _figures(found, "down")
            row["capacity_up_bps"], row["goodput_up_bps"], row["loss_up"] = _figures(found, "up")
        rows.append(row)
    return rows


def _figures(found: Measurement, direction: Direction) -> tuple[float | None, float | None, float | None]:
    """Capacity, largest goodput of a single transfer, and loss of sparse datagrams."""
    goodputs = [
        goodput
        for flow in found["flows"]
        if flow["purpose"] == "tcp" and flow["direction"] == direction
        if (goodput := flow["goodput_bps"]) is not None
    ]
    capacity, loss = capacity_and_loss(found, direction)
    return capacity, max(goodputs, default=None), loss


def capacity_and_loss(found: Measurement, direction: Direction) -> tuple[float | None, float | None]:
    """The capacity of a direction in b/s and its loss of sparse datagrams, where measured."""
    capacity, delay = found["capacity"].get(direction), (found["delay"] or {}).get(direction)
    loss = delay.get("loss") if delay else None
    return capacity.get("rate_bps") if capacity else None, loss["rate"] if loss else None
