"""The same stack by real sockets: noq with rustls (crates/quic-peer) in `ackclock emulate` beside
the simulator's runs of the link, which tests the adapter and both drivers of a link.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

import ackclock
from ackclock.errors import RunFailed
from ackclock.format import three
from studies.kernel.runs import STEAL_PERCENT
from studies.quic.runs import LINKS as STUDIED
from studies.quic.runs import QUIC, packaged

LINKS = tuple("cable-ethernet" if link == "adsl2plus" else link for link in STUDIED)
"""Those of the study; the emulator's audit cannot bound what lateness does to ATM cells."""
UPLOAD_LINKS = ("dsl-16m", "cable-ethernet", "wimax-nist", "lte-fixed-10m")
"""Links whose uplink is asked about, too."""
CONTROL = "noq-cubic"
SEEDS = (1, 2, 3)
SIMULATED = tuple(range(1, 11))
SECONDS = 20
ATTEMPTS = 3
SERVER_FIRST = "sleep 0.3; exec "
"""The client begins when the server listens: no port of UDP shows that it does."""


def peer() -> str | None:
    """The program, which `make quic-peer` builds; None where it was not built."""
    beside = Path(sys.executable).with_name("ackclock-quic-peer")
    return str(beside) if beside.is_file() else shutil.which("ackclock-quic-peer")


@dataclass(frozen=True)
class Figures:
    """Of a transfer: goodput in b/s, the mean of the sender's RTT in ms, packets declared lost."""

    goodput_bps: float
    rtt_ms: float
    lost: float
    sent: float


@dataclass(frozen=True)
class SocketCase:
    """A transfer over an emulated link."""

    link: str
    seed: int
    direction: str = "down"

    @property
    def key(self) -> str:
        """What a kept run is found by."""
        case = {"link": self.link, "seed": self.seed}
        if self.direction == "up":
            case["direction"] = "up"
        text = json.dumps(["sockets", case, SECONDS, CONTROL, packaged(self.link)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def programs(self, program: str, sender: Path, receiver: Path) -> tuple[list[str], list[str]]:
        """The client's command and the server's, which write what sender and receiver found."""
        sends = [CONTROL, str(SECONDS), str(sender)]
        receives = [str(SECONDS), str(receiver)]
        if self.direction == "up":
            return [program, "upload", *sends], [program, "sink", *receives]
        return [program, "fetch", *receives], [program, "serve", *sends]

    def run(self, program: str) -> dict[str, Any]:
        """The figures of a valid run. Raises RunFailed."""
        why = ""
        for _ in range(ATTEMPTS):
            with tempfile.TemporaryDirectory(prefix="quic-sockets-") as scratch:
                sender, receiver = (Path(scratch) / f"{end}.json" for end in ("sender", "receiver"))
                client, server = self.programs(program, sender, receiver)
                done = ackclock.emulate(
                    packaged(self.link),
                    ["sh", "-c", f"{SERVER_FIRST}{shlex.join(client)}"],
                    server=server,
                    server_ready="none",
                    seed=self.seed,
                    log=False,
                    out=Path(scratch) / "run",
                ).document
                steal = done["steal_percent"]
                if not done["valid"] or steal > STEAL_PERCENT:
                    why = done["why"] or f"{steal:.1f} % of the CPU was stolen"
                    continue
                if not (sender.is_file() and receiver.is_file()):
                    why = f"the programs ended with status {done['command']['exit']}"
                    continue
                sent, got = (json.loads(file.read_text("utf-8")) for file in (sender, receiver))
            figures = Figures(
                8 * got["bytes"] / SECONDS, statistics.fmean(sent["rtt_ms"]), sent["lost_packets"], sent["sent_packets"]
            )
            return {"sockets": True, "steal_percent": steal, "grade": done["grade"], "figures": asdict(figures)}
        raise RunFailed(f"{self.link}, seed {self.seed}: {why}")


def socket_cases() -> list[SocketCase]:
    """Each link with each seed, and uploads."""
    downloads = [SocketCase(link, seed) for link in LINKS for seed in SEEDS]
    return downloads + [SocketCase(link, seed, "up") for link in UPLOAD_LINKS for seed in SEEDS]


def simulated(link: str, direction: str = "down") -> list[Figures]:
    """The figures of the simulator, one for each seed."""
    flow = {
        "name": "f",
        "direction": direction,
        "transport": QUIC,
        "workload": {"kind": "bulk"},
        "quic": {"control": CONTROL, "certificate": "900 B"},
    }
    done = ackclock.simulate(
        {"hop": packaged(link)["hop"]}, [flow], duration=f"{SECONDS} s", seeds=list(SIMULATED), sample="10 ms"
    )
    found = []
    for summary in done.summaries:
        row = summary["flows"][0]
        # The sockets' RTT ends with the connection, which noq may end itself.
        until = row["quic"]["closed_s"] if row["quic"]["closed_by"] else math.inf
        of_seed = done.series.filter((pl.col("seed") == summary["seed"]) & (pl.col("time_s") <= until))
        samples = of_seed["srtt_ms"].drop_nulls().to_list()
        found.append(
            Figures(
                row["goodput_bps"] or 0.0,
                statistics.fmean(samples) if samples else math.nan,
                row["retransmitted_segments"],
                row["segments_sent"],
            )
        )
    return found


def sockets_table(found: Mapping[str, Mapping[str, Any]]) -> tuple[list[list[str]], int, int]:
    """The rows of links whose runs are there, how many hold, and how many there are."""
    rows, held = [], 0
    for (link, direction), cases in groupby(socket_cases(), lambda case: (case.link, case.direction)):
        runs = [found[case.key] for case in cases if case.key in found]
        if not runs:
            continue
        real, ours = [Figures(**run["figures"]) for run in runs], simulated(link, direction)
        cells, holds = [f"`{link}`" + (", upload" if direction == "up" else "")], True
        for name, form in (("goodput_bps", 1e6), ("rtt_ms", 1.0), ("lost", 1.0)):
            truth, mean = (statistics.fmean(getattr(one, name) for one in of) / form for of in (real, ours))
            good, text = _verdict(name, truth, mean)
            holds &= good
            spread = _spread([getattr(one, name) / form for one in real])
            cells += [f"{three(truth)}{spread}", three(mean), text if good else f"**{text}**"]
        rows.append([*cells, str(len(runs))])
        held += holds
    return rows, held, len(rows)


def _spread(values: Sequence[float]) -> str:
    return f" ({three(min(values))} to {three(max(values))})" if len(values) > 1 else ""


def _verdict(name: str, truth: float, mean: float) -> tuple[bool, str]:
    """Goodput within 5 %, RTT 10 %, lost packets a factor of 1.5 or three packets."""
    if name == "lost":
        ratio = mean / truth if truth else math.inf if mean else 1.0
        return 1 / 1.5 <= ratio <= 1.5 or abs(mean - truth) <= 3, f"{ratio:.2f}"
    difference = mean / truth - 1
    return abs(difference) <= (0.05 if name == "goodput_bps" else 0.10), f"{100 * difference:+.1f} %"
