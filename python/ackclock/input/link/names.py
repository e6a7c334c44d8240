"""Names of links: the packaged ones, and others by which people ask for them.

`find_link` of a scenario (draft.py) gives the file of a name.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PACKAGED = Path(__file__).resolve().parents[2] / "links"
OTHER_NAMES = Path(__file__).with_name("other_names.toml")


def packaged_links() -> dict[str, str]:
    """Names of the packaged links with their titles, in order of name."""
    titles = {}
    for path in sorted(PACKAGED.glob("*.toml")):
        titles[path.stem] = tomllib.loads(path.read_text(encoding="utf-8")).get("title", "")
    return titles


@dataclass(frozen=True)
class OtherName:
    """A name by which people ask for a kind of access.

    Attributes:
        link: the packaged link of this kind.
        others: further packaged links of this kind.
    """

    name: str
    link: str
    others: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Which link it is.

        >>> other_name("5G").sentence()
        '5g: the packaged link nr-uplink, 5G NR with requested uplink, 200 Mb/s down, 20 Mb/s up'
        """
        further = f"; others: {', '.join(self.others)}" if self.others else ""
        return f"{self.name}: the packaged link {self.link}, {packaged_links()[self.link]}{further}"


def other_name(name: str) -> OtherName | None:
    """The entry of a name, in any letter case; None without one."""
    return other_names().get(name.lower())


@cache
def other_names() -> dict[str, OtherName]:
    """All names of other_names.toml with their entries."""
    entries: dict[str, dict[str, Any]] = tomllib.loads(OTHER_NAMES.read_text(encoding="utf-8"))
    return {name: OtherName(name, entry["link"], tuple(entry.get("others", ()))) for name, entry in entries.items()}


def names_of(link: str) -> list[str]:
    """The other names of a packaged link."""
    return [name for name, other in other_names().items() if other.link == link]
