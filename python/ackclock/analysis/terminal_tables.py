"""An analysis as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from ackclock import _native
from ackclock.analysis.capture_document import CaptureDocument
from ackclock.analysis.clocks import format_clock, format_offset, known_clocks
from ackclock.analysis.direction_view import SIDES, DirectionView, DirectionViews
from ackclock.analysis.summary import capture_lines, connections_line, top_rows, verdict_line
from ackclock.format import column_ms, column_percent, joined, many, rate, size
from ackclock.statistics.summary_stats import stats_of
from ackclock.terminal import SCREEN, height

if TYPE_CHECKING:
    from ackclock.documents.engine import (
        CaptureSummary,
        DirectionReport,
        Finding,
        FlowReport,
        Report,
        UdpDirectionReport,
        UdpFlowReport,
    )

MAX_FLOWS = 10
"""Flows of each table; `--all`, `--json` and `--out` have all."""
FINDINGS = "Findings"
"""Title of the table of findings."""
_COLUMNS = [
    "goodput",
    "segments",
    "retrans-\nmitted",
    "fast",
    "time-\nouts",
    "after\nRTO",
    "probes",
    "spu-\nrious",
    "out of\norder",
    "zero\nwindow",
]
_ONE_CONNECTION = "1 established"
"""Connections of a capture of one flow, which the flow's row shows."""
_TIMES = ["RTT ms\nmin", "\nmean", "\np95", "in flight\nmax"]


def source_tables(source: CaptureDocument, *, all_flows: bool = False) -> list[Table]:
    """The tables of the worst flows, or of all."""
    numbers = source.worst(len(source.numbers) if all_flows else MAX_FLOWS)
    tables = analysis_tables(source.part(numbers), len(source.numbers), is_whole=all_flows)
    count = int(source.head.get("udp", {}).get("flows", 0))
    if udp := source.largest_udp(count if all_flows else MAX_FLOWS):
        tables.append(udp_table(udp, count))
        if (between := _udp_between(udp)).row_count:
            tables.append(between)
        if (found := udp_findings_table(udp)).row_count:
            tables.append(found)
    return tables


def analysis_tables(document: Report, listed: int | None = None, *, is_whole: bool = False) -> list[Table]:
    """The summary, the flows by direction, then the findings, in the order of the document.

    One flow fits a small terminal: its first finding has all of its text, the others as much as
    fits.

    Args:
        document: the document, or a part of it.
        listed: the number of flows of the whole document.
        is_whole: one flow has the text of all findings, however many lines that takes.
    """
    listed = len(document["flows"]) if listed is None else listed
    tables = [_summary(document, listed)] if "summary" in document and (listed or capture_lines(document)) else []
    if tables and listed > 1:
        tables.append(_top(document))
    tables.append(_one_flow(document) if listed == 1 else _flows(document, listed))
    is_brief = listed == 1 and not is_whole
    if not is_brief and (timed := _timeouts(document)):
        tables.append(timed)
    if "second" in document:
        tables.append(between_table(document))
    forms = [_FULL] * sum(len(flow["diagnosis"]) for flow in document["flows"])
    if forms:
        tables.append(_findings(document, forms))
    if is_brief:
        # The last ones first, then down to their names; the first one at last.
        shorter = [(number, form) for form in (_SENTENCE, _NAME) for number in range(len(forms) - 1, 0, -1)]
        for number, form in (*shorter, *((0, _SENTENCE),)[: len(forms)]):
            if height(tables) <= SCREEN[1]:
                break
            forms[number] = form
            tables[-1] = _findings(document, forms)
        if "second" in document and height(tables) > SCREEN[1]:
            at = next(number for number, table in enumerate(tables) if str(table.title).startswith(JOINED))
            tables[at] = between_table(document, is_short=True)
            # The first finding is what the customer's line says.
            if forms and height(tables) > SCREEN[1]:
                forms[0] = _NAME
                tables[-1] = _findings(document, forms)
    return tables


JOINED = "Joined with"
"""The beginning of the title of a table of two captures."""


def _summary(document: Report, listed: int) -> Table:
    """The verdict, what it says to a customer and to an operator, and the connections."""
    summary = document["summary"]
    table = _table("Summary")
    table.show_header = False
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold")
    if listed:
        table.add_row("verdict", verdict_line(summary) if listed > 1 else _verdict_of_one(summary))
        table.add_row("customer", summary["customer"])
        if listed > 1:
            table.add_row("operator", summary["operator"])
        if (line := connections_line(summary)) != _ONE_CONNECTION:
            table.add_row("connections", line)
    for name, line in capture_lines(document):
        table.add_row(name, line)
    return table


