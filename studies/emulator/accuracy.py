"""The emulator's accuracy: rates, delays, losses and recorded opportunities against the link
file.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ackclock.format import date_of
from studies.emulator.traffic import Outcome, Stream, link, run

RATES = {"256 kb/s": 256e3, "1 Mb/s": 1e6, "10 Mb/s": 10e6, "100 Mb/s": 100e6, "500 Mb/s": 500e6}
LOSSES = (0.001, 0.01, 0.1)
DELAY_S = 0.03
SIZE = 1500
QUEUE_S = 0.05
"""Queue of a saturated link in seconds, at least 50 packets."""
ATTEMPTS = 3
"""Maximum number of runs until one is valid by its audit."""

MAX_RATE_ERROR = 0.005
MAX_P50_US, MAX_P99_US = 50.0, 500.0
MAX_SIGMAS = 3.3
"""A binomial count is within 3.3 standard deviations in 999 of 1,000 runs."""
MAX_OPPORTUNITY_ERROR = 0.01
HEADINGS = (
    "quantity",
    "configured",
    "measured",
    "error",
    "limit",
    "holds",
    "grade",
    "release error p50, p99 us",
    "date",
    "load",
    "steal",
)


@dataclass(frozen=True)
class Row:
    """A measured figure and its configured value. ``form`` formats error and limit."""

    quantity: str
    configured: str
    measured: str
    error: float
    limit: float
    form: str
    outcome: Outcome

    def cells(self) -> tuple[str, ...]:
        document = self.outcome.document
        late = document["release_error_us"]
        holds = "yes" if abs(self.error) <= self.limit else "no"
        return (
            self.quantity,
            self.configured,
            self.measured,
            format(self.error, self.form),
            format(self.limit, self.form.replace("+", "")),
            holds,
            document["grade"] if document["valid"] else f"invalid: {document['why']}",
            f"{late['p50'] or 0:.0f}, {late['p99'] or 0:.0f}",
            date_of(document["started"]),
            f"{document['load']:.1f}",
            f"{document['steal_percent']:.1f} %",
        )


def run_until_valid(text: str, stream: Stream, seconds: float, folder: Path | None = None) -> Outcome:
    """The first valid run, or the last of ``ATTEMPTS``."""
    for attempt in range(ATTEMPTS):
        run_folder = folder / str(attempt) if folder else None
        outcome = run(text, [stream], seconds, folder=run_folder)
        if outcome.document["valid"]:
            break
    return outcome


def rates() -> Iterator[Row]:
    """Saturated for the rate, then half loaded with even spacing for the delay."""
    for name, bps in RATES.items():
        seconds = 20.0 if bps < 1e6 else 8.0
        # The queue must not run empty while the sender waits for the CPU.
        queue = f'{{ kind = "droptail", packets = {max(50, round(QUEUE_S * bps / 8 / SIZE))} }}'
        full = run_until_valid(link(f'"{name}"', queue=queue), Stream("down", 1.3 * bps, SIZE), seconds)
        bps_measured = full.counted["down"]["bps"]
        yield Row(
            f"{name}, saturated",
            name,
            f"{bps_measured / 1e6:.4f} Mb/s",
            bps_measured / bps - 1,
            MAX_RATE_ERROR,
            "+.2%",
            full,
        )
        half = run_until_valid(link(f'"{name}"'), Stream("down", bps / 2, SIZE, even=True), seconds)
        exact_us = (DELAY_S + SIZE * 8 / bps) * 1e6
        delay = half.counted["down"]["delay_us"]
        for quantile, limit in (("p50", MAX_P50_US), ("p99", MAX_P99_US)):
            error = delay[quantile] - exact_us
            yield Row(
                f"{name}, half load: delay {quantile}",
                f"{exact_us:.0f} us",
                f"{delay[quantile]:.0f} us",
                error,
                limit,
                "+.0f",
                half,
            )


def losses() -> Iterator[Row]:
    """Random loss, counted by packet number."""
    for mean in LOSSES:
        text = link('"50 Mb/s"', loss=f'{{ kind = "bernoulli", mean = {mean} }}')
        outcome = run_until_valid(text, Stream("down", 24e6, 500), 10.0)
        counts = outcome.counted["down"]
        sent = counts["packets"] + counts["lost"]
        sigmas = (counts["lost"] - mean * sent) / math.sqrt(sent * mean * (1 - mean))
        yield Row(
            f"loss {mean:g} of {sent}", f"{mean * sent:.0f}", str(counts["lost"]), sigmas, MAX_SIGMAS, "+.1f", outcome
        )


def recorded_links(traces: Path | None) -> Iterator[Row]:
    """Transmission opportunities of recorded links that were used while the queue was not empty."""
    from ackclock.input.link.trace import read_recording

    if traces is None:
        return
    for path in sorted(traces.glob("*LTE*")):
        with tempfile.TemporaryDirectory() as scratch:
            text = link(
                f'{{ trace = "{path}", start = "0 s" }}', delay="10 ms", queue='{ kind = "droptail", packets = 3000 }'
            )
            outcome = run_until_valid(text, Stream("down", 120e6, SIZE), 15.0, Path(scratch))
            assert outcome.folder is not None
            fates = pl.read_parquet(outcome.folder / "fates.parquet").filter(pl.col("from") == "server")
        used = (fates.filter(pl.col("fate") == "delivered")["at_s"] - 0.01).sort()
        # From the first used opportunity to the arrival of the last packet, when the queue may run
        # empty.
        low, high = float(used[0]), float(fates["sent_s"].max())  # type: ignore[arg-type]
        used_count = int(((used >= low) & (used <= high)).sum())
        available = _opportunities(read_recording(path).times_ms, low, high)
        yield Row(
            f"recorded {path.name}",
            f"{available} opportunities",
            f"{used_count} used",
            used_count / available - 1,
            MAX_OPPORTUNITY_ERROR,
            "+.2%",
            outcome,
        )


def _opportunities(times_ms: list[int] | tuple[int, ...], low_s: float, high_s: float) -> int:
    """Number of opportunities from ``low_s`` to ``high_s``.

    The recording repeats with its last time as period.
    """
    period, count, start = times_ms[-1], 0, 0.0
    while start / 1e3 <= high_s:
        count += sum(low_s <= (start + t) / 1e3 + 1e-9 and (start + t) / 1e3 <= high_s for t in times_ms)
        start += period
    return count


def markdown_table(rows: Iterator[Row]) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield "| " + " | ".join(HEADINGS) + " |"
    yield "|" + "---|" * len(HEADINGS)
    for row in rows:
        yield "| " + " | ".join(row.cells()) + " |"
