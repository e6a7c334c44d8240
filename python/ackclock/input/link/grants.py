"""A channel shared by requests and grants: cable, LTE, NR (docs/models/grants.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, format_value
from ackclock.input import form
from ackclock.input.form import Shorthand
from ackclock.input.link.frame_error import SINGLE
from ackclock.input.link.roaming import Roaming
from ackclock.input.quantity_fields import Rate, Size, SomeBytes, Span, Time
from ackclock.input.schema import Count, Flag, Probability, Table, choice_field, int_field

PS_PER_S = 10**12
MS = 10**9
DIRECTIONS = ("down", "up")
PACKET = 1500
"""Packet size of nominal rates, in bytes."""


@dataclass(frozen=True)
class StandardDirection:
    """A standard's values of one direction. Times in ps, sizes in bytes."""

    interval: int
    block: bool
    packet_header: int
    block_header: int
    repair: dict[str, Any] | None = None


@dataclass(frozen=True)
class Standard:
    """A parameter set: both directions, and the request method."""

    down: StandardDirection
    up: StandardDirection
    grant_delay: int
    requests: str
    many_requests: bool
    period: int = 10 * MS
    first_grant: int = 100
    contention: dict[str, Any] = field(default_factory=lambda: {"opportunities": 4, "backoff": (3, 10), "tries": 16})


def _harq(round_trip: int, round_delay: int) -> dict[str, Any]:
    """HARQ with an error rate of 10 %, the target of link adaptation: four transmissions, then RLC
    retransmission.
    """
    return {"error": 0.1, "attempts": 4, "delay_ps": round_trip, "rounds": 3, "round_delay_ps": round_delay}


