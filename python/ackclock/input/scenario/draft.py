"""A scenario before it is checked, from one file or from two (scenario and link)."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock import _native
from ackclock.errors import InputError, InvalidValue, Key, choices, format_value, nearest, nearest_file
from ackclock.input.document import Document, format_loc, read_document
from ackclock.input.link.names import PACKAGED, other_name, other_names, packaged_links
from ackclock.input.scenario import sweep_paths
from ackclock.input.scenario.har import har_objects, is_har
from ackclock.input.scenario.model import Scenario

LINK_KEYS = ("title", "source", "hop", "tunnel", "assumed", "fit")
"""Keys of a link file; `assumed` (`Assumption`) and `fit`, what `ackclock fit` records, are no part
of the link."""

SEARCHED = ("sweep", "hunt")
"""Keys of a scenario that are about other runs of it."""


@dataclass(frozen=True)
class Draft:
    """An unchecked scenario.

    `check` converts one point of its sweep to a Scenario or raises InputError. `varied` is the
    table that has the values of points, which errors about them name.
    """

    document: Document
    varied: Key = ("sweep",)

    def points(self) -> list[sweep_paths.Point]:
        """Every combination of swept values; one empty point when there is no sweep."""
        try:
            return list(sweep_paths.points(self.document.data.get("sweep", {})))
        except InvalidValue as invalid:
            raise self.document.error(_varied_loc(self.document, self.varied, invalid.key), invalid) from None

    def hunted(self) -> Mapping[str, Any] | None:
        """The [hunt] as written; None if there is none. Raises InputError if it is no table."""
        hunt = self.document.data.get("hunt")
        if hunt is not None and not isinstance(hunt, Mapping):
            wrong = InvalidValue(format_value(hunt), "a table with `objective` and `vary`")
            raise self.document.error(("hunt",), wrong)
        return hunt

    def replaced(self, keys: Mapping[str, Any]) -> Draft:
        """The same scenario with some top-level keys replaced."""
        if not keys:
            return self
        document = self.document
        return Draft(Document({**document.data, **keys}, document.file, document.text), self.varied)

    def check(self, point: Mapping[str, Any] | None = None) -> Scenario:
        """The checked scenario at one point of the sweep (values by dotted path), with its link."""
        self.hunted()
        return _Checking(self.document, dict(point or {}), self.varied).scenario()

    def written(self, point: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The keys of a point as written, unchecked, with those of the link. Raises InputError."""
        return _Checking(self.document, dict(point or {}), self.varied).written()

    def as_written(self, point: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
        """The resolved scenario `data` of a point, with each table whose `kind` the sweep varies as
        it is written: defaults of one kind are no keys of another, or have other values there. Of
        a swept link no hops.
        """
        out = copy.deepcopy(dict(data))
        if "link" in point:
            return {key: value for key, value in out.items() if key not in ("hop", "tunnel")}
        checking = _Checking(self.document, dict(point), self.varied)
        written = checking.written()
        for loc, path in checking.swept.items():
            if path.endswith(".kind"):
                table: Any = written
                for key in loc[:-1]:
                    table = table[key]
                sweep_paths.put(out, path.removesuffix(".kind"), copy.deepcopy(table))
        return out


def _varied_loc(document: Document, table: Key, key: Key) -> Key:
    """The location of a varied path, written as "tcp.variant" = .. or as tcp.variant = .."""
    if key and (*table, *key) not in document.lines:
        path, *rest = key
        return (*table, *str(path).split("."), *rest)
    return (*table, *key)


@dataclass
class _Checking:
    """The check of one point. It records which file each part comes from, for error messages."""

    document: Document
    point: dict[str, Any]
    varied: Key
    data: dict[str, Any] = field(init=False)
    link: Document | None = field(init=False, default=None)
    swept: dict[Key, str] = field(init=False, default_factory=dict)

    def scenario(self) -> Scenario:
        data = self.written()
        data.setdefault("hop", [])
        data.setdefault("flow", [])
        try:
            return _native.read_scenario(data)
        except InvalidValue as invalid:
            raise self._error(invalid.key, invalid) from None

    def written(self) -> dict[str, Any]:
        """The keys as written, those of the link among them, with the point's values."""
        self.data = copy.deepcopy({key: value for key, value in self.document.data.items() if key not in SEARCHED})
        absolute_traces(self.data, self.document.folder)
        _read_pages(self.data, self.document.folder)
        if "link" in self.point:
            self._put("link", self.point["link"])
        if self.document.file is not None and "hop" in self.data and not {"duration", "flow"} & self.data.keys():
            raise a_link(self.document.file)
        self._read_link()
        for path, value in self.point.items():
            if path != "link":
                self._put(path, value)
        return self.data

    def _put(self, path: str, value: Any) -> None:
        value = copy.deepcopy(value)
        if path.endswith(".trace") and isinstance(value, str):
            value = str(self.document.folder / value)
        if path.endswith("workload.page") and is_har(value):
            value = har_objects(self.document.folder / value)
        absolute_traces(value, self.document.folder)
        try:
            self.swept[sweep_paths.put(self.data, path, value)] = path
        except InvalidValue as invalid:
            raise self.document.error(_varied_loc(self.document, self.varied, (path,)), invalid) from None

    def _read_link(self) -> None:
        if "link" not in self.data:
            return
        name = self.data.pop("link")
        if "hop" in self.data:
            raise self._error(
                ("link",), InvalidValue("both link and [[hop]]", "either a link or [[hop]] tables, not both")
            )
        if not isinstance(name, str) or not name:
            raise self._error(("link",), InvalidValue(format_value(name), "the name of a packaged link or a link file"))
        path = find_link(name, self.document.folder)
        if path is None:
            raise self._error(("link",), no_link(name, self.document.folder))
        self.link = read_document(path)
        if "flow" in self.link.data:
            hint = f"run `ackclock simulate {path}`, or keep only its [[hop]] tables"
            raise InputError.problem("a scenario, and no link: it has flows", hint, file=str(path))
        for key in self.link.data:
            if key not in LINK_KEYS:
                raise self.link.error(
                    (key,), InvalidValue(f'unknown key "{key}"', choices(LINK_KEYS, key), code="unknown-key")
                )
        if not self.link.data.get("hop"):
            raise self.link.error((), InvalidValue("no hops", "at least one [[hop]] in a link file"))
        hops = copy.deepcopy(self.link.data["hop"])
        absolute_traces(hops, self.link.folder)
        self.data["hop"] = hops
        if tunnels := self.link.data.get("tunnel"):
            self.data.setdefault("tunnel", copy.deepcopy(tunnels))
        for key in ("title", "source"):
            self.data.setdefault(key, self.link.data.get(key, ""))
        if path.parent == PACKAGED and path.name not in (Path(name).name, f"{Path(name).name}.toml"):
            self.data["title"] = f"{self.data['title']} ({name}: the packaged link {path.stem})"

    def _of_link(self) -> set[Key]:
        """The tables and texts that the link has, and not the scenario."""
        of_link: set[Key] = {("hop",), ("title",), ("source",)}
        return of_link if "tunnel" in self.document.data else {*of_link, ("tunnel",)}

    def _error(self, loc: Key, invalid: InvalidValue) -> InputError:
        for place, path in self.swept.items():
            if loc[: len(place)] == place or place[: len(loc)] == loc:
                at = self.document.error(_varied_loc(self.document, self.varied, (path,)), invalid)
                table = ".".join(map(str, self.varied))
                return InputError.of(invalid, file=at.file, line=at.line, key=f"{table}.{path}")
        source = self.link if self.link and loc[:1] in self._of_link() else self.document
        error = source.error(loc, invalid)
        return InputError.of(invalid, file=error.file, line=error.line, key=format_loc(loc, self.data))


def absolute_traces(value: Any, folder: Path) -> None:
    """Make the paths of recorded rates absolute, in place: they are relative to the folder of the
    file that names them.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "trace" and isinstance(inner, str) and inner:
                value[key] = str(folder / inner)
            else:
                absolute_traces(inner, folder)
    elif isinstance(value, list):
        for inner in value:
            absolute_traces(inner, folder)


def _read_pages(data: Mapping[str, Any], folder: Path) -> None:
    """Put the objects of HAR files in place of their names, which are relative to the folder of the
    file that names them.
    """
    flows = data.get("flow")
    for flow in flows if isinstance(flows, list) else ():
        workload = flow.get("workload") if isinstance(flow, dict) else None
        if isinstance(workload, dict) and is_har(workload.get("page")):
            workload["page"] = har_objects(folder / workload["page"])


def link_path(name: str) -> Path:
    """The file of a link by name or path. Raises InputError if there is none."""
    path = find_link(name, Path())
    if path is None:
        raise InputError.of(no_link(name, Path()), key="link")
    return path


def find_link(name: str, folder: Path) -> Path | None:
    """A link file (relative to `folder`, with or without `.toml`) or a packaged link, also by
    another of its names; None without either.
    """
    for path in (folder / name, folder / f"{name}.toml", PACKAGED / f"{name}.toml"):
        if path.is_file():
            return path
    other = other_name(name)
    return PACKAGED / f"{other.link}.toml" if other else None


def no_link(name: str, folder: Path) -> InvalidValue:
    """The error for a name without a link: a missing file, a folder, or a misspelt packaged
    link.
    """
    path = folder / name
    if path.is_dir():
        return InvalidValue(f"a folder, {format_value(name)}", "a link file or a packaged link")
    if "/" in name or path.suffix:
        near = nearest_file(path) or nearest(path.stem, list(packaged_links()))
        return InvalidValue(
            f"no such file, {format_value(name)}",
            f"a link file or a packaged link{f' (did you mean {near}?)' if near else ''}",
        )
    names = list(packaged_links())
    near = nearest(name, names) or nearest(name, list(other_names()))
    close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.4)
    like = f" (did you mean {near}?)" if near else f" (such as {', '.join(close)})" if close else ""
    return InvalidValue(
        f"no link {format_value(name)}", f"a link file or a packaged link{like}; `ackclock list links` names those"
    )


def a_link(name: str) -> InputError:
    """The error for a link file given as a scenario."""
    return InputError.problem(
        "a link, and no scenario: it has no flows",
        f'write a scenario with link = "{name}", duration = "60 s" and [[flow]] workload = {{ kind = "bulk" }}, '
        f"or run `ackclock compare {name}`",
        file=name,
    )


def read_draft(path: Path) -> Draft:
    """Read a scenario file.

    Raises InputError if it is missing or invalid, or names a packaged link.
    """
    if not path.exists() and str(path) in packaged_links():
        raise a_link(str(path))
    return Draft(read_document(path))


def draft_of(data: Mapping[str, Any]) -> Draft:
    """A scenario from Python: the tables of a scenario file as dicts, paths relative to the working
    folder.
    """
    return Draft(Document(dict(data)))
