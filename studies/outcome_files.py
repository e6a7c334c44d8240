"""Files of a study: lines of outcomes that a later run takes up, and the page made of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ackclock.storage.atomic_files import atomic_write


def keep(path: Path | None, outcome: Mapping[str, Any]) -> None:
    """Appends an outcome as a line of JSON, where a file is given."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(outcome) + "\n")


def kept(path: Path | None) -> list[dict[str, Any]]:
    """The outcomes that `keep` has written; none without a file."""
    if not path or not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_page(path: Path | None, text: str) -> None:
    """Writes the page whole or not at all; without a file to standard output."""
    if path:
        atomic_write(path, text.encode())
    else:
        sys.stdout.write(text)
