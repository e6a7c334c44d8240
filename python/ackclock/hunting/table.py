"""The [hunt] of a scenario: what may vary, what is bad, what must hold, and how long to search.

crates/scenario/src/hunt reads its keys; here they meet the scenario's flows and objectives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ackclock import _native
from ackclock.errors import InputError, InvalidValue, Key
from ackclock.hunting.objectives import Objective, read_objective
from ackclock.hunting.space import QUANTITIES, Space, read_space
from ackclock.input.document import Document
from ackclock.input.scenario.draft import Draft

VARY: Key = ("hunt", "vary")
SEARCHES = ("cmaes", "random")
RUNS = 400
"""The budget without `runs` and `minutes`."""


@dataclass(frozen=True)
class Constraint:
    """What a case must hold: a metric of its run, or a key of it, relative to another key with
    `over`, is from `low` to `high`.
    """

    metric: str
    key: str
    over: str
    low: float
    high: float

    def violation(self, value: float) -> float:
        """By how much a value is outside, relative to the bound; 0 within. Without a value 1."""
        if math.isnan(value):
            return 1.0
        for bound, beyond in ((self.low, self.low - value), (self.high, value - self.high)):
            if beyond > 0:
                return beyond / abs(bound) if bound else beyond
        return 0.0


@dataclass(frozen=True)
class HuntTable:
    """A checked [hunt]. `runs` or `minutes` is the budget of the search."""

    objective: Objective
    space: Space
    constraints: tuple[Constraint, ...]
    plausible: float | None
    runs: int | None
    minutes: float | None
    cases: int
    search: str
    seed: int


def read_hunt(draft: Draft, **replaced: Any) -> HuntTable:
    """The [hunt] of a scenario; `replaced` are values of some of its keys, None for its own.

    Raises:
        InputError: there is none, or a wrong value in it.
    """
    document = draft.document
    table = draft.hunted()
    if table is None:
        raise InputError(
            "no [hunt]",
            '[hunt] with an objective, such as objective = "goodput", and [hunt.vary] with ranges',
            file=document.file,
        )
    try:
        return _read({**table, **_budget(replaced)}, draft)
    except InvalidValue as invalid:
        raise _located(document, invalid) from None


def _budget(replaced: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that are replaced; one budget replaces the other."""
    given = {key: value for key, value in replaced.items() if value is not None}
    if "runs" in given:
        given["minutes"] = None
    elif "minutes" in given:
        given["runs"] = None
    return given


def _located(document: Document, invalid: InvalidValue) -> InputError:
    """The error with the line of its key, which may stand under [hunt.vary] dotted or quoted."""
    key: Key = ("hunt", *invalid.key)
    if key[:2] == VARY and len(key) > 2 and key[:3] not in document.lines:
        key = (*VARY, *str(key[2]).split("."), *key[3:])
    error = document.error(key, invalid)
    return InputError.of(invalid, file=error.file, line=error.line, key=".".join(map(_part, ("hunt", *invalid.key))))


def _part(part: str | int) -> str:
    return str(part + 1) if isinstance(part, int) else part


def _read(table: Mapping[str, Any], draft: Draft) -> HuntTable:
    read: Any = _native.read_table("Hunt", dict(table))
    objective = read_objective(read.objective, read.breaks, _flow_names(draft), draft.document.folder)
    space = read_space(read.vary)
    # What the objective compares is not searched.
    space = Space({path: node for path, node in space.keys.items() if path != objective.key})
    if not space.keys:
        raise InvalidValue(f"`{objective.key}` alone, which the objective compares", "another key", ("vary",))
    return HuntTable(
        objective,
        space,
        tuple(map(_constraint, read.constraints)),
        read.plausible,
        RUNS if read.runs is None and read.minutes is None else read.runs,
        read.minutes,
        read.cases,
        read.search,
        read.seed,
    )


def _flow_names(draft: Draft) -> list[str]:
    flows = draft.document.data.get("flow")
    return [
        str(flow.get("name", f"flow{number}")) if isinstance(flow, dict) else ""
        for number, flow in enumerate(flows if isinstance(flows, list) else [], start=1)
    ]


def _constraint(read: Any) -> Constraint:
    return Constraint(
        read.metric or "",
        read.key or "",
        read.over or "",
        -math.inf if read.min is None else read.min,
        math.inf if read.max is None else read.max,
    )


def number_of(value: Any) -> float:
    """A value of a scenario as a number, a quantity in its base unit; NaN for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        for unit in QUANTITIES.values():
            try:
                return float(unit.read(value))
            except InvalidValue:
                continue
    return math.nan
