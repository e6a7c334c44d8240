"""The document of ``analyze``."""

from __future__ import annotations

from ackclock.documents.engine import CaptureSummary, Report


class CaptureAnalysis(Report):
    """The document of an analysis. Some fields are of two captures."""


class StoredAnalysis(CaptureAnalysis):
    """analysis.json of a run folder, whose summary is shown."""

    summary: CaptureSummary  # type: ignore[misc]
