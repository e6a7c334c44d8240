"""The keys of a link file that the lab page changes, each with its place in the plan.

Nothing is listed by hand: a key of a link is a control if its value stands in the plan as it is. A
key is changed, the link is checked and its plan is built again; the places of the plan that changed
are those of the key.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from ackclock.errors import InvalidValue
from ackclock.input.checked_table import ReadBy, kinds
from ackclock.input.keys import rust_keys
from ackclock.input.link.hop import DIRECTIONS, PER_DIRECTION, READ_HOP, hop_plan, is_per_direction
from ackclock.input.link.queue import queue_kinds, read_queue
from ackclock.input.units import rate_bps, show_rate, show_size, show_time, size_bytes, time_ps

Path = tuple[str | int, ...]
LARGEST_EXACT = 2**53
"""The largest integer up to which a page's numbers hold every integer."""
MERGED = ("delay",)
"""Keys with one control for both directions where the link has one value for both."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A kind of value.

    Attributes:
        name: "rate" (bit/s), "time" (ps), "size" (bytes), "count" or "share".
        min, max: the range of the page's slider; the model may allow more.
        log: whether the slider is logarithmic.
    """

    name: str
    min: float
    max: float
    log: bool


UNITS = {
    "rate": Unit("rate", 16_000, 10_000_000_000, True),
    "time": Unit("time", 0, 10**12, False),
    "size": Unit("size", 1500, 64 * 2**20, True),
    "count": Unit("count", 1, 10_000, True),
    "share": Unit("share", 0.0, 1.0, False),
}
_PARSERS = (("rate", rate_bps, show_rate), ("time", time_ps, show_time), ("size", size_bytes, show_size))
TIME_RANGES_PS = (10**9, 10**10, 10**11, 10**12, 10**13, 10**14, 10**15)
"""Ends of a time's slider: the first that is five times its value or more."""
LOSS_MAX = 0.1
"""End of the slider of a loss: more than a tenth stops TCP."""


