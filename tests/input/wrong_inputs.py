"""Inputs with an error in them, and what the program says about each: `messages.jsonl`.

    python -m tests.input.wrong_inputs          # write the file again

Every key of every table gets wrong values: of another type, below and above its bounds, with an
unknown unit, an unknown or misspelt word. Every table has each of its keys misspelt or left out,
and pairs of its keys together. So have the tables of [hunt]. The lines of the packaged links are
changed one by one. The file has the inputs themselves, so a reader in another language can replay
it.

A row of the file is an array:

    ["base", NAME, FORM, TEXT]      a valid text; FORM: "scenario", "link" or "hunt"
    [LINE, COUNT, TEXT, RESULT]     the last base with COUNT lines from LINE (from 0) replaced
    [LINE, COUNT, TEXT, RESULT, R]  R: the result of the same as dicts, where it is not RESULT

RESULT is [line, key, code, message], or a digest for an input that is accepted: of the plan, or of
what a hunt searches.
"""

from __future__ import annotations

import copy
import hashlib
import json
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.hunting.table import read_hunt
from ackclock.input.json_schema import json_schema
from ackclock.input.link.names import PACKAGED
from ackclock.input.scenario import draft_of, read_draft
from ackclock.input.scenario.draft import Draft
from ackclock.simulation.plan import build_plan

Steps = tuple[str | int, ...]

FILE = Path(__file__).with_name("messages.jsonl")
TEXT_NAME = {"scenario": "scenario.toml", "link": "link.toml", "hunt": "scenario.toml"}
FLOWS = {"duration": "10 s", "flow": [{"workload": {"kind": "bulk"}}]}
HOP = {"name": "air", "rate": "1 Mb/s", "delay": "5 ms"}
# Keys beside the required ones, without which a table is refused.
BESIDE: dict[str, dict[str, Any]] = {
    "GilbertElliott": {"mean": 0.01},
    "LinkLayer": {"cells": "atm"},
    "Tunnel": {"over": ["air"]},
    "Cap": {"rate": "1 Mb/s"},
    "Station": {"fading": {"kind": "ar1", "mean": 15, "sd": 5, "correlation": "1 s"}},
    "Wlan": {"standard": "802.11n"},
    "Repeat": {"every": "1 s"},
    "Shaper": {"rate": "18 Mb/s"},
}
DELAY = {"from": "5 ms", "to": "100 ms", "scale": "log", "simple": "5 ms"}
SEARCHED = {"objective": "goodput", "vary": {"hop.air.delay": DELAY}}
# A table of [hunt] by its place, with all its keys.
HUNTS: dict[str, tuple[Steps, Any]] = {
    "Hunt": (
        ("hunt",),
        SEARCHED | {"breaks": 0.3, "plausible": 1.0, "runs": 60, "cases": 3, "search": "random", "seed": 1},
    ),
    "Minutes": (("hunt", "minutes"), 2.5),
    "Objective": (("hunt", "objective"), {"name": "share", "flow": "download"}),
    "Difference": (
        ("hunt", "objective"),
        {"name": "difference", "of": "delay", "key": "tcp.variant", "values": ["bbr", "cubic"]},
    ),
    "Constraint": (("hunt", "constraints", 0), {"metric": "drops", "min": 1, "max": 10.5}),
    "Constraint of a key": (
        ("hunt", "constraints", 0),
        {"key": "hop.air.rate", "over": "hop.air.rate", "max": "20 kb/s"},
    ),
    "Ranges": (("hunt", "vary"), {"hop": {"air": {"delay": DELAY}}, "flow.download.count": {"from": 1, "to": 4}}),
    "Range": (("hunt", "vary", "hop.air.delay"), DELAY),
    "Range of numbers": (
        ("hunt", "vary", "flow.download.count"),
        {"from": 1, "to": 4.0, "scale": "linear", "simple": 2},
    ),
    "Range of rates": (("hunt", "vary", "hop.air.rate"), {"from": "1 Mb/s", "to": "2 Mb/s"}),
    "Losses": (("hunt", "vary", "hop.air.loss.down"), {"losses": 3, "within": 1000, "of": "all"}),
    "Choices": (
        ("hunt", "vary", "hop.air.policer.down"),
        ["absent", {"rate": {"from": "1 Mb/s", "to": "20 Mb/s"}, "burst": "30 kB"}],
    ),
    "Range in a schedule": (
        ("hunt", "vary", "hop.air.delay", 0, "schedule", 1, 1),
        {"from": "5 ms", "to": "100 ms"},
    ),
}
WRONG: tuple[Any, ...] = (
    True, -1, 0, 1.5, 2, 3 * 10**9, 1e300, float("inf"), "", "x", "1.5 parsec", "1.0000000001 B", "-1 s", "0 s", "1 ns",
    "5 ms", "101 day", "0 B", "64 B", "3 GB", "0 b/s", "10 Mbps", "200 Tb/s", "5 packets", "1.5 packets", [], [1, 0], ["x"],
    {}, {"zz": 1}, {"kind": "zz"}, {"down": "x", "zz": "x"},
)  # fmt: skip


