"""What the codes of errors and the findings of `analyze` mean: `ackclock explain`, and the pages of
both.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ackclock.errors import InputError, choices, format_value

TEXTS = Path(__file__).with_name("explanations.toml")
KINDS = {"errors": "error", "findings": "finding"}
"""The tables of explanations.toml, and what an entry of each is."""


@dataclass(frozen=True)
class Explanation:
    """The meaning of a name that the program prints."""

    name: str
    kind: str
    """"error" or "finding"."""
    group: str
    """The title below which pages have it."""
    text: str
    example: str = ""
    """The message of such an error."""

    @property
    def page(self) -> str:
        """Its address in the site."""
        return f"reference/errors.html#{self.name}" if self.kind == "error" else f"reference/findings.html#{self.name}"


@cache
def explanations() -> dict[str, Explanation]:
    """All of them by name, errors first, in the order of their pages."""
    texts = tomllib.loads(TEXTS.read_text("utf-8"))
    return {
        name: Explanation(name, kind, **entry) for table, kind in KINDS.items() for name, entry in texts[table].items()
    }


def explain(name: str) -> Explanation:
    """The explanation of an error's code or a finding.

    Raises InputError for another name.

    >>> explain("zero_window_stall").text
    "The receiver's window was zero for a time: its application did not read."
    """
    known = explanations()
    if name not in known:
        raise InputError(format_value(name), choices(known, name), option="NAME")
    return known[name]
