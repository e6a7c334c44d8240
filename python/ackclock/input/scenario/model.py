"""A scenario: a link, flows, duration, seeds and measurement window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ackclock.errors import InvalidValue, choices, format_value
from ackclock.input import form
from ackclock.input.checked_table import CheckedTable
from ackclock.input.link.hop import DIRECTIONS, Hop
from ackclock.input.quantity_fields import Span, Time
from ackclock.input.scenario.flow import READ_FLOW, Flow, instance_names
from ackclock.input.scenario.hosts import READ_ENDS, Tcp, resolve, tables_at
from ackclock.input.schema import Count, Flag, Loc, Table, Text, table_array
from ackclock.input.units import TIMES, show_time, time_ps

PHASE_START_PS = 10 * 10**9  # flows start within 10 ms after their start time


MAX_FLOWS = 100_000
MAX_ROWS = 100_000_000
LONGEST_PACKET = 65535
ENDS = ("server", "client")


def _seeds(value: Any) -> tuple[int, ...]:
    allowed = "how many (10 means 1..10), or a list of different whole numbers from 0"
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**6:
        return tuple(range(1, value + 1))
    if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value):
        raise InvalidValue(format_value(value), allowed)
    for index, seed in enumerate(value):
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise InvalidValue(format_value(seed), allowed, (index,))
    return tuple(value)


def _window(value: Any) -> Any:
    if value in ("all", "all-active"):
        return value
    if isinstance(value, list) and len(value) == 2:
        return (time_ps(value[0]), time_ps(value[1]))
    raise InvalidValue(
        format_value(value), '"all", "all-active", or two times such as ["5 s", "-5 s"] (negative: before the end)'
    )


_WINDOW = form.either(form.words("all", "all-active"), form.pair(form.quantity(TIMES, signed=True)))
_SEEDS = form.either(
    form.whole(minimum=1, maximum=10**6), form.array(form.whole(minimum=0), minItems=1, uniqueItems=True)
)


class Measure(Table):
    """The part of a run over which metrics are calculated."""

    window: Annotated[str | tuple[int, int], BeforeValidator(_window), _WINDOW] = "all"


class Scenario(Table):
    """A checked scenario. Times in ps, rates in bits/s, sizes in bytes."""

    title: Text = ""
    source: Text = ""
    hop: Annotated[tuple[Hop, ...], table_array("[[hop]] tables")]
    duration: Span
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds), _SEEDS] = (1,)
    clients: Count = 1
    sample: Time = 100 * 10**9
    phase_jitter: Flag = True
    tcp: Annotated[CheckedTable, READ_ENDS] = Field(default_factory=lambda: READ_ENDS({}))
    flow: Annotated[tuple[Annotated[Flow, READ_FLOW], ...], table_array("[[flow]] tables")]
    measure: Measure = Measure()

    @classmethod
    def written_keys(cls) -> list[str]:
        return ["link", *cls.model_fields, "sweep"]

    def model_post_init(self, _context: Any) -> None:
        _check_hops(self.hop)
        _check_flows(self)
        _check_window(self.measure, self.duration)
        each = sum(flow.connections for flow in self.flow) + 2 * sum(
            self.clients if hop.has_stations else 1 for hop in self.hop
        )
        if self.sample and self.duration // self.sample * each > MAX_ROWS:
            shortest = show_time(-(-self.duration * each // MAX_ROWS))
            raise InvalidValue(
                format_value(show_time(self.sample)), f'"0 s" (no series), or {shortest} and more here', ("sample",)
            )

    def tcp_of(self, flow: Flow, end: str | None = None) -> Tcp:
        """All TCP keys of one end of a flow, resolved: "server", "client", or the sender of the
        data.
        """
        return resolve(self.tcp, flow, end=end or flow.sending_end)

    def proxy_tcp(self, flow: Flow, proxy: CheckedTable | None) -> Tcp:
        """All TCP keys of a proxy on a flow's path: those of both ends, overridden by its own."""
        return resolve(self.tcp, flow, *([proxy] if proxy else []))

    def cuts(self, flow: Flow) -> list[int]:
        """Indices of the hops with a proxy before them that splits the flow's connections, server
        first.
        """
        crossed = self.hops_of(flow)
        return [] if flow.is_udp else [index for index in crossed[1:] if self.hop[index].pep]

    def hops_of(self, flow: Flow) -> list[int]:
        """Indices of the hops on a flow's path, server first."""
        return [index for index, hop in enumerate(self.hop) if flow.over is None or hop.name in flow.over]

    def flow_names(self) -> list[str]:
        """Base names of the [[flow]] tables, in order; a flow without a name is `flow1`, `flow2`,
        .. by its position.
        """
        return [flow.name or f"flow{position}" for position, flow in enumerate(self.flow, start=1)]

    def overhead_ps(self, flow: Flow) -> dict[str, int]:
        """Maximum random delays of a packet in its sending host, in ps, with the keys of a plan:
        `overhead`, or the engine's share of the service time at the slowest hop, which keeps flows
        out of phase. Until another TCP flow starts on its path, a flow has the delays that it has
        without the other.
        """
        from ackclock import _native

        tcp = self.tcp_of(flow).table
        if tcp.overhead is not None:
            return {"overhead_ps": tcp.overhead}
        if not self.phase_jitter or flow.is_live:
            return {"overhead_ps": 0}
        size = flow.data_bytes or tcp.segment + tcp.header
        rates = [rate for index in self.hops_of(flow) if (rate := self.hop[index].slowest_bps.get(flow.direction))]
        alone = _native.max_overhead_ps(size, min(rates, default=None), True)
        if flow.is_udp or sum(other.connections for other in self.flow if not other.is_udp) == 1:
            return {"overhead_ps": alone}
        return {
            "overhead_ps": _native.max_overhead_ps(size, min(rates, default=None), False),
            "overhead_alone_ps": alone,
        }

    def start_ps(self, flow: Flow) -> tuple[int, int]:
        """Bounds between which a flow's start is drawn, phase jitter included."""
        low, high = flow.start
        if self.phase_jitter and low == high:
            # The jitter of a short flow ends before the flow.
            high = min(high + PHASE_START_PS, (flow.stop or self.duration) - 1)
        return low, high


