"""Self-contained HTML reports: one file without network access, also for print."""

from __future__ import annotations

from ackclock.report.run import for_run

__all__ = ["for_run"]
