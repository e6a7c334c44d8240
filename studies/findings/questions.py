"""Public questions about captures whose answer is known: the situation rebuilt with the kernel's
sockets, or a capture from a public tracker, and what `analyze` must and must not say of it.

Right is what names the accepted cause in its findings, and says nothing of the causes that the
question's readers were led to at first.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import analyze
from studies.analyzer.captures import run
from studies.findings import kernel_side, simulated_side
from studies.findings.situations import EDGE, OTHER, PATH_DOWN, PORT, Conditions, Scene, Situation, part

ORACLES = "ACKCLOCK_ORACLES"
"""Folder of the public captures, in the environment; without it their questions are not asked."""


@dataclass(frozen=True)
class Question:
    """Where it was asked, what happened, the accepted answer, and patterns of what is said of the
    capture: what must be found in it, and what must not.

    `ask`: analyzes the capture; None where it is a public one that is not there.
    """

    source: str
    problem: str
    answer: str
    must: str
    never: str
    ask: Callable[[], dict[str, Any] | None]


@dataclass(frozen=True)
class Answer:
    """What is said to a customer, and whether it is right."""

    text: str
    right: bool


def asked(question: Question) -> Answer | None:
    """The answer to a question; None without its capture. Inside `enter_user_namespace`."""
    document = question.ask()
    if document is None:
        return None
    sentence = document["summary"]["customer"]
    all_of = (finding for flow in document["flows"] for finding in flow["diagnosis"])
    found = " ".join(f"{finding['finding']} {finding['evidence']} {finding['advice']}" for finding in all_of)
    text = f"{sentence} {document['summary']['verdict']['evidence']} {found}"
    return Answer(
        sentence, bool(re.search(question.must, text)) and not (question.never and re.search(question.never, text))
    )


def _kernel(make: Callable[[Conditions], Scene], rtt_ms: float = 20.0) -> Callable[[], dict[str, Any]]:
    conditions = Conditions(rtt_ms, 20.0, 128, True, False, 1)
    return lambda: kernel_side.analyzed(Situation("", make), conditions)


def _public(name: str) -> Callable[[], dict[str, Any] | None]:
    def ask() -> dict[str, Any] | None:
        file = Path(os.environ.get(ORACLES, "")) / "captures-public" / f"{name}.pcap.gz"
        return dict(analyze(file).document) if file.is_file() else None

    return ask


def _small_send_buffer() -> dict[str, Any]:
    """16 KB over 20 ms at 100 Mb/s."""
    link = simulated_side.Link(100.0, 20.0, "cubic", 1)
    with tempfile.TemporaryDirectory() as scratch:
        run(link.case(tcp={"send_buffer": "16 KB"}), Path(scratch))
        return dict(analyze(Path(scratch) / "server.pcap").document)


def _hole(c: Conditions) -> Scene:
    """Small answers pass, a large one never does."""
    return Scene(
        c.with_link({"mtu": '{ ip = "1300 B", icmp = false }'}),
        [part("responses", sizes=[500]), part("download", OTHER, seconds=20.0)],
        [part("requests", size=500, count=5), part("read", OTHER, start_s=0.5)],
        at_most_s=6.0,
    )


def _forgotten(c: Conditions) -> Scene:
    """Nothing for two seconds, in which the path forgets the connection, then data."""
    return Scene(
        c.path,
        [part("chunks", size=5000, every_s=2.5, count=2)],
        [part("read")],
        actions=[(1.5, EDGE, PATH_DOWN)],
        at_most_s=8.0,
    )


def _reset_by_nat(c: Conditions) -> Scene:
    """A middlebox resets the client in the server's name, after a pause."""
    return Scene(
        c.path,
        [part("chunks", size=3000, every_s=1.5, count=3)],
        [part("read")],
        ends=("client",),
        injector={"kind": "inject_reset", "port": PORT, "after_segments": 4},
        at_most_s=6.0,
    )