@dataclass(frozen=True)
class Base:
    """A valid document. `at` is the place of the table under test, None in a link file."""

    name: str
    form: str
    data: dict[str, Any]
    text: str
    at: Steps = ()

    def edited(self, data: dict[str, Any]) -> str:
        return written(data) if data is not self.data else self.text


def written(data: dict[str, Any]) -> str:
    """TOML with each key of a table on a line of its own, so that errors have different lines."""
    lines = [line for key, value in data.items() if not _is_tables(value) for line in _lines(key, value)]
    for key, value in data.items():
        for table in value if _is_tables(value) else ():
            lines += [f"[[{key}]]", *(line for name, one in table.items() for line in _lines(name, one))]
    return "\n".join(lines) + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _lines(key: str, value: Any) -> Iterator[str]:
    name = key if key.replace("_", "").replace("-", "").isalnum() else json.dumps(key)
    if isinstance(value, dict) and value:
        for inner, one in value.items():
            yield from (f"{name}.{line}" for line in _lines(inner, one))
    else:
        yield f"{name} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return "inf" if value == float("inf") else json.dumps(value, ensure_ascii=False)


# ---- what the program says ----


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """A working folder with the recording that the examples of keys name."""
    (folder / "lte.down").write_text("1\n3\n40\n")
    with chdir(folder):
        yield


def result(form: str, text: str, folder: Path) -> Any:
    """What the program says about a text in a file."""
    path = folder / TEXT_NAME[form]
    path.write_text(text, "utf-8")
    if form == "link":
        return _message_of(form, draft_of({"link": str(path), **FLOWS}), folder)
    return _message_of(form, read_draft(path), folder)


def result_of_dicts(form: str, text: str, folder: Path) -> Any:
    """What the program says about the same as dicts."""
    data = tomllib.loads(text)
    if form == "link":
        data.pop("fit", None)
        data |= FLOWS
    return _message_of(form, draft_of(data), folder)


def _message_of(form: str, draft: Draft, folder: Path) -> Any:
    try:
        if form == "hunt":
            plans = [_searched(draft)]
        else:
            plans = [build_plan(draft.check(point), 1, live=True).digest for point in draft.points()]
    except InputError as error:
        return [error.line, error.key, error.code, str(error).replace(f"{folder}/", "")]
    return hashlib.sha256("".join(plans).encode()).hexdigest()[:8]


def _searched(draft: Draft) -> str:
    """What a hunt searches, as text."""
    table = read_hunt(draft)
    space, objective = table.space, table.objective
    cases = [space.decode([share] * len(space.steps)) for share in (0.0, 0.4, 1.0)]
    leaves = [(name, type(leaf).__name__, getattr(leaf, "simple", None)) for name, leaf in space.leaves.items()]
    search = (table.plausible, table.runs, table.minutes, table.cases, table.search, table.seed)
    return repr(
        (
            objective.identity,
            objective.rule,
            list(map(space.point, cases)),
            leaves,
            space.steps,
            table.constraints,
            search,
        )
    )


def without_place(found: Any) -> Any:
    """What a result is for dicts, if nothing but file and line differ."""
    if isinstance(found, str):
        return found
    _, key, code, message = found
    for name in TEXT_NAME.values():
        if message.startswith(f"{name}:"):
            place, _, rest = message.partition(": ")
            message = rest if place.startswith(f"{name}:") else message
    return [None, key, code, message]


# ---- the inputs ----


def bases() -> Iterator[Base]:
    """A document for each table, then the packaged links, then the tables of [hunt]."""
    schema, chains = _schema()
    for name, chain in chains.items():
        data = _document(schema, chain)
        if name == "Quic":
            data["flow"][0]["transport"] = "quic"
        at = chain[-1][0] if chain else ()
        at = ("hop", 1, *at[2:]) if at[2:3] == ("pep",) else at
        yield Base(name or "Scenario", "scenario", data, written(data), at)
    for path in sorted(PACKAGED.glob("*.toml")):
        text = "".join(line for line in path.read_text("utf-8").splitlines(True) if not line.startswith("#"))
        yield Base(path.stem, "link", tomllib.loads(text), text)
    flow = {"name": "download", "workload": {"kind": "bulk"}}
    for name, (at, own) in HUNTS.items():
        data = copy.deepcopy({"duration": "10 s", "hunt": SEARCHED, "flow": [flow], "hop": [HOP]})
        if "schedule" in at:
            data["hunt"]["vary"]["hop.air.delay"] = [{"schedule": [["0 s", "5 ms"], ["1 s", own]]}]
        _put(data, at, copy.deepcopy(own))
        yield Base(name, "hunt", data, written(data), at)


