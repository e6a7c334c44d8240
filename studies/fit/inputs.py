"""The kinds of input that a fit is given: what is captured of a link, and where, and how."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ackclock
from studies import pcap_records
from studies.fit.links import TrueLink
from studies.pcap_records import Capture, Record

Keys = dict[str, Any]
Captures = list[Path]
ENDS = ("server", "client")
BULK: Keys = {"workload": {"kind": "bulk"}}
WEB: Keys = {
    "count": 2,
    "direction": "up",
    "workload": {"kind": "web", "answers": 4, "size": "60 kB", "jobs": 40, "think": "300 ms"},
}
SECONDS, SHORT_S = 30, 10
SNAPLEN = 96
CLOCK_OFFSET_NS, CLOCK_SKEW = 3_000_000_000, 40e-6
"""By how much the client's clock is ahead at the start, and by how much it is fast."""
LATE_NS = 30_000
"""Mean lateness of a timestamp of a busy host."""
STALL_SHARE, STALL_NS = 0.001, 4_000_000
"""Share of the packets at which a busy host stalls, and its longest stall: what arrives meanwhile
gets the end of the stall as its time."""
LOST_STALLS, LOST_RECORDS = 0.1, 8
"""Share of the stalls in which the capture loses records, and how many at most."""


@dataclass(frozen=True)
class Transfer:
    """What is sent over the link while both ends capture; its captures by flow and end."""

    flow: Mapping[str, Any]
    seconds: int = SECONDS
    offloads: bool = False

    def captured(self, link: TrueLink, folder: Path, seed: int) -> Folder:
        """Simulate it into a folder, unless its captures are there."""
        if not folder.is_dir():
            flows = [{"name": "flow", **self.flow}, *link.cross]
            ackclock.simulate(
                {"hop": link.hops},
                flows,
                f"{self.seconds} s",
                seed=seed,
                out=folder,
                captures="pcap",
                offloads=self.offloads,
                sample="0 s",
                tcp=dict(link.tcp) or None,
            )
        return Folder(folder / "captures")


@dataclass(frozen=True)
class Folder:
    """Captures of a transfer: one for each of its flows at each end."""

    path: Path

    def of_flows(self, end: str) -> Captures:
        """The captures of one end, in the order of the flows."""
        return sorted((*self.path.glob(f"flow*.{end}.pcap"), *self.path.glob(f"flow*.{end}.offloads.pcap")))

    def merged(self, end: str) -> Path:
        """One capture of all flows at an end."""
        of_flows = self.of_flows(end)
        if len(of_flows) == 1:
            return of_flows[0]
        return pcap_records.write(self.path / f"all.{end}.pcap", pcap_records.merged(map(pcap_records.read, of_flows)))

    def changed(self, end: str, name: str, change: Callable[[Capture], Capture]) -> Path:
        """A changed copy of an end's capture."""
        capture = pcap_records.read(self.merged(end))
        return pcap_records.write(self.path / f"{name}.{end}.pcap", change(capture))


def _both(found: Folder, _: random.Random) -> Captures:
    return [found.merged(end) for end in ENDS]


def _server(found: Folder, _: random.Random) -> Captures:
    return [found.merged("server")]


def _client(found: Folder, _: random.Random) -> Captures:
    return [found.merged("client")]


def _own_files(found: Folder, _: random.Random) -> Captures:
    return [path for end in ENDS for path in found.of_flows(end)]


def _snapped(found: Folder, _: random.Random) -> Captures:
    def cut(capture: Capture) -> Capture:
        return capture.of(pcap_records.cut(record, SNAPLEN) for record in capture.records)

    return [found.changed(end, "snapped", cut) for end in ENDS]


def _clocks_apart(found: Folder, _: random.Random) -> Captures:
    def ahead(capture: Capture) -> Capture:
        first = capture.records[0].at_ns

        def at(record: Record) -> int:
            return record.at_ns + CLOCK_OFFSET_NS + round(CLOCK_SKEW * (record.at_ns - first))

        return capture.of(replace(record, at_ns=at(record)) for record in capture.records)

    return [found.merged("server"), found.changed("client", "ahead", ahead)]


def _busy_host(found: Folder, draw: random.Random) -> Captures:
    """Timestamps of both ends are late, by an exponential time and by rare stalls, in some of which
    the capture loses records; the order stays.
    """

    def busy(capture: Capture) -> Capture:
        return capture.of(_late(capture.records, draw))

    return [found.changed(end, "busy", busy) for end in ENDS]


def _late(records: Sequence[Record], draw: random.Random) -> Iterator[Record]:
    now = stalled_until = lost = 0
    for record in records:
        if draw.random() < STALL_SHARE:
            stalled_until = record.at_ns + round(draw.uniform(0, STALL_NS))
            lost = draw.randint(1, LOST_RECORDS) if draw.random() < LOST_STALLS else 0
        now = max(now, stalled_until, record.at_ns + round(draw.expovariate(1 / LATE_NS)))
        if lost and record.at_ns < stalled_until:
            lost -= 1
            continue
        yield replace(record, at_ns=now)


DOWNLOAD = Transfer(BULK)
TWO_FLOWS = Transfer({**BULK, "count": 2})
INPUTS: Mapping[str, tuple[Transfer, Callable[[Folder, random.Random], Captures]]] = {
    "both ends": (DOWNLOAD, _both),
    "server's end": (DOWNLOAD, _server),
    "client's end": (DOWNLOAD, _client),
    "10 s": (Transfer(BULK, SHORT_S), _both),
    "upload": (Transfer({**BULK, "direction": "up"}), _both),
    "web-like": (Transfer(WEB), _both),
    "two flows, one file": (TWO_FLOWS, _both),
    "two flows, two files": (TWO_FLOWS, _own_files),
    "offloads": (Transfer(BULK, offloads=True), _both),
    "snaplen 96": (DOWNLOAD, _snapped),
    "clocks apart": (DOWNLOAD, _clocks_apart),
    "busy host": (DOWNLOAD, _busy_host),
}
"""What is transferred, and what of its captures the fit is given."""


def captures_of(kind: str, link: TrueLink, folder: Path, seed: int) -> Captures:
    """The captures of one kind of input; `folder` keeps those of this link's transfers."""
    transfer, chosen = INPUTS[kind]
    shared = next(index for index, (other, _) in enumerate(INPUTS.values()) if other == transfer)
    found = transfer.captured(link, folder / f"transfer-{shared}", seed)
    return chosen(found, random.Random(f"{seed} {kind} {link.number}"))
