"""Clocks of captures: PPS counters, and clocks known to be synchronised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import InputError, InvalidValue, not_readable
from ackclock.input.units import PS_PER_S, time_ps

if TYPE_CHECKING:
    from ackclock.documents.engine import ClockReport

PULSES_ERROR_S = 1e-4  # accuracy of a pulse on a serial line


@dataclass(frozen=True)
class Clocks:
    """PPS files, one for each capture or none, and the maximum error of synchronised clocks in
    seconds.
    """

    pulses: tuple[Path, ...] = ()
    error_s: float | None = None

    def texts(self) -> list[tuple[str, str]]:
        """The paths and contents of the PPS files.

        Raises:
            InputError: a file cannot be read.
        """
        return [(str(path), _text(path)) for path in self.pulses]


def clocks_of(pps: Sequence[str | Path], synchronized: str | float | None, captures: int) -> Clocks:
    """The clocks of `captures` captures, checked.

    Args:
        pps: PPS files: none, or one for each capture in order. Two captures with PPS files have
            synchronised clocks.
        synchronized: maximum error of both clocks: seconds, or text such as ``100 us``.
        captures: 1 or 2.

    Raises:
        InputError: the number of files differs from the number of captures, or the time is invalid.
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


def known_clocks(clock: ClockReport) -> str | None:
    """A clause about clocks given as synchronised; None if the offset was estimated from
    traffic.
    """
    if not clock["assumption"].startswith("known"):
        return None
    error = clock["offset_interval_ms"][1]
    conflict = clock["conflict_ms"]
    if conflict is None:
        return f"both clocks have errors of at most {error:g} ms, as given; no packet contradicts it"
    return (
        f"both clocks have errors of at most {error:g} ms, as given, but packets arrive "
        f"{conflict:.3f} ms before they were sent: one clock is wrong"
    )


def format_clock(clock: ClockReport) -> str:
    """A clause about the second clock's offset and skew, estimated from the traffic."""
    low, high = clock["offset_interval_ms"]
    offset, skew = clock["offset_ms"], clock["skew_ppm"]
    return (
        f"{_against(offset)} if the minimum delays of both directions are equal, which is an "
        f"assumption (from two-way traffic alone: between {_against(low)} and {_against(high)}), "
        f"and {abs(skew):.1f} ppm {'fast' if skew >= 0 else 'slow'}{_caveats(clock)}"
    )


def format_offset(clock: ClockReport) -> str:
    """A shorter clause, without the interval and the skew."""
    return f"{_against(clock['offset_ms'])}, if both directions have the same minimum delay"


def _caveats(clock: ClockReport) -> str:
    """Clauses about packets that make the offset less certain."""
    text = ""
    if overtaking := clock.get("overtaking_packets"):
        text += (
            f"; {overtaking} packets overtook others and arrived more than 1 ms sooner than any that did not, so the "
            "link has two paths, and the offset is that of the packets in order"
        )
    if late := clock.get("late_timestamps"):
        text += f"; {late} packets were captured later than they passed, and are left out"
    return text


def _against(offset_ms: float) -> str:
    return f"{abs(offset_ms):.3f} ms {'ahead' if offset_ms >= 0 else 'behind'}"


def _seconds(value: str | float) -> float:
    text = f"{value} s" if isinstance(value, float | int) or value.replace(".", "", 1).isdigit() else value
    try:
        return time_ps(text) / PS_PER_S
    except InvalidValue as error:
        raise InputError.of(error, option="--synchronized") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise not_readable(error, path, "a PPS file with one pulse per line", option="--pps") from None
