"""analyze: the flows of a capture, their metrics and their diagnosis."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from ackclock.cli.options import Force, Json, Quiet, Report, Seed, time_of


def analyze(
    capture: Annotated[str, typer.Argument(help="A capture: pcap or pcapng, plain or in gzip or zstd; - is standard input.")],
    second: Annotated[
        str | None, typer.Argument(metavar="[CAPTURE2]", help="One of the same traffic nearer the other end: the two are joined.")
    ] = None,
    flow: Annotated[str | None, typer.Option(help="Only this flow: its number, or one of its ends (ADDRESS:PORT).")] = None,
    filter: Annotated[
        str | None,
        typer.Option(
            help="Only flows with such ends: `host ADDRESS`, `net A/BITS`, `port N`, `portrange N-M`, with and, or, not, ( )."
        ),
    ] = None,
    since: Annotated[str | None, typer.Option(help="From this long after the first packet on, such as 5 s.")] = None,
    until: Annotated[str | None, typer.Option(help="Until this long after the first packet, such as 1 min.")] = None,
    pps: Annotated[
        list[Path] | None,
        typer.Option(help="Its counter at each pulse of a second: makes a counter's time stamps UTC. Once for each capture."),
    ] = None,
    synchronized: Annotated[
        str | None, typer.Option(metavar="ERROR", help="Both captures' clocks are right within this, such as `100 us`.")
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Go on reading while the file grows, with the tables as they stand; Ctrl-C ends and prints."
        ),
    ] = False,
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for an HTML report, tables, JSON and xplot graphs (default: nothing is written)."),
    ] = None,
    force: Force = False,
    report: Report = True,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Per-flow metrics and diagnosis from one capture, or from both ends."""
    from ackclock.analysis.clocks import clocks_of
    from ackclock.analysis.filter import PacketFilter, parse_filter
    from ackclock.analysis.folder import AnalysisRequest, folder_for, read_folder, write_folder
    from ackclock.analysis.run import analysis_of, open_capture
    from ackclock.analysis.terminal_tables import analysis_tables
    from ackclock.analysis.truncation import truncations
    from ackclock.cli.output import print_json, print_tables, remark, write_page
    from ackclock.errors import InputError

    if follow and second is not None:
        raise InputError.problem("--follow reads one capture while it grows", "leave out CAPTURE2 or --follow", option="--follow")
    only = PacketFilter(parse_filter(filter), _seconds(since, "--since"), _seconds(until, "--until"))
    clocks = clocks_of(pps or (), synchronized, 1 if second is None else 2)
    try:
        reader = open_capture(capture, only, second, series=out is not None, clocks=clocks, follow=follow)
    except KeyboardInterrupt:
        raise InputError.problem("no capture came before Ctrl-C", "name a file or a pipe that is written", file=capture) from None
    asked = AnalysisRequest((capture,) if second is None else (capture, second), only, flow, clocks, follow=follow)
    with folder_for(out, asked, force=force) as run:
        if run and run.finished:
            done = read_folder(run.path)
        else:
            _read(capture, reader, flow, follow=follow, quiet=quiet, drawn=not json)
            done = analysis_of(capture, reader, flow, second)
            if run:
                write_folder(run, done)
        if run:
            page = write_page(lambda: done.report(run.path / "report.html"), run.path, quiet=quiet) if report else None
            remark(f"report: {page}" if page else f"results: {run.path}", quiet=quiet)
    for warning in truncations(done.document):
        remark(f"warning: {warning}", quiet=quiet)
    if json:
        print_json(done.document)
    else:
        print_tables(analysis_tables(done.document))


def _read(capture: str, reader: Any, flow: str | None, *, follow: bool, quiet: bool, drawn: bool) -> None:
    """To the end; while a capture grows, with its tables on the terminal as they stand."""
    from ackclock.analysis.run import document_of
    from ackclock.analysis.terminal_tables import analysis_tables
    from ackclock.cli.follow import read_all
    from ackclock.cli.output import live_tables
    from ackclock.errors import InputError

    with live_tables(wanted=follow and drawn and not quiet) as draw:
        show = None
        if draw is not None:

            def show() -> None:
                with suppress(InputError):  # the flow asked for may be yet to come
                    draw(analysis_tables(document_of(capture, reader, flow)))

        read_all(capture, reader, follow=follow, quiet=quiet, show=show)


def _seconds(text: str | None, option: str) -> float | None:
    """A time such as `5 s` or `200 ms`; a bare number is seconds."""
    from ackclock.input.units import PS_PER_S

    if text is None:
        return None
    return time_of(text if not text.replace(".", "", 1).isdigit() else f"{text} s", option) / PS_PER_S
