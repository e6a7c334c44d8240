"""The report of a schedule: its measurements by label, variant, buffer, direction and hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.documents.parts import DIRECTIONS
from ackclock.format import rate, three
from ackclock.measurement.folder import DOCUMENT
from ackclock.measurement.schedule import ScheduleState, capacity_and_loss
from ackclock.plot import vega
from ackclock.plot.time_series import Line, Panel
from ackclock.report.page import Block, Cell, Chart, Column, Page, Section, Table
from ackclock.statistics.intervals import t_quantile
from ackclock.storage.run_kind import SCHEDULE
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.documents.measure import Measurement

METRICS = {
    "goodput_bps": "Goodput",
    "rtt_p50_ms": "RTT p50 (ms)",
    "retransmission_rate": "Retransmitted (%)",
    "capacity_bps": "Capacity",
    "one_way_loss": "Lost (%)",
}
"""Values of a row by their headings. TCP rows have the first three, UDP rows the others."""
KEYS = ("variant", "buffer", "direction", "hour")


@dataclass(frozen=True)
class Row:
    """A single TCP transfer, or the measured capacity and loss of a direction.

    `variant` and `buffer` of datagrams are "udp" and "-"; `hour` is that of UTC.
    """

    number: int
    began_s: float
    hour: str
    labels: Mapping[str, str]
    direction: str
    variant: str = "udp"
    buffer: str = "-"
    goodput_bps: float | None = None
    rtt_p50_ms: float | None = None
    retransmission_rate: float | None = None
    capacity_bps: float | None = None
    one_way_loss: float | None = None

    def value(self, key: str) -> str | None:
        """The value of one of `KEYS` or of a label, ``label.NAME``; None without such a label."""
        name = key.removeprefix("label.")
        return self.labels.get(name) if name != key else str(getattr(self, key))

    def metric(self, name: str) -> float | None:
        """One of `METRICS`."""
        number: float | None = getattr(self, name)
        return number


def rows_of(documents: Iterable[tuple[int, Measurement]]) -> list[Row]:
    """A row for each single TCP transfer and for each measured capacity or delay of a direction."""
    rows = []
    for number, found in documents:
        started = datetime.fromisoformat(found["started"])
        common = partial(Row, number, started.timestamp(), f"{started.hour:02d}", found.get("labels", {}))
        rows += [
            common(
                flow["direction"],
                flow["variant"] or "-",
                flow["asked"]["buffer"],
                goodput_bps=flow["goodput_bps"],
                rtt_p50_ms=flow["rtt_ms"]["p50"] if flow["rtt_ms"] else None,
                retransmission_rate=flow["retransmission_rate"],
            )
            for flow in found["flows"]
            if flow["purpose"] == "tcp" and flow["goodput_bps"] is not None
        ]
        for direction in DIRECTIONS:
            capacity, loss = capacity_and_loss(found, direction)
            if capacity is not None or loss is not None:
                rows.append(common(direction, capacity_bps=capacity, one_way_loss=loss))
    return rows


@dataclass(frozen=True)
class Group:
    """The values of a metric in one direction, of the rows with one value of a key."""

    value: str
    direction: str
    metric: str
    values: list[float]


def groups(rows: Sequence[Row], key: str) -> list[Group]:
    """By value of ``key``, direction and metric, in order of the key's values, down before up."""
    found = []
    for value, direction in sorted({(value, row.direction) for row in rows if (value := row.value(key)) is not None}):
        own = [row for row in rows if row.value(key) == value and row.direction == direction]
        for metric in METRICS:
            values = [float(number) for row in own if (number := row.metric(metric)) is not None]
            if values:
                found.append(Group(value, direction, metric, values))
    return found


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Student's t 95 % interval of the mean, which is not negative; None for a single value."""
    n = len(values)
    if n < 2:
        return None
    mean = sum(values) / n
    sd = (sum((value - mean) ** 2 for value in values) / (n - 1)) ** 0.5
    half = t_quantile(0.975, n - 1) * sd / n**0.5
    return max(0.0, mean - half), mean + half


