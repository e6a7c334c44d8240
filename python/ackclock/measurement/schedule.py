"""A measurement every so often, for days, whatever happens to the process in between."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, RunFailed
from ackclock.measurement.folder import DOCUMENT, is_complete
from ackclock.storage.atomic_files import write_json
from ackclock.storage.run_folder import Identity, RunFolder

STATE = "schedule.json"
LOOK_S = 1.0
"""Sleep at most this long at a time, as the wall clock may be set and a suspended machine wakes late."""


@dataclass(frozen=True)
class Schedule:
    """``times`` measurements, one every ``every_s`` seconds from the first on."""

    every_s: float
    times: int

    def due(self, began: float, number: int) -> float:
        """When one is to begin: by the wall clock, so that a restart keeps to it."""
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
    """Run the schedule, or what is left of it: the state is in the folder, written anew after each measurement.

    ``what`` identifies the measurement; a folder with another schedule or another plan is refused, or with ``force`` moved aside. ``once`` measures into a folder. One that
    fails is noted and does not end the schedule; one whose time has passed while nothing ran is noted as missed, but the latest of them is
    made up for. Returns the state.

    Raises:
        InputError: the folder holds something else.
    """
    asked = {"every_s": schedule.every_s, "times": schedule.times, "what": what}
    with RunFolder(folder, Identity.of("measure --every", asked, any_engine=True), force=force) as run:
        state = _taken_up(folder / STATE, asked, now())
        _kept(folder, schedule, state, once, report=report, now=now, sleep=sleep)
        run.finish()
    return state


def _kept(
    folder: Path,
    schedule: Schedule,
    state: dict[str, Any],
    once: Callable[[Path], Any],
    *,
    report: Callable[[str], None],
    now: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    for number in range(schedule.times):
        if str(number) in state["runs"]:
            continue
        if now() >= schedule.due(state["began"], number + 1) and number + 1 < schedule.times:
            state["runs"][str(number)] = {"missed": True}
            write_json(folder / STATE, state)
            continue
        while (left := schedule.due(state["began"], number) - now()) > 0:
            sleep(min(left, LOOK_S))
        report(f"measurement {number + 1} of {schedule.times}")
        state["runs"][str(number)] = _made(folder / f"{number:05d}", once, now())
        write_json(folder / STATE, state)


def _taken_up(path: Path, asked: dict[str, Any], now: float) -> dict[str, Any]:
    if path.is_file():
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return found
    state = {**asked, "began": now, "runs": {}}
    write_json(path, state)
    return state


def _made(folder: Path, once: Callable[[Path], Any], began: float) -> dict[str, Any]:
    at = datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds")
    if is_complete(folder):
        # It was finished, and the process ended before that was noted.
        return {"began": at, "folder": folder.name}
    try:
        once(folder)
    except (InputError, RunFailed) as error:
        return {"began": at, "failed": str(error)}
    return {"began": at, "folder": folder.name}


def overview(folder: Path, state: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each measurement: what it found, or why there is none."""
    rows = []
    for number, run in sorted(state["runs"].items(), key=lambda one: int(one[0])):
        row = {
            "number": int(number),
            "began": run.get("began"),
            "failed": run.get("failed") or ("missed" if run.get("missed") else None),
        }
        if "folder" in run:
            document = json.loads((folder / run["folder"] / DOCUMENT).read_text("utf-8"))
            for way in ("down", "up"):
                row[f"capacity_{way}_bps"] = (document["capacity"].get(way) or {}).get("rate_bps")
                goodputs = [f["goodput_bps"] for f in document["flows"] if f["purpose"] == "tcp" and f["direction"] == way]
                row[f"goodput_{way}_bps"] = max((g for g in goodputs if g is not None), default=None)
                row[f"loss_{way}"] = (((document["delay"] or {}).get(way) or {}).get("loss") or {}).get("rate")
        rows.append(row)
    return rows
