"""The scenarios of the papers' experiments: `papers/PAPER/scenarios/NAME.toml` has the name
`PAPER-NAME`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


@cache
def _paths() -> dict[str, Path]:
    paths = FOLDER.glob("*/scenarios/*.toml")
    return {f"{path.parents[1].name.replace('_', '-')}-{path.stem}": path for path in sorted(paths)}


def scenario_path(name: str) -> Path:
    """The file of a packaged scenario, which `ackclock simulate` and `ackclock sweep` accept.

    Raises:
        KeyError: no packaged scenario has this name.
    """
    return _paths()[name]
