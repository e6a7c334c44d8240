"""A report of every kind, from runs that are kept in a folder."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ackclock
from ackclock.result_folder import write_report

LINK = "dsl-16m"
BULK = [{"workload": {"kind": "bulk"}}]
BLOATED = {
    "title": "A download over 8 Mb/s with a buffer of 400 kB",
    "hop": [
        {"name": "core", "rate": "100 Mb/s", "delay": "10 ms"},
        {
            "name": "dsl",
            "rate": {"down": "8 Mb/s", "up": "1 Mb/s"},
            "delay": "10 ms",
            "queue": {"down": {"kind": "droptail", "bytes": "400 kB"}, "up": {"kind": "droptail", "bytes": "64 kB"}},
        },
    ],
}
MEASURE_S = 300
"""A limit: the emulation ends with the measurement, which took 139 s at load 10."""


class NotHere(Exception):
    """A kind of run that this machine cannot make, with the reason."""


def simulate(folder: Path) -> Path:
    """Two downloads, and an upload beside them from the 10th second."""
    if not (folder / "report.html").is_file():
        ackclock.simulate("examples/upload-hurts-download.toml", seeds=3, out=folder, captures="pcap")
    return write_report(folder)


def compare(folder: Path) -> Path:
    """The default grid of configurations, with short runs."""
    if not (folder / "compare.json").is_file():
        ackclock.compare(LINK, variants=["all"], seeds=2, duration="4 s", opposite=1, out=folder)
    return write_report(folder)


def sweep(folder: Path) -> Path:
    """A sweep over a loss rate and four variants."""
    if not (folder / "sweep.json").is_file():
        ackclock.sweep("examples/biad-loss-sweep.toml", duration="5 s", seeds=3, out=folder)
    return write_report(folder)


def reproduce(folder: Path) -> Path:
    """A paper with figures, quickly."""
    _run(folder, "reproduce", "asymmetry", "--quick")
    return write_report(folder)


def analyze(folder: Path) -> Path:
    """The captures of both ends of a simulated transfer."""
    if not (folder / "analysis.json").is_file():
        ackclock.analyze(*_captures(folder.parent), out=folder)
    return write_report(folder)


def fit(folder: Path) -> Path:
    """The link of these captures."""
    return ackclock.fit(*_captures(folder.parent)).report(_made(folder) / "report.html")


def diff(folder: Path) -> Path:
    """The same scenario with Reno and with BBR."""
    runs = [
        ackclock.simulate(
            LINK, BULK, duration="10 s", seeds=5, tcp={"variant": variant}, out=folder / variant, force=True
        )
        for variant in ("reno", "bbr")
    ]
    return ackclock.diff(*(str(run.folder) for run in runs)).report(folder / "report.html")


def advise(folder: Path) -> Path:
    """Advice on a line with a long queue."""
    if not (folder / "report.html").is_file():
        ackclock.advise(
            BLOATED, goal="balanced", may=["sender", "receiver", "router"], cpu_s=30.0, out=folder, force=True
        )
    return write_report(folder)


def emulate(folder: Path) -> Path:
    """A measurement behind an emulated link: the emulator's report."""
    _measured(folder.parent)
    return write_report(folder)


def measure(folder: Path) -> Path:
    """The report of that measurement."""
    _measured(folder.parent)
    return write_report(folder)


def schedule(folder: Path) -> Path:
    """Some measurements of a schedule; of the same results, moved in time."""
    _measured(folder.parent)
    _made(folder)
    source = folder.parent / "measure"
    document = json.loads((source / "measurement.json").read_text("utf-8"))
    runs = {}
    for number in range(6):
        one = _made(folder / f"{number:04d}")
        for file in source.glob("*.parquet"):
            (one / file.name).write_bytes(file.read_bytes())
        (one / "scenario.toml").write_bytes((source / "scenario.toml").read_bytes())
        started = f"{document['started'][:11]}{number:02d}{document['started'][13:]}"
        (one / "measurement.json").write_text(
            json.dumps({**document, "started": started, "labels": {"ssi": str(number % 2)}})
        )
        runs[str(number)] = {"number": number, "began": started, "folder": one.name}
    state = {"what": {"host": document["host"]}, "times": 8, "every_s": 3600.0, "runs": runs}
    (folder / "schedule.json").write_text(json.dumps(state))
    return write_report(folder)


KINDS: dict[str, Callable[[Path], Path]] = {
    one.__name__: one
    for one in (simulate, compare, sweep, reproduce, analyze, fit, diff, advise, emulate, measure, schedule)
}
"""What makes the report of each kind in a folder, and returns its path."""


def _captures(runs: Path) -> list[Path]:
    folder = runs / "captured"
    if not (folder / "report.html").is_file():
        ackclock.simulate(BLOATED, BULK, duration="20 s", seed=1, out=folder, captures="pcap", force=True)
        write_report(folder)
    return sorted((folder / "captures").glob("*.pcap"))


def _measured(runs: Path) -> None:
    """A measurement over an emulated link, both with run folders."""
    if (runs / "emulate" / "emulation.json").is_file() and (runs / "measure" / "measurement.json").is_file():
        return
    link = _made(runs) / "line.toml"
    _write_link(link)
    token = runs.resolve() / "token"
    program = [sys.executable, "-m", "ackclock"]
    serve = [*program, "serve", "--listen", "::", "--token-file", str(token)]
    token.unlink(missing_ok=True)
    wait = (
        "import os, socket, sys, time\n"
        "server = os.environ['ACKCLOCK_SERVER']\n"
        "while True:\n"
        "    try:\n"
        "        socket.create_connection((server, 4862)).close(); break\n"
        "    except OSError: time.sleep(0.1)\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'ackclock', 'measure', server, *sys.argv[1:]])\n"
    )
    tests = ["--tests", "delay,capacity,steps,tcp,latency,transfers", "--duration", "4 s", "--force", "--quiet"]
    client = [sys.executable, "-c", wait, "--token-file", str(token), *tests, "--out", str(runs.resolve() / "measure")]
    argv = [*program, "emulate", str(link), "--server", shlex.join(serve), "--seconds", str(MEASURE_S), "--force"]
    argv += ["--quiet", "--out", str(runs / "emulate"), "--", *client]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=2 * MEASURE_S, check=False)
    if done.returncode:
        raise NotHere((done.stderr.strip().splitlines() or ["no reason given"])[-1])


def _write_link(path: Path) -> None:
    from ackclock.input.toml_writer import to_toml

    path.write_text(to_toml(BLOATED), "utf-8")


def _run(folder: Path, *arguments: str) -> None:
    if (folder / "report.html").is_file():
        return
    argv = [sys.executable, "-m", "ackclock", *arguments, "--out", str(folder), "--quiet"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHere(done.stderr.strip() or f"exit status {done.returncode}")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
