"""`python -m studies.analyzer.host_accuracy [FOLDER..]`: the analyzer's retransmissions beside the
kernel's counters.

A folder has captures `NAME.client.pcap` and `NAME.server.pcap` (also .gz) and the counters of both
hosts in `NAME.nstat.txt`, as `host_captures.py` writes them. Without a folder the shared captures
are read (`captures-host` and `captures` in $ACKCLOCK_ORACLES). Each capture has a row for each host
that retransmitted, or is said to have: kernel/analyzer. A row is OK if the totals are equal and
fast, go-back-N and timeouts are within 3 % or 2 of the kernel's. Probes are shown and not judged.
The exit status is 1 if a row is a MISS.

At the host's own end the capture has every retransmission. At the peer's end it lacks those that
were lost on the path (`lost`, from both captures joined), and those of a tail or a handshake whose
first copy was lost look like first transmissions: nothing shows a hole. A total may be lower by all
of these, a cause by `lost`. tshark (tcp.analysis.retransmission) and tcptrace (rexmt data pkts)
stand beside, at the host's own end and where they are installed; both count a super-segment as one
packet.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ackclock import analyze
from ackclock.documents.analyze import Side
from studies.analyzer.kernel_counters import KernelRetransmissions, read_counters

CAUSES = ("fast", "go_back_n", "timeouts")
SHARED = ("captures-host", "captures")
TOLERANCE, TOLERANCE_COUNT = 0.03, 2
_HOSTS = ("client", "server")


@dataclass(frozen=True)
class CapturePair:
    """The captures of one run by the end at which they were taken, and the kernel's counters."""

    name: str
    captures: dict[str, Path]
    counters: Path


@dataclass(frozen=True)
class Retransmissions:
    """A host's retransmissions by cause, as the analyzer reports them."""

    total: int
    fast: int
    go_back_n: int
    timeouts: int
    tlp_retransmits: int
    new_data_probes: int


@dataclass(frozen=True)
class Row:
    """A host in one capture: the kernel's figures and the analyzer's."""

    name: str
    end: str
    host: str
    kernel: KernelRetransmissions
    analyzer: Retransmissions
    peers: str = ""
    lost: int = 0

    @property
    def own(self) -> bool:
        return self.end == self.host

    @property
    def misses(self) -> list[str]:
        """The figures that break the rule."""
        of_tails = self.kernel.handshake + self.kernel.tlp_retransmits + self.kernel.timeouts
        unseen = 0 if self.own else self.lost + of_tails
        wrong = [] if self.kernel.total - unseen <= self.analyzer.total <= self.kernel.total else ["total"]
        return wrong + [
            cause
            for cause in CAUSES
            if not within(getattr(self.analyzer, cause), getattr(self.kernel, cause), self.lost)
        ]


def within(reported: int, true: int, lost: int = 0) -> bool:
    """Whether a count is within 3 % or 2 of the true one; at the peer's end `lost` ones may be
    missing."""
    error = max(0, abs(reported - true) - (lost if reported < true else 0))
    return error <= max(TOLERANCE_COUNT, TOLERANCE * true)


def capture_pairs(folder: Path) -> Iterator[CapturePair]:
    """The runs in a folder that have counters, by name."""
    for counters in sorted(folder.glob("*.nstat.txt")):
        name = counters.name.removesuffix(".nstat.txt")
        found = {end: path for end in _HOSTS for path in sorted(folder.glob(f"{name}.{end}.pcap*"))}
        if found:
            yield CapturePair(name, found, counters)


def rows(pair: CapturePair, *, peers: bool = True) -> Iterator[Row]:
    """A row for each capture and each host with retransmissions, by the kernel or the analyzer."""
    counters = read_counters(pair.counters)
    kernel = {host: KernelRetransmissions.of(counters.get(host, {})) for host in _HOSTS}
    reported = {end: _reported(path) for end, path in pair.captures.items()}
    lost = lost_retransmissions(pair)
    programs = {end: peer_programs(path) if peers else {} for end, path in pair.captures.items()}
    for end in pair.captures:
        for host in _HOSTS:
            of = reported[end][host]
            if kernel[host].total or of.total or of.new_data_probes or kernel[host].new_data_probes:
                beside = programs[end].get(host, "") if end == host else ""
                yield Row(pair.name, end, host, kernel[host], of, beside, lost[host] if end != host else 0)


def lost_retransmissions(pair: CapturePair) -> dict[str, int]:
    """By sending host, the retransmissions of data that the capture at the other end lacks; 0
    without both captures."""
    if len(pair.captures) < len(_HOSTS):
        return dict.fromkeys(_HOSTS, 0)
    ends: tuple[tuple[str, str, Side], ...] = (("client", "server", "a2b"), ("server", "client", "b2a"))
    return {
        own: _lost_retransmissions(pair.captures[own], pair.captures[peer], direction) for own, peer, direction in ends
    }


def _lost_retransmissions(own: Path, peer: Path, direction: Side) -> int:
    """Lost packets that carry bytes below the highest sequence number that the host sent before, as
    its own capture has them."""
    joined = analyze(own, peer, series=True)
    assert joined.series is not None
    sent = joined.series.filter((pl.col("capture") == 1) & (pl.col("way") == direction) & (pl.col("payload_bytes") > 0))
    highest = (pl.col("seq") + pl.col("payload_bytes")).cum_max().shift(1).over("flow")
    repeated = set(
        sent.filter(pl.col("seq") < highest).select("flow", (pl.col("time_s") * 1e6).round().cast(pl.Int64)).iter_rows()
    )
    start, count = joined.document["start_s"], 0
    for flow in joined.document["flows"]:
        lost = flow[direction].get("lost") or {"packets": []}
        times = [round((packet["time_s"] - start) * 1e6) for packet in lost["packets"] if packet["bytes"]]
        count += sum(any((flow["flow"], time + slack) in repeated for slack in (-1, 0, 1)) for time in times)
    return count


