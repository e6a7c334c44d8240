"""The ranking and the verdicts as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ackclock.comparison import household_answer
from ackclock.comparison.ack_path import HOST
from ackclock.comparison.asymmetry import implied, recorded_warning
from ackclock.comparison.conditions import NOT_TRIED
from ackclock.comparison.prices import OTHERS
from ackclock.comparison.transports import QUIC, STACK, TCP
from ackclock.comparison.verdict import paragraphs, tie_mark
from ackclock.format import range_text, significant, three
from ackclock.input.link.bottleneck import AS_IS
from ackclock.simulation.recordings import sentences
from ackclock.statistics import Interval

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.comparison.result import Comparison
    from ackclock.documents.compare import ComparedCell, MeasuredRow, Rank, RecordingPart
    from ackclock.documents.parts import Estimate, Metrics
    from ackclock.report.run_input import HopTable


MAX_ROWS = 10
"""Rows of a ranking; `--all` prints the others."""


def tables(comparison: Comparison, *, all_rows: bool = False) -> list[Table]:
    """The ranking, the prices, and the measured transfers; the verdict ends the last table."""
    if household_answer.is_of_apps(comparison.document):
        found = household_answer.tables(comparison.document)
        found += [ranking_table(comparison, all_rows=True)] if all_rows else []
        # What a first look leaves out is in the report.
        notes = [note for note in comparison.notes if not note.startswith(NOT_TRIED)]
        notes += sentences(use.as_json() for use in comparison.recordings)
        found[1].caption = "\n".join([str(found[1].caption), *notes])
        return found
    found = [
        ranking_table(comparison, all_rows=all_rows),
        *price_table(comparison),
        *measured_table(comparison.measured),
    ]
    found[-1].caption = "\n".join(filter(None, [str(found[-1].caption or ""), *paragraphs(comparison.document)]))
    return found


def ranking_table(comparison: Comparison, *, all_rows: bool = False) -> Table:
    """One row per configuration, best first, those with the same figures in one; "=" marks ties,
    "?" those of means that are more than 5 % apart. Ranges are 95 % intervals; a bimodal goodput
    has its modes with their runs, a few values that are far apart are listed. Of a long ranking the
    first rows only, unless `all_rows`.
    """
    from ackclock.comparison.ranking import equal_configurations
    from ackclock.comparison.transports import named
    from ackclock.terminal import TextBelow

    ranking = [ranked.as_json() for ranked in comparison.ranking]
    metrics = {
        r.configuration.label: {name: of.as_json() for name, of in r.metrics.items()} for r in comparison.ranking
    }
    same_as = {ranked["label"]: ranked["same_as"] for ranked in ranking}
    table = TextBelow(
        title=f"{named(ranking)} over {comparison.title or comparison.link}",
        title_justify="left",
        caption_justify="left",
        box=None,
        pad_edge=False,
    )
    columns = ranking_columns(ranking, metrics)
    for column in columns:
        table.add_column(column.head, justify="right" if column.is_number else "left", no_wrap=True)
    table.add_column("why")
    notes = []
    if (value := comparison.asymmetry) is not None:
        notes.append(f"k = {value.k:.3g}: {implied(value.k)}.")
    uses = [use.as_json() for use in comparison.recordings]
    notes += warnings(comparison.scenario["hop"], uses, comparison.notes)
    lines = own_rows(ranking)
    if len(lines) > MAX_ROWS and not all_rows:
        notes.append(f"{len(lines) - MAX_ROWS} further rows: --all, the report, or --json.")
        lines = lines[:MAX_ROWS]
    table.caption = "\n".join(notes)
    for ranked in lines:
        why = (ranked["why"] or "") + equal_configurations(ranked["label"], same_as)
        table.add_row(*(column.text(ranked) for column in columns), why)
    return table


def own_rows(ranking: Sequence[Rank]) -> list[Rank]:
    """The configurations of a ranking, without those that have the figures of an earlier one."""
    return [ranked for ranked in ranking if not ranked["same_as"]]


def warnings(hops: Sequence[HopTable], recordings: Iterable[RecordingPart], notes: Sequence[str]) -> list[str]:
    """What is to be known of the runs, a sentence each."""
    recorded = recorded_warning(hops)
    return [*([recorded] if recorded else []), *sentences(recordings), *notes]


@dataclass(frozen=True)
class RankingColumn:
    """A column of the ranking: its head, and the text of a configuration's cell."""

    head: str
    is_number: bool
    text: Callable[[Rank], str]


