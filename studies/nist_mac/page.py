"""`python -m studies.nist_mac.page [FILE]`: the medium beside NIST's module, as Markdown.

`make nist-mac` writes it to docs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from studies.nist_mac import cells
from studies.nist_mac.network import Network
from studies.nist_mac.transfers import CLEAR_GAIN, FRAME_MS, TOLERANCE, Downloads, Gain, downloads
from studies.outcome_files import oracle_page

TITLE = """# WiMAX beside NIST's module for ns-2

Written by `make nist-mac` from tables of ns-2.35 with NIST's 802.16 module, in the folder `ns2-wimax` of
ACKCLOCK_ORACLES. `released` is the bookkeeping of requests as NIST published it, `corrected` lets a request
take effect with the next map ([the medium](../models/wimax.md)). 7 MHz, frames of 5 ms, 64-QAM 3/4,
contention size 5, back-off 2 to 6, T16 0.1 s, split 3:1 unless a column says otherwise; the split is
downlink to uplink.

Packets of a station are 20 B longer on the air than the tables' `packet_bytes`: the module's nodes run DSDV,
which adds an IP header to what they send. The tables' rates count it, and so do these. A queue of the cell
has 49 packets here: the module's 50 count one of which a part was sent.
"""
CAPACITY = """
## Capacity

A cell beyond its capacity, Mb/s of all stations, in packets whose intervals vary at random by a half.

| direction | packet, B | split | stations | bookkeeping | module | here | | |
|---|--:|---|--:|---|--:|--:|--:|---|
"""
DELAY = """
## Delay without TCP

Single packets at random times: quantiles of the one-way delay over the air in ms, and the packets of 1000
that did not arrive, the module's / ours. `gap` is the mean interval of a station's packets in ms; `idle` 0.25
to 0.35 s, `light` 20 to 60 ms, else from 0 to twice the mean. `near`: the median lies within 10 % or 0.5 ms
of the module's, the 95 % quantile within 10 % or 1 ms.

| case | direction | packet, B | split | gap | contention size | back-off | bookkeeping | min | p50 | p95 | max | lost | near |
|---|---|--:|---|--:|--:|---|---|--:|--:|--:|--:|--:|---|
"""
QUANTILES = """
The whole distribution at 3:1 where the module's is given: the largest difference between the two quantile
functions from 1 to 99 %, in ms, where it lies, and the mean difference.

| case | packet, B | bookkeeping | largest, ms | at quantile, % | mean, ms |
|---|--:|---|--:|--:|--:|
"""
TCP = f"""
## TCP

Bulk downloads for 100 s with ns-2's host, recovery `tcp-linux` and SACK, one flow for each station: goodput
of a flow in Mb/s, of the module the mean of its seeds with their range, ours of two seeds, and quartiles of
the RTT of segments sent once, in ms, where the module's run was traced. `westwood` is TCP-Linux's Westwood+
(`westwood-ns2`).

Goodput is met within {TOLERANCE[1]:.0%} (one flow) or {TOLERANCE[6]:.0%} (six) of the range of the module's seeds, the RTT where
each quartile is within a frame of {FRAME_MS:g} ms, a gain over reno above {CLEAR_GAIN:.0%} where ours has its sign.
"""
DIFFERENCES = """
## What differs

