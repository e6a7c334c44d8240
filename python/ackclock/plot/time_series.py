"""The panels of a run: window, RTT, goodput and queue over time, from its frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from ackclock.plot.theme import MAX_LINES
from ackclock.storage.dataset_files import scan
from ackclock.storage.stored_files import read_table

POINTS = 400
"""Maximum points of a line; a chart is about that many pixels wide."""
RATE_BINS = 120
"""Minimum averaging time of goodput, as a fraction of the run, against noise."""


@dataclass(frozen=True, slots=True)
class Line:
    """One named curve: times in seconds, values in the panel's unit; NaN is a break."""

    name: str
    times: list[float]
    values: list[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: what it shows, the unit of its values, its lines, and a sentence on how to read
    it. ``style`` is ``steps`` (a value holds until the next), ``samples`` (a dot where a value was
    taken) or empty.
    """

    key: str
    title: str
    unit: str
    reading: str
    lines: tuple[Line, ...]
    style: str = ""


@dataclass(frozen=True, slots=True)
class Frames:
    """A run's ``series`` and ``hops`` frames (the columns of ``series.parquet`` and
    ``hops.parquet``), one seed or more.
    """

    series: pl.DataFrame
    hops: pl.DataFrame

    def one_seed(self) -> Frames:
        """The lowest seed's rows only: curves of different seeds do not line up."""
        return Frames(_first_seed(self.series), _first_seed(self.hops))


def frames_in(folder: Path) -> Frames:
    """The frames in a folder with series.parquet and hops.parquet."""
    return Frames(*(read_table(folder / f"{name}.parquet") for name in ("series", "hops")))


def panels_of_dataset(folder: Path, shown: Mapping[str, int | str]) -> list[Panel]:
    """Panels of runs of a dataset in a run folder, laid over each other; `shown` has their numbers
    by label, in a folder of an earlier version the names of their folders in ``cells``. A run
    without series is left out.
    """
    frames = {
        label: frames_in(folder / "cells" / run) if isinstance(run, str) else _frames_of(folder, run)
        for label, run in shown.items()
    }
    return panels_of_runs({label: one for label, one in frames.items() if not one.hops.is_empty()})


def _frames_of(folder: Path, run: int) -> Frames:
    tables = (scan(folder, name).filter(pl.col("run") == run) for name in ("series", "hops"))
    return Frames(*(table.drop("run").collect() for table in tables))


def _first_seed(frame: pl.DataFrame) -> pl.DataFrame:
    if "seed" not in frame.columns or frame.is_empty():
        return frame
    return frame.filter(pl.col("seed") == pl.col("seed").min())


_READING = {
    "cwnd": (
        "The congestion window. A sawtooth shows losses and recoveries; a flat top shows a flow "
        "limited by a socket buffer."
    ),
    "rtt": ("The sender's smoothed RTT. The minimum is the path without queues; the rest is queueing delay."),
    "goodput": ("Payload acknowledged per second, averaged over short bins. Gaps are mostly retransmission timeouts."),
    "queue": (
        "Packets in the queue. A standing queue adds delay without throughput; while the queue is "
        "empty the link may be idle."
    ),
    "shaper": (
        "The rate of each controlled shaper. It rises while the shaper is in use and the delay is low, and "
        "falls when the delay rises."
    ),
}


_LEVELS = (
    "A level is the goodput of a Reno flow with the losses and the mean RTT of the whole run, by "
    "Padhye's model. Goodput below its level is limited by something other than losses."
)


def panels_of_run(frames: Frames, levels: Mapping[str, float] | None = None) -> list[Panel]:
    """Panels of one run: a line for every flow (the busiest ones when there are many) and for every
    queue that was used. ``levels`` are what a model gives some flows, in Mb/s by name: they lie
    over the goodput while there is room.
    """
    one = frames.one_seed()
    shown = _busiest(one.series)
    flows = {name: one.series.filter(pl.col("flow") == name).sort("time_s") for name in shown}
    queues = {_queue_name(key): frame for key, frame in _queues(one.hops).items()}
    more = _more(one.series, shown)
    made = _assemble(flows, flows, queues, "Queue at each hop" if queues else "Queue", more)
    made = [_named_queue(panel) if panel.key == "queue" else panel for panel in made]
    made += _shaper_panel(one.hops)
    return [_with_levels(panel, levels or {}) if panel.key == "goodput" else panel for panel in made]


def _shaper_panel(hops: pl.DataFrame) -> list[Panel]:
    """The rates of shapers that a controller changes; runs without one have no such column."""
    if "shaper_rate_bps" not in hops.columns:
        return []
    keyed = hops.drop_nulls("shaper_rate_bps").with_columns(pl.col("station").cast(pl.String).fill_null(""))
    groups = keyed.group_by("hop", "direction", "station", maintain_order=True)
    rates = {
        _queue_name((str(hop), str(direction), str(station))): frame.sort("time_s")
        for (hop, direction, station), frame in groups
    }
    lines = _lines(dict(list(rates.items())[:MAX_LINES]), "shaper_rate_bps", 1e-6)
    return [Panel("shaper", "Rate of the shaper", "Mb/s", _READING["shaper"], lines, "steps")] if lines else []


def _named_queue(panel: Panel) -> Panel:
    """A single line has no label beside it: the title has the hop and the direction."""
    return replace(panel, title=f"Queue at {panel.lines[0].name}") if len(panel.lines) == 1 else panel