def _verdict_of_one(summary: CaptureSummary) -> str:
    """The verdict of a capture with one flow, without what its findings below repeat."""
    line = verdict_line(summary)
    verdict, _, reason = line.partition(": ")
    whole, flow, _ = reason.partition("Flow 1 ")
    if not flow:
        return line
    return f"{verdict}: {whole.strip()}" if whole.strip() else verdict


def udp_table(flows: Sequence[UdpFlowReport], listed: int) -> Table:
    """UDP flows: packets and bytes of each direction, and the RTT of QUIC's spin bit."""
    cut = f"; the {len(flows)} largest of {listed} (--all prints all)" if listed > len(flows) else ""
    table = _table(f"UDP flows{cut}")
    for column in ("frames", "protocol", "client", "server"):
        table.add_column(column, overflow="fold")
    for column in ("time s", "packets\na2b", "\nb2a", "bytes\na2b", "\nb2a", "spin-bit RTT ms\na2b p50", "\nb2a p50"):
        table.add_column(column, justify="right", no_wrap=True)
    for flow in flows:
        directions = [flow["a2b"], flow["b2a"]]
        table.add_row(
            _frames(flow),
            flow["protocol"],
            flow["client"],
            flow["server"],
            f"{flow['duration_s']:.1f}",
            *(str(figures["packets"]) for figures in directions),
            *(size(figures["bytes"]) for figures in directions),
            *(column_ms(figures["spin_rtt_ms"] and figures["spin_rtt_ms"]["p50"]) for figures in directions),
        )
    return table


def _top(document: Report) -> Table:
    """The hosts and the ports with most bytes."""
    table = _table("Hosts and ports with most bytes")
    for column in ("", "name"):
        table.add_column(column)
    for column in ("flows", "bytes", "retrans-\nmitted", "time\nlost s"):
        table.add_column(column, justify="right", no_wrap=True)
    for grouping in ("host", "port"):
        for row in top_rows(document["summary"], grouping, "bytes"):
            figures = (
                str(row["flows"]),
                size(row["bytes"]),
                str(row["retransmitted_segments"]),
                f"{row['time_lost_s']:.3f}",
            )
            table.add_row(grouping, row["name"], *figures)
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")


def _flows(document: Report, listed: int) -> Table:
    flows = document["flows"]
    cut = f"; the {len(flows)} worst of {listed} flows (--all prints all)" if listed > len(flows) else ""
    table = _table(f"{packets_line(document)}{cut}")
    for column in ("flow", "frames", "direction", "from", "to"):
        table.add_column(column, overflow="fold")
    for column in (*_COLUMNS, *_TIMES):
        table.add_column(column, justify="right", no_wrap=True)
    views = DirectionViews(document)
    for flow in flows:
        ends = [flow["client"], flow["server"]]
        for direction in SIDES:
            # A connection without data has one row: it was refused, or had no answer.
            if flow[direction]["segments"] or (direction == "a2b" and not flow["b2a"]["segments"]):
                table.add_row(
                    str(flow["flow"]),
                    _frames(flow),
                    direction,
                    *(ends if direction == "a2b" else ends[::-1]),
                    *_figures(views.of(flow, direction)),
                )
    return table


def packets_line(document: Report) -> str:
    """The capture and the number of its packets."""
    bad = f", {document['malformed']} malformed" if document["malformed"] else ""
    return f"{document['capture']}: {document['packets']} packets{bad}"


def _one_flow(document: Report) -> Table:
    """The only flow: for each direction its figures but those of zero, so that all fits a small
    terminal.
    """
    frames = "".join(f", frames {_frames(flow)}" for flow in document["flows"])
    table = _table(f"{packets_line(document)}{frames}")
    table.show_header = False
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold")
    views = DirectionViews(document)
    for flow in document["flows"]:
        ends = (flow["client"], flow["server"])
        for direction in SIDES:
            if flow[direction]["segments"] or (direction == "a2b" and not flow["b2a"]["segments"]):
                sender, receiver = ends if direction == "a2b" else ends[::-1]
                table.add_row(direction, f"{sender} > {receiver}: {_figures_text(views.of(flow, direction))}")
    return table


