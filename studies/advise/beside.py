"""The bound of harm of an advice, measured for itself: what a flow of the host gives to one cubic
flow, to one reno flow and to transfers of 100 kB beside it, and gets beside one cubic flow, with a
change and with the host's defaults.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.advisor.situation import Situation
from ackclock.input.scenario.draft import draft_of
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.chunk_runner import run_missing
from ackclock.simulation.dataset import Dataset
from ackclock.simulation.metrics import Run
from ackclock.simulation.run_list import RunList

SHARE, EQUAL = 0.5, 0.9
"""What has to be left of the defaults' figure; the part of an equal share that is no harm."""
SETTLE_S, MEASURED_S = 10, 60
SEEDS = range(80_000, 80_010)
OTHERS = ("cubic", "reno")
SIZE = 100_000
"""Bytes of a short transfer."""
TRANSFERS = 8
OWN, OTHER, SHORT = "own", "other", "short"


@dataclass(frozen=True)
class Figure:
    """A mean with a change and with the host's defaults, and the lowest that is no harm."""

    name: str
    value: float
    default: float
    bound: float

    @property
    def is_harm(self) -> bool:
        """Whether the change falls below the bound."""
        return self.value < self.bound

    def text(self) -> str:
        """The figure in words."""
        return f"{self.name} {self.value / 1e6:.3g} instead of {self.default / 1e6:.3g} Mb/s"


def scenario(situation: Situation, hops: Sequence[Any], tcp: Mapping[str, Any], direction: str, other: str) -> Scenario:
    """One flow of the host beside another flow or short transfers, 60 s after 10."""
    own = {"name": OWN, "direction": direction, "workload": {"kind": "bulk"}, **tcp}
    if other == SHORT:
        every = MEASURED_S / TRANSFERS
        beside: dict[str, Any] = {
            "workload": {"kind": "transfer", "size": f"{SIZE} B"},
            "start": f"uniform({SETTLE_S} s, {SETTLE_S + every / 2:g} s)",
            "repeat": {"every": f"{round(1e3 * every)} ms", "times": TRANSFERS - 1},
        }
    else:
        beside = {"workload": {"kind": "bulk"}, "variant": other}
    beside |= {"name": SHORT if other == SHORT else OTHER, "direction": direction, "host": "linux-6"}
    end = SETTLE_S + MEASURED_S
    written = situation.draft.document.data
    rest = {key: value for key, value in written.items() if key not in ("flow", "hop", "duration", "tcp")}
    tables = {"hop": list(hops), "flow": [own, beside], "duration": f"{end} s"}
    return draft_of({**rest, **tables, "measure": {"window": [f"{SETTLE_S} s", f"{end} s"]}}).check()


def of_run(summary: Mapping[str, Any]) -> dict[str, float]:
    """Goodputs in bits/s, and the mean speed of short transfers, of one run."""
    found: dict[str, float] = {}
    times: list[float] = []
    for flow in summary["flows"]:
        if flow["flow"] in (OWN, OTHER):
            found[flow["flow"]] = flow["goodput_bps"] or 0.0
        elif flow["flow"].startswith(SHORT):
            done = flow["completed_s"]
            times.append(done if done is not None else flow["end_s"] - flow["host_start_s"])
    if times:
        found[SHORT] = 8 * SIZE * len(times) / math.fsum(times)
    return found


def figures(situation: Situation, changed: Scenario, seeds: Sequence[int] = SEEDS) -> list[Figure]:
    """All figures of a change of a situation, whose path and TCP `changed` has. The host's defaults
    run over the path as it is.
    """
    defaults = {"host": situation.host}
    tables = {flow.name: flow for flow in changed.flow}
    found: list[Figure] = []
    path = [hop.written() for hop in changed.hop]
    was = situation.draft.document.data["hop"]
    directions = list(dict.fromkeys(tables[name].direction for name in situation.own if name in tables))
    for direction in directions:
        name = next(one for one in situation.own if tables[one].direction == direction)
        tcp = changed.tcp_of(tables[name]).written()
        scenarios = []
        for other in (*OTHERS, SHORT):
            scenarios.append(scenario(situation, path, tcp, direction, other))
            scenarios.append(scenario(situation, was, defaults, direction, other))
        runs = RunList([{"place": str(n)} for n in range(len(scenarios))], scenarios, tuple(seeds), of_run, "none")
        data = Dataset(runs, None)
        run_missing(data, workers=1)
        means = [_means(rows) for rows in data.metrics()]
        for place, other in enumerate((*OTHERS, SHORT)):
            of, default = means[2 * place : 2 * place + 2]
            for metric in (SHORT,) if other == SHORT else (OTHER, OWN) if other == OTHERS[0] else (OTHER,):
                bound = SHARE * default[metric]
                if metric != SHORT:
                    bound = min(bound, EQUAL * (default[OWN] + default[OTHER]) / 2)
                who = {SHORT: "100 kB transfers", OTHER: f"a {other} flow", OWN: f"the flow beside {other}"}[metric]
                found.append(Figure(f"{direction}, {who}:", of[metric], default[metric], bound))
    return found


def _means(rows: Sequence[Run]) -> dict[str, float]:
    names = {name for row in rows for name in row}
    return {name: math.fsum(row[name] for row in rows) / len(rows) for name in names}
