"""Transfers of one congestion control over one link, by the running kernel and by the simulator,
with the same figures."""

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
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path
from typing import Any

import ackclock
from ackclock.emulation.kernel_cc import KERNEL_NAMES
from ackclock.input.catalogue import linux_rules
from ackclock.input.link.names import PACKAGED
from studies.emulator.code_digest import emulator_digest
from studies.kernel.conditions import CONDITIONS
from studies.kernel.transfers import Figures, Transfer

SYSCTL = Path("/proc/sys/net/ipv4")
BULK = Path(__file__).with_name("bulk.py")
SAMPLE_MS = 20
LATE_MS = 10
"""Maximum lateness of the sender's process.

Its send buffer holds data for an RTT, which is much longer.
"""
STEAL_PERCENT = 2.0
"""Maximum CPU time of a run that the hypervisor gave to others.

With 5 to 15 % rows miss that hold without.
"""
ATTEMPTS = 3

VARIANTS = ("reno", "cubic", "bbr")
KERNEL_CC = tuple(KERNEL_NAMES)
"""The variants that the crate kernel-cc loads into the kernel."""
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
rate.down = {{ trace = "{folder}/Verizon-LTE-short.down.gz", start = "0 s" }}
rate.up = {{ trace = "{folder}/Verizon-LTE-short.up.gz", start = "0 s" }}
"""
LINKS: dict[str, str | None] = {
    "wide": WIDE,
    "narrow": NARROW,
    "dsl-16m": None,
    "cable-dialup": None,
    "expedience-residential": None,
    "wibro-wave2": None,
}
"""Link files by name; None for packaged links."""
if "ACKCLOCK_DATA" in os.environ:
    LINKS["recorded-lte"] = RECORDED.format(folder=Path(os.environ["ACKCLOCK_DATA"]) / "cellular")


SEEDS = (1, 2, 3, 4, 5)
"""Seeds of the link's random numbers (contention, errors, jitter) in emulator and simulator: kernel
runs of one seed hardly differ."""


class Unmeasured(Exception):
    """No run was valid by the emulation's audit."""


def transfer_digest() -> str:
    """Digest of the code of the kernel's side: the emulator, and the program at both ends."""
    return hashlib.sha256(emulator_digest().encode() + BULK.read_bytes()).hexdigest()[:16]


def missing(variant: str) -> str | None:
    """Why this kernel cannot be compared; None if it can."""
    path = SYSCTL / "tcp_available_congestion_control"
    if not path.exists():
        return "not Linux"
    name = kernel_name(variant)
    return None if name in path.read_text(encoding="ascii").split() else f"this kernel has no {name}"


def kernel_name(variant: str) -> str:
    """Value of TCP_CONGESTION for a variant."""
    return KERNEL_NAMES.get(variant, variant)


def _text(link: str) -> str | None:
    """The text of a link file; None for a packaged link."""
    return CONDITIONS[link] if link in CONDITIONS else LINKS[link]


def link_file(name: str, folder: Path) -> str:
    """The link's name for `emulate` and scenarios."""
    text = _text(name)
    if text is None:
        return name
    path = folder / "link.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def release() -> str:
    """The running kernel's version."""
    return platform.release().split("-")[0]


def link_digest(link: str) -> str:
    """Digest of the link file's text, which identifies the link of a stored transfer."""
    text = _text(link)
    return hashlib.sha256(
        ((PACKAGED / f"{link}.toml").read_text(encoding="utf-8") if text is None else text).encode()
    ).hexdigest()[:16]


def kernel(link: str, variant: str, seconds: float, seed: int) -> Figures:
    """Figures of one valid run of the running kernel."""
    return transfer(link, variant, seconds, seed).figures


def transfer(link: str, variant: str, seconds: float, seed: int) -> Transfer:
    """One valid run of the running kernel over the link with a seed.

    Repeats invalid runs. Raises Unmeasured.
    """
    why = ""
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory() as folder:
            audit = _emulate(link_file(link, Path(folder)), variant, seconds, seed, Path(folder))
            why = (audit["why"] if not audit["valid"] else _sender_delay(Path(folder))) or _steal(audit)
            if not why:
                began, figures = _read(Path(folder), seconds)
                return Transfer(
                    *(link, variant, seconds, release(), link_digest(link)),
                    *(began - audit["started"], audit["load"], figures, seed),
                    *(audit["grade"], transfer_digest(), audit["started"], audit["steal_percent"]),
                )
    raise Unmeasured(why)


