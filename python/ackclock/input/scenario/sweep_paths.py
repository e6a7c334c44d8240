"""Dotted paths of a sweep, such as `tcp.variant` or `hop.air.loss.down.mean`, and the values that
replace theirs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from ackclock.errors import InvalidValue, Key, choices, format_value
from ackclock.input.link.hop import DIRECTIONS, PER_DIRECTION, is_per_direction

Point = dict[str, Any]


class Left(Enum):
    """The value of a key that a point leaves out."""

    OUT = "left out"


def points(sweep: Any) -> Iterator[Point]:
    """Every combination of the swept values; the last path varies fastest.

    Without a sweep, one empty point.
    """
    paths = _checked(sweep)
    for values in itertools.product(*paths.values()):
        yield dict(zip(paths, values, strict=True))


def _checked(sweep: Any) -> dict[str, list[Any]]:
    if not isinstance(sweep, dict):
        raise InvalidValue(format_value(sweep), 'a table such as "tcp.variant" = ["reno", "cubic"]')
    paths = _flattened(sweep)
    for path, values in paths.items():
        if not isinstance(values, list) or not values:
            raise InvalidValue(format_value(values), "a list of at least one value", (path,))
        for index, value in enumerate(values):
            if value in values[:index]:
                raise InvalidValue(f"{format_value(value)} twice", "different values", (path, index))
    return paths


def _flattened(sweep: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """TOML parses unquoted dotted keys as nested tables: tcp.variant = [..] is "tcp.variant" =
    [..].
    """
    flat: dict[str, Any] = {}
    for key, value in sweep.items():
        path = f"{prefix}.{key}" if prefix else key
        flat.update(_flattened(value, path) if isinstance(value, dict) else {path: value})
    return flat


def put(data: dict[str, Any], path: str, value: Any) -> Key:
    """Set one swept value in an unchecked scenario, or remove it for `Left.OUT`, in place. Returns
    its location.
    """
    parts = path.split(".")
    if parts[0] in ("sweep", "hunt", "seeds", "title", "source") or "" in parts:
        raise InvalidValue(
            format_value(path), "a path such as tcp.variant, hop.NAME.rate.down, flow.NAME.count, link or duration"
        )
    if parts[0] in ("hop", "flow"):
        return _put_in_element(data, parts, value)
    return _set(data, (), parts, value)


def _put_in_element(data: dict[str, Any], parts: list[str], value: Any) -> Key:
    kind, *rest = parts
    elements = data.get(kind)
    # The tables are unchecked: an element may be no table, and a name no text.
    names = [
        element.get("name", f"flow{position}" if kind == "flow" else "") if isinstance(element, dict) else None
        for position, element in enumerate(elements if isinstance(elements, list) else [], start=1)
    ]
    if len(rest) < 2 or rest[0] not in names:
        known = [name for name in names if isinstance(name, str)]
        allowed = f"{kind}.NAME.KEY with NAME one of {choices(known, rest[0] if rest else '')}"
        raise InvalidValue(format_value(".".join(parts)), allowed)
    index = names.index(rest[0])
    element, keys = data[kind][index], rest[1:]
    if kind == "hop" and keys[0] in PER_DIRECTION:
        return _put_in_hop(element, (kind, index), keys, value)
    return _set(element, (kind, index), keys, value)


def _put_in_hop(hop: dict[str, Any], loc: Key, keys: list[str], value: Any) -> Key:
    """Set a hop key, which a file may have for each direction or for both; the path may name a
    direction.
    """
    key, *rest = keys
    current = hop.get(key)
    if rest and rest[0] in DIRECTIONS:
        if current is None and value is Left.OUT:
            return (*loc, *keys)
        if not is_per_direction(current):
            # One value for both directions becomes one for each, of which one is replaced.
            hop[key] = {} if current is None else {direction: _copy(current) for direction in _directions(hop)}
        return _set(hop, loc, keys, value)
    if rest and isinstance(current, dict) and is_per_direction(current):
        for direction in current:
            position = _set(hop, loc, [key, direction, *rest], value)
        return position
    return _set(hop, loc, keys, value)


def _directions(hop: dict[str, Any]) -> tuple[str, ...]:
    return (hop["only"],) if hop.get("only") in DIRECTIONS else DIRECTIONS


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value


def _set(table: dict[str, Any], loc: Key, keys: list[str], value: Any) -> Key:
    *parents, last = keys
    for parent in parents:
        if value is Left.OUT and parent not in table:
            return (*loc, *keys)
        inner = table.get(parent, {})
        if not isinstance(inner, dict):
            inner = {"mean": inner} if parent in (*DIRECTIONS, "loss", "duplicate") else {}
        table[parent] = inner
        table = inner
        loc = (*loc, parent)
    if value is Left.OUT:
        table.pop(last, None)
    else:
        table[last] = value
    return (*loc, last)


def get(data: dict[str, Any], path: str) -> Any:
    """The value at a dotted path of an unchecked scenario, None without one: of a hop's key that
    has one value for both directions, that one.
    """
    kind, *keys = path.split(".")
    value: Any = data.get(kind)
    if kind in ("hop", "flow") and isinstance(value, list) and keys:
        named = [one for one in value if isinstance(one, dict) and one.get("name") == keys[0]]
        place = int(keys[0][4:]) - 1 if keys[0].startswith("flow") and keys[0][4:].isdecimal() else -1
        numbered = value[place : place + 1] if kind == "flow" and place >= 0 else []
        value, keys = next(iter([*named, *numbered]), None), keys[1:]
    for key in keys:
        if kind == "hop" and key in DIRECTIONS and not is_per_direction(value):
            continue
        value = value.get(key) if isinstance(value, dict) else None
    return value


_VAGUE = ("mean", *DIRECTIONS)
"""Last parts of paths that say too little by themselves."""


def short_paths(paths: Sequence[str]) -> list[str]:
    """Swept keys by their last part, with all parts below the hop where that says too little,
    and whole where they would be the same.

    >>> short_paths(["hop.air.loss.down.mean", "hop.air.queue.down.packets", "tcp.variant"])
    ['loss.down.mean', 'packets', 'variant']
    >>> short_paths(["hop.air.rate", "hop.core.rate"])
    ['hop.air.rate', 'hop.core.rate']
    """
    short = []
    for path in paths:
        last = path.rpartition(".")[2]
        short.append(re.sub(r"^hop\.[^.]+\.", "", path) if last in _VAGUE else last)
    return short if len(set(short)) == len(short) else list(paths)
