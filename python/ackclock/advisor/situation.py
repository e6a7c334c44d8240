"""The situation that an advice is about: a link under its loads, a scenario, a run, or what
captures show.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ackclock import _native
from ackclock.advisor.goals import BESIDE
from ackclock.errors import InputError
from ackclock.goals import APP_GOALS
from ackclock.input.document import read_document
from ackclock.input.link.bottleneck import slowest_bps
from ackclock.input.link.hop import DIRECTIONS, PER_DIRECTION, Direction, Hop, base_rtt_ps, with_keys
from ackclock.input.objects import Bulk, Flow, Link, plain
from ackclock.input.objects import Tcp as WrittenTcp
from ackclock.input.scenario.draft import Draft, draft_of, find_link, read_draft
from ackclock.input.scenario.flow import Flow as CheckedFlow
from ackclock.input.scenario.hosts import DEFAULT_HOST, Tcp, tcp_keys
from ackclock.input.scenario.link_draws import LinkDraws
from ackclock.input.scenario.model import Scenario
from ackclock.simulation import household
from ackclock.simulation.goals import loads_of_goal
from ackclock.simulation.harm import Place, flow_key
from ackclock.simulation.loads import HOUSEHOLD, LOADS
from ackclock.simulation.sparse_flow import sparse_every_s, sparse_tables
from ackclock.simulation.transport import QUIC
from ackclock.storage.run_kind import COMPARE, EMULATE, MEASURE, SIMULATE, kind_of

if TYPE_CHECKING:
    from ackclock.advisor.action import Action
    from ackclock.documents.analyze import CaptureAnalysis
    from ackclock.documents.engine import DirectionReport, FlowReport, HandshakeReport, Summary
    from ackclock.documents.fit import FittedInput, FittedLink
    from ackclock.fitting.prediction import Ends

LinkLike = Link | Mapping[str, Any]
"""A link, or the tables of its file."""
MTU = 1500
"""Bytes of a packet in a queue."""
FLOW = "flow"
"""The name of the transfer over a link; the opposite one's has its direction in addition."""
RTTS = 60
"""Minimum number of RTTs in a run over a link: slow start has little weight then."""
MIN_S, MAX_S = 10.0, 40.0
"""The duration of a run over a link."""
UNSCALED = 65_535
"""The maximum window without window scaling, in bytes (RFC 7323, section 2.2)."""
MIN_CAPTURED = 0.9
"""Share of the first seconds that captured transfers last at least, if their goodput is known."""


