"""The document of ``analyze``."""

from __future__ import annotations

from typing import Literal

from ackclock.documents.engine import CaptureSummary, Report

Side = Literal["a2b", "b2a"]
"""From the client (a) to the server (b), or back."""


class CaptureAnalysis(Report):
    """The document of an analysis. Some fields are of two captures."""


class StoredAnalysis(CaptureAnalysis):
    """analysis.json of a run folder, whose summary is shown."""

    summary: CaptureSummary  # type: ignore[misc]
