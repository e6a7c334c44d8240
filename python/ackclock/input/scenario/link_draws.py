"""The joint draws beside a fitted link: each seed of a comparison has a link of its own, so that a
ranking that the fit cannot support is a tie.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.input.document import read_document
from ackclock.input.link.hop import DIRECTIONS
from ackclock.input.scenario.draft import find_link
from ackclock.input.scenario.model import Scenario

if TYPE_CHECKING:
    import polars as pl

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
        return scenario.drawn([one for one in row.items() if not any(_is_below(one[0], key) for key in kept)])


def _is_below(path: str, key: str) -> bool:
    """Whether a path is a key or below it, in both or one direction."""
    of, at = (".".join(part for part in name.split(".") if part not in DIRECTIONS) for name in (path, key))
    return f"{of}.".startswith(f"{at}.")