@dataclass(frozen=True)
class Situation:
    """A scenario with own TCP flows, whose hosts and link may be changed.

    Attributes:
        what: its name, as given.
        draft: the scenario, the hops in it, without a sweep.
        own: the base names of its TCP flows.
        queued: hops and directions whose queues delay or drop packets; None: not known yet.
        draws: the joint draws of a fitted link.
        notes: sentences about it.
        fit: the fit to captures, or that of a link file.
    """

    what: str
    draft: Draft
    own: tuple[str, ...]
    queued: frozenset[tuple[str, str]] | None = None
    draws: LinkDraws | None = None
    notes: tuple[str, ...] = ()
    fit: FittedLink | None = field(default=None, repr=False)
    fitted: Path | None = None
    """The file of the fitted link, in `scratch`; its draws are beside it."""
    captured: Captured | None = field(default=None, repr=False)
    """The captured transfers."""
    scratch: tempfile.TemporaryDirectory[str] | None = field(default=None, repr=False, compare=False)
    strips_scaling: bool = False
    """Whether the path takes the window scale option away: no host can change that."""
    is_link: bool = False
    """Whether the flows are ours: a transfer over a link, whose duration may be another."""
    loads: tuple[str, ...] = ()
    """The loads whose mean judges a link (`simulation.loads`); empty: the situation as it is."""

    @cached_property
    def base(self) -> Scenario:
        """The checked scenario as it is."""
        return self.draft.check()

    @property
    def own_flows(self) -> Mapping[str, CheckedFlow]:
        """The own flows by name."""
        scenario = self.base
        return {n: f for n, f in zip(scenario.flow_names(), scenario.flow, strict=True) if n in self.own}

    @property
    def is_quic(self) -> bool:
        """Whether QUIC carries all own flows."""
        return all(flow.transport == QUIC for flow in self.own_flows.values())

    @property
    def is_tcp(self) -> bool:
        """Whether TCP carries all own flows."""
        return not any(flow.transport == QUIC for flow in self.own_flows.values())

    @property
    def flow(self) -> CheckedFlow:
        """The first own flow."""
        return self.own_flows[self.own[0]]

    @property
    def hops(self) -> tuple[Hop, ...]:
        """The hops, server first."""
        return self.base.hop

    @property
    def direction(self) -> Literal["down", "up"]:
        """The direction of the data of the first own flow."""
        return "down" if self.flow.direction == "down" else "up"

    @property
    def opposite(self) -> Literal["down", "up"]:
        """The direction opposite to `direction`."""
        return "up" if self.direction == "down" else "down"

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions of the data of the own flows under all loads."""
        if self.loads:
            return DIRECTIONS
        own = {flow.direction for flow in self.own_flows.values()}
        return tuple(direction for direction in DIRECTIONS if direction in own)

    @property
    def host(self) -> str:
        """The host stack of the first own flow."""
        return str(self.flow.host or self.base.tcp.host or DEFAULT_HOST)

    @property
    def tcp(self) -> Tcp:
        """The resolved TCP keys of the first own flow."""
        return self.base.tcp_of(self.flow)

    def for_goal(self, goal: str) -> Situation:
        """With the loads of a goal, if it is a link."""
        if not self.loads or goal not in APP_GOALS:
            return self
        whole = replace(self, draft=self.draft.replaced({"duration": f"{household.DURATION_S:.0f} s"}))
        return replace(whole, loads=loads_of_goal(goal))

    def _household(self) -> Situation:
        """With a household in place of the own flow, of the duration of the situation."""
        own = self.draft.document.data["flow"][0]
        keys = {key: value for key, value in own.items() if key not in ("name", "direction", "workload", "count")}
        tables = household.tables(self.base.duration / 1e12)
        flows = [{**keys, **flow} if flow["workload"]["kind"] in ("bulk", "page") else flow for flow in tables["flow"]]
        of_tcp = tuple(flow["name"] for flow in flows if flow["workload"]["kind"] in ("bulk", "page"))
        return replace(self, draft=self.draft.replaced({**tables, "flow": flows}), own=of_tcp, loads=())

    def under(self, load: str) -> Situation:
        """With the flows of a load in place of the own one, which a link has; TCP and number of the
        flows are the own one's.
        """
        if load == HOUSEHOLD:
            return self._household()
        own, *others = self.draft.document.data["flow"]
        opposite: str = self.opposite
        names = {str(self.direction): FLOW, opposite: f"{FLOW}_{opposite}"}
        keys = {key: value for key, value in own.items() if key not in ("name", "direction", "workload")}
        flows = LOADS[load].tables(names, **keys)
        for flow in others:
            name = str(flow["name"]).removesuffix(f"_{opposite}")
            flows += [
                {**flow, "name": name if one == self.direction else f"{name}_{one}", "direction": one}
                for one in LOADS[load].directions
            ]
        own_names = tuple(names[direction] for direction in LOADS[load].directions)
        return replace(self, draft=self.draft.replaced({"flow": flows}), own=own_names, loads=())

    def place(self, actions: Sequence[Action] = ()) -> Place:
        """The path with actions, and the TCP of the first own flow with them."""
        keys = {
            change.path: change.to
            for action in actions
            for change in action.changes
            if flow_key(change.path) or not action.hop
        }
        return Place(self._with_hops(actions), self._flow_keys(), keys)

    def default_place(self) -> Place:
        """The path as it is, with the defaults of the hosts of the first own flow."""
        flow = self._flow_keys()
        hosts = {key: value for key, value in flow.items() if key in ("host", "over", "transport")}
        ends = {end: {"host": flow[end]["host"]} for end in ("server", "client") if "host" in flow.get(end, {})}
        return Place(self.draft, {**hosts, **ends})

    @property
    def has_default_tcp(self) -> bool:
        """Whether the first own flow has the defaults of its hosts."""
        places = (self.default_place(), self.place())
        mine, default = (place.scenario(self.direction, "cubic") for place in places)
        return all(
            mine.tcp_of(mine.flow[0], end) == default.tcp_of(default.flow[0], end) for end in ("server", "client")
        )

    def _flow_keys(self) -> dict[str, Any]:
        """The hosts' keys of the first own flow as written, its own and those of all flows."""
        tables, names = self.draft.document.data, self.base.flow_names()
        own = next(f for n, f in zip(names, tables["flow"], strict=True) if n == self.own[0])
        kept = {key: value for key, value in own.items() if key in ("over", "transport", "quic") or key in tcp_keys()}
        of_all = tables.get("tcp", {})
        ends = {end: {**of_all.get(end, {}), **kept.get(end, {})} for end in ("server", "client")}
        return {**of_all, **kept, **{end: keys for end, keys in ends.items() if keys}}

    def sides(self) -> Iterator[tuple[Hop, str, Direction]]:
        """The hops in each direction that they have."""
        for hop in self.hops:
            for direction in DIRECTIONS:
                if (side := getattr(hop, direction)) is not None:
                    yield hop, direction, side

    def is_bottleneck(self, hop: Hop, direction: str) -> bool:
        """Whether no other hop is slower in a direction."""
        return slowest_bps([hop], direction) == slowest_bps(self.hops, direction)

    @property
    def longest_rtt_s(self) -> float:
        """The RTT in s with the longest queue of the path full."""
        delay_s, waits = 0.0, [0.0]
        for hop, direction, side in self.sides():
            delay_s += hop.mean_delay[direction] / 1e12
            bps = slowest_bps([hop], direction)
            if side.queue and bps:
                sizes = [side.queue.bytes, MTU * (side.queue.packets or 0)]
                waits.append(min((8 * size / bps for size in sizes if size), default=0.0))
        return delay_s + max(waits)

    def has_queue(self, hop: str, direction: str) -> bool:
        """Whether packets wait or are dropped there."""
        return self.queued is None or (hop, direction) in self.queued

    def scenario(
        self,
        actions: Sequence[Action] = (),
        point: Mapping[str, str | float | Mapping[str, str]] | None = None,
        flows: Sequence[Flow] = (),
        *,
        sparse: bool = True,
    ) -> Scenario:
        """The scenario with actions, over a path with other values (`point`), beside other flows;
        `sparse`: beside a sparse flow in each direction, which is not the situation's.

        A key of the hosts (`tcp.KEY`, `quic.KEY`) is set for the own flows, whether or not they
        have it themselves.
        """
        draft = self._with_hops(actions)
        keys = {**(point or {})}
        for action in actions:
            for change in action.changes:
                if key := flow_key(change.path):
                    keys |= {f"flow.{name}.{key}": change.to for name in self.own}
                elif not action.hop:
                    keys[change.path] = change.to
        beside_it = sparse_tables({one: self.sparse_every_s(one) for one in DIRECTIONS}) if sparse else []
        return _with_flows(draft, [*beside_it, *plain(list(flows))]).check(keys)

    def _with_hops(self, actions: Sequence[Action]) -> Draft:
        """The scenario with the hops that actions add."""
        hops = list(self.draft.document.data["hop"])
        for action in actions:
            if action.hop:
                before, hop = action.hop
                index = next(i for i, one in enumerate(hops) if one["name"] == before) + 1 if before else 0
                hops.insert(index, plain(hop))
        return self.draft.replaced({"hop": hops})

    def with_draw(self, scenario: Scenario, seed: int) -> Scenario:
        """A scenario of this situation over the link of a seed, drawn from the fit. What a change
        has set stays as typed; a rate or a delay that a condition scales is the scaled draw.
        """
        if self.draws is None:
            return scenario
        base = self.base
        links = {hop.name: hop for hop in base.hop}
        of_seed = {hop.name: hop for hop in self.draws.scenario(base, seed).hop}
        hops = tuple(
            _redrawn(hop, links[hop.name], of_seed[hop.name]) if hop.name in links else hop for hop in scenario.hop
        )
        return scenario.with_hops(list(hops))

    def sparse_every_s(self, direction: str) -> float:
        """The spacing of the sparse packets of a direction in s."""
        scenario = self.base
        return sparse_every_s(slowest_bps(scenario.hop, direction), scenario.duration / 1e12)

    def lasting(self, duration_s: float) -> Situation:
        """With runs of another duration."""
        return replace(self, draft=self.draft.replaced({"duration": f"{round(1e3 * duration_s)} ms"}))

    def beside_a_flow(self) -> Situation:
        """With a cubic flow beside the own ones, in the direction of the first."""
        return replace(self, draft=_with_flows(self.draft, [plain(beside("other", self.direction))]))

    def with_queues(self, summaries: Sequence[Summary]) -> Situation:
        """With the queues that delay or drop packets in runs of it."""
        found = {
            (hop["hop"], hop["direction"])
            for summary in summaries
            for hop in summary["hops"]
            if hop["drops"] or ((hop["queue_delay_ms"] or {}).get("p95") or 0.0) > 0.1
        }
        return replace(self, queued=frozenset(found))


