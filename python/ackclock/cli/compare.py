"""compare: TCP variants, socket buffers and ACK techniques over one link, ranked."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli import complete
from ackclock.cli.options import Force, Json, OutUrl, Quiet, Report, Seed, Series, Workers, is_typed, one_of, typed


class DelayedAcks(StrEnum):
    on = "on"
    off = "off"
    both = "both"


class RankBy(StrEnum):
    goodput = "goodput"
    rtt = "rtt"
    retransmissions = "retransmissions"
    jain = "jain"


class Goal(StrEnum):
    balanced = "balanced"
    throughput = "throughput"
    latency = "latency"
    fairness = "fairness"


VARIANTS = "linux"
ALL_BUFFERS, DURATION, SEEDS = "16 KiB,64 KiB,256 KiB,auto,path", "30 s", 10
QUICK_BUFFERS, QUICK_DURATION, QUICK_SEEDS = "64 KiB,auto,path", "10 s", 3
_METRIC = {
    RankBy.goodput: "goodput_bps",
    RankBy.rtt: "rtt_p95_ms",
    RankBy.retransmissions: "retransmission_rate",
    RankBy.jain: "jain",
}
_OPTIONS = {
    "link": "LINK",
    "duration": "--duration",
    "seeds": "--seeds",
    "tcp.host": "--host",
    "sweep.tcp.variant": "--variants",
    "sweep.tcp.send_buffer": "--buffers",
    "sweep.tcp.receive_buffer": "--buffers",
    "sweep.tcp.send_limit": "--buffers",
    "sweep.tcp.receive_limit": "--buffers",
    "flow.flow.direction": "--direction",
    "flow.flow.count": "--flows",
    "flow.opposite.count": "--opposite",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in ("variants", "buffers", "delayed_ack", "queue", "ack_policy", "ack", "goal", "rank_by")
    },
}
"""Maps each key to its option."""
_DELAYED = {DelayedAcks.on: (True,), DelayedAcks.off: (False,), DelayedAcks.both: (True, False)}


def compare(
    context: typer.Context,
    link: Annotated[
        str,
        typer.Argument(
            help="A packaged link (`ackclock list links`) or a link file.",
            show_default=False,
            autocompletion=complete.links,
        ),
    ],
    variants: Annotated[
        str,
        typer.Option(
            help="TCP variants and groups of them, with commas between: linux, kernel, papers, all "
            "(`ackclock list groups`).",
            autocompletion=complete.variants,
        ),
    ] = VARIANTS,
    buffers: Annotated[
        str,
        typer.Option(
            help='Socket buffers, with commas between; "send/receive" for two; "auto:24 MiB" tunes '
            "up to a maximum, path is 2 BDP where auto does not reach them."
        ),
    ] = ALL_BUFFERS,
    delayed_ack: Annotated[DelayedAcks, typer.Option(help="Delayed ACKs: on, off or both.")] = DelayedAcks.both,
    queue: Annotated[
        str,
        typer.Option(
            help="Queues of the data's bottleneck, with commas between: droptail, codel, fq-codel, "
            ".. (link: the link's).",
            autocompletion=complete.queues,
        ),
    ] = "link",
    ack_policy: Annotated[
        str,
        typer.Option(
            help="ACK policy of the ACKs' bottleneck: none, safe, p1, cake, acks-first, drop-front, "
            "red, .. (+ joins; link: the link's)."
        ),
    ] = "link",
    ack: Annotated[str, typer.Option(help="ACK techniques of the hosts: none, acc, adapt, acc+adapt.")] = "none",
    flows: Annotated[int, typer.Option(min=1, help="Bulk flows that share the link.")] = 1,
    opposite: Annotated[
        int,
        typer.Option(
            min=0, help="Bulk flows in the opposite direction, which share the ACKs' queue; they are not ranked."
        ),
    ] = 0,
    direction: Annotated[str, typer.Option(help="down (server to client) or up.")] = "down",
    duration: Annotated[str, typer.Option(help="Simulated time of a run.")] = DURATION,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 1..N for every configuration.")] = SEEDS,
    host: Annotated[
        str | None,
        typer.Option(help="Host stack (`ackclock list hosts`; default: linux-6).", autocompletion=complete.hosts),
    ] = None,
    goal: Annotated[
        Goal, typer.Option(help="What the recommendation is judged by: balanced, throughput, latency or fairness.")
    ] = Goal.balanced,
    may_harm: Annotated[
        bool, typer.Option("--may-harm", help="Recommend also what takes more than half from others beside it.")
    ] = False,
    rank_by: Annotated[RankBy, typer.Option(help="The metric of the table's order.")] = RankBy.goodput,
    measured: Annotated[
        Path | None,
        typer.Option("--measured", help="A run folder of `measure`, shown beside the results.", show_default=False),
    ] = None,
    prices: Annotated[
        bool,
        typer.Option("--prices/--no-prices", help="Run the first choices under loads and beside other flows, too."),
    ] = True,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: 3 seeds, 10 s, buffers of 64 KiB, auto and path.")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="Print all rows of the ranking, not the first ten.")] = False,
    workers: Workers = None,
    series: Series = "sampled",
    report: Report = True,
    json: Json = False,
    out: OutUrl = None,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Rank TCP variants, socket buffers and ACK policies over a link, with reasons and an HTML
    report.
    """
    from ackclock.cli.address_space import Need, check_address_space
    from ackclock.cli.output import deliver
    from ackclock.cli.progress import progress
    from ackclock.comparison import compare as run_comparison
    from ackclock.comparison.terminal_tables import tables
    from ackclock.simulation.run_list import SERIES

    check_address_space(Need.STATISTICS)
    one_of(series, SERIES, "--series")

    if quick:
        buffers = buffers if is_typed(context, "buffers") else QUICK_BUFFERS
        duration = duration if is_typed(context, "duration") else QUICK_DURATION
        seeds = seeds if is_typed(context, "seeds") else QUICK_SEEDS
    with typed(_OPTIONS), progress("compare", quiet=quiet) as update:
        comparison = run_comparison(
            link,
            variants=_split(variants),
            buffers=[_pair(text) for text in _split(buffers)],
            delayed_ack=_DELAYED[delayed_ack],
            queue=_split(queue),
            ack_policy=_split(ack_policy),
            ack=_split(ack),
            flows=flows,
            opposite=opposite,
            direction=direction,
            duration=duration,
            seeds=seeds if seed is None else [seed],
            host=host,
            goal=goal.value,
            may_harm=may_harm,
            rank_by=_METRIC[rank_by],
            measured=measured,
            with_prices=prices,
            workers=workers,
            series=series,
            out=out,
            force=force,
            keep=True,
            progress=update,
        )
    deliver(
        lambda: comparison.document,
        lambda: tables(comparison, all_rows=all_),
        comparison.folder,
        report=report,
        json=json,
        quiet=quiet,
    )


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pair(text: str) -> str | tuple[str, str]:
    send, slash, receive = text.partition("/")
    return (send.strip(), receive.strip()) if slash else text
