"""What `analyze --out` leaves on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import InputError
from ackclock.runs import write_json, write_parquet

if TYPE_CHECKING:
    from ackclock.analysis.run import Analysis

DOCUMENT = "analysis.json"


def write_folder(folder: Path, done: Analysis) -> None:
    """The document, its tables and graphs for xplot. Raises InputError for a folder that is something else."""
    if folder.exists() and not folder.is_dir():
        raise InputError("a file", "a folder for the results", file=str(folder), key="--out")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / DOCUMENT).exists():
        raise InputError(
            "a folder with other files", "a new or empty folder, or an earlier analysis", file=str(folder), key="--out"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"no folder can be made here ({error.strerror})", "a writable place", file=str(folder), key="--out"
        ) from None
    write_json(folder / DOCUMENT, done.document)
    write_parquet(folder / "flows.parquet", done.flows)
    for name, frame in (("series", done.series), ("delays", done.delays)):
        if frame is not None:
            write_parquet(folder / f"{name}.parquet", frame)
    if done.series is not None:
        write_parquet(folder / "rates.parquet", done.rates())
        done.xplot(folder / "xplot")


def read_folder(folder: Path) -> Analysis:
    """What `write_folder` left."""
    import polars as pl

    from ackclock.analysis.run import Analysis

    frames = {}
    for name in ("series", "delays"):
        path = folder / f"{name}.parquet"
        frames[name] = pl.read_parquet(path, glob=False) if path.is_file() else None
    return Analysis(json.loads((folder / DOCUMENT).read_text("utf-8")), frames["series"], frames["delays"])