def beside(name: str, direction: Literal["down", "up"]) -> Flow:
    """A cubic flow that is run beside those of a situation."""
    return Flow(name=f"{BESIDE}{name}", direction=direction, tcp=WrittenTcp(variant="cubic"), workload=Bulk())


def _with_flows(draft: Draft, tables: Sequence[object]) -> Draft:
    """A scenario with further [[flow]] tables."""
    return draft.replaced({"flow": [*draft.document.data["flow"], *tables]})


def _redrawn(hop: Hop, base: Hop, of_seed: Hop) -> Hop:
    """A hop with the draws of everything in which it is the situation's."""
    sides: dict[str, dict[str, Any]] = {direction: {} for direction in DIRECTIONS}
    for direction, changed in sides.items():
        side, was, draw = (getattr(one, direction) for one in (hop, base, of_seed))
        for key in PER_DIRECTION if side and was else ():
            now, before, drawn = (getattr(one, key) for one in (side, was, draw))
            if now == before:
                changed[key] = drawn
            elif key in ("rate", "delay") and isinstance(now, int) and isinstance(before, int) and before:
                changed[key] = max(1, round(drawn * now / before))
    return with_keys(hop, sides, of_seed.medium if hop.medium == base.medium else hop.medium)


def situation_of(
    what: Sequence[str | Path | LinkLike], *, direction: str = "down", seed: int | None = None
) -> Situation:
    """The situation of a link, scenario or run folder, or of captures.

    Raises:
        InputError: none of these, or a scenario without TCP.
    """
    if not what:
        raise InputError("nothing", "a link, a scenario, a run folder, or captures", option="WHAT")
    if len(what) > 1:
        return _of_captures(", ".join(map(str, what)), [str(one) for one in what], seed)
    (one,) = what
    if isinstance(one, Link):
        return _of_link(one.title or "inline", one, direction)
    if isinstance(one, Mapping):
        return _of_draft("inline", draft_of(one), Path()) if "flow" in one else _of_link("inline", one, direction)
    path = Path(one)
    if path.is_dir():
        return _of_folder(path, seed)
    if path.is_file() and _native.is_capture(path):
        return _of_captures(str(path), [str(path)], seed)
    if path.is_file() and "flow" in read_document(path).data:
        return _of_draft(str(one), read_draft(path), path.parent)
    return _of_link(str(one), str(one), direction)


