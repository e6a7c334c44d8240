"""Folders of dialogues against the engine: a row a script.

A folder of dialogues has scripts in folders of their category, as
`ACKCLOCK_ORACLES/kernel-dialogues` has.
"""

from __future__ import annotations

import os
import re
import textwrap
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.packetdrill import IGNORED, ScriptResult, run_script
from studies.dialogues.differences import kind

HOST = "linux-6"
FOLDER = "kernel-dialogues"
"""Below `ACKCLOCK_ORACLES`."""
NOT_TRACED = "not traced"
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """The verdict on a dialogue.

    Attributes:
        category: the folder that holds it.
        name: the script's name without `.pkt`.
        verdict: "passes", "fails", "unsupported" or "unreadable".
        line: the line of the first difference, from 1; None of a script that passes.
        kind: the first difference (`differences.kind`), or why the script is not played.
        traced_line: the line whose cause is looked for: that of the first difference other than PSH
            and the window, if there is one.
        packets: the verdict when PSH, windows, tcp_info and times are passed over.
        packets_line, packets_kind: its first difference.
    """

    category: str
    name: str
    verdict: str
    line: int | None = None
    kind: str = ""
    traced_line: int | None = None
    packets: str = ""
    packets_line: int | None = None
    packets_kind: str = ""


def scripts(folder: Path) -> list[Path]:
    """The scripts below a folder: by category, then by the number in the name."""

    def order(path: Path) -> tuple[str, list[int | str]]:
        return path.parent.name, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.stem)]

    return sorted(folder.rglob("*.pkt"), key=order)


def play(script: Path) -> Row:
    """A dialogue against the engine, compared in full and by its packets."""
    category, name = script.parent.name, script.stem
    try:
        full = run_script(script, HOST)
        if full.verdict == "passes":
            return Row(category, name, "passes", packets="passes")
        behind = run_script(script, HOST, ignored=("psh", "window"))
        packets = run_script(script, HOST, ignored=IGNORED)
    except InputError as error:
        return Row(category, name, "unreadable", error.line, str(error), error.line, "unreadable")
    return Row(
        category,
        name,
        full.verdict,
        full.line,
        _what(full),
        behind.line or full.line,
        packets.verdict,
        packets.line,
        _what(packets),
    )


def _what(result: ScriptResult) -> str:
    return result.why if result.verdict == "unsupported" else kind(result)


def play_all(files: Sequence[Path], workers: int | None = None) -> list[Row]:
    """A row a script, in order, on all cores unless `workers` says how many."""
    workers = workers or os.cpu_count() or 1
    if workers == 1 or len(files) < 2:
        return [play(file) for file in files]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(play, files, chunksize=max(1, min(16, len(files) // workers))))


@dataclass(frozen=True)
class Causes:
    """`causes.toml`: why dialogues of `ACKCLOCK_ORACLES` fail, in our words.

    Attributes:
        texts: what Linux does and the engine does not, by the cause's identifier.
        scripts: by identifier, the scripts that fail for it, as `NAME:LINE`.
    """

    texts: Mapping[str, str]
    scripts: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls) -> Causes:
        document = _toml("causes.toml")
        return cls(document["causes"], document["scripts"])

    def of(self, row: Row) -> str:
        """The identifier of a failing script's cause: `NOT_TRACED` where none is listed for the
        line that differs.
        """
        place = f"{row.name}:{row.traced_line}"
        return next((cause for cause, places in self.scripts.items() if place in places), NOT_TRACED)

    def names(self) -> set[str]:
        """Every script that is known to fail."""
        return {place.rpartition(":")[0] for places in self.scripts.values() for place in places}

    def text(self, cause: str) -> str:
        """What the page says of a cause."""
        return f"{cause}: {self.texts[cause]}" if cause in self.texts else cause


def floors() -> dict[str, dict[str, int]]:
    """By category: how many dialogues of those handed over pass, in full and by their packets."""
    return _toml("floors.toml")


def renew(rows: Sequence[Row]) -> None:
    """Raise the floors to these verdicts, and list exactly the scripts that fail, under the causes
    that they have: a script whose difference has moved, or that fails for the first time, is not
    traced.
    """
    causes, before = Causes.read(), floors()
    lines = [(_HERE / "floors.toml").read_text("utf-8").split("\n[")[0].rstrip()]
    for name, of in by_category(rows).items():
        old = before.get(name, {})
        passes = max(old.get("passes", 0), sum(row.verdict == "passes" for row in of))
        packets = max(old.get("packets", 0), sum(row.packets == "passes" for row in of))
        lines.append(f"\n[{name}]\npasses = {passes}\npackets = {packets}")
    (_HERE / "floors.toml").write_text("\n".join(lines) + "\n", "utf-8")
    places: dict[str, list[str]] = {}
    for row in rows:
        if row.verdict != "passes":
            places.setdefault(causes.of(row), []).append(f"{row.name}:{row.traced_line}")
    head = (_HERE / "causes.toml").read_text("utf-8").split("[scripts]")[0]
    listed = []
    for cause in [*causes.texts, NOT_TRACED]:
        if cause in places:
            entries = textwrap.fill(", ".join(f'"{place}"' for place in places[cause]), 96)
            listed.append(f'"{cause}" = [\n{textwrap.indent(entries, "    ")},\n]')
    (_HERE / "causes.toml").write_text("\n".join([head + "[scripts]", *listed]) + "\n", "utf-8")


def by_category(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each category, in order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.category, []).append(row)
    return found


def _toml(name: str) -> dict[str, Any]:
    with (_HERE / name).open("rb") as file:
        return tomllib.load(file)
