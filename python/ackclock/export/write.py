"""Writes the files of an export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, choices
from ackclock.export.line import Line, lines_of
from ackclock.export.mahimahi import export_mahimahi
from ackclock.export.tc import export_tc
from ackclock.input.scenario.draft import draft_of
from ackclock.storage.atomic_files import atomic_write
from ackclock.storage.run_folder import Identity, RunFolder

FORMATS: dict[str, Callable[[str, dict[str, Line]], dict[str, str]]] = {"tc": export_tc, "mahimahi": export_mahimahi}

PLACEHOLDER = {"name": "any", "workload": {"kind": "live"}}


@dataclass(frozen=True)
class Exported:
    """Files by name, and the properties of the link that they do not express, a sentence each."""

    link: str
    to: str
    files: dict[str, str]
    missing: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        return {"link": self.link, "to": self.to, "files": self.files, "missing": list(self.missing)}

    def write(self, folder: Path, *, force: bool = False) -> list[Path]:
        """Write the files into `folder`, scripts executable; equal files of the same export are
        kept.

        Raises:
            InputError: the folder has other contents (without ``force``), or cannot be written.
        """
        with RunFolder(folder, Identity.of("export", [self.to, self.files], any_engine=True), force=force) as run:
            for name, text in self.files.items():
                path = folder / name
                if not path.exists():
                    atomic_write(path, text.encode())
                if name.endswith(".sh"):
                    path.chmod(0o755)
            run.finish()
        return [folder / name for name in self.files]


def export_link(link: str, to: str) -> Exported:
    """A packaged link or a link file for the emulator `to`: one of FORMATS. Raises InputError."""
    if to not in FORMATS:
        raise InputError(f'"{to}"', choices(FORMATS, to), key="--to")
    # A link is checked as part of a scenario, which requires a flow.
    scenario = draft_of({"link": link, "flow": [PLACEHOLDER], "duration": "1 s"}).check()
    lines = lines_of(scenario.hop)
    files = FORMATS[to](scenario.title, lines)
    missing = tuple(text for line in lines.values() for text in line.missing)
    missing += tuple(
        f"a {tunnel.kind} tunnel over {', '.join(tunnel.over)}: set it up between the namespaces"
        for tunnel in scenario.tunnel
    )
    return Exported(link, to, files, missing)
