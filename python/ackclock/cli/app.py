"""The command line: its name, help and version."""

from __future__ import annotations

from collections.abc import Callable
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
    hunt,
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
from ackclock.cli.help import GROUPS, Command, Commands

EVERY_DAY, LIVE, RESEARCH = GROUPS

app = typer.Typer(
    name="ackclock",
    cls=Commands,
    epilog="ackclock compare cable-100m",
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


_COMMANDS: tuple[tuple[str, Callable[..., object], str, str], ...] = (
    # Group, command, what it is for in a sentence, an example.
    (EVERY_DAY, compare.compare, "Rank what to change on a link by what people feel.", "compare cable-100m"),
    (EVERY_DAY, advise.advise, "Say what to change on a host or a link, and by how much.", "advise cable-100m"),
    (EVERY_DAY, show.show, "Show a link, a scenario or a run in one screen.", "show dsl-16m"),
    (EVERY_DAY, list_.list_, "List links, variants, hosts and what else has a name.", "list links"),
    (EVERY_DAY, analyze.analyze, "Find what limits the flows of a capture.", "analyze client.pcap server.pcap"),
    (EVERY_DAY, diff.diff, "Compare two runs or captures: which figures differ?", "diff before.pcap after.pcap"),
    (EVERY_DAY, simulate.simulate, "Simulate a scenario or a household.", "simulate --household cable-100m"),
    (
        EVERY_DAY,
        report.report,
        "Write a run's report, or one figure over some runs.",
        "report runs/a runs/b --plot cdf",
    ),
    (EVERY_DAY, lab.lab, "Open the interactive page on this machine.", "lab cable-100m"),
    (EVERY_DAY, explain.explain, "Explain a word, a finding or an error.", "explain zero_window_stall"),
    (EVERY_DAY, doctor.doctor, "Say what works on this machine, and what is missing.", "doctor"),
    (LIVE, measure.measure, "Measure the path to a far end.", "measure far.example --quick"),
    (LIVE, serve.serve, "Be the far end of `measure`, until Ctrl-C.", "serve --new-token token"),
    (
        LIVE,
        emulate.emulate,
        "Run a command behind a link, in real time.",
        "emulate dsl-16m -- curl -O http://server/file",
    ),
    (LIVE, import_.import_, "Make a link file of a set-up, such as tc commands.", "import tc.txt --out home.toml"),
    (LIVE, export.export, "Write a link as commands of tc, or for mahimahi.", "export dsl-16m --to tc"),
    (LIVE, kernel_cc.kernel_cc, "Load congestion controls into the kernel.", "kernel-cc load biad"),
    (RESEARCH, sweep.sweep, "Run a scenario at each combination of values.", "sweep study.toml --out runs/study"),
    (RESEARCH, hunt.hunt, "Search for the link on which it breaks.", "hunt study.toml --runs 400"),
    (
        RESEARCH,
        fit.fit,
        "Make a link file from captures of a path's ends.",
        "fit client.pcap server.pcap --out path.toml",
    ),
    (RESEARCH, reproduce.reproduce, "Repeat a paper, and judge its claims.", "reproduce wibro --quick"),
    (RESEARCH, packetdrill.packetdrill, "Play packetdrill scripts against the TCP here.", "packetdrill tail-loss.pkt"),
    (RESEARCH, schema.schema, "Print the schema of an input or a result.", "schema link"),
)

for group, command, sentence, example in _COMMANDS:
    app.command(
        name=command.__name__.rstrip("_").replace("_", "-"),
        cls=Command,
        short_help=sentence,
        epilog=f"ackclock {example}",
        rich_help_panel=group,
    )(command)
