"""Simulated captures with ground truth: the number of each packet, and the reason of each
retransmission.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from ackclock import _native, analyze
from ackclock.analysis.run import Analysis
from ackclock.documents.engine import Summary
from ackclock.input.scenario.draft import draft_of
from ackclock.simulation.plan import Capture, build_plan
from studies.analyzer.perturbations import PCAP_HEADER, PERTURBATIONS, interleaved, read_capture, write_capture

PLACES = ("server", "middle", "client")
RETRANSMISSIONS = ("fast", "timeout", "go_back_n", "tail_probe", "handshake")
_SAME = {"rack": "fast"}
"""The simulator's `fast` covers what time shows to be lost (RACK) as well."""


@dataclass(frozen=True)
class Tap:
    """A capture between the hosts, after this share of the delay.

    Impairments are after it (seen from the server), before it, or on both sides.
    """

    where: str
    share: float


@dataclass(frozen=True)
class Case:
    """One simulated download over one hop, which a capture in the middle divides into two, and over
    those `beyond` it as well.

    `offloads`: the ends (server, client) whose captures have super-segments, GRO within `gro_us`;
    `perturbation`: a name in `PERTURBATIONS`. A `flow` with a count is many in one capture;
    `whole`: the flows of `cross` are in the captures, too.
    """

    hop: Mapping[str, Any]
    tcp: Mapping[str, Any]
    duration: str = "20 s"
    seed: int = 1
    flow: Mapping[str, Any] = field(default_factory=lambda: {"workload": {"kind": "bulk"}})
    cross: tuple[Mapping[str, Any], ...] = ()
    beyond: tuple[Mapping[str, Any], ...] = ()
    tap: Tap | None = None
    offloads: tuple[str, ...] = ()
    gro_us: int = 50
    perturbation: str = ""
    whole: bool = False

    @property
    def hops(self) -> list[dict[str, Any]]:
        """Server first; the same links in sum, whatever divides them."""
        hop = dict(self.hop)
        if self.tap is None:
            return [hop, *(dict(more) for more in self.beyond)]
        delay, unit = hop.pop("delay").split()
        near, far = (f"{float(delay) * part:g} {unit}" for part in (self.tap.share, 1 - self.tap.share))
        if self.tap.where == "behind":
            return [{"name": "wire", "delay": near}, {**hop, "delay": far}]
        if self.tap.where == "before":
            return [{**hop, "delay": near}, {"name": "wire", "delay": far}]
        troubles = {key: _halved(value) for key, value in hop.items() if key not in ("name", "rate", "queue")}
        return [{**hop, **troubles, "delay": near}, {"name": "wire", "delay": far, **troubles}]


@dataclass
class Score:
    """Of one cause: how often it was said rightly, said wrongly, and not said though true."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float | None:
        output = self.right + self.wrong
        return self.right / output if output else None

    @property
    def recall(self) -> float | None:
        true = self.right + self.missed
        return self.right / true if true else None


def _halved(value: Any) -> Any:
    """A rate of trouble, or the mean of a jitter, half of it on each side; how long each lasts
    stays.
    """
    if isinstance(value, float):
        return value / 2
    if isinstance(value, str):
        return value
    kept = value.get("kind") == "exponential"
    return {key: _half_of(of) if kept and key == "mean" else _halved(of) for key, of in value.items()}


def _half_of(quantity: str) -> str:
    number, unit = quantity.split()
    return f"{float(number) / 2:g} {unit}"


def run(case: Case, folder: Path) -> Summary:
    """Simulate; the captures of both ends, and of the middle if there is one, and their truths are
    `PLACE.pcap` and `PLACE.csv`. Returns the run's summary.
    """
    folder.mkdir(parents=True, exist_ok=True)
    flows = [{"name": "download", **case.flow}, *({"name": f"cross-{i}", **flow} for i, flow in enumerate(case.cross))]
    scenario = draft_of(
        {"hop": case.hops, "flow": flows, "duration": case.duration, "tcp": dict(case.tcp), "sample": "0 s"}
    ).check()
    places = [place for place in PLACES if case.tap or place != "middle"]
    count = case.flow.get("count", 1)
    names = [f"download-{number}" for number in range(1, count + 1)] if count > 1 else ["download"]
    if case.whole:
        names += [flow["name"] for flow in flows[1:]]
    captures = [
        Capture(name, place, folder / f"{name}.{place}.pcap", after=1, offloads=place in case.offloads)
        for place in places
        for name in names
    ]
    plan = build_plan(scenario, case.seed, captures)
    wanted = [_with_truth(output, case.gro_us) for output in plan.document["captures"]]
    done = _native.run(json.dumps({**plan.expanded(), "captures": wanted}))
    for place in places:
        _combine([folder / f"{name}.{place}.pcap" for name in names], folder / f"{place}.pcap", case)
    return done.summary()


def _with_truth(output: dict[str, Any], gro_us: int) -> dict[str, Any]:
    """A capture of the plan with its ground truth, and the case's GRO interval."""
    offloads = output.get("offloads")
    merging = {"offloads": {**offloads, "gro_ps": gro_us * 1_000_000}} if offloads else {}
    return {**output, **merging, "truth": str(Path(output["path"]).with_suffix(".csv"))}


