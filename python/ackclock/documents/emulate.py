"""The document of ``emulate``."""

from __future__ import annotations

from typing import NotRequired

from ackclock.documents.engine import EmulationReport


class SeededReport(EmulationReport):
    """The engine's report, and the seed that it ran with."""

    seed: int


class EmulationAudit(SeededReport):
    """The document of an emulation."""

    link: str
    folder: NotRequired[str | None]
