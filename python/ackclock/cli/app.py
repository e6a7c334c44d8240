"""The command line: its name, help and version."""

from __future__ import annotations

from typing import Annotated

import typer

from ackclock.cli import (
    advise,
    analyze,
    compare,
    diff,
    doctor,
    emulate,
    explain,
    export,
    fit,
    import_,
    kernel_cc,
    lab,
    list_,
    measure,
    packetdrill,
    print_version,
    report,
    reproduce,
    schema,
    serve,
    show,
    simulate,
    sweep,
)

app = typer.Typer(
    name="ackclock",
    help="A laboratory for TCP over access links: how will TCP behave here, why, and what should I change?",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,  # plain help does not import rich, which halves the time
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print_version()
        raise typer.Exit


@app.callback()
def ackclock(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for command in (
    compare.compare,
    simulate.simulate,
    sweep.sweep,
    analyze.analyze,
    reproduce.reproduce,
    serve.serve,
    measure.measure,
    fit.fit,
    advise.advise,
    diff.diff,
    emulate.emulate,
    export.export,
    kernel_cc.kernel_cc,
    lab.lab,
    packetdrill.packetdrill,
    report.report,
    show.show,
    doctor.doctor,
    schema.schema,
    explain.explain,
):
    app.command()(command)
app.command(name="import")(import_.import_)
app.command(name="list")(list_.list_)
