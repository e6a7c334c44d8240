"""Cost of many runs: sweeps and comparisons through the command, beside the same plans run
natively.

usage: .venv/bin/python -m benches.runs [--binary target/release/ackclock-bench] [--json FILE]

Every figure has a target; the exit status is 1 if one is missed. CPU times are the minimum
of `REPEATS` alternating runs, since other work on the machine only adds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from ackclock.input.scenario.draft import read_draft
from ackclock.simulation.sweep import check_points, run_list
from ackclock.storage.dataset_files import CHUNKS, INDEX
from benches import programs
from benches.figures import COMMAND, Figure, finish, minimum
from benches.programs import run
from tests.support.dask_processes import dask_processes

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
START_UP = """\
duration = "20 s"
[[hop]]
name = "line"
rate = "20 Mb/s"
delay = "20 ms"
queue = { kind = "droptail", bytes = "128 KiB" }
[[flow]]
workload = { kind = "bulk" }
[[flow]]
workload = { kind = "bulk" }
variant = "reno"
"""


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
            plan = runs.spec(number).plan.expanded()
            if not runs.keeps_series(number):
                plan["sample_ps"] = 0
            file.write(json.dumps(plan) + "\n")


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
        one.append(run([*command("sweep", str(path), out=folder / f"one{repeat}"), "--workers", "1"]))
        two.append(run([*command("sweep", str(path), out=folder / f"two{repeat}"), "--workers", "2"]))
    sweep, parallel = minimum(one), minimum(two)
    runs = 2000
    print(f"native run: {min(native) / runs * 1e3:.2f} ms; run in a sweep: {sweep.cpu_s / runs * 1e3:.2f} ms")
    many = command("sweep", str(scenario(folder, 250, 20, "1 s")), out=folder / "many")
    run(many)
    again = minimum([run(many) for _ in range(REPEATS)])
    points = command("sweep", str(scenario(folder, 5000, 1, "1 s")), out=folder / "points")
    run(points)
    points_again = minimum([run(points) for _ in range(REPEATS)])
    files = sum(file.is_file() for file in (folder / "many").rglob("*"))
    compared = minimum(
        [
            run(
                command(
                    "compare", "dsl-16m", "--goal", "balanced", "--variants", "all", out=folder / f"compare{repeat}"
                )
            )
            for repeat in range(2)
        ]
    )
    size = sum(file.stat().st_size for file in (folder / "compare0").rglob("*") if file.is_file())
    return [
        Figure("CPU of a run in a sweep of 2,000, over the native run's", sweep.cpu_s / min(native), 1.4, ""),
        Figure("wall time of one worker over that of two", sweep.wall_s / parallel.wall_s, 1.9, "x", at_least=True),
        Figure("files of 10,000 runs", files, 40, ""),
        Figure("a finished sweep of 10,000 runs is recognised", again.wall_s, 1.0, "s"),
        Figure("a finished sweep of 10,000 points is recognised", points_again.wall_s, 1.0, "s"),
        Figure("the same, CPU time", points_again.cpu_s, 1.0, "s"),
        Figure("compare dsl-16m (26 variants, 208 configurations, 10 seeds)", compared.wall_s, 15.0, "s"),
        Figure("size of its folder", size / 1e6, 20.0, "MB"),
    ]


def start_up(folder: Path) -> list[Figure]:
    """Wall time of `import ackclock` above an empty Python, and of a 20 s scenario with the start
    of the command, without and with its report.
    """
    empty, imported, plain, reported = [], [], [], []
    path = folder / "start-up.toml"
    path.write_text(START_UP)
    for repeat in range(5):
        empty.append(run([sys.executable, "-c", ""]).wall_s)
        imported.append(run([sys.executable, "-c", "import ackclock"]).wall_s)
        words = [str(COMMAND), "simulate", str(path), "--quiet", "--out"]
        plain.append(run([*words, str(folder / f"plain{repeat}"), "--no-report"]).wall_s)
        reported.append(run([*words, str(folder / f"reported{repeat}")]).wall_s)
    return [
        Figure("`import ackclock`", (min(imported) - min(empty)) * 1e3, 50.0, "ms"),
        Figure("`ackclock simulate` of 20 s, two flows, 20 Mb/s", min(plain), 1.0, "s"),
        Figure("the same with its report", min(reported), 2.0, "s"),
    ]


def over_dask(folder: Path) -> list[Figure]:
    """Wall time of a sweep on two Dask workers over that on two threads, alternating."""
    if importlib.util.find_spec("distributed") is None:
        programs.leave_out("the sweep on a Dask cluster: the package distributed is not installed")
        return []
    path = str(scenario(folder, 50, 20, "30 s"))
    with dask_processes(folder) as cluster:
        threads, dask = [], []
        for repeat in range(REPEATS):
            threads.append(run([*command("sweep", path, out=folder / f"t{repeat}"), "--workers", "2"]).wall_s)
            dask.append(run([*command("sweep", path, out=folder / f"d{repeat}"), "--dask", cluster.address]).wall_s)
    return [Figure("wall time on two Dask workers, over that on two threads", min(dask) / min(threads), 1.1, "")]


def endurance(folder: Path) -> list[Figure]:
    """Memory of a sweep of 100,000 runs."""
    path = scenario(folder, 250, 200, "1 s")
    chunks = len(run_list(check_points(read_draft(path))).chunks)
    out = folder / "endurance"
    started = time.monotonic()
    process = subprocess.Popen(command("sweep", str(path), out=out), stdout=subprocess.DEVNULL)
    begun, runs_end, peak, wall = 0, 0, 0, 0.0
    while process.poll() is None:
        time.sleep(0.25)
        resident = resident_kb(process.pid)
        done = len(list((out / CHUNKS).glob("[0-9]*"))) if (out / CHUNKS).is_dir() else 0
        if chunks / 5 <= done < chunks and not (out / INDEX).exists():
            begun, runs_end = begun or resident, max(runs_end, resident)
            wall = time.monotonic() - started
        peak = max(peak, resident)
    print(
        f"100,000 runs: {wall:.0f} s; memory {begun / 1e3:.0f} MB after a fifth, at most {runs_end / 1e3:.0f} MB while"
    )
    print(f"runs are made, {peak / 1e3:.0f} MB with the joined tables; {time.monotonic() - started:.0f} s in all")
    return [
        Figure("maximum memory while 100,000 runs are made, over a fifth's", runs_end / max(begun, 1), 1.25, ""),
        Figure("maximum memory of a sweep of 100,000 runs", peak / 1e3, 1000.0, "MB"),
    ]


def resident_kb(pid: int) -> int:
    """Resident memory of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1000
    except (OSError, IndexError):
        return 0


def main() -> int:
    """Print the figures; 1 if one misses its target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=Path("target/release/ackclock-bench"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        figures = [*start_up(place), *measure(arguments.binary, place), *over_dask(place), *endurance(place)]
    print("\n".join(figure.line() for figure in figures))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n")
    return finish(figures)


if __name__ == "__main__":
    sys.exit(main())
