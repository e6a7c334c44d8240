"""Scheduled measurements, which continue after a restart."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, RunFailed
from ackclock.measurement.folder import DOCUMENT, is_complete
from ackclock.storage import run_kind
from ackclock.storage.atomic_files import write_json
from ackclock.storage.run_folder import Identity, RunFolder
from ackclock.storage.stored_files import read_json

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


def keep(
    folder: Path,
    schedule: Schedule,
    what: dict[str, Any],
    once: Callable[[Path], Any],
    *,
    report: Callable[[str], None],
    force: bool = False,
    now: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
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
        state = _read_state(folder / STATE, request, now())
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


def _read_state(path: Path, request: dict[str, Any], now: float) -> dict[str, Any]:
    if path.is_file():
        state: dict[str, Any] = read_json(path)
        return state
    state = {**request, "began": now, "runs": {}}
    write_json(path, state)
    return state


def _measure_once(folder: Path, once: Callable[[Path], Any], began: float) -> dict[str, Any]:
    at = {"began": datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"), "began_s": began}
    if is_complete(folder):
        # The process ended between the measurement and its record.
        return {**at, "folder": folder.name}
    try:
        once(folder)
    except (InputError, RunFailed) as error:
        return {**at, "failed": str(error)}
    return {**at, "folder": folder.name}


def overview(folder: Path, state: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each measurement: its results or the reason of their absence."""
    rows = []
    for number, run in sorted(state["runs"].items(), key=lambda one: int(one[0])):
        row = {
            "number": int(number),
            "began": run.get("began"),
            "failed": run.get("failed") or ("missed" if run.get("missed") else None),
        }
        if "folder" in run:
            document = read_json(folder / run["folder"] / DOCUMENT)
            for direction in ("down", "up"):
                row[f"capacity_{direction}_bps"] = (document["capacity"].get(direction) or {}).get("rate_bps")
                goodputs = [
                    f["goodput_bps"] for f in document["flows"] if f["purpose"] == "tcp" and f["direction"] == direction
                ]
                row[f"goodput_{direction}_bps"] = max((g for g in goodputs if g is not None), default=None)
                row[f"loss_{direction}"] = (((document["delay"] or {}).get(direction) or {}).get("loss") or {}).get(
                    "rate"
                )
        rows.append(row)
    return rows
