"""One congestion control over one link, by the running kernel and by the simulator, in the same figures."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path
from typing import Any

import ackclock
from ackclock.emulation.config import emulation_scenario
from ackclock.emulation.kernel_cc import KERNEL_NAMES
from ackclock.input.link.catalog import PACKAGED
from ackclock.input.scenario.resolution import resolved
from ackclock.papers.live.job import deadline_of
from studies.kernel.transfers import Figures, Transfer

SYSCTL = Path("/proc/sys/net/ipv4")
BULK = Path(__file__).with_name("bulk.py")
SAMPLE_MS = 20
LATE_MS = 10
"""What a sender's process may sleep too long: much below a round trip, whose worth its send buffer holds."""
ATTEMPTS = 3

VARIANTS = ("reno", "cubic", "bbr")
KERNEL_CC = tuple(KERNEL_NAMES)
"""What the crate kernel-cc brings into the kernel."""
WIDE = """title = "10 Mb/s, 100 ms, a bandwidth-delay product of buffer"
source = "test"
[[hop]]
name = "line"
rate = "10 Mb/s"
delay = "50 ms"
queue = { kind = "droptail", bytes = "125 kB" }
"""
NARROW = """title = "2 Mb/s down, 256 kb/s up, 60 ms, two bandwidth-delay products of buffer"
source = "test"
[[hop]]
name = "line"
rate = { down = "2 Mb/s", up = "256 kb/s" }
delay = "30 ms"
queue = { kind = "droptail", bytes = "30 kB" }
"""
RECORDED = """title = "Verizon LTE as recorded (Winstein et al. 2013), 250 packets of buffer"
source = "test"
[[hop]]
name = "lte"
delay = "20 ms"
queue = {{ packets = 250 }}
rate.down = {{ trace = "{folder}/Verizon-LTE-short.down.gz" }}
rate.up = {{ trace = "{folder}/Verizon-LTE-short.up.gz" }}
"""
LINKS: dict[str, str | None] = {
    "wide": WIDE,
    "narrow": NARROW,
    "dsl-16m": None,
    "cable-dialup": None,
    "expedience-residential": None,
    "wibro-wave2": None,
}
"""Link files by name; packaged ones have no text here."""
if "ACKCLOCK_DATA" in os.environ:
    LINKS["recorded-lte"] = RECORDED.format(folder=Path(os.environ["ACKCLOCK_DATA"]) / "cellular")


SEEDS = (1, 2, 3, 4, 5)
"""Of the link's chance (contention, errors, jitter), for the emulator as for the simulator: one seed's runs of the kernel are all alike."""


class Unmeasured(Exception):
    """The machine could not keep the link's time, as the emulation's own audit says."""


def missing(variant: str) -> str | None:
    """Why this kernel cannot be compared, or nothing."""
    path = SYSCTL / "tcp_available_congestion_control"
    if not path.exists():
        return "not Linux"
    name = kernel_name(variant)
    return None if name in path.read_text(encoding="ascii").split() else f"this kernel has no {name}"


def kernel_name(variant: str) -> str:
    """What TCP_CONGESTION takes for a variant."""
    return KERNEL_NAMES.get(variant, variant)


def link_file(name: str, folder: Path) -> str:
    """What `emulate` and a scenario call the link."""
    text = LINKS[name]
    if text is None:
        return name
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def release() -> str:
    """The running kernel's version."""
    return platform.release().split("-")[0]


def link_digest(link: str) -> str:
    """Of the link file's text: figures of another link are not this one's."""
    text = LINKS[link]
    return hashlib.sha256(
        ((PACKAGED / f"{link}.toml").read_text(encoding="utf-8") if text is None else text).encode()
    ).hexdigest()[:16]


def kernel(link: str, variant: str, seconds: float, seed: int) -> Figures:
    """The running kernel's figures in one valid run."""
    return transfer(link, variant, seconds, seed).figures


def transfer(link: str, variant: str, seconds: float, seed: int) -> Transfer:
    """One valid run of the running kernel over the link with this seed's chance. Repeats a run that its audit calls invalid."""
    why = ""
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory() as folder:
            audit = _emulate(link_file(link, Path(folder)), variant, seconds, seed, Path(folder))
            why = audit["why"] if not audit["valid"] else _held_up(Path(folder))
            if not why:
                began, figures = _read(Path(folder), seconds)
                load = os.getloadavg()[0]
                return Transfer(
                    link, variant, seconds, release(), link_digest(link), began - audit["started"], load, figures, seed
                )
    raise Unmeasured(why)


