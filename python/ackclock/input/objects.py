"""Typed inputs: links, hops, flows, TCP and workloads as Python objects beside the dicts and
strings of files.

The keys are those of link files and scenarios; `input/scenario` checks the values. A
time is text with a unit, seconds as a number, or a timedelta; a size is text, or bytes; a rate is
text, or bits a second.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

if TYPE_CHECKING:
    from ackclock.congestion_control import CongestionControl

Time = str | float | timedelta
Rate = str | float
Size = str | int
_UNITS = {"Time": "s", "Rate": "b/s", "Size": "B"}


@dataclass(frozen=True, kw_only=True)
class _Input:
    """A table of a file. Keys that are None are left out."""

    def to_dict(self) -> dict[str, Any]:
        """The table as a file would have it: plain values, quantities as text with units."""
        known = ((one, getattr(self, one.name)) for one in fields(self))
        return {one.name: plain(value, str(one.type)) for one, value in known if value is not None}


@dataclass(frozen=True, kw_only=True)
class _Kind(_Input):
    """A workload or a medium: `kind` is its key in a file."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The table, which begins with its kind."""
        return {"kind": self.kind, **super().to_dict()}


def plain(value: Any, kind: str = "") -> Any:
    """A value with every typed input in it as a plain table, and every timedelta as text. `kind` is
    the name of a quantity's type: numbers get its unit.
    """
    if isinstance(value, _Input | Link):
        return value.to_dict()
    if isinstance(value, timedelta):
        return f"{value.days * 86_400 * 10**6 + value.seconds * 10**6 + value.microseconds} us"
    if isinstance(value, Mapping):
        return {key: plain(inner, kind) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, kind) for inner in value]
    unit = next((unit for name, unit in _UNITS.items() if name in kind), None)
    if unit and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value!r} {unit}"
    return value


def time_text(value: Time) -> str:
    """A duration as text with a unit."""
    return str(plain(value, "Time"))


def time_seconds(value: Time, key: str) -> float:
    """A duration in seconds. Raises InputError, which names `key`."""
    from ackclock.errors import InputError, InvalidValue
    from ackclock.input.units import PS_PER_S, time_ps

    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    try:
        return time_ps(time_text(value)) / PS_PER_S
    except InvalidValue as error:
        raise InputError.of(error, key=key) from None


@dataclass(frozen=True, kw_only=True)
class Bulk(_Kind):
    """Data without end. `read_rate` bounds the receiving application."""

    kind: ClassVar[str] = "bulk"
    read_rate: Rate | None = None


@dataclass(frozen=True, kw_only=True)
class Transfer(_Kind):
    """`size` bytes, then the end of the connection."""

    kind: ClassVar[str] = "transfer"
    size: Size
    read_rate: Rate | None = None


@dataclass(frozen=True, kw_only=True)
class ConstantRate(_Kind):
    """UDP datagrams of `packet` bytes of IP at a constant rate; each interval is up to a part
    `spread` shorter or longer.
    """

    kind: ClassVar[str] = "cbr"
    rate: Rate
    packet: Size | None = None
    spread: float | None = None


@dataclass(frozen=True, kw_only=True)
class OnOff(_Kind):
    """UDP at `rate` in on periods; mean lengths of on and off periods, exponential or Pareto with
    `shape`.
    """

    kind: ClassVar[str] = "onoff"
    rate: Rate
    on: Time
    off: Time
    distribution: Literal["exponential", "pareto"] | None = None
    shape: float | None = None
    packet: Size | None = None


@dataclass(frozen=True, kw_only=True)
class Web(_Kind):
    """Pages: a request, then `answers` answers of `size` each; `jobs` pages with `think` times
    between them.
    """

    kind: ClassVar[str] = "web"
    request: Size | None = None
    answers: int | None = None
    size: Size | None = None
    jobs: int | None = None
    think: Time | None = None
    persistent: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Page(_Kind):
    """A page that a browser loads over up to `connections` connections to each server, or with
    HTTP/2 over one: a packaged page (`light`, `shop`, `news`), a HAR file, or objects `[size,
    parent, wait, host]`.
    """

    kind: ClassVar[str] = "page"
    page: str | Sequence[Sequence[str | int]] | None = None
    http: Literal["1.1", "2"] | None = None
    connections: int | None = None
    request: Size | None = None
    tls: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Video(_Kind):
    """A video in segments that the client plays; `adaptation` chooses each one's bitrate from the
    `ladder`.
    """

    kind: ClassVar[str] = "video"
    ladder: Literal["netflix-2015", "apple-hevc"] | None = None
    adaptation: Literal["throughput", "buffer"] | None = None
    segment: Time | None = None
    buffer: Time | None = None
    start_threshold: Time | None = None
    resume_threshold: Time | None = None
    request: Size | None = None
    tls: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Call(_Kind):
    """A call: packets with `ptime` of speech in both directions."""

    kind: ClassVar[str] = "call"
    codec: Literal["g711"] | None = None
    concealment: bool | None = None
    ptime: Time | None = None