def _figures_text(view: DirectionView) -> str:
    """The figures of a direction, as `_figures` has them, in a line of text without the zeros."""
    direction = view.figures
    text = f"{rate(direction['goodput_bps'])}, {many(direction['segments'], 'segment')}"
    kinds = (
        (direction["fast_retransmits"], "fast"),
        (direction["rto_retransmits"], "by timeout"),
        (direction["go_back_n_retransmits"], "after a timeout"),
        (direction["tlp_retransmits"], "probes"),
    )
    if direction["retransmitted_segments"]:
        causes = ", ".join(f"{number} {words}" for number, words in kinds if number)
        spurious = f", {view.not_needed} spurious" if view.not_needed else ""
        text += f", {column_percent(direction['retransmission_rate'])} retransmitted ({causes}{spurious})"
    if direction["out_of_order"]:
        text += f", {direction['out_of_order']} out of order"
    if direction["zero_windows"] or direction["zero_window_probes"]:
        text += f", window of zero {_zero_window(direction)} times"
    rtt = direction["rtt_ms"]
    if view.far or rtt["min"] is None:
        return text
    times = " / ".join(column_ms(rtt[name]) for name in ("min", "mean", "p95"))
    return f"{text}; RTT {times} ms (min / mean / p95), up to {size(direction['outstanding_bytes']['max'])} in flight"


def _frames(flow: FlowReport | UdpFlowReport) -> str:
    """The flow's first and last frame, as Wireshark numbers them."""
    frames = flow.get("frames")
    return "" if frames is None or not frames["first"] else f"{frames['first']}-{frames['last']}"


def _figures(view: DirectionView) -> list[str]:
    """Figures from the capture near the sender.

    If it is not at the sender, RTT and flight are not the sender's and are left out.
    """
    direction = view.figures
    rtt = direction["rtt_ms"] if not view.far else dict.fromkeys(("min", "mean", "p95"))
    return [
        rate(direction["goodput_bps"]),
        str(direction["segments"]),
        column_percent(direction["retransmission_rate"]),
        str(direction["fast_retransmits"]),
        str(direction["rto_retransmits"]),
        str(direction["go_back_n_retransmits"]),
        str(direction["tlp_retransmits"]),
        str(view.not_needed),
        str(direction["out_of_order"]),
        _zero_window(direction),
        column_ms(rtt["min"]),
        column_ms(rtt["mean"]),
        column_ms(rtt["p95"]),
        size(direction["outstanding_bytes"]["max"]) if not view.far else "-",
    ]


def _zero_window(figures: DirectionReport) -> str:
    """How often the peer's window was zero, and how many probes it received: `2`, `1+6`."""
    probes = figures["zero_window_probes"]
    return f"{figures['zero_windows']}{f'+{probes}' if probes else ''}"


def _timeouts(document: Report) -> Table | None:
    """Timeouts in a recovery started by duplicate ACKs, and timeouts with an early ACK (papers'
    digest, 7.7).
    """
    table = _table("Pairs of a fast retransmission and a timeout, and timeouts with an early ACK")
    for column in ("flow", "direction"):
        table.add_column(column)
    for column in ("time-\nouts", "in\npairs", "of one\nsegment", "pairs\nspurious", "ACK before\nmin RTT"):
        table.add_column(column, justify="right", no_wrap=True)
    views = DirectionViews(document)
    for flow in document["flows"]:
        for direction in ("a2b", "b2a"):
            figures = views.of(flow, direction).figures
            repairs, early = figures["repairs"], figures["spurious"]["early_timeouts"]
            if repairs["pairs"] or early:
                counts = (repairs[key] for key in ("timeouts", "pairs", "fast_then_timeout", "pairs_not_needed"))
                table.add_row(str(flow["flow"]), direction, *map(str, counts), str(early))
    return table if table.row_count else None


def between_table(document: Report, *, is_short: bool = False) -> Table:
    """What happened between two captures; the short one has neither the interval of the clock nor
    the cause of losses, which is a finding.
    """
    clock = document["clock"]
    clocks = "no constant offset and skew explain both directions"
    if clock is not None:
        estimated = format_offset(clock) if is_short else format_clock(clock)
        clocks = known_clocks(clock) or f"its clock is {estimated}"
    table = _table(f"{JOINED} {document['second']['capture']}: {clocks}")
    for column in ("flow", "direction"):
        table.add_column(column)
    _add_crossing_columns(table, has_cause=not is_short)
    for flow in document["flows"]:
        for direction in SIDES:
            if "lost" in flow[direction]:
                cells = _crossing(flow[direction])
                table.add_row(str(flow["flow"]), direction, *(cells[:-1] if is_short else cells))
    return table


