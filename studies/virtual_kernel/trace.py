"""The sender of a row by the kernel and by the simulator, side by side: where a miss begins.

`python -m studies.virtual_kernel.trace ROW [--seed N] [--from S] [--to S] [--every S]` prints cwnd
and ssthresh (segments), smoothed RTT (ms) and retransmissions of the row's first flow over time,
from the instant when the server accepts the connection.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ackclock
from studies.virtual_kernel import draws, guest
from studies.virtual_kernel.build import MISSING, Unavailable, build
from studies.virtual_kernel.runs import lost_numbers, netem_seed
from studies.virtual_kernel.setups import FIRST_PORT, Row, rows

INFINITE = 10**6
"""Thresholds above are infinite."""


def kernel_samples(row: Row, seed: int, draw: draws.Draws) -> list[dict[str, float]]:
    """TCP_INFO of the first flow, every 20 ms. Raises Unavailable and guest.Failed."""
    with guest.run(build(), row.script(seed, netem_seed(row, seed, draw)), seed) as folder:
        samples = (folder / f"send-{FIRST_PORT}.csv").read_text("ascii").splitlines()
    return [{name: float(value) for name, value in line.items()} for line in csv.DictReader(samples)]


def simulator_samples(row: Row, seed: int, draw: draws.Draws) -> list[dict[str, Any]]:
    """The same instants of the simulator's first flow."""
    flows, duration = row.scenario(seed)
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "link.toml"
        link.write_text(row.link(seed, lost_numbers(row, seed, draw)), encoding="utf-8")
        run = ackclock.simulate(str(link), flows, duration, seeds=(seed,), sample="20 ms", phase_jitter=False)
    series = run.series
    first = series["flow"][0]
    return [sample for sample in series.iter_rows(named=True) if sample["flow"] == first]


HANDSHAKE_RTTS = 1.5
"""From the client's SYN, the simulator's zero, to the server's accept(), the kernel's."""


def _at(samples: Sequence[Mapping[str, Any]], column: str, second: float) -> Mapping[str, Any]:
    return next((sample for sample in samples if sample[column] >= second), samples[-1])


def lines(row: Row, seed: int, span: tuple[float, float], every_s: float) -> Iterator[str]:
    draw = draws.read()
    kernel, simulator = kernel_samples(row, seed, draw), simulator_samples(row, seed, draw)
    # The kernel's first sample has the RTT of the handshake.
    accepted_s = HANDSHAKE_RTTS * kernel[0]["srtt_us"] / 1e6
    mss = 1428 if row.path.ip == 6 else 1448
    yield f"{'s':>7} | {'cwnd':>5} {'':>5} | {'ssthresh':>8} {'':>8} | {'RTT':>6} {'':>6} | retransmissions"
    for step in range(int((span[1] - span[0]) / every_s) + 1):
        second = span[0] + step * every_s
        k, s = _at(kernel, "at_s", second), _at(simulator, "time_s", second + accepted_s)
        thresholds = [k["ssthresh"], (s["ssthresh_bytes"] or INFINITE * mss) / mss]
        shown = [f"{value:.0f}" if value < INFINITE else "-" for value in thresholds]
        yield (
            f"{second:7.2f} | {k['cwnd']:5.0f} {(s['cwnd_bytes'] or 0) / mss:5.0f} | {shown[0]:>8} {shown[1]:>8} | "
            f"{k['srtt_us'] / 1e3:6.1f} {s['srtt_ms'] or 0:6.1f} | "
            f"{k['total_retrans']:6.0f} {s['retransmitted_segments']:6.0f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="A row by the kernel and by the simulator over time.")
    parser.add_argument("row", metavar="ROW", help='such as "1 BDP/cubic"')
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", type=float, default=0.0, dest="first", metavar="S")
    parser.add_argument("--to", type=float, default=60.0, dest="last", metavar="S")
    parser.add_argument("--every", type=float, default=1.0, metavar="S")
    options = parser.parse_args()
    row = next((row for row in rows() if row.name == options.row), None)
    if row is None:
        sys.stderr.write("trace: no such row; they are:\n" + "\n".join(row.name for row in rows()) + "\n")
        return 2
    try:
        for line in lines(row, options.seed, (options.first, options.last), options.every):
            print(line)
    except Unavailable as why:
        sys.stderr.write(f"trace: skipped: {why}\n")
        return MISSING
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
