"""`hunt --verify`: a found case with the running kernel's TCP over the emulated link. A find counts
if at least half of its effect is there.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ackclock.errors import AckclockError, InvalidValue, RunFailed
from ackclock.format import percent
from ackclock.hunting import live_flows
from ackclock.hunting.evaluation import Evaluator
from ackclock.hunting.live_flows import Config, LiveFlow, Received
from ackclock.hunting.objectives import HuntRun, Objective
from ackclock.input.scenario.flow import instance_names
from ackclock.input.scenario.hosts import DEFAULT_HOST
from ackclock.input.scenario.model import Scenario
from ackclock.input.units import time_ps
from ackclock.input.variant_groups import AVAILABLE, LINUX_NAMES
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.documents.hunt import HuntCase, HuntVerification

HALF = 0.5
"""The part of the effect from which a find counts."""
ATTEMPTS = 3
"""Emulations of a case, until one is valid: a busy machine may release packets late."""
SHOWN = ("share", "goodput", "retransmissions", "repair")
"""The objectives whose figures the ends of an emulation have."""
CHOSEN = ("variant", "host")
"""The TCP keys that `cannot` compares with the running kernel."""


def verify(evaluator: Evaluator, case: HuntCase, simplest: float | None) -> HuntVerification:
    """A case with the running kernel. `simplest` is the simulated figure of the simplest case."""
    objective = evaluator.table.objective
    try:
        scenarios = evaluator.scenarios(case["point"])
        if why := next(filter(None, (cannot(one, objective) for one in scenarios)), ""):
            return {"concluded": False, "text": f"Not verified: {why}."}
        value = objective.value([_emulated(scenario, objective) for scenario in scenarios])
    except AckclockError as error:
        return {"concluded": False, "text": f"Not verified: {error}."}
    return conclusion(objective, case["figure"]["value"], simplest, value)


def conclusion(objective: Objective, simulated: float | None, simplest: float | None, value: float) -> HuntVerification:
    """What the figure of an emulated case shows of a find."""
    if simulated is None or math.isnan(value):
        return {"concluded": False, "text": "Not verified: the emulation has no figure."}
    base = objective.breaks if simplest is None else simplest
    whole = objective.badness(simulated) - objective.badness(base)
    effect = (objective.badness(value) - objective.badness(base)) / whole if whole > 0 else math.nan
    counts = effect >= HALF
    return {
        "concluded": True,
        "counts": counts,
        "measured": value,
        "effect": effect,
        "text": (
            f"With the running kernel over the emulated link it is {objective.text(value)}: "
            f"{percent(max(0.0, effect))} of the effect, {'at least' if counts else 'less than'} half."
        ),
    }


def cannot(scenario: Scenario, objective: Objective) -> str:
    """Why the emulator cannot show a case; empty if it can."""
    if objective.name not in (*SHOWN, "difference") or (
        objective.name == "difference" and objective.key.rpartition(".")[2] != "variant"
    ):
        return f"an emulation has no figure of the objective {objective.name}, or not what it compares"
    try:
        available = AVAILABLE.read_text("ascii").split()
    except OSError:
        return "this machine has no Linux TCP"
    hops = [hop.name for hop in scenario.hop]
    for flow, name in zip(scenario.flow, scenario.flow_names(), strict=True):
        if flow.is_udp or flow.workload.kind != "bulk":
            return f"the emulator verifies bulk flows, and {name} is another"
        if flow.direction != "down":
            return f"the emulator verifies downloads, and {name} is an upload"
        if flow.over is not None and list(flow.over) != hops:
            return f"{name} does not cross all hops"
        try:
            _span(flow, 1.0)
        except InvalidValue:
            return f"the start of {name} is drawn"
        tcp = scenario.tcp_of(flow)
        if tcp.host != DEFAULT_HOST:
            return f"the running kernel has not the TCP of {tcp.host}"
        if LINUX_NAMES.get(tcp.keys["variant"]) not in available:
            return f"the running kernel has no {tcp.keys['variant']} loaded"
        if own := next(_own_keys(scenario, flow), ""):
            return f"{name} sets {own}, and the emulator's flows have the kernel's"
    if any(hop.pep for hop in scenario.hop):
        return "the emulator has no proxy for traffic of real hosts"
    return ""


def _own_keys(scenario: Scenario, flow: Any) -> Iterator[str]:
    """TCP keys that a case sets beside the congestion control, by which programs do not choose the
    kernel's TCP.
    """
    keys = scenario.tcp_of(flow).keys
    for table, names in ((scenario.tcp.written(), "[tcp]"), (flow.written(), "")):
        ends = {end: table[end] for end in ("server", "client") if isinstance(table.get(end), Mapping)}
        for place, one in ((names, table), *ends.items()):
            yield from (f"{key} {place and f'in {place}'}".strip() for key in one if key in keys and key not in CHOSEN)


def _emulated(scenario: Scenario, objective: Objective) -> HuntRun:
    """The first valid emulation of a case. Raises RunFailed."""
    for _ in range(ATTEMPTS):
        run, why = _once(scenario)
        if run is not None:
            return run
    raise RunFailed(f"the emulation is invalid by its audit: {why}")


def _once(scenario: Scenario) -> tuple[HuntRun | None, str]:
    from ackclock.emulation.run import emulate

    seconds = scenario.duration / 1e12
    flows = _flows(scenario, seconds)
    link = {"title": scenario.title or "a case", "hop": [hop.written() for hop in scenario.hop]}
    with tempfile.TemporaryDirectory(prefix="ackclock-hunt-") as results:
        config: Config = {"results": results, "seconds": seconds, "flows": flows}
        ends = [
            [sys.executable, str(Path(live_flows.__file__)), verb, json.dumps(config)] for verb in ("serve", "fetch")
        ]
        done = emulate(
            link, ends[1], server=ends[0], server_ready=live_flows.PORT, seconds=seconds + 30.0, log=False
        ).document
        files = [Path(results) / f"{verb}.json" for verb in ("serve", "fetch")]
        if not all(file.is_file() for file in files):
            raise RunFailed(f"the emulated flows ended with status {done['command']['exit']}")
        serve, fetch = map(read_json, files)
    if not done["valid"]:
        return None, done["why"]
    return run_of(scenario, flows, serve, fetch), ""


def _flows(scenario: Scenario, seconds: float) -> list[LiveFlow]:
    """The flows of an emulation, each instance by itself."""
    flows: list[LiveFlow] = []
    for flow, name in zip(scenario.flow, scenario.flow_names(), strict=True):
        variant = LINUX_NAMES.get(scenario.tcp_of(flow).keys["variant"], "")
        start, stop = _span(flow, seconds)
        flows += [
            {"name": one, "variant": variant, "start_s": start, "stop_s": stop} for one in instance_names(flow, name)
        ]
    return flows


def _span(flow: Any, seconds: float) -> tuple[float, float]:
    """The start and the end of a flow in s. Raises InvalidValue for a start that is drawn."""
    written = flow.written()
    return time_ps(written.get("start", "0 s")) / 1e12, time_ps(written.get("stop", f"{seconds} s")) / 1e12


def run_of(
    scenario: Scenario, flows: Sequence[LiveFlow], serve: Sequence[Received], fetch: Sequence[Received]
) -> HuntRun:
    """The emulated flows as an objective sees a run: the figures that `SHOWN` needs."""
    import polars as pl

    rows, frames = [], []
    for flow, sent, received in zip(flows, serve, fetch, strict=True):
        total = received["bytes"][-1] if received["bytes"] else 0
        rows.append(
            {
                "flow": flow["name"],
                "variant": flow["variant"],
                "direction": "down",
                "goodput_bps": 8.0 * total / (flow["stop_s"] - flow["start_s"]),
                "segments_sent": sent["segments"],
                "retransmitted_segments": sent["retransmitted"],
                "from_s": flow["start_s"],
                "host_start_s": flow["start_s"],
                "end_s": flow["stop_s"],
                "completed_s": None,
            }
        )
        times = received["times_s"]
        columns = {"flow": [flow["name"]] * len(times), "time_s": times, "delivered_bytes": received["bytes"]}
        schema = {"flow": pl.String, "time_s": pl.Float64, "delivered_bytes": pl.Int64}
        frames.append(pl.DataFrame(columns, schema=schema))
    return HuntRun(scenario, cast("Any", {"flows": rows, "hops": []}), pl.concat(frames))
