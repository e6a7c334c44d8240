"""A page of 50 objects in headless Chromium over emulated links, beside the load time that the
simulator has for its HAR, as a Markdown page; `make apps-chromium` writes it.

`python -m studies.apps.chromium [--kept FILE] [FILE]`

The HAR is recorded over the loopback interface: it has the browser's own times, and no link's.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ackclock
from ackclock.format import date_of
from ackclock.input.toml_writer import to_toml
from studies.apps.browser import LOADS
from studies.apps.links import link_of
from studies.apps.page import table
from studies.apps.runs import HOSTS, link_digest
from studies.kernel.runs import STEAL_PERCENT, host_keys, release
from studies.outcome_files import keep, kept, write_page
from studies.pictures.chromium import program
from tests.support.namespaces import namespaces

LINKS = ("dsl-16m", "cable-modem-5m, fq_codel", "lte-fixed-10m", "dumbbell-10m", "geo-satellite")
TOLERANCE = 0.15
ATTEMPTS = 3
LOOPBACK = "loopback"
REQUEST_BYTES = 570
"""Mean of the requests of Chromium for this page."""
TOP = """# A page in Chromium against the workload of its HAR

Written by `make apps-chromium`. A static page of 50 objects and 1.1 MB (a document, 4 style sheets, 12 deferred
scripts, 33 images, three of which a style sheet or a script names) over HTTP/1.1 without TLS: in headless
Chromium over the TCP of Linux {release} in `ackclock emulate`, and in the simulator with `page =
"FILE.har"`. The HAR is recorded over the loopback interface, so that it has the browser's own times and no
link's. Chromium's load time runs from the request for the document to the end of the last response; medians
of {loads} loads, each over new connections. `CPU` is the CPU time of the browser's processes over the load
time, on two cores that other work shares: while Chromium computes it requests nothing.

The tolerance is {tolerance:.0f} % of the load time; bold is a miss.

"""
HEAD = ("link", "Chromium, s", "simulator, s", "", "CPU", "steal, %", "date")


def _python(*words: str) -> list[str]:
    return [sys.executable, "-m", "studies.apps.browser", *words]


def _loopback(scratch: Path) -> dict[str, Any]:
    file = scratch / "loads.json"
    server = subprocess.Popen(_python("serve"))
    try:
        subprocess.run(_python("load", "127.0.0.1", str(file)), check=True, timeout=300)
    finally:
        server.kill()
        server.wait()
    return {"link": LOOPBACK, **json.loads(file.read_text("utf-8"))}


def _emulated(name: str, scratch: Path) -> dict[str, Any]:
    """A valid run over a link. Raises RuntimeError."""
    why = ""
    for seed in range(1, ATTEMPTS + 1):
        file, link = scratch / "loads.json", scratch / "link.toml"
        link.write_text(to_toml(link_of(name)), "utf-8")
        words = [str(link), "--seed", str(seed), "--server", shlex.join(_python("serve")), "--server-ready", "8080"]
        words += ["--json", "--no-log", "--no-report", "--out", str(scratch / "run"), "--force"]
        argv = [sys.executable, "-m", "ackclock", "emulate", *words, "--", *_python("load", "server", str(file))]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        audit = json.loads(done.stdout)
        if audit["valid"] and audit["steal_percent"] <= STEAL_PERCENT:
            conditions = {"steal_percent": audit["steal_percent"], "date": date_of(audit["started"])}
            found = {"link": name, "digest": link_digest(name), **conditions, **json.loads(file.read_text("utf-8"))}
            found.pop("har")
            return found
        why = audit["why"] if not audit["valid"] else f"{audit['steal_percent']:.1f} % of the CPU was stolen"
    raise RuntimeError(f"{name}: no valid run: {why}")


def predicted(name: str, har: Mapping[str, Any], scratch: Path) -> float:
    """The simulator's load time of the HAR on a link."""
    file = scratch / "page.har"
    file.write_text(json.dumps(har), "utf-8")
    workload = {"kind": "page", "page": str(file), "tls": False, "request": f"{REQUEST_BYTES} B"}
    flows = [{"name": "page", "workload": workload, "repeat": {"every": "20 s", "times": LOADS}}]
    scenario = {**link_of(name), "flow": flows, "duration": "100 s", "tcp": {**host_keys("cubic"), **HOSTS}}
    scores: list[Any] = [
        flow["app"]["score"] for flow in ackclock.simulate(scenario).summaries[0]["flows"] if "app" in flow
    ]
    return statistics.median(float("inf") if score["load_s"] is None else score["load_s"] for score in scores)


def page(runs: Sequence[Mapping[str, Any]], scratch: Path) -> str:
    """The page of the kept runs."""
    har = next(run["har"] for run in runs if run["link"] == LOOPBACK)
    rows = []
    for run in runs:
        loads = run["loads"]
        chromium = statistics.median(load["load_s"] for load in loads)
        cpu = statistics.median(load["cpu_s"] / load["load_s"] for load in loads)
        if run["link"] == LOOPBACK:
            rows.append([LOOPBACK, f"{chromium:.2f}", "the HAR", "", f"{100 * cpu:.0f} %", "", ""])
            continue
        ours = predicted(run["link"], har, scratch)
        difference = f"{100 * (ours / chromium - 1):+.0f} %"
        shown = difference if abs(ours / chromium - 1) <= TOLERANCE else f"**{difference}**"
        cells = [run["link"], f"{chromium:.2f}", f"{ours:.2f}", shown, f"{100 * cpu:.0f} %"]
        rows.append([*cells, f"{run['steal_percent']:.1f}", run["date"]])
    return TOP.format(release=release(), loads=LOADS, tolerance=100 * TOLERANCE) + table(HEAD, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--kept", type=Path)
    arguments = parser.parse_args()
    if not namespaces() or program() is None:
        sys.stderr.write("skipped: no network namespaces, or no Chromium\n")
        return 0
    runs = {
        run["link"]: run
        for run in kept(arguments.kept)
        if run["link"] == LOOPBACK or run["digest"] == link_digest(run["link"])
    }
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for name in (LOOPBACK, *LINKS):
            if name not in runs:
                runs[name] = _loopback(scratch) if name == LOOPBACK else _emulated(name, scratch)
                keep(arguments.kept, runs[name])
        text = page([runs[name] for name in (LOOPBACK, *LINKS)], scratch)
    earlier = arguments.file.read_text("utf-8") if arguments.file and arguments.file.is_file() else ""
    _, mark, below = earlier.partition("\n## ")
    write_page(arguments.file, text + mark + below)
    return 0


if __name__ == "__main__":
    sys.exit(main())