def _check_hops(hops: tuple[Hop, ...]) -> None:
    if not hops:
        raise InvalidValue("no hops", "a link or at least one [[hop]]", ("hop",))
    if hops[0].pep:
        raise InvalidValue(
            "a proxy before the first hop",
            "a pep on a later hop: the server is before the first one",
            ("hop", 0, "pep"),
        )
    names: set[str] = set()
    for index, hop in enumerate(hops):
        if hop.name in names:
            raise InvalidValue(f'a second hop "{hop.name}"', "a different name for every hop", ("hop", index, "name"))
        names.add(hop.name)


def _check_flows(scenario: Scenario) -> None:
    if not scenario.flow:
        raise InvalidValue("no flows", "at least one [[flow]]", ("flow",))
    names: set[str] = set()
    connections = 0
    hop_names = [hop.name for hop in scenario.hop]
    for index, flow in enumerate(scenario.flow):
        loc = ("flow", index)
        connections += flow.connections
        if connections > MAX_FLOWS:
            raise InvalidValue(f"{connections} flows", f"at most {MAX_FLOWS} flows", (*loc, "count"))
        for name in instance_names(flow, scenario.flow_names()[index]):
            if name in names:
                raise InvalidValue(f'a second flow "{name}"', "a different name for every flow", (*loc, "name"))
            names.add(name)
        for position, hop in enumerate(flow.over or ()):
            if hop not in hop_names:
                raise InvalidValue(format_value(hop), f"hops {choices(hop_names, hop)}", (*loc, "over", position))
        _check_route(scenario, flow, loc)
        _check_proxies(scenario, flow)
        if not flow.is_udp:
            _check_tcp(scenario, flow, loc)
        if flow.is_spread and scenario.measure.window == "all-active":
            raise InvalidValue(
                '"all-active"', "another window with web: its connections are never all active", ("measure", "window")
            )
        _, start = flow.start
        if start >= scenario.duration:
            allowed = f"a start before the end of the run, {show_time(scenario.duration)}"
            raise InvalidValue(format_value(flow.written()["start"]), allowed, (*loc, "start"))
        if flow.repeat and start + flow.repeat.every * (flow.repeat.times - 1) >= scenario.duration:
            raise InvalidValue(
                f"{flow.repeat.times} times every {show_time(flow.repeat.every)}",
                f"the last start before the end of the run, {show_time(scenario.duration)}",
                (*loc, "repeat"),
            )


