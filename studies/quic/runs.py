"""The runs of the study of QUIC, as rows of a file that a later call takes up."""

from __future__ import annotations

import hashlib
import json
import struct
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ackclock
from ackclock import _native
from ackclock.input.catalogue import linux_rules
from ackclock.input.link.names import PACKAGED
from ackclock.storage.stored_files import read_toml

TCP, QUIC = "tcp", "quic"
LINKS = (
    "dumbbell-10m", "dsl-16m", "adsl2plus", "wimax-nist", "wifi-80211b",
    "lte-fixed-10m", "cable-modem-5m", "geo-satellite", "wibro-wave2", "cable-ricochet",
)  # fmt: skip
"""Ten packaged links below 20 Mb/s, of which a run has a few seconds of CPU time at most."""
VARIANTS = (
    "reno", "cubic", "bic", "vegas", "veno", "westwood+", "biad", "htcp", "hybla", "illinois", "scalable",
    "bbr", "bbr3",
)  # fmt: skip
SEEDS = (1, 2, 3)
DURATION_S = 30


@dataclass(frozen=True)
class Case:
    """A download of `DURATION_S` over a link: `keys` are those of the flow and, below `queue`, of
    the queue of the ACKs' slow hop, which `ack_hop` names.
    """

    link: str
    name: str
    seed: int
    keys: Mapping[str, Any]
    ack_hop: str = ""
    queue: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        """What a kept run is found by: the case and the program that ran it."""
        text = json.dumps([asdict(self), DURATION_S, program_digest()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def tables(self) -> dict[str, Any]:
        """The scenario."""
        link = packaged(self.link)
        if self.queue is not None:
            hop = next(hop for hop in link["hop"] if hop["name"] == self.ack_hop)
            hop["queue"] = {**hop["queue"], **self.queue}
        flow = {"name": "f", "workload": {"kind": "bulk"}, **self.keys}
        return {**link, "flow": [flow]}

    def run(self) -> dict[str, Any]:
        """Goodput in b/s, and the ACKs that arrived at the sender: packets and IP bytes."""
        tables = self.tables()
        with tempfile.TemporaryDirectory(prefix="quic-study-") as folder:
            done = ackclock.simulate(
                {"hop": tables["hop"]},
                tables["flow"],
                duration=f"{DURATION_S} s",
                seeds=[self.seed],
                captures="pcap" if self.ack_hop else None,
                sample=0,
                out=Path(folder) / "run",
            )
            flow = done.summaries[0]["flows"][0]
            acks = list(_to_sender(Path(folder) / "run" / "captures" / "f.server.pcap")) if self.ack_hop else []
        return {
            "goodput_bps": flow["goodput_bps"] or 0.0,
            "segments": flow["segments_sent"],
            "closed_by": (flow.get("quic") or {}).get("closed_by"),
            "ack_packets": len(acks),
            "ack_bytes": sum(acks),
        }


def packaged(link: str) -> dict[str, Any]:
    """The tables of a packaged link."""
    return read_toml(PACKAGED / f"{link}.toml")


@cache
def program_digest() -> str:
    """A digest of the engine."""
    return hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:16]


def _to_sender(capture: Path) -> Iterator[int]:
    """IP bytes of each packet for the server in its capture."""
    data = capture.read_bytes()
    place = 24
    while place < len(data):
        captured, length = struct.unpack_from("<II", data, place + 8)
        if data[place + 16 + 30 : place + 16 + 34] == bytes((192, 0, 2, 1)):
            yield length - 14
        place += 16 + captured


def like_noq() -> dict[str, Any]:
    """TCP paces as noq always does, no buffer limits it, and its controls are the code that noq's
    interface calls, not Linux's integers with a minimum growth of CUBIC.
    """
    return {
        "pacing": True,
        "send_buffer": "unlimited",
        "receive_buffer": "12500 kB",
        "linux_rules": [rule for rule in linux_rules() if rule != "integer-controls"],
        "first_climb": 0,
    }


def control_cases() -> list[Case]:
    """Each control over TCP and over QUIC."""
    return [
        Case(link, variant, seed, {"variant": variant, "transport": transport, **keys})
        for link in LINKS
        for variant in VARIANTS
        for transport, keys in ((TCP, like_noq()), (QUIC, {}))
        for seed in SEEDS
    ]


FILTER = {"ack": {"filter": "p1"}}
"""The paper's ACK filter: one ACK of a flow in the queue."""
RED = {"kind": "red", "ecn": True}
TECHNIQUES: tuple[tuple[str, Mapping[str, Any], Mapping[str, Any] | None], ...] = (
    ("TCP", {"transport": TCP}, None),
    ("TCP with pacing", {"transport": TCP, "pacing": True}, None),
    ("TCP, ACC and sender adaptation", {
        "transport": TCP, "ack_congestion_control": True, "ecn": True, "timestamps": True,
        "max_burst": 3, "dupack_marking": True, "byte_counting": 2,
    }, RED),
    ("TCP, ACK filter", {"transport": TCP}, FILTER),
    ("TCP with pacing, ACK filter", {"transport": TCP, "pacing": True}, FILTER),
    ("noq 1.4", {"transport": QUIC}, None),
    ("noq 1.4, the router's ACK filter", {"transport": QUIC}, FILTER),
    ("noq 1.4, ACK_FREQUENCY 9", {"transport": QUIC, "quic": {"ack_frequency": 9}}, None),
    ("noq 1.4, ACK_FREQUENCY 24", {"transport": QUIC, "quic": {"ack_frequency": 24}}, None),
    ("noq 1.4, ACK_FREQUENCY 24, 100 ms", {
        "transport": QUIC, "quic": {"ack_frequency": 24, "max_ack_delay": "100 ms"},
    }, None),
)  # fmt: skip
"""What treats the ACKs: name, keys of the flow, and of the queue before the slow return."""
RETURNS = {"cable-dialup": "dialup", "cable-ricochet": "radio"}
"""Links, and the hop whose queue the techniques change."""
ACK_SEEDS = tuple(range(1, 11))


def ack_cases() -> list[Case]:
    """Each technique over the paper's links."""
    return [
        Case(link, name, seed, {"variant": "cubic", **keys}, hop, queue)
        for link, hop in RETURNS.items()
        for name, keys, queue in TECHNIQUES
        for seed in ACK_SEEDS
    ]
