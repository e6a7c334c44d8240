"""What a figure over several runs draws: samples over time and figures of runs, from the tables of
run folders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

Frames = Mapping[str, "pl.DataFrame"]
MIN_RATE_BIN_S = 0.2
"""Minimum averaging time of a rate: shorter ones show single bursts."""
RATE_BINS = 120
"""Bins of a rate in the longest run."""
KEYS = ("run", "seed", "flow", "direction", "variant", "hop")
"""Columns that identify the rows of a table, beside the varied keys."""


@dataclass(frozen=True)
class Quantity:
    """A quantity over time: its title, its unit, and how a result's tables give it: columns of
    `KEYS`, ``time_s`` and ``value``; None where they do not have it.
    """

    title: str
    unit: str
    read: Callable[[Frames], pl.DataFrame | None]


def varied_keys(frames: Frames) -> list[str]:
    """The keys that the points of a sweep or a comparison vary: the columns of ``runs`` before the
    seed, of which some differ.
    """
    runs = frames.get("runs")
    if runs is None:
        return []
    columns = runs.columns[: runs.columns.index("seed")]
    return [name for name in columns if name != "run" and runs[name].n_unique() > 1]


def over_time(frames: Frames, name: str) -> pl.DataFrame | None:
    """The samples of a quantity of `QUANTITIES` with the keys of their rows and the varied keys;
    None without any.
    """
    found = QUANTITIES[name].read(frames)
    if found is None or (found := found.drop_nulls("value").drop_nans("value")).is_empty():
        return None
    keys = varied_keys(frames)
    if keys and "run" in found.columns:
        found = found.join(frames["runs"].select("run", *keys), on="run", how="left", maintain_order="left")
    flows = frames.get("flows")
    wanted = [name for name in ("variant", "direction") if name not in found.columns]
    if flows is not None and "flow" in found.columns and {"flow", *wanted} <= set(flows.columns):
        on = [name for name in ("run", "seed", "flow") if name in found.columns and name in flows.columns]
        further = flows.select(*on, *wanted).unique(on, maintain_order=True)
        found = found.join(further, on=on, how="left", maintain_order="left")
    return found


def of_runs(frames: Frames) -> pl.DataFrame | None:
    """A row for each run of a sweep or a comparison, or for each flow of another result, with
    figures as columns; None without such a table.
    """
    table = frames.get("runs", frames.get("flows"))
    return None if table is None or table.is_empty() else table


def figure_names(frames: Frames) -> list[str]:
    """The columns of `of_runs` that are figures."""
    table = of_runs(frames)
    if table is None:
        return []
    keys = {*KEYS, *varied_keys(frames), "client"}
    return [name for name, kind in table.schema.items() if kind.is_numeric() and name not in keys]


FIGURES = {"goodput": ("goodput_bps",), "rtt": ("rtt_p95_ms", "rtt_ms_p95", "rtt_ms_mean")}
"""Short names of figures of runs, for which a result has one of some columns."""


def figure_column(frames: Frames, name: str) -> str | None:
    """The column that a name of a figure stands for; None where the result has none."""
    names = figure_names(frames)
    return next((column for column in (name, *FIGURES.get(name, ())) if column in names), None)


def _column(table: str, column: str, factor: float) -> Callable[[Frames], pl.DataFrame | None]:
    def read(frames: Frames) -> pl.DataFrame | None:
        import polars as pl

        frame = frames.get(table)
        if frame is None or not {"time_s", column} <= set(frame.columns):
            return None
        keys = [name for name in KEYS if name in frame.columns]
        return frame.select(*keys, "time_s", (pl.col(column).cast(pl.Float64) * factor).alias("value"))

    return read


def _first(*reads: Callable[[Frames], pl.DataFrame | None]) -> Callable[[Frames], pl.DataFrame | None]:
    def read(frames: Frames) -> pl.DataFrame | None:
        return next((found for one in reads if (found := one(frames)) is not None and not found.is_empty()), None)

    return read


def _goodput(frames: Frames) -> pl.DataFrame | None:
    """New payload per second of each flow: of samples of a counter, or of the packets of a
    capture at the data's sender.
    """
    import polars as pl

    series = frames.get("series")
    if series is None:
        return None
    if "delivered_bytes" in series.columns:
        return _rates(series)
    if "payload_bytes" in series.columns:
        new = series.filter(pl.col("kind").is_in(["new", "after_hole"]) & (pl.col("payload_bytes") > 0))
        new = new.sort("flow", "way", "time_s").rename({"way": "direction"})
        counted = pl.col("payload_bytes").cum_sum().over("flow", "direction").alias("delivered_bytes")
        flows = pl.concat_str(pl.lit("flow "), "flow", pl.lit(" "), "direction").alias("flow")
        return _rates(new.select("time_s", counted, flows))
    return None


def _rates(series: pl.DataFrame) -> pl.DataFrame:
    """Mb/s of each flow in bins that all flows of a table share, from its first sample to the
    last; a bin without progress is 0.
    """
    import polars as pl

    keys = [name for name in ("run", "seed", "flow") if name in series.columns]
    width = _bin_width(series["time_s"])
    new = pl.col("delivered_bytes").cast(pl.Float64).diff().over(keys).fill_null(0.0)
    # A sample has the bytes of the time before it: that at the end of a bin belongs to it.
    in_bin = ((pl.col("time_s") / width - 1e-6).ceil().cast(pl.Int64) - 1).clip(0).alias("bin")
    bins = (
        series.sort(*keys, "time_s")
        .select(*keys, in_bin, new.alias("bytes"))
        .group_by(*keys, "bin", maintain_order=True)
        .agg(pl.col("bytes").sum())
    )
    every = (
        bins.group_by(*keys, maintain_order=True)
        .agg(pl.int_range(pl.col("bin").min(), pl.col("bin").max() + 1).alias("bin"))
        .explode("bin")
        .join(bins, on=[*keys, "bin"], how="left", maintain_order="left")
    )
    rate = pl.col("bytes").fill_null(0.0) * 8e-6 / width
    return every.select(*keys, ((pl.col("bin") + 0.5) * width).alias("time_s"), rate.alias("value"))


def _bin_width(times: pl.Series) -> float:
    """The width of the bins of a rate, in s: a multiple of the time between samples, where that is
    regular, so that each bin has as many.
    """
    width = max(MIN_RATE_BIN_S, float(times.max() or 0.0) / RATE_BINS)  # type: ignore[arg-type]
    steps = times.unique().sort().diff().drop_nulls()
    step = float(steps.median() or 0.0)  # type: ignore[arg-type]
    regular = step > 0.0 and float(steps.quantile(0.05) or 0.0) > 0.9 * step
    return step * math.ceil(width / step - 1e-6) if regular and step < width else width


def _queue(frames: Frames) -> pl.DataFrame | None:
    """The packets in the queue that is the fullest one on average."""
    import polars as pl

    hops = frames.get("hops")
    if hops is None or "queue_packets" not in hops.columns or hops.is_empty():
        return None
    means = hops.group_by("hop", "direction", maintain_order=True).agg(pl.col("queue_packets").mean())
    hop, direction, _ = means.sort("queue_packets", descending=True, maintain_order=True).row(0)
    own = hops.filter((pl.col("hop") == hop) & (pl.col("direction") == direction))
    keys = [name for name in KEYS if name in own.columns]
    return own.select(*keys, "time_s", pl.col("queue_packets").cast(pl.Float64).alias("value"))


def _delay(frames: Frames) -> pl.DataFrame | None:
    """The delay of each packet over the minimum of its direction: of a measurement, of two
    captures, or of an emulated link.
    """
    import polars as pl

    for name, start, direction in (("delays", "sent_s", "direction"), ("delays", "time_s", "way")):
        frame = frames.get(name)
        if frame is not None and {start, direction, "delay_ms"} <= set(frame.columns):
            known = frame.drop_nulls("delay_ms")
            above = pl.col("delay_ms") - pl.col("delay_ms").min().over(direction)
            return known.select(
                pl.col(direction).alias("direction"), pl.col(start).alias("time_s"), above.alias("value")
            )
    fates = frames.get("fates")
    if fates is None or not {"fate", "from", "sent_s", "at_s"} <= set(fates.columns):
        return None
    spent = 1e3 * (pl.col("at_s") - pl.col("sent_s"))
    kept = fates.filter(pl.col("fate") == "delivered").with_columns(spent.alias("spent"))
    sides = pl.col("from").replace_strict({"server": "down", "client": "up"}, return_dtype=pl.String)
    above = pl.col("spent") - pl.col("spent").min().over("from")
    return kept.select(sides.alias("direction"), pl.col("sent_s").alias("time_s"), above.alias("value"))


QUANTITIES = {
    "rtt": Quantity(
        "Round-trip time", "ms", _first(_column("series", "srtt_ms", 1.0), _column("series", "rtt_ms", 1.0))
    ),
    "goodput": Quantity("Goodput", "Mb/s", _goodput),
    "cwnd": Quantity("Congestion window", "KiB", _column("series", "cwnd_bytes", 1.0 / 1024.0)),
    "in-flight": Quantity(
        "Bytes in flight",
        "KiB",
        _first(
            _column("series", "flight_bytes", 1.0 / 1024.0),
            _column("series", "outstanding_bytes", 1.0 / 1024.0),
        ),
    ),
    "queue": Quantity("Packets in the fullest queue", "packets", _queue),
    "delay": Quantity("Queueing delay, one way", "ms", _delay),
}
"""The quantities over time by name."""