def _check_tcp(scenario: Scenario, flow: Flow, loc: Loc) -> None:
    hops = [scenario.hop[index] for index in scenario.hops_of(flow)]
    if not _takes_time(hops):
        raise InvalidValue("a path that takes no time", "a rate, a medium or a delay on one of its hops", loc)
    for end in ENDS:
        _check_end(scenario, flow, loc, end)


def _check_end(scenario: Scenario, flow: Flow, loc: Loc, end: str) -> None:
    def place(key: str) -> Loc:
        tables = zip([("tcp",), ("tcp", end)], tables_at(scenario.tcp, end), strict=False)
        of_flow = zip([loc, (*loc, end)], tables_at(flow, end), strict=False)
        places = [(*at, key) for at, table in (*tables, *of_flow) if getattr(table, key)]
        return places[-1] if places else ("tcp", key)

    tcp = scenario.tcp_of(flow, end).table
    options = tcp.timestamp_bytes + tcp.sack_base_bytes + 4 * tcp.sack_block_bytes
    longest = tcp.segment + tcp.header + max(options, tcp.syn_option_bytes)
    if longest > LONGEST_PACKET:
        allowed = f"at most {LONGEST_PACKET} B"
        raise InvalidValue(f"packets of up to {longest} B with headers and options", allowed, place("segment"))
    if tcp.ack_congestion_control and not (tcp.timestamps and tcp.ecn is True):
        allowed = 'timestamps = true and ecn = true (not "accecn") with it'
        raise InvalidValue("ACK congestion control", allowed, place("ack_congestion_control"))
    if tcp.rto_min > tcp.rto_max:
        raise InvalidValue(show_time(tcp.rto_min), f"at most rto_max, {show_time(tcp.rto_max)}", place("rto_min"))


def _check_route(scenario: Scenario, flow: Flow, loc: Loc) -> None:
    crossed = scenario.hops_of(flow)
    if crossed[-1] - crossed[0] + 1 != len(crossed):
        raise InvalidValue(format_value(list(flow.over or ())), "consecutive hops of the link", (*loc, "over"))
    is_unidirectional = flow.is_udp and flow.workload.kind != "probe"
    directions = (flow.direction,) if is_unidirectional else DIRECTIONS
    for direction in directions:
        if not any(getattr(scenario.hop[index], direction) for index in crossed):
            key = "over" if flow.over else "direction"
            allowed = f"a path with at least one hop {direction} (TCP requires both directions, UDP its own)"
            raise InvalidValue(f"no hop that carries packets {direction}", allowed, (*loc, key))


def _check_proxies(scenario: Scenario, flow: Flow) -> None:
    for index in scenario.cuts(flow):
        loc = ("hop", index, "pep")
        if flow.is_live or flow.is_spread:
            what = "a live flow" if flow.is_live else "web without persistent = true"
            raise InvalidValue(
                f"a proxy on the path of {what}", "a proxy only for bulk, transfer and persistent web flows", loc
            )
        crossed = scenario.hops_of(flow)
        for side in ([i for i in crossed if i < index], [i for i in crossed if i >= index]):
            hops = [scenario.hop[i] for i in side]
            both = all(any(getattr(hop, direction) for hop in hops) for direction in DIRECTIONS)
            if not both or not _takes_time(hops):
                raise InvalidValue(
                    "a proxy with no path", "hops on both sides of it, in both directions, with some delay", loc
                )


def _takes_time(hops: Sequence[Hop]) -> bool:
    return any(hop.medium or any(side.rate or side.delay for side in (hop.down, hop.up) if side) for hop in hops)


def _check_window(measure: Measure, duration: int) -> None:
    if isinstance(measure.window, str):
        return
    start, end = measured_ps(measure.window, duration)
    if not 0 <= start < end <= duration:
        allowed = f"a start before the end, both within the duration of {show_time(duration)}"
        raise InvalidValue(f"{show_time(start)} to {show_time(end)}", allowed, ("measure", "window"))


def measured_ps(window: tuple[int, int], duration: int) -> tuple[int, int]:
    """A measurement window in ps from the start; negative times count from the end."""
    start, end = (time if time >= 0 else duration + time for time in window)
    return start, end
