"""The ranking and the verdicts as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    from ackclock.documents.compare import ComparedCell, Rank


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
    found = [ranking_table(comparison, all_rows=all_rows), *price_table(comparison), *measured_table(comparison)]
    found[-1].caption = "\n".join(filter(None, [str(found[-1].caption or ""), *paragraphs(comparison.document)]))
    return found


def ranking_table(comparison: Comparison, *, all_rows: bool = False) -> Table:
    """One row per configuration, best first, those with the same figures in one; "=" marks ties,
    "?" those of means that are more than 5 % apart. Ranges are 95 % intervals; a bimodal goodput
    has its modes with their runs, a few values that are far apart are listed. Of a long ranking the
    first rows only, unless `all_rows`.
    """
    from ackclock.comparison.ranking import equal_configurations
    from ackclock.terminal import TextBelow

    same_as = {ranked.configuration.label: ranked.same_as for ranked in comparison.ranking}
    first = comparison.best.metrics
    factor, unit = _goodput_unit(first)
    path = _varied(comparison)
    table = TextBelow(
        title=f"TCP over {comparison.title or comparison.link}",
        title_justify="left",
        caption_justify="left",
        box=None,
        pad_edge=False,
    )
    for column, justify in (
        ("rank", "right"),
        ("variant", "left"),
        ("buffers", "left"),
        ("delayed\nACK", "left"),
        *((name, "left") for name, _ in path),
        (f"goodput\n{unit}", "right"),
        ("95 %\ninterval", "right"),
        ("p95 RTT\nms", "right"),
        ("retrans-\nmitted %", "right"),
        *([("Jain", "right")] if "jain" in first else []),
        *([(f"opposite\n{unit}", "right")] if "opposite_goodput_bps" in first else []),
        ("why", "left"),
    ):
        table.add_column(column, justify="right" if justify == "right" else "left", no_wrap=column != "why")
    notes = []
    if (value := comparison.asymmetry) is not None:
        notes.append(f"k = {value.k:.3g}: {implied(value.k)}.")
    if warning := recorded_warning(comparison.scenario["hop"]):
        notes.append(warning)
    notes += sentences(use.as_json() for use in comparison.recordings)
    notes += comparison.notes
    lines = [ranked for ranked in comparison.ranking if not ranked.same_as]
    if len(lines) > MAX_ROWS and not all_rows:
        notes.append(f"{len(lines) - MAX_ROWS} further rows: --all, the report, or --json.")
        lines = lines[:MAX_ROWS]
    table.caption = "\n".join(notes)
    for ranked in lines:
        choice, metrics = ranked.configuration, ranked.metrics
        goodput = metrics.get("goodput_bps")
        buffers = choice.send_buffer
        if choice.receive_buffer != buffers:
            buffers = f"{buffers} / {choice.receive_buffer}"
        table.add_row(
            f"{ranked.rank}{tie_mark(ranked.as_json()) or ' '}",
            choice.variant,
            *((buffers, "on" if choice.delayed_ack else "off") if choice.transport == TCP else ("-", "-")),
            *(STACK if choice.params[key] == QUIC else str(choice.params[key]) for _, key in path),
            _mean(goodput, 1.0 / factor, 3),
            _range(goodput, factor),
            _mean(metrics.get("rtt_p95_ms"), 1.0, 1),
            _mean(metrics.get("retransmission_rate"), 100.0, 2),
            *([_mean(metrics.get("jain"), 1.0, 3)] if "jain" in first else []),
            *([_mean(metrics.get("opposite_goodput_bps"), 1.0 / factor, 3)] if "opposite_goodput_bps" in first else []),
            ranked.why + equal_configurations(choice.label, same_as),
        )
    return table


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
    factor, unit = _goodput_unit(comparison.best.metrics)
    numbers = [text for other in OTHERS for text in (f"{unit} beside\n{other}", f"{unit} of\n{other}")]
    numbers += ["p95 delay\nof a probe ms", "100 kB transfer\np50, p95 ms"]
    table = text_table("Beside other flows", ["configuration"], numbers)
    table.caption_justify = "left"
    for choice in (*comparison.prices.choices, *comparison.prices.references):
        of = choice.metrics
        cells = []
        for other in OTHERS:
            cells += [_mean(of.get(f"{name}_goodput_bps"), 1.0 / factor, 2) for name in (f"beside_{other}", other)]
        short = ", ".join(_mean(of.get(f"short_{part}_s"), 1e3, 0) for part in ("p50", "p95"))
        if (unfinished := of.get("short_unfinished")) and unfinished.mean > 0.0:
            short += "+"
            table.caption = "+: a transfer that is not complete at the end of a run counts with its time until then."
        table.add_row(choice.label, *cells, _mean(of.get("probe_delay_p95_ms"), 1.0, 0), short)
    return [table]


PathKey = Literal["queue", "ack_policy", "ack_technique", "transport"]


def _varied(comparison: Comparison) -> list[tuple[str, PathKey]]:
    """Headings and parameters of what is varied on the path."""
    keys: tuple[tuple[str, PathKey], ...] = (
        ("queue", "queue"),
        ("ACK policy", "ack_policy"),
        ("hosts' ACKs", "ack_technique"),
        ("transport", "transport"),
    )
    usual: dict[PathKey, str] = {"queue": AS_IS, "ack_policy": AS_IS, "ack_technique": HOST, "transport": TCP}
    return [
        (name, key) for name, key in keys if any(r.configuration.params[key] != usual[key] for r in comparison.ranking)
    ]


def _goodput_unit(metrics: Mapping[str, Interval]) -> tuple[float, str]:
    """The unit of the goodputs: Mb/s, or kb/s where the best one is below 1 Mb/s."""
    best = metrics.get("goodput_bps")
    return (1e3, "kb/s") if best and best.mean < 1e6 else (1e6, "Mb/s")


def _range(goodput: Interval | None, factor: float) -> str:
    """The interval in the unit of the column, or the modes, or a few values that are far apart."""
    if goodput is None or goodput.n < 2:
        return "-"
    if goodput.modes:
        return " or ".join(f"{three(mode.mean / factor)} ({mode.n})" for mode in goodput.modes)
    if goodput.values:
        return ", ".join(three(value / factor) for value in goodput.values)
    # As many decimals as the mean, and no more than five digits.
    lo, hi = (min(f"{end / factor:.3f}", significant(end / factor, 5), key=len) for end in (goodput.lo, goodput.hi))
    return range_text(lo, hi)


def _mean(value: Interval | None, scale: float, decimals: int) -> str:
    return f"{scale * value.mean:.{decimals}f}" if value else "-"


def measured_table(comparison: Comparison) -> list[Table]:
    """A measurement's transfers beside the simulated ones, if there are any."""
    from rich.table import Table

    from ackclock.comparison.measurement_rows import FIGURES, WORDS, cells_of

    if not comparison.measured:
        return []
    table = Table(title="Measured beside simulated", title_justify="left", box=None, pad_edge=False)
    for word in WORDS:
        table.add_column(word)
    for figure in FIGURES:
        table.add_column(figure, justify="right")
    for row in comparison.measured:
        table.add_row(*cells_of(row))
    return [table]
