"""An 802.16 cell: base station and stations on one TDD channel (docs/models/wimax.md)."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

from pydantic import BeforeValidator, SerializerFunctionWrapHandler, model_serializer

from ackclock.errors import InvalidValue, format_value
from ackclock.input.form import Form, FormValidator, pair, whole, words
from ackclock.input.link.roaming import Roaming
from ackclock.input.link.wimax_station import ALL, OFDM, OFDMA, Connection, Station, frames, modulation
from ackclock.input.quantity_fields import SomeBytes, Span, Time
from ackclock.input.schema import Count, Flag, Table, choice_field, int_field, table_array

Plan = dict[str, Any]
US = 10**6
MS = 10**9

_FREQUENCY = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(kHz|MHz|GHz)\s*", re.ASCII)
_RATIO = re.compile(r"\s*(\d{1,4})\s*:\s*(\d{1,4})\s*", re.ASCII)
_HERTZ = {"kHz": 10**3, "MHz": 10**6, "GHz": 10**9}


def hertz(text: str) -> Fraction:
    match = _FREQUENCY.fullmatch(text)
    return Fraction(match[1]) * _HERTZ[match[2]] if match else Fraction(0)


def _channel(value: Any) -> str:
    if not isinstance(value, str) or not 10**6 <= hertz(value) <= 10**8 or hertz(value).denominator != 1:
        raise InvalidValue(format_value(value), 'a channel from 1 to 100 MHz, such as "7 MHz"')
    return value


def _ratio(value: Any) -> str:
    match = _RATIO.fullmatch(value) if isinstance(value, str) else None
    if not match or not int(match[1]) or not int(match[2]):
        raise InvalidValue(format_value(value), 'downlink to uplink, such as "3:1"')
    return f"{int(match[1])}:{int(match[2])}"


def _pair(low: int, allowed: str) -> BeforeValidator:
    def take(value: Any) -> tuple[int, int]:
        if (
            not isinstance(value, list | tuple)
            or len(value) != 2
            or not all(type(n) is int and low <= n <= 9999 for n in value)
        ):
            raise InvalidValue(format_value(value), allowed)
        return value[0], value[1]

    return FormValidator(take, form=pair(whole(minimum=low, maximum=9999)))


_CHANNEL = Form({"type": "string", "pattern": r"^\s*\d{1,9}(\.\d{1,9})?\s*(kHz|MHz|GHz)\s*$"})
_RATIOS = Form({"type": "string", "pattern": r"^\s*\d{1,4}\s*:\s*\d{1,4}\s*$"})
Small = Annotated[int, int_field(0, "a whole number, 0 or more")]
Symbols = Annotated[tuple[int, int], _pair(1, "symbols down and up, such as [27, 15]")]
Exponents = Annotated[tuple[int, int], _pair(0, "two exponents, such as [2, 6]")]


class Arq(Table):
    """ARQ: a lost block is retransmitted after `timer`, `attempts` transmissions in all (IEEE
    802.16-2004, 6.3.4).
    """

    block: SomeBytes = 64
    window: Annotated[int, int_field(1, "a window from 1 to 1024 blocks")] = 1024
    timer: Span = 20 * MS
    attempts: Count = 8

    def plan(self, frame: int) -> Plan:
        return {"kind": "arq", "block": self.block, "window": self.window, "timer_frames": frames(self.timer, frame),
                "attempts": self.attempts}  # fmt: skip


class Harq(Table):
    """HARQ: a damaged burst is retransmitted after `feedback`, `attempts` transmissions in all
    (IEEE 802.16e-2005, 6.3.17).
    """

    attempts: Count = 4
    feedback: Span = 10 * MS

    def plan(self, frame: int) -> Plan:
        return {"kind": "harq", "attempts": self.attempts, "feedback_frames": frames(self.feedback, frame)}


class Wimax(Station):
    """A cell.

    Defaults are those of fixed 802.16 OFDM; `phy = "ofdma"` selects those of mobile 802.16.
    """

    kind: Annotated[str, choice_field("wimax")]
    channel: Annotated[str, BeforeValidator(_channel), _CHANNEL]
    phy: Annotated[str, choice_field("ofdm", "ofdma")] = "ofdm"
    fft: Annotated[int, int_field(1, "128, 512, 1024 or 2048")] = 1024
    cyclic_prefix: Annotated[str, choice_field("1/4", "1/8", "1/16", "1/32")] | None = None
    frame: Span = 5 * MS
    dl_ul: Annotated[str, BeforeValidator(_ratio), _RATIOS] | None = None
    symbols: Symbols | None = None
    ttg: Time | None = None
    rtg: Time | None = None
    preamble: Small | None = None
    map_modulation: Annotated[str, BeforeValidator(modulation), words(*ALL)] | None = None
    map_repetition: Count | None = None
    burst_gap: Small | None = None
    uplink_preamble: Small = 0
    crc: Flag = True
    contention: Small = 5
    contention_layout: Annotated[str, choice_field("request-only", "whole", "fractional")] = "request-only"
    contention_modulation: Annotated[str, BeforeValidator(modulation), words(*ALL)] = "bpsk-1/2"
    contention_columns: Small = 1
    backoff: Exponents = (2, 6)
    request_tries: Count = 16
    t16: Span = 100 * MS
    grant_frames: Count = 2
    piggyback: Flag = True
    least_grant: SomeBytes | None = None
    bundling: Flag = True
    arq: Arq | None = None
    harq: Harq | None = None
    handover: Roaming | None = None
    stations: Annotated[tuple[Station, ...], table_array("a list of stations' own keys")] = ()
    connections: Annotated[
        tuple[Connection, ...], table_array("a list of connections, each with traffic and service")
    ] = ()

    def model_post_init(self, _context: Any) -> None:
        if self.dl_ul and self.symbols:
            raise InvalidValue.problem("dl_ul and symbols both divide the frame", "leave one of them out", ("symbols",))
        if self.arq and self.harq:
            raise InvalidValue.problem("arq and harq exclude each other", "leave one of them out", ("harq",))
        if self.handover and self.connections:
            raise InvalidValue.problem(
                "handover and connections exclude each other", "leave one of them out", ("connections",)
            )
        known = OFDM if self.phy == "ofdm" else OFDMA
        for key in ("modulation", "map_modulation"):
            value = getattr(self, key)
            for name in value.values() if isinstance(value, dict) else [value]:
                if name and name not in known:
                    raise InvalidValue(format_value(name), f"one of {self.phy}'s: {', '.join(known)}", (key,))
        _ = self._bps  # raises if the cell has no capacity

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The keys as a file has them, without `fft` for OFDM: it has 256 subcarriers."""
        keys: dict[str, Any] = write(self)
        if self.phy == "ofdm":
            keys.pop("fft", None)
        return keys

    @cached_property
    def _bps(self) -> tuple[int, int]:
        from ackclock import _native

        cell = {key: value for key, value in self.plan().items() if key != "kind"}
        try:
            down, up = _native.wimax_bps(json.dumps(cell))
        except _native.InputError as error:
            raise InvalidValue(error.statement, "a cell in which every direction has room for data") from None
        return down, up

    def nominal_bps(self, direction: str) -> int:
        """Rate of a single station, headers included, in bits per second."""
        return self._bps[0 if direction == "down" else 1]

    def _technique(self) -> Plan:
        """The keys with defaults by PHY."""
        ofdm = self.phy == "ofdm"
        # 10 physical slots at 7 MHz, and the profile of 10 MHz.
        gaps = (5 * US, 5 * US) if ofdm else (105_700_000, 60 * US)
        return {
            "fft": 256 if ofdm else self.fft,
            "prefix": int((self.cyclic_prefix or "1/8").split("/")[1]),
            "ttg_ps": gaps[0] if self.ttg is None else self.ttg,
            "rtg_ps": gaps[1] if self.rtg is None else self.rtg,
            "preamble": (3 if ofdm else 1) if self.preamble is None else self.preamble,
            "map_modulation": self.map_modulation or ("16qam-1/2" if ofdm else "qpsk-1/2"),
            "map_repetition": self.map_repetition or (1 if ofdm else 4),
            "burst_gap": (1 if ofdm else 0) if self.burst_gap is None else self.burst_gap,
        }

    def _split(self) -> Plan:
        if self.symbols:
            return {"kind": "symbols", "down": self.symbols[0], "up": self.symbols[1]}
        down, up = (self.dl_ul or "3:1").split(":")
        return {"kind": "ratio", "down": int(down), "up": int(up)}

    def _contention(self) -> Plan:
        layout: Plan = {"kind": self.contention_layout}
        if self.phy == "ofdma":
            layout = {"kind": "columns", "columns": self.contention_columns}
        elif self.contention_layout != "request-only":
            layout["modulation"] = self.contention_modulation
        return {
            "opportunities": self.contention,
            "layout": layout,
            "backoff": list(self.backoff),
            "tries": self.request_tries,
        }

    def _stations(self) -> list[Plan]:
        """The stations of the list; stations beyond its end have the cell's values."""
        described = [one.over(self) for one in self.stations]
        return [one.station_plan("64qam-3/4", self.frame) for one in [*described, self]]

    def plan(self) -> Plan:
        repair = self.arq or self.harq
        repaired = repair.plan(self.frame) if repair else None
        return {
            "kind": self.kind,
            "channel_hz": int(hertz(self.channel)),
            "frame_ps": self.frame,
            "split": self._split(),
            "uplink_preamble": self.uplink_preamble,
            "crc": self.crc,
            "contention": self._contention(),
            "grant_frames": self.grant_frames,
            "patience_frames": frames(self.t16, self.frame),
            "piggyback": self.piggyback,
            "least_grant_bytes": self.least_grant or 0,
            "bundling": self.bundling,
            "repair": {"down": repaired, "up": repaired},
            "stations": self._stations(),
            "connections": [connection.plan(self.frame) for connection in self.connections],
            **self._technique(),
        }