- Vegas is faster here in most rows. ns-2's first segment has the size of a SYN and gives Vegas its BaseRTT;
  here data alone do. Plain ns-2 without the cell shows the same
  ([tcp-linux](../models/rate-halving.md#tcp-linux)). Not modeled.
- One flow at 6:1, released: the cell has two states. In the module's runs the ACKs' queue never empties, here
  the station waits for T16 after each batch. Unexplained.
- T16 of 3 s with the released bookkeeping: a few packets a second, of which each wait is a large part.
- Six stations at 5:1, corrected: the module's seeds differ by a factor of two, too.
"""
SECTIONS = {
    "base": ("Without errors", ("stations", "dl_ul")),
    "contention": ("Contention size and back-off, six flows", ("contention_size", "backoff_start")),
    "scenario 1": ("Scenario 1: one flow, errors on the wired hop", ("per",)),
    "scenario 1, errors on the air": ("Scenario 1 with the errors on the air", ("per",)),
    "scenario 3": ("Scenario 3: six flows", ("dl_ul", "per")),
    "phase": ("Wired delay and jitter, errors of 1e-3", ("wired_delay_ms", "jitter_ms")),
    "T16": ("T16", ("stations", "per", "t16_s")),
}
"""A table's title, and the columns that it varies."""
NAMES = {
    "dl_ul": "split",
    "per": "errors",
    "contention_size": "contention size",
    "backoff_start": "back-off from",
    "wired_delay_ms": "wired delay, ms",
    "jitter_ms": "jitter, ms",
    "t16_s": "T16, s",
}


def _capacity(folder: Path, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield CAPACITY
    every = list(cells.capacities(folder))
    met = 0
    for cell, mbps in zip(every, pool.map(cells.Capacity.mbps, every), strict=True):
        network, off = cell.network, mbps / cell.module_mbps - 1
        near = abs(off) <= TOLERANCE[network.stations]
        met += near
        yield (
            f"| {cell.direction} | {cell.packet_bytes} | {network.dl_ul} | {network.stations} | {network.bookkeeping}"
            f" | {cell.module_mbps:.3f} | {mbps:.3f} | {off:+.1%} | {_met(near)} |\n"
        )
    yield f"\n{met} of {len(every)} are within 10 % (one station) or 20 % (six).\n"


def _delay(folder: Path, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield DELAY
    every = list(cells.delays(folder))
    met = 0
    for cell, ours in zip(every, pool.map(cells.Delays.figures, every), strict=True):
        network, theirs = cell.network, cell.module
        near = all(
            abs(ours[column] - theirs[column]) <= max(0.1 * theirs[column], slack_ms)
            for column, slack_ms in (("p50_ms", 0.5), ("p95_ms", 1.0))
        )
        met += near
        pairs = " | ".join(
            f"{theirs[column]:.1f} / {ours[column]:.1f}" for column in ("min_ms", "p50_ms", "p95_ms", "max_ms")
        )
        yield (
            f"| {cell.case} | {cell.direction} | {cell.packet_bytes} | {network.dl_ul} | {cell.mean_gap_ms:g}"
            f" | {network.contention_size} | {network.backoff_start} to {network.backoff_stop} | {network.bookkeeping}"
            f" | {pairs} | {theirs['lost']:.1f} / {ours['lost']:.1f} | {_met(near)} |\n"
        )
    yield f"\n{met} of {len(every)} are near.\n" + QUANTILES
    for case, size, bookkeeping, theirs_ms in cells.delay_quantiles(folder):
        cell = next(each for each in every if _quantile_case(each) == (case, size, bookkeeping))
        delays = cell.delays_ms()
        off = [cells.quantile(delays, at / 100) - theirs_ms[at] for at in range(1, 100)]
        worst = max(range(99), key=lambda at: abs(off[at]))
        yield f"| {case} | {size} | {bookkeeping} | {off[worst]:+.1f} | {worst + 1} | {sum(off) / 99:+.2f} |\n"


def _quantile_case(cell: cells.Delays) -> tuple[str, int, str]:
    """A row of the other table by the names of the quantiles' table; it has the defaults at 3:1."""
    network = cell.network
    loaded = f"{cell.case.split(',')[0]}, {cell.mean_gap_ms:g} ms"
    case = f"idle {cell.direction}" if cell.case == "idle" else loaded
    default = Network(bookkeeping=network.bookkeeping, stations=network.stations, wired_delay_ms="1")
    return (case if network == default else "", cell.packet_bytes, network.bookkeeping)


def _tcp(folder: Path, table: str, pool: ProcessPoolExecutor) -> Iterator[str]:
    title, columns = SECTIONS[table]
    yield f"\n### {title}\n\n| " + " | ".join(NAMES.get(column, column) for column in columns)
    yield " | bookkeeping | scheme | module | here | | | gain, module | here | | RTT, module | here | |\n"
    yield "|--:" * len(columns) + "|---|---|--:|--:|--:|---|--:|--:|---|--:|--:|---|\n"
    every = downloads(folder, table)
    rows = list(pool.map(_figures, every))
    counts = {"goodput": [0, 0], "gains": [0, 0], "RTT": [0, 0]}
    reno: tuple[Downloads, float] | None = None
    for each, (mbps, near, quartiles, near_rtts) in zip(every, rows, strict=True):
        low, high = min(each.goodputs_mbps), max(each.goodputs_mbps)
        _count(counts["goodput"], near)
        gain = " |  | "
        if each.scheme == "linux-reno":
            reno = (each, mbps)
        elif reno is not None and reno[0].network == each.network:
            pair = Gain(each.module_mbps / reno[0].module_mbps - 1, mbps / reno[1] - 1)
            gain = f"{pair.module:+.0%} | {pair.ours:+.0%} | {_met(pair.has_sign) if pair.is_clear else ''}"
            if pair.is_clear:
                _count(counts["gains"], pair.has_sign)
        rtts = " |  | "
        if each.rtt_ms:
            _count(counts["RTT"], near_rtts)
            rtts = f"{_slashed(each.rtt_ms)} | {_slashed(quartiles)} | {_met(near_rtts)}"
        settings = " | ".join(str(getattr(each.network, column)) for column in columns)
        span = f" ({low:.2f} to {high:.2f})" if high > 1.05 * low else ""
        yield (
            f"| {settings} | {each.network.bookkeeping} | {each.scheme.removeprefix('linux-')} | {each.module_mbps:.2f}{span}"
            f" | {mbps:.2f} | {mbps / each.module_mbps - 1:+.0%} | {_met(near)} | {gain} | {rtts} |\n"
        )
    summary = (f"{what}: {met} of {all_} met" for what, (met, all_) in counts.items() if all_)
    yield f"\n{'; '.join(summary)}.\n"


def _figures(each: Downloads) -> tuple[float, bool, tuple[float, ...], bool]:
    """What costs time of a row, computed in one worker."""
    quartiles = each.quartiles_ms() if each.rtt_ms else ()
    return each.mbps(), each.is_near(), quartiles, bool(each.rtt_ms) and each.has_near_rtts()


def _count(count: list[int], met: bool) -> None:
    count[0] += met
    count[1] += 1


def _met(met: bool) -> str:
    return "yes" if met else "no"


def _slashed(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.0f}" for value in values)


def _page(folder: Path) -> Iterable[str]:
    with ProcessPoolExecutor() as pool:
        yield TITLE
        yield from _capacity(folder, pool)
        yield from _delay(folder, pool)
        yield TCP
        for table in SECTIONS:
            yield from _tcp(folder, table, pool)
        yield DIFFERENCES


if __name__ == "__main__":
    raise SystemExit(oracle_page(__doc__, "ns2-wimax", _page))
