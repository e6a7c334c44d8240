"""A geostationary satellite without a proxy, with one at the gateway, and with one at each end:
goodput and completion times.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ackclock.cli.progress import progress
from ackclock.input.link.names import PACKAGED
from ackclock.input.scenario import draft_of
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.runner import RunResult, RunSpec, RunStore, run_specs
from ackclock.statistics import interval
from studies.ack_path.runs import SEEDS, VARIANTS

WORKLOADS: dict[str, tuple[dict[str, Any], int]] = {
    "100 kB": ({"kind": "transfer", "size": "100 kB"}, 30),
    "1 MB": ({"kind": "transfer", "size": "1 MB"}, 60),
    "10 MB": ({"kind": "transfer", "size": "10 MB"}, 90),
    "bulk": ({"kind": "bulk"}, 40),
}
"""What is fetched, and how long a run may take in seconds."""

PLACES = ("no proxy", "at the gateway", "at both ends", "at both ends, handshake through")


def hops(place: str) -> list[dict[str, Any]]:
    """The hops of `geo-100m-pep` with the proxies that a place has."""
    with (PACKAGED / "geo-100m-pep.toml").open("rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file)["hop"]
    for hop in found:
        if place == "no proxy" or (place == "at the gateway" and hop["name"] == "terminal"):
            hop.pop("pep", None)
        if place.endswith("through") and "pep" in hop:
            hop["pep"]["handshake"] = "through"
    return found


def scenario(place: str, variant: str, workload: str) -> Scenario:
    """One cell's scenario: a single download."""
    kind, seconds = WORKLOADS[workload]
    flow = {"name": "download", "workload": kind}
    tcp = {"variant": variant}
    return draft_of(
        {"hop": hops(place), "duration": f"{seconds} s", "sample": "0 s", "tcp": tcp, "flow": [flow]}
    ).check()


def figure(results: Sequence[RunResult], workload: str) -> str:
    """Completion times in seconds, or goodput of a bulk flow in Mb/s, with half the 95 %
    interval.
    """
    rows = [next(row for row in one.summary["flows"] if row["flow"] == "download") for one in results]
    values = [row["goodput_bps"] / 1e6 if workload == "bulk" else row["completed_s"] for row in rows]
    found = interval(float("nan") if value is None else float(value) for value in values)
    unit = "Mb/s" if workload == "bulk" else "s"
    return f"{found.mean:.2f} ± {(found.hi - found.lo) / 2:.2f} {unit}" if found.n == len(rows) else "not all in time"


def section(folder: Path) -> Iterator[str]:
    """The table, as lines of Markdown."""
    yield (
        "## geo-100m-pep\n"
        "\n"
        "One download through a proxy or two: completion times, and goodput over the first 40 s of "
        "a bulk flow.\n"
    )
    yield "| proxy | variant of the server | " + " | ".join(WORKLOADS) + " |"
    yield "|" + "---|" * (2 + len(WORKLOADS))
    keys = [(place, variant, workload) for place in PLACES for variant in VARIANTS for workload in WORKLOADS]
    cells = [RunSpec(made, seed) for key in keys for made in [scenario(*key)] for seed in SEEDS]
    with progress("proxies", quiet=False) as update:
        done = run_specs(cells, store=RunStore(folder), progress=update)
    found = {key: done[place * len(SEEDS) : (place + 1) * len(SEEDS)] for place, key in enumerate(keys)}
    for place in PLACES:
        for variant in VARIANTS:
            figures = [figure(found[place, variant, workload], workload) for workload in WORKLOADS]
            yield f"| {place} | {variant} | " + " | ".join(figures) + " |"
    yield ""
