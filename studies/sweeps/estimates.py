"""`python -m studies.sweeps.estimates [FILE]`: `sweep --estimate` beside what the sweeps take.

`make sweep-estimates` writes it to docs. Each sweep runs through the command, with other seeds for
each kind of link.
"""

from __future__ import annotations

import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.simulation.run_estimate import duration_text, size_text
from ackclock.storage.dataset_files import TABLES

COMMAND = [sys.executable, "-m", "ackclock", "sweep"]
WITHIN = 0.3
"""Largest share by which an estimate may differ."""
ABOUT = """# What a sweep will take: estimates beside measurements

Written by `make sweep-estimates` ([estimates.py](../../studies/sweeps/estimates.py)). `ackclock sweep
--estimate` makes some runs of a sweep and estimates CPU time, size of the tables and time; the sweep
then runs through the command with the same options. Each cell has the estimate, the measurement,
and the ratio of the two; **bold** ratios are outside of 0.7 to 1.3. CPU time is that of the whole
command.
"""
LINE = '[[hop]]\nname = "line"\nrate = "10 Mb/s"\nqueue = { bytes = "64 KiB" }\n'
BULK = '[[flow]]\nworkload = { kind = "bulk" }\n'
VARIANTS = '"tcp.variant" = ["reno", "cubic", "vegas", "bbr"]\n'
DELAYS = '"hop.line.delay" = ["2 ms", "10 ms", "40 ms", "100 ms"]\n'


@dataclass(frozen=True)
class Kind:
    """A kind of sweep: a scenario, and options of the command."""

    name: str
    text: str
    options: tuple[str, ...] = ()


KINDS = (
    Kind("one line, 4 variants, 4 delays", f'duration = "30 s"\nseeds = 100\n{LINE}{BULK}[sweep]\n{DELAYS}{VARIANTS}'),
    Kind(
        "rates from 1 to 300 Mb/s",
        f'duration = "20 s"\nseeds = 20\n{LINE}{BULK}[sweep]\n{VARIANTS}'
        '"hop.line.rate" = ["1 Mb/s", "3 Mb/s", "10 Mb/s", "30 Mb/s", "100 Mb/s", "300 Mb/s"]\n',
    ),
    Kind(
        "loss from 0 to 3 %",
        f'duration = "30 s"\nseeds = 100\n{LINE}delay = "20 ms"\n{BULK}[sweep]\n{VARIANTS}'
        '"hop.line.loss.down.mean" = [0, 0.001, 0.01, 0.03]\n',
    ),
    Kind(
        "Wi-Fi (wifi-80211b)",
        f'link = "wifi-80211b"\nduration = "20 s"\nseeds = 200\nclients = 2\n{BULK}count = 2\n[sweep]\n{VARIANTS}',
    ),
    Kind(
        "802.16 (wimax-nist)",
        f'link = "wimax-nist"\nduration = "20 s"\nseeds = 100\n{BULK}[sweep]\n{VARIANTS}'
        '"hop.air.loss.down.mean" = [0, 0.001]\n',
    ),
    Kind("grants (lte-uplink)", f'link = "lte-uplink"\nduration = "10 s"\nseeds = 120\n{BULK}[sweep]\n{VARIANTS}'),
    Kind(
        "a recorded rate",
        f'duration = "30 s"\nseeds = 200\n[[hop]]\nname = "air"\nrate.down = {{ trace = "cell" }}\n'
        f'rate.up = "5 Mb/s"\ndelay = "20 ms"\nqueue = {{ packets = 200 }}\n{BULK}[sweep]\n{VARIANTS}',
    ),
    Kind(
        "100 flows",
        f'duration = "20 s"\nseeds = 30\n{LINE.replace("10 Mb/s", "50 Mb/s")}delay = "10 ms"\n{BULK}count = 100\n'
        f"[sweep]\n{VARIANTS}",
    ),
    Kind(
        "1 Gb/s",
        f'duration = "5 s"\nseeds = 12\n{LINE.replace("10 Mb/s", "1 Gb/s").replace("64 KiB", "2 MiB")}'
        f'delay = "5 ms"\n{BULK}[sweep]\n{VARIANTS}',
    ),
    Kind(
        "one line, --series all",
        f'duration = "30 s"\nseeds = 50\n{LINE}{BULK}[sweep]\n{DELAYS}{VARIANTS}',
        ("--series", "all"),
    ),
    Kind(
        "4,000 short runs of 4,000 points",
        f'duration = "1 s"\nseeds = 1\n{LINE}{BULK}[sweep]\n"hop.line.delay" = ['
        + ", ".join(f'"{1 + number} ms"' for number in range(1000))
        + f"]\n{VARIANTS}",
    ),
)


@dataclass(frozen=True)
class Taken:
    """CPU seconds, bytes of the tables, and seconds."""

    cpu_s: float
    size: float
    wall_s: float


def recorded(path: Path) -> None:
    """A rate that changes each second between 2 and 20 Mb/s, as times in ms."""
    rng = random.Random(7)
    times = [
        second * 1000 + ms for second in range(60) for ms in sorted(rng.sample(range(1000), rng.randint(166, 999)))
    ]
    path.write_text("".join(f"{ms + 1}\n" for ms in times))


def measured(kind: Kind, folder: Path) -> tuple[dict[str, Any], Taken]:
    """The estimate of a sweep, and what it takes."""
    recorded(folder / "cell")
    (folder / "sweep.toml").write_text(kind.text)
    scenario = [str(folder / "sweep.toml"), *kind.options, "--json"]
    expected = json.loads(subprocess.check_output([*COMMAND, *scenario, "--estimate"]))
    out = folder / "out"
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([*COMMAND, *scenario, "--quiet", "--no-report", "--out", str(out)], check=True, capture_output=True)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    size = sum(file.stat().st_size for name in TABLES for file in (out / name).iterdir())
    return expected, Taken(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, size, wall)


def row(kind: Kind, expected: dict[str, Any], taken: Taken) -> str:
    """A row of the table."""

    def cell(estimate: float, found: float, texts: tuple[str, str]) -> str:
        ratio = estimate / found
        text = f"{ratio:.2f}" if abs(ratio - 1.0) <= WITHIN else f"**{ratio:.2f}**"
        return f"{texts[0]} / {texts[1]} = {text}"

    cells = (
        cell(expected["cpu_s"], taken.cpu_s, (f"{expected['cpu_s']:.1f}", f"{taken.cpu_s:.1f} s")),
        cell(expected["bytes"], taken.size, (size_text(expected["bytes"]), size_text(taken.size))),
        cell(expected["wall_s"], taken.wall_s, (duration_text(expected["wall_s"]), duration_text(taken.wall_s))),
    )
    return f"| {kind.name} | {expected['runs']} | {' | '.join(cells)} |"


def page() -> Iterator[str]:
    """The lines of the page."""
    yield ABOUT
    yield "| sweep | runs | CPU time | size | time |"
    yield "|---|---|---|---|---|"
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            yield row(kind, *measured(kind, Path(folder)))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    yield f"\n{os.cpu_count()} CPUs ({platform.machine()}), {time.strftime('%Y-%m-%d')}; load averages at the end: {load}."


def main() -> int:
    """Write the page to a file, or to standard output."""
    lines = []
    for line in page():
        print(line, flush=True)
        lines.append(line)
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
