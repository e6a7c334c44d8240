"""`measure` over emulated links of known truth, as docs/measure-accuracy.md has it: `python -m studies.measurement.page [FILE]`.

Each figure stands beside what the link file says and what is promised of it. A run whose emulation was not valid does not count.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.kernel.runs import Unmeasured
from studies.measurement.emulated_path import measured
from tests.support.namespaces import namespaces

HOUR_NS = 3_600_000_000_000
ABOUT = """# `measure` over links of known truth

Written by `make measure-accuracy`: both ends of `measure` behind an emulated link, whose file is the truth; the far end's clock is set wrong by
what the first column says. What is promised: capacity within 2 %, the buffer within a tenth or one packet and one frame, delay variation
within 1 ms, the one-way interval around the true least delay, the loss interval around the true loss. A run whose emulation was not valid by its own audit
is repeated, three times at most.

| link | figure | way | truth | measured | off | holds |
|---|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Truth:
    """A link of one hop, by direction: bits a second, ms, bytes of queue; a frame in seconds where it sends in frames."""

    name: str
    rate: dict[str, float]
    delay_ms: dict[str, float]
    queue: dict[str, int]
    clock_shift_ns: int = 0
    loss: float = 0.0
    jitter_ms: float = 0.0

    def toml(self) -> str:
        """The link file."""
        jitter = f'jitter = {{ kind = "uniform", high = "{self.jitter_ms:g} ms" }}\n' if self.jitter_ms else ""
        loss = f"loss = {{ mean = {self.loss} }}\n" if self.loss else ""
        return (
            f'title = "{self.name}"\nsource = "test"\n[[hop]]\nname = "line"\n'
            f'rate = {{ down = "{int(self.rate["down"])} b/s", up = "{int(self.rate["up"])} b/s" }}\n'
            f'delay = {{ down = "{self.delay_ms["down"]:g} ms", up = "{self.delay_ms["up"]:g} ms" }}\n{jitter}{loss}'
            f'queue.down = {{ kind = "droptail", bytes = "{self.queue["down"]} B" }}\n'
            f'queue.up = {{ kind = "droptail", bytes = "{self.queue["up"]} B" }}\n'
        )


def same(value: float) -> dict[str, float]:
    """The same both ways."""
    return {"down": value, "up": value}


FILLED = (
    Truth("10 and 2 Mb/s, 10 and 35 ms, clock an hour ahead", {"down": 10e6, "up": 2e6}, {"down": 10, "up": 35}, {"down": 60_000, "up": 60_000}, HOUR_NS),
    Truth("50 Mb/s, 20 ms, clock right", same(50e6), same(20), {"down": 250_000, "up": 250_000}),
    Truth("1.5 Mb/s and 256 kb/s, 45 and 80 ms, clock 7 s behind", {"down": 1.5e6, "up": 256e3}, {"down": 45, "up": 80}, {"down": 16_000, "up": 10_000}, -7_000_000_000),
)  # fmt: skip
NOISY = (
    Truth("20 Mb/s, 20 ms, even jitter to 8 ms, 2 % lost", same(20e6), same(20), {"down": 300_000, "up": 300_000}, 0, 0.02, 8.0),
    Truth("20 Mb/s, 5 and 60 ms, 0.5 % lost, clock an hour ahead", same(20e6), {"down": 5, "up": 60}, {"down": 300_000, "up": 300_000}, HOUR_NS, 0.005),
)  # fmt: skip
WIBRO = ("wibro-wave2, clock an hour ahead", {"down": 10e6, "up": 2.5e6}, {"down": 1_100_000, "up": 110_000}, 0.005)
"""A link that sends in frames of 5 ms behind a cap: rates, buffers."""


@dataclass(frozen=True)
class Row:
    """A figure beside its truth; ``off`` in words, and whether the promise holds."""

    link: str
    figure: str
    way: str
    truth: str
    found: str
    off: str
    holds: bool

    def line(self) -> str:
        """As Markdown."""
        cells = (self.link, self.figure, self.way, self.truth, self.found, self.off, "yes" if self.holds else "**no**")
        return "| " + " | ".join(cells) + " |"


