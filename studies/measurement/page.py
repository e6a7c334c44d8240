"""Writes docs/evidence/measure-accuracy.md, `measure` over emulated links.

`python -m studies.measurement.page [FILE]`

Each figure is compared with the link file and its tolerance. Runs with an invalid emulation are
repeated.
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
ABOUT = """# `measure` over emulated links

Written by `make measure-accuracy`: client and server of `measure` over an emulated link, whose
link file has the true values. The server's clock has the error in the first column. The
tolerances: capacity within 2 %, the buffer within 10 % or one packet and one frame, delay
variation within 1 ms; the one-way interval contains the true minimum delay, the loss interval the
true loss rate, a token bucket's depth and the longest pause are within 15 and 10 %. A run with an
invalid emulation is repeated up to three times.

| link | figure | direction | link file | measured | error | holds |
|---|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Truth:
    """The true values of a link of one hop: bit/s, ms and queue bytes by direction."""

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
    """The same value for both directions."""
    return {"down": value, "up": value}


SATURATED = (
    Truth("10 and 2 Mb/s, 10 and 35 ms, clock an hour ahead", {"down": 10e6, "up": 2e6}, {"down": 10, "up": 35}, {"down": 60_000, "up": 60_000}, HOUR_NS),
    Truth("50 Mb/s, 20 ms, clock right", same(50e6), same(20), {"down": 250_000, "up": 250_000}),
    Truth("1.5 Mb/s and 256 kb/s, 45 and 80 ms, clock 7 s behind", {"down": 1.5e6, "up": 256e3}, {"down": 45, "up": 80}, {"down": 16_000, "up": 10_000}, -7_000_000_000),
)  # fmt: skip
NOISY = (
    Truth("20 Mb/s, 20 ms, uniform jitter to 8 ms, 2 % loss", same(20e6), same(20), {"down": 300_000, "up": 300_000}, 0, 0.02, 8.0),
    Truth("20 Mb/s, 5 and 60 ms, 0.5 % loss, clock an hour ahead", same(20e6), {"down": 5, "up": 60}, {"down": 300_000, "up": 300_000}, HOUR_NS, 0.005),
)  # fmt: skip
WIBRO = ("wibro-wave2, clock an hour ahead", {"down": 10e6, "up": 2.5e6}, {"down": 1_100_000, "up": 110_000}, 0.005)
"""A link with frames of 5 ms and a rate limit: name, rates, buffers, frame duration."""


BUCKET_RATE, BUCKET_BYTES, PAUSE_MS = 10e6, 400_000, 150.0
BURSTS = {
    "10 Mb/s, token bucket of 400 kB": (
        'medium = { kind = "grants", standard = "docsis-3.1", rate = "100 Mb/s", cap = "10 Mb/s", burst = "400 kB" }'
    ),
    "10 Mb/s, pauses of 150 ms every 3 s": (
        'rate = "10 Mb/s"\nhandover = { every = "3 s", gap = "150 ms", loss = 0.0 }'
    ),
}
"""Keys of a hop with 20 ms of delay and a droptail queue of 500 kB, by the link's name."""


@dataclass(frozen=True)
class Row:
    """A measured figure and its true value; ``error`` is formatted."""

    link: str
    figure: str
    direction: str
    truth: str
    measured: str
    error: str
    holds: bool

    def line(self) -> str:
        """As Markdown."""
        cells = (
            self.link,
            self.figure,
            self.direction,
            self.truth,
            self.measured,
            self.error,
            "yes" if self.holds else "**no**",
        )
        return "| " + " | ".join(cells) + " |"


def saturated(truth: Truth) -> Iterator[Row]:
    """Capacity, buffer and one-way interval of a saturated link."""
    document = measured(
        truth.toml(),
        "--tests",
        "delay,capacity",
        "--duration",
        "6 s",
        clock_shift_ns=truth.clock_shift_ns,
        seconds=120.0,
    )
    for direction in ("down", "up"):
        yield from _capacity(
            truth.name, document["capacity"][direction], direction, truth.rate[direction], truth.queue[direction], 0.0
        )
        min_delay_ms = truth.delay_ms[direction] + 48 * 8e3 / truth.rate[direction]
        yield _interval(truth.name, document["delay"][direction], direction, min_delay_ms)
        p95 = document["delay"][direction]["delay_variation_ms"]["p95"]
        yield Row(truth.name, "variation p95, ms", direction, "0", f"{p95:.2f}", f"{p95:.2f} ms", p95 <= 1.0)


def framed() -> Iterator[Row]:
    """Capacity and buffer of a packaged link that sends in frames."""
    name, rates, buffers, frame_s = WIBRO
    document = measured(
        None,
        "--tests",
        "delay,capacity",
        "--duration",
        "8 s",
        clock_shift_ns=HOUR_NS,
        seconds=180.0,
        packaged="wibro-wave2",
    )
    for direction in ("down", "up"):
        yield from _capacity(
            name, document["capacity"][direction], direction, rates[direction], buffers[direction], frame_s
        )


