"""`python -m studies.nist_mac.page [FILE]`: the medium beside NIST's module, as Markdown.

`make nist-mac` writes it to docs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from studies.nist_mac.cells import capacities, downloads, lossy_downloads

TITLE = """# WiMAX beside NIST's module for ns-2

Written by `make nist-mac` from tables of ns-2.35 with NIST's 802.16 module (two seeds each), in the folder
`ns2-wimax` of ACKCLOCK_ORACLES. `released` is the bookkeeping of requests as NIST published it, `corrected`
lets a request take effect with the next map ([the medium](../models/wimax.md)). 7 MHz, frames of 5 ms,
64-QAM 3/4, contention size 5; the split is downlink to uplink.

Packets of a station are 20 B longer on the air than the tables' `packet_bytes`: the module's nodes run DSDV,
which adds an IP header to what they send. The tables' rates count it, and so do these.
"""
CAPACITY = """
## Capacity

A cell beyond its capacity, Mb/s of all stations. The module's intervals vary at random by a half, here
they are constant: where a station's request is as large as the data before it (small packets, released,
one station) one packet more or less decides whether it waits for T16.

| direction | packet, B | split | stations | bookkeeping | module | here | |
|---|--:|---|--:|---|--:|--:|--:|
"""
TCP = """
## TCP

Bulk downloads for 100 s without errors, one for each station: goodput of a flow in Mb/s and the median RTT
in ms. ns-2's host with reno, rate halving and SACK.

| stations | split | bookkeeping | module | here | | RTT module | here | |
|--:|---|---|--:|--:|--:|--:|--:|--:|
"""
LOSSY = """
## Scenario 1

One download at 3:1 with SACK, its data lost on the wired hop in a share of the time (5 ms in a row on
average): goodput in Mb/s, means of four seeds, and the gain over reno in %. `westwood` is TCP-Linux's, here
`westwood+`; RTTs keep to the grid of frames, as the wired hop has no jitter.

| share | bookkeeping | scheme | module | here | | gain, module | here |
|--:|---|---|--:|--:|--:|--:|--:|
"""
TOLERANCE = {1: 0.10, 6: 0.20}
"""Of goodput, by stations."""


def _page(folder: Path) -> Iterable[str]:
    yield TITLE + CAPACITY
    held, rows = 0, 0
    for cell in capacities(folder):
        mbps = cell.mbps()
        off = mbps / cell.module_mbps - 1
        held, rows = held + (abs(off) <= TOLERANCE[cell.stations]), rows + 1
        yield (
            f"| {cell.direction} | {cell.packet_bytes} | {cell.ratio} | {cell.stations} | {cell.bookkeeping}"
            f" | {cell.module_mbps:.3f} | {mbps:.3f} | {off:+.1%} |\n"
        )
    yield f"\n{held} of {rows} are within 10 % (one station) or 20 % (six).\n" + TCP
    within = {1: 0, 6: 0}
    total = dict(within)
    for tcp in downloads(folder):
        mbps, rtt_ms = tcp.figures()
        off, late = mbps / tcp.module_mbps - 1, rtt_ms / tcp.module_rtt_ms - 1
        within[tcp.stations] += abs(off) <= TOLERANCE[tcp.stations]
        total[tcp.stations] += 1
        yield (
            f"| {tcp.stations} | {tcp.ratio} | {tcp.bookkeeping} | {tcp.module_mbps:.2f} | {mbps:.2f} | {off:+.1%}"
            f" | {tcp.module_rtt_ms:.1f} | {rtt_ms:.1f} | {late:+.1%} |\n"
        )
    yield (
        f"\nOne flow: {within[1]} of {total[1]} within 10 % of the goodput; six flows: {within[6]} of {total[6]} within 20 %.\n"
    )
    yield from _scenario_1(folder)


def _scenario_1(folder: Path) -> Iterable[str]:
    yield LOSSY
    near = rows = signs = gains = 0
    reno = (0.0, 0.0)
    for cell in lossy_downloads(folder):
        mbps = cell.mbps()
        off = mbps / cell.module_mbps - 1
        near, rows = near + (abs(off) <= 0.1), rows + 1
        gain = ""
        if cell.scheme == "linux-reno":
            reno = (cell.module_mbps, mbps)
        else:
            theirs, ours = cell.module_mbps / reno[0] - 1, mbps / reno[1] - 1
            gain = f"{theirs:+.0%} | {ours:+.0%}"
            if abs(theirs) > 0.1:
                gains, signs = gains + 1, signs + (theirs * ours > 0)
        yield (
            f"| {cell.loss} | {cell.bookkeeping} | {cell.scheme.removeprefix('linux-')} | {cell.module_mbps:.2f}"
            f" | {mbps:.2f} | {off:+.1%} | {gain or ' | '} |\n"
        )
    yield f"\n{near} of {rows} within 10 % of the goodput; {signs} of {gains} gains above 10 % have the module's sign.\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="the page; the terminal without it")
    options = parser.parse_args()
    if "ACKCLOCK_ORACLES" not in os.environ:
        sys.stderr.write("skipped: ACKCLOCK_ORACLES names no folder with ns2-wimax\n")
        return 0
    text = "".join(_page(Path(os.environ["ACKCLOCK_ORACLES"]) / "ns2-wimax"))
    if options.file is None:
        sys.stdout.write(text)
    else:
        options.file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
