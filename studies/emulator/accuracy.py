"""How exactly the emulator keeps what a link file asks: rates, delays, losses, recorded opportunities."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from studies.emulator.traffic import Outcome, Stream, link, run

RATES = {"256 kb/s": 256e3, "1 Mb/s": 1e6, "10 Mb/s": 10e6, "100 Mb/s": 100e6, "500 Mb/s": 500e6}
LOSSES = (0.001, 0.01, 0.1)
DELAY_S = 0.03
SIZE = 1500
QUEUE_S = 0.05
"""What waits before a saturated link, as far as that is more than 50 packets."""
ATTEMPTS = 3
"""A run that its own audit calls invalid is repeated so often."""

RATE_WITHIN = 0.005
P50_US, P99_US = 50.0, 500.0
SIGMAS = 3.3
"""Binomial counts lie within so many standard deviations in 999 of 1,000 runs."""
OPPORTUNITIES_WITHIN = 0.01
HEADINGS = ("what", "asked", "measured", "error", "limit", "holds", "audit: late p50, p99 us", "load", "steal")


@dataclass(frozen=True)
class Row:
    """One figure beside what was asked. Errors in the unit of their limit, with how they are written."""

    what: str
    asked: str
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
            self.what,
            self.asked,
            self.measured,
            format(self.error, self.form),
            format(self.limit, self.form.replace("+", "")),
            holds if document["valid"] else f"{holds}, but invalid: {document['why']}",
            f"{late['p50'] or 0:.0f}, {late['p99'] or 0:.0f}",
            f"{document['load']:.1f}",
            f"{document['steal_percent']:.1f} %",
        )


def valid(text: str, stream: Stream, seconds: float, folder: Path | None = None) -> Outcome:
    """A valid run, or the last of some."""
    for attempt in range(ATTEMPTS):
        place = folder / str(attempt) if folder else None
        outcome = run(text, [stream], seconds, folder=place)
        if outcome.document["valid"]:
            break
    return outcome


def rates() -> Iterator[Row]:
    """Saturated, then half loaded with even spacing."""
    for name, bps in RATES.items():
        seconds = 20.0 if bps < 1e6 else 8.0
        # Enough to send while the sender waits for its turn: a queue that runs dry would measure the sender.
        queue = f'{{ kind = "droptail", packets = {max(50, round(QUEUE_S * bps / 8 / SIZE))} }}'
        full = valid(link(f'"{name}"', queue=queue), Stream("down", 1.3 * bps, SIZE), seconds)
        got = full.counted["down"]["bps"]
        yield Row(f"{name}, saturated", name, f"{got / 1e6:.4f} Mb/s", got / bps - 1, RATE_WITHIN, "+.2%", full)
        half = valid(link(f'"{name}"'), Stream("down", bps / 2, SIZE, even=True), seconds)
        exact_us = (DELAY_S + SIZE * 8 / bps) * 1e6
        delay = half.counted["down"]["delay_us"]
        for quantile, limit in (("p50", P50_US), ("p99", P99_US)):
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
    """Losses by chance, counted by number."""
    for mean in LOSSES:
        text = link('"50 Mb/s"', loss=f'{{ kind = "bernoulli", mean = {mean} }}')
        outcome = valid(text, Stream("down", 24e6, 500), 10.0)
        seen = outcome.counted["down"]
        sent = seen["packets"] + seen["lost"]
        sigmas = (seen["lost"] - mean * sent) / math.sqrt(sent * mean * (1 - mean))
        yield Row(f"loss {mean:g} of {sent}", f"{mean * sent:.0f}", str(seen["lost"]), sigmas, SIGMAS, "+.1f", outcome)


def recorded(traces: Path | None) -> Iterator[Row]:
    """Opportunities of recorded links that were used while packets waited."""
    from ackclock.input.link.trace import read_recording

    if traces is None:
        return
    for path in sorted(traces.glob("*LTE*")):
        with tempfile.TemporaryDirectory() as scratch:
            text = link(f'{{ trace = "{path}" }}', delay="10 ms", queue='{ kind = "droptail", packets = 3000 }')
            outcome = valid(text, Stream("down", 120e6, SIZE), 15.0, Path(scratch))
            assert outcome.folder is not None
            fates = pl.read_parquet(outcome.folder / "fates.parquet").filter(pl.col("from") == "server")
        used = (fates.filter(pl.col("fate") == "delivered")["at_s"] - 0.01).sort()
        # From the first use until the queue may have run dry: when the last packet came.
        low, high = float(used[0]), float(fates["sent_s"].max())  # type: ignore[arg-type]
        taken = int(((used >= low) & (used <= high)).sum())
        there = _opportunities(read_recording(path).times_ms, low, high)
        yield Row(
            f"recorded {path.name}",
            f"{there} opportunities",
            f"{taken} used",
            taken / there - 1,
            OPPORTUNITIES_WITHIN,
            "+.2%",
            outcome,
        )


def _opportunities(times_ms: list[int] | tuple[int, ...], low_s: float, high_s: float) -> int:
    """How many lie between two instants, the recording repeated with its last time as period."""
    period, count, start = times_ms[-1], 0, 0.0
    while start / 1e3 <= high_s:
        count += sum(low_s <= (start + t) / 1e3 + 1e-9 and (start + t) / 1e3 <= high_s for t in times_ms)
        start += period
    return count


def wholly(rows: Iterator[Row]) -> Iterator[str]:
    """Lines of a table."""
    yield "| " + " | ".join(HEADINGS) + " |"
    yield "|" + "---|" * len(HEADINGS)
    for row in rows:
        yield "| " + " | ".join(row.cells()) + " |"