def _combine(of_flows: list[Path], to: Path, case: Case) -> None:
    """One capture of all flows at one place, perturbed as the case says, and its ground truth."""
    if len(of_flows) == 1 and not case.perturbation:
        of_flows[0].rename(to)
        of_flows[0].with_suffix(".csv").rename(to.with_suffix(".csv"))
        return
    captures = [read_capture(path, path.with_suffix(".csv"), flow) for flow, path in enumerate(of_flows)]
    packets = interleaved(captures)
    if case.perturbation:
        packets = PERTURBATIONS[case.perturbation](packets, random.Random(f"{case.seed} {to.stem}"))
    header = of_flows[0].read_bytes()[:PCAP_HEADER]
    write_capture(packets, header, to, to.with_suffix(".csv"))
    for path in of_flows:
        path.unlink()
        path.with_suffix(".csv").unlink()


def truth(folder: Path, end: str) -> pl.DataFrame:
    """The capture's segments in order: `record` (number of the captured packet), `packet`, `sent`,
    `why`."""
    schema = {"record": pl.UInt64, "packet": pl.UInt64, "sent": pl.UInt8, "why": pl.String}
    return pl.read_csv(folder / f"{end}.csv", schema=schema).with_columns(pl.col("why").fill_null(""))


def scores_at_sender(folder: Path, scores: dict[str, Score]) -> None:
    """What each packet of the server is called at its own end, beside why it was sent."""
    rows = _labelled(folder, "server").filter(pl.col("sent") == 1)
    for why, kind in rows.select("why", "kind").iter_rows():
        _count(scores, why, _SAME.get(kind, kind))


DUPTHRESH = 3
ACK_CLOCKED_S = 1e-3
"""Time after an ACK within which a sender acts on it."""


def explained_timeouts(folder: Path) -> tuple[int, int]:
    """Reported timeouts of the server that leave within a millisecond of an ACK that explains them,
    and how many of them are true.

    An ACK explains a retransmission if it advances, or reports new data by SACK, or is the third
    duplicate.
    """
    columns = ("flow", "time_s", "way", "kind", "why", "ack", "duplicate_ack", "sack", "peer_outstanding_bytes")
    highest: dict[int, int] = {}
    duplicates: dict[int, int] = {}
    outstanding: dict[int, int] = {}
    explains_at: dict[int, float] = {}
    reported = true = 0
    rows = _labelled(folder, "server").with_columns(
        pl.when(pl.col("way") == "a2b")
        .then("peer_outstanding_bytes")
        .otherwise("outstanding_bytes")
        .alias("peer_outstanding_bytes"),
        pl.col("sack").list.len(),
    )
    for flow, time_s, direction, kind, why, ack, duplicate, sacks, in_flight in rows.select(columns).iter_rows():
        if direction == "a2b":
            advances = ack is not None and ack > highest.get(flow, -1)
            duplicates[flow] = 0 if advances else duplicates.get(flow, 0) + bool(duplicate)
            reports = bool(sacks) and in_flight < outstanding.get(flow, 0)
            if advances or reports or (duplicate and duplicates[flow] == DUPTHRESH):
                explains_at[flow] = time_s
            highest[flow] = max(highest.get(flow, -1), -1 if ack is None else ack)
        elif kind == "timeout" and time_s - explains_at.get(flow, -1.0) < ACK_CLOCKED_S:
            reported, true = reported + 1, true + (why == "timeout")
        outstanding[flow] = in_flight
    return reported, true


