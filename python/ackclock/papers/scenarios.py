"""The papers' experiments as scenario files."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
_TABLES = ("not_tested", "calibrated")


def scenario_names() -> list[str]:
    """The packaged scenarios, by name."""
    return sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem not in _TABLES)


def scenario_path(name: str) -> Path:
    """The file of a packaged scenario; `ackclock simulate` and `ackclock sweep` take it as it is."""
    return FOLDER / f"{name}.toml"
