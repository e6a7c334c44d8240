"""What limits each flow of a run: one decision, from the account of the hops' time and the sender's
own account (docs/limits.md).

A flow's time is divided among `KINDS`. While a hop in the direction of the data has no free
capacity for an RTT, the bottleneck limits. In the rest of the time the sender's account counts. A
sender that waits for ACKs to open a window waits for two reasons: the window, and the queue in
which the ACKs wait; the queue's part of the RTT belongs to the path of the ACKs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from statistics import mode
from typing import Any

from ackclock.format import milliseconds, rate
from ackclock.limits import KINDS, claim, largest, sentence, share_text
from ackclock.simulation.throughput import with_models

_WINDOWS = ("receive_window", "send_buffer", "cwnd")
"""Limits that an ACK lifts."""
_UNSCALED_BYTES = 65_535
"""The maximum of the window field (RFC 9293); a larger window needs scaling (RFC 7323)."""
_GROWN = 0.9
"""A tuned receive window above this share of its maximum is limited by the maximum."""
_CLOSES = 0.1
"""A window that is closed for this share of the time or more is closed in most RTTs: a sender whose
pacing or cwnd follows it waits for it only at the end of each RTT."""
_OVERFLOWS = ("queue_full", "early", "policed")
_CHANNEL = ("loss", "retries", "outage", "handover")


@dataclass(frozen=True, slots=True)
class LimitFacts:
    """The figures of one flow's limit, or their means over several flows or runs.

    Attributes:
        shares: share of the flow's time by kind; they add up to 1.
        saturated: share of the time in which a hop in the direction of the data has no free
            capacity.
        goodput_bps, rtt_ms: of the flow, mean; 0 without.
        ack_wait_ms: queueing delay of the flow's ACKs while the bottleneck has free capacity, mean;
            `ack_part` is its part of the RTT.
        queue_ms: queueing delay in the direction of the data, mean.
        window_bytes: the receive window in force; `buffer_bytes` is the configured one.
        send_buffer_bytes: 0: tuned or unlimited.
        cuts, mark_cuts, timeouts: reductions of cwnd, those for marks, and RTOs.
        overflow_drops, channel_drops: packets that hops in the direction of the data dropped at
            full queues (or by an AQM), and on the channel.
        loss_drops: those of the more frequent cause at `loss_hop`.
        bottleneck, ack_hop, loss_hop: hops by name; `direction` is that of the data.
        shares_loss_hop: other flows use `loss_hop`, so that its drops are not all of this flow.
        data_beside_acks: flows send data through `ack_hop` in the direction of the ACKs.
        window_cap: what caps the receive window: "buffer", "scaling", "autotuning", "reader",
            "proxy": one whose buffer is full, since it receives faster than `feeds` sends, or
            "proxy_buffer": `feeds` waits for data, although the buffer is full: it is smaller than
            what an RTT behind the proxy (`proxy_rtt_ms`) needs.
        proxy_bytes: the buffer of the proxy; 0 without one.
        pushed_by: the flow whose data a proxy forwards here.
        feeds: the flow to which a proxy forwards this flow's data.
        flow: the flow's name.
    """

    shares: Mapping[str, float]
    direction: str
    saturated: float = 0.0
    goodput_bps: float = 0.0
    rtt_ms: float = 0.0
    ack_wait_ms: float = 0.0
    ack_part: float = 0.0
    queue_ms: float = 0.0
    window_bytes: float = 0.0
    buffer_bytes: float = 0.0
    send_buffer_bytes: float = 0.0
    cuts: float = 0.0
    mark_cuts: float = 0.0
    timeouts: float = 0.0
    overflow_drops: float = 0.0
    channel_drops: float = 0.0
    loss_drops: float = 0.0
    bottleneck: str = ""
    ack_hop: str = ""
    loss_hop: str = ""
    shares_loss_hop: bool = False
    data_beside_acks: bool = False
    window_cap: str = "buffer"
    proxy_bytes: float = 0.0
    proxy_rtt_ms: float = 0.0
    pushed_by: str = ""
    feeds: str = ""
    flow: str = ""

    @property
    def loss(self) -> str:
        """Why cwnd was reduced most often: "overflow", "channel", "mark"; "none" without a
        reduction.
        """
        if self.cuts + self.timeouts < 0.5:
            return "none"
        if self.mark_cuts > 0.5 * self.cuts:
            return "mark"
        return "channel" if self.channel_drops > self.overflow_drops else "overflow"

    @property
    def kind(self) -> str:
        """The kind of limit with the largest share (`largest`)."""
        return largest(self.shares, after_loss=self.loss != "none")


@dataclass(frozen=True, slots=True)
class FlowLimit:
    """The limit of a flow.

    Attributes:
        kind: one of `KINDS`.
        hop, direction: where it lies; None for a limit at an endpoint.
        cause: for cwnd and recovery "overflow", "channel", "mark" or "none"; for the receive window
            "buffer", "scaling" or "autotuning"; for the application "reader", "proxy" or
            "proxy_buffer"; for the path of the ACKs "data" or "acks"; else None.
        because: the evidence, a clause.
        why: the limit and its evidence, a sentence without its full stop.
    """

    kind: str
    hop: str | None
    direction: str | None
    cause: str | None
    because: str
    why: str

    def as_json(self) -> dict[str, str | None]:
        """`limit` of the JSON documents."""
        return {key: value for key, value in asdict(self).items() if key != "why"}


def explained(summary: dict[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """Add to every flow of a run's summary the throughput models (`with_models`) and what limits
    it: `limits`, `limit` and `why`, None without packets.

    `plan` is that of the run (docs/plan.md).
    """
    with_models(summary, plan["flows"])
    facts = run_facts(summary, plan)
    for flow in summary["flows"]:
        of_flow = facts.get(flow["flow"])
        found = decide(of_flow) if of_flow else None
        flow["limits"] = dict(of_flow.shares) if of_flow else None
        flow["limit"] = found.as_json() if found else None
        flow["why"] = f"{sentence(found.why)}." if found else None
    return summary


def run_facts(summary: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, LimitFacts]:
    """The figures of each TCP flow with packets, by the flow's name."""
    by_hop = {(hop["hop"], hop["direction"]): hop for hop in summary["hops"]}
    names = [hop["name"] for hop in plan["hops"]]
    senders = {(hop, flow["direction"]) for flow in plan["flows"] for hop in flow["hops"]}
    users = Counter(names[hop] for flow in plan["flows"] for hop in flow["hops"])
    feeders = {flow["feeds"]: flow["flow"] for flow in summary["flows"] if flow.get("feeds")}
    backlogged = _backlogged(summary, plan)
    facts = {}
    for flow, planned in zip(summary["flows"], plan["flows"], strict=True):
        if not planned.get("tcp") or not flow["limited_share"]:
            continue
        direction = flow["direction"]
        back = "up" if direction == "down" else "down"
        data = [row for hop in planned["hops"] if (row := by_hop.get((names[hop], direction)))]
        beside = {names[hop] for hop in planned["hops"] if (hop, back) in senders}
        of = _facts(flow, planned, data, beside)
        facts[flow["flow"]] = replace(
            of,
            shares_loss_hop=users[of.loss_hop] > 1,
            window_cap="proxy" if flow["flow"] in backlogged else of.window_cap,
            proxy_bytes=backlogged.get(flow["flow"], 0.0),
            pushed_by=feeders.get(flow["flow"], ""),
        )
    for name, behind in list(facts.items()):
        before = facts.get(behind.pushed_by)
        if not before or before.kind != "receive_window" or before.window_cap != "proxy":
            continue
        # All that the proxy holds is in flight, which leaves nothing to send: with a full hop on
        # the way that hop limits, without one the buffer.
        behind = facts[name] = replace(behind, shares=_of_full_hop(behind))
        if behind.kind == "application":
            size_of, rtt = before.proxy_bytes, behind.rtt_ms
            for part in (behind, before):
                facts[part.flow] = replace(part, window_cap="proxy_buffer", proxy_bytes=size_of, proxy_rtt_ms=rtt)
    return facts


