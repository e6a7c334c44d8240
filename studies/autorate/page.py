"""`python -m studies.autorate.page [FILE]`: a download and a call through recorded cellular lines,
without a shaper, with CAKE at a fixed rate, and with cake-autorate's rules, as Markdown.

`make autorate` writes it to docs. The recordings are in the folder `cellular` of ACKCLOCK_DATA; no
recording is part of the page.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import ackclock
from ackclock.input.link.trace import read_recording

RECORDINGS = ("TMobile-LTE-short", "Verizon-LTE-short", "TMobile-UMTS-driving")
SEEDS = (1, 2, 3)
"""Each seed starts at another time of the recording."""
SECONDS = 120
BUFFER = "2 MB"
"""Queue of the line in each direction, as deep as a base station's."""
TITLE = """# A shaper for a line whose rate changes

A download (CUBIC, `linux-6`) and a call (100 kb/s of datagrams downstream) for {seconds} s through recorded
cellular lines with a delay of 20 ms and a queue of {buffer}, and a home's router behind the line, whose
shaper has CAKE in both directions. Medians over {seeds} seeds, each from another time of the recording;
the call's delay is the 95th percentile of one way, with the 20 ms of the line. The rates of a line are
means of whole seconds: the tenth, the mean, the maximum. cake-autorate has them as minimum, base and
maximum. `make autorate` renews this page.
"""


@dataclass(frozen=True)
class Rates:
    """Rates of a recording in bits per second, over its whole seconds."""

    tenth: float
    mean: float
    highest: float

    @classmethod
    def of(cls, path: Path) -> Rates:
        times = read_recording(path).times_ms
        seconds = [0] * (times[-1] // 1000)
        for ms in times:
            if ms // 1000 < len(seconds):
                seconds[ms // 1000] += 1500 * 8
        tenth = max(quantiles(seconds, n=10)[0], 100e3)
        return cls(tenth, sum(seconds) / len(seconds), max(seconds))


@dataclass(frozen=True)
class Outcome:
    """Medians over the seeds: goodput of the download in Mb/s, delay and loss of the call."""

    goodput: float
    delay_ms: float
    lost: float


def shapers(rates: Mapping[str, Rates]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The shapers by name, each with a table for both directions."""

    def both(of: Any) -> dict[str, Any]:
        return {direction: {**of(found), "queue": {"kind": "cake"}} for direction, found in rates.items()}

    yield "none", None
    yield "CAKE at the tenth", both(lambda found: {"rate": bits(found.tenth)})
    yield "CAKE at the mean", both(lambda found: {"rate": bits(found.mean)})
    yield (
        "cake-autorate",
        both(
            lambda found: {
                "autorate": "cake-autorate",
                "min_shaper_rate": bits(found.tenth),
                "base_shaper_rate": bits(found.mean),
                "max_shaper_rate": bits(found.highest),
            }
        ),
    )


def bits(rate: float) -> str:
    return f"{round(rate / 1000)} kb/s"


def measured(folder: Path, recording: str, shaper: dict[str, Any] | None) -> Outcome:
    rate = {direction: {"trace": str(folder / f"{recording}.{direction}.gz")} for direction in ("down", "up")}
    line = {"name": "line", "rate": rate, "delay": "20 ms", "queue": {"kind": "droptail", "bytes": BUFFER}}
    router = {"name": "router", **({"shaper": shaper} if shaper else {})}
    flows = [
        {"name": "download", "workload": {"kind": "bulk"}, "host": "linux-6"},
        {"name": "call", "workload": {"kind": "cbr", "rate": "100 kb/s", "packet": "250 B"}},
    ]
    run = ackclock.simulate({"hop": [line, router]}, flows, duration=f"{SECONDS} s", seeds=list(SEEDS))
    download, call = (run.flows.filter(run.flows["flow"] == name) for name in ("download", "call"))
    return Outcome(
        median(download["goodput_bps"]) / 1e6,
        median(call["one_way_delay_ms_p95"]),
        median(call["datagrams_lost"]) / (SECONDS * 50),
    )


def table(folder: Path, recording: str) -> list[str]:
    rates = {direction: Rates.of(folder / f"{recording}.{direction}.gz") for direction in ("down", "up")}
    settings = list(shapers(rates))
    with ThreadPoolExecutor(2) as threads:
        outcomes = list(threads.map(lambda setting: measured(folder, recording, setting[1]), settings))
    shown = "; ".join(
        f"{direction}: {found.tenth / 1e6:.2f}, {found.mean / 1e6:.2f}, {found.highest / 1e6:.2f} Mb/s"
        for direction, found in rates.items()
    )
    rows = [
        f"| {name} | {found.goodput:.2f} | {found.delay_ms:.0f} | {100 * found.lost:.1f} % |"
        for (name, _), found in zip(settings, outcomes, strict=True)
    ]
    head = ["| shaper | download Mb/s | call's p95 delay ms | call's packets lost |", "|---|---:|---:|---:|"]
    return ["", f"## {recording}", "", f"Tenth, mean and maximum {shown}.", "", *head, *rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    args = parser.parse_args()
    folder = Path(os.environ["ACKCLOCK_DATA"]) / "cellular"
    title = TITLE.format(seconds=SECONDS, buffer=BUFFER, seeds=len(SEEDS))
    lines = [line for recording in RECORDINGS for line in table(folder, recording)]
    text = title + "\n".join(lines) + "\n"
    if args.file:
        args.file.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