@dataclass(frozen=True, slots=True)
class Control:
    """A number of a link file.

    Attributes:
        path: its place in the hop as the link file has it, such as ("rate", "down").
        unit: a name in `UNITS`.
        value: bit/s, ps, bytes, a count or a share.
        min, max, log: of the slider.
        plan: its places in the plan of the hop.
        text: what the key means (`ackclock.input.keys`).
    """

    path: Path
    unit: str
    value: float
    min: float
    max: float
    log: bool
    plan: tuple[Path, ...]
    text: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a choice: the table of the link file, None to leave the key out, and what it
    sets in the plan of the hop.
    """

    name: str
    written: Any
    plan: Any
    controls: tuple[Control, ...]

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "controls": [control.as_json() for control in self.controls]}


@dataclass(frozen=True, slots=True)
class Choice:
    """A table of a link file with a few kinds.

    Attributes:
        path: its place in the hop as the link file has it.
        plan: its place in the plan of the hop.
        current: the name of the link's own option, the first one.
        text: what the key means.
    """

    path: Path
    plan: Path
    current: str
    text: str
    options: tuple[Option, ...]

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "options": [option.as_json() for option in self.options]}


def expanded(hop: Mapping[str, Any]) -> dict[str, Any]:
    """A [[hop]] table of a link file, with its delay and with each key per direction but those of
    `MERGED` that are equal in both.
    """
    written: dict[str, Any] = {**copy.deepcopy(dict(hop)), "delay": copy.deepcopy(hop.get("delay", "0 s"))}
    if "only" in written:
        return written
    for key in PER_DIRECTION:
        value = written.get(key)
        if value is not None and not is_per_direction(value) and key not in MERGED:
            written[key] = {direction: copy.deepcopy(value) for direction in DIRECTIONS}
    return written


def planned(written: Mapping[str, Any]) -> dict[str, Any]:
    """What a hop says to the engine, and its rate limits, from which the page takes the delay of
    packets in their hosts. Those of a medium stay the link's own, since they follow from several
    keys: a scenario of the page then states that delay.

    Raises InvalidValue.
    """
    hop = READ_HOP(dict(written))
    return {**hop_plan(hop), "slowest_bps": {direction: hop.slowest_bps.get(direction) for direction in DIRECTIONS}}


def controls(written: dict[str, Any], below: Path = ()) -> tuple[Control, ...]:
    """The controls of a hop as `expanded` writes it; only those below a path."""
    plan = planned(written)
    before = dict(_leaves(plan))
    found = []
    for path, value in _leaves(written):
        if path[: len(below)] == below and (control := _control(written, path, value, before)):
            found.append(control)
    return tuple(found)


def _control(written: dict[str, Any], path: Path, value: Any, before: Mapping[Path, Any]) -> Control | None:
    unit, raw = _quantity(value, path)
    if unit is None or raw >= LARGEST_EXACT:
        return None
    for other in _others(unit, raw):
        after = _try(written, path, unit, other)
        if after is None:
            continue
        changed = [
            place
            for place in before.keys() | after.keys()
            if before.get(place) != after.get(place) and not (path[0] == "medium" and place[0] == "slowest_bps")
        ]
        if changed and all(before.get(place) == raw and after.get(place) == other for place in changed):
            break
        return None
    else:
        return None
    low, high = _range(unit, raw, path)
    low = next(
        (
            end
            for end in (low, _part(unit, raw, 100), _part(unit, raw, 10), raw)
            if _try(written, path, unit, end) is not None
        ),
        raw,
    )
    high = next((end for end in (high, 10 * raw, raw) if _try(written, path, unit, end) is not None), raw)
    if low >= high:
        return None
    is_log = UNITS[unit].log and low > 0
    return Control(path, unit, raw, low, high, is_log, tuple(sorted(changed, key=str)), meaning(written, path))


def _quantity(value: Any, path: Path) -> tuple[str | None, float]:
    if isinstance(value, bool):
        return None, 0
    if isinstance(value, int):
        return "count", value
    if isinstance(value, float):
        return ("share" if 0 <= value <= 1 else None), value
    if isinstance(value, str):
        for unit, parse, _ in _PARSERS:
            try:
                return unit, parse(value)
            except InvalidValue:
                continue
    return None, 0


def _others(unit: str, raw: float) -> tuple[float, ...]:
    """Values to change a key to: a key may be bounded by others."""
    if unit == "share":
        return (raw / 2, 0.25) if raw else (0.25,)
    return int(raw) * 2 or 10**9, int(raw) - int(raw) // 4


def _part(unit: str, raw: float, by: int) -> float:
    return raw / by if unit == "share" else max(1, int(raw) // by)


def _range(unit: str, raw: float, path: Path) -> tuple[float, float]:
    of = UNITS[unit]
    if unit == "time":
        return 0, next((end for end in TIME_RANGES_PS if end >= 5 * raw), TIME_RANGES_PS[-1])
    if unit == "share":
        return 0.0, LOSS_MAX if "mean" in path and raw <= LOSS_MAX else 1.0
    return min(of.min, raw), max(of.max, raw)


def text(unit: str, raw: float) -> Any:
    """A value as a link file has it."""
    for name, _, show in _PARSERS:
        if name == unit:
            return show(int(raw))
    return int(raw) if unit == "count" else float(raw)


def _try(written: dict[str, Any], path: Path, unit: str, raw: float) -> dict[Path, Any] | None:
    changed = copy.deepcopy(written)
    _put(changed, path, text(unit, raw))
    try:
        return dict(_leaves(planned(changed)))
    except InvalidValue:
        return None


def meaning(written: Mapping[str, Any], path: Path) -> str:
    """The text of a key; of a key below a table without kinds, that of the table."""
    first, *rest = (part for part in path if part not in DIRECTIONS)
    table = _get(written, path[: 1 + (len(path) > 1 and path[1] in DIRECTIONS)])
    if first in _RUST and rest and isinstance(table, Mapping):
        names = kinds(_RUST[str(first)])
        texts = _texts(names[table.get("kind", next(iter(names)))])
        if rest[0] in texts:
            return texts[str(rest[0])]
    return _texts("Hop")[str(first)]


@cache
def _texts(table: str) -> dict[str, str]:
    return {key.name: key.text for key in rust_keys(table)}


_RUST = {"queue": "Queue", "loss": "Loss", "medium": "Medium"}
"""Tables of a hop that Rust reads and that have a kind."""


def _put(document: Any, path: Path, value: Any) -> None:
    """Set a key; None removes it, and the tables that it leaves empty."""
    part, *rest = path
    if not rest:
        if value is None:
            document.pop(part, None)
        else:
            document[part] = value
        return
    inner = document.setdefault(part, {}) if isinstance(document, dict) else document[part]
    _put(inner, tuple(rest), value)
    if value is None and not inner:
        del document[part]


def _get(document: Any, path: Path) -> Any:
    for part in path:
        if isinstance(document, Mapping):
            document = document.get(part)
        elif isinstance(document, list | tuple) and isinstance(part, int) and part < len(document):
            document = document[part]
        else:
            return None
    return document


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, index))
    else:
        yield path, value


def choices(written: dict[str, Any]) -> tuple[Choice, ...]:
    """The choices of a hop: the queue, its handling of ACKs, and the loss, in each direction."""
    found = []
    only = written.get("only")
    for direction in DIRECTIONS:
        if only not in (None, direction):
            continue
        end: Path = () if only else (direction,)
        has_queue = written.get("rate") is not None or written.get("medium") is not None
        if has_queue:
            found.append(_choice(written, ("queue", *end), (direction, "queue"), _queues()))
            found.append(_choice(written, ("queue", *end, "ack"), (direction, "acks"), _ack_handling()))
        found.append(_choice(written, ("loss", *end), (direction, "loss"), _losses()))
    return tuple(found)


def _queues() -> dict[str, Any]:
    """A table of each kind with all its keys, and a droptail queue of 256 KiB."""
    tables: dict[str, Any] = {"unlimited": None}
    for kind in queue_kinds():
        queue = read_queue({"kind": kind})
        tables[kind] = queue.written() | {
            unit: limit for unit, limit in queue.plan().items() if unit == "packets" and limit and limit < 2**31 - 1
        }
    return {**tables, "droptail": {"kind": "droptail", "bytes": "256 KiB"}}


def _ack_handling() -> dict[str, Any]:
    return {
        "none": None,
        "filter": {"filter": "safe"},
        "filter as cake": {"filter": "cake"},
        "first": {"first": True},
    }


def _losses() -> dict[str, Any]:
    tables: dict[str, Any] = {"bernoulli": {"mean": 0.001}, "gilbert-elliott": {"mean": 0.001, "bad_sojourn": "50 ms"}}
    return {"none": None, **{kind: {"kind": kind, **tables[kind]} for kind in tables}}


def _ack_name(own: Any, tables: Mapping[str, Any]) -> str:
    if own is None:
        return "none"
    read = ReadBy("Acks")
    return next((name for name, table in tables.items() if table and read(table) == read(own)), "own")


def _choice(written: dict[str, Any], path: Path, place: Path, tables: Mapping[str, Any]) -> Choice:
    own = _get(written, path)
    if path[-1] == "ack":
        current = _ack_name(own, tables)
    else:
        own = own if isinstance(own, dict | None) else {"mean": own}
        usual = "droptail" if path[0] == "queue" else "bernoulli"
        current = next(iter(tables)) if own is None else own.get("kind", usual)
    options = [_option(path, place, current, json.dumps(own))]
    options += [_option(path, place, name, json.dumps(table)) for name, table in tables.items() if name != current]
    return Choice(path, place, current, meaning(written, path), tuple(options))


@cache
def _option(path: Path, place: Path, name: str, table_text: str) -> Option:
    """An option of a hop with nothing else: the other keys of a hop change neither its plan nor
    its controls.
    """
    table = json.loads(table_text)
    one_way = len(path) == 1 or path[1] == "ack"
    bare: dict[str, Any] = {"name": "bare", "rate": "1 Mb/s", **({"only": place[0]} if one_way else {})}
    if path[-1] == "ack":
        _put(bare, path[:-1], {"kind": "droptail"})
    _put(bare, path, table)
    below = () if table is None or path[-1] == "ack" else controls(bare, path)
    return Option(name, table, _get(planned(bare), place), below)


def all_json(hops: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Controls and choices of each hop. A control below a choice is one of its option only."""
    found = []
    for written in hops:
        of_hop = choices(written)
        below = [choice.path for choice in of_hop if choice.path[-1] != "ack"]
        plain = [one for one in controls(written) if not any(one.path[: len(path)] == path for path in below)]
        found.append({"controls": [one.as_json() for one in plain], "choices": [one.as_json() for one in of_hop]})
    return found
