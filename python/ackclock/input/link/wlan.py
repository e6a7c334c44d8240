"""An 802.11 network: an access point and stations that contend for one channel
(docs/models/wlan.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainSerializer

from ackclock.errors import InvalidValue, format_value
from ackclock.input import form
from ackclock.input.link.frame_error import SINGLE, FrameError, both
from ackclock.input.link.roaming import Roaming
from ackclock.input.quantity_fields import Rate, SomeBytes, Span, Time
from ackclock.input.schema import Count, Table, choice_field, int_field
from ackclock.input.units import show_size, size_bytes

PS_PER_S = 10**12
US = 10**6
MAX_SLOTS = 32767
MAX_FRAMES = 1024
ACK, BLOCK_ACK = 14, 32
SERVICE_AND_TAIL = 22


@dataclass(frozen=True)
class Standard:
    """A standard's constants; times in microseconds, rates in Mb/s.

    IEEE 802.11-2012, tables 16-2, 17-5, 18-17, 19-8, 20-25.
    """

    rate: int
    basic_rate: int
    lowest_rate: int
    slot: int
    sifs: int
    difs: int
    cw: tuple[int, int]
    preamble: int
    control_preamble: int
    symbol: bool
    extension: int
    header: int
    aggregate: int


STANDARDS = {
    # DSSS and CCK; DIFS = SIFS + 2 slots. 28 bytes of MAC header and FCS, 8 of LLC/SNAP.
    "802.11b": Standard(11, 1, 1, 20, 10, 50, (31, 1023), 192, 192, False, 0, 36, 0),
    # ERP-OFDM without stations of 802.11b, so with the short slot.
    "802.11g": Standard(54, 24, 6, 9, 10, 28, (15, 1023), 20, 20, True, 6, 36, 0),
    # HT mixed format at 5 GHz, one stream, 20 MHz, long guard interval; AIFS of best effort; QoS
    # MAC header.
    "802.11n": Standard(65, 24, 6, 9, 16, 43, (15, 1023), 36, 20, True, 0, 38, 65535),
    # VHT, one stream, 80 MHz, long guard interval.
    "802.11ac": Standard(390, 24, 6, 9, 16, 43, (15, 1023), 40, 20, True, 0, 38, 1048575),
}
PREAMBLES = {"long": 192 * US, "short": 96 * US, "72-bit": 120 * US}
"""Preamble and header of 802.11b: 144 + 48 bits at 1 Mb/s; 72 at 1 and 48 at 2 Mb/s; 72 + 48 at 1
Mb/s, as ns-2 with a preamble of 72.
"""


def _windows(value: Any) -> tuple[int, int]:
    good = (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(type(n) is int and 1 <= n <= MAX_SLOTS for n in value)
    )
    if not good or value[0] > value[1]:
        raise InvalidValue(format_value(value), f"CWmin and CWmax in slots from 1 to {MAX_SLOTS}, such as [31, 1023]")
    return value[0], value[1]


def _threshold(value: Any) -> int | None:
    return None if value in ("never", None) else size_bytes(value)


def _written_threshold(value: int | None) -> str | None:
    return None if value is None else show_size(value)


def _frames(value: int) -> int:
    if value > MAX_FRAMES:
        raise InvalidValue(format_value(value), f"1 to {MAX_FRAMES} frames")
    return value


_SLOTS = form.pair(form.whole(minimum=1, maximum=MAX_SLOTS))
_RTS = form.either(form.words("never"), form.SIZE)


class Aggregate(Table):
    """A-MPDU: aggregation of frames to one receiver (IEEE 802.11-2012, 9.12)."""

    frames: Annotated[Count, AfterValidator(_frames), form.whole(minimum=1, maximum=MAX_FRAMES)] = 64
    bytes: SomeBytes | None = None
    time: Span = 5484 * US


class Wlan(Table):
    """A network. Defaults are the standard's."""

    kind: Annotated[str, choice_field("wlan")]
    standard: Annotated[str, choice_field(*STANDARDS)] = "802.11b"
    rate: Rate | None = None
    basic_rate: Rate | None = None
    preamble: Annotated[str, choice_field(*PREAMBLES)] | None = None
    guard_interval: Annotated[str, choice_field("400 ns", "800 ns")] = "800 ns"
    streams: Annotated[int, int_field(1, "1 to 4 spatial streams")] = 1
    slot: Span | None = None
    sifs: Time | None = None
    difs: Time | None = None
    eifs: Time | None = None
    cw: Annotated[tuple[int, int], BeforeValidator(_windows), _SLOTS] | None = None
    header: SomeBytes | None = None
    rts_threshold: Annotated[int | None, BeforeValidator(_threshold), PlainSerializer(_written_threshold), _RTS] = None
    short_retries: Count = 7
    long_retries: Count = 4
    aggregate: Aggregate | None = None
    frame_error: Annotated[FrameError, BeforeValidator(both), SINGLE] = FrameError()
    handover: Roaming | None = None
    ap_queue: Annotated[str, choice_field("per-client", "shared")] = "per-client"

    def model_post_init(self, _context: Any) -> None:
        if self.preamble and self.standard != "802.11b":
            raise InvalidValue(format_value(self.preamble), "a preamble only with 802.11b", ("preamble",))
        if self.aggregate and not self._fixed.aggregate:
            raise InvalidValue(self.standard, "aggregates only with 802.11n and 802.11ac", ("aggregate",))
        if self.streams > 4 or (self.streams > 1 and not self._fixed.aggregate):
            raise InvalidValue(format_value(self.streams), "1 to 4 spatial streams, and 1 before 802.11n", ("streams",))
        if self.aggregate and self.aggregate.bytes and self.aggregate.bytes > self._fixed.aggregate:
            maximum = show_size(self._fixed.aggregate)
            raise InvalidValue(
                show_size(self.aggregate.bytes), f"at most {maximum} with {self.standard}", ("aggregate", "bytes")
            )
        if self.handover and self.ap_queue == "shared":
            raise InvalidValue(
                'ap_queue = "shared" and handover',
                "only one of them: a queue for all does not change cells",
                ("ap_queue",),
            )
        if self.header and self.header > 1000:
            raise InvalidValue(show_size(self.header), "a header of at most 1000 B", ("header",))

    @property
    def _fixed(self) -> Standard:
        return STANDARDS[self.standard]

    def _data(self) -> dict[str, int]:
        fixed = self._fixed
        guard = 400_000 if self.guard_interval == "400 ns" else 800_000
        # A long training field of 4 us for each further stream; three streams need four.
        training = {1: 0, 2: 4, 3: 12, 4: 12}[self.streams]
        return {
            "bps": self.rate or fixed.rate * 10**6,
            "preamble_ps": PREAMBLES[self.preamble or "long"] if not fixed.symbol else (fixed.preamble + training) * US,
            "symbol_ps": 3_200_000 + guard if fixed.symbol else 0,
            "extension_ps": fixed.extension * US,
        }

    def _control(self, bps: int) -> dict[str, int]:
        fixed = self._fixed
        return {
            "bps": bps,
            "preamble_ps": PREAMBLES[self.preamble or "long"] if not fixed.symbol else fixed.control_preamble * US,
            "symbol_ps": 4 * US if fixed.symbol else 0,
            "extension_ps": fixed.extension * US,
        }

    def _spaces(self) -> dict[str, int]:
        """EIFS is SIFS, an ACK at the lowest rate and DIFS (IEEE 802.11-2012, 9.3.7)."""
        fixed = self._fixed
        slot = fixed.slot * US if self.slot is None else self.slot
        sifs = fixed.sifs * US if self.sifs is None else self.sifs
        difs = fixed.difs * US if self.difs is None else self.difs
        longest = air_ps(self._control(fixed.lowest_rate * 10**6), ACK)
        eifs = sifs + longest + difs if self.eifs is None else self.eifs
        return {"slot_ps": slot, "sifs_ps": sifs, "difs_ps": difs, "eifs_ps": eifs}

    def _aggregate(self) -> dict[str, int] | None:
        if not self._fixed.aggregate:
            return None
        given = self.aggregate or Aggregate()
        return {"frames": given.frames, "bytes": given.bytes or self._fixed.aggregate, "air_ps": given.time}

    def plan(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            **self._spaces(),
            "cw": list(self.cw or self._fixed.cw),
            "data": self._data(),
            "control": self._control(self.basic_rate or self._fixed.basic_rate * 10**6),
            "header_bytes": self.header or self._fixed.header,
            "rts_threshold": self.rts_threshold,
            "short_retries": self.short_retries,
            "long_retries": self.long_retries,
            "aggregate": self._aggregate(),
            "frame_error": {"down": self.frame_error.down, "up": self.frame_error.up},
            **({"shared_queue": True} if self.ap_queue == "shared" else {}),
        }

    def nominal_bps(self, direction: str) -> int:
        """Rate of a single sender of 1500-byte packets, with the largest aggregates and no RTS, in
        bits per second.
        """
        plan, packet, count = self.plan(), 1500, 1
        data, maximum = plan["data"], plan["aggregate"]
        each = plan["header_bytes"] + packet
        if maximum:
            each = (each + 7) // 4 * 4
            count = max(1, min(maximum["frames"], maximum["bytes"] // each))
            while count > 1 and air_ps(data, count * each) > maximum["air_ps"]:
                count -= 1
        answer = plan["sifs_ps"] + air_ps(plan["control"], BLOCK_ACK if maximum else ACK)
        cycle: float = plan["difs_ps"] + plan["cw"][0] * plan["slot_ps"] / 2 + air_ps(data, count * each) + answer
        return max(1, round(count * packet * 8 * PS_PER_S / cycle))


def air_ps(form: dict[str, int], size: int) -> int:
    """Duration of a frame of `size` bytes with its preamble, in whole microseconds or symbols."""
    if not form["symbol_ps"]:
        body = -(-size * 8 * PS_PER_S // form["bps"] // US) * US
    else:
        bits = max(1, round(form["bps"] * form["symbol_ps"] / PS_PER_S))
        body = -(-(SERVICE_AND_TAIL + 8 * size) // bits) * form["symbol_ps"]
    return form["preamble_ps"] + body + form["extension_ps"]
