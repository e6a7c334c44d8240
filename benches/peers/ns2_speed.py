"""ackclock and ns-2: CPU seconds per million delivered data packets for the same cases.

Runs of both programs alternate, so that other load affects both alike. CPU time is that of the
child process (user and system), start-up included. Without an `ns` program it prints one line and
exits 0.

usage: python3 -m benches.peers.ns2_speed [--binary target/release/ackclock-bench] [--repeats 5]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from benches.programs import Child, run

SCRIPT = Path(__file__).with_name("speed.tcl")


@dataclass(frozen=True)
class Case:
    """Bulk flows through one bottleneck; `name` is the case of `ackclock-bench`."""

    name: str
    flows: int
    rate_bps: float
    seconds: float
    target: float


CASES = [
    Case("one-1g", 1, 1e9, 6, target=8),
    Case("hundred-1g", 100, 1e9, 6, target=15),
    Case("one-10m", 1, 1e7, 600, target=9),
]


@dataclass(frozen=True)
class Cost:
    """Several runs of one program on one case: delivered data packets and CPU seconds per million
    of them.
    """

    packets: int
    cpu_s_per_million: list[float]
    peak_rss_kb: int

    @property
    def min(self) -> float:
        return min(self.cpu_s_per_million)

    @property
    def median(self) -> float:
        return statistics.median(self.cpu_s_per_million)


def ns2_available() -> str | None:
    return shutil.which("ns")


def run_ns2(ns: str, case: Case) -> tuple[int, Child]:
    child = run([ns, str(SCRIPT), str(case.flows), str(case.rate_bps), str(case.seconds)])
    word = child.output.split()
    if word[word.index("retransmitted") + 1] != "0":
        raise RuntimeError(f"ns-2 lost packets in {case.name}: {child.output.strip()}")
    return int(word[word.index("delivered") + 1]), child


def run_ours(binary: Path, case: Case) -> tuple[int, Child]:
    child = run([str(binary), case.name, "--seconds", str(case.seconds)])
    return int(json.loads(child.output)["data_packets"]), child


def cost(runs: list[tuple[int, Child]]) -> Cost:
    packets = {packets for packets, _ in runs}
    if len(packets) != 1:
        raise RuntimeError(f"the same run delivered different numbers of packets: {sorted(packets)}")
    children = [child for _, child in runs]
    (delivered,) = packets
    return Cost(
        packets=delivered,
        cpu_s_per_million=[child.cpu_s / delivered * 1e6 for child in children],
        peak_rss_kb=max(child.peak_rss_kb for child in children),
    )


def compare(binary: Path, ns: str, case: Case, repeats: int) -> tuple[Cost, Cost]:
    """Costs of ackclock and ns-2 for one case, from alternating runs."""
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(run_ours(binary, case))
        theirs.append(run_ns2(ns, case))
    return cost(ours), cost(theirs)


def table(binary: Path, ns: str, repeats: int) -> list[str]:
    """The comparison as lines of text."""
    head = f"{'case':14} {'packets ours':>12} {'ns-2':>8}  {'ours min':>8} {'median':>7}  {'ns-2 min':>8} {'median':>7}"
    lines = [head + f"  {'ratio min':>9} {'median':>7}  {'target':>6}  {'RSS MB':>6} {'ns-2':>5}"]
    for case in CASES:
        ours, theirs = compare(binary, ns, case, repeats)
        ratio = theirs.min / ours.min
        lines.append(
            f"{case.name:14} {ours.packets:12,} {theirs.packets:8,}"
            f"  {ours.min:8.3f} {ours.median:7.3f}  {theirs.min:8.3f} {theirs.median:7.3f}"
            f"  {ratio:8.1f}x {theirs.median / ours.median:6.1f}x  {case.target:5.0f}x"
            f"  {ours.peak_rss_kb / 1024:6.1f} {theirs.peak_rss_kb / 1024:5.1f}{'' if ratio >= case.target else '  UNDER'}"
        )
    return lines


def arguments(doc: str | None) -> argparse.Namespace:
    """Options of a comparison with a peer."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--binary", type=Path, default=Path("target/release/ackclock-bench"))
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


def main() -> int:
    args = arguments(__doc__)
    ns = ns2_available()
    if ns is None:
        print("skip: ns-2 (`ns`) is not installed, so there is no ratio to it")
        return 0
    print("CPU seconds per million delivered data packets; ns-2 with lean headers, runs alternate")
    print("\n".join(table(args.binary, ns, args.repeats)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