@dataclass(frozen=True, kw_only=True)
class Conference(_Kind):
    """A video conference whose bitrate Google Congestion Control sets, between `min_rate` and
    `max_rate`.
    """

    kind: ClassVar[str] = "conference"
    frame_rate: int | None = None
    min_rate: Rate | None = None
    start_rate: Rate | None = None
    max_rate: Rate | None = None
    both_directions: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Game(_Kind):
    """A game: `rate` packets of the client a second, each answered; an answer after `deadline` is
    late.
    """

    kind: ClassVar[str] = "game"
    rate: int | None = None
    packet: Size | None = None
    deadline: Time | None = None


@dataclass(frozen=True, kw_only=True)
class Probe(_Kind):
    """Probes of stepped sizes, one at a time, answered where the flow ends
    (docs/reference/measure.md, test `path`).
    """

    kind: ClassVar[str] = "probe"
    first: Size | None = None
    last: Size | None = None
    step: Size | None = None
    rounds: int | None = None
    gap: Time | None = None
    timeout: Time | None = None
    reply: Size | None = None
    max_reply: Size | None = None


Workload = Bulk | Transfer | ConstantRate | OnOff | Web | Page | Video | Call | Conference | Game | Probe


@dataclass(frozen=True, kw_only=True)
class Tcp(_Input):
    """The keys of [tcp]; what is None comes from the host stack (`ackclock.list_hosts()`). Windows
    are in segments.

    >>> Tcp(variant="cubic", rto_min=0.2, receive_buffer=65536).to_dict()
    {'variant': 'cubic', 'receive_buffer': '65536 B', 'rto_min': '0.2 s'}
    """

    host: str | None = None
    variant: str | type[CongestionControl] | None = None
    recovery: str | None = None
    slow_start: str | None = None
    first_climb: float | None = None
    segment: Size | None = None
    header: Size | None = None
    send_buffer: Size | None = None
    receive_buffer: Size | None = None
    receive_start: Size | None = None
    receive_limit: Size | None = None
    window_share: float | None = None
    receive_opening: Size | None = None
    receive_growth: Literal["double", "lead", "near"] | None = None
    receive_overhead: Literal[False] | Size | None = None
    send_start: Size | None = None
    send_limit: Size | None = None
    send_overhead: Size | None = None
    window_rule: Literal["sequence", "in-flight"] | None = None
    delayed_ack: bool | Mapping[str, Any] | None = None
    ack_congestion_control: bool | Mapping[str, Any] | None = None
    dupack_marking: bool | None = None
    max_burst: int | None = None
    pacing_tick: Time | None = None
    quick_acks: int | None = None
    ping_pong: bool | None = None
    sack_compression: bool | Mapping[str, Any] | None = None
    gro: Literal[False] | Time | None = None
    processing_jitter: Literal[False] | Mapping[str, Any] | None = None
    initial_window: int | None = None
    initial_ssthresh: int | Literal["unlimited"] | None = None
    rto_initial: Time | None = None
    syn_linear_timeouts: int | None = None
    rto_min: Time | None = None
    rto_max: Time | None = None
    rto_tick: Time | None = None
    rto_floor: Literal["timeout", "variance"] | None = None
    rto_restart: Literal["advance", "recovery", "head", "head-and-sack", "every-ack"] | None = None
    metrics_cache: bool | str | None = None
    sack: bool | None = None
    dsack: bool | None = None
    undo: bool | None = None
    sack_rtt: bool | None = None
    eifel: bool | None = None
    frto: Literal["off", "basic", "sack"] | None = None
    idle_restart: Literal["off", "restart", "decay"] | None = None
    window_validation: Literal["off", "rfc2861", "rfc7661"] | None = None
    app_limited_growth: bool | None = None
    fine_timer: bool | None = None
    timestamps: bool | None = None
    timestamp_bytes: Size | None = None
    sack_base_bytes: Size | None = None
    sack_block_bytes: Size | None = None
    syn_option_bytes: Size | None = None
    window_scaling: bool | None = None
    ecn: bool | str | None = None
    ecn_packets: Literal["data", "established", "all"] | None = None
    accecn_option: Literal["off", "changes", "every"] | None = None
    ecn_beta: float | None = None
    pacing: bool | None = None
    tso: bool | Mapping[str, Any] | None = None
    tso_win_divisor: int | None = None
    push: Literal["every", "chunks"] | None = None
    tsq: bool | Mapping[str, Any] | None = None
    byte_counting: int | None = None
    dupack_threshold: int | None = None
    newreno_exit: Literal["flight", "threshold"] | None = None
    limited_transmit: bool | None = None
    tail_loss_probe: bool | None = None
    immediate_ack_on_fill: bool | None = None
    mtu_probing: Literal["off", "black-hole", "always"] | None = None
    linux_rules: bool | Sequence[str] | None = None
    overhead: Time | None = None
    server: Tcp | Mapping[str, Any] | None = None
    """Keys of the server alone, over those of both ends."""
    client: Tcp | Mapping[str, Any] | None = None
    """Keys of the client alone."""