def median(runs: Sequence[Figures]) -> Figures:
    """The median of each figure; of an even number of runs the lower of the middle two."""
    return Figures(*(statistics.median_low(sorted(column)) for column in zip(*map(astuple, runs), strict=True)))


def _emulate(link: str, variant: str, seconds: float, seed: int, folder: Path) -> dict[str, Any]:
    def part(verb: str, value: str) -> list[str]:
        return [sys.executable, str(BULK), verb, value, str(folder / verb)]

    limit = [
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
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 180, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _sender_delay(folder: Path) -> str:
    """Why the sender's process was late; empty if it was not.

    The emulation's audit covers only the link.
    """
    samples = [json.loads(line)["at"] for line in (folder / "serve").read_text(encoding="ascii").splitlines()]
    late = max(b - a for a, b in pairwise(samples)) * 1e3 - SAMPLE_MS
    return f"the sender's process woke {late:.0f} ms late" if late > LATE_MS else ""


def _steal(audit: Mapping[str, Any]) -> str:
    """Why the machine had too little of its CPU; empty if it had enough."""
    steal = audit["steal_percent"]
    return f"{steal:.1f} % of the CPU was stolen" if steal > STEAL_PERCENT else ""


def _read(folder: Path, seconds: float) -> tuple[float, Figures]:
    """The transfer's start by the machine's clock, and its figures."""
    fetched = json.loads((folder / "fetch").read_text(encoding="ascii"))
    lines = (folder / "serve").read_text(encoding="ascii").splitlines()
    samples = [s for s in map(json.loads, lines) if s["at"] <= fetched["began"] + seconds]
    figures = Figures(
        goodput_bps=8 * fetched["bytes"] / seconds,
        rtt_ms=statistics.fmean(s["rtt"] for s in samples) / 1e3,
        retransmitted=samples[-1]["total_retrans"],
    )
    return fetched["clock"], figures


def host_keys(variant: str) -> dict[str, Any]:
    """Keys of the host `linux-6` with this machine's tcp_rmem and tcp_wmem.

    The variants that the crate kernel-cc loads are the papers', which do not count in the integers
    of Linux' own.
    """
    limit = {name: (SYSCTL / name).read_text(encoding="ascii").split()[2] for name in ("tcp_rmem", "tcp_wmem")}
    keys: dict[str, Any] = {"host": "linux-6"}
    if variant in KERNEL_CC:
        keys["linux_rules"] = [name for name in linux_rules() if name != "integer-controls"]
    return {**keys, "receive_limit": f"{limit['tcp_rmem']} B", "send_limit": f"{limit['tcp_wmem']} B"}


def simulator(
    link: str,
    variant: str,
    seconds: float,
    began_s: Mapping[int, float] | None = None,
    seeds: Sequence[int] = SEEDS,
    **tcp: Any,
) -> list[Figures]:
    """The simulator's figures for the same transfer, one per seed.

    Each starts ``began_s`` after the link, by seed: over a recorded rate 10 ms move single
    transfers by more than the tolerances.
    """
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        file = link_file(link, Path(folder))
        for seed in seeds:
            began = 0.0 if began_s is None else began_s[seed]
            flow = {
                "workload": {"kind": "bulk"},
                "start": f"{began:.4f} s",
                "variant": variant,
                **host_keys(variant),
                **tcp,
            }
            run = ackclock.simulate(file, [flow], f"{began + seconds:.4f} s", seeds=(seed,), sample=f"{SAMPLE_MS} ms")
            figures += [_of_seed(run, row) for row in run.flows.iter_rows(named=True)]
    return figures


def _of_seed(run: ackclock.simulation.run.Simulation, row: dict[str, Any]) -> Figures:
    srtt = run.series.filter(seed=row["seed"])["srtt_ms"].drop_nulls()
    return Figures(row["goodput_bps"], statistics.fmean(srtt), row["retransmitted_segments"])


def faults(simulated: Figures, measured: Figures) -> list[str]:
    """Figures beyond the tolerances: goodput 5 %, mean RTT 10 %, retransmissions a factor of 1.5 or
    5 segments."""
    failed = []
    if abs(simulated.goodput_bps / measured.goodput_bps - 1) > 0.05:
        failed.append("goodput")
    if abs(simulated.rtt_ms / measured.rtt_ms - 1) > 0.10:
        failed.append("RTT")
    low, high = sorted((simulated.retransmitted, measured.retransmitted))
    if high - low > 5 and high > 1.5 * low:
        failed.append("retransmissions")
    return failed
