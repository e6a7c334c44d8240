"""A link that is fitted to captures of itself, and the truth: how far outside of an identified
interval it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ackclock
from ackclock.errors import AckclockError
from ackclock.hunting.objectives import HuntRun
from ackclock.input.scenario.model import Scenario
from ackclock.input.units import rate_bps, size_bytes, time_ps
from ackclock.simulation.run import simulate_scenario
from studies.hunt.campaigns import directed

MIN_WIDTH = 0.01
"""An interval counts as at least so wide, relative to the truth: one that is exact may miss by less
than anybody notices."""
ENDS = ("server", "client")


def difference(run: HuntRun) -> float:
    """The distance of the parameter that is furthest outside; 0 where all are inside."""
    return max((distance for _, _, distance in outside(run.scenario)), default=0.0)


def outside(scenario: Scenario) -> list[tuple[str, Mapping[str, Any], float]]:
    """The identified parameters whose interval has not the truth: path, the fit's row, and the
    distance in widths of the interval, the largest first. None where the captures are refused.
    """
    with tempfile.TemporaryDirectory(prefix="ackclock-hunt-") as folder:
        simulate_scenario(scenario, folder=Path(folder) / "run", captures="pcapng", workers=1)
        captures = [Path(folder) / f"run/captures/download.{end}.pcapng" for end in ENDS]
        try:
            rows = ackclock.fit(*captures, score=False).document["parameters"]
        except AckclockError:
            return []
    known = dict(truths(scenario.hop[0].written()))
    found = [
        (row["path"], row, _outside(row, known[row["path"]]))
        for row in rows
        if row["status"] == "identified" and row["path"] in known
    ]
    return sorted((one for one in found if one[2] > 0.0), key=lambda one: -one[2])


def _outside(row: Mapping[str, Any], truth: float) -> float:
    width = max(row["hi"] - row["lo"], MIN_WIDTH * abs(truth), 1e-12)
    return max(row["lo"] - truth, truth - row["hi"], 0.0) / width


def truths(hop: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The true parameters of a written hop by the fit's path, in the units of a fit: b/s, ms,
    bytes, shares.
    """
    at = "hop.access"
    for direction in ("down", "up"):
        yield f"{at}.rate.{direction}", float(_bps(directed(hop["rate"], direction)))
        jitter = (hop.get("jitter") or {}).get(direction)
        for key in ("mean", "high"):
            if jitter and key in jitter:
                yield f"{at}.jitter.{direction}.{key}", _ms(jitter[key])
    yield f"{at}.delay", _ms(directed(hop["delay"], "down"))
    queue = directed(hop["queue"], "down")
    if queue.get("kind", "droptail") == "droptail":
        yield f"{at}.queue.down.bytes", float(_bytes(queue["bytes"]))
    loss = (hop.get("loss") or {}).get("down")
    if loss:
        yield f"{at}.loss.down.mean", float(loss["mean"] if isinstance(loss, Mapping) else loss)
        if isinstance(loss, Mapping) and "bad_sojourn" in loss:
            yield f"{at}.loss.down.bad_sojourn", _ms(loss["bad_sojourn"])


def _bps(value: str | float) -> float:
    return rate_bps(value) if isinstance(value, str) else value


def _ms(value: str | float) -> float:
    return (time_ps(value) if isinstance(value, str) else value) / 1e9


def _bytes(value: str | int) -> float:
    return size_bytes(value) if isinstance(value, str) else value
