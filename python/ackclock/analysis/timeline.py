"""The packets of one flow in time, for the terminal: events one by one, what is between in sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock.errors import InputError
from ackclock.format import many, milliseconds, size

if TYPE_CHECKING:
    from ackclock.analysis.run import Analysis

MAX_LINES = 200
"""Lines of a timeline; `--all` prints all."""
_ORDINARY = frozenset(("new", "ack"))
_PAUSE_S = 1.0
"""A pause from which one is a line of its own."""


@dataclass(slots=True)
class _Span:
    """Packets without an event, in succession."""

    first: Mapping[str, Any] | None = None
    last: Mapping[str, Any] | None = None
    segments: dict[str, int] = field(default_factory=lambda: {"a2b": 0, "b2a": 0})
    payload: dict[str, int] = field(default_factory=lambda: {"a2b": 0, "b2a": 0})
    acks: dict[str, int] = field(default_factory=lambda: {"a2b": 0, "b2a": 0})
    duplicates: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        self.first = self.first or row
        self.last = row
        if row["payload_bytes"]:
            self.segments[row["way"]] += 1
            self.payload[row["way"]] += row["payload_bytes"]
        else:
            self.acks[row["way"]] += 1
        self.duplicates += bool(row["duplicate_ack"])

    def line(self) -> list[str] | None:
        if self.first is None or self.last is None:
            return None
        parts = [
            f"{direction} {many(count, 'segment')}, {size(self.payload[direction])}"
            for direction, count in self.segments.items()
            if count
        ]
        parts += [f"{direction} {many(count, 'ACK')}" for direction, count in self.acks.items() if count]
        if self.duplicates:
            parts.append(f"{self.duplicates} of them duplicate")
        first, last = self.first["frame"], self.last["frame"]
        return [_time(self.first), str(first) if first == last else f"{first}-{last}", "", "; ".join(parts), "", ""]


def timeline_table(analysis: Analysis, flow: int | str, *, all_lines: bool = False) -> Table:
    """The timeline of a flow of the first capture.

    Args:
        analysis: an analysis with its series.
        flow: the flow's number, or one of its ends if only one flow has it.
        all_lines: print more than `MAX_LINES` lines.

    Raises:
        InputError: the analysis has no series, or there is no such flow.
    """
    import polars as pl

    if analysis.series is None or "frame" not in analysis.series.columns:
        raise InputError.problem("this analysis has no series", "pass series=True to analyze")
    number = _number(analysis, str(flow))
    row = analysis.source.part([number])["flows"][0]
    packets = analysis.packets([number]).filter(pl.col("capture") == 1)
    lines = list(_lines(packets.iter_rows(named=True)))
    left_out = 0 if all_lines else max(0, len(lines) - MAX_LINES)
    note = f"; {left_out} more lines with --all" if left_out else ""
    table = Table(
        title=f"Flow {number}, {row['client']} to {row['server']}{note}",
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for title in ("time s", "frame"):
        table.add_column(title, justify="right", no_wrap=True)
    for title in ("direction", "event"):
        table.add_column(title, overflow="fold")
    for title in ("seq", "bytes"):
        table.add_column(title, justify="right", no_wrap=True)
    for line in lines[: len(lines) - left_out]:
        table.add_row(*line)
    return table


def _number(analysis: Analysis, flow: str) -> int:
    listed = analysis.source.numbers
    if flow.isascii() and flow.isdigit() and int(flow) in listed:
        return int(flow)
    allowed = f"a number from {min(listed)} to {max(listed)}" if listed else "nothing: no flows here"
    raise InputError(f'"{flow}"', allowed, option="--timeline")


def _lines(rows: Iterator[dict[str, Any]]) -> Iterator[list[str]]:
    """The lines: time, frames, direction, event, sequence number, bytes."""
    span, previous = _Span(), None
    closed = {"a2b": False, "b2a": False}
    for row in rows:
        pause = 0.0 if previous is None else row["time_s"] - previous["time_s"]
        event = _event(row, closed)
        if (event is not None or pause >= _PAUSE_S) and (line := span.line()):
            yield line
            span = _Span()
        if pause >= _PAUSE_S and previous is not None:
            yield [_time(previous), "", "", f"nothing for {milliseconds(1e3 * pause)}", "", ""]
        if event is None:
            span.add(row)
        else:
            yield [_time(row), str(row["frame"]), row["way"], event, str(row["seq"]), str(row["payload_bytes"])]
        previous = row
    if line := span.line():
        yield line


def _event(row: Mapping[str, Any], closed: dict[str, bool]) -> str | None:
    """What makes a packet a line of its own."""
    direction, kind = row["way"], row["kind"]
    was_closed = closed[direction]
    if row["ack"] is not None and kind != "reset":
        closed[direction] = row["window_bytes"] == 0
    words = []
    if kind not in _ORDINARY:
        rule = row.get("rule")
        sure = f" ({100 * row['confidence']:.0f} %, {rule})" if rule else ""
        words.append(kind.replace("_", " ") + sure)
    if row["spurious"]:
        words.append(f"shows {many(row['spurious'], 'spurious retransmission')}")
    if closed[direction] != was_closed:
        words.append("zero window" if closed[direction] else "window opens")
    return "; ".join(words) or None


def _time(row: Mapping[str, Any]) -> str:
    return f"{row['time_s']:.6f}"
