"""The input of a run folder that its report shows: the scenario and the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict, cast

from ackclock.errors import InputError, describe_path
from ackclock.storage.stored_files import read_json, read_text, read_toml


class HopTable(TypedDict, total=False):
    """A [[hop]] table as written; a value has one of several forms."""

    name: str
    only: Literal["down", "up"]
    per_client: bool
    pep: object
    medium: object
    slots: object
    mtu: object
    policer: object
    shaper: object
    rate: object
    framing: object
    queue: object
    loss: object
    delay: object
    jitter: object
    outage: object
    duplicate: object
    reorder: object
    handover: object


class TunnelTable(TypedDict, total=False):
    """A [[tunnel]] table as written."""

    kind: str
    over: list[str]


class WorkloadTable(TypedDict, total=False):
    """A workload as written; the keys of its kind are not shown."""

    kind: str


class FlowTable(TypedDict, total=False):
    """A [[flow]] table as written, without its TCP keys."""

    name: str
    direction: Literal["down", "up"]
    count: int
    start: str
    workload: WorkloadTable


class TcpTable(TypedDict, total=False):
    """The keys of [tcp] that a report shows."""

    host: str
    segment: str


class ScenarioTables(TypedDict, total=False):
    """A scenario with all defaults, as scenario.toml and documents have it."""

    title: str
    source: str
    duration: str
    seeds: list[int]
    tcp: TcpTable
    hop: list[HopTable]
    tunnel: list[TunnelTable]
    flow: list[FlowTable]


class Environment(TypedDict, total=False):
    """environment.json: versions, seeds, and the machine."""

    ackclock: str
    engine: str
    seeds: list[int]
    host: Mapping[str, str | int]
    packages: Mapping[str, str]
    run: Mapping[str, str]


@dataclass(frozen=True)
class RunInput:
    """`toml` is the text of scenario.toml and `scenario` its content; `environment` is that of
    environment.json, empty without one.
    """

    scenario: ScenarioTables
    environment: Environment = field(default_factory=Environment)
    toml: str = ""

    @classmethod
    def of(cls, resolved: Mapping[str, object]) -> RunInput:
        """That of a run without a folder: its scenario with all defaults."""
        return cls(cast("ScenarioTables", resolved))


def read_input(folder: Path) -> RunInput:
    """Read a run folder's input. Raises InputError without scenario.toml."""
    file = folder / "scenario.toml"
    if not file.is_file():
        raise InputError(
            describe_path(folder), "a run folder, such as those in runs/", file=str(folder), code="run-folder"
        )
    return RunInput(cast("ScenarioTables", read_toml(file)), read_environment(folder), read_text(file))


def read_environment(folder: Path) -> Environment:
    """environment.json; empty without one."""
    file = folder / "environment.json"
    environment: Environment = read_json(file) if file.is_file() else {}
    return environment
