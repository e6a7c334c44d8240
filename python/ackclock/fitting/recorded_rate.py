"""A rate that varies: a recording of what the link sent while packets waited, in mahimahi's format,
beside the link file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ackclock import format
from ackclock.fitting.parameters import DIRECTIONS, HOP, Parameter, serves_others
from ackclock.format import percent

CLEAR_VARIATION = 0.25
"""Coefficient of variation from which on a rate varies although the link sends at fixed times."""
METHOD = "arrivals while packets waited"


def recorded_directions(fit: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The recordings of an engine's fit, by direction: of rates that vary and have no other reason
    for it, such as cross traffic, a token bucket or stalls at equal times. ACKs alone show one if
    the other direction has one.
    """
    found = {
        direction: of["recorded"]
        for direction in DIRECTIONS
        if (of := fit[direction])["recorded"] is not None
        and of["token_bucket"] is None
        and of["periodic_stalls"] is None
        and not serves_others(of["rate"])
    }
    return found if any(_is_clear(fit, direction) for direction in found) else {}


def _is_clear(fit: Mapping[str, Any], direction: str) -> bool:
    """A busy link shows the changes; a medium that sends at fixed times explains small ones."""
    facts = fit[direction]["rate"]["evidence"]
    has_frames = any(fit[d]["frame_period"] is not None for d in DIRECTIONS)
    return bool(facts["gaps"] and (not has_frames or facts["steps"] or (facts["variation"] or 0.0) >= CLEAR_VARIATION))


def without_frames(fit: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's fit without periods of arrivals: no medium that sends at fixed times is the
    reason for changes of the rate.
    """
    return {**fit, **{direction: {**fit[direction], "frame_period": None} for direction in DIRECTIONS}}


def with_recordings(fit: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's fit with the queue and the delay of recorded rates.

    A packet leaves with an opportunity: its delay has no service time.
    """
    changed = dict(fit)
    for direction, recorded in recorded_directions(fit).items():
        of = fit[direction]
        base = of["base_delay"]
        known = base["value"] if base["value"] is not None else base["hi"]
        later = recorded["min_delay"] - known if known is not None else 0.0
        changed[direction] = {**of, "queue": recorded["queue"], "base_delay": _later(base, later)}
        changed["delay"] = _later(changed["delay"], later / 2)
    return changed


def _later(fitted: Mapping[str, Any], ns: float) -> dict[str, Any]:
    """An estimate of a delay with nanoseconds added."""
    moved = {key: None if fitted[key] is None else fitted[key] + ns for key in ("value", "lo", "hi")}
    return {**fitted, **moved, "draws": [draw + ns for draw in fitted["draws"]]}


def rows_of(parameters: Sequence[Parameter], fit: Mapping[str, Any]) -> list[Parameter]:
    """The parameters with recorded rates; the wait for an opportunity is no jitter."""
    recorded = recorded_directions(fit)
    rows = []
    for row in parameters:
        path = row.path.removeprefix(f"hop.{HOP}.")
        direction = path.split(".")[1] if "." in path else ""
        if direction in recorded and path.startswith("jitter."):
            continue
        if direction in recorded and path.startswith("rate."):
            found, mean = recorded[direction]["rate"], fit[direction]["rate"]
            text = (
                f"packets waited for {percent(found['seen'])} of {found['times_ms'][-1] / 1e3:.0f} s; "
                f"{percent(1 - found['seen'])} is assumed to be as the second around it; "
                f"the mean is {format.rate(found['mean_bps'])}"
            )
            is_full = mean["value"] is not None
            value = round(found["mean_bps"])
            row = replace(
                row,
                status="identified" if is_full else "bounded",
                method=METHOD,
                evidence=text,
                value=value if is_full else None,
                lo=min(mean["lo"] or value, value),
                hi=max(mean["hi"], value) if is_full else None,
                used=value,
                why="" if is_full else "short packets do not fill what the link can send at a time",
                kind="recorded",
                draws=(),
            )
        rows.append(row)
    return rows


def link_with_recordings(link: Mapping[str, Any], fit: Mapping[str, Any]) -> dict[str, Any]:
    """The link with recorded rates, from files that last as long as the process."""
    recorded = recorded_directions(fit)
    if not recorded:
        return dict(link)
    (hop,) = link["hop"]
    # Radio stops both directions at once: they start together.
    start = {"start": "0 s"} if len(recorded) > 1 else {}
    rates = {d: {"trace": str(_file(one["rate"]["times_ms"])), **start} for d, one in recorded.items()}
    return {**link, "hop": [{**hop, "rate": {**hop["rate"], **rates}}]}


@lru_cache(maxsize=1)
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="ackclock-fit-")


def _file(times_ms: Sequence[int]) -> Path:
    content = _content(times_ms)
    file = Path(_folder().name) / f"{sha256(content).hexdigest()[:16]}.trace"
    file.write_bytes(content)
    return file


def _content(times_ms: Sequence[int]) -> bytes:
    return "".join(f"{time}\n" for time in times_ms).encode()


def beside(link: Mapping[str, Any], file: Path) -> tuple[dict[str, Any], dict[str, Any], dict[Path, bytes]]:
    """The link with its recordings named as beside a link file, the same with their paths, and
    their contents by path.
    """
    (hop,) = link["hop"]
    recordings = {
        direction: (file.with_name(f"{file.stem}.rate.{direction}.trace"), Path(rate["trace"]).read_bytes())
        for direction, rate in hop.get("rate", {}).items()
        if isinstance(rate, Mapping)
    }

    def naming(names: Mapping[str, str]) -> dict[str, Any]:
        if not names:
            return dict(link)
        traces = {direction: {**hop["rate"][direction], "trace": name} for direction, name in names.items()}
        return {**link, "hop": [{**hop, "rate": {**hop["rate"], **traces}}]}

    named = naming({direction: path.name for direction, (path, _) in recordings.items()})
    placed = naming({direction: str(path) for direction, (path, _) in recordings.items()})
    return named, placed, dict(recordings.values())


def remarks(fit: Mapping[str, Any]) -> list[str]:
    """Sentences on what recordings take for granted."""
    directions = recorded_directions(fit)
    if len(directions) > 1:
        return ["the rates of both directions vary, this link has recordings of them, from their beginning"]
    return [
        f"{direction}: the rate varies, this link has a recording of it, which starts at a time drawn for each seed"
        for direction in directions
    ]