STANDARDS = {
    # An Ethernet frame (18 B) with a 10 B MAC header around each packet, an 8 B segment header for
    # each grant; MAP interval 2 ms.
    "docsis-3.1": Standard(
        StandardDirection(MS // 5, False, 28, 0), StandardDirection(2 * MS, False, 28, 8), 4 * MS, "contention", True
    ),
    # FDD, 1 ms subframes, 8 ms from one transmission of a block to the next. PDCP, RLC and MAC take
    # 2 + 2 + 3 B a packet, 3 B a block.
    "lte": Standard(
        StandardDirection(MS, True, 4, 3, _harq(8 * MS, 40 * MS)),
        StandardDirection(MS, True, 4, 3, _harq(8 * MS, 40 * MS)),
        7 * MS,
        "scheduled",
        False,
    ),
    # TDD at 30 kHz: slots of 0.5 ms, of which the last of each five goes up (DDDSU). PDCP 3, RLC 3,
    # SDAP 1, MAC 3 B.
    "nr": Standard(
        StandardDirection(MS // 2, True, 7, 3, _harq(5 * MS, 25 * MS)),
        StandardDirection(5 * MS // 2, True, 7, 3, _harq(5 * MS, 25 * MS)),
        3 * MS,
        "scheduled",
        False,
    ),
}


def per_direction(value: Any) -> Any:
    """A value for both directions as a table."""
    return value if isinstance(value, dict) else {"down": value, "up": value}


class Rates(Table):
    down: Rate
    up: Rate


class SomeRates(Table):
    down: Rate | None = None
    up: Rate | None = None


class Spans(Table):
    down: Span | None = None
    up: Span | None = None


class Sizes(Table):
    down: Size | None = None
    up: Size | None = None


class Errors(Table):
    down: Probability | None = None
    up: Probability | None = None


def _backoff(value: Any) -> tuple[int, int]:
    good = isinstance(value, list | tuple) and len(value) == 2 and all(type(n) is int and 0 <= n <= 20 for n in value)
    if not good or value[0] > value[1]:
        raise InvalidValue(
            format_value(value), "two powers of two from 0 to 20, such as [3, 10]: windows of 8 to 1024 opportunities"
        )
    return value[0], value[1]


_BACKOFF = form.pair(form.whole(minimum=0, maximum=20))


class Contention(Table):
    """Requests in contention slots."""

    opportunities: Count = 4
    """In each interval."""
    backoff: Annotated[tuple[int, int], BeforeValidator(_backoff), _BACKOFF] = (3, 10)
    tries: Count = 16


class Repair(Table):
    """Retransmission of a damaged block: `attempts` transmissions, `delay` apart, then `rounds` of
    retransmission requests.
    """

    error: Annotated[Errors, BeforeValidator(per_direction), SINGLE] = Errors()
    attempts: Count | None = None
    delay: Time | None = None
    rounds: Annotated[int, int_field(0, "a whole number of further rounds, 0 or more")] | None = None
    round_delay: Time | None = None

    def over(self, standard: dict[str, Any] | None, direction: str) -> dict[str, Any] | None:
        """A standard's retransmission with the keys of this table replaced."""
        base = standard or {"error": 0.0, "attempts": 1, "delay_ps": 0, "rounds": 0, "round_delay_ps": 0}
        explicit = {
            "error": getattr(self.error, direction),
            "attempts": self.attempts,
            "delay_ps": self.delay,
            "rounds": self.rounds,
            "round_delay_ps": self.round_delay,
        }
        merged = {**base, **{key: value for key, value in explicit.items() if value is not None}}
        return merged if merged["error"] else None


class Grants(Table):
    """One channel.

    `rate` is shared by all stations; `cap` limits the mean rate of one after an initial `burst`.
    """

    kind: Annotated[str, choice_field("grants")]
    standard: Annotated[str, choice_field(*STANDARDS)]
    rate: Annotated[Rates, BeforeValidator(per_direction), Shorthand(form.RATE)]
    cap: Annotated[SomeRates, BeforeValidator(per_direction), Shorthand(form.RATE)] = SomeRates()
    burst: SomeBytes = 65536
    interval: Annotated[Spans, BeforeValidator(per_direction), Shorthand(form.TIME)] = Spans()
    grant_delay: Time | None = None
    requests: Annotated[str, choice_field("contention", "scheduled")] | None = None
    contention: Contention | None = None
    period: Span | None = None
    first_grant: SomeBytes | None = None
    piggyback: Flag = True
    many_requests: Flag | None = None
    layout: Annotated[str, choice_field("serial", "block")] | None = None
    packet_header: Annotated[Sizes, BeforeValidator(per_direction), Shorthand(form.SIZE)] = Sizes()
    block_header: Annotated[Sizes, BeforeValidator(per_direction), Shorthand(form.SIZE)] = Sizes()
    repair: Repair = Repair()
    handover: Roaming | None = None

    def model_post_init(self, _context: Any) -> None:
        for direction in DIRECTIONS:
            capacity = getattr(self.rate, direction) * self._direction(direction)["interval_ps"] // (8 * PS_PER_S)
            if capacity <= self._direction(direction)["block_header"]:
                raise InvalidValue(
                    f"{capacity} B in an interval",
                    "a rate and an interval that hold more than a block's header",
                    ("rate", direction),
                )
            if getattr(self.cap, direction) and self.burst <= self._direction(direction)["block_header"]:
                raise InvalidValue(f"{self.burst} B", "a burst of more than a block's header", ("burst",))
        if self._requests != "scheduled" and (self.period or self.first_grant):
            raise InvalidValue(
                "period or first_grant",
                'only with requests = "scheduled"',
                ("period" if self.period else "first_grant",),
            )
        if self._requests != "contention" and self.contention:
            raise InvalidValue("contention", 'only with requests = "contention"', ("contention",))
        if self._requests == "scheduled" and self._ask()["first_grant"] <= self._direction("up")["block_header"]:
            raise InvalidValue(
                f"{self._ask()['first_grant']} B", "a first grant of more than a block's header", ("first_grant",)
            )

    @property
    def _fixed(self) -> Standard:
        return STANDARDS[self.standard]

    @property
    def _requests(self) -> str:
        return self.requests or self._fixed.requests

    def _direction(self, direction: str) -> dict[str, Any]:
        fixed: StandardDirection = getattr(self._fixed, direction)
        cap = getattr(self.cap, direction)

        def explicit(table: Table, standard: int) -> int:
            value = getattr(table, direction)
            return standard if value is None else value

        return {
            "bps": getattr(self.rate, direction),
            "interval_ps": explicit(self.interval, fixed.interval),
            "block": fixed.block if self.layout is None else self.layout == "block",
            "packet_header": explicit(self.packet_header, fixed.packet_header),
            "block_header": explicit(self.block_header, fixed.block_header),
            "cap": {"bps": cap, "burst": self.burst} if cap else None,
            "repair": self.repair.over(fixed.repair, direction),
        }

    def _ask(self) -> dict[str, Any]:
        fixed = self._fixed
        if self._requests == "scheduled":
            first = self.first_grant or fixed.first_grant
            return {"kind": "scheduled", "period_ps": self.period or fixed.period, "first_grant": first}
        given = self.contention or Contention.model_validate(fixed.contention)
        return {
            "kind": "contention",
            "opportunities": given.opportunities,
            "backoff": list(given.backoff),
            "tries": given.tries,
        }

    def plan(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "down": self._direction("down"),
            "up": self._direction("up"),
            "ask": self._ask(),
            "grant_delay_ps": self._fixed.grant_delay if self.grant_delay is None else self.grant_delay,
            "piggyback": self.piggyback,
            "many_requests": self._fixed.many_requests if self.many_requests is None else self.many_requests,
        }

    def nominal_bps(self, direction: str) -> int:
        """Rate of one station that always has 1500-byte packets, in bits per second, without the
        initial burst.
        """
        return granted_bps(self._direction(direction))


def granted_bps(direction: dict[str, Any], packet: int = PACKET) -> int:
    """IP rate of one station with packets of one size in a plan's direction, in bits per second."""
    block: float = direction["bps"] * direction["interval_ps"] / (8 * PS_PER_S)
    useful: float = (1 - direction["block_header"] / block) * packet / (packet + direction["packet_header"])
    repair = direction["repair"]
    sent: float = 1 / (1 - repair["error"]) if repair and repair["error"] < 1 else 1.0
    channel: float = direction["bps"] / sent
    cap: float = direction["cap"]["bps"] if direction["cap"] else channel
    return max(1, round(min(channel, cap) * useful))
