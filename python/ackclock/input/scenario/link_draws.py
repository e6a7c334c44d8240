"""The joint draws beside a fitted link: each seed of a comparison has a link of its own, so that a
ranking that the fit cannot support is a tie.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.input.checked_table import CheckedTable, replaced
from ackclock.input.document import read_document
from ackclock.input.link.hop import DIRECTIONS, Direction, Hop, with_keys
from ackclock.input.scenario.draft import find_link
from ackclock.input.scenario.model import Scenario

if TYPE_CHECKING:
    import polars as pl

PS_PER_MS = 10**9
IN_RUN = "link.draws.parquet"
"""Name of the draws in a run folder."""


def draws_path(link: Path) -> Path:
    """The file of the joint draws beside a link file."""
    return link.with_name(f"{link.stem}.draws.parquet")


@dataclass(frozen=True)
class LinkDraws:
    """Draws of a link's parameters, a column for each path (docs/reference/fit.md)."""

    path: Path

    @classmethod
    def beside(cls, link: str | Path) -> LinkDraws | None:
        """The draws beside a link by name or file; None if it was not fitted, or they are
        absent.
        """
        file = find_link(str(link), Path())
        if file is None or not draws_path(file).is_file() or "fit" not in read_document(file).data:
            return None
        return cls(draws_path(file))

    @classmethod
    def of_run(cls, folder: Path) -> LinkDraws | None:
        """The draws of a comparison, kept in its run folder; None without any."""
        return cls(folder / IN_RUN) if (folder / IN_RUN).is_file() else None

    @cached_property
    def frame(self) -> pl.DataFrame:
        import polars as pl

        return pl.read_parquet(self.path)

    @property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    @property
    def note(self) -> str:
        """A sentence for results over these links."""
        return f"Each seed has a link of its own, drawn from the fit's uncertainty ({self.path.name})."

    def scenario(self, scenario: Scenario, seed: int, kept: Sequence[str] = ()) -> Scenario:
        """The scenario over the link of a seed: the draw of that number, from 1, in a circle.

        Keys of `kept`, and those below them, stay as they are.
        """
        row = self.frame.row((seed - 1) % self.frame.height, named=True)
        draw = {path: value for path, value in row.items() if not any(_is_below(path, key) for key in kept)}
        return scenario.with_hops([_drawn(hop, draw) for hop in scenario.hop])


def _is_below(path: str, key: str) -> bool:
    """Whether a path is a key or below it, in both or one direction."""
    of, at = (".".join(part for part in name.split(".") if part not in DIRECTIONS) for name in (path, key))
    return f"{of}.".startswith(f"{at}.")


def _drawn(hop: Hop, draw: Mapping[str, float]) -> Hop:
    """A hop with the drawn values of its parameters."""
    start = f"hop.{hop.name}."
    own = {path.removeprefix(start): value for path, value in draw.items() if path.startswith(start)}
    sides = {name: _drawn_side(side, _of_direction(own, name)) for name in DIRECTIONS if (side := getattr(hop, name))}
    is_drawn = hop.medium and hop.medium.kind == "grants"
    return with_keys(hop, sides, _drawn_medium(hop.medium, own) if is_drawn else hop.medium)


def _drawn_medium(medium: CheckedTable, own: Mapping[str, float]) -> CheckedTable:
    """A medium with its drawn rates, caps and burst."""
    changed: dict[str, Any] = {"burst": f"{round(own['medium.burst'])} B"} if "medium.burst" in own else {}
    for key in ("rate", "cap"):
        drawn = {name: f"{round(own[path])} b/s" for name in DIRECTIONS if (path := f"medium.{key}.{name}") in own}
        if drawn:
            changed[key] = getattr(medium, key).written() | drawn
    return replaced(medium, **changed) if changed else medium


def _of_direction(draw: Mapping[str, float], direction: str) -> dict[tuple[str, ...], float]:
    """The keys of one direction, without its name: ("queue", "bytes")."""
    keys = {}
    for path, value in draw.items():
        parts = path.split(".")
        if not set(DIRECTIONS) & set(parts[1:]) or direction in parts[1:2]:
            keys[tuple(part for part in parts if part != direction)] = value
    return keys


def _drawn_side(side: Direction, draw: Mapping[tuple[str, ...], float]) -> dict[str, Any]:
    """The keys of a direction with their draws."""
    changed: dict[str, Any] = {}
    for keys, value in draw.items():
        key, *inner = keys
        part = changed.get(key, getattr(side, key))
        if keys == ("rate",) and isinstance(part, int):
            changed[key] = max(1, round(value))
        elif keys == ("delay",):
            changed[key] = max(0, round(value * PS_PER_MS))
        elif inner and (of := getattr(part, inner[0], None)) is not None:
            written = _written(keys, value)
            # The queue of a shaper is a table in its table.
            table = replaced(of, **{inner[1]: written}).written(given=True) if inner[1:] else written
            changed[key] = replaced(part, **{inner[0]: table})
    return changed


def _written(keys: tuple[str, ...], value: float) -> str | float:
    """A draw as a file has it: bytes, a share, or a time of milliseconds."""
    if keys in (("loss", "mean"), ("reorder", "mean")):
        return value
    if keys == ("framing", "overhead"):
        return f"{round(value)} B"
    if keys[-1] in ("bytes", "burst"):
        return f"{max(1, round(value))} B"
    if keys[-1] == "rate":
        return f"{max(1, round(value))} b/s"
    return f"{max(1, round(value * PS_PER_MS))} ps"
