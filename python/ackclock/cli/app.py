"""The command line itself: its name, its help, its version."""

from __future__ import annotations

from typing import Annotated

import typer

from ackclock.cli import captures, listing, live, measuring, scenarios, studies

app = typer.Typer(
    name="ackclock",
    help="A laboratory for TCP over access links: how will TCP behave here, why, and what should I change?",
    add_completion=False,
    rich_markup_mode=None,  # plain help needs no rich, and comes in half the time
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        from ackclock import __version__

        print(f"ackclock {__version__}")
        raise typer.Exit


@app.callback()
def ackclock(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


for command in (
    studies.compare,
    scenarios.simulate,
    scenarios.sweep,
    captures.analyze,
    studies.reproduce,
    measuring.serve,
    measuring.measure,
    live.emulate,
    live.export,
    live.kernel_cc,
    studies.report,
):
    app.command()(command)
app.command(name="list")(listing.list_)
