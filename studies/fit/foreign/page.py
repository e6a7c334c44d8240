"""`python -m studies.fit.foreign.page [FILE]`: fits to links that this engine did not make, as
Markdown. `make fit-foreign` writes it to docs.

`--kept FOLDER` keeps captures there, and uses those that are there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import ackclock
from ackclock.documents.fit import FittedLink
from ackclock.fitting.prediction import Ends, Observed, Replay, Transfers
from ackclock.format import rate
from studies.fit.foreign import kernel, ns3, virtual
from studies.fit.foreign.links import CAUSES, KERNEL, NS3, RECORDED, RECORDED_S, VARIANTS, Captures
from studies.outcome_files import write_page
from studies.virtual_kernel.build import Unavailable, built

SEEDS = tuple(range(101, 111))
TARGET = 0.10
TITLES = {"virtual": "links of Linux 6.12 in virtual time", "ns3": "links of ns-3"}
"""Sources that a machine may not have."""


@dataclass(frozen=True)
class Truth:
    """Downloads of a variant: each one's figures."""

    each: Sequence[Observed]

    @property
    def goodput_bps(self) -> float:
        return fmean(one.goodput_bps for one in self.each)

    @property
    def rtt_p95_ms(self) -> float:
        return fmean(one.rtt_p95_ms for one in self.each)

    @property
    def spread(self) -> float:
        """Largest relative deviation of one goodput from the mean."""
        return max(abs(one.goodput_bps / self.goodput_bps - 1) for one in self.each)


@dataclass(frozen=True)
class Result:
    """A link with its fit, the truth and the predictions."""

    name: str
    title: str
    fit: FittedLink
    truths: Mapping[str, Truth]
    predicted: Mapping[str, Observed]

    def error(self, variant: str) -> float:
        """Of the goodput, relative."""
        return self.predicted[variant].goodput_bps / self.truths[variant].goodput_bps - 1

    def rtt_error(self, variant: str) -> float:
        """Of the p95 RTT, relative."""
        return self.predicted[variant].rtt_p95_ms / self.truths[variant].rtt_p95_ms - 1


def observed(captures: Captures) -> Transfers:
    """What the download of two captures did."""
    seen = Ends(str(captures[0]), str(captures[1])).transfers()
    if seen is None:
        raise RuntimeError(f"no download in {captures[0]}")
    return seen


def result(name: str, title: str, fitted: Captures, truths: Mapping[str, Truth]) -> Result:
    """Fit a link to captures of a download with cubic, and predict both variants over it."""
    fit = ackclock.fit(*fitted, score=False, variant="cubic")
    seen = observed(fitted)
    replay = Replay(seen.direction, seen.flows, seen.duration_s, 0.0, seen.duration_s)
    predicted = {variant: replay.simulated(fit.link, variant, SEEDS) for variant in VARIANTS}
    return Result(name, title, fit.document, truths, predicted)


def of_kernel(folder: Path) -> Iterator[Result]:
    """Links of the running kernel: captures are made for all links at once."""
    last = [kernel.captures_of(folder, number, VARIANTS[-1], kernel.REPEATS - 1)[1] for number in range(len(KERNEL))]
    command = [sys.executable, "-m", "studies.fit.foreign.kernel", str(folder)]
    missing = [number for number, path in enumerate(last) if not path.exists()]
    running = [subprocess.Popen([*command, str(number)]) for number in missing]
    if any(process.wait() for process in running):
        raise RuntimeError("captures of the kernel failed")
    for number, link in enumerate(KERNEL):
        repeats = {"cubic": range(1, kernel.REPEATS + 1), "bbr": range(kernel.REPEATS)}
        truths = {
            variant: Truth(
                [observed(kernel.captures_of(folder, number, variant, r)).observed for r in repeats[variant]]
            )
            for variant in VARIANTS
        }
        yield result(link.name, link.title, kernel.captures_of(folder, number, "cubic", 0), truths)


def of_ns3(folder: Path) -> Iterator[Result]:
    """Links of ns-3."""
    program = ns3.compiled(folder)
    for number, link in enumerate(NS3):

        def captures(variant: str, repeat: int, number: int = number, link: Any = link) -> Captures:
            return ns3.download(link, variant, repeat, folder / f"ns3-{number}-{variant}-{repeat}", program)

        truths = {v: Truth([observed(captures(v, repeat)).observed for repeat in (1, 2)]) for v in VARIANTS}
        yield result(link.name, link.title, captures("cubic", 0), truths)


def of_virtual(folder: Path) -> Iterator[Result]:
    """Links of Linux 6.12 in virtual time. Raises Unavailable."""
    linux = built()
    if linux is None:
        raise Unavailable("`make virtual-kernel` has not built it")
    for number, link in enumerate(virtual.LINKS):

        def captures(variant: str, repeat: int, number: int = number, link: Any = link) -> Captures:
            return virtual.download(linux, link, variant, repeat, folder / f"virtual-{number}-{variant}-{repeat}")

        repeats = range(1, virtual.REPEATS + 1)
        truths = {v: Truth([observed(captures(v, repeat)).observed for repeat in repeats]) for v in VARIANTS}
        yield result(link.name, link.path.title, captures("cubic", 0), truths)


