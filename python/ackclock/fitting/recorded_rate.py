"""A rate that varies: a recording of what the link sent while packets waited, in mahimahi's format,
beside the link file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

from ackclock import format
from ackclock.documents.parts import DIRECTIONS, Direction
from ackclock.fitting.hop import FittedHop
from ackclock.fitting.parameters import Parameter, serves_others
from ackclock.format import percent
from ackclock.input.objects import Recording

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionFit, FittedBaseDelay, FittedNone, LinkFit, RecordedDirection

CLEAR_VARIATION = 0.25
"""Coefficient of variation from which on a rate varies although the link sends at fixed times."""
METHOD = "arrivals while packets waited"
OPPORTUNITY_BITS = 8 * 1500
SPREAD = 0.95
"""Share of the seconds of a recording within the interval of its rate."""


def recorded_directions(fit: LinkFit) -> dict[Direction, RecordedDirection]:
    """The recordings of an engine's fit, by direction: of rates that vary and have no other reason
    for it, such as cross traffic, a token bucket or stalls at equal times. ACKs alone show one if
    the other direction has one.
    """
    found = {
        direction: recorded
        for direction in DIRECTIONS
        if (recorded := fit[direction]["recorded"]) is not None and not _has_other_reason(fit[direction])
    }
    return found if any(_is_clear(fit, direction) for direction in found) else {}


def _has_other_reason(fit: DirectionFit) -> bool:
    return fit["token_bucket"] is not None or fit["periodic_stalls"] is not None or serves_others(fit["rate"])


def _is_clear(fit: LinkFit, direction: Direction) -> bool:
    """A busy link shows the changes; a medium that sends at fixed times explains small ones."""
    facts = fit[direction]["rate"]["evidence"]
    has_frames = any(fit[d]["frame_period"] is not None for d in DIRECTIONS)
    return bool(facts["gaps"] and (not has_frames or facts["steps"] or (facts["variation"] or 0.0) >= CLEAR_VARIATION))


def without_frames(fit: LinkFit) -> LinkFit:
    """The engine's fit without periods of arrivals: no medium that sends at fixed times is the
    reason for changes of the rate.
    """
    return {**fit, "down": {**fit["down"], "frame_period": None}, "up": {**fit["up"], "frame_period": None}}


def with_recordings(fit: LinkFit) -> LinkFit:
    """The engine's fit with the queue and the delay of recorded rates.

    A packet leaves with an opportunity: its delay has no service time.
    """
    changed = fit.copy()
    for direction, recorded in recorded_directions(fit).items():
        base = fit[direction]["base_delay"]
        known = base["value"] if base["value"] is not None else base["hi"]
        later = recorded["min_delay"] - known if known is not None else 0.0
        changed[direction] = {**fit[direction], "queue": recorded["queue"], "base_delay": _later(base, later)}
        changed["delay"] = _later(changed["delay"], later / 2)
    return changed


_Delay = TypeVar("_Delay", "FittedBaseDelay", "FittedNone")


def _later(fitted: _Delay, ns: float) -> _Delay:
    """An estimate of a delay with nanoseconds added."""
    moved = fitted.copy()
    ends = fitted["value"], fitted["lo"], fitted["hi"]
    moved["value"], moved["lo"], moved["hi"] = (None if end is None else end + ns for end in ends)
    moved["draws"] = [draw + ns for draw in fitted["draws"]]
    return moved


def rows_of(parameters: Sequence[Parameter], fit: LinkFit) -> list[Parameter]:
    """The parameters with recorded rates; the wait for an opportunity is no jitter."""
    recorded = recorded_directions(fit)
    rows = []
    for row in parameters:
        kind, _, rest = row.key.partition(".")
        direction = next((d for d in recorded if d == rest.partition(".")[0]), None)
        if direction and kind == "jitter":
            continue
        if direction and kind == "rate":
            found, mean = recorded[direction]["rate"], fit[direction]["rate"]
            text = (
                f"packets waited for {percent(found['seen'])} of {found['times_ms'][-1] / 1e3:.0f} s; "
                f"{percent(1 - found['seen'])} is assumed to be as the second around it; "
                f"the mean is {format.rate(found['mean_bps'])}"
            )
            value, is_full = round(found["mean_bps"]), mean["value"] is not None
            slow, fast = _range_bps(found["times_ms"]) if is_full else (value, value)
            row = replace(
                row,
                status="identified" if is_full else "bounded",
                method=METHOD,
                evidence=text,
                value=value if is_full else None,
                # It is at one time one rate, and at another time another.
                lo=min(mean["lo"] or value, slow),
                hi=max(mean["hi"] or value, fast) if is_full else None,
                used=value,
                why="" if is_full else "short packets do not fill what the link can send at a time",
                kind="recorded",
                draws=(),
            )
        rows.append(row)
    return rows


def _range_bps(times_ms: Sequence[int]) -> tuple[float, float]:
    """The slowest and the fastest second of a recording in bit/s, without the few most extreme
    ones of a long one; an opportunity more or less is a matter of the seconds' beginnings.
    """
    seconds = Counter(time // 1000 for time in times_ms)
    counts = sorted(seconds[second] for second in range(max(1, times_ms[-1] // 1000)))
    extreme = int((1 - SPREAD) / 2 * len(counts))
    slow, fast = counts[extreme], counts[len(counts) - 1 - extreme]
    return max(0, slow - 1) * OPPORTUNITY_BITS, (fast + 1) * OPPORTUNITY_BITS


def hop_with_recordings(hop: FittedHop, fit: LinkFit) -> FittedHop:
    """The hop with recorded rates, from files that last as long as the process."""
    recorded = recorded_directions(fit)
    # Radio stops both directions at once: they start together.
    start = "0 s" if len(recorded) > 1 else None
    rates = dict(hop.rate)
    for direction, one in recorded.items():
        rates[direction] = Recording(trace=str(_file(one["rate"]["times_ms"])), start=start)
    return replace(hop, rate=rates)


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


def beside(hop: FittedHop, file: Path) -> tuple[FittedHop, FittedHop, dict[Path, bytes]]:
    """The hop with its recordings named as beside a link file, the same with their paths, and
    their contents by path.
    """
    named, placed = dict(hop.rate), dict(hop.rate)
    contents = {}
    for direction, rate in hop.rate.items():
        if isinstance(rate, Recording):
            path = file.with_name(f"{file.stem}.rate.{direction}.trace")
            named[direction], placed[direction] = replace(rate, trace=path.name), replace(rate, trace=str(path))
            contents[path] = Path(rate.trace).read_bytes()
    return replace(hop, rate=named), replace(hop, rate=placed), contents


def remarks(fit: LinkFit) -> list[str]:
    """Sentences on what recordings take for granted."""
    directions = recorded_directions(fit)
    if len(directions) > 1:
        return ["the rates of both directions vary, this link has recordings of them, from their beginning"]
    return [
        f"{direction}: the rate varies, this link has a recording of it, which starts at a time drawn for each seed"
        for direction in directions
    ]
