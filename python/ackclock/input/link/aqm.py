"""Active queue management: queues that signal congestion before they are full."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, PlainSerializer

from ackclock.errors import InvalidValue, format_value
from ackclock.input import form
from ackclock.input.link.queue_limits import Plan, QueueLimits
from ackclock.input.link.thresholds import Amount, amount
from ackclock.input.quantity_fields import LONGEST_PS, SomeBytes, Span, Time
from ackclock.input.schema import Flag, Probability, choice_field, number_field
from ackclock.input.units import show_size, show_time, size_bytes, time_ps

Weight = Annotated[
    float, number_field(lambda w: 0 < w <= 1, "a weight above 0, up to 1", exclusiveMinimum=0, maximum=1)
]
Gain = Annotated[float, number_field(lambda gain: 0 <= gain <= 1e6, "a gain from 0 to 1e6", minimum=0, maximum=1e6)]
Interval = Annotated[int, BeforeValidator(lambda value: _at_least_1_us(value)), PlainSerializer(show_time), form.TIME]


def _at_least_1_us(value: Any) -> int:
    ps = time_ps(value)
    if not 10**6 <= ps <= LONGEST_PS:
        raise InvalidValue(format_value(value), 'a time from "1 us" to "100 day"')
    return ps


class AqmQueue(QueueLimits):
    """A queue with active queue management.

    With `ecn` it marks ECN-capable packets and drops others; else it drops all.
    """

    default_packets: ClassVar[int] = 1000
    ecn: Flag = True

    @property
    def marks(self) -> bool:
        return self.ecn

    def limits(self) -> Plan:
        packets = self.packets if self.packets or self.bytes else self.default_packets
        return {"packets": packets, "bytes": self.bytes}

    @property
    def signal(self) -> str:
        return "mark" if self.ecn else "drop"


class Red(AqmQueue):
    """Random early detection (Floyd and Jacobson 1993). Default thresholds are those of
    `asymmetry`: 0.15 and 0.6 of the limit (papers' B31); so are the defaults of weight and
    probability. The unit is that of the thresholds, else of the limit.
    """

    kind: Annotated[str, choice_field("red")]
    min: Amount | None = None
    max: Amount | None = None
    weight: Weight = 0.01
    max_p: Probability = 0.1
    gentle: Flag = False
    wait: Flag = False
    draw: Annotated[str, choice_field("packet", "signal")] = "packet"
    only: Annotated[str, choice_field("all", "data")] = "all"
    mean_packet: SomeBytes = 500

    def model_post_init(self, _context: Any) -> None:
        if (self.min is None) != (self.max is None):
            missing = "min" if self.min is None else "max"
            raise InvalidValue(f'no "{missing}"', "both min and max, or neither", (missing,))
        if self.wait and self.draw == "signal":
            raise InvalidValue(
                format_value(self.draw), '"packet", as `wait` spaces the draws of each packet', ("draw",)
            )
        unit, low, high = self._thresholds()
        if self.max is not None and amount(self.max)[0] != unit:
            raise InvalidValue(format_value(self.max), f"a number of {unit}, as min is", ("max",))
        if low >= high:
            raise InvalidValue(format_value(self.max), f"more than min = {format_value(self.min)}", ("max",))

    def _thresholds(self) -> tuple[str, float, float]:
        if self.min is not None and self.max is not None:
            unit, low = amount(self.min)
            return unit, low, amount(self.max)[1]
        limits = self.limits()
        unit = "packets" if limits["packets"] else "bytes"
        return unit, 0.15 * limits[unit], 0.6 * limits[unit]

    def plan(self) -> Plan:
        unit, low, high = self._thresholds()
        return {
            "kind": self.kind,
            **self.limits(),
            "amount": unit,
            "min": low,
            "max": high,
            "weight": self.weight,
            "max_p": self.max_p,
            "gentle": self.gentle,
            **({"wait": True} if self.wait else {}),
            **({"draw": self.draw} if self.draw != "packet" else {}),
            "signal": self.signal,
            "only": self.only,
            "mean_packet": self.mean_packet,
        }


class CoDel(AqmQueue):
    """CoDel (RFC 8289): signals when the sojourn time has been above `target` for `interval`."""

    kind: Annotated[str, choice_field("codel")]
    target: Time = 5 * 10**9
    interval: Span = 100 * 10**9
    mtu: SomeBytes = 1514

    def control(self) -> Plan:
        return {"target_ps": self.target, "interval_ps": self.interval, "mtu": self.mtu, "signal": self.signal}

    def plan(self) -> Plan:
        return {"kind": self.kind, **self.limits(), **self.control()}


Flows = Annotated[int, BeforeValidator(lambda value: _flows(value)), form.whole(minimum=1, maximum=65536)]
Quantum = Annotated[int, BeforeValidator(lambda value: _quantum(value)), PlainSerializer(show_size), form.SIZE]


def _flows(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 65536:
        raise InvalidValue(format_value(value), "a whole number from 1 to 65536")
    return value


def _quantum(value: Any) -> int:
    size = size_bytes(value)
    if not 64 <= size <= 2**31 - 1:
        raise InvalidValue(format_value(value), 'a size of at least "64 B"')
    return size


class FqCoDel(CoDel):
    """FQ-CoDel (RFC 8290): a CoDel queue for each flow, served by deficit round robin with
    `quantum` bytes, new flows first.
    """

    default_packets: ClassVar[int] = 10_240
    kind: Annotated[str, choice_field("fq-codel")]
    flows: Flows = 1024
    quantum: Quantum = 1514

    def plan(self) -> Plan:
        limits = self.limits()
        total = {"packets": limits["packets"] or 2**31 - 1, "bytes": limits["bytes"] or 32 * 2**20}
        return {"kind": self.kind, **total, "flows": self.flows, "quantum": self.quantum, **self.control()}


class Cake(FqCoDel):
    """CAKE's core (Høiland-Jørgensen, Täht and Morton 2018): FQ-CoDel with 8-way set-associative
    hashing and COBALT (CoDel and BLUE).

    With `hosts`, fairness is between hosts first, then between a host's flows, if packets have real
    addresses.
    """

    kind: Annotated[str, choice_field("cake")]
    hosts: Flag = True

    def plan(self) -> Plan:
        plan = super().plan()
        return {**plan, "bytes": self.bytes or 4 * 2**20, "hosts": self.hosts}


class Pie(AqmQueue):
    """PIE (RFC 8033): a controller keeps the delay near `target`.

    Above the probability `mark_up_to` it drops all packets.
    """

    kind: Annotated[str, choice_field("pie")]
    target: Time = 15 * 10**9
    update: Interval = 15 * 10**9
    alpha: Gain = 0.125
    beta: Gain = 1.25
    burst: Time = 150 * 10**9
    mark_up_to: Probability = 0.1
    mean_packet: SomeBytes = 1500

    def plan(self) -> Plan:
        return {
            "kind": self.kind,
            **self.limits(),
            "target_ps": self.target,
            "update_ps": self.update,
            "alpha": self.alpha,
            "beta": self.beta,
            "burst_ps": self.burst,
            "signal": self.signal,
            "mark_up_to": self.mark_up_to,
            "mean_packet": self.mean_packet,
        }


class DualPi2(QueueLimits):
    """DualPI2 (RFC 9332): a separate queue for L4S traffic (ECT(1) and CE), marked from `step` on
    and coupled to the classic queue.
    """

    kind: Annotated[str, choice_field("dualpi2")]
    target: Time = 15 * 10**9
    update: Interval = 16 * 10**9
    alpha: Gain = 0.16
    beta: Gain = 3.2
    coupling: Annotated[
        float, number_field(lambda k: 0 < k <= 100, "a factor above 0, up to 100", exclusiveMinimum=0, maximum=100)
    ] = 2.0
    step: Time = 10**9
    overload: Probability = 0.25
    classic_share: Annotated[
        float, number_field(lambda share: 0 <= share < 1, "a share from 0 to below 1", minimum=0, exclusiveMaximum=1)
    ] = 0.1

    def model_post_init(self, _context: Any) -> None:
        if self.ack is not None and self.ack.first:
            raise InvalidValue("first = true", "false: dualpi2 has its own order of service", ("ack", "first"))

    def plan(self) -> Plan:
        return {
            "kind": self.kind,
            "packets": self.packets if self.packets or self.bytes else 10_000,
            "bytes": self.bytes,
            "target_ps": self.target,
            "update_ps": self.update,
            "alpha": self.alpha,
            "beta": self.beta,
            "coupling": self.coupling,
            "step_ps": self.step,
            "overload": self.overload,
            "classic_share": self.classic_share,
        }