@cache
def _schema() -> tuple[dict[str, Any], dict[str, tuple[tuple[Steps, str], ...]]]:
    """The schema of scenarios; for each table the tables in which it stands, with their places."""
    schema = json_schema("scenario")
    del schema["properties"]["hunt"]  # read by `hunt` alone
    found: dict[str, tuple[tuple[Steps, str], ...]] = {"": ()}
    waiting: list[str] = [""]
    while waiting:
        name = waiting.pop(0)
        place = found[name][-1][0] if name else ()
        table = schema["$defs"][name] if name else schema
        for key, of_key in table["properties"].items():
            for inner, step in _references(of_key):
                if inner not in found:
                    found[inner] = (*found[name], ((*place, key, *step), inner))
                    waiting.append(inner)
    return schema, found


def _references(of: dict[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    if "$ref" in of:
        yield of["$ref"].rpartition("/")[2], ()
    for one in (*of.get("allOf", ()), *of.get("anyOf", ())):
        yield from _references(one)
    if "items" in of:
        yield from ((name, (0, *step)) for name, step in _references(of["items"]))


def _example(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """A valid table: its kind, its required keys, and those of `BESIDE`."""
    table = schema["$defs"][name]
    needed = [key for key, one in table["properties"].items() if "const" in one or key in table.get("required", ())]
    return {key: table["properties"][key]["examples"][0] for key in needed} | copy.deepcopy(BESIDE.get(name, {}))


def _document(schema: dict[str, Any], chain: tuple[tuple[Steps, str], ...]) -> dict[str, Any]:
    data: dict[str, Any] = copy.deepcopy({**FLOWS, "hop": [HOP]})
    for at, table in chain:
        if {"medium", "slots"} & set(at):
            data["hop"][0].pop("rate", None)
        if table not in ("Hop", "Flow", "TcpKeys"):
            _put(data, at, _example(schema, table))
    if "Pep" in [table for _, table in chain]:  # not before the first hop
        data["hop"].append({"name": "core", "delay": "1 ms"})
        data["hop"][1]["pep"] = data["hop"][0].pop("pep")
    return data


def _get(data: Any, at: Steps) -> Any:
    for step in at:
        if isinstance(data, list):
            data = data[step] if isinstance(step, int) and step < len(data) else None
        else:
            data = data.get(step) if isinstance(data, dict) else None
    return data


def _put(data: Any, at: Steps, value: Any) -> None:
    for number, step in enumerate(at[:-1]):
        empty: Any = [] if isinstance(at[number + 1], int) else {}
        data = data[int(step)] if isinstance(data, list) else data.setdefault(step, empty)
    if isinstance(data, list):
        data[int(at[-1]) :] = [value]
    else:
        data[at[-1]] = value


def inputs(base: Base) -> Iterator[tuple[str, str]]:
    """Changed texts of a base, each with the group of which one of a message is enough."""
    if base.form == "link":
        yield from _changed_lines(base)
        return
    if base.form == "hunt":
        yield from _changed_hunt(base)
        return
    schema, _ = _schema()
    table = schema["$defs"].get(base.name, schema)
    at = base.at
    own = _get(base.data, at) or {}
    keys = [key for key in table["properties"] if base.name not in ("Flow", "TcpEnds") or not _is_tcp(schema, key)]
    for key in keys:
        for value in (*WRONG, *_near_words(table["properties"][key]), *table["properties"][key]["examples"]):
            yield key, _with(base, at, {**own, key: value})
        if base.name != "Scenario":
            value = table["properties"][key]["examples"][0]
            shorter = {name: one for name, one in own.items() if name != key}
            yield f"{key}-", _with(base, at, {**shorter, key[:-1] if len(key) > 2 else f"{key}x": value})
        if key in own:
            yield f"{key}-", _with(base, at, {name: one for name, one in own.items() if name != key})
    if at:
        for value in (True, 3, "x", [], [own], {**own, "zzz": 1}):
            yield "", _with(base, at, value)
    for pair in combinations(keys if len(keys) < 15 else (), 2):
        yield "+", _with(base, at, {**own, **{key: table["properties"][key]["examples"][-1] for key in pair}})


def _changed_hunt(base: Base) -> Iterator[tuple[str, str]]:
    """Each key of a table of [hunt] with a wrong value, misspelt or left out, two left out; each
    element of a list replaced; another value in place of the table.
    """
    own = _get(base.data, base.at)
    for value in (*WRONG, [own], [[own]], ["x", "x"]):
        yield "", _with(base, base.at, value)
    if isinstance(own, list):
        for index, value in ((index, value) for index in range(len(own)) for value in WRONG):
            yield f"{index}", _with(base, base.at, [*own[:index], value, *own[index + 1 :]])
    if not isinstance(own, dict):
        return
    for key, value in own.items():
        near = [value[:-1]] if isinstance(value, str) else []
        for wrong in (*WRONG, *near, [value, value], {"name": value}, "python:no.such", "mos"):
            yield key, _with(base, base.at, {**own, key: wrong})
        others = {name: one for name, one in own.items() if name != key}
        yield f"{key}-", _with(base, base.at, others)
        yield f"{key}-", _with(base, base.at, {**others, f"{key}x": value})
        for other in others:
            yield f"{key}-", _with(base, base.at, {name: one for name, one in others.items() if name != other})
    for key, value in {
        "flow": "x",
        "of": "share",
        "key": "tcp",
        "values": [1, 2],
        "metric": "rtt",
        "minutes": 3,
    }.items():
        yield "+", _with(base, base.at, {**own, key: value})


def _is_tcp(schema: dict[str, Any], key: str) -> bool:
    return key in schema["$defs"]["TcpKeys"]["properties"]


def _near_words(of: dict[str, Any]) -> Iterator[str]:
    for words in (of.get("enum"), *(one.get("enum") for one in of.get("anyOf", ()))):
        yield from (word[:-1] for word in (words or ())[:2] if isinstance(word, str))


def _with(base: Base, at: Steps, value: Any) -> str:
    data = copy.deepcopy(base.data)
    if at:
        _put(data, at, value)
    else:
        data = value
    return written(data)


def _changed_lines(base: Base) -> Iterator[tuple[str, str]]:
    """The text with one line changed: its key misspelt, its value negative, cut or of another unit,
    the line left out.
    """
    lines = base.text.splitlines(True)
    changes = (
        lambda key, value: f"{key[:-1]} = {value}",
        lambda key, value: f"{key} = -{value}" if value[:1].isdigit() else f'{key} = "-{value[1:]}',
        lambda key, value: f"{key} = {value[:-2]}x{value[-2:]}" if len(value) > 3 else f"{key} = [{value}]",
        lambda key, value: f"{key} = 10{value}" if value[:1].isdigit() else f"{key} = 7",
        lambda key, value: "",
    )
    for number, line in enumerate(lines):
        key, equals, value = line.rstrip("\n").partition(" = ")
        if not equals:
            continue
        for kind, change in enumerate(changes):
            if (number + kind) % 3 == 0 and value.count("{") == 0:
                text = "".join([*lines[:number], change(key, value.partition(" #")[0]) + "\n", *lines[number + 1 :]])
                try:
                    tomllib.loads(text)
                except tomllib.TOMLDecodeError:
                    continue
                yield f"{number}", text


def difference(before: str, after: str) -> tuple[int, int, str]:
    """The lines of `before` that become the text: their first, their count, the text."""
    old, new = before.splitlines(True), after.splitlines(True)
    first = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    limit = min(len(old), len(new)) - first
    last = next((n for n in range(limit) if old[-1 - n] != new[-1 - n]), limit)
    return first, len(old) - last - first, "".join(new[first : len(new) - last])


def changed(before: str, first: int, count: int, text: str) -> str:
    """The text that `difference` described."""
    lines = before.splitlines(True)
    return "".join([*lines[:first], text, *lines[first + count :]])


def rows(folder: Path) -> Iterator[list[Any]]:
    """The rows of the file."""
    for base in bases():
        if not isinstance(refusal := result(base.form, base.text, folder), str):
            raise ValueError(f"{base.name} is refused: {refusal}\n{base.text}")
        yield ["base", base.name, base.form, base.text]
        seen: set[Any] = set()
        for group, text in inputs(base):
            try:
                found = result(base.form, text, folder)
            except tomllib.TOMLDecodeError:
                continue
            kind = (group, *(found[1:3] if isinstance(found, list) else ("",)), _allowed(found))
            if text == base.text or kind in seen:
                continue
            seen.add(kind)
            of_dicts = result_of_dicts(base.form, text, folder)
            yield [*difference(base.text, text), found, *([of_dicts] if of_dicts != without_place(found) else [])]


def _allowed(found: Any) -> str:
    """What distinguishes messages of one group: those of accepted inputs are alike."""
    return found[3].partition("; allowed: ")[2] if isinstance(found, list) else "accepted"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, in_folder(Path(folder)):
        lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows(Path(folder))]
    FILE.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{len(lines)} rows, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