def _with_levels(panel: Panel, levels: Mapping[str, float]) -> Panel:
    found = [(line, levels[line.name]) for line in panel.lines if line.times and line.name in levels]
    room = MAX_LINES - len(panel.lines)
    if not found or len(found) > room:
        return panel
    added = tuple(Line(f"{line.name}: model", [line.times[0], line.times[-1]], [level, level]) for line, level in found)
    return replace(panel, lines=panel.lines + added, reading=f"{panel.reading} {_LEVELS}")


def panels_of_runs(runs: Mapping[str, Frames]) -> list[Panel]:
    """Panels that lay runs over each other, one line per run: its first flow's window and RTT, the
    sum of its flows' goodput, and the queue that was fullest on average over all the runs."""
    ones = {name: frames.one_seed() for name, frames in list(runs.items())[:MAX_LINES]}
    firsts = {name: _first_flow(one.series) for name, one in ones.items()}
    totals = {name: _total(one.series) for name, one in ones.items()}
    fullest = _fullest({name: _queues(one.hops) for name, one in ones.items()})
    queues = {n: q[fullest] for n, one in ones.items() if fullest and fullest in (q := _queues(one.hops))}
    title = f"Queue at {_queue_name(fullest)}" if fullest else "Queue"
    return _assemble(firsts, totals, queues, title, "")


def _assemble(
    flows: Mapping[str, pl.DataFrame],
    totals: Mapping[str, pl.DataFrame],
    queues: Mapping[str, pl.DataFrame],
    queue_title: str,
    more: str,
) -> list[Panel]:
    made = [
        Panel("cwnd", "Congestion window" + more, "KiB", _READING["cwnd"], _lines(flows, "cwnd_bytes", 1.0 / 1024.0)),
        Panel("rtt", "Round-trip time" + more, "ms", _READING["rtt"], _lines(flows, "srtt_ms", 1.0)),
        Panel("goodput", "Goodput" + more, "Mb/s", _READING["goodput"], tuple(_rate(n, f) for n, f in totals.items())),
        Panel("queue", queue_title, "packets", _READING["queue"], _lines(queues, "queue_packets", 1.0)),
    ]
    return [panel for panel in made if any(line.times for line in panel.lines)]


def _lines(frames: Mapping[str, pl.DataFrame], column: str, scale: float) -> tuple[Line, ...]:
    made = []
    for name, frame in frames.items():
        known = frame.select("time_s", pl.col(column).cast(pl.Float64) * scale).drop_nulls().drop_nans()
        thin = known.gather_every(max(1, -(-known.height // POINTS)))
        made.append(Line(name, thin["time_s"].to_list(), thin[column].to_list()))
    return tuple(made)


def _rate(name: str, frame: pl.DataFrame) -> Line:
    if frame.height < 2:
        return Line(name, [], [])
    every = max(1, frame.height // RATE_BINS)
    thin = frame.select("time_s", "delivered_bytes").gather_every(every)
    span = pl.col("time_s").diff()
    rates = thin.select(
        "time_s", (pl.col("delivered_bytes").cast(pl.Float64).diff() * 8e-6 / span).alias("rate")
    ).drop_nulls()
    return Line(name, rates["time_s"].to_list(), rates["rate"].to_list())


def _busiest(series: pl.DataFrame) -> list[str]:
    delivered = series.group_by("flow", maintain_order=True).agg(pl.col("delivered_bytes").max())
    kept = delivered.sort("delivered_bytes", descending=True, maintain_order=True).head(MAX_LINES)["flow"]
    return [name for name in delivered["flow"] if name in set(kept)]


def _more(series: pl.DataFrame, shown: list[str]) -> str:
    flows = series["flow"].n_unique()
    return f" (the {len(shown)} busiest of {flows} flows)" if flows > len(shown) else ""


def _first_flow(series: pl.DataFrame) -> pl.DataFrame:
    return series.filter(pl.col("flow") == series["flow"].first()).sort("time_s") if not series.is_empty() else series


def _total(series: pl.DataFrame) -> pl.DataFrame:
    return series.group_by("time_s").agg(pl.col("delivered_bytes").sum()).sort("time_s")


QueueKey = tuple[str, str, str]


def _queues(hops: pl.DataFrame) -> dict[QueueKey, pl.DataFrame]:
    """The queues that were not always empty, by (hop, direction, station), in path order."""
    found: dict[QueueKey, pl.DataFrame] = {}
    if hops.is_empty():
        return found
    keyed = hops.with_columns(pl.col("station").cast(pl.String).fill_null(""))
    for (hop, direction, station), frame in keyed.group_by("hop", "direction", "station", maintain_order=True):
        if (frame["queue_packets"].max() or 0) and len(found) < MAX_LINES:
            found[str(hop), str(direction), str(station)] = frame.sort("time_s")
    return found


def _queue_name(key: QueueKey) -> str:
    hop, direction, station = key
    return f"{hop} {direction}" + (f", station {station}" if station else "")


def _fullest(queues: Mapping[str, Mapping[QueueKey, pl.DataFrame]]) -> QueueKey | None:
    mean: dict[QueueKey, float] = {}
    for of_run in queues.values():
        for key, frame in of_run.items():
            level = frame["queue_packets"].cast(pl.Float64).mean()
            mean[key] = mean.get(key, 0.0) + (level if isinstance(level, float) else 0.0)
    return max(mean, key=lambda key: mean[key]) if mean else None
