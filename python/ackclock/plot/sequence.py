"""Time-sequence graphs as tcptrace's: data, ACKs, window, SACK and retransmissions by kind, for
each packet.

The page draws them on a canvas with a script of its own, because a capture has more packets than a
vector drawing bears.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, TypedDict

import polars as pl

if TYPE_CHECKING:
    import altair as alt

    from ackclock.plot.vega import Specification

MAX_MARKS = 40_000
"""Maximum data packets, ACKs and SACK blocks of a graph, which limits the page's size.

Retransmissions take precedence.
"""
KINDS: dict[str, tuple[str, str]] = {
    "new": ("data", "#0072B2"),
    "fast": ("fast retransmission", "#D55E00"),
    "rack": ("lost retransmission (RACK)", "#A3123A"),
    "timeout": ("timeout", "#D00000"),
    "go_back_n": ("after a timeout", "#F28E8E"),
    "tail_probe": ("tail loss probe", "#8E44AD"),
    "handshake": ("SYN retransmission", "#8C564B"),
    "unexplained": ("retransmission of unknown kind", "#111111"),
    "reordered": ("reordered", "#56B4E9"),
    "network_duplicate": ("duplicated by the network", "#7F7F7F"),
    "zero_window_probe": ("window probe", "#B8860B"),
    "keep_alive": ("keep-alive", "#999999"),
}
"""Kinds of data by their name in `series.parquet`: legend and colour."""
LINES = {
    "ack": ("acknowledged", "#009E73"),
    "window": ("edge of the window", "#E69F00"),
    "sack": ("SACK", "#CC79A7"),
    "lost": ("lost (cross)", "#D00000"),
}


class Marks(TypedDict):
    """The data of a graph: times in s, positions in bytes of the stream. A row of ``data`` has
    time, first and last position and the number of its kind.
    """

    kinds: list[str]
    colours: list[str]
    data: list[list[float]]
    ack: list[list[float]]
    window: list[list[float]]
    sack: list[list[float]]
    lost: list[list[float]]


@dataclass(frozen=True, slots=True)
class Sequence:
    """A graph, and the intervals to show, each with an explanation."""

    data: Marks
    views: list[tuple[str, float, float]] = field(default_factory=list)

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Names and colours of the kinds in the graph."""
        present = {self.data["kinds"][int(row[3])] for row in self.data["data"]}
        shown = [KINDS[kind] for kind in KINDS if kind in present]
        return shown + [LINES[key] for key in ("ack", "window", "sack", "lost") if self.data[key]]

    def specification(self) -> Specification:
        """The graph as Vega-Lite, for files; the page draws it on a canvas."""
        import altair as alt

        from ackclock.plot.vega import WIDTH, Specification

        names = dict(self.legend)
        kinds = [KINDS.get(kind, (kind, ""))[0] for kind in self.data["kinds"]]
        marks = [(t, low, high, kinds[int(kind)]) for t, low, high, kind in self.data["data"]]
        marks += [(t, low, high, LINES["sack"][0]) for t, low, high in self.data["sack"]]
        steps = [(t, edge, LINES[key][0]) for key in ("ack", "window") for t, edge in self.data[key]]
        colour = alt.Color(
            "what:N",
            scale=alt.Scale(domain=list(names), range=list(names.values())),
            legend=alt.Legend(title=None, orient="top", columns=4),
        )
        x = alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(grid=False))
        y = alt.Y("from_byte:Q", title="Sequence number (bytes)", axis=alt.Axis(format="~s"))

        def rows(fields: tuple[str, ...], values: Iterable[tuple[float | str, ...]]) -> alt.Chart:
            return alt.Chart(alt.InlineData(values=[dict(zip(fields, row, strict=True)) for row in values]))

        layers = [
            rows(("time_s", "from_byte", "what"), steps)
            .mark_line(interpolate="step-after", strokeWidth=1.2)
            .encode(x=x, y=y, color=colour),
            rows(("time_s", "from_byte", "to_byte", "what"), marks)
            .mark_rule(strokeWidth=1.4)
            .encode(x=x, y=y, y2="to_byte:Q", color=colour),
        ]
        if self.data["lost"]:
            lost = [(t, edge, LINES["lost"][0]) for t, edge in self.data["lost"]]
            crosses = rows(("time_s", "from_byte", "what"), lost).mark_point(shape="cross", size=40)
            layers.append(crosses.encode(x=x, y=y, color=colour))
        return Specification.of(alt.layer(*layers).properties(width=WIDTH, height=340))