def median(runs: Sequence[Figures]) -> Figures:
    """Of each figure by itself; of an even number of runs the lower of the middle two."""
    return Figures(*(statistics.median_low(sorted(column)) for column in zip(*map(astuple, runs), strict=True)))


def _emulate(link: str, variant: str, seconds: float, seed: int, folder: Path) -> dict[str, Any]:
    def part(verb: str, value: str) -> list[str]:
        return [sys.executable, str(BULK), verb, value, str(folder / verb)]

    hops = resolved(emulation_scenario(link))["hop"]
    limit = [
        "--deadline",
        deadline_of(hops),
        "--seed",
        str(seed),
        "--seconds",
        str(seconds + 20),
        "--json",
        "--no-log",
        "--out",
        str(folder / "run"),
    ]
    server = ["--server", shlex.join(part("serve", kernel_name(variant)))]
    command = [sys.executable, "-m", "ackclock", "emulate", link, *limit, *server, "--", *part("fetch", str(seconds))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _held_up(folder: Path) -> str:
    """Why the sender's process was no bulk sender, or nothing: the emulation's audit knows only of the link."""
    samples = [json.loads(line)["at"] for line in (folder / "serve").read_text(encoding="ascii").splitlines()]
    late = max(b - a for a, b in pairwise(samples)) * 1e3 - SAMPLE_MS
    return f"the sender's process woke {late:.0f} ms late" if late > LATE_MS else ""


def _read(folder: Path, seconds: float) -> tuple[float, Figures]:
    """When the transfer began on the machine's clock, and what it came to."""
    fetched = json.loads((folder / "fetch").read_text(encoding="ascii"))
    lines = (folder / "serve").read_text(encoding="ascii").splitlines()
    samples = [s for s in map(json.loads, lines) if s["at"] <= fetched["began"] + seconds]
    figures = Figures(
        goodput_bps=8 * fetched["bytes"] / seconds,
        rtt_ms=statistics.fmean(s["rtt"] for s in samples) / 1e3,
        retransmitted=samples[-1]["total_retrans"],
    )
    return fetched["clock"], figures


def host_keys() -> dict[str, Any]:
    """`linux-6` with the limits of this machine's sysctls."""
    limit = {name: (SYSCTL / name).read_text(encoding="ascii").split()[2] for name in ("tcp_rmem", "tcp_wmem")}
    return {"host": "linux-6", "receive_limit": f"{limit['tcp_rmem']} B", "send_limit": f"{limit['tcp_wmem']} B"}


def simulator(link: str, variant: str, seconds: float, began_s: float = 0.0, **tcp: Any) -> list[Figures]:
    """The simulator's figures for the same transfer, a seed each; it begins so long after the link does."""
    with tempfile.TemporaryDirectory() as folder:
        flow = {"workload": {"kind": "bulk"}, "start": f"{began_s:.4f} s", "variant": variant, **host_keys(), **tcp}
        run = ackclock.simulate(
            link_file(link, Path(folder)), [flow], f"{began_s + seconds:.4f} s", seed=SEEDS, sample=f"{SAMPLE_MS} ms"
        )
    return [_of_seed(run, row) for row in run.flows.iter_rows(named=True)]


def _of_seed(run: ackclock.simulation.run.Simulation, row: dict[str, Any]) -> Figures:
    srtt = run.series.filter(seed=row["seed"])["srtt_ms"].drop_nulls()
    return Figures(row["goodput_bps"], statistics.fmean(srtt), row["retransmitted_segments"])


def faults(ours: Figures, kernels: Figures) -> list[str]:
    """Where the two differ by more than was promised: goodput 5 %, mean round trip 10 %, retransmissions a factor 1.5 or 5 segments."""
    wrong = []
    if abs(ours.goodput_bps / kernels.goodput_bps - 1) > 0.05:
        wrong.append("goodput")
    if abs(ours.rtt_ms / kernels.rtt_ms - 1) > 0.10:
        wrong.append("round trip")
    fewer, more = sorted((ours.retransmitted, kernels.retransmitted))
    if more - fewer > 5 and more > 1.5 * fewer:
        wrong.append("retransmissions")
    return wrong