def _backlogged(summary: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, float]:
    """The buffers in bytes of the proxies that a flow's data filled, by the flow in front."""
    flows = {flow["flow"]: flow for flow in summary["flows"]}
    found = {}
    for proxy, planned in zip(summary.get("proxies", ()), plan.get("proxies", ()), strict=True):
        parts = proxy["near"], proxy["far"]
        before = next(flows[name] for name in parts if flows[name].get("feeds") in parts)
        if proxy["held_bytes_max"][before["direction"]] >= planned["buffer"]:
            found[before["flow"]] = float(planned["buffer"])
    return found


def connection_facts(summary: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, LimitFacts]:
    """The figures of each TCP connection, by the name of its last part.

    A connection that proxies split has those of its last part, or of the part before if the proxy
    has nothing to forward.
    """
    facts = run_facts(summary, plan)
    last = [flow["flow"] for flow in summary["flows"] if flow["flow"] in facts and not flow.get("feeds")]

    def limiting(name: str) -> LimitFacts:
        of = facts[name]
        before = of.pushed_by
        return limiting(before) if before in facts and of.kind == "application" else of

    return {name: limiting(name) for name in last}


Rows = Sequence[Mapping[str, Any]]


def _facts(flow: Mapping[str, Any], planned: Mapping[str, Any], data: Rows, beside: set[str]) -> LimitFacts:
    rtt = flow["rtt_ms"]["mean"] or 0.0
    queue = sum(row["queue_delay_ms"]["mean"] or 0.0 for row in data)
    overflow, channel = (
        [sum(row["drops_by_cause"][cause] for cause in causes) for row in data] for causes in (_OVERFLOWS, _CHANNEL)
    )
    frequent = channel if sum(channel) > sum(overflow) else overflow
    lossy = max(range(len(data)), key=lambda at: frequent[at], default=None)
    path = flow["path"]
    saturated, ack_wait = (path[name] or {"hop": "", "share": 0.0} for name in ("saturated", "ack_wait"))
    tcp = planned["tcp"]
    return LimitFacts(
        shares=_shares(_held(flow), saturated["share"], ack_wait["share"]),
        saturated=saturated["share"],
        direction=flow["direction"],
        goodput_bps=flow["goodput_bps"] or 0.0,
        rtt_ms=rtt,
        ack_wait_ms=path["ack_wait_ms"],
        ack_part=ack_wait["share"],
        queue_ms=queue,
        window_bytes=flow["advertised_window_bytes"] or 0.0,
        buffer_bytes=tcp["receive_buffer"],
        send_buffer_bytes=tcp["send_buffer"] or 0.0,
        cuts=flow["window_cuts"],
        mark_cuts=flow["ecn_cuts"],
        timeouts=flow["timeouts"],
        overflow_drops=sum(overflow),
        channel_drops=sum(channel),
        loss_drops=frequent[lossy] if lossy is not None else 0.0,
        bottleneck=saturated["hop"],
        ack_hop=ack_wait["hop"],
        loss_hop=data[lossy]["hop"] if lossy is not None else "",
        data_beside_acks=ack_wait["hop"] in beside,
        window_cap=_window_cap(flow, planned),
        feeds=flow.get("feeds") or "",
        flow=flow["flow"],
    )


