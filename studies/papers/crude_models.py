"""Crude models of a scenario's link: what a claim that holds in them, too, does not need.

`ackclock.papers.standings.CRUDE_MODELS` says what each changes. A model that changes nothing in a
scenario returns an equal one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import mean
from typing import Any

from ackclock.input.link.hop import DIRECTIONS, READ_HOP, Hop
from ackclock.input.scenario.draft import draft_of
from ackclock.input.scenario.model import Scenario
from ackclock.input.units import rate_bps, time_ps
from ackclock.papers.experiments import known
from ackclock.simulation.runner import RunSpec, run_specs

Table = dict[str, Any]
"""A hop as a link file has it."""
NO_LIMIT = 10_000_000
"""Packets of a queue that never drops in a run of minutes."""
PROBE = "48 B"
APART_S = 0.101
"""Between two probes of the idle delay: no multiple of a frame."""
FULL = "1000 B"


def apply(scenario: Scenario, model: str) -> Scenario:
    """The scenario in a crude model, a key of `CRUDE_MODELS`."""
    tables = [_MODELS[model](hop.written(given=True), hop, scenario) for hop in scenario.hop]
    return scenario.with_hops([READ_HOP(table) for table in tables])


def _per_direction(value: Any, hop: Hop) -> dict[str, Any]:
    """A key's value for each direction that the hop has."""
    directions = _directions(hop)
    return (
        {direction: value.get(direction) for direction in directions}
        if isinstance(value, dict) and value and set(value) <= set(DIRECTIONS)
        else dict.fromkeys(directions, value)
    )


def _directions(hop: Hop) -> tuple[str, ...]:
    """The directions that a hop has."""
    return tuple(direction for direction in DIRECTIONS if getattr(hop, direction) is not None)


def _infinite(table: Table, hop: Hop, scenario: Scenario) -> Table:
    if "queue" in table:
        each = _per_direction(table["queue"], hop)
        table["queue"] = {direction: _unlimited(queue) for direction, queue in each.items() if queue is not None}
    medium = table.get("medium", {})
    if "caps" in medium:
        table["medium"] = {**medium, "caps": [{**cap, "buffer": "100 MB"} for cap in medium["caps"]]}
    if "policer" in table:
        del table["policer"]
    return table


def _unlimited(queue: Table) -> Table:
    return {**{key: value for key, value in queue.items() if key != "bytes"}, "packets": NO_LIMIT}


def _without_mac(table: Table, hop: Hop, scenario: Scenario) -> Table:
    medium = table.pop("medium", None)
    if medium is None:
        return table
    alone = {key: value for key, value in table.items() if key not in ("loss", "jitter")}
    fastest = max(hop.slowest_bps.values())
    found = _measured(json.dumps({**alone, "medium": medium}, sort_keys=True), fastest, _directions(hop))
    tcp = any(flow.workload.kind in _TCP for flow in scenario.flow)
    caps = [cap for cap in medium.get("caps", ()) if tcp or cap.get("traffic") != "tcp"]
    # Datagrams, by which rates are measured, do not meet a cap on TCP.
    limits = {cap["direction"]: _mean_rate(cap) for cap in caps if cap.get("traffic") == "tcp"}
    rates = {direction: min(rate, limits.get(direction, rate)) for direction, (rate, _) in found.items()}
    table["rate"] = {direction: f"{rate:.0f} b/s" for direction, rate in rates.items()}
    table["delay"] = {direction: f"{delay:.0f} us" for direction, (_, delay) in found.items()}
    if "queue" not in table and (rooms := _rooms(caps)):
        table["queue"] = {direction: {"bytes": room} for direction, room in rooms.items()}
    return table


_TCP = ("bulk", "transfer", "web")


def _mean_rate(cap: Table) -> float:
    if "rate" in cap:
        return float(rate_bps(cap["rate"]))
    return mean((float(rate_bps(cap["low"])), float(rate_bps(cap["high"]))))


def _rooms(caps: Sequence[Table]) -> dict[str, str]:
    """The room before the first cap of each direction: its buffer, or its burst."""
    rooms: dict[str, str] = {}
    for cap in caps:
        rooms.setdefault(cap["direction"], cap.get("buffer") or cap["burst"])
    return rooms


@cache
def _measured(hop: str, fastest_bps: int, directions: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """The mean rate in bits/s and the mean idle delay in us of a hop alone, by direction."""
    table = json.loads(hop)
    workloads = {
        "full": ({"kind": "cbr", "rate": f"{1.2 * fastest_bps:.0f} b/s", "packet": FULL}, "20 s"),
        "idle": ({"kind": "cbr", "rate": f"{48 * 8 / APART_S:.0f} b/s", "packet": PROBE}, "60 s"),
    }
    specs = [
        RunSpec(
            draft_of(
                {
                    "duration": duration,
                    "hop": [table],
                    "flow": [{"name": name, "direction": direction, "workload": workload}],
                    "measure": {"window": ["2 s", "-1 s"]},
                }
            ).check(),
            1,
        )
        for direction in directions
        for name, (workload, duration) in workloads.items()
    ]
    flows = [run.summary["flows"][0] for run in run_specs(specs)]
    return {
        direction: (known(full["throughput_bps"]), 1e3 * known(idle["one_way_delay_ms"]["mean"]))
        for direction, full, idle in zip(directions, flows[::2], flows[1::2], strict=True)
    }


def _fixed_rate(table: Table, hop: Hop, scenario: Scenario) -> Table:
    if "loss" in table:
        losses = _per_direction(table["loss"], hop)
        table["loss"] = {direction: _independent(loss) for direction, loss in losses.items() if loss is not None}
    if "medium" in table:
        medium = {key: value for key, value in table["medium"].items() if key not in ("error", "handover")}
        if "caps" in medium:
            medium["caps"] = [_steady(cap) for cap in medium["caps"]]
        table["medium"] = medium
    return table


def _independent(loss: Any) -> Any:
    """A loss of bursts as independent losses of the same share."""
    if not isinstance(loss, Mapping) or loss["kind"] != "gilbert-elliott":
        return loss
    if "mean" in loss:
        return {"kind": "bernoulli", "mean": loss["mean"]}
    bad, good = (time_ps(loss[key]) for key in ("bad_sojourn", "good_sojourn"))
    lost = bad * loss["loss_bad"] + good * loss["loss_good"]
    return {"kind": "bernoulli", "mean": lost / (bad + good)}


def _steady(cap: Table) -> Table:
    if "low" not in cap:
        return cap
    return {key: value for key, value in cap.items() if key not in ("low", "high", "every")} | {
        "rate": f"{_mean_rate(cap):.0f} b/s"
    }


_MODELS: dict[str, Callable[[Table, Hop, Scenario], Table]] = {
    "infinite buffer": _infinite,
    "no MAC": _without_mac,
    "fixed rate": _fixed_rate,
}