def ranking_columns(ranking: Sequence[Rank], metrics: Mapping[str, Metrics]) -> list[RankingColumn]:
    """The columns of a ranking, with what is varied on the path. `metrics` are by label."""
    first = metrics[ranking[0]["label"]]
    factor, unit = _goodput_unit(first["goodput_bps"]["mean"] if "goodput_bps" in first else None)

    def figure(head: str, metric: str, scale: float, decimals: int) -> RankingColumn:
        def text(ranked: Rank) -> str:
            found = metrics[ranked["label"]].get(metric)
            return _mean(found["mean"] if found else None, scale, decimals)

        return RankingColumn(head, True, text)

    def varied(name: str, key: PathKey) -> RankingColumn:
        return RankingColumn(name, False, lambda ranked: path_text(ranked, key))

    return [
        RankingColumn("rank", True, lambda ranked: f"{ranked['rank']}{tie_mark(ranked) or ' '}"),
        RankingColumn("variant", False, lambda ranked: ranked["params"]["variant"]),
        RankingColumn("buffers", False, _buffers),
        RankingColumn("delayed\nACK", False, _delayed_ack),
        *(varied(name, key) for name, key in _varied(ranking)),
        figure(f"goodput\n{unit}", "goodput_bps", 1.0 / factor, 3),
        RankingColumn(
            "95 %\ninterval", True, lambda ranked: _range(metrics[ranked["label"]].get("goodput_bps"), factor)
        ),
        figure("p95 RTT\nms", "rtt_p95_ms", 1.0, 1),
        figure("retrans-\nmitted %", "retransmission_rate", 100.0, 2),
        *([figure("Jain", "jain", 1.0, 3)] if "jain" in first else []),
        *(
            [figure(f"opposite\n{unit}", "opposite_goodput_bps", 1.0 / factor, 3)]
            if "opposite_goodput_bps" in first
            else []
        ),
    ]


def path_text(ranked: Rank, key: PathKey) -> str:
    """What a configuration has on the path; a QUIC stack by its name."""
    value = str(ranked["params"][key])
    return STACK if value == QUIC else value


def _delayed_ack(ranked: Rank) -> str:
    """A QUIC stack has ACKs and buffers of its own."""
    if ranked["params"]["transport"] == QUIC:
        return "-"
    return "on" if ranked["params"]["delayed_ack"] else "off"


def _buffers(ranked: Rank) -> str:
    if ranked["params"]["transport"] == QUIC:
        return "-"
    send, receive = ranked["params"]["send_buffer"], ranked["params"]["receive_buffer"]
    return send if receive == send else f"{send} / {receive}"


def short_ranking_table(compared: Sequence[ComparedCell], ranking: Sequence[Rank]) -> Table:
    """The ranking of a comparison's document in the columns of a sweep."""
    from ackclock.simulation.terminal_tables import MEASURED, measured_cells
    from ackclock.terminal import text_table

    table = text_table("Ranking", ["rank", "configuration"], MEASURED)
    metrics = {cell["label"]: cell["metrics"] for cell in compared}
    for ranked in ranking:
        cells = measured_cells(metrics[ranked["label"]])[: len(MEASURED)]
        table.add_row(str(ranked["rank"]), ranked["label"], *cells)
    return table


