"""The figures of a report by name, as files name them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ackclock.report.page import Block, Chart, Page, Section, Sequences, Table

if TYPE_CHECKING:
    from ackclock.plot.figure import Plot


def figures(page: Page) -> dict[str, Plot]:
    """The figures of a report's page by name, in the report's order.

    The report's conditions stand below each title. `save` writes it as SVG, PDF, PNG or CSV.

    Raises:
        ImportError: the extra `plot` is not installed.

    >>> import ackclock, tempfile
    >>> from pathlib import Path
    >>> from ackclock.result_folder import page_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     flows = [{"workload": {"kind": "bulk"}}]
    ...     run = ackclock.simulate("dsl-16m", flows, duration="2 s", out=folder)
    ...     list(figures(page_of(Path(folder))))
    ['congestion-window', 'round-trip-time', 'goodput', 'queue-at-dsl-down']
    """
    from ackclock.plot.figure import Plot

    return {
        name: Plot([block.spec if isinstance(block, Chart) else block.graph.specification()], block.title, page.under)
        for name, block in named(page)
        if isinstance(block, Chart | Sequences)
    }


def named(page: Page) -> list[tuple[str, Chart | Sequences | Table]]:
    """The figures and tables of a page with their names: of its title, or of its section's, in
    lower case with hyphens; a number distinguishes equal ones.
    """
    found: dict[str, Chart | Sequences | Table] = {}
    for section, block in _blocks(page):
        if not isinstance(block, Chart | Sequences | Table):
            continue
        base = _slug(getattr(block, "title", "") or section.title)
        number = 1
        while (name := base if number == 1 else f"{base}-{number}") in found:
            number += 1
        found[name] = block
    return list(found.items())


def _blocks(page: Page) -> Iterator[tuple[Section, Block]]:
    return ((section, block) for section in page.sections for block in section.blocks)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\([^)]*\)", "", text).lower()).strip("-") or "figure"
