"""A test of another measurement program: its figures, and its values over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ackclock.errors import InputError, format_value

MAX_VALUES = 1_000_000
"""Values of a file over time."""


@dataclass(frozen=True)
class Series:
    """Values over time of one quantity: a rate in Mb/s or an RTT in ms; `times` in s."""

    name: str
    quantity: Literal["rate", "rtt"]
    times: tuple[float, ...]
    values: tuple[float, ...]


@dataclass
class ProgramTest:
    """One test.

    Attributes:
        program: "iperf3" or "flent".
        file: its path as given.
        title: what was tested; `started`: when, as the file has it.
        figures: the figures of each flow or quantity, units in their names.
        series: the values over time.
        remarks: what the file does not have, a sentence each.
    """

    program: str
    file: str
    title: str = ""
    started: str = ""
    seconds: float | None = None
    figures: dict[str, dict[str, float]] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(self, where: str, **figures: float | None) -> None:
        """Add the figures that have a value."""
        known = {name: value for name, value in figures.items() if value is not None and math.isfinite(value)}
        if known:
            self.figures.setdefault(where, {}).update(known)

    def add_series(
        self, name: str, quantity: Literal["rate", "rtt"], points: Iterable[tuple[float | None, float | None]]
    ) -> None:
        """Add the points of a quantity that have a value; without any there is no series."""
        known = [(time, value) for time, value in points if time is not None and value is not None]
        if known:
            times, values = zip(*sorted(known), strict=True)
            self.series.append(Series(name, quantity, times, values))


class Reader:
    """Values of a JSON document, whose errors name the file and the key."""

    def __init__(self, file: str) -> None:
        self.file = file

    def table(self, data: Any, key: str) -> Mapping[str, Any]:
        """A table; empty where it is absent."""
        value = data.get(key) if isinstance(data, Mapping) else None
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise InputError(format_value(value), "a table", file=self.file, key=key)
        return value

    def items(self, data: Any, key: str) -> list[Any]:
        """A list; empty where it is absent."""
        value = data.get(key) if isinstance(data, Mapping) else None
        if value is None:
            return []
        if not isinstance(value, list):
            raise InputError(format_value(value), "a list", file=self.file, key=key)
        if len(value) > MAX_VALUES:
            raise InputError(f"{len(value)} values", f"at most {MAX_VALUES}", file=self.file, key=key)
        return value

    @staticmethod
    def number(data: Any, key: str) -> float | None:
        """A finite number; None for anything else."""
        return number(data.get(key)) if isinstance(data, Mapping) else None

    @staticmethod
    def text(data: Any, key: str) -> str:
        value = data.get(key) if isinstance(data, Mapping) else None
        return " ".join(value.split())[:200] if isinstance(value, str) else ""


def number(value: Any) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or (isinstance(value, int) and abs(value) > 2**63):
        return None
    return float(value) if math.isfinite(value) else None


def mean(values: Iterable[float]) -> float | None:
    """The mean; None without values."""
    known = list(values)
    return math.fsum(known) / len(known) if known else None
