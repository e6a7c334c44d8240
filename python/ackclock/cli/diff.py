"""diff: two runs of a kind, or two captures, figure by figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.options import Json


def diff(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A", help="A run folder, a capture, or a file of iperf3 -J or Flent (a folder of them)."
        ),
    ],
    b: Annotated[
        str, typer.Argument(metavar="B", help="A run folder of the same kind, a capture, or files of the same program.")
    ],
    all_: Annotated[bool, typer.Option("--all", help="Print all rows, not the first twelve.")] = False,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML report to this file.")] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No remarks on stderr.")] = False,
) -> None:
    """Two runs of a kind, two captures, or tests of iperf3 or Flent: which figures differ by more
    than chance.
    """
    from ackclock.cli.output import print_json, print_lines, print_tables, remark, write_page
    from ackclock.difference import diff as difference
    from ackclock.difference.tables import lines, tables
    from ackclock.folder_damage import damage_named

    result = difference(a, b)
    if report is not None and (page := write_page(lambda: result.report(report), report.parent, quiet=quiet)):
        remark(f"report: {page}", quiet=quiet)
    if json:
        print_json(result.document)
        return
    with damage_named(Path(a), Path(b)):
        rows, sentences = tables(result.document, all_rows=all_), lines(result.document)
    print_tables(rows)
    print_lines(sentences)
