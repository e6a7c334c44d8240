"""The [hunt] of a scenario: what may vary, what is bad, what must hold, and how long to search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ackclock.errors import InputError, InvalidValue, Key, choices, format_value
from ackclock.hunting.objectives import Objective, read_objective
from ackclock.hunting.space import QUANTITIES, Space, is_spec, read_space
from ackclock.input.document import Document
from ackclock.input.scenario.draft import Draft
from ackclock.simulation.metrics import METRICS

VARY: Key = ("hunt", "vary")
KEYS = ("objective", "breaks", "vary", "constraints", "plausible", "runs", "minutes", "cases", "search", "seed")
CONSTRAINT_KEYS = ("metric", "key", "over", "min", "max")
SEARCHES = ("cmaes", "random")
RUNS = 400
"""The budget without `runs` and `minutes`."""
CASES = 3
MAX_RUNS = 10**6


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
    for key in table:
        if key not in KEYS:
            raise InvalidValue(f'unknown key "{key}"', choices(KEYS, key), (key,), code="unknown-key")
    for key, allowed in (
        ("objective", 'what is bad, such as objective = "goodput"'),
        ("vary", '[hunt.vary] with ranges, such as "hop.dsl.delay" = { from = "5 ms", to = "100 ms" }'),
    ):
        if table.get(key) in (None, {}):
            raise InvalidValue(f"no `{key}`", allowed, ())
    breaks = _number(table, "breaks", None)
    objective = read_objective(table["objective"], breaks, _flow_names(draft), draft.document.folder)
    vary = table["vary"]
    if not isinstance(vary, dict):
        raise InvalidValue(format_value(vary), "a table of ranges by dotted path", ("vary",))
    try:
        space = read_space(dict(_flattened(vary)))
    except InvalidValue as invalid:
        invalid.key = ("vary", *invalid.key)
        raise
    # What the objective compares is not searched.
    space = Space({path: node for path, node in space.keys.items() if path != objective.key})
    if not space.keys:
        raise InvalidValue(f"`{objective.key}` alone, which the objective compares", "another key", ("vary",))
    runs, minutes = _budget_of(table)
    search = table.get("search", "cmaes")
    if search not in SEARCHES:
        raise InvalidValue(format_value(search), choices(SEARCHES, search), ("search",))
    return HuntTable(
        objective,
        space,
        tuple(_constraints(table.get("constraints", []))),
        _number(table, "plausible", None, above=0.0),
        runs,
        minutes,
        _whole(table, "cases", CASES, 1, 100),
        search,
        _whole(table, "seed", 1, 0, 2**31 - 1),
    )


def _flow_names(draft: Draft) -> list[str]:
    flows = draft.document.data.get("flow")
    return [
        str(flow.get("name", f"flow{number}")) if isinstance(flow, dict) else ""
        for number, flow in enumerate(flows if isinstance(flows, list) else [], start=1)
    ]


def _flattened(vary: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """TOML parses unquoted dotted keys as nested tables."""
    for key, value in vary.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict) and not is_spec(value) and value:
            yield from _flattened(value, path)
        else:
            yield path, value


def _number(table: Mapping[str, Any], key: str, default: Any, above: float = -math.inf) -> Any:
    value = table.get(key, default)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= above:
        allowed = "a number" if above == -math.inf else f"a number above {above:g}"
        raise InvalidValue(format_value(value), allowed, (key,))
    return float(value)


def _whole(table: Mapping[str, Any], key: str, default: int, low: int, high: int) -> int:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidValue(format_value(value), f"a whole number from {low} to {high}", (key,))
    return value


def _budget_of(table: Mapping[str, Any]) -> tuple[int | None, float | None]:
    runs, minutes = table.get("runs"), table.get("minutes")
    if runs is not None and minutes is not None:
        raise InvalidValue.problem("both runs and minutes", "one budget", ("minutes",))
    if minutes is not None:
        return None, _number(table, "minutes", None, above=0.0)
    return (RUNS if runs is None else _whole(table, "runs", RUNS, 1, MAX_RUNS)), None


def _constraints(value: Any) -> Iterator[Constraint]:
    at: Key = ("constraints",)
    if not isinstance(value, list):
        raise InvalidValue(format_value(value), 'a list of tables such as { metric = "drops", max = 0 }', at)
    for index, one in enumerate(value):
        here = (*at, index)
        if not isinstance(one, dict):
            raise InvalidValue(format_value(one), 'a table such as { metric = "drops", max = 0 }', here)
        for key in one:
            if key not in CONSTRAINT_KEYS:
                raise InvalidValue(
                    f'unknown key "{key}"', choices(CONSTRAINT_KEYS, key), (*here, key), code="unknown-key"
                )
        if ("metric" in one) == ("key" in one):
            raise InvalidValue.problem("a constraint is of a metric or of a key", "write one of both", here)
        for key in ("metric", "key", "over"):
            if not isinstance(one.get(key, ""), str):
                raise InvalidValue(format_value(one[key]), "a name", (*here, key))
        if "metric" in one and one["metric"] not in METRICS:
            raise InvalidValue(format_value(one["metric"]), choices(METRICS, one["metric"]), (*here, "metric"))
        if "min" not in one and "max" not in one:
            raise InvalidValue("neither min nor max", "min, max or both", here)
        low, high = (_bound(one, end, (*here, end)) for end in ("min", "max"))
        yield Constraint(one.get("metric", ""), one.get("key", ""), one.get("over", ""), low, high)


def _bound(table: Mapping[str, Any], end: str, at: Key) -> float:
    if end not in table:
        return -math.inf if end == "min" else math.inf
    value = number_of(table[end])
    if math.isnan(value):
        raise InvalidValue(format_value(table[end]), "a number, or a quantity with its unit", at)
    return value


def number_of(value: Any) -> float:
    """A value of a scenario as a number, a quantity in its base unit; NaN for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        for unit in QUANTITIES:
            try:
                return float(unit.read(value))
            except InvalidValue:
                continue
    return math.nan