def _of_folder(folder: Path, seed: int | None) -> Situation:
    kind = kind_of(folder)
    if kind == SIMULATE:
        return _of_draft(str(folder), read_draft(folder / "scenario.toml"), folder)
    if kind == COMPARE:
        return _of_draft(str(folder), read_draft(folder / "scenario.toml").replaced({"tcp": {}}), folder)
    if kind in (MEASURE, EMULATE):
        return _of_captures(str(folder), [str(folder)], seed)
    captures = sorted(str(file) for file in folder.iterdir() if file.is_file() and _native.is_capture(file))
    if kind is None and captures:
        return _of_captures(str(folder), captures, seed)
    found = "a folder without a finished run or a capture" if kind is None else f"a run folder of {kind.command}"
    allowed = "a folder of simulate, compare, emulate or measure, or one with captures"
    raise InputError(found, allowed, file=str(folder), option="WHAT")


def _of_captures(what: str, captures: Sequence[str], seed: int | None) -> Situation:
    """The fitted link, with the captures' variant, and their receive window where it was the
    limit.
    """
    from ackclock.analysis import analyze
    from ackclock.fitting import fit
    from ackclock.fitting.prediction import MIN_LIMITED

    scratch = tempfile.TemporaryDirectory(prefix="ackclock-advise-")
    file = Path(scratch.name) / "link.toml"
    fitted = fit(*captures, out=file, seed=seed)
    inputs, score = fitted.document["inputs"], fitted.document["score"]
    largest = _Largest.of(analyze(inputs[0]["capture"]).document)
    variant = score["held_out"][0]["variant"] if score else None
    names = ", ".join(Path(one["capture"]).name for one in inputs)
    notes = [f"The link is fitted to {names}."]
    if variant:
        notes.append(f"Of the congestion controls that were replayed, none is more like the input than {variant}.")
    else:
        notes.append("The sender's congestion control does not show in the input: cubic is assumed.")
    if score:
        notes.append(score["sentence"])
    elif fitted.document["no_score"]:
        notes.append(f"The fit has no score: {fitted.document['no_score']}.")
    scaling = _Scaling(True, False)
    tcp = WrittenTcp(variant=variant or "cubic")
    if largest:
        scaling = _Scaling.of([largest.flow["handshake"], *_same_connection(inputs, largest.flow)])
        window = largest.acks["advertised_window_bytes"]["max"]
        if not scaling.negotiated:
            tcp = replace(tcp, window_scaling=False)
            notes.append(scaling.sentence)
            # A capture behind the path that takes the option away scales what the receiver did not.
            window = window and min(window, UNSCALED)
        if window and (largest.data["window_limited_share"] or 0.0) >= MIN_LIMITED:
            tcp = replace(tcp, receive_buffer=f"{window} B")
            notes.append(f"The receive window of {window} B limits the captured transfer.")
    captured = Captured.of(inputs)
    flows = captured.flows if captured else 1
    if flows > 1:
        notes.append(f"The captures have {flows} concurrent transfers, and so has every run.")
    direction = captured.direction if captured else largest.direction if largest else "down"
    of_link = _of_link(what, str(file), direction, tcp, flows)
    notes += of_link.notes
    return replace(
        of_link,
        loads=(),
        notes=tuple(notes),
        fit=fitted.document,
        fitted=file,
        captured=captured,
        scratch=scratch,
        strips_scaling=scaling.is_stripped,
    )