def schedule_page(folder: Path) -> Page:
    """The page of a schedule's folder, finished or not."""
    state: ScheduleState = read_json(folder / SCHEDULE.document)
    runs = {int(number): run for number, run in state["runs"].items()}
    done = {number: run["folder"] for number, run in sorted(runs.items()) if "folder" in run}
    documents = [(number, read_json(folder / name / DOCUMENT)) for number, name in done.items()]
    rows = rows_of(documents)
    keys = [*sorted({f"label.{name}" for row in rows for name in row.labels}), *KEYS]
    missed = sum(bool(run.get("missed")) for run in runs.values())
    failed = sum("failed" in run for run in runs.values())
    sections = [Section("Over time", list(_charts(rows)))]
    sections += [Section(f"By {key.removeprefix('label.')}", [_table(key, groups(rows, key))]) for key in keys]
    return Page(
        title=f"Measurements of {state['what'].get('host', 'a path')}",
        subtitle=f"{state['times']} measurements, one every {_period(state['every_s'])}",
        answer=f"{len(done)} of {state['times']} measurements are done; {failed} failed, {missed} were missed.",
        because=_best(rows),
        sections=[section for section in sections if _has_rows(section.blocks)],
        kind="measure",
    )


_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def _period(seconds: float) -> str:
    """A time in the largest unit that it has once: `30 min`, `1.50 h`."""
    factor, unit = next((one for one in _UNITS if seconds >= one[0]), _UNITS[-1])
    count = seconds / factor
    return f"{count:.0f} {unit}" if count.is_integer() else f"{three(count)} {unit}"


def _axis_unit(seconds: float) -> tuple[float, str]:
    """The seconds and the name of the unit of a time axis of this length, which has two or more."""
    return next((one for one in _UNITS if seconds >= 2.0 * one[0]), _UNITS[-1])


def _has_rows(blocks: Sequence[Block]) -> bool:
    return any(not isinstance(block, Table) or block.rows for block in blocks)


def _best(rows: Sequence[Row]) -> str:
    means: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if row.goodput_bps is not None:
            means.setdefault((row.direction, row.variant, row.buffer), []).append(row.goodput_bps)
    sentences = []
    for direction in DIRECTIONS:
        own = {key: sum(values) / len(values) for key, values in means.items() if key[0] == direction}
        if own:
            best = max(own, key=lambda key: own[key])
            sentences.append(
                f"The highest mean goodput {direction} is {rate(own[best])} ({best[1]}, buffer {best[2]})."
            )
    return " ".join(sentences)


def _table(key: str, found: Sequence[Group]) -> Table:
    by_direction = key == "direction"
    columns = [Column(key.removeprefix("label.")), *([] if by_direction else [Column("direction")]), Column("Metric")]
    columns += [Column(name, numeric=True) for name in ("n", "Mean", "95 % interval", "Minimum", "Maximum")]
    cells = []
    for group in found:
        metric, values = group.metric, group.values
        between = interval(values)
        shown = "-" if between is None else f"{_show(metric, between[0])} .. {_show(metric, between[1])}"
        mean = sum(values) / len(values)
        texts = [group.value, *([] if by_direction else [group.direction]), METRICS[metric]]
        texts += [str(len(values)), _show(metric, mean), shown, _show(metric, min(values)), _show(metric, max(values))]
        cells.append([Cell(text) for text in texts])
    reading = "The mean with Student's t 95 % interval, and the range, over all measurements with this value."
    return Table(columns, cells, reading)


def _show(metric: str, value: float) -> str:
    if metric.endswith("_bps"):
        return rate(value)
    return three(value if metric.endswith("_ms") else 100 * value)


def _charts(rows: Sequence[Row]) -> Iterable[Chart]:
    panels = (
        ("goodput_bps", "Goodput", "Mb/s", 1e-6),
        ("rtt_p50_ms", "RTT p50", "ms", 1.0),
        ("capacity_bps", "Capacity", "Mb/s", 1e-6),
    )
    start = min((row.began_s for row in rows), default=0.0)
    factor, axis = _axis_unit(max((row.began_s for row in rows), default=0.0) - start)
    for metric, title, unit, scale in panels:
        lines: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            if (number := row.metric(metric)) is not None:
                name = f"{row.variant} {row.direction}" + (f", {row.buffer}" if row.buffer != "-" else "")
                lines.setdefault(name, []).append(((row.began_s - start) / factor, scale * number))
        drawn = tuple(Line(name, [x for x, _ in one], [y for _, y in one]) for name, one in lines.items())
        if drawn:
            reading = "One point for each measurement, by its start since the first one."
            yield Chart(
                title,
                reading,
                vega.time_chart(Panel(metric, title, unit, reading, drawn, "samples"), title=f"Time ({axis})"),
            )