def price_table(comparison: Comparison) -> list[Table]:
    """What the first choices cost other flows, if they have run beside some."""
    from ackclock.terminal import text_table

    if not comparison.prices or not comparison.prices.choices:
        return []
    best = comparison.best.metrics.get("goodput_bps")
    factor, unit = _goodput_unit(best.mean if best else None)

    def mean(value: Interval | None, scale: float, decimals: int) -> str:
        return _mean(value.mean if value else None, scale, decimals)

    numbers = [text for other in OTHERS for text in (f"{unit} beside\n{other}", f"{unit} of\n{other}")]
    numbers += ["p95 delay\nof a probe ms", "100 kB transfer\np50, p95 ms"]
    table = text_table("Beside other flows", ["configuration"], numbers)
    table.caption_justify = "left"
    for choice in (*comparison.prices.choices, *comparison.prices.references):
        of = choice.metrics
        cells = []
        for other in OTHERS:
            cells += [mean(of.get(f"{name}_goodput_bps"), 1.0 / factor, 2) for name in (f"beside_{other}", other)]
        short = ", ".join(mean(of.get(f"short_{part}_s"), 1e3, 0) for part in ("p50", "p95"))
        if (unfinished := of.get("short_unfinished")) and unfinished.mean > 0.0:
            short += "+"
            table.caption = "+: a transfer that is not complete at the end of a run counts with its time until then."
        table.add_row(choice.label, *cells, mean(of.get("probe_delay_p95_ms"), 1.0, 0), short)
    return [table]


PathKey = Literal["queue", "ack_policy", "ack_technique", "transport"]


def _varied(ranking: Sequence[Rank]) -> list[tuple[str, PathKey]]:
    """Headings and parameters of what is varied on the path."""
    keys: tuple[tuple[str, PathKey], ...] = (
        ("queue", "queue"),
        ("ACK policy", "ack_policy"),
        ("hosts' ACKs", "ack_technique"),
        ("transport", "transport"),
    )
    usual: dict[PathKey, str] = {"queue": AS_IS, "ack_policy": AS_IS, "ack_technique": HOST, "transport": TCP}
    varied = {key for key in usual for ranked in ranking if ranked["params"][key] != usual[key]}
    return [(name, key) for name, key in keys if key in varied]


def _goodput_unit(best_bps: float | None) -> tuple[float, str]:
    """The unit of the goodputs: Mb/s, or kb/s where the best one is below 1 Mb/s."""
    return (1e3, "kb/s") if best_bps is not None and best_bps < 1e6 else (1e6, "Mb/s")


def _range(goodput: Estimate | None, factor: float) -> str:
    """The interval in the unit of the column, or the modes, or a few values that are far apart."""
    if goodput is None or goodput["n"] < 2 or goodput["lo"] is None or goodput["hi"] is None:
        return "-"
    if modes := goodput.get("modes"):
        return " or ".join(f"{three((mode['mean'] or math.nan) / factor)} ({mode['n']})" for mode in modes)
    if values := goodput.get("values"):
        return ", ".join(three(value / factor) for value in values)
    # As many decimals as the mean, and no more than five digits.
    ends = (goodput["lo"], goodput["hi"])
    lo, hi = (min(f"{end / factor:.3f}", significant(end / factor, 5), key=len) for end in ends)
    return range_text(lo, hi)


def _mean(mean: float | None, scale: float, decimals: int) -> str:
    return "-" if mean is None else f"{scale * mean:.{decimals}f}"


def measured_table(measured: Sequence[MeasuredRow]) -> list[Table]:
    """A measurement's transfers beside the simulated ones, if there are any."""
    from rich.table import Table

    from ackclock.comparison.measurement_rows import FIGURES, WORDS, cells_of

    if not measured:
        return []
    table = Table(title="Measured beside simulated", title_justify="left", box=None, pad_edge=False)
    for word in WORDS:
        table.add_column(word)
    for figure in FIGURES:
        table.add_column(figure, justify="right")
    for row in measured:
        table.add_row(*cells_of(row))
    return [table]
