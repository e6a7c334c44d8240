"""The document of ``emulate``."""

from __future__ import annotations

from typing import NotRequired

from ackclock.documents.engine import EmulationReport, ProgramRow
from ackclock.documents.simulate import Household


class SeededReport(EmulationReport):
    """The engine's report, and the seed that it ran with."""

    seed: int


class EmulationAudit(SeededReport):
    """The document of an emulation."""

    link: str
    programs: NotRequired[list[ProgramRow]]
    """Of --beside."""
    household: NotRequired[Household]
    """Of --beside household: what the link is good for by the programs."""
    folder: NotRequired[str | None]
