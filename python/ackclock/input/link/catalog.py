"""The packaged links, by name."""

from __future__ import annotations

import tomllib
from pathlib import Path

PACKAGED = Path(__file__).resolve().parents[2] / "links"


def packaged_links() -> dict[str, str]:
    """Names of the packaged links with their titles, in order of name."""
    titles = {}
    for path in sorted(PACKAGED.glob("*.toml")):
        titles[path.stem] = tomllib.loads(path.read_text(encoding="utf-8")).get("title", "")
    return titles