@dataclass(frozen=True)
class _Scaling:
    """What the handshakes of one connection, captured at several places, show of window scaling.

    Attributes:
        negotiated: each SYN and SYN-ACK has the option.
        is_stripped: a SYN or SYN-ACK has the option in one capture and not in another.
    """

    negotiated: bool
    is_stripped: bool

    @classmethod
    def of(cls, handshakes: Sequence[HandshakeReport]) -> _Scaling:
        """A handshake that was not captured shows nothing."""
        whole = [one for one in handshakes if one["complete"] and one["mss"] is not None]
        sides = [[one["client_window_scale"] for one in whole], [one["server_window_scale"] for one in whole]]
        stripped = any(None in side and any(scale is not None for scale in side) for side in sides)
        return cls(not whole or all(None not in side for side in sides), stripped)

    @property
    def sentence(self) -> str:
        """What it means for the window."""
        maximum = "so the window is at most 64 KB"
        if self.is_stripped:
            return f"The path strips the window scale option (one capture has it, the other has not), {maximum}."
        return f"Window scaling was not negotiated, {maximum}."


def _same_connection(inputs: Sequence[FittedInput], flow: FlowReport) -> list[HandshakeReport]:
    """The handshakes of a flow in the other captures of its run: that of the same ends, or of the
    largest flow where addresses are translated.
    """
    from ackclock.analysis import analyze

    found = []
    for one in inputs:
        if one["run"] != inputs[0]["run"] or one["capture"] == inputs[0]["capture"]:
            continue
        flows = analyze(one["capture"]).document["flows"]
        same = [other for other in flows if (other["client"], other["server"]) == (flow["client"], flow["server"])]
        largest = sorted(flows, key=lambda other: -int(other["bytes"] or 0))
        found += [other["handshake"] for other in (same or largest)[:1]]
    return found