def _held(flow: Mapping[str, Any]) -> dict[str, float]:
    """The sender's account, without the time that another limit causes.

    A pacing rate and a congestion window that was never reduced follow what the path delivers.
    Where the receive window or the send buffer closes besides, it holds the delivery, so that time
    is theirs.
    """
    limited = dict(flow["limited_share"])
    reduced = flow["window_cuts"] + flow["timeouts"] > 0
    following = ["pacing"] if reduced else ["pacing", "cwnd"]
    closing = {kind: limited[kind] for kind in ("receive_window", "send_buffer")}
    total = sum(closing.values())
    if total >= _CLOSES:
        time = sum(limited[kind] for kind in following)
        limited |= dict.fromkeys(following, 0.0)
        limited |= {kind: share + time * share / total for kind, share in closing.items()}
    return limited


def _shares(limited: Mapping[str, float], saturated: float, ack_part: float) -> dict[str, float]:
    """The flow's time by kind.

    `limited` is the sender's account, `saturated` the share of the time in which a hop had no free
    capacity, and `ack_part` the part of an RTT in which an ACK waits in a queue.
    """
    application = limited["application"]
    bottleneck = min(saturated, 1.0 - application)
    rest = {kind: share for kind, share in limited.items() if kind != "application"}
    total = sum(rest.values())
    factor = (1.0 - application - bottleneck) / total if total > 0.0 else 0.0
    shares = dict.fromkeys(KINDS, 0.0) | {kind: share * factor for kind, share in rest.items()}
    shares |= {"application": application, "bottleneck": bottleneck}
    for kind in _WINDOWS:
        shares["ack_path"] += shares[kind] * ack_part
        shares[kind] *= 1.0 - ack_part
    return shares


