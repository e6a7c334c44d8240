"""What a comparison varies: the congestion control, the socket buffers and the delayed-ACK setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from ackclock.errors import InputError

DEFAULT_BUFFERS = ("16 KiB", "64 KiB", "256 KiB", "auto")
"""From one that starves most links of today to what the host chooses by itself."""


@dataclass(frozen=True, slots=True, order=True)
class Configuration:
    """One choice to compare. Buffers are quantities as the scenario file writes them, or ``auto`` (the host's own
    rule).
    """

    variant: str
    send_buffer: str
    receive_buffer: str
    delayed_ack: bool

    @property
    def label(self) -> str:
        """A short name, unique within a comparison: ``cubic, 64 KiB, delayed ACK``."""
        sockets = self.send_buffer
        if self.receive_buffer != self.send_buffer:
            sockets = f"{self.send_buffer} send / {self.receive_buffer} receive"
        if sockets == "auto":
            sockets = "auto buffers"
        return f"{self.variant}, {sockets}, {'delayed ACK' if self.delayed_ack else 'ACK per segment'}"

    @property
    def params(self) -> dict[str, object]:
        """The choice as the JSON documents show it."""
        return {
            "variant": self.variant,
            "send_buffer": self.send_buffer,
            "receive_buffer": self.receive_buffer,
            "delayed_ack": self.delayed_ack,
        }

    @property
    def tcp_keys(self) -> dict[str, object]:
        """The choice as sweep parameters of a scenario."""
        return {f"tcp.{key}": value for key, value in self.params.items()}


def configurations(
    variants: Sequence[str], buffers: Sequence[str | tuple[str, str]], delayed_ack: Sequence[bool]
) -> list[Configuration]:
    """Every combination, in the order given. A buffer is one quantity for both sockets or a (send, receive) pair.

    Raises:
        InputError: one of the lists is empty or names something twice.
    """
    for name, given in (("variants", variants), ("buffers", buffers), ("delayed_ack", delayed_ack)):
        if not given:
            raise InputError("nothing to compare", "at least one choice", key=name)
        if len(set(given)) != len(given):
            raise InputError("the same choice twice", "different choices", key=name)
    pairs = [(b, b) if isinstance(b, str) else b for b in buffers]
    return [Configuration(variant, send, receive, ack) for variant, (send, receive), ack in product(variants, pairs, delayed_ack)]
