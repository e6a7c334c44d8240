"""A scenario before it is checked, from one file or from two (scenario and link)
(crates/scenario/src/scenario/draft.rs).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ackclock import _native
from ackclock.errors import InputError, InvalidValue, Key, format_value, nearest, nearest_file
from ackclock.input.document import Document, read_document
from ackclock.input.link.names import PACKAGED, other_name, other_names, packaged_links
from ackclock.input.scenario.model import Scenario

Point = dict[str, Any]
"""Values of a scenario by dotted path, such as `tcp.variant` or `hop.air.loss.down.mean`; None for
a key that is left out."""

Read = TypeVar("Read")


@dataclass(frozen=True)
class Draft:
    """An unchecked scenario.

    `check` converts one point of its sweep to a Scenario or raises InputError. `varied` is the
    table that has the values of points, which errors about them name.
    """

    document: Document
    varied: Key = ("sweep",)

    def points(self) -> list[Point]:
        """Every combination of swept values; one empty point when there is no sweep."""
        try:
            return self._tables().points()
        except InvalidValue as invalid:
            raise self.document.error(self._varied_loc(invalid.key), invalid) from None

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
        return self._at(point, _native.Draft.scenario)

    def written(self, point: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The keys of a point as written, unchecked, with those of the link. Raises InputError."""
        return self._at(point, _native.Draft.written)

    def as_written(self, point: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
        """The resolved scenario `data` of a point, with each table whose `kind` the sweep varies as
        it is written: defaults of one kind are no keys of another, or have other values there. Of
        a swept link no hops.
        """
        return self._tables().with_swept_kinds(dict(point), dict(data))

    def _tables(self) -> _native.Draft:
        return _native.Draft(self.document.data, str(self.document.folder))

    def _at(self, point: Mapping[str, Any] | None, read: Callable[[_native.Draft, Point], Read]) -> Read:
        document = self.document
        if document.file is not None and "hop" in document.data and not {"duration", "flow"} & document.data.keys():
            raise a_link(document.file)
        try:
            return read(self._tables(), dict(point or {}))
        except InvalidValue as invalid:
            raise self._error(invalid) from None

    def _error(self, invalid: InvalidValue) -> InputError:
        """The error with the line of its value: of the point, of the link or of the scenario."""
        if not invalid.varied:
            source = read_document(Path(invalid.link)) if invalid.link else self.document
            return source.error(invalid.key, invalid)
        at = self.document.error(self._varied_loc((invalid.varied,)), invalid)
        return InputError.of(
            invalid, file=at.file, line=at.line, key=".".join(map(str, (*self.varied, invalid.varied)))
        )

    def _varied_loc(self, key: Key) -> Key:
        """The location of a varied path, written as "tcp.variant" = .. or as tcp.variant = .."""
        if key and (*self.varied, *key) not in self.document.lines:
            path, *rest = key
            return (*self.varied, *str(path).split("."), *rest)
        return (*self.varied, *key)


def link_file(name: str, folder: str) -> tuple[str, dict[str, Any], str]:
    """The path and the tables of a link by name or path, and by which other name a packaged one was
    found, for its title. Raises InvalidValue, or InputError for an error in the file.
    """
    path = find_link(name, Path(folder))
    if path is None:
        raise no_link(name, Path(folder))
    data = read_document(path).data
    if "flow" in data:
        hint = f"run `ackclock simulate {path}`, or keep only its [[hop]] tables"
        raise InputError.problem("a scenario, and no link: it has flows", hint, file=str(path))
    is_other = path.parent == PACKAGED and path.name not in (Path(name).name, f"{Path(name).name}.toml")
    return str(path), data, f"{name}: the packaged link {path.stem}" if is_other else ""


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
