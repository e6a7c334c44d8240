"""Write the parts of the reference that come from the program into its pages, so that they can be
read in the repository, too: keys, commands, findings, words. `make reference` runs it, and a test
compares them.

A part is the Markdown between `<!-- generated: NAME ARGUMENTS -->` and `<!-- end -->`, made by
docsite.parts.

usage: reference.py [PAGE ...]    (default: all below docs/)
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docsite import parts

ROOT = Path(__file__).resolve().parent.parent
PART = re.compile(
    r"^<!-- generated: (?P<name>[a-z-]+)(?P<arguments>[^\n]*?) -->\n(?P<body>.*?)^<!-- end -->$",
    re.MULTILINE | re.DOTALL,
)


def renewed(text: str) -> str:
    """A page with its parts as the program makes them now. Raises KeyError for an unknown name."""

    def renew(match: re.Match[str]) -> str:
        body = parts.make(match["name"], match["arguments"].split())
        head = match[0][: match.start("body") - match.start()]
        return f"{head}\n{body}\n\n<!-- end -->"

    return PART.sub(renew, text)


def main() -> None:
    pages = [Path(name) for name in sys.argv[1:]] or sorted(ROOT.glob("docs/**/*.md"))
    for page in pages:
        text = page.read_text("utf-8")
        if (new := renewed(text)) != text:
            page.write_text(new, "utf-8")
            print(page.resolve().relative_to(ROOT))


if __name__ == "__main__":
    main()
