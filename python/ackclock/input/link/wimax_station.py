"""Keys of a station of an 802.16 cell: modulation, errors, channel, QoS class, rate limits."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, choices, format_value
from ackclock.input.form import Form, FormValidator, number, whole, words
from ackclock.input.link.signal import POINTS, Decibels, Fading, SomeDecibels, StandardDeviation, points
from ackclock.input.quantity_fields import Rate, SomeBytes, Span
from ackclock.input.schema import Table, choice_field, table_array

Plan = dict[str, Any]

OFDM = ("bpsk-1/2", "qpsk-1/2", "qpsk-3/4", "16qam-1/2", "16qam-3/4", "64qam-2/3", "64qam-3/4")
"""IEEE 802.16-2004, Table 215, weakest first."""
OFDMA = ("qpsk-1/2", "qpsk-3/4", "16qam-1/2", "16qam-3/4", "64qam-1/2", "64qam-2/3", "64qam-3/4", "64qam-5/6")
"""IEEE 802.16e-2005, 8.4.9.2, weakest first."""
ALL = tuple(dict.fromkeys(OFDM + OFDMA))

SSI = {5: ("64qam-3/4", 1.0, 1.0), 4: ("64qam-2/3", 1.0, 1.0), 3: ("16qam-3/4", 1.0, 1.0),
       2: ("16qam-1/2", 1.0, 0.88), 1: ("qpsk-3/4", 0.78, 0.88)}  # fmt: skip
"""A modem's five signal LEDs: modulation (our assumption), and the share of a cap in each
direction, from Figure 3 of `wimax-measured`."""


def direction(value: Any, direction: str) -> Any:
    """One direction of a value, which may be { down = .., up = .. }."""
    return value[direction] if isinstance(value, dict) else value


def per_direction(check: Any, allowed: str, form: Form) -> BeforeValidator:
    """One value for both directions, or { down = .., up = .. }."""

    def take(value: Any) -> Any:
        if not isinstance(value, dict):
            return check(value)
        if set(value) != {"down", "up"}:
            raise InvalidValue(format_value(value), f"{allowed}, or {{ down = .., up = .. }} with both")
        return {direction: check(value[direction]) for direction in ("down", "up")}

    table = {"type": "object", "properties": {"down": dict(form.schema), "up": dict(form.schema)},
             "required": ["down", "up"], "additionalProperties": False}  # fmt: skip
    described = Form({"anyOf": [dict(form.schema), table]})
    return FormValidator(take, form=described)


def modulation(value: Any) -> str:
    if not isinstance(value, str) or value not in ALL:
        raise InvalidValue(format_value(value), choices((f'"{name}"' for name in ALL), format_value(value)))
    return value


def _probability(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidValue(format_value(value), "a probability from 0 to 1")
    return float(value)


Modulation = Annotated[Any, per_direction(modulation, "a modulation", words(*ALL))]
Error = Annotated[Any, per_direction(_probability, "a probability", number(minimum=0, maximum=1))]
SignalLosses = Annotated[Any, per_direction(points, "a list of [decibels, share lost]", POINTS)]


class Amc(Table):
    """Adaptive modulation.

    The error rate is `error` at a modulation's threshold and a tenth of it `decade` dB above.
    """

    hysteresis: StandardDeviation = 1.0
    delay: Span = 10 * 10**9
    up_offset: Decibels = 0.0
    decade: SomeDecibels = 2.0


class Service(Table):
    """A scheduling class; `interval` between fixed grants or polls, `bytes` of a fixed grant."""

    kind: Annotated[str, choice_field("ugs", "ertps", "rtps", "nrtps", "be")] = "be"
    interval: Span | None = None
    bytes: SomeBytes | None = None

    def model_post_init(self, _context: Any) -> None:
        if self.kind in ("ugs", "ertps") and (self.interval is None or self.bytes is None):
            raise InvalidValue(f'kind = "{self.kind}"', "interval and bytes of its grants beside it")
        if self.kind == "rtps" and self.interval is None:
            raise InvalidValue('kind = "rtps"', "the interval of its polls beside it")

    def plan(self, frame: int) -> Plan:
        interval = frames(self.interval, frame) if self.interval else 0
        return {"class": self.kind, "interval_frames": interval, "bytes": self.bytes or 0}


class Connection(Table):
    """An additional connection of each station: its traffic and its scheduling class."""

    traffic: Annotated[str, choice_field("tcp", "udp")]
    service: Annotated[Service, BeforeValidator(Service.model_validate)]

    def plan(self, frame: int) -> Plan:
        return {"traffic": self.traffic, "service": self.service.plan(frame)}


class Cap(Table):
    """A token bucket's rate: `rate`, or a value drawn from `low` to `high` `every` so long.

    What is too fast is dropped, or waits behind at most `buffer`.
    """

    direction: Annotated[str, choice_field("down", "up")]
    traffic: Annotated[str, choice_field("all", "tcp", "udp")] = "all"
    rate: Rate | None = None
    low: Rate | None = None
    high: Rate | None = None
    every: Span = 60 * 10**12
    burst: SomeBytes = 3000
    buffer: SomeBytes | None = None

    def model_post_init(self, _context: Any) -> None:
        if (self.rate is None) == (self.low is None or self.high is None) or (self.rate and (self.low or self.high)):
            raise InvalidValue("a cap", "either rate, or low and high", ("rate",))
        if self.low and self.high and self.low > self.high:
            raise InvalidValue("low above high", "low up to high", ("low",))

    def plan(self, share: float) -> Plan:
        low, high = (self.rate or self.low or 0), (self.rate or self.high or 0)
        return {
            "traffic": self.traffic, "low_bps": max(1, round(low * share)), "high_bps": max(1, round(high * share)),
            "every_ps": self.every, "burst": self.burst, "buffer": self.buffer,
        }  # fmt: skip


def lights(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in SSI:
        raise InvalidValue(format_value(value), "a signal strength from 1 to 5")
    return value


class Station(Table):
    """Keys of one station; absent ones are the cell's."""

    modulation: Modulation | None = None
    error: Error | None = None
    ssi: Annotated[int, BeforeValidator(lights), whole(minimum=1, maximum=5)] | None = None
    fading: Fading | None = None
    signal_loss: SignalLosses | None = None
    amc: Amc | None = None
    service: Annotated[Service, BeforeValidator(Service.model_validate)] | None = None
    caps: Annotated[tuple[Cap, ...], table_array("a list of caps")] | None = None

    def station_plan(self, default: str, frame: int) -> Plan:
        """`default` is the modulation of a cell without one, `frame` its frame duration in ps."""
        strength = SSI.get(self.ssi or 5, SSI[5])
        chosen = self.modulation or (strength[0] if self.ssi else default)
        shares = {"down": strength[1], "up": strength[2]} if self.ssi else {"down": 1.0, "up": 1.0}
        caps = {d: [cap.plan(shares[d]) for cap in self.caps or () if cap.direction == d] for d in ("down", "up")}
        amc = self.amc or Amc()
        if self.signal_loss is not None and self.fading is None:
            raise InvalidValue(
                "signal_loss without fading", "fading beside it, which says how the signal moves", ("signal_loss",)
            )
        return {
            "modulation": {d: direction(chosen, d) for d in ("down", "up")},
            "error": {d: direction(self.error or 0.0, d) for d in ("down", "up")},
            "service": (self.service or Service()).plan(frame),
            "fading": self.fading.plan() if self.fading else None,
            "signal_loss": {d: direction(self.signal_loss, d) for d in ("down", "up")} if self.signal_loss else None,
            "amc": {"hysteresis_db": amc.hysteresis, "delay_frames": frames(amc.delay, frame),
                    "up_offset_db": amc.up_offset, "decade_db": amc.decade},
            "caps": caps,
        }  # fmt: skip

    def over(self, base: Station) -> Station:
        """This station's keys with the cell's for absent ones.

        Its signal quality determines its modulation before the cell's key does.
        """
        keys = {key: getattr(base if getattr(self, key) is None else self, key) for key in Station.model_fields}
        if self.ssi and self.modulation is None:
            keys["modulation"] = None
        return Station.model_construct(**keys)


def frames(span: int, frame: int) -> int:
    """A time in frames, rounded up, 1 or more."""
    return max(1, -(-span // frame))


__all__ = ["ALL", "OFDM", "OFDMA", "SSI", "Connection", "Station", "frames", "modulation"]
