"""Data frames of an analysis."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ackclock.storage.null_columns import typed_nulls

if TYPE_CHECKING:
    import polars as pl

ROW_GROUP = 1 << 14
"""Flows in a row group of `flows.parquet`."""
RATES_ROWS = 1 << 17
"""Rows of a series that are summed at once: the groups of all take as much memory as the series."""


def rows_frame(tables: Iterable[Any]) -> pl.DataFrame:
    """One row for each flow, of the engine's tables of some flows each.

    A column for each kind of retransmission in any flow; null where a flow has none.
    """
    import polars as pl

    frames = [pl.DataFrame(table) for table in tables]
    if not frames:
        return pl.DataFrame()
    return typed_nulls(pl.concat(frames, how="diagonal_relaxed"))


def rows_parquet(tables: Iterable[Any]) -> bytes:
    """The table of `rows_frame` in Parquet, made a part at a time.

    The table of 100,000 flows takes 180 MB, its compressed parts 5 MB. The parts are IPC files,
    which take half of the time of Parquet.
    """
    import polars as pl

    parts = []
    for table in tables:
        part = io.BytesIO()
        pl.DataFrame(table).write_ipc(part, compression="zstd")
        part.seek(0)
        parts.append(part)
    content = io.BytesIO()
    frames = [pl.scan_ipc(part) for part in parts]
    rows = typed_nulls(pl.concat(frames, how="diagonal_relaxed")) if frames else pl.LazyFrame()
    rows.sink_parquet(content, compression="zstd", compression_level=3, statistics=True, row_group_size=ROW_GROUP)
    return content.getvalue()


def series_frame(table: Any, flows: Sequence[int]) -> pl.DataFrame:
    """One row for each packet of these flows, ordered by time within each capture."""
    return _of_flows(table, flows)


def delays_frame(table: Any, flows: Sequence[int]) -> pl.DataFrame:
    """One row for each packet sent within both captures: its delay between them, null if lost."""
    return _of_flows(table, flows)


def rates_frame(packets: pl.DataFrame | pl.LazyFrame, step_s: float) -> pl.DataFrame:
    """Throughput and goodput over time at each capture, in steps of `step_s` seconds, bit/s, by a
    series.

    Columns `capture`, `flow`, `way`, `time_s` (start of the step), `throughput_bps` (IP bytes of
    data, without retransmissions), `goodput_bps` (payload, without retransmissions), `sent_bps` (IP
    bytes of all packets, retransmissions and ACKs included). Empty steps are left out.
    """
    import polars as pl

    rows = packets.lazy()
    count = rows.select(pl.len()).collect().item()
    parts = [_sums(rows.slice(first, RATES_ROWS), step_s).collect() for first in range(0, max(count, 1), RATES_ROWS)]
    return (
        pl.concat(parts)
        .group_by(_STEPS)
        .agg(pl.col("new_ip_bytes", "new_bytes", "ip_bytes").sum())
        .sort(_STEPS)
        .select(
            "capture",
            "flow",
            pl.when("is_back").then(pl.lit("b2a")).otherwise(pl.lit("a2b")).alias("way"),
            (pl.col("step") * step_s).alias("time_s"),
            _bps("new_ip_bytes", step_s).alias("throughput_bps"),
            _bps("new_bytes", step_s).alias("goodput_bps"),
            _bps("ip_bytes", step_s).alias("sent_bps"),
        )
    )


_STEPS = ("capture", "flow", "is_back", "step")
"""What a sum is of; the direction takes a bit, its name 16 bytes."""


def _sums(packets: pl.LazyFrame, step_s: float) -> pl.LazyFrame:
    """Bytes of each step."""
    import polars as pl

    first_time = pl.col("kind").is_in(["new", "after_hole"]) & (pl.col("payload_bytes") > 0)
    return (
        packets.select(
            "capture",
            "flow",
            (pl.col("way") == "b2a").alias("is_back"),
            (pl.col("time_s") / step_s).floor().alias("step"),
            pl.when(first_time).then("ip_bytes").otherwise(0).alias("new_ip_bytes"),
            pl.when(first_time).then("payload_bytes").otherwise(0).alias("new_bytes"),
            "ip_bytes",
        )
        .group_by(_STEPS)
        .agg(pl.col("new_ip_bytes", "new_bytes", "ip_bytes").sum())
    )


def _bps(column: str, step_s: float) -> pl.Expr:
    import polars as pl

    return pl.col(column) * 8.0 / step_s


def _of_flows(table: Any, flows: Sequence[int]) -> pl.DataFrame:
    import polars as pl

    frame = pl.DataFrame(table)
    numbers = frame["flow"]
    # All flows of a document are a range, and mostly those of the table: nothing is copied.
    if isinstance(flows, range) and (frame.is_empty() or (numbers.min() in flows and numbers.max() in flows)):
        return frame
    return frame.filter(pl.col("flow").is_in(list(flows)))
