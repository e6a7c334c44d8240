"""A chain of half-duplex packet radios with RTS/CTS, after Metricom's Ricochet (docs/models/packet-radio.md)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, format_value
from ackclock.input.link.frame_error import FrameError, both
from ackclock.input.quantity_fields import Rate, SomeBytes, Span, Time
from ackclock.input.schema import Count, Flag, Table, choice_field, int_field
from ackclock.input.units import rate_bps, show_time, size_bytes, time_ps

PS_PER_S = 10**12
MOST_HOPS = 64
LONGEST_PART = 65535


def _hops(value: int) -> int:
    if value > MOST_HOPS:
        raise InvalidValue(format_value(value), f"1 to {MOST_HOPS} hops")
    return value


class PacketRadio(Table):
    """Gateway, relays with one radio each, and a radio for each client.

    Constants with "Table 4" are of Balakrishnan, Padmanabhan and Katz 1997; those with "script" are of the MAC its authors published with
    ns-2, where RTS and CTS sizes are called arbitrary; the paper states neither.
    """

    kind: Annotated[str, choice_field("packet-radio")]
    hops: Annotated[Count, BeforeValidator(_hops)] = 1
    """Wireless hops between gateway and client (Table 4: 1 to 3)."""
    rate: Rate = rate_bps("100 kb/s")
    """Table 4."""
    latency: Time = time_ps("10 ms")
    """From the end of a frame until its packet is out of the receiving radio, which is free meanwhile (Table 4, fixed link latency)."""
    transmit_to_receive: Time = time_ps("11.125 ms")
    """Table 4, T_TR."""
    receive_to_transmit: Time = time_ps("13.25 ms")
    """Table 4, T_RT."""
    rts: SomeBytes = size_bytes("40 B")
    """Script."""
    cts: SomeBytes = size_bytes("40 B")
    """Script."""
    header: SomeBytes = size_bytes("16 B")
    """Script: the link header of a data frame."""
    link_ack: SomeBytes = size_bytes("16 B")
    """A header alone."""
    backoff: Span = time_ps("20 ms")
    """Script: the base of the random exponential back-off."""
    backoff_cap: Span | None = None
    """The longest wait. Left out it is the longest first wait, 6 times the base, so that waits do not grow: section 5.1 has a radio back off
    "for a random amount of time". The script doubles without a bound."""
    defer: Annotated[str, choice_field("back-off", "wait")] = "back-off"
    """What a frame does whose own radio is busy: it backs off as if its RTS were not answered (script), or goes when the radio is free."""
    nack_cts: Flag = False
    """Section 5.1 allows a busy radio to refuse at once; the script keeps silent."""
    piggyback: Flag = True
    """Section 5.3.1: link ACKs ride on what the peer sends next, RTS and CTS included, and take no time of their own."""
    ack_timeout: Time = time_ps("100 ms")
    """ns-2's link layer; the paper says "a timeout"."""
    tries: Count = 8
    """ns-2's link layer: times a frame is sent before its packet is dropped."""
    relay_queue: Annotated[int, int_field(0, "a whole number, 0 or more")] = 10
    """Packets that wait at a relay in each direction (Table 4: radio queue); the hop's `queue` is the entry radios' own."""
    frame_error: Annotated[FrameError, BeforeValidator(both)] = FrameError()
    """The paper's simulations have none."""

    def model_post_init(self, _context: Any) -> None:
        for key in ("rts", "cts", "header", "link_ack"):
            if getattr(self, key) > LONGEST_PART:
                raise InvalidValue(f"{getattr(self, key)} B", f"at most {LONGEST_PART} B", (key,))
        if self.backoff_cap is not None and self.backoff_cap <= 2 * self.backoff + 1:
            raise InvalidValue(show_time(self.backoff_cap), "a back-off cap above twice the base", ("backoff_cap",))

    def plan(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "hops": self.hops,
            "bps": self.rate,
            "latency_ps": self.latency,
            "to_receive_ps": self.transmit_to_receive,
            "to_send_ps": self.receive_to_transmit,
            "rts_bytes": self.rts,
            "cts_bytes": self.cts,
            "header_bytes": self.header,
            "ack_bytes": self.link_ack,
            "backoff_base_ps": self.backoff,
            "backoff_cap_ps": 6 * self.backoff if self.backoff_cap is None else self.backoff_cap,
            "defer_by_backoff": self.defer == "back-off",
            "nack_cts": self.nack_cts,
            "piggyback": self.piggyback,
            "ack_timeout_ps": self.ack_timeout,
            "tries": self.tries,
            "relay_packets": self.relay_queue,
            "frame_error": {"down": self.frame_error.down, "up": self.frame_error.up},
        }

    def datagram_bps(self, size: int) -> float:
        """What datagrams of `size` bytes get over one hop in one direction, in bits per second: each waits for RTS, CTS and its frame with
        a turn between them and, where link ACKs travel alone, for one of those and two more turns (docs/models/packet-radio.md)."""
        turn = max(self.receive_to_transmit, self.transmit_to_receive)
        turns = 2 * turn if self.piggyback else self.receive_to_transmit + 3 * turn
        sent = self.rts + self.cts + self.header + size + (0 if self.piggyback else self.link_ack)
        return size * 8 * PS_PER_S / (turns + sent * 8 * PS_PER_S / self.rate)

    def nominal_bps(self, way: str) -> int:
        """What 1000-byte packets get at best in either direction, in bits per second."""
        return max(1, round(self.datagram_bps(1000)))
