"""The actions that change the hosts of QUIC flows: congestion control, ACK frequency, initial
window and receive window, as the configuration of the program that has the stack (noq's
`TransportConfig`). No sysctl and no socket option reaches them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

from ackclock.advisor.action import Action, Change
from ackclock.advisor.commands import SocketOption
from ackclock.advisor.recipe import Step
from ackclock.input.catalogue import host_file
from ackclock.input.link.bottleneck import bdp_bytes
from ackclock.input.units import show_size, size_bytes

if TYPE_CHECKING:
    from ackclock.advisor.situation import Situation
    from ackclock.input.scenario.flow import Flow

QUIC = "quic"
STACK = "noq-1.4"
CONTROLS = {"noq-cubic": "CubicConfig", "noq-newreno": "NewRenoConfig", "noq-bbr3": "Bbr3Config"}
"""The stack's congestion controls, and their configurations."""
OF_VARIANT = {"cubic": "noq-cubic", "reno": "noq-newreno", "bbr3": "noq-bbr3"}
"""The stack's control of the algorithm of a `variant`: no change."""
ACK_FREQUENCIES = (9, 24)
"""Packets that the receiver may leave without an ACK: one ACK in 10 and in 25."""
DEFAULT_ACK_FREQUENCY = 1
INITIAL_WINDOW, DEFAULT_INITIAL_WINDOW = 32 * 1200, 10 * 1200
"""The larger first congestion window that is tried, and that of RFC 9002, section 7.2, in bytes."""
RECEIVE_BDPS = 2
"""The receive window in BDP where the path needs a larger one."""
LARGER = 1.1
"""A window that is larger by less is not tried."""
PEER = "the receiver's stack has ACK_FREQUENCY (draft-ietf-quic-ack-frequency-11)"


def quic_actions(of: Situation) -> Iterator[Action]:
    """All actions at the hosts of a situation whose own flows are all over QUIC."""
    flows = list(of.own_flows.values())
    written = [_written(flow) for flow in flows]
    controls = {_control(of, flow, keys) for flow, keys in zip(flows, written, strict=True)}
    for control, config in CONTROLS.items():
        if controls != {control}:
            before = " and ".join(sorted(controls))
            changes = [Change("quic.control", before, control)]
            factory = _set("congestion_controller_factory", f"{config}::default()", _factory(before))
            yield _action("variant", f"congestion control {control}", changes, factory)
    asked = {int(keys.get("ack_frequency", DEFAULT_ACK_FREQUENCY)) for keys in written}
    for packets in ACK_FREQUENCIES:
        if asked != {packets}:
            own = _one(asked, DEFAULT_ACK_FREQUENCY)
            change = Change("quic.ack_frequency", None if own == DEFAULT_ACK_FREQUENCY else own, packets)
            was = None if own == DEFAULT_ACK_FREQUENCY else f"Some(ack_eliciting_threshold({own}))"
            step = _set("ack_frequency_config", f"Some(ack_eliciting_threshold({packets}))", was)
            yield _action("ACK frequency", f"an ACK in {packets + 1} packets", [change], step, PEER)
    windows = {size_bytes(keys["initial_window"]) for keys in written if "initial_window" in keys}
    first = _one(windows, DEFAULT_INITIAL_WINDOW)
    if first < INITIAL_WINDOW:
        to = show_size(INITIAL_WINDOW)
        change = Change("quic.initial_window", show_size(first), to)
        step = _set("initial_window of the congestion control", to, show_size(first))
        yield _action("initial window", f"initial window of {to}", [change], step)
    yield from _receive_window(of, written)


def _receive_window(of: Situation, written: list[Mapping[str, Any]]) -> Iterator[Action]:
    """A receive window that a full path needs."""
    needed = RECEIVE_BDPS * (bdp_bytes(of.hops, of.direction) or 0.0)
    size = ceil(needed / 1000) * 1000
    now = min(size_bytes(_key(keys, "receive_window")) for keys in written)
    if size > LARGER * now:
        change = Change("quic.receive_window", show_size(now), show_size(size))
        step = _set("receive_window and stream_receive_window", show_size(size), show_size(now), who="receiver")
        yield _action("receive window", f"receive window of {show_size(size)}", [change], step)


def _written(flow: Flow) -> Mapping[str, Any]:
    """The keys of [flow.quic] as written."""
    return flow.quic.written(given=True) if flow.quic else {}


def _control(of: Situation, flow: Flow, keys: Mapping[str, Any]) -> str:
    """The congestion control of a flow: one of the stack's, or ackclock's by the name of its
    variant.
    """
    control = _key(keys, "control")
    if control != "variant":
        return str(control)
    variant = str(of.base.tcp_of(flow).keys["variant"])
    return OF_VARIANT.get(variant, variant)


def _key(keys: Mapping[str, Any], name: str) -> Any:
    """A key as written, or its default in the stack's file."""
    return keys.get(name, host_file(keys.get("host", STACK))[QUIC][name])


def _factory(before: str) -> str | None:
    return f"{CONTROLS[before]}::default()" if before in CONTROLS else None


def _one(values: set[int], default: int) -> int:
    return min(values, default=default)


def _set(name: str, value: str, before: str | None, who: str = "sender") -> Step:
    """A line of the stack's configuration in the program."""
    return Step(who, SocketOption(name, value), (SocketOption(name, before),))


def _action(kind: str, label: str, changes: list[Change], step: Step, *preconditions: str) -> Action:
    return Action(kind, label, tuple(changes), (step,), preconditions)