@dataclass(frozen=True, kw_only=True)
class Quic(_Input):
    """The keys of [flow.quic]; what is None comes from the stack's file.

    >>> Quic(ack_frequency=9, max_ack_delay=0.05).to_dict()
    {'ack_frequency': 9, 'max_ack_delay': '0.05 s'}
    """

    host: str | None = None
    control: Literal["variant", "noq-cubic", "noq-newreno", "noq-bbr3"] | None = None
    ack_frequency: int | None = None
    """Packets that the receiver may leave without an ACK."""
    max_ack_delay: Time | None = None
    initial_window: Size | None = None
    packet_threshold: int | None = None
    mtu_discovery: bool | None = None
    receive_window: Size | None = None
    send_burst: int | None = None
    """Datagrams that leave at once, 1 to 16."""
    handshake: Literal["1-rtt", "0-rtt"] | None = None
    certificate: Size | None = None
    streams: int | None = None
    spin: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Flow(_Input):
    """`count` flows that the clients share out, with TCP keys of their own.

    >>> Flow(workload=Bulk(), count=2, tcp=Tcp(variant="bbr")).to_dict()
    {'workload': {'kind': 'bulk'}, 'count': 2, 'variant': 'bbr'}
    """

    workload: Workload | Mapping[str, Any]
    name: str | None = None
    direction: Literal["down", "up"] | None = None
    over: Sequence[str] | None = None
    """Names of the hops that it crosses; all when None."""
    count: int | None = None
    device: int | None = None
    """The device of the client that has the flows; 1 when None."""
    start: Time | None = None
    stop: Time | None = None
    repeat: Mapping[str, Any] | None = None
    """``{"every": "5 s", "times": 3}``."""
    transport: Literal["tcp", "quic"] | None = None
    """"quic": the stack noq 1.4; TCP when None."""
    quic: Quic | Mapping[str, Any] | None = None
    tcp: Tcp | Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The [[flow]] table; the TCP keys stand in it."""
        table = super().to_dict()
        tcp = table.pop("tcp", {})
        return {**table, **tcp}


Sides = Mapping[str, Any]
"""A value for each direction, ``{"down": .., "up": ..}``, or a table such as that of a queue."""


@dataclass(frozen=True, kw_only=True)
class Queue(_Input):
    """The table of a queue by its kind (`ackclock.list_queues()`), limit, and target of an AQM."""

    kind: str
    bytes: Size | None = None
    target: Time | None = None


@dataclass(frozen=True, kw_only=True)
class Loss(_Input):
    """The table of a channel's losses: their share, and how long one state of the channel loses
    packets.
    """

    kind: Literal["bernoulli", "gilbert-elliott"]
    mean: float
    bad_sojourn: Time | None = None


@dataclass(frozen=True, kw_only=True)
class Jitter(_Input):
    """The table of random delays, with the parameters of their distribution."""

    kind: Literal["uniform", "exponential", "normal"]
    high: Time | None = None
    sd: Time | None = None
    mean: Time | None = None
    in_order: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Reordering(_Input):
    """The table of packets that others overtake: their share, and their delay."""

    mean: float
    delay: Time


@dataclass(frozen=True, kw_only=True)
class Handover(_Input):
    """The table of pauses: from the start of one to that of the next, and their length."""

    every: Time
    gap: Time


@dataclass(frozen=True, kw_only=True)
class Recording(_Input):
    """The table of a recorded rate: a file in mahimahi's format, and the time in it at which runs
    start; drawn for each seed when None.
    """

    trace: str
    start: Time | None = None


@dataclass(frozen=True, kw_only=True)
class Grants(_Kind):
    """The table of a medium with grants: its standard, the channel's rates, and a subscriber's
    caps with their burst.
    """

    kind: ClassVar[str] = "grants"
    standard: str
    rate: Mapping[str, Rate]
    cap: Mapping[str, Rate] | None = None
    burst: Size | None = None


@dataclass(frozen=True, kw_only=True)
class Wimax(_Kind):
    """The table of an 802.16 cell."""

    kind: ClassVar[str] = "wimax"
    channel: str
    frame: Time
    modulation: str
    dl_ul: str


@dataclass(frozen=True, kw_only=True)
class Policer(_Input):
    """The table of a token bucket without a queue."""

    rate: Rate
    burst: Size


@dataclass(frozen=True, kw_only=True)
class Shaper(_Input):
    """The table of a token bucket behind a queue."""

    rate: Rate
    burst: Size | None = None
    queue: Queue | None = None


@dataclass(frozen=True, kw_only=True)
class Hop(_Input):
    """A hop of a link: queue, rate, impairments and delay, the same in both directions unless a
    value is ``{"down": .., "up": ..}``.
    """

    name: str
    mtu: Sides | None = None
    policer: Policer | Sides | None = None
    shaper: Shaper | Sides | None = None
    rate: Rate | Recording | Sides | None = None
    delay: Time | Sides | None = None
    queue: Queue | Sides | None = None
    loss: float | Loss | Sides | None = None
    jitter: Time | Jitter | Sides | None = None
    only: Literal["down", "up"] | None = None
    per_client: bool | None = None
    medium: Grants | Wimax | Mapping[str, Any] | None = None
    slots: Mapping[str, Any] | None = None
    pep: Mapping[str, Any] | None = None
    framing: str | Sides | None = None
    outage: Sequence[Any] | Sides | None = None
    duplicate: Sides | None = None
    reorder: Reordering | Sides | None = None
    handover: Handover | Sides | None = None
    reconstruct: Sides | None = None

    def to_dict(self) -> dict[str, Any]:
        """The [[hop]] table."""
        table = super().to_dict()
        if isinstance(self.loss, float | int):
            table["loss"] = self.loss
        return table


@dataclass(frozen=True)
class Link:
    """A path between a server and its clients: hops, server first.

    >>> link = Link.load("dsl-16m")
    >>> [hop["name"] for hop in link.hops]
    ['internet', 'dsl']
    >>> faster = link.with_hop("dsl", rate={"down": "50 Mb/s", "up": "10 Mb/s"})
    >>> faster.hops[1]["rate"]["up"]
    '10 Mb/s'
    """

    hops: Sequence[Hop | Mapping[str, Any]]
    title: str = ""
    source: str = ""
    tunnels: Sequence[Mapping[str, Any]] = ()
    """[[tunnel]] tables."""
    folder: Path | None = field(default=None, compare=False)
    """Folder of the file that it came from: recorded rates are named relative to it."""

    @classmethod
    def load(cls, link: str | Path) -> Self:
        """A packaged link by name, or a link file.

        Raises:
            InputError: no such link, or a file that is none.
        """
        from ackclock.input.document import read_document
        from ackclock.input.scenario.draft import link_path

        path = link_path(str(link))
        data = read_document(path).data
        return cls(
            data.get("hop", []), data.get("title", ""), data.get("source", ""), data.get("tunnel", ()), path.parent
        )

    def with_hop(self, name: str, **keys: Any) -> Link:
        """A copy in which one hop has other values for these keys; None removes a key.

        Raises:
            KeyError: no hop has this name.
        """
        hops = [plain(hop) for hop in self.hops]
        if name not in [hop["name"] for hop in hops]:
            raise KeyError(f"no hop {name!r}; hops: {', '.join(hop['name'] for hop in hops)}")
        kinds = {one.name: str(one.type) for one in fields(Hop)}
        values = {key: plain(value, "" if key == "loss" else kinds.get(key, "")) for key, value in keys.items()}
        changed = [{**hop, **values} if hop["name"] == name else hop for hop in hops]
        return replace(self, hops=[{key: value for key, value in hop.items() if value is not None} for hop in changed])

    def to_dict(self) -> dict[str, Any]:
        """The link file as a dict."""
        from ackclock import _native

        texts = {"title": self.title, "source": self.source}
        data = {**{key: text for key, text in texts.items() if text}, "hop": [plain(hop) for hop in self.hops]}
        if self.tunnels:
            data["tunnel"] = [dict(tunnel) for tunnel in self.tunnels]
        return data if self.folder is None else _native.with_absolute_traces(data, str(self.folder))

    def to_toml(self, path: Path | str) -> Path:
        """Write it as a link file."""
        from ackclock.input.toml_writer import to_toml
        from ackclock.storage.atomic_files import atomic_write

        text = to_toml(self.to_dict())
        tomllib.loads(text)
        atomic_write(Path(path), text.encode())
        return Path(path)
