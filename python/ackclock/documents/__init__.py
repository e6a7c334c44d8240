"""The documents of the commands' ``--json`` as types: the contract of docs/schemas.

Fields may be added, not renamed or removed: the types accept fields that they do not know, and
require the others.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, RootModel

from ackclock.documents.advise import Advice
from ackclock.documents.analyze import CaptureAnalysis
from ackclock.documents.compare import Comparison
from ackclock.documents.diff import RunDifference
from ackclock.documents.emulate import EmulationAudit
from ackclock.documents.fit import LinkFit
from ackclock.documents.measure import Measurement
from ackclock.documents.reproduce import Claims
from ackclock.documents.simulate import SeededSimulation, Simulation, Sweep


class SimulateDocument(RootModel[Simulation | SeededSimulation]):
    """One run, or the runs of several seeds with their summary."""


DOCUMENTS: dict[str, type[BaseModel]] = {
    "advise": Advice,
    "analyze": CaptureAnalysis,
    "compare": Comparison,
    "diff": RunDifference,
    "emulate": EmulationAudit,
    "fit": LinkFit,
    "measure": Measurement,
    "reproduce": Claims,
    "simulate": SimulateDocument,
    "sweep": Sweep,
}
"""The document of each command."""


def document_schema(command: str) -> dict[str, Any]:
    """The JSON Schema of a command's document.

    >>> document_schema("diff")["title"]
    'ackclock diff --json'
    """
    return {**DOCUMENTS[command].model_json_schema(), "title": f"ackclock {command} --json"}
