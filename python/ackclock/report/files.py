"""A report's figures and a result's tables as files of their own: SVG, PDF, PNG and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import InputError, RunFailed, choices, format_value
from ackclock.report.figures import figures
from ackclock.report.page import Page

if TYPE_CHECKING:
    import polars as pl

FIGURES = ("svg", "pdf", "png")
FORMATS = (*FIGURES, "csv")
FOLDER = {**dict.fromkeys(FIGURES, "figures"), "csv": "tables"}
"""Subfolder of a run folder for each format."""
DARK = "-dark"
"""What the names of figures for dark paper end with."""


def check_format(name: str) -> None:
    """Raise InputError for another format than svg, pdf, png and csv."""
    if name not in FORMATS:
        raise InputError(format_value(name), choices(FORMATS, name), option="--format")


def figure_files(page: Page, folder: Path, suffix: str, *, dark: bool = False) -> list[Path]:
    """Write each figure of a page to ``figures/NN-NAME.SUFFIX`` in `folder`, numbered as in the
    report; return the paths. Those for dark paper are ``NN-NAME-dark.SUFFIX``.

    Raises:
        RunFailed: the page has no figure, or the extra `report` is not installed.
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise RunFailed(
            f"figures as files require vl-convert ({error})", "pip install 'ackclock[report]'", option="--format"
        ) from None
    found = figures(page)
    if not found:
        raise RunFailed("this run has no figures", "`--format csv` writes its tables, `ackclock report` its HTML")
    target = folder / FOLDER[suffix]
    target.mkdir(parents=True, exist_ok=True)
    ending = f"{DARK if dark else ''}.{suffix}"
    for plot in found.values():
        plot.dark = dark
    numbered = enumerate(found.items(), start=1)
    return [plot.save(target / f"{number:02}-{name}{ending}") for number, (name, plot) in numbered]


def table_files(frames: Mapping[str, pl.DataFrame], folder: Path) -> list[Path]:
    """Write each frame to ``tables/NAME.csv`` in `folder`; return the paths.

    Column names end with their unit; a list or a structure in a cell is JSON.

    >>> import polars as pl, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (file,) = table_files({"flows": pl.DataFrame({"rtt_ms": [[1.0, 2.5]]})}, Path(folder))
    ...     file.read_text()
    'rtt_ms\\n"[1.0,2.5]"\\n'
    """
    from ackclock.storage.atomic_files import atomic_write

    target = folder / FOLDER["csv"]
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, frame in frames.items():
        path = target / f"{name}.csv"
        atomic_write(path, _flat(frame).write_csv().encode())
        written.append(path)
    return written


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with nested columns as JSON texts."""
    import json

    import polars as pl

    def text(value: object) -> str | None:
        plain = value.to_list() if isinstance(value, pl.Series) else value
        return None if plain is None else json.dumps(plain, separators=(",", ":"), default=str)

    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    texts = [pl.Series(name, [text(value) for value in frame[name]], dtype=pl.String) for name in nested]
    return frame.with_columns(texts)
