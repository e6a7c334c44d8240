"""What limits each flow of a run: one decision, from the account of the hops' time and the sender's
own account (docs/evidence/limits.md). The decision and its sentences are the engine's
(crates/sim/src/limits), so that the lab page has them, too.

A flow's time is divided among `KINDS`. While a hop in the direction of the data has no free
capacity for an RTT, the bottleneck limits. In the rest of the time the sender's account counts. A
sender that waits for ACKs to open a window waits for two reasons: the window, and the queue in
which the ACKs wait; the queue's part of the RTT belongs to the path of the ACKs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import mode
from typing import Any

from ackclock import _native
from ackclock.limits import KINDS
from ackclock.simulation.throughput import with_models

_FLOW_KEYS = (
    "flow",
    "direction",
    "feeds",
    "goodput_bps",
    "rtt_ms",
    "limited_share",
    "path",
    "advertised_window_bytes",
    "limiting_window_bytes",
    "limiting_window_rtt_ms",
    "window_cuts",
    "ecn_cuts",
    "timeouts",
)
_HOP_KEYS = ("hop", "direction", "queue_delay_ms", "drops_by_cause")
_PLAN_KEYS = ("direction", "hops", "workload")
_TCP_KEYS = ("receive_buffer", "send_buffer", "window_scaling", "receive_tuning")


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
        window_bytes, window_rtt_ms: the receive window in force while it limits, and the RTT of
            that time; 0 without. `buffer_bytes` is the configured one.
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
    window_rtt_ms: float = 0.0
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
        return _native.limit_kind(_text(self))[1]

    @property
    def kind(self) -> str:
        """The kind of limit with the largest share (`largest`)."""
        return _native.limit_kind(_text(self))[0]


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

    `plan` is that of the run (docs/inside/plan.md).
    """
    with_models(summary, plan["flows"])
    explained = json.loads(_native.explain_limits(*_figures(summary, plan)))
    for flow, of in zip(summary["flows"], explained, strict=True):
        flow["limits"] = _by_kind(of["limits"]) if of["limits"] else None
        flow["limit"], flow["why"] = of["limit"], of["why"]
    return summary


def run_facts(summary: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, LimitFacts]:
    """The figures of each TCP flow with packets, by the flow's name."""
    return _facts(summary, plan, connections=False)


def connection_facts(summary: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, LimitFacts]:
    """The figures of each TCP connection, by the name of its last part.

    A connection that proxies split has those of its last part, or of the part before if the proxy
    has nothing to forward.
    """
    return _facts(summary, plan, connections=True)


def _facts(summary: Mapping[str, Any], plan: Mapping[str, Any], *, connections: bool) -> dict[str, LimitFacts]:
    found = json.loads(_native.limit_facts(*_figures(summary, plan), connections))
    return {name: LimitFacts(**{**of, "shares": _by_kind(of["shares"])}) for name, of in found}


def _figures(summary: Mapping[str, Any], plan: Mapping[str, Any]) -> tuple[str, str]:
    """What the decision reads of a run and of its plan, as JSON."""
    run = {
        "flows": [{key: flow.get(key) for key in _FLOW_KEYS} for flow in summary["flows"]],
        "hops": [{key: hop[key] for key in _HOP_KEYS} for hop in summary["hops"]],
        "proxies": summary.get("proxies", []),
    }
    planned = {
        "hops": [{"name": hop["name"]} for hop in plan["hops"]],
        "flows": [{**{key: flow[key] for key in _PLAN_KEYS}, "tcp": _tcp(flow)} for flow in plan["flows"]],
        "proxies": [{"buffer": proxy["buffer"]} for proxy in plan.get("proxies", ())],
    }
    return json.dumps(run), json.dumps(planned)


def _tcp(flow: Mapping[str, Any]) -> dict[str, Any] | None:
    tcp = flow.get("tcp")
    return {key: tcp.get(key) for key in _TCP_KEYS} if tcp else None


def _by_kind(shares: Mapping[str, float]) -> dict[str, float]:
    return {kind: shares[kind] for kind in KINDS if kind in shares}


def _text(facts: LimitFacts) -> str:
    return json.dumps(asdict(facts))


def mean_facts(facts: Sequence[LimitFacts]) -> LimitFacts:
    """The means of several flows or runs; of names and causes the most frequent. The receive window
    is that of the time in which it limits: flows that it limits for longer count more.
    """
    limited = [one.shares.get("receive_window", 0.0) for one in facts]

    def merged(name: str) -> Any:
        values = [getattr(one, name) for one in facts]
        if name in ("window_bytes", "window_rtt_ms") and sum(limited) > 0.0:
            return sum(value * share for value, share in zip(values, limited, strict=True)) / sum(limited)
        if isinstance(values[0], Mapping):
            return {key: sum(value[key] for value in values) / len(values) for key in values[0]}
        if isinstance(values[0], str | bool):
            return mode(values)
        return sum(values) / len(values)

    return LimitFacts(**{field.name: merged(field.name) for field in fields(LimitFacts)})


def decide(facts: LimitFacts) -> FlowLimit:
    """The limit with the largest share of the time, with its evidence."""
    limit, why = json.loads(_native.decide_limit(_text(facts)))
    return FlowLimit(**limit, why=why)


def count(number: float, noun: str, nouns: str = "") -> str:
    """A mean number of things: "3.5 drops", "1 drop"."""
    shown = f"{number:.0f}" if number >= 10.0 or number == round(number) else f"{number:.1f}"
    return f"{shown} {noun if shown == '1' else nouns or noun + 's'}"
