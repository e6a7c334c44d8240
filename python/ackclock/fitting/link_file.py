"""The link file of a fit: an ordinary link with the parameters in a [fit] table, and the joint
draws beside it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import not_writable
from ackclock.fitting.parameters import Parameter
from ackclock.input.objects import Link
from ackclock.input.scenario.link_draws import draws_path
from ackclock.input.toml_writer import to_toml

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.fit import FittedLink


def to_text(link: Link, document: FittedLink) -> str:
    """The link file: the link, then the [fit] table."""
    head = {"inputs": document["inputs"], "remarks": document["remarks"]}
    tables = [f"[[fit.parameters]]\n{to_toml(row)}" for row in document["parameters"]]
    tables += [f"[[fit.not_identified]]\n{to_toml(row)}" for row in document["not_identified"]]
    if document["score"] is not None:
        # The score as keys of one table.
        text = to_toml({"score": document["score"]}).removeprefix("[score]\n")
        tables.append(f"[fit.score]\n{text}")
    return "\n".join([to_toml(link.to_dict()), to_toml({"fit": head}), *tables])


def draws_frame(parameters: Sequence[Parameter]) -> pl.DataFrame:
    """A column for each identified parameter, in its unit, and a row for each joint draw."""
    import polars as pl

    return pl.DataFrame({parameter.path: list(parameter.draws) for parameter in parameters if parameter.draws})


def check_place(path: Path) -> None:
    """Raise for a path at which no file can be made; a fit takes seconds, and its file is last.

    Raises:
        InputError: a folder, or no folder to make it in.
        RunFailed: no permission to make it.
    """
    from ackclock.storage.atomic_files import check_folder_of

    check_folder_of(path)
    if not os.access(path.absolute().parent, os.W_OK | os.X_OK):
        raise not_writable(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), path)


def write(
    path: Path, text: str, draws: pl.DataFrame, recordings: Mapping[Path, bytes] | None = None, *, force: bool = False
) -> list[Path]:
    """Write the link file, its draws and its recordings; return their paths.

    Raises:
        InputError: a file with other contents is there (without `force`), or it cannot be written.
    """
    from ackclock.storage.atomic_files import atomic_write, check_other_file, write_parquet

    check_place(path)
    check_other_file(path, text.encode(), force=force, option="-o")
    # The link file last: it is complete when it is there.
    try:
        for file, content in (recordings or {}).items():
            atomic_write(file, content)
        write_parquet(draws_path(path), draws)
        atomic_write(path, text.encode())
    except OSError as error:
        raise not_writable(error, path) from error
    return [path, draws_path(path), *(recordings or {})]
