"""The arguments of ``compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.arguments import COMMAS, FORCE, OUT_URL, SERIES, WORKERS, argument, listed, struct
from ackclock.errors import InputError
from ackclock.goals import APP_GOALS, DEFAULT_OF_LINK, DEFAULT_OF_SCENARIO, GOALS

if TYPE_CHECKING:
    from ackclock.congestion_control import CongestionControl
    from ackclock.input.objects import Hop, Link, Time
    from ackclock.notebook import Progress

Buffer = str | tuple[str, str]
"""The buffers of both ends, or of the sender and the receiver."""
DEFAULT_BUFFERS = ("16 KiB", "64 KiB", "256 KiB", "auto", "path")
"""From a buffer too small for most links to the host's automatic tuning, and beyond it on long
paths."""
HOUSEHOLD_QUEUES = ("link", "codel", "fq-codel", "cake")
"""The queues of both bottlenecks that a household is compared with, beside each variant."""
HOUSEHOLD_VARIANTS = ("linux",)
"""The variants of a household; over a fast link fewer (`comparison.run`)."""
OF_TRANSFERS = frozenset(
    (
        "buffers",
        "delayed_ack",
        "ack_policy",
        "ack",
        "transports",
        "flows",
        "opposite",
        "direction",
        "duration",
        "rank_by",
        "measured",
    )
)
"""Arguments that say which transfers are compared: with one of them the goal is "balanced"."""
RANK_BY = {"goodput": "goodput_bps", "rtt": "rtt_p95_ms", "retransmissions": "retransmission_rate", "jain": "jain"}
"""The metrics of a ranking, by their words on the command line."""


def choices(text: str) -> list[str]:
    """The choices of a list with commas; empty ones are left out."""
    return list(filter(None, listed(text)))


def _buffers(text: str) -> list[Buffer]:
    pairs = [part.partition("/") for part in choices(text)]
    return [(send.strip(), receive.strip()) if slash else send for send, slash, receive in pairs]


@struct
class CompareArguments:
    """What ``compare`` compares, over which link, and where the runs are kept."""

    link: str | Path | Link | Sequence[Hop | Mapping[str, Any]] = argument(
        "A packaged link (`ackclock list links`) or a link file.",
        "Also a `Link`, or [[hop]] tables as dicts.",
        name="LINK",
        complete="links",
    )
    _: KW_ONLY
    variants: Sequence[str | type[CongestionControl]] | None = argument(
        f"TCP variants and groups of them{COMMAS}: linux, kernel, papers, all (`ackclock list groups`).",
        'Also classes. None: "linux".',
        default=("linux",),
        read=choices,
        complete="variants",
        keys=("sweep.tcp.variant",),
    )
    buffers: Sequence[Buffer] = argument(
        f'Socket buffers{COMMAS}; "send/receive" for two; "auto:24 MiB" tunes up to a maximum, '
        "path is 2 BDP where auto does not reach them.",
        "In Python two are a pair (send, receive).",
        default=DEFAULT_BUFFERS,
        read=_buffers,
        keys=tuple(f"sweep.tcp.{end}_{what}" for end in ("send", "receive") for what in ("buffer", "limit")),
        quick=("64 KiB", "auto", "path"),
    )
    delayed_ack: Sequence[bool] = argument(
        "Delayed ACKs: on, off or both.",
        "True is the host's rule, False an ACK per segment.",
        default=(True, False),
        words={"on": (True,), "off": (False,), "both": (True, False)},
    )
    queue: Sequence[str] = argument(
        f"Queues of the data's bottleneck{COMMAS}: droptail, codel, fq-codel, .. (link: the link's).",
        "A queue has that hop's limits.",
        default=("link",),
        read=choices,
        complete="queues",
    )
    ack_policy: Sequence[str] = argument(
        "ACK policy of the ACKs' bottleneck: none, safe, p1, cake, acks-first, drop-front, red, .. "
        "(+ joins; link: the link's).",
        '"safe", "p1", "cake" and "cake-aggressive" are rules of an ACK filter; any kind of queue is a policy.',
        default=("link",),
        read=choices,
    )
    ack: Sequence[str] = argument(
        "ACK techniques of the hosts: none, acc, adapt, acc+adapt.",
        '"acc" is ACK congestion control, "adapt" sender adaptation.',
        default=("none",),
        read=choices,
    )
    transports: Sequence[str] = argument(
        f"Transports of the compared flows{COMMAS}: tcp, quic (the stack noq 1.4).",
        "Over QUIC there is one setting of buffers and ACKs.",
        default=("tcp",),
        read=choices,
        keys=("flow.flow.transport",),
    )
    flows: int = argument("Bulk flows that share the link.", default=1, min=1, keys=("flow.flow.count",))
    opposite: int = argument(
        "Bulk flows in the opposite direction, which share the ACKs' queue; they are not ranked.",
        "They have the same TCP. Their goodput is `opposite_goodput_bps`.",
        default=0,
        min=0,
        keys=("flow.opposite.count",),
    )
    direction: str = argument("down (server to client) or up.", default="down", keys=("flow.flow.direction",))
    duration: Time = argument(
        "Simulated time of a run; auto: 10 s, or until the link's own events are in it (60 s at most).",
        'Text ("30 s", "auto"), seconds as a number, or a timedelta; long compared with the link\'s RTT and its '
        "variations, so that the start has little weight.",
        default="30 s",
        quick="auto",
    )
    seeds: int | Sequence[int] = argument(
        "Seeds 1..N for every configuration.", "Or a list of seeds.", default=10, min=1, quick=3
    )
    host: str | None = argument(
        "Host stack (`ackclock list hosts`; default: linux-6).",
        "It has all other TCP keys.",
        default=None,
        complete="hosts",
        keys=("tcp.host",),
    )
    goal: str | None = argument(
        "What the recommendation is judged by: household, or call, page, game of it; or balanced, throughput, latency, "
        "fairness of transfers.",
        'The first ones are of a household on the link (docs/models/applications.md). None: "household", with an '
        'argument about transfers, such as `direction`, "balanced".',
        default=None,
        words={name: name for name in GOALS},
        allowed=GOALS,
    )
    may_harm: bool = argument(
        "Recommend also what takes more than half from others beside it.",
        "And what has little beside them (docs/reference/compare.md).",
        default=False,
    )
    rank_by: str = argument(
        "The metric of the table's order.",
        f"One of {', '.join(RANK_BY.values())}.",
        default="goodput_bps",
        words=RANK_BY,
        allowed=RANK_BY.values(),
    )
    measured: str | Path | None = argument(
        "A run folder of `measure`, shown beside the results.", default=None, kind=Path
    )
    with_prices: bool = argument(
        "Run the first choices under loads and beside other flows, too.",
        "Without, the recommendation knows neither (docs/reference/prices.md).",
        default=True,
        name="--prices/--no-prices",
    )
    workers: int | None = argument(WORKERS, default=None)
    series: str = argument(SERIES, default="sampled")
    out: str | Path | None = argument(
        OUT_URL, "Finished runs in it are reused. The default needs `keep`.", default=None
    )
    force: bool = argument(FORCE, default=False)
    keep: bool = argument("Without `out`, keep the runs in ``runs/<hash>``.", default=False, name=None)
    progress: Progress | None = argument(
        "Called with the number of finished runs, the number of all runs, and the label of the last one.",
        default=None,
        name=None,
    )

    @classmethod
    def defaults_beside(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The goal where none is given, and the other defaults of a goal of applications: every
        variant with `HOUSEHOLD_QUEUES`.
        """
        goal = given.get("goal")
        if goal is None:
            about_transfers = OF_TRANSFERS & given.keys() or not given.get("with_prices", True)
            goal = DEFAULT_OF_SCENARIO if about_transfers or _is_unfit(given.get("link")) else DEFAULT_OF_LINK
        if goal not in APP_GOALS:
            return {"goal": goal}
        household = {"buffers": ("auto",), "delayed_ack": (True,), "seeds": 3, "duration": "auto"}
        return {"goal": goal, "queue": HOUSEHOLD_QUEUES, "variants": HOUSEHOLD_VARIANTS, **household}

    def identified(self, measured: Mapping[str, Any] | None) -> list[object]:
        """The arguments in the run folder's identity, beside the resolved points. `measured` is the
        document of the measurement.
        """
        judgement = [self.goal, self.may_harm] if self.with_prices else []
        return [self.rank_by, judgement, measured, self.series]


def _is_unfit(link: Any) -> bool:
    """Whether a household is not a link's default load; the error of one that cannot be read comes
    later.
    """
    from ackclock.input.link.bottleneck import unfit_for_household
    from ackclock.input.objects import Link
    from ackclock.input.scenario.draft import draft_of

    if link is None:
        return False
    try:
        named = isinstance(link, str | Path)
        keys = {"link": str(link)} if named else (link if isinstance(link, Link) else Link(link)).to_dict()
        flow = {"duration": "1 s", "flow": [{"workload": {"kind": "bulk"}}]}
        return bool(unfit_for_household(draft_of({**keys, **flow}).check().hop))
    except InputError:
        return False