def sequence(sent: pl.DataFrame, back: pl.DataFrame, lost: set[float]) -> Sequence:
    """The graph of one direction: its sender's packets, those of the other end, and the times of
    lost packets.
    """
    data = sent.filter((pl.col("payload_bytes") > 0) | pl.col("kind").is_in(["syn", "handshake"]))
    data = data.with_columns(pl.col("kind").replace({"after_hole": "new", "syn": "new"}))
    kinds = list(KINDS)
    rows = [
        [round(t, 6), seq, seq + max(1, length), kinds.index(kind)]
        for t, seq, length, kind in _thinned(data).select("time_s", "seq", "payload_bytes", "kind").iter_rows()
        if kind in KINDS
    ]
    acks = back.filter(pl.col("ack").is_not_null() & (pl.col("kind") != "reset"))
    steps = _thinned(acks)
    gone = data.filter(pl.col("time_s").is_in(list(lost))) if lost else data.head(0)
    marks: Marks = {
        "kinds": kinds,
        "colours": [colour for _, colour in KINDS.values()],
        "data": rows,
        "ack": [[round(t, 6), ack] for t, ack in steps.select("time_s", "ack").iter_rows()],
        "window": [
            [round(t, 6), ack + window] for t, ack, window in steps.select("time_s", "ack", "window_bytes").iter_rows()
        ],
        "sack": _sacks(acks),
        "lost": [[round(t, 6), seq] for t, seq in gone.select("time_s", "seq").iter_rows()],
    }
    return Sequence(marks, _views(data, acks))


def _thinned(frame: pl.DataFrame) -> pl.DataFrame:
    """At most `MAX_MARKS` rows, evenly over time, with every retransmission."""
    if frame.height <= MAX_MARKS:
        return frame
    every = -(-frame.height // MAX_MARKS)
    odd = ~pl.col("kind").is_in(["new", "ack"])
    return frame.with_row_index("row").filter(odd | (pl.col("row") % every == 0)).head(2 * MAX_MARKS)


def _sacks(acks: pl.DataFrame) -> list[list[float]]:
    blocks: list[list[float]] = []
    for t, edges in acks.filter(pl.col("sack").list.len() > 0).select("time_s", "sack").iter_rows():
        # The first block is the newest (RFC 2018, section 4); the others repeat what has been
        # drawn.
        if len(blocks) < MAX_MARKS:
            blocks.append([round(t, 6), edges[0], edges[1]])
    return blocks


def _views(data: pl.DataFrame, acks: pl.DataFrame) -> list[tuple[str, float, float]]:
    """The intervals: all, the beginning, and the second with the most retransmissions."""
    if data.is_empty():
        return []
    times = data["time_s"]
    start = float(times.min() or 0.0)  # type: ignore[arg-type]
    end = max(float(times.max() or 0.0), float(acks["time_s"].max() or 0.0) if acks.height else 0.0)  # type: ignore[arg-type]
    views = [("The whole transfer", start, end)]
    rtts = acks["rtt_ms"].drop_nulls()
    rtt = float(rtts.min() or 0.0) * 1e-3 if rtts.len() else 0.0  # type: ignore[arg-type]
    first = max(8 * rtt, 0.5)
    if end - start > 3 * first:
        views.append(("The beginning", start, start + first))
    again = data.filter(~pl.col("kind").is_in(["new", "reordered", "keep_alive"]))["time_s"]
    if again.len():
        span = max(1.0, 6 * rtt)
        worst = max(((again.is_between(t, t + span)).sum(), -t) for t in again.gather_every(-(-again.len() // 400)))
        at = -worst[1] - 0.15 * span
        if end - start > 2 * span:
            views.append(
                (f"Maximum of retransmissions: {worst[0]} in {span:.1f} s", max(start, at), min(end, at + 1.3 * span))
            )
    return views


def script() -> str:
    """JavaScript that defines ``ackclockSequence(canvas, data, from, to, colour)``."""
    return files("ackclock.plot").joinpath("sequence.js").read_text("utf-8")