def _untranslated(c: Conditions) -> Scene:
    """A packet keeps the address behind the translation; the client's host resets it."""
    return Scene(c.path, [part("download", seconds=1.5)], [part("read")], ends=("client",), edit="untranslated")


def _stripped(c: Conditions) -> Scene:
    return Scene(
        c.path,
        [part("download", seconds=2.0)],
        [part("read")],
        ends=("server", "client"),
        edit="scale_stripped",
        before=[("server", "sysctl -qw net.ipv4.tcp_window_scaling=0")],
    )


def _stopped_reader(c: Conditions) -> Scene:
    """The client stops reading for good."""
    reader = part("read", receive_buffer=16384, pauses=[[100_000, 30.0]])
    return Scene(c.path, [part("download", seconds=20.0)], [reader], at_most_s=8.0)


def _backlog(c: Conditions) -> Scene:
    many = part("connect_many", count=7, every_s=0.1, timeout_s=6.0)
    return Scene(c.path, [part("not_accepting", backlog=1, after_s=3.0)], [many], at_most_s=9.0)


QUESTIONS: Sequence[Question] = (
    Question("ocaml-tls 480, tiberius 46", "Responses in two small writes over 1 ms take 40 ms each.",
             "Nagle's algorithm and delayed ACKs", "nagle_delayed_ack", "ack_compression|would make this flow faster",
             _kernel(lambda c: Scene(c.path, [part("responses", sizes=[200, 300])], [part("requests", size=500, count=30)]), 1.0)),
    Question("cgminer 88", "A POST is sent in two writes, and each takes 40 ms.",
             "the same, of the client", "nagle_delayed_ack", "ack_compression|would make this flow faster",
             _kernel(lambda c: Scene(c.path, [part("answers", size=450, answer=120)],
                                     [part("posts", sizes=[150, 300], answer=120, count=30)], ends=("client",)), 1.0)),
    Question("ethersex 257", "A small host has one packet in flight: 5 packets a second.",
             "the receiver's delayed ACK", "delayed_ack", r"AQM|queue stands", _public("uip.sender")),
    Question("a blog on send buffers", "16 KB of SO_SNDBUF over 20 ms.",
             "the send buffer", "send_buffer", "paces itself", _small_send_buffer),
    Question("moby/libnetwork 2661, tailscale 20077", "Small requests work, large answers hang.",
             "the path's MTU", "path_mtu", "congestion|peer_gone", _kernel(_hole)),
    Question("cockroach 13823", "A connection is idle, and then nothing has an answer.",
             "a NAT forgot it", "peer_gone.*NAT", "congestion|linger", _kernel(_forgotten)),
    Question("httpx 2975", "A connection is idle, and then reset.",
             "a NAT's reset", "reset_injected|reset_by_middlebox", "no program listens|linger", _kernel(_reset_by_nat)),
    Question("kubernetes 74839", "Transfers are reset now and then by the client's host.",
             "a packet was not translated", "reset_unknown_connection", "linger", _kernel(_untranslated)),
    Question("a firewall that strips window scaling", "No more than 64 KB in flight.",
             "the firewall takes the option away", "window_scaling_stripped", "Enlarge the receive buffer", _kernel(_stripped)),
    Question("ntttcp 5", "A transfer stands still after some time.",
             "the reader stopped", "zero_window_death|zero_window_stall", "congestion", _kernel(_stopped_reader)),
    Question("zephyr 26330", "A transfer to a small host stops at each full window.",
             "the receiver sends no window updates", "sends no window updates", "reads more slowly", _public("zephyr.sender")),
    Question("a blog on listen backlogs", "SYNs to a busy server have no answer.",
             "its accept queue is full", "accept_queue", "filter on the path", _kernel(_backlog)),
    Question("tw_recycle behind a NAT", "The SYNs of some clients are ignored.",
             "timestamps of several hosts behind an address", "tw_recycle", "filter on the path", _public("twrecycle.server")),
)  # fmt: skip
