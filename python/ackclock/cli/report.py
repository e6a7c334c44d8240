"""report: the HTML report of a run folder, or its figures and tables as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli import complete
from ackclock.cli.options import Json, Out, Quiet, Seed


def report(
    run: Annotated[str, typer.Argument(help="A run folder or its URL, or a file of iperf3 -J or Flent.")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="svg, pdf or png: each figure as a file in RUN/figures; csv: each table in RUN/tables.",
            autocompletion=complete.formats,
        ),
    ] = None,
    json: Json = False,
    out: Out = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Write the HTML report of a run folder, or with --format its figures or tables as files. The
    report of a file of iperf3 or Flent stands beside it, or in --out.
    """
    from ackclock.cli.output import print_json
    from ackclock.other_programs import sniffed
    from ackclock.result_folder import write_files, write_report
    from ackclock.storage.remote_folder import finished, of, shown

    if sniffed(Path(run)):
        from ackclock.other_programs.report import write_report as write_file_report

        page = write_file_report(Path(run), out, format_)
        if json:
            print_json({"run": run, "report": str(page)})
        else:
            print(page)
        return
    folder = finished(run)
    files = [write_report(folder)] if format_ is None else write_files(folder, format_)
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