def _reported(path: Path) -> dict[str, Retransmissions]:
    """The analyzer's sums over all flows, by host."""
    sums = {host: Counter[str]() for host in _HOSTS}
    for flow in analyze(path).document["flows"]:
        for host, direction in (("client", flow["a2b"]), ("server", flow["b2a"])):
            sums[host].update(_counts(direction))
    return {
        host: Retransmissions(**{name: of[name] for name in Retransmissions.__dataclass_fields__})
        for host, of in sums.items()
    }


def _counts(direction: Any) -> dict[str, int]:
    causes = direction["causes"]
    return {
        "total": direction["retransmitted_segments"],
        "fast": direction["fast_retransmits"],
        "go_back_n": direction["go_back_n_retransmits"],
        "timeouts": direction["rto_retransmits"],
        "tlp_retransmits": causes.get("tail_probe", {"count": 0})["count"],
        "new_data_probes": direction["repairs"]["new_data_probes"],
    }


def peer_programs(path: Path) -> dict[str, str]:
    """Retransmissions by host, as `tshark/tcptrace` counts them; `-` for a program that is not
    installed."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "capture.pcap"
        plain.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
        client = _client_address(path)
        tshark, tcptrace = _tshark(plain, client), _tcptrace(plain, client)
    return {
        host: f"{tshark.get(host, 0) if tshark else '-'}/{tcptrace.get(host, 0) if tcptrace else '-'}"
        for host in _HOSTS
    }


def _client_address(path: Path) -> str:
    flows = analyze(path).document["flows"]
    return str(flows[0]["client"]).rpartition(":")[0].strip("[]") if flows else ""


def _tshark(path: Path, client: str) -> Counter[str] | None:
    if shutil.which("tshark") is None:
        return None
    fields = ["-e", "ip.src", "-e", "ipv6.src"]
    command = ["tshark", "-n", "-r", str(path), "-Y", "tcp.analysis.retransmission", "-T", "fields", *fields]
    sources = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    counts = Counter("client" if source.strip() == client else "server" for source in sources if source.strip())
    return counts + Counter({"present": 1})


def _tcptrace(path: Path, client: str) -> Counter[str] | None:
    if shutil.which("tcptrace") is None:
        return None
    command = ["tcptrace", "-l", "-n", "--csv", str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    table = [[cell.strip() for cell in line.split(",")] for line in lines if line and not line.startswith("#")]
    counts = Counter({"present": 1})
    if table:
        header = table[0]
        columns = {name: header.index(name) for name in ("host_a", "rexmt_data_pkts_a2b", "rexmt_data_pkts_b2a")}
        for cells in table[1:]:
            if len(cells) == len(header):
                a, b = ("client", "server") if cells[columns["host_a"]] == client else ("server", "client")
                counts[a] += int(cells[columns["rexmt_data_pkts_a2b"]])
                counts[b] += int(cells[columns["rexmt_data_pkts_b2a"]])
    return counts


HEADER = (
    "capture",
    "at",
    "host",
    "total",
    "fast",
    "go-back-N",
    "timeout",
    "TLP",
    "new-data probe",
    "lost",
    "tshark/tcptrace",
    "",
)


def cells(row: Row) -> tuple[str, ...]:
    """The row's text: kernel/analyzer in each column of figures."""
    names = ("total", "fast", "go_back_n", "timeouts", "tlp_retransmits", "new_data_probes")
    figures = [f"{getattr(row.kernel, name)}/{getattr(row.analyzer, name)}" for name in names]
    verdict = f"MISS {', '.join(row.misses)}" if row.misses else "OK"
    return (row.name, row.end, row.host, *figures, str(row.lost or ""), row.peers, verdict)


def table(lines: Sequence[tuple[str, ...]]) -> str:
    """Columns aligned: names left, figures right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = []
    for line in lines:
        aligned = [
            cell.ljust(width) if i < 3 or i == len(line) - 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(aligned).rstrip())
    return "\n".join(text)


def main() -> int:
    """Print the table of the folders that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.analyzer.host_accuracy",
        description="The analyzer's retransmissions beside the kernel's counters.",
    )
    parser.add_argument("folder", nargs="*", type=Path)
    parser.add_argument("--no-peers", action="store_true", help="without tshark and tcptrace")
    arguments = parser.parse_args()
    folders = arguments.folder
    if not folders:
        if "ACKCLOCK_ORACLES" not in os.environ:
            parser.error("name a folder, or set ACKCLOCK_ORACLES")
        folders = [Path(os.environ["ACKCLOCK_ORACLES"]) / name for name in SHARED]
    pairs = [list(capture_pairs(folder)) for folder in folders]
    if empty := [str(folder) for folder, of in zip(folders, pairs, strict=True) if not of]:
        parser.error(f"no captures with NAME.nstat.txt in {', '.join(empty)}")
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda pair: list(rows(pair, peers=not arguments.no_peers)), itertools.chain(*pairs)))
    all_rows = [row for some in found for row in some]
    print(table([HEADER, *map(cells, all_rows)]))
    for own in (True, False):
        of_end = [row for row in all_rows if row.own == own]
        right = sum(not row.misses for row in of_end)
        print(f"{right} of {len(of_end)} rows OK at the {'own' if own else 'peer'} end")
    return int(any(row.misses for row in all_rows))


if __name__ == "__main__":
    sys.exit(main())
