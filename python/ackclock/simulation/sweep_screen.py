"""A sweep in one screen: its first points, then which have the highest and lowest figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from ackclock.format import milliseconds, percent, rate, setting
from ackclock.simulation.terminal_tables import points_table
from ackclock.terminal import SCREEN, first_that_fits

if TYPE_CHECKING:
    from rich.table import Table

_FIGURES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("goodput_bps", "Goodput", rate),
    ("rtt_p95_ms", "p95 RTT", milliseconds),
    ("retransmission_rate", "Retransmitted", percent),
)


def sweep_screen(document: Mapping[str, Any]) -> tuple[list[Table], list[str]]:
    """As many of the points as there is room for, and the sentences below them."""
    points = document["cells"]
    ranges = [text for name, title, of in _FIGURES if (text := _range(points, name, title, of))]
    lines = [f"`--all` prints all {len(points)} points; the report draws them.", *ranges]
    part = (([points_table({"cells": points[:rows]})], lines) for rows in range(min(len(points), SCREEN[1]), 1, -1))
    return first_that_fits(chain([([points_table(document)], ranges)], part))


def _range(points: Sequence[Mapping[str, Any]], name: str, title: str, text: Callable[[float], str]) -> str:
    """The lowest and the highest mean of a figure with their points; empty where all are alike."""
    means = [(of["mean"], point) for point in points if (of := point["metrics"].get(name)) and of["mean"] is not None]
    if len(means) < 2:
        return ""
    (low, lowest), (high, highest) = (of(means, key=lambda one: one[0]) for of in (min, max))
    if text(low) == text(high):
        return ""
    return f"{title} from {text(low)} ({_where(lowest)}) to {text(high)} ({_where(highest)})."


def _where(point: Mapping[str, Any]) -> str:
    return ", ".join(map(setting, point["params"].values()))