def _udp_between(flows: Sequence[UdpFlowReport]) -> Table:
    """Delay and loss of UDP flows between two captures; no row without any."""
    table = _table("UDP between the captures, joined by its payloads")
    for column in ("client", "server"):
        table.add_column(column, overflow="fold")
    table.add_column("direction")
    _add_crossing_columns(table)
    for flow in flows:
        for direction in SIDES:
            if "lost" in flow[direction]:
                table.add_row(flow["client"], flow["server"], direction, *_crossing(flow[direction]))
    return table


def udp_findings_table(flows: Sequence[UdpFlowReport]) -> Table:
    """The findings about UDP flows between two captures; no row without any."""
    table = _table("Findings about UDP flows")
    for column in ("client", "server", "direction", "finding", "evidence and advice"):
        table.add_column(column, overflow="fold")
    for flow in flows:
        for finding in flow.get("diagnosis") or ():
            row = finding["direction"], finding["finding"], _with_advice(finding)
            table.add_row(flow["client"], flow["server"], *row)
    return table


def _add_crossing_columns(table: Table, *, has_cause: bool = True) -> None:
    for column in ("delay ms\nmin", "\np50", "\nmax", "lost", "loss", "not\ncaptured", "bursts", "buffer\nKB"):
        table.add_column(column, justify="right", no_wrap=True)
    if has_cause:
        table.add_column("cause of loss", overflow="fold")


def _crossing(direction: DirectionReport | UdpDirectionReport) -> list[str]:
    lost, bursts, buffer = direction["lost"], direction["loss_bursts"], direction["bottleneck_buffer_bytes"]
    buffer_bytes = (
        buffer["max_based"] if buffer["filled"] or _native.has_queue(buffer["max_based"], buffer["rate_bps"]) else None
    )
    return [
        *map(column_ms, stats_of(direction["one_way_delay_ms"], "min", "p50", "max")),
        str(lost["between_captures"]),
        column_percent(direction["loss_rate"]),
        str(lost["capture_drops_receiver"] + lost["capture_drops_sender"]),
        str(bursts["above_50"] + bursts["above_80"] + bursts["all_lost"]),
        "" if buffer_bytes is None else f"{'' if buffer['filled'] else 'over '}{buffer_bytes / 1000:.0f}",
        f"{direction['loss_cause']['verdict']}: {direction['loss_cause']['evidence']}"
        if lost["between_captures"]
        else "",
    ]


def _with_advice(finding: Finding) -> str:
    """The evidence, and the advice in a line of its own."""
    return finding["evidence"] + (f"\n-> {finding['advice']}" if finding["advice"] else "")


_FULL, _SENTENCE, _NAME = range(3)
"""What a finding has: evidence and advice, its sentence, or its name alone."""


def _findings(document: Report, forms: Sequence[int]) -> Table:
    """The findings of all flows, each in its form; one that several flows have is there once."""
    table = _table(FINDINGS)
    for column in ("flow", "direction", "finding", "share of time", "evidence and advice"):
        table.add_column(column, overflow="fold")
    all_of = ((flow, finding) for flow in document["flows"] for finding in flow["diagnosis"])
    named = []
    flows_of: dict[tuple[str, ...], list[int]] = {}
    for (flow, finding), form in zip(all_of, forms, strict=True):
        if form == _NAME:
            share = f" ({column_percent(finding['share'])})" if finding["share"] else ""
            named.append(f"{finding['finding']}{share}")
            continue
        text = _with_advice(finding) if form == _FULL else finding["sentence"]
        row = finding["direction"], finding["finding"], column_percent(finding["share"]), text
        flows_of.setdefault(row, []).append(flow["flow"])
    for (*cells, text), (first, *others) in flows_of.items():
        table.add_row(str(first), *cells, text + (f"\nThe same of {_listed_flows(others)}." if others else ""))
    if named and not flows_of:  # no row stands below the heads
        table.show_header = False
        for head in table.columns:
            head.header = ""
    if named:
        table.add_row("", "", "also", "", f"{', '.join(named)}: --all has the evidence and advice")
    return table


_LISTED_FLOWS = 10
"""Numbers of flows with the same finding that are listed; the document has all."""


def _listed_flows(flows: Sequence[int]) -> str:
    if len(flows) == 1:
        return f"flow {flows[0]}"
    if len(flows) > _LISTED_FLOWS:
        return f"{len(flows)} flows, the first {', '.join(map(str, flows[:_LISTED_FLOWS]))}"
    return f"flows {joined([str(flow) for flow in flows])}"