def _of_full_hop(facts: LimitFacts) -> dict[str, float]:
    """The shares with the time in which the application has no data, but a hop no free capacity, as
    the bottleneck's.
    """
    full = max(0.0, min(facts.shares["application"], facts.saturated - facts.shares["bottleneck"]))
    moved = {"application": facts.shares["application"] - full, "bottleneck": facts.shares["bottleneck"] + full}
    return dict(facts.shares) | moved


def _window_cap(flow: Mapping[str, Any], planned: Mapping[str, Any]) -> str:
    tcp, window = planned["tcp"], flow["advertised_window_bytes"] or 0
    read_bps = planned["workload"].get("read_bps")
    if read_bps and (flow["goodput_bps"] or 0.0) >= _GROWN * read_bps:
        return "reader"
    if not tcp["window_scaling"] and tcp["receive_buffer"] > _UNSCALED_BYTES:
        return "scaling"
    tuning = tcp.get("receive_tuning")
    if tuning and window < _GROWN * tuning["share"] * tcp["receive_buffer"]:
        return "autotuning"
    return "buffer"


def mean_facts(facts: Sequence[LimitFacts]) -> LimitFacts:
    """The means of several flows or runs; of names and causes the most frequent."""

    def merged(name: str) -> Any:
        values = [getattr(one, name) for one in facts]
        if isinstance(values[0], Mapping):
            return {key: sum(value[key] for value in values) / len(values) for key in values[0]}
        if isinstance(values[0], str | bool):
            return mode(values)
        return sum(values) / len(values)

    return LimitFacts(**{field.name: merged(field.name) for field in fields(LimitFacts)})


def decide(facts: LimitFacts) -> FlowLimit:
    """The limit with the largest share of the time, with its evidence."""
    kind = facts.kind
    if facts.window_cap == "proxy_buffer" and kind in ("receive_window", "application"):
        return FlowLimit("application", None, None, "proxy_buffer", *_proxy_buffer(facts))
    if kind == "receive_window" and facts.window_cap in ("reader", "proxy"):
        return FlowLimit("application", None, None, facts.window_cap, *_reader(facts))
    cause, hop, direction, (because, why) = _EVIDENCE[kind](facts)
    if facts.feeds:
        # RTT and windows of this reason are those of the part in front of the proxy.
        why = f"in front of the proxy of `{facts.flow.rpartition('@')[2]}` {why}"
    return FlowLimit(kind, hop or None, direction if hop else None, cause, because, why)


_Evidence = tuple[str | None, str, str, tuple[str, str]]
"""Cause, hop, direction, and the clause and the sentence."""


def _bottleneck(facts: LimitFacts) -> _Evidence:
    hop, direction = facts.bottleneck, facts.direction
    because = f"it has no free capacity {share_text(facts.shares['bottleneck'])} of the time"
    return None, hop, direction, (because, f"{claim('bottleneck', f' `{hop} {direction}`')}: {because}")


def _ack_path(facts: LimitFacts) -> _Evidence:
    hop, back = facts.ack_hop, _back(facts.direction)
    behind = "the data of the other direction" if facts.data_beside_acks else "other ACKs"
    because = (
        f"an ACK waits {milliseconds(facts.ack_wait_ms)} on average behind {behind}, "
        f"{share_text(facts.ack_part)} of the RTT"
    )
    cause = "data" if facts.data_beside_acks else "acks"
    return cause, hop, back, (because, f"{claim('ack_path', f' of `{hop} {back}`')}: {because}")


def _receive_window(facts: LimitFacts) -> _Evidence:
    caps = {
        "scaling": f"without window scaling 65,535 B are the maximum, of a buffer of {size(facts.buffer_bytes)}",
        "autotuning": f"autotuning has not raised it to its maximum ({size(facts.buffer_bytes)} of buffer)",
        "buffer": "the receive buffer sets it",
    }
    because = f"{_window(facts, facts.window_bytes)}; {caps[facts.window_cap]}"
    why = f"{claim('receive_window', f' ({size(facts.window_bytes)})', facts.shares['receive_window'])}: {because}"
    return facts.window_cap, "", "", (because, why)


def _send_buffer(facts: LimitFacts) -> _Evidence:
    buffer = f" ({size(facts.send_buffer_bytes)})" if facts.send_buffer_bytes else ""
    because = _window(facts, facts.send_buffer_bytes) if buffer else "the tuned buffer has not grown to the window"
    return None, "", "", (because, f"{claim('send_buffer', buffer, facts.shares['send_buffer'])}: {because}")


