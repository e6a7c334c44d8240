"""The input of a run folder that its report shows: the scenario and the environment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, describe_path
from ackclock.storage.stored_files import read_json, read_text, read_toml


@dataclass(frozen=True)
class RunInput:
    """`toml` is the text of scenario.toml and `scenario` its content; `environment` is that of
    environment.json, empty without one.
    """

    toml: str
    scenario: dict[str, Any]
    environment: dict[str, Any]


def read_input(folder: Path) -> RunInput:
    """Read a run folder's input. Raises InputError without scenario.toml."""
    file = folder / "scenario.toml"
    if not file.is_file():
        raise InputError(
            describe_path(folder), "a run folder, such as those in runs/", file=str(folder), code="run-folder"
        )
    return RunInput(read_text(file), read_toml(file), read_environment(folder))


def read_environment(folder: Path) -> dict[str, Any]:
    """environment.json as a dict; empty without one."""
    file = folder / "environment.json"
    environment: dict[str, Any] = read_json(file) if file.is_file() else {}
    return environment
