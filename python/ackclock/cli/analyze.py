"""analyze: the flows of a capture, their metrics and their diagnosis."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ackclock.cli.options import Force, Json, Quiet, Report, Seed, time_of

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.analysis.run import Analysis


def analyze(
    capture: Annotated[
        str,
        typer.Argument(help="A capture: pcap, pcapng, snoop or ERF, plain or in gzip or zstd; - is standard input."),
    ],
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="[CAPTURE2]",
            help="A second capture of the same traffic, nearer the other end. The two are joined. "
            "With --strip, the file to write.",
        ),
    ] = None,
    flow: Annotated[
        str | None, typer.Option(help="Only this flow: its number, or one endpoint (ADDRESS:PORT).")
    ] = None,
    filter: Annotated[
        str | None,
        typer.Option(
            help="Only flows with these endpoints: `host ADDRESS`, `net A/BITS`, `port N`, "
            "`portrange N-M`, with and, or, not, ( )."
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Start time after the first packet, such as 5 s; a bare number is seconds.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="End time after the first packet, such as 1 min; a bare number is seconds.")
    ] = None,
    pps: Annotated[
        list[Path] | None,
        typer.Option(
            help="Counter values at each PPS pulse, to convert counter timestamps to UTC. Once for each capture."
        ),
    ] = None,
    synchronized: Annotated[
        str | None, typer.Option(metavar="ERROR", help="Maximum error of both captures' clocks, such as `100 us`.")
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Keep reading while the file grows, and update the tables. Ctrl-C ends it and prints them."
        ),
    ] = False,
    timeline: Annotated[
        str | None,
        typer.Option(metavar="FLOW", help="Print the packets of a flow in time, events one by one: its number."),
    ] = None,
    congestion_control: Annotated[
        bool,
        typer.Option(
            "--congestion-control",
            help="Look for the congestion control of every sender, not of the 20 largest directions of 1 MB and more.",
        ),
    ] = False,
    strip: Annotated[
        bool,
        typer.Option(
            "--strip",
            help="Analyze nothing: write a copy of CAPTURE that can be shared to CAPTURE2. It has headers only, and "
            "other addresses.",
        ),
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Print all flows, lines and findings in full, not the first of them.")
    ] = False,
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder for an HTML report, tables, JSON and xplot graphs (default: nothing is written)."
        ),
    ] = None,
    force: Force = False,
    report: Report = True,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Per-flow metrics and diagnosis from one capture, or from both ends."""
    from ackclock.analysis.capture_document import QlogDocument, stored_text
    from ackclock.analysis.clocks import clocks_of
    from ackclock.analysis.filter import PacketFilter, parse_filter
    from ackclock.analysis.folder import DOCUMENT, AnalysisRequest, folder_for, read_folder, write_folder
    from ackclock.analysis.run import Analysis, analysis_of, is_qlog, open_capture, refuse_for_qlog
    from ackclock.analysis.truncation import truncations
    from ackclock.cli.output import print_json_text, remark, write_page
    from ackclock.errors import InputError

    if strip:
        _strip(capture, second, json=json)
        return
    if is_qlog(capture):
        refuse_for_qlog(
            {
                "CAPTURE2": second,
                "--flow": flow,
                "--filter": filter,
                "--since": since,
                "--until": until,
                "--pps": pps,
                "--synchronized": synchronized,
                "--follow": follow,
                "--timeline": timeline,
                "--out": out,
            }
        )
        _print(Analysis(QlogDocument(capture)), json=json, all_flows=all_, quiet=quiet)
        return
    if follow and second is not None:
        raise InputError.problem(
            "--follow reads one capture while it grows", "leave out CAPTURE2 or --follow", option="--follow"
        )
    if timeline is not None and json:
        raise InputError.problem(
            "--timeline prints a table, --json a document",
            "leave out one of them; the document has the events of each flow",
            option="--timeline",
        )
    packet_filter = PacketFilter(parse_filter(filter), _seconds(since, "--since"), _seconds(until, "--until"))
    clocks = clocks_of(pps or (), synchronized, 1 if second is None else 2)
    try:
        reader = open_capture(
            capture,
            packet_filter,
            second,
            series=timeline is not None or out is not None,
            clocks=clocks,
            follow=follow,
            congestion_control=congestion_control,
        )
    except KeyboardInterrupt:
        raise InputError.problem(
            "interrupted before the first packet", "name a file or a pipe that is written", file=capture
        ) from None
    request = AnalysisRequest(
        (capture,) if second is None else (capture, second),
        packet_filter,
        flow,
        clocks,
        follow=follow,
        congestion_control=congestion_control,
    )
    with folder_for(out, request, force=force) as run:
        if run and run.finished:
            analysis = read_folder(run.path)
        else:
            _read(capture, reader, flow, follow=follow, quiet=quiet, print_live=not json)
            analysis = analysis_of(capture, reader, flow, second, run.path if run else None)
            if run:
                write_folder(run, analysis)
        if run:
            page = (
                write_page(lambda: analysis.report(run.path / "report.html"), run.path, quiet=quiet) if report else None
            )
            remark(f"report: {page}" if page else f"results: {run.path}", quiet=quiet)
    for warning in truncations(analysis.source.head):
        remark(f"warning: {warning}", quiet=quiet)
    if json:
        # The text in the folder: that of 100,000 flows takes seconds to make.
        print_json_text(stored_text(run.path / DOCUMENT) if run else analysis.source.json_text())
    else:
        from ackclock.analysis.timeline import timeline_table

        lines = [] if timeline is None else [timeline_table(analysis, timeline, all_lines=all_)]
        _print_tables(analysis, lines, all_flows=all_, quiet=quiet)


