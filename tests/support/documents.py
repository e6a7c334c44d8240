"""Checks documents against the types of their command."""

from __future__ import annotations

import json
from typing import Any

from ackclock.documents import DOCUMENTS


def follows(command: str, document: Any) -> Any:
    """The document, which must follow the command's schema as JSON text."""
    DOCUMENTS[command].model_validate(json.loads(json.dumps(document, allow_nan=False)))
    return document