@dataclass(frozen=True)
class Captured:
    """The bulk transfers of the captures of a run.

    Attributes:
        ends: the captures at the server's and at the client's end; of one end, that one twice.
        direction: of the data.
        flows: number of concurrent transfers.
    """

    ends: Ends
    direction: str
    flows: int

    @classmethod
    def of(cls, inputs: Sequence[FittedInput]) -> Captured | None:
        """Those of the first run of a fit's inputs; None without a bulk transfer that lasts."""
        from ackclock.fitting.prediction import Ends

        first = [one for one in inputs if one["run"] == inputs[0]["run"]]
        by_end = [[one["capture"] for one in first if one["end"] == end] for end in ("server", "client")]
        servers, clients = (files or by_end[1 - number] for number, files in enumerate(by_end))
        (server, client), *others = zip(servers, clients, strict=True)
        ends = Ends(server, client, others=tuple((*pair, 0.0) for pair in others))
        whole = ends.transfers()
        return cls(ends, whole.direction, whole.flows) if whole else None

    def goodput_bps(self, seconds: float) -> float | None:
        """The goodput of all transfers in the first seconds; None where they end before."""
        part = self.ends.transfers(until_s=seconds)
        if part is None or part.duration_s < MIN_CAPTURED * seconds:
            return None
        return part.observed.goodput_bps


@dataclass(frozen=True, slots=True)
class _Largest:
    """The largest transfer of a capture: the report of its data, and that of the opposite
    direction, whose advertised window limits it.
    """

    flow: FlowReport
    direction: str
    data: DirectionReport
    acks: DirectionReport

    @classmethod
    def of(cls, document: CaptureAnalysis) -> _Largest | None:
        """That of an analysis; None without a flow."""
        sides = [
            side
            for flow in document["flows"]
            for side in (cls(flow, "down", flow["b2a"], flow["a2b"]), cls(flow, "up", flow["a2b"], flow["b2a"]))
        ]
        return max(sides, key=lambda side: side.data["unique_bytes"] or 0, default=None)


def _of_link(
    what: str, link: str | LinkLike, direction: str, tcp: WrittenTcp | None = None, flows: int = 1
) -> Situation:
    """Bulk transfers over a link, for so long that slow start has little weight. `link` is its name
    or its file, or the link itself.
    """
    asked = cast('Literal["down", "up"]', direction)
    flow = Flow(name=FLOW, direction=asked, count=flows if flows > 1 else None, workload=Bulk())
    draft = draft_of({"link": link} if isinstance(link, str) else plain(link))
    draft = draft.replaced({"duration": "1 s", "flow": [plain(flow)]})
    rtt_s = base_rtt_ps(draft.check().hop) / 1e12
    duration = min(max(RTTS * rtt_s, MIN_S), MAX_S)
    draft = draft.replaced({"duration": f"{round(1e3 * duration)} ms", "tcp": plain(tcp) if tcp else {}})
    name = draft.document.data.get("link")
    draws = LinkDraws.beside(name) if name is not None else None
    notes = (draws.note,) if draws else ()
    # The [fit] table of a fitted link.
    file = find_link(name, Path()) if name is not None else None
    fit: FittedLink | None = read_document(file).data.get("fit") if file else None
    return replace(_of_draft(what, draft, Path()), draws=draws, notes=notes, fit=fit, is_link=True, loads=tuple(LOADS))


def _of_draft(what: str, given: Draft, folder: Path) -> Situation:
    kept = {key: value for key, value in given.document.data.items() if key not in ("sweep", "seeds")}
    data = _native.with_absolute_traces(kept, str(folder))
    name = data.pop("link", None)
    if name is not None:
        # Checked first: its errors name the file.
        draft_of({**data, "link": str(find_link(str(name), folder) or name)}).check()
        path = find_link(str(name), folder)
        assert path is not None
        document = Draft(read_document(path)).document
        hops = _native.with_absolute_traces(document.data["hop"], str(path.parent))
        data |= {"hop": hops, "title": data.get("title") or document.data.get("title", "")}
    data["sample"] = "0 s"
    draft = draft_of(data)
    scenario = draft.check()
    names = zip(scenario.flow_names(), scenario.flow, strict=True)
    own = tuple(name for name, flow in names if not flow.is_udp and not name.startswith(BESIDE))
    if not own:
        raise InputError.problem("the scenario has no TCP flow", "an advice is about TCP and QUIC", option="WHAT")
    return Situation(what, draft, own)
