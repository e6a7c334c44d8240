"""Workloads: what a flow sends."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator

from ackclock.errors import InvalidValue, format_value
from ackclock.input.quantity_fields import Rate, SomeBytes, Span
from ackclock.input.scenario.web import Web
from ackclock.input.schema import Count, Table, by_kind, choice_field, number_field
from ackclock.input.units import PS_PER_S, show_size, show_time

Plan = dict[str, Any]

UDP_HEADERS = 28  # IPv4 20 B + UDP 8 B


def _packet(size: int) -> int:
    if not UDP_HEADERS < size <= 65535:
        raise InvalidValue(
            format_value(show_size(size)), f"an IP packet of {UDP_HEADERS + 1} B to 65535 B, headers included"
        )
    return size


Packet = Annotated[SomeBytes, AfterValidator(_packet)]


class Bulk(Table):
    """Unlimited data.

    `read_rate` limits the rate at which the receiving application reads; by default it reads at
    once.
    """

    kind: Annotated[str, choice_field("bulk")]
    read_rate: Rate | None = None

    def plan(self) -> Plan:
        return {"kind": self.kind, **_reading(self.read_rate)}


class Transfer(Table):
    """A transfer of `size` bytes of payload."""

    kind: Annotated[str, choice_field("transfer")]
    size: SomeBytes
    read_rate: Rate | None = None

    def plan(self) -> Plan:
        return {"kind": self.kind, "bytes": self.size, **_reading(self.read_rate)}


def _reading(rate: int | None) -> Plan:
    return {} if rate is None else {"read_bps": rate}


class ConstantRate(Table):
    """UDP packets of IP size `packet` at constant `rate`."""

    kind: Annotated[str, choice_field("cbr")]
    rate: Rate
    packet: Packet = 1000

    def plan(self) -> Plan:
        return {"kind": self.kind, "bps": self.rate, "packet": self.packet}


class OnOff(Table):
    """UDP at `rate` in on periods, nothing in off periods; `on` and `off` are mean durations."""

    kind: Annotated[str, choice_field("onoff")]
    rate: Rate
    on: Span
    off: Span
    distribution: Annotated[str, choice_field("exponential", "pareto")] = "exponential"
    shape: Annotated[
        float, number_field(lambda s: s > 1, "a shape above 1 (below, a Pareto mean is infinite)", exclusiveMinimum=1)
    ] = 1.5
    packet: Packet = 1000

    def model_post_init(self, _context: Any) -> None:
        one_packet = self.packet * 8 * PS_PER_S // self.rate
        if self.on < one_packet:
            raise InvalidValue(
                f"on = {format_value(show_time(self.on))}",
                f"at least one packet's time, {show_time(one_packet)}",
                ("on",),
            )

    def plan(self) -> Plan:
        return {
            "kind": self.kind,
            "bps": self.rate,
            "on_ps": self.on,
            "off_ps": self.off,
            "distribution": self.distribution,
            "shape": self.shape,
            "packet": self.packet,
        }


class Probe(Table):
    """Path characterisation (pathchar): probes of IP sizes `first`, `first + step`, .. `last`, each
    once in a round, one at a time.

    The end of the flow's path answers with `reply` bytes (ICMP: 56), or with more of the probe
    quoted, up to `reply_most` bytes (RFC 1812 and Linux: 576). A flow `over` the first hops is a
    TTL-limited probe. The next probe follows `gap` after an answer or after `timeout` without one.
    pchar's values: 32 rounds, 250 ms, 3 s.
    """

    kind: Annotated[str, choice_field("probe")]
    first: Packet = 60
    last: Packet = 1500
    step: SomeBytes = 32
    rounds: Count = 32
    gap: Span = 250 * PS_PER_S // 1000
    timeout: Span = 3 * PS_PER_S
    reply: Packet = 56
    reply_most: Packet = 56

    def model_post_init(self, _context: Any) -> None:
        if self.last < self.first:
            raise InvalidValue(
                f"last = {format_value(show_size(self.last))}", f"at least first, {show_size(self.first)}", ("last",)
            )

    @property
    def packet(self) -> int:
        """The largest probe."""
        return self.last

    def plan(self) -> Plan:
        return {
            "kind": self.kind,
            "first": self.first,
            "last": self.last,
            "step": self.step,
            "rounds": self.rounds,
            "gap_ps": self.gap,
            "timeout_ps": self.timeout,
            "reply": self.reply,
            "reply_most": self.reply_most,
        }


class Live(Table):
    """Traffic of real hosts: the flow of `ackclock emulate`. A simulation refuses it."""

    kind: Annotated[str, choice_field("live")]
    packet: ClassVar[int] = 1500

    def plan(self) -> Plan:
        return {"kind": self.kind}


WORKLOADS = {
    "bulk": Bulk,
    "transfer": Transfer,
    "web": Web,
    "cbr": ConstantRate,
    "onoff": OnOff,
    "probe": Probe,
    "live": Live,
}
UDP = (ConstantRate, OnOff, Probe, Live)
"""Workloads without simulated TCP."""
Workload = Annotated[Bulk | Transfer | Web | ConstantRate | OnOff | Probe | Live, by_kind(WORKLOADS)]
