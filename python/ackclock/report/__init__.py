"""Self-contained HTML reports: one file that opens without a network and prints well."""

from __future__ import annotations

from ackclock.report.run import for_run

__all__ = ["for_run"]
