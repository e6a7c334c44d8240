"""Configurations of a comparison: congestion control, socket buffers, delayed ACKs, queues and ACK
techniques.

A buffer is a size of payload ("64 KiB"), "auto" (the host's rule), or "auto:24 MiB": the host's
autotuning with another maximum, the third value of Linux's tcp_wmem and tcp_rmem. "path" is 2 BDP
of the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, cast

from ackclock.arguments.compare import Buffer
from ackclock.comparison.ack_path import (
    HOST,
    check_policies,
    check_queues,
    check_techniques,
    technique_keys,
)
from ackclock.comparison.transports import STACK, TCP, check_transports, has_no_control, transport_keys
from ackclock.errors import InputError
from ackclock.input.link.bottleneck import AS_IS, Bottlenecks
from ackclock.input.scenario.draft import Point

if TYPE_CHECKING:
    from ackclock.documents.compare import Configuration as ConfigurationKeys

AUTO = "auto"
PATH = "path"
UP_TO = f"{AUTO}:"
"""What precedes the maximum of autotuning."""


def buffer_keys(end: str, buffer: str) -> dict[str, str]:
    """A buffer as sweep parameters; `end` is "send" or "receive"."""
    if not buffer.startswith(UP_TO):
        return {f"tcp.{end}_buffer": buffer}
    return {f"tcp.{end}_buffer": AUTO, f"tcp.{end}_limit": maximum(buffer)}


def maximum(buffer: str) -> str:
    """The maximum in a buffer "auto:24 MiB", as text."""
    return buffer.removeprefix(UP_TO).strip()


def buffers_in_words(send: str, receive: str) -> str:
    """Socket buffers in a sentence: "automatic socket buffers up to 24 MiB"."""
    if send != receive:
        return f"{_one(send)} send and {_one(receive)} receive buffers"
    if send == AUTO:
        return "the host's automatic socket buffers"
    if send.startswith(UP_TO):
        return f"automatic socket buffers up to {maximum(send)}"
    return f"{send} socket buffers"


def _one(buffer: str) -> str:
    if buffer.startswith(UP_TO):
        return f"automatic (up to {maximum(buffer)})"
    return "automatic" if buffer == AUTO else buffer


@dataclass(frozen=True, slots=True, order=True)
class Configuration:
    """One configuration. Buffers are quantities as in a scenario file, or ``auto`` (the host's
    rule). ``queue`` is the kind of queue at the data's bottleneck, ``ack_policy`` the policy at the
    ACKs' bottleneck ("link": that of the link), ``ack_technique`` that of the hosts.
    ``transport`` is "tcp" or "quic", with which buffers and ACKs are the QUIC stack's.
    """

    variant: str
    send_buffer: str
    receive_buffer: str
    delayed_ack: bool
    queue: str = AS_IS
    ack_policy: str = AS_IS
    ack_technique: str = HOST
    transport: str = TCP

    @property
    def label(self) -> str:
        """A short name, unique within a comparison: ``cubic, 64 KiB, delayed ACK``."""
        sockets = self.send_buffer
        if self.receive_buffer != self.send_buffer:
            sockets = f"{self.send_buffer} send / {self.receive_buffer} receive"
        if sockets == "auto":
            sockets = "auto buffers"
        elif sockets.startswith(UP_TO):
            sockets = f"auto buffers up to {maximum(sockets)}"
        of_path = "".join(f", {text}" for text in self.path_differences())
        if self.transport != TCP:
            return f"{self.variant}{of_path}"
        return f"{self.variant}, {sockets}, {'delayed ACK' if self.delayed_ack else 'ACK per segment'}{of_path}"

    def path_differences(self) -> list[str]:
        """The differences from the link and the host, a few words each."""
        words = [STACK] if self.transport != TCP else []
        if self.queue != AS_IS:
            words.append(f"{self.queue} queue")
        if self.ack_policy != AS_IS:
            words.append(f"ACKs: {self.ack_policy}")
        if self.ack_technique != HOST:
            words.append(f"hosts: {self.ack_technique}")
        return words

    @property
    def params(self) -> ConfigurationKeys:
        """The configuration in the JSON documents."""
        return cast("ConfigurationKeys", asdict(self))

    def point(self, path: Bottlenecks | None) -> Point:
        """The configuration as sweep parameters of the scenario; `path` is None where no
        configuration varies its queues.
        """
        return {
            "tcp.variant": self.variant,
            **buffer_keys("send", self.send_buffer),
            **buffer_keys("receive", self.receive_buffer),
            "tcp.delayed_ack": self.delayed_ack,
            **technique_keys(self.ack_technique),
            **transport_keys(self.transport),
            **(path.keys(self.queue, self.ack_policy) if path else {}),
        }


def configurations(
    variants: Sequence[str],
    buffers: Sequence[Buffer],
    delayed_ack: Sequence[bool],
    queues: Sequence[str] = (AS_IS,),
    ack_policies: Sequence[str] = (AS_IS,),
    ack_techniques: Sequence[str] = (HOST,),
    transports: Sequence[str] = (TCP,),
) -> list[Configuration]:
    """Every combination, in the order given. A buffer is one quantity for both sockets or a (send,
    receive) pair. Over QUIC a variant has the first buffer, setting of ACKs and technique alone,
    and `dctcp`, `prague` and `lp` are left out.

    Raises:
        InputError: one of the lists is empty, names something twice or what does not exist.
    """
    given: dict[str, Sequence[object]] = {
        "variants": variants,
        "buffers": buffers,
        "delayed_ack": delayed_ack,
        "queue": queues,
        "ack_policy": ack_policies,
        "ack": ack_techniques,
        "transports": transports,
    }
    for name, choices in given.items():
        if not choices:
            raise InputError("no choice", "one or more, with commas between", key=name)
        if len(set(choices)) != len(choices):
            twice = next(one for number, one in enumerate(choices) if one in list(choices)[:number])
            raise InputError(f"{twice} twice", "different choices", key=name)
    check_queues(queues)
    check_policies(ack_policies)
    check_techniques(ack_techniques)
    pairs = [(b, b) if isinstance(b, str) else b for b in buffers]
    check_transports(transports)
    every = product(transports, variants, pairs, delayed_ack, queues, ack_policies, ack_techniques)
    return [
        Configuration(variant, send, receive, delayed, queue, policy, technique, transport)
        for transport, variant, (send, receive), delayed, queue, policy, technique in every
        if transport == TCP
        or (
            ((send, receive), delayed, technique) == (pairs[0], delayed_ack[0], ack_techniques[0])
            and not has_no_control(variant)
        )
    ]
