"""Sections of all reports: time series, and how to reproduce the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackclock.plot import vega
from ackclock.report.page import Block, Chart, Facts, Listing, Section
from ackclock.report.run_input import Environment, FlowTable, RunInput

if TYPE_CHECKING:
    from ackclock.plot.time_series import Panel


def time_section(panels: Sequence[Panel], which: str) -> Section:
    """The panels as charts; ``which`` describes their lines."""
    blocks = [Chart(panel.title, panel.reading, vega.time_chart(panel)) for panel in panels]
    lead = (
        f"Lines are {which}. Hold Shift and scroll over a chart to zoom, drag to move."
        if blocks
        else "No series was recorded."
    )
    return Section("Over time", blocks, lead)


def run_section(given: RunInput) -> Section:
    """Scenario, seeds and environment, with which the run can be repeated."""
    scenario = given.scenario
    seeds = [str(seed) for seed in scenario["seeds"]]
    shown = ", ".join(seeds[:20]) + (f" and {len(seeds) - 20} more" if len(seeds) > 20 else "")
    tcp = scenario.get("tcp", {})
    facts = [
        ("Duration of a run", str(scenario["duration"])),
        ("Seeds", shown),
        ("Host stack", str(tcp.get("host", ""))),
        ("Segment", f"{tcp['segment']} of payload" if "segment" in tcp else ""),
        ("Flows", "; ".join(_flow(flow) for flow in scenario.get("flow", []))),
        ("Source of the link", str(scenario.get("source", ""))),
        *_environment(given.environment),
    ]
    blocks: list[Block] = [Facts([fact for fact in facts if fact[1]])]
    if given.toml:
        blocks.append(Listing("The scenario with all defaults", given.toml))
    return Section("What was run", blocks, "The same version, scenario and seeds give the same numbers on any machine.")


def _flow(flow: FlowTable) -> str:
    count = int(flow.get("count", 1))
    many = f"{count} x " if count > 1 else ""
    kind = flow.get("workload", {}).get("kind", "")
    start = flow.get("start")
    when = f", start {start}" if start not in (None, "0 s") else ""
    return f"{many}{flow.get('name', 'flow')} ({kind}, {flow.get('direction', 'down')}{when})"


def _environment(found: Environment) -> list[tuple[str, str]]:
    host = found.get("host", {})
    packages = found.get("packages", {})
    system = " ".join(str(host[key]) for key in ("system", "release", "machine") if host.get(key))
    return [
        ("ackclock", str(found.get("ackclock", ""))),
        ("Engine", str(found.get("engine", ""))),
        ("System", system),
        ("Python", str(host.get("python", ""))),
        ("Packages", ", ".join(f"{name} {version}" for name, version in packages.items())),
    ]
