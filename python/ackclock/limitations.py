"""What ackclock does not do, and which verdicts that touches: for `ackclock explain`, the reports
and the page of limitations.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Limitation:
    """Something that is not modelled, or only in a simpler way.

    Attributes:
        name: how `ackclock explain` knows it.
        text: one or two sentences.
        commands: those whose verdicts it touches.
    """

    name: str
    text: str
    commands: tuple[str, ...]


@cache
def limitations() -> tuple[Limitation, ...]:
    """All of them, in the order of their page."""
    entries = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return tuple(Limitation(name, entry["text"], tuple(entry["commands"])) for name, entry in entries.items())


def of_command(command: str) -> tuple[Limitation, ...]:
    """Those that touch the verdict of a command; none for an unknown one.

    >>> [limitation.name for limitation in of_command("diff")]
    ['what-the-capture-has']
    """
    return tuple(limitation for limitation in limitations() if command in limitation.commands)
