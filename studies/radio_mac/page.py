"""`python -m studies.radio_mac.page [FILE]`: the packet-radio medium beside ns-2's
`Mac/Multihop`, as Markdown.

`make radio-mac` writes it to docs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from studies.outcome_files import oracle_page
from studies.radio_mac.cells import SEEDS, STREAM_SECONDS, TcpFigures, Transfers, idle, streams, transfers

TITLE = """# Packet radio beside its authors' MAC for ns-2

Written by `make radio-mac` from tables of ns-2.35 with `Mac/Multihop`, the MAC of 1997 that the authors of
"The Effects of Asymmetry on TCP Performance" left in ns-2, in the folder `ns2-wimax` of ACKCLOCK_ORACLES.
`multihop` is the medium with `mac = "ns2-multihop"`, `ricochet` its own rules
([the medium](../models/packet-radio.md)). 100 kb/s, one to three radio hops behind a wired one of 10 ms,
9 packets at each radio (ns-2's limit of 10 lets 9 wait). Here every row is the mean of {seeds} seeds.
"""
IDLE = """
## Idle

One-way delay in ms of single packets, with the wired hop.

| direction | hops | packet, B | module | multihop | | ricochet | |
|---|--:|--:|--:|--:|--:|--:|--:|
"""
STREAMS = """
## Streams

Received kb/s of datagrams whose intervals vary by a half, for {seconds} s; the tables have one or two seeds.
Without a cap on the back-off a relay does not win the channel from a sender that never stops, and of two
senders one stalls.

| direction | hops | packet, B | offered in a direction, kb/s | module | multihop | | ricochet | |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
"""
TRANSFERS = """
## TCP

Bulk downloads by Reno and AF (an ACK filter at the radios, bursts of 3, growth by what is acknowledged):
throughput of all connections in kb/s (the module's standard deviation over its seeds), Jain's index, and the
mean RTT of the first sender in seconds (in the tables its last sample every 0.5 s, here all its samples).
`paper` has 1997's figures where the text gives them. AF's sender in the tables is paced by a timer in their
script, and their relays filter ACKs, too; here the hop's own queues do.

| hops | flows | scheme | s | module | multihop | | ricochet | | paper | Jain: module | multihop | ricochet | paper | RTT: module | multihop | ricochet | paper |
|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"""
IDLE_NEAR, ONE_NEAR, MANY_NEAR = 0.01, 0.10, 0.20
"""Tolerances of delays, of one stream or connection, and of several."""
LITTLE_KBPS, JAIN_NEAR, RTT_NEAR = 1.0, 0.1, 0.20


def _near(ours: float, theirs: float, share: float, at_least: float = 0.0) -> bool:
    return abs(ours - theirs) <= max(share * theirs, at_least)


def _off(ours: float, theirs: float) -> str:
    return f"{ours / theirs - 1:+.0%}" if theirs >= LITTLE_KBPS else ""


def _idle(folder: Path) -> Iterator[str]:
    yield IDLE
    held, rows = [0, 0], 0
    for row in idle(folder):
        ours = [row.delay_ms("ns2-multihop"), row.delay_ms("ricochet")]
        held = [count + _near(delay, row.module_ms, IDLE_NEAR) for count, delay in zip(held, ours, strict=True)]
        rows += 1
        shown = " | ".join(f"{delay:.1f} | {delay / row.module_ms - 1:+.1%}" for delay in ours)
        yield f"| {row.direction} | {row.hops} | {row.packet_bytes} | {row.module_ms:.1f} | {shown} |\n"
    yield f"\nWithin {IDLE_NEAR:.0%}: {held[0]} of {rows} with multihop, {held[1]} with ricochet.\n"


def _streams(folder: Path) -> Iterator[str]:
    yield STREAMS.format(seconds=STREAM_SECONDS)
    held = {"one": [0, 0], "both": [0, 0]}
    rows = {"one": 0, "both": 0}
    for row in streams(folder):
        kind = "both" if row.direction == "both" else "one"
        share = MANY_NEAR if kind == "both" else ONE_NEAR
        module = sum(row.module_kbps)
        ours = [row.kbps("ns2-multihop"), row.kbps("ricochet")]
        rows[kind] += 1
        held[kind] = [
            count + _near(sum(kbps), module, share, LITTLE_KBPS) for count, kbps in zip(held[kind], ours, strict=True)
        ]
        shown = " | ".join(f"{_by_direction(kbps, row.direction)} | {_off(sum(kbps), module)}" for kbps in ours)
        yield (
            f"| {row.direction} | {row.hops} | {row.packet_bytes} | {row.offered_kbps:g}"
            f" | {_by_direction(row.module_kbps, row.direction)} | {shown} |\n"
        )
    yield (
        f"\nIn one direction, within {ONE_NEAR:.0%} or {LITTLE_KBPS:g} kb/s: {held['one'][0]} of {rows['one']} with multihop,"
        f" {held['one'][1]} with ricochet; in both, the sum within {MANY_NEAR:.0%} or {LITTLE_KBPS:g} kb/s:"
        f" {held['both'][0]} of {rows['both']} and {held['both'][1]}.\n"
    )


def _by_direction(kbps: tuple[float, float], direction: str) -> str:
    return f"{kbps[0]:.1f} + {kbps[1]:.1f}" if direction == "both" else f"{sum(kbps):.1f}"


def _share(row: Transfers) -> float:
    return ONE_NEAR if row.connections == 1 else MANY_NEAR


def _transfers(folder: Path) -> Iterator[str]:
    yield TRANSFERS
    counts: dict[str, list[int]] = {}
    for row in transfers(folder):
        theirs = row.module
        ours: list[TcpFigures] = [row.figures("ns2-multihop"), row.figures("ricochet")]
        kind = f"{'one connection' if row.connections == 1 else 'several'}, {row.scheme}"
        found = counts.setdefault(kind, [0] * 7)
        found[0] += 1
        for at, figures in enumerate(ours):
            found[1 + at] += _near(figures.total_kbps, theirs.total_kbps, _share(row))
            found[3 + at] += abs(figures.jain - theirs.jain) <= JAIN_NEAR
            found[5 + at] += _near(figures.rtt_s, theirs.rtt_s, RTT_NEAR)
        totals = " | ".join(
            f"{figures.total_kbps:.1f} | {_off(figures.total_kbps, theirs.total_kbps)}" for figures in ours
        )
        jains = " | ".join(f"{figures.jain:.2f}" for figures in (theirs, *ours))
        rtts = " | ".join(f"{figures.rtt_s:.2f}" for figures in (theirs, *ours))
        yield (
            f"| {row.hops} | {row.connections} | {row.scheme} | {row.seconds}"
            f" | {theirs.total_kbps:.1f} ({theirs.total_sd_kbps:.1f}) | {totals} | {_text(row.paper_kbps)}"
            f" | {jains} | {_text(row.paper_jain)} | {rtts} | {_text(row.paper_rtt_s)} |\n"
        )
    yield (
        f"\nRows within {ONE_NEAR:.0%} of the throughput (one connection) or {MANY_NEAR:.0%} (several), {JAIN_NEAR:g} of"
        f" Jain's index and {RTT_NEAR:.0%} of the RTT, multihop and ricochet:\n\n"
        "| rows | of | throughput | | Jain | | RTT | |\n|---|--:|--:|--:|--:|--:|--:|--:|\n"
    )
    for kind, found in counts.items():
        yield f"| {kind} | {' | '.join(map(str, found))} |\n"


def _text(figure: float | None) -> str:
    return "" if figure is None else f"{figure:g}"


def _page(folder: Path) -> Iterable[str]:
    yield TITLE.format(seeds=len(SEEDS))
    yield from _idle(folder)
    yield from _streams(folder)
    yield from _transfers(folder)


if __name__ == "__main__":
    raise SystemExit(oracle_page(__doc__, "ns2-wimax", _page))
