"""Cost of many runs: sweeps and comparisons through the command, beside the same plans run
natively.

usage: .venv/bin/python benches/runs.py [--binary target/release/ackclock-bench] [--json FILE]

Every figure has a target; the exit status is 1 if one is over its target. CPU times are the minimum
of `REPEATS` alternating runs, since other work on the machine only adds.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ackclock.input.scenario.draft import read_draft
from ackclock.simulation.plan import Plan
from ackclock.simulation.sweep import check_points, run_list

REPEATS = 3
SWEEP = """\
duration = "{duration}"
seeds = {seeds}
[[hop]]
name = "line"
rate = "10 Mb/s"
queue = {{ kind = "droptail", bytes = "64 KiB" }}
[[flow]]
workload = {{ kind = "bulk" }}
[sweep]
"hop.line.delay" = [{delays}]
"tcp.variant" = ["reno", "cubic"]
"""
COMMAND = Path(sys.executable).with_name("ackclock")


@dataclass(frozen=True)
class Cost:
    """CPU and wall time of a command, in seconds."""

    cpu_s: float
    wall_s: float


@dataclass(frozen=True)
class Figure:
    """One figure with the value that it must not exceed."""

    name: str
    value: float
    target: float
    unit: str

    @property
    def over(self) -> bool:
        return self.value > self.target

    def line(self) -> str:
        verdict = "OVER" if self.over else "ok"
        return f"{self.name:<62} {self.value:>9.2f} {self.unit:<8} target {self.target:g}  {verdict}"


def scenario(folder: Path, points: int, seeds: int, duration: str) -> Path:
    """A sweep of `2 * points * seeds` runs."""
    delays = ", ".join(f'"{1 + number} ms"' for number in range(points))
    path = folder / f"sweep-{points}-{seeds}.toml"
    path.write_text(SWEEP.format(duration=duration, seeds=seeds, delays=delays))
    return path


def plans(path: Path, to: Path) -> None:
    """Write the plans of a sweep's runs, a line each. Those whose series a sweep does not keep have
    none.
    """
    runs = run_list(check_points(read_draft(path)))
    with to.open("w") as file:
        for number in range(len(runs)):
            plan = runs.spec(number).plan
            if not runs.keeps_series(number):
                plan = replace(plan, document={**plan.document, "sample_ps": 0})
            file.write(Plan(plan.document).text() + "\n")


def cost(command: Sequence[str]) -> Cost:
    """The cost of a command, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def minimum(costs: Sequence[Cost]) -> Cost:
    return Cost(min(one.cpu_s for one in costs), min(one.wall_s for one in costs))


def command(*words: str, out: Path) -> list[str]:
    return [str(COMMAND), *words, "--out", str(out), "--quiet", "--json", "--no-report"]


def measure(binary: Path, folder: Path) -> list[Figure]:
    """All figures."""
    path = scenario(folder, 50, 20, "30 s")
    lines = folder / "plans.jsonl"
    plans(path, lines)
    native, one, two = [], [], []
    for repeat in range(REPEATS):
        native.append(float(json.loads(subprocess.check_output([str(binary), "runs", str(lines)]))["cpu_s"]))
        one.append(cost([*command("sweep", str(path), out=folder / f"one{repeat}"), "--workers", "1"]))
        two.append(cost([*command("sweep", str(path), out=folder / f"two{repeat}"), "--workers", "2"]))
    sweep, parallel = minimum(one), minimum(two)
    runs = 2000
    print(f"native run: {min(native) / runs * 1e3:.2f} ms; run in a sweep: {sweep.cpu_s / runs * 1e3:.2f} ms")
    many = command("sweep", str(scenario(folder, 250, 20, "1 s")), out=folder / "many")
    cost(many)
    again = minimum([cost(many) for _ in range(REPEATS)])
    files = sum(file.is_file() for file in (folder / "many").rglob("*"))
    compared = minimum([cost(command("compare", "dsl-16m", out=folder / f"compare{repeat}")) for repeat in range(2)])
    size = sum(file.stat().st_size for file in (folder / "compare0").rglob("*") if file.is_file())
    return [
        Figure("CPU of a run in a sweep of 2,000, over the native run's", sweep.cpu_s / min(native), 1.4, ""),
        Figure("wall time on two workers, over CPU time", parallel.wall_s / parallel.cpu_s, 0.6, ""),
        Figure("files of 10,000 runs", files, 40, ""),
        Figure("a finished sweep of 10,000 runs is recognised", again.wall_s, 1.0, "s"),
        Figure("compare dsl-16m (26 variants, 208 configurations, 10 seeds)", compared.wall_s, 15.0, "s"),
        Figure("size of its folder", size / 1e6, 20.0, "MB"),
    ]


def main() -> int:
    """Print the figures; 1 if one is over its target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=Path("target/release/ackclock-bench"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(arguments.binary, Path(folder))
    print("\n".join(figure.line() for figure in figures))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n")
    return 1 if any(figure.over for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
