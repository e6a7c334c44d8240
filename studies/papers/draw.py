"""`python -m studies.papers.draw FOLDER`: every figure of the five papers as SVG, by `reproduce`.

`make papers` writes them to runs/papers, with the report and the document of each paper.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ackclock.papers.claims import PAPERS
from ackclock.papers.reproduce import Reproduction, reproduce
from ackclock.plot.figure import Plot
from ackclock.plot.sweep_chart import swept


def draw(done: Reproduction, folder: Path) -> list[Path]:
    """Write the figures of a reproduction; a file's name is the start of its figure's title."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in done.document.get("figures", ()):
        name = re.sub(r"[^a-z0-9]+", "-", figure["title"].lower()).strip("-")[:60]
        written.append(Plot([swept(figure)], figure["title"]).save(folder / f"{name}.svg"))
    return written


def main() -> None:
    """Reproduce the papers and draw their figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=PAPERS)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    for paper in [asked.only] if asked.only else PAPERS:
        done = reproduce(paper, quick=asked.quick, out=asked.folder / paper)
        done.report()
        written = draw(done, asked.folder / paper / "figures")
        print(f"{paper}: {len(written)} figures in {asked.folder / paper / 'figures'}")


if __name__ == "__main__":
    main()