def noisy(truth: Truth) -> Iterator[Row]:
    """Delay variation, loss and one-way interval at a low rate."""
    document = measured(
        truth.toml(), "--tests", "delay", "--duration", "40 s", clock_shift_ns=truth.clock_shift_ns, seconds=120.0
    )
    for direction in ("down", "up"):
        figures = document["delay"][direction]
        for key, quantile in (("p50", 0.5), ("p95", 0.95)):
            expected, value = quantile * truth.jitter_ms, figures["delay_variation_ms"][key]
            error = value - expected
            yield Row(
                truth.name,
                f"variation {key}, ms",
                direction,
                f"{expected:.2f}",
                f"{value:.2f}",
                f"{error:+.2f} ms",
                abs(error) <= 1.0,
            )
        loss = figures["loss"]
        within = loss["lo"] <= truth.loss <= loss["hi"]
        interval = f"{100 * loss['rate']:.2f} ({100 * loss['lo']:.2f} to {100 * loss['hi']:.2f})"
        yield Row(
            truth.name,
            "loss, %",
            direction,
            f"{100 * truth.loss:g}",
            interval,
            "within" if within else "outside",
            within,
        )
        min_delay_ms = truth.delay_ms[direction] + 48 * 8e3 / truth.rate[direction]
        yield _interval(truth.name, figures, direction, min_delay_ms)


def bursts(name: str) -> Iterator[Row]:
    """A token bucket's depth, or the longest pause, and that the other one is not stated."""
    hop = (
        f'[[hop]]\nname = "line"\ndelay = "20 ms"\nqueue = {{ kind = "droptail", bytes = "500 kB" }}\n{BURSTS[name]}\n'
    )
    text = f'title = "bursts"\nsource = "test"\n{hop}'
    document = measured(text, "--tests", "delay,capacity", "--duration", "8 s", seconds=120.0)
    for direction in ("down", "up"):
        figures = document["capacity"][direction]
        bucket, stalls = figures["queue"]["token_bucket"], figures["queue"]["stalls"]
        # The medium counts its own 28 bytes of headers in rate and burst.
        share = figures["packet_bytes"] / (figures["packet_bytes"] + 28)
        depth = None if bucket is None else bucket["burst_bytes"] / 1e3
        longest = None if stalls is None else stalls["longest_ms"]
        has_bucket = "bucket" in name
        yield _stated(
            name, "token bucket, kB", direction, share * BUCKET_BYTES / 1e3 if has_bucket else None, depth, 0.15
        )
        yield _stated(name, "longest pause, ms", direction, None if has_bucket else PAUSE_MS, longest, 0.1)


def _stated(link: str, figure: str, direction: str, truth: float | None, value: float | None, within: float) -> Row:
    """A figure that is stated where the link has it, and only there."""
    expected, stated = ("none" if one is None else f"{one:.4g}" for one in (truth, value))
    if truth is None or value is None:
        return Row(link, figure, direction, expected, stated, "-", truth is None and value is None)
    error = value / truth - 1.0
    return Row(link, figure, direction, expected, stated, f"{error:+.1%}", abs(error) <= within)


def _capacity(
    link: str, figures: dict[str, Any], direction: str, rate: float, queue: int, frame_s: float
) -> Iterator[Row]:
    rate_bps = figures["rate_bps"]
    error = rate_bps / rate - 1.0
    yield Row(
        link,
        "capacity, Mb/s",
        direction,
        f"{rate / 1e6:g}",
        f"{rate_bps / 1e6:.4g}",
        f"{error:+.2%}",
        abs(error) <= 0.02,
    )
    # The queue, and the packet in transmission.
    buffer = queue + figures["packet_bytes"]
    tolerance = max(0.1 * buffer, figures["packet_bytes"] + frame_s * rate / 8)
    for key, size in figures["buffer_bytes"].items():
        value = "-" if size is None else f"{size / 1e3:.4g}"
        error = float("nan") if size is None else size - buffer
        holds = size is not None and abs(error) <= tolerance
        name = f"buffer ({key.partition('_')[0]}), kB"
        yield Row(link, name, direction, f"{buffer / 1e3:.4g}", value, f"{error / buffer:+.1%}", holds)


def _interval(link: str, figures: dict[str, Any], direction: str, min_delay_ms: float) -> Row:
    low, high = figures["min_delay_interval_ms"]
    within = low <= min_delay_ms <= high
    interval = f"{low:.2f} to {high:.2f}"
    return Row(
        link, "minimum delay, ms", direction, f"{min_delay_ms:.2f}", interval, "within" if within else "outside", within
    )


CELLS: tuple[Callable[[], Iterator[Row]], ...] = (
    *(lambda truth=truth: saturated(truth) for truth in SATURATED),
    framed,
    *(lambda name=name: bursts(name) for name in BURSTS),
    *(lambda truth=truth: noisy(truth) for truth in NOISY),
)


def page() -> Iterator[str]:
    """The lines of the page, each as soon as it is measured."""
    yield ABOUT
    count = holding = 0
    for cell in CELLS:
        try:
            for row in cell():
                count, holding = count + 1, holding + row.holds
                yield row.line()
        except Unmeasured as why:
            yield f"| | | | | no valid emulation: {why} | | |"
    yield (
        "\n"
        f"{holding} of {count} hold. Load before the last run: {os.getloadavg()[0]:.1f} on "
        f"{os.cpu_count()} processors."
    )


def main() -> int:
    """Print the page, and write it to a file if one is named."""
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
