"""A measurement over time: the rate of each direction above, the queueing delay below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

from ackclock.documents.parts import DIRECTIONS
from ackclock.plot.capture import GAP_S, envelope, rate_line
from ackclock.plot.time_axis import Phase, stacked
from ackclock.plot.time_series import Panel
from ackclock.report.page import Chart

if TYPE_CHECKING:
    from ackclock.documents import measure as documents
    from ackclock.measurement.result import Measurement

BINS = 300
MIN_BIN_S = 0.1
"""Minimum averaging time of a rate: shorter ones show single packets."""
READING = (
    "Above, the rate that arrives in each direction: payload that the TCP connections' receivers read, at once where "
    "a retransmission closes a gap, and IP bytes of the datagrams. "
    "Below, the delay of datagrams over the minimum of their direction, minimum and maximum of each interval: the "
    "queue. A second without one is a gap. A dashed line begins a test."
)


def timeline(completed: Measurement) -> Chart | None:
    """The chart of a whole measurement; None if it has neither connections nor datagrams."""
    kinds = {test["test"]: test["kind"] for test in completed.document["tests"]}
    delays = completed.delays.drop_nulls("delay_ms").with_columns(
        pl.col("test").cast(pl.Int64).replace_strict(kinds, default="", return_dtype=pl.String).alias("kind"),
        (pl.col("delay_ms") - pl.col("delay_ms").min().over("direction")).alias("above_ms"),
    )
    series = _received(completed)
    ends = [frame[column].max() for frame, column in ((delays, "sent_s"), (series, "time_s")) if not frame.is_empty()]
    if not ends:
        return None
    end = max(float(one) for one in ends)  # type: ignore[arg-type]
    width = max(MIN_BIN_S, end / BINS)
    sizes = _packet_bytes(completed.document)
    rates = [
        rate_line(direction, pl.concat(list(_arrivals(direction, series, delays, sizes))), "bytes", width, end)
        for direction in DIRECTIONS
    ]
    queues = [
        envelope(direction, own, "above_ms", 1.0, GAP_S)
        for direction in DIRECTIONS
        if not (own := delays.filter(pl.col("direction") == direction).rename({"sent_s": "time_s"})).is_empty()
    ]
    panels = [
        Panel("rate", "Rate received", "Mb/s", "", tuple(line for line in rates if any(line.values))),
        Panel("delay", "Queueing delay", "ms", "", tuple(queues)),
    ]
    drawn = [panel for panel in panels if panel.lines]
    if not drawn:
        return None
    return Chart("Rate and delay over time", READING, stacked(drawn, _phases(completed), end))


def _received(completed: Measurement) -> pl.DataFrame:
    """Payload read by each connection's receiver: direction, time_s, and bytes since the sample
    before."""
    directions = {flow["flow"]: flow["direction"] for flow in completed.document["flows"]}
    rows = completed.series.filter(
        ~pl.col("sends") & pl.col("bytes").is_not_null() & pl.col("flow").is_in(list(directions))
    )
    return rows.sort("flow", "time_s").select(
        pl.col("flow").replace_strict(directions, return_dtype=pl.String).alias("direction"),
        "time_s",
        (pl.col("bytes") - pl.col("bytes").shift(1).over("flow").fill_null(0)).cast(pl.Float64).alias("bytes"),
    )


def _packet_bytes(document: documents.Measurement) -> dict[tuple[str, str], float]:
    """The IP bytes of a datagram by kind of test and direction, of the tests that load the path."""
    capacity = {("capacity", loaded): of.get("packet_bytes") for loaded, of in document["capacity"].items()}
    steps = {("steps", str(of["direction"])): of.get("ip_bytes") for of in document["steps"]}
    return {key: float(size) for key, size in (capacity | steps).items() if size}


def _arrivals(
    direction: str, series: pl.DataFrame, delays: pl.DataFrame, sizes: Mapping[tuple[str, str], float]
) -> Iterator[pl.DataFrame]:
    """Bytes of a direction with their times of arrival."""
    yield series.filter(pl.col("direction") == direction).select("time_s", "bytes")
    own = delays.filter(pl.col("direction") == direction)
    for (kind, loaded), size in sizes.items():
        if loaded == direction:
            loading = own.filter(pl.col("kind") == kind)
            yield loading.select(
                (pl.col("sent_s") + 1e-3 * pl.col("above_ms")).alias("time_s"), pl.lit(size).alias("bytes")
            )


def _phases(completed: Measurement) -> list[Phase]:
    """The tests, those of a kind and direction in a row as one."""
    starts: dict[int, float] = {}
    for frame, column in ((completed.delays, "sent_s"), (completed.series, "time_s")):
        for number, at in frame.group_by("test").agg(pl.col(column).min()).drop_nulls().iter_rows():
            starts[number] = min(at, starts.get(number, at))
    names = {
        test["test"]: " ".join(filter(None, (test["kind"], test.get("way")))) for test in completed.document["tests"]
    }
    found: list[Phase] = []
    for number in sorted(starts, key=lambda one: starts[one]):
        name = names.get(number, "")
        if name and not name.startswith("beside") and (not found or found[-1][2] != name):
            found.append((max(0.0, starts[number]), max(0.0, starts[number]), name))
    return found
