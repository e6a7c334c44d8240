"""The result of ``import``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import not_writable

if TYPE_CHECKING:
    from ackclock.documents.import_ import ImportedLink


@dataclass(frozen=True)
class LinkImport:
    """A set-up as a link file. `document` is the JSON of ``ackclock import --json``."""

    document: ImportedLink

    @property
    def toml(self) -> str:
        """The link file."""
        return self.document["toml"]

    @property
    def link(self) -> dict[str, Any]:
        """The link as a dict, as `ackclock.simulate` and the others take it."""
        return self.document["link"]

    def sentences(self) -> Iterator[str]:
        """The lints and what the link file leaves out, a sentence each."""
        for lint in self.document["lints"]:
            yield f"{lint['code']}{_line(lint['line'])}: {lint['text']}"
        for misread in self.document["not_understood"]:
            yield f"not understood{_line(misread['line'])}: {misread['text']}: {misread['why']}"
        for lost in self.document["not_expressed"]:
            yield f"not expressed{_line(lost['line'])}: {lost['text']}"
        for assumed in self.document["assumed"]:
            yield f"assumed{_line(assumed['line'])}: {assumed['text']}"

    def write(self, path: Path, *, force: bool = False) -> None:
        """Write the link file.

        Raises InputError: another file is there (without `force`), or it cannot be written.
        """
        from ackclock.storage.atomic_files import atomic_write, check_folder_of, check_other_file

        content = self.toml.encode()
        check_folder_of(path, option="--out")
        check_other_file(path, content, force=force, option="--out")
        try:
            atomic_write(path, content)
        except OSError as error:
            raise not_writable(error, path) from error


def _line(line: int | None) -> str:
    return "" if line is None else f", line {line}"
