"""The document as frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def flows_frame(document: Mapping[str, Any]) -> pl.DataFrame:
    """One row per flow. Lists (histograms, findings) are left out: the document has them."""
    import polars as pl

    frame = pl.DataFrame([_flat(flow) for flow in document["flows"]], infer_schema_length=None)
    return frame.with_columns(pl.col(pl.Null).cast(pl.Float64)) if frame.width else frame


def series_frame(table: Any, flows: Sequence[int]) -> pl.DataFrame:
    """One row per packet of these flows, in the order of time within each capture."""
    return _of_flows(table, flows)


def delays_frame(table: Any, flows: Sequence[int]) -> pl.DataFrame:
    """One row per packet that left within both captures: its delay between them, or none if it was lost."""
    return _of_flows(table, flows)


def rates_frame(series: pl.DataFrame, step_s: float) -> pl.DataFrame:
    """Throughput and goodput over time: what passed each capture in steps of `step_s` seconds, bit/s.

    Columns `capture`, `flow`, `way`, `time_s` (where the step begins), `throughput_bps` (IP bytes of data, each byte once), `goodput_bps` (payload,
    each byte once), `sent_bps` (IP bytes of all packets, repetitions and ACKs included). Steps in which nothing passed are left out.
    """
    import polars as pl

    once = pl.col("kind").is_in(["new", "after_hole"]) & (pl.col("payload_bytes") > 0)
    return (
        series.with_columns((pl.col("time_s") / step_s).floor().alias("step"))
        .group_by("capture", "flow", "way", "step", maintain_order=True)
        .agg(
            _bps(pl.col("ip_bytes").filter(once), step_s).alias("throughput_bps"),
            _bps(pl.col("payload_bytes").filter(once), step_s).alias("goodput_bps"),
            _bps(pl.col("ip_bytes"), step_s).alias("sent_bps"),
        )
        .sort("capture", "flow", "way", "step")
        .select("capture", "flow", "way", (pl.col("step") * step_s).alias("time_s"), "throughput_bps", "goodput_bps", "sent_bps")
    )


def _bps(count: pl.Expr, step_s: float) -> pl.Expr:
    return count.sum() * 8.0 / step_s


def _of_flows(table: Any, flows: Sequence[int]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(table).filter(pl.col("flow").is_in(list(flows)))


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key == "causes":  # as many as there are: every flow has a column for each that any flow has
            flat.update({f"{before}cause_{name}": cause["count"] for name, cause in value.items()})
        elif isinstance(value, Mapping):
            flat.update(_flat(value, f"{before}{key}_"))
        elif not isinstance(value, list):
            flat[f"{before}{key}"] = value
    return flat