def of_recorded(folder: Path, recordings: Path) -> Iterator[Result]:
    """Recorded cellular links: the same part of the recording for input, truth and prediction."""
    flow = {"name": "download", "workload": {"kind": "bulk"}}
    for number, link in enumerate(RECORDED):
        hops = link.hops(recordings)
        for rates in (hop["rate"] for hop in hops):
            for table in rates.values():
                table["start"] = "0 s"
        out = folder / f"recorded-{number}"
        ackclock.simulate(
            {"hop": hops}, [flow], f"{RECORDED_S} s", seed=1, out=out, captures="pcapng", sample="0 s", force=True
        )
        fitted = out / "captures" / "download.server.pcapng", out / "captures" / "download.client.pcapng"
        replay = Replay("down", 1, RECORDED_S, 0.0, RECORDED_S)
        truths = {v: Truth([replay.simulated(ackclock.Link(hops), v, [seed]) for seed in SEEDS]) for v in VARIANTS}
        yield result(link.name, link.title, fitted, truths)


def _percent(value: float) -> str:
    return f"{100 * value:+.1f} %"


def _bottleneck(fit: Mapping[str, Any]) -> str:
    """Rate and queue of the direction of the data, in brief."""
    (hop,) = fit["link"]["hop"]
    direction = max(("down", "up"), key=lambda d: f"hop.access.queue.{d}.bytes" in _identified(fit))
    rows = {row["path"]: row for row in fit["parameters"]}
    found = rows.get(f"hop.access.rate.{direction}")
    shown = "-" if found is None or found["value"] is None else rate(found["value"])
    if found is not None and found.get("kind"):
        shown += f" ({found['kind']})"
    queue = hop.get("queue", {}).get(direction, {})
    return f"{shown}, {queue.get('bytes', queue.get('kind', '-'))}"


def _identified(fit: Mapping[str, Any]) -> set[str]:
    return {row["path"] for row in fit["parameters"] if row["status"] == "identified"}


def page(results: Sequence[Result], left_out: Sequence[str], seconds: float) -> str:
    """The page."""
    within = sum(abs(one.error(variant)) <= TARGET for one in results for variant in VARIANTS)
    rows = []
    for one in results:
        cells = [one.name, one.title, _bottleneck(one.fit)]
        for variant in VARIANTS:
            truth = one.truths[variant]
            cells += [
                f"{truth.goodput_bps / 1e6:.2f}",
                _percent(one.error(variant)),
                f"{100 * truth.spread:.1f} %",
                _percent(one.rtt_error(variant)),
            ]
        rows.append(f"| {' | '.join(cells)} |")
    parts = [
        "# Fits to links that this engine did not make",
        "",
        f"Written by `make fit-foreign` ([links.py](../../studies/fit/foreign/links.py)), {seconds:.0f} s, Linux {os.uname().release}.",
        "The input of each fit are the captures of both ends of one cubic download. Links: token buckets of the running",
        "kernel (`tc tbf`, `tc htb`) with the kernel's TCP, behind a hop of 1 Gb/s of the emulator that has the delay;",
        "links of Linux 6.12 in virtual time with its own TCP and queueing disciplines; links of ns-3 with its own TCP,",
        "captured by its pcap; and recorded cellular links with the simulator's TCP.",
        "Truth: two further downloads with each variant (ten seeds for recorded links). Prediction: the simulator's TCP",
        "over the fitted link, ten seeds. Hosts of the kernel's links merge segments (GSO, GRO), the prediction's do not.",
        "",
        f"Goodput within {100 * TARGET:.0f} %: {within} of {len(results) * len(VARIANTS)}.",
        "",
        "| link | of | fitted rate, queue | cubic, Mb/s | error | spread | p95 RTT, error | bbr, Mb/s | error | spread | p95 RTT, error |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *rows,
        "",
        "`spread`: the largest deviation of one download from the mean of its variant.",
        "",
    ]
    missed = [(one, v) for one in results for v in VARIANTS if abs(one.error(v)) > TARGET]
    if missed:
        causes = [
            f"- {one.name}, {v}, {_percent(one.error(v))}: {CAUSES.get((one.name, v), 'not traced')}"
            for one, v in missed
        ]
        parts += [f"## Goodput off by more than {100 * TARGET:.0f} %", "", *causes, ""]
    if left_out:
        parts += ["## Left out", "", *(f"- {text}" for text in left_out), ""]
    remarks = [f"- {one.name}: {text}" for one in results for text in one.fit["remarks"]]
    parts += ["## What the fits remark", "", *(remarks or ["Nothing."]), ""]
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--only", choices=("kernel", *TITLES, "recorded"))
    options = parser.parse_args()
    started = time.monotonic()
    data = os.environ.get("ACKCLOCK_DATA")
    results: list[Result] = []
    left_out: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.kept or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        makers = {"kernel": of_kernel(folder), "virtual": of_virtual(folder), "ns3": of_ns3(folder)}
        if data:
            makers["recorded"] = of_recorded(folder, Path(data) / "cellular")
        else:
            left_out.append("recorded cellular links: ACKCLOCK_DATA does not name their folder")
        for name, of in makers.items():
            if options.only in (None, name):
                try:
                    for one in of:
                        results.append(one)
                        print(f"{one.name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
                except (ns3.Ns3Missing, Unavailable) as error:
                    left_out.append(f"{TITLES[name]}: {error}")
    text = page(results, left_out, time.monotonic() - started)
    write_page(options.file, text)


if __name__ == "__main__":
    main()