def filled(truth: Truth) -> Iterator[Row]:
    """Capacity, buffer and bounds of a link that is filled."""
    seen = measured(
        truth.toml(), "--tests", "delay,capacity", "--duration", "6 s", clock_shift_ns=truth.clock_shift_ns, seconds=120.0
    )
    for way in ("down", "up"):
        yield from _capacity(truth.name, seen["capacity"][way], way, truth.rate[way], truth.queue[way], 0.0)
        least = truth.delay_ms[way] + 48 * 8e3 / truth.rate[way]
        yield _interval(truth.name, seen["delay"][way], way, least)
        more = seen["delay"][way]["delay_variation_ms"]["p95"]
        yield Row(truth.name, "variation p95, ms", way, "0", f"{more:.2f}", f"{more:.2f} ms", more <= 1.0)


def framed() -> Iterator[Row]:
    """The same of a packaged link that sends in frames."""
    name, rates, buffers, frame_s = WIBRO
    seen = measured(
        None, "--tests", "delay,capacity", "--duration", "8 s", clock_shift_ns=HOUR_NS, seconds=180.0, packaged="wibro-wave2"
    )
    for way in ("down", "up"):
        yield from _capacity(name, seen["capacity"][way], way, rates[way], buffers[way], frame_s)


def noisy(truth: Truth) -> Iterator[Row]:
    """Variation, loss and bounds at a low rate."""
    seen = measured(truth.toml(), "--tests", "delay", "--duration", "40 s", clock_shift_ns=truth.clock_shift_ns, seconds=120.0)
    for way in ("down", "up"):
        figures = seen["delay"][way]
        for key, share in (("p50", 0.5), ("p95", 0.95)):
            real, found = share * truth.jitter_ms, figures["delay_variation_ms"][key]
            off = found - real
            yield Row(truth.name, f"variation {key}, ms", way, f"{real:.2f}", f"{found:.2f}", f"{off:+.2f} ms", abs(off) <= 1.0)
        lost = figures["loss"]
        within = lost["lo"] <= truth.loss <= lost["hi"]
        found = f"{100 * lost['rate']:.2f} ({100 * lost['lo']:.2f} to {100 * lost['hi']:.2f})"
        yield Row(truth.name, "loss, %", way, f"{100 * truth.loss:g}", found, "within" if within else "outside", within)
        yield _interval(truth.name, figures, way, truth.delay_ms[way] + 48 * 8e3 / truth.rate[way])


def _capacity(link: str, seen: dict[str, Any], way: str, rate: float, queue: int, frame_s: float) -> Iterator[Row]:
    off = seen["rate_bps"] / rate - 1.0
    yield Row(link, "capacity, Mb/s", way, f"{rate / 1e6:g}", f"{seen['rate_bps'] / 1e6:.4g}", f"{off:+.2%}", abs(off) <= 0.02)
    # What waits, and the packet that is being sent.
    real, room = queue + seen["packet_bytes"], seen["packet_bytes"] + frame_s * rate / 8
    for key, size in seen["buffer_bytes"].items():
        found = "-" if size is None else f"{size / 1e3:.4g}"
        off = float("nan") if size is None else size - real
        holds = size is not None and abs(off) <= max(0.1 * real, room)
        yield Row(link, f"buffer ({key.partition('_')[0]}), kB", way, f"{real / 1e3:.4g}", found, f"{off / real:+.1%}", holds)


def _interval(link: str, seen: dict[str, Any], way: str, least_ms: float) -> Row:
    low, high = seen["least_delay_interval_ms"]
    within = low <= least_ms <= high
    return Row(
        link, "least delay, ms", way, f"{least_ms:.2f}", f"{low:.2f} to {high:.2f}", "within" if within else "outside", within
    )


CELLS: tuple[Callable[[], Iterator[Row]], ...] = (
    *(lambda truth=truth: filled(truth) for truth in FILLED),
    framed,
    *(lambda truth=truth: noisy(truth) for truth in NOISY),
)


def page() -> Iterator[str]:
    """Line by line, as it is measured."""
    yield ABOUT
    count = held = 0
    for cell in CELLS:
        try:
            for row in cell():
                count, held = count + 1, held + row.holds
                yield row.line()
        except Unmeasured as why:
            yield f"| | | | | no valid emulation: {why} | | |"
    yield f"\n{held} of {count} hold. Load before the last run: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors."


def main() -> int:
    """Print the page, and write it where that is asked for."""
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    lines = []
    for line in page():
        print(line, flush=True)
        lines.append(line)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
