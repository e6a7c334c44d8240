"""Where a packet waits."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, PlainSerializer

from ackclock.errors import Refusal, show
from ackclock.link.acks import Acks
from ackclock.quantities import LONGEST_PS, SomeBytes, Span, Time
from ackclock.table import Count, Flag, Probability, Table, by_kind, number, word
from ackclock.units import SIZES, TIMES, show_size, show_time, size_bytes, time_ps

Plan = dict[str, Any]
THRESHOLD = 'a threshold such as "20 packets", "30 kB" or "1 ms"'
AMOUNT = 'a number of packets or bytes above zero, such as "5 packets" or "30 kB"'


def _words(value: Any) -> tuple[str, str]:
    """Number and unit of a text that has both."""
    words = value.split() if isinstance(value, str) else []
    return (words[0], words[1]) if len(words) == 2 else ("", "")


def _threshold(value: Any) -> str:
    """A threshold as written, once it is known to be one."""
    threshold_plan(value)
    return str(value)


def threshold_plan(value: Any) -> Plan:
    """What the engine is told of a threshold in packets, bytes or time."""
    count, unit = _words(value)
    if unit in ("packet", "packets") and count.isascii() and count.isdigit() and len(count) < 10:
        return {"kind": "packets", "packets": int(count)}
    if unit in SIZES:
        return {"kind": "bytes", "bytes": size_bytes(value)}
    if unit in TIMES and 0 <= time_ps(value) <= LONGEST_PS:
        return {"kind": "time", "ps": time_ps(value)}
    raise Refusal(show(value), THRESHOLD)


def amount(value: Any) -> tuple[str, float]:
    """An average queue: its unit, `packets` or `bytes`, and how many. Packets need not be whole."""
    count, unit = _words(value)
    if unit in SIZES and size_bytes(value) > 0:
        return "bytes", float(size_bytes(value))
    try:
        packets = float(count) if unit in ("packet", "packets") else 0.0
    except ValueError:
        packets = 0.0
    if not 0 < packets < 1e9:
        raise Refusal(show(value), AMOUNT)
    return "packets", packets


def _amount(value: Any) -> str:
    amount(value)
    return str(value)


Threshold = Annotated[str, BeforeValidator(_threshold)]
Amount = Annotated[str, BeforeValidator(_amount)]
Weight = Annotated[float, number(lambda w: 0 < w <= 1, "a weight above 0, up to 1")]
Gain = Annotated[float, number(lambda gain: 0 <= gain <= 1e6, "a gain from 0 to 1e6")]
Interval = Annotated[int, BeforeValidator(lambda value: _at_least_1_us(value)), PlainSerializer(show_time)]


def _at_least_1_us(value: Any) -> int:
    ps = time_ps(value)
    if not 10**6 <= ps <= LONGEST_PS:
        raise Refusal(show(value), 'a time from "1 us" to "100 day"')
    return ps


class Waiting(Table):
    """What all queues have: limits on what waits (the packet being sent does not count), and what is done to ACKs."""

    packets: Count | None = None
    bytes: SomeBytes | None = None
    ack: Acks | None = None

    @property
    def marks(self) -> bool:
        """Whether it tells ECN-capable packets of congestion by a mark."""
        return True

    def limits(self) -> Plan:
        return {"packets": self.packets, "bytes": self.bytes}


class DropTail(Waiting):
    """A first-in first-out queue that drops arrivals when full, or with `drop = "front"` those that came first. The packet
    being sent does not count. Beyond `mark` ECN-capable packets are marked (RFC 8257, section 3.1).
    """

    kind: Annotated[str, word("droptail")]
    mark: Threshold | None = None
    drop: Annotated[str, word("tail", "front")] = "tail"

    @property
    def marks(self) -> bool:
        return self.mark is not None

    def plan(self) -> Plan:
        plan: Plan = {"kind": self.kind, **self.limits()}
        if self.mark is not None:
            plan["mark"] = threshold_plan(self.mark)
        if self.drop != "tail":
            plan["drop"] = self.drop
        return plan


class Signalling(Waiting):
    """An active queue management. With `ecn` it marks those who understand it and drops the others; else it drops all alike."""

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


class Red(Signalling):
    """Random early detection (Floyd and Jacobson 1993). Left out, the thresholds are `asymmetry`'s: 0.15 and 0.6 of the limit
    (papers' B31), as are weight and probability. In bytes when the thresholds, or else the limit, are.
    """

    kind: Annotated[str, word("red")]
    min: Amount | None = None
    max: Amount | None = None
    weight: Weight = 0.01
    max_p: Probability = 0.1
    gentle: Flag = False
    only: Annotated[str, word("all", "data")] = "all"
    mean_packet: SomeBytes = 500

    def model_post_init(self, _context: Any) -> None:
        if (self.min is None) != (self.max is None):
            missing = "min" if self.min is None else "max"
            raise Refusal(f'no "{missing}"', "both min and max, or neither", (missing,))
        unit, low, high = self._thresholds()
        if self.max is not None and amount(self.max)[0] != unit:
            raise Refusal(show(self.max), f"a number of {unit}, as min is", ("max",))
        if low >= high:
            raise Refusal(show(self.max), f"more than min = {show(self.min)}", ("max",))

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
            "signal": self.signal,
            "only": self.only,
            "mean_packet": self.mean_packet,
        }


class CoDel(Signalling):
    """CoDel (RFC 8289): signals while packets have waited longer than `target` for longer than `interval`."""

    kind: Annotated[str, word("codel")]
    target: Time = 5 * 10**9
    interval: Span = 100 * 10**9
    mtu: SomeBytes = 1514

    def control(self) -> Plan:
        return {"target_ps": self.target, "interval_ps": self.interval, "mtu": self.mtu, "signal": self.signal}

    def plan(self) -> Plan:
        return {"kind": self.kind, **self.limits(), **self.control()}


Flows = Annotated[int, BeforeValidator(lambda value: _flows(value))]
Quantum = Annotated[int, BeforeValidator(lambda value: _quantum(value)), PlainSerializer(show_size)]


def _flows(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 65536:
        raise Refusal(show(value), "a whole number from 1 to 65536")
    return value


def _quantum(value: Any) -> int:
    size = size_bytes(value)
    if not 64 <= size <= 2**31 - 1:
        raise Refusal(show(value), 'a size of at least "64 B"')
    return size


class FqCoDel(CoDel):
    """FQ-CoDel (RFC 8290): a queue for each flow, served in turns of `quantum` bytes, new flows first; CoDel in each."""

    default_packets: ClassVar[int] = 10_240
    kind: Annotated[str, word("fq-codel")]
    flows: Flows = 1024
    quantum: Quantum = 1514

    def plan(self) -> Plan:
        limits = self.limits()
        whole = {"packets": limits["packets"] or 2**31 - 1, "bytes": limits["bytes"] or 32 * 2**20}
        return {"kind": self.kind, **whole, "flows": self.flows, "quantum": self.quantum, **self.control()}


class Cake(FqCoDel):
    """CAKE's core (Høiland-Jørgensen, Täht and Morton 2018): as fq-codel, but flows do not collide within sets of eight lines, COBALT (CoDel
    and BLUE) in each, and with `hosts` turns are fair to hosts before flows, where real packets say who they are.
    """

    kind: Annotated[str, word("cake")]
    hosts: Flag = True

    def plan(self) -> Plan:
        plan = super().plan()
        return {**plan, "bytes": self.bytes or 4 * 2**20, "hosts": self.hosts}


class Pie(Signalling):
    """PIE (RFC 8033): a controller holds the delay near `target`. Beyond the probability `mark_up_to` it drops all alike."""

    kind: Annotated[str, word("pie")]
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


class DualPi2(Waiting):
    """DualPI2 (RFC 9332): L4S traffic (ECT(1) and CE) in a queue of its own, marked from `step` on and coupled to the other."""

    kind: Annotated[str, word("dualpi2")]
    target: Time = 15 * 10**9
    update: Interval = 16 * 10**9
    alpha: Gain = 0.16
    beta: Gain = 3.2
    coupling: Annotated[float, number(lambda k: 0 < k <= 100, "a factor above 0, up to 100")] = 2.0
    step: Time = 10**9
    overload: Probability = 0.25
    classic_share: Annotated[float, number(lambda share: 0 <= share < 1, "a share from 0 to below 1")] = 0.1

    def model_post_init(self, _context: Any) -> None:
        if self.ack is not None and self.ack.first:
            raise Refusal("first = true", "false: a dualpi2 queue has an order of its own", ("ack", "first"))

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


QUEUES = {"droptail": DropTail, "red": Red, "codel": CoDel, "fq-codel": FqCoDel, "cake": Cake, "pie": Pie, "dualpi2": DualPi2}
Queue = Annotated[DropTail | Red | CoDel | FqCoDel | Cake | Pie | DualPi2, by_kind(QUEUES, default="droptail")]
