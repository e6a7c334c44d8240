"""A chain of half-duplex packet radios with RTS/CTS, after Metricom's Ricochet
(docs/models/packet-radio.md).
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from ackclock.errors import InvalidValue, format_value
from ackclock.input import form
from ackclock.input.link.frame_error import SINGLE, FrameError, both
from ackclock.input.quantity_fields import Rate, SomeBytes, Span, Time
from ackclock.input.schema import Count, Flag, Table, choice_field, int_field
from ackclock.input.units import rate_bps, show_time, size_bytes, time_ps

PS_PER_S = 10**12
MAX_HOPS = 64
LONGEST_PART = 65535


def _hops(value: int) -> int:
    if value > MAX_HOPS:
        raise InvalidValue(format_value(value), f"1 to {MAX_HOPS} hops")
    return value


class PacketRadio(Table):
    """Gateway, relays with one radio each, and a radio for each client.

    "Table 4" is that of Balakrishnan, Padmanabhan and Katz 1997; "script" is the MAC that its
    authors published with ns-2, which calls the sizes of RTS and CTS arbitrary. The paper has
    neither.
    """

    kind: Annotated[str, choice_field("packet-radio")]
    hops: Annotated[Count, AfterValidator(_hops), form.whole(minimum=1, maximum=MAX_HOPS)] = 1
    """Wireless hops between gateway and client (Table 4: 1 to 3)."""
    rate: Rate = rate_bps("100 kb/s")
    """Table 4."""
    latency: Time = time_ps("10 ms")
    """From the end of a frame to the release of its packet by the receiving radio, which is idle
    meanwhile (Table 4, fixed link latency).
    """
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
    """Maximum back-off. Default: the maximum first back-off, 6 times the base, so that back-offs do
    not grow: section 5.1 has a radio back off "for a random amount of time". The script doubles
    without a limit."""
    defer: Annotated[str, choice_field("back-off", "wait")] = "back-off"
    """A frame for a busy radio: back off as if its RTS had no answer (script), or wait for the
    radio.
    """
    nack_cts: Flag = False
    """Section 5.1 allows a busy radio to answer with a refusal; the script sends nothing."""
    piggyback: Flag = True
    """Section 5.3.1: link ACKs are piggybacked on the peer's next frame, RTS and CTS included, and
    take no time of their own.
    """
    ack_timeout: Time = time_ps("100 ms")
    """ns-2's link layer; the paper says "a timeout"."""
    tries: Count = 8
    """ns-2's link layer: transmissions of a frame before its packet is dropped."""
    relay_queue: Annotated[int, int_field(0, "a whole number, 0 or more")] = 10
    """Packets that wait at a relay in each direction (Table 4: radio queue); the hop's `queue` is
    the entry radios' own.
    """
    frame_error: Annotated[FrameError, BeforeValidator(both), SINGLE] = FrameError()
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
        """Rate of datagrams of `size` bytes over one hop in one direction, in bits per second. Each
        takes RTS, CTS, its frame and the turnarounds between them; without piggybacking also a link
        ACK and two turnarounds (docs/models/packet-radio.md)."""
        turnaround = max(self.receive_to_transmit, self.transmit_to_receive)
        turnarounds = 2 * turnaround if self.piggyback else self.receive_to_transmit + 3 * turnaround
        sent = self.rts + self.cts + self.header + size + (0 if self.piggyback else self.link_ack)
        return size * 8 * PS_PER_S / (turnarounds + sent * 8 * PS_PER_S / self.rate)

    def nominal_bps(self, direction: str) -> int:
        """Maximum rate of 1000-byte packets in either direction, in bits per second."""
        return max(1, round(self.datagram_bps(1000)))