def _cwnd(facts: LimitFacts) -> _Evidence:
    cause, hop = facts.loss, facts.loss_hop if facts.loss in ("overflow", "channel") else facts.bottleneck
    if cause == "none":
        because = "it is still growing, without a loss"
        return cause, "", "", (because, f"{claim('cwnd', share=facts.shares['cwnd'])}: {because}")
    because = f"{count(facts.cuts, 'reduction')} after {_after(facts, hop)}"
    share = facts.shares["cwnd"] + facts.shares["recovery"]
    return cause, hop, facts.direction, (because, f"{claim('cwnd', share=share)}: {because}")


def _recovery(facts: LimitFacts) -> _Evidence:
    hop = facts.loss_hop
    timeouts = f", with {count(facts.timeouts, 'retransmission timeout')}" if facts.timeouts >= 0.5 else ""
    because = f"it follows {_after(facts, hop)}{timeouts}"
    why = f"{claim('recovery', share=facts.shares['recovery'])}: {because}"
    return facts.loss, hop, facts.direction, (because, why)


def _after(facts: LimitFacts, hop: str) -> str:
    where = f"`{hop} {facts.direction}`"
    if facts.loss == "mark":
        return f"ECN marks of {where}" if hop else "ECN marks"
    nouns = ("loss", "losses") if facts.loss == "channel" else ("drop", "drops")
    place = f"on the channel of {where}" if facts.loss == "channel" else f"at the queue of {where}"
    number = count(facts.loss_drops, *nouns)
    return f"{nouns[1]} {place} ({number} of all flows)" if facts.shares_loss_hop else f"{number} {place}"


def _application(facts: LimitFacts) -> _Evidence:
    time = share_text(facts.shares["application"])
    if facts.pushed_by:
        because = f"the proxy has nothing to forward {time} of the time"
        of = f"the flow `{facts.pushed_by}` in front of the proxy limits goodput"
        return "proxy", "", "", (because, f"{of}: {because}")
    because = f"it has no data to send {time} of the time"
    return None, "", "", (because, f"{claim('application')}: {because}")


def _reader(facts: LimitFacts) -> tuple[str, str]:
    if facts.window_cap == "proxy":
        because = (
            f"the proxy's buffer is full, so that it reads {rate(facts.goodput_bps)} and the receive window closes"
        )
        return because, f"the flow `{facts.feeds}` behind the proxy limits goodput: {because}"
    because = f"the receiver reads {rate(facts.goodput_bps)}, so that the receive window closes"
    return because, f"{claim('application')}: {because}"


def _proxy_buffer(facts: LimitFacts) -> tuple[str, str]:
    because = (
        f"it holds data until the receiver has acknowledged it, so at most {size(facts.proxy_bytes)} in an RTT of "
        f"{milliseconds(facts.proxy_rtt_ms)} behind the proxy"
    )
    return because, f"the proxy's buffer ({size(facts.proxy_bytes)}) limits goodput: {because}"


def _pacing(facts: LimitFacts) -> _Evidence:
    because = f"the pacing rate holds back data {share_text(facts.shares['pacing'])} of the time"
    return None, "", "", (because, f"{claim('pacing')}: {because}")


_EVIDENCE = {
    "bottleneck": _bottleneck,
    "ack_path": _ack_path,
    "receive_window": _receive_window,
    "send_buffer": _send_buffer,
    "cwnd": _cwnd,
    "application": _application,
    "recovery": _recovery,
    "pacing": _pacing,
}


def _back(direction: str) -> str:
    return "up" if direction == "down" else "down"


def _window(facts: LimitFacts, window: float) -> str:
    each = f"one window per RTT of {milliseconds(facts.rtt_ms)}"
    return f"{each} is {rate(8e3 * window / facts.rtt_ms)}" if window and facts.rtt_ms else each


def count(number: float, noun: str, nouns: str = "") -> str:
    """A mean number of things: "3.5 drops", "1 drop"."""
    shown = f"{number:.0f}" if number >= 10.0 or number == round(number) else f"{number:.1f}"
    return f"{shown} {noun if shown == '1' else nouns or noun + 's'}"


def size(number: float) -> str:
    """Bytes as given in links and captures: KiB and MiB where they are whole, else with commas."""
    number = round(number)
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= factor and number % factor == 0:
            return f"{number // factor} {unit}"
    return f"{number:,} B"
