"""Clocks of captures: counters that pulses per second make into UTC, and clocks known to be right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, InvalidValue, not_readable
from ackclock.input.units import PS_PER_S, time_ps

PULSES_ERROR_S = 1e-4  # what a pulse on a serial line is good for


@dataclass(frozen=True)
class Clocks:
    """Files of pulses, one for each capture or none, and the error of clocks that are known to be right, in seconds."""

    pulses: tuple[Path, ...] = ()
    error_s: float | None = None

    def texts(self) -> list[tuple[str, str]]:
        """The files of pulses, and what they hold.

        Raises:
            InputError: one cannot be read.
        """
        return [(str(path), _text(path)) for path in self.pulses]


def clocks_of(pps: Sequence[str | Path], synchronized: str | float | None, captures: int) -> Clocks:
    """The clocks of so many captures, checked.

    Args:
        pps: files of pulses: none, or one for each capture in their order. Two captures with pulses have synchronized clocks.
        synchronized: both clocks are right within this: seconds, or a text such as ``100 us``.
        captures: 1 or 2.

    Raises:
        InputError: too many or too few files, or a time that is none.
    """
    if pps and len(pps) != captures:
        raise InputError.problem(
            f"--pps is given {len(pps)} times for {captures} {'captures' if captures > 1 else 'capture'}",
            "give one file for each capture",
            option="--pps",
        )
    if synchronized is not None and captures == 1:
        raise InputError.problem(
            "--synchronized compares the clocks of two captures",
            "name a second capture, or leave it out",
            option="--synchronized",
        )
    error = None if synchronized is None else _seconds(synchronized)
    if error is None and len(pps) == 2:
        error = PULSES_ERROR_S
    return Clocks(tuple(Path(path) for path in pps), error)


def known_clocks(clock: Mapping[str, Any]) -> str | None:
    """What to say of clocks that were given as right; None where the traffic had to tell."""
    if not clock["assumption"].startswith("known"):
        return None
    error = clock["offset_interval_ms"][1]
    conflict = clock["conflict_ms"]
    if conflict is None:
        return f"both clocks are right within {error:g} ms, as was said; no packet contradicts it"
    return f"both clocks were said to be right within {error:g} ms, but packets arrive {conflict:.3f} ms before they were sent: one is wrong"


def format_clock(clock: Mapping[str, Any]) -> str:
    """What the traffic itself tells of the second clock, in one clause."""
    low, high = clock["offset_interval_ms"]
    offset, skew = clock["offset_ms"], clock["skew_ppm"]
    return (
        f"{_against(offset)} if the least delays of both ways are equal, which is an assumption "
        f"(two-way traffic alone: between {_against(low)} and {_against(high)}), and {abs(skew):.1f} ppm {'fast' if skew >= 0 else 'slow'}"
    )


def _against(offset_ms: float) -> str:
    return f"{abs(offset_ms):.3f} ms {'ahead' if offset_ms >= 0 else 'behind'}"


def _seconds(given: str | float) -> float:
    text = f"{given} s" if isinstance(given, float | int) or given.replace(".", "", 1).isdigit() else given
    try:
        return time_ps(text) / PS_PER_S
    except InvalidValue as error:
        raise InputError.of(error, option="--synchronized") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise not_readable(error, path, "a file of pulses, one a line", option="--pps") from None
