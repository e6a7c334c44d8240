"""report: the HTML report of a run folder, its figures and tables as files, or a figure over some
runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli import complete
from ackclock.cli.options import Json, Out, Quiet, Seed


def report(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN", help="A run folder or its URL (with --plot some), or a file of iperf3 -J or Flent."
        ),
    ],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="svg, pdf or png: each figure as a file in RUN/figures; csv: each table in RUN/tables. With --plot "
            "the format of its file, html too.",
            autocompletion=complete.formats,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot", metavar="KIND", help="One figure over all runs: cdf, box, series (over time) or scatter."
        ),
    ] = None,
    x: Annotated[
        str,
        typer.Option(
            "--x",
            help="What --plot draws to the right: rtt, goodput, cwnd, in-flight, queue, delay, or a column; in series "
            "time, or a swept key such as queue.down.bytes.",
        ),
    ] = "",
    y: Annotated[str, typer.Option("--y", help="What it draws upwards, in series and scatter.")] = "",
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="KEY",
            help="What has the colours: run, flow, direction or a varied key; the rest are panels.",
        ),
    ] = "",
    size: Annotated[
        str, typer.Option("--size", help="Size of the figure: page, column (of a paper), slide, or WIDTHxHEIGHT.")
    ] = "page",
    dark: Annotated[bool, typer.Option("--dark", help="Figures for dark paper, beside the others: NAME-dark.")] = False,
    json: Json = False,
    out: Out = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Write the HTML report of a run folder, its figures or tables as files with --format, or with
    --plot one figure over several runs. The report of a file of iperf3 or Flent stands beside it,
    or in --out.
    """
    from ackclock.cli.output import print_json, remark
    from ackclock.errors import UsageError
    from ackclock.other_programs import sniffed
    from ackclock.report.files import FIGURES
    from ackclock.result_folder import write_files, write_report
    from ackclock.storage.remote_folder import finished, of, shown

    if plot is None:
        if given := [name for name, value in (("--x", x), ("--y", y), ("--by", by)) if value]:
            raise UsageError.problem(f"{given[0]} requires --plot", "add --plot cdf, for example", option=given[0])
        if dark and format_ not in FIGURES:
            raise UsageError.problem(
                "--dark is for figures as files", f"add --format {', '.join(FIGURES)}, or --plot", option="--dark"
            )
        if len(runs) > 1:
            raise UsageError.problem("several runs require --plot", "or name one run", option="RUN")
    else:
        from ackclock.run_plots import Asked, write_plot

        asked = Asked(plot, x, y, by, size)
        asked.check()
        file = write_plot(
            [finished(run) for run in runs],
            asked,
            format_ or _format_of(out),
            out,
            dark=dark,
            note=lambda text: remark(f"{text}: give one of their keys to --x or --by", quiet=quiet),
        )
        if json:
            print_json({"runs": runs, "files": [str(file)]})
        else:
            print(file)
        return
    run = runs[0]
    if sniffed(Path(run)):
        from ackclock.other_programs.report import write_report as write_file_report

        page = write_file_report(Path(run), out, format_)
        if json:
            print_json({"run": run, "report": str(page)})
        else:
            print(page)
        return
    folder = finished(run)
    files = [write_report(folder)] if format_ is None else write_files(folder, format_, dark=dark)
    names = [str(path) for path in files]
    if remote := of(folder):
        within = [path.relative_to(folder).as_posix() for path in files]
        for name in within:
            remote.push(name)
        names = [f"{remote.shown}/{name}" for name in within]
    if json:
        print_json({"run": shown(folder), **({"report": names[0]} if format_ is None else {"files": names})})
    else:
        print(*names, sep="\n")


def _format_of(out: Path | None) -> str:
    """The format of a file without --format: that of its suffix, or svg."""
    return (out.suffix.removeprefix(".") if out else "") or "svg"