def _print(analysis: Analysis, *, json: bool, all_flows: bool, quiet: bool) -> None:
    """The document or the tables of an analysis without a folder."""
    from ackclock.cli.output import print_json_text

    if json:
        print_json_text(analysis.source.json_text())
    else:
        _print_tables(analysis, [], all_flows=all_flows, quiet=quiet)


def _print_tables(analysis: Analysis, more: list[Table], *, all_flows: bool, quiet: bool) -> None:
    from ackclock.analysis.screen import screen_tables
    from ackclock.analysis.terminal_tables import FINDINGS, source_tables
    from ackclock.cli.output import print_tables, remark

    shown = source_tables(analysis.source, all_flows=True) if all_flows else screen_tables(analysis.source)
    tables = shown + more
    print_tables(tables)
    if any(str(table.title) == FINDINGS for table in tables):
        remark("findings: `ackclock explain FINDING` says what each means", quiet=quiet)


def _strip(capture: str, out: str | None, *, json: bool) -> None:
    """Write a copy to share, and print what it has."""
    from dataclasses import asdict

    from ackclock.analysis.strip import strip
    from ackclock.cli.output import print_json
    from ackclock.errors import InputError
    from ackclock.format import many, size

    if out is None:
        raise InputError.problem("--strip has no file to write", "name it after CAPTURE", option="--strip")
    copy = strip(capture, out)
    if json:
        print_json({"copy": out, **asdict(copy)})
        return
    print(
        f"{out}: {many(copy.packets, 'packet')}, {size(copy.kept_bytes)} of {size(copy.original_bytes)}: headers "
        "without payload, other addresses"
    )


def _read(capture: str, reader: Any, flow: str | None, *, follow: bool, quiet: bool, print_live: bool) -> None:
    """Read the capture to its end.

    With `follow`, update the tables on the terminal while it grows.
    """
    from ackclock.analysis.run import live_document
    from ackclock.cli.follow import read_all
    from ackclock.cli.output import live_tables
    from ackclock.errors import InputError

    with live_tables(wanted=follow and print_live and not quiet) as draw:
        show = None
        if draw is not None:
            from ackclock.analysis.terminal_tables import source_tables

            def show() -> None:
                with suppress(InputError):  # the selected flow may not have begun
                    draw(source_tables(live_document(capture, reader, flow)))

        read_all(capture, reader, follow=follow, quiet=quiet, show=show)


def _seconds(text: str | None, option: str) -> float | None:
    """A time such as `5 s` or `200 ms`; a bare number is seconds."""
    from ackclock.input.units import PS_PER_S

    if text is None:
        return None
    return time_of(text if not text.replace(".", "", 1).isdigit() else f"{text} s", option) / PS_PER_S
