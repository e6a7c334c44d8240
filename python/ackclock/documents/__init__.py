"""The documents of the commands' ``--json`` as types: the contract that `ackclock schema` prints.

Fields may be added, not renamed or removed: the types accept fields that they do not know, and
require the others. What the engine makes has its type from there (`ackclock.documents.engine`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import TypeAdapter

from ackclock.documents.advise import Advice
from ackclock.documents.analyze import CaptureAnalysis
from ackclock.documents.compare import Comparison
from ackclock.documents.diff import RunDifference
from ackclock.documents.emulate import EmulationAudit
from ackclock.documents.fit import FittedLink
from ackclock.documents.hunt import Hunt
from ackclock.documents.import_ import ImportedLink
from ackclock.documents.measure import Measurement
from ackclock.documents.reproduce import Claims, PaperApps, PaperOnLink
from ackclock.documents.simulate import SeededSimulation, Simulation, Sweep

DOCUMENTS: dict[str, Any] = {
    "advise": Advice,
    "analyze": CaptureAnalysis,
    "compare": Comparison,
    "diff": RunDifference,
    "emulate": EmulationAudit,
    "fit": FittedLink,
    "hunt": Hunt,
    "import": ImportedLink,
    "measure": Measurement,
    "reproduce": Claims | PaperOnLink | PaperApps,
    "simulate": Simulation | SeededSimulation,
    "sweep": Sweep,
}
"""The type of each command's document."""


@cache
def checker(document: Any) -> TypeAdapter[Any]:
    """What checks values of a document's type."""
    return TypeAdapter(document)


def document_schema(command: str) -> dict[str, Any]:
    """The JSON Schema of a command's document.

    >>> document_schema("diff")["title"]
    'ackclock diff --json'
    """
    return {**checker(DOCUMENTS[command]).json_schema(), "title": f"ackclock {command} --json"}