def scores_at_receiver(folder: Path, scores: dict[str, Score]) -> None:
    """The same where the data arrives.

    A retransmission whose first copy did arrive is one here too; overtaken packets are judged as
    such.
    """
    _scores_beyond(folder, _labelled(folder, "client").filter(pl.col("sent") == 0), scores)


def scores_at_middle(folder: Path, scores: dict[str, Score]) -> None:
    """The same for what the server sent as it passes between the hops."""
    _scores_beyond(folder, _labelled(folder, "middle").filter(pl.col("sent") == 1), scores)


def _scores_beyond(folder: Path, rows: pl.DataFrame, scores: dict[str, Score]) -> None:
    sent = set(truth(folder, "server")["packet"])
    for (packet, why, kind), late in zip(
        rows.select("packet", "why", "kind").iter_rows(), _overtaken(rows, sent), strict=True
    ):
        # A copy that the network made has a number of its own.
        true = ("reordered" if late else why) if packet in sent else "network_duplicate"
        _count(scores, why if late and why else true, _SAME.get(kind, kind))


def _labelled(folder: Path, end: str) -> pl.DataFrame:
    series = analyze(folder / f"{end}.pcap", series=True).series
    assert series is not None
    # Of a super-segment: its first segment. One end sends all of them for one reason.
    labels = truth(folder, end).unique("record", keep="first", maintain_order=True)
    assert series.height == labels.height, (series.height, labels.height)
    return pl.concat([labels, series], how="horizontal")


def _overtaken(rows: pl.DataFrame, sent: set[int]) -> list[bool]:
    """Data that arrives for the first time after data that its flow sent later, by the packets'
    numbers.
    """
    overtaken: list[bool] = []
    highest: dict[int, int] = {}
    for flow, packet, payload in rows.select("flow", "packet", "payload_bytes").iter_rows():
        data = bool(payload) and packet in sent
        overtaken.append(data and packet < highest.get(flow, -1))
        if data:
            highest[flow] = max(highest.get(flow, -1), packet)
    return overtaken


def _count(scores: dict[str, Score], true: str, output: str) -> None:
    output = output if output in (*RETRANSMISSIONS, "reordered", "unexplained", "network_duplicate") else ""
    if true == output:
        if true:
            scores.setdefault(true, Score()).right += 1
        return
    if true:
        scores.setdefault(true, Score()).missed += 1
    if output:
        scores.setdefault(output, Score()).wrong += 1


def lost(folder: Path) -> set[int]:
    """The server's packets that never arrived."""
    return missing(folder, "server", "client")


def missing(folder: Path, near: str, far: str) -> set[int]:
    """The server's packets that passed at `near`, and not at `far`."""
    of = {place: _passed(folder, place) for place in (near, far, "server")}
    # Packets sent after the last received one may be in flight; duplicates of the network are not
    # the server's.
    last = max(of[far], default=0)
    return {packet for packet in of[near] & of["server"] if packet < last} - of[far]


def _passed(folder: Path, place: str) -> set[int]:
    """The packets towards the client that a capture has."""
    return set(truth(folder, place).filter(pl.col("sent") == (0 if place == "client" else 1))["packet"])


def joined(folder: Path, near: str = "server", far: str = "client") -> Analysis:
    """Two captures together."""
    return analyze(folder / f"{near}.pcap", folder / f"{far}.pcap")
