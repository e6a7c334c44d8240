"""Diagnosis: what limits each flow and what would improve it, as sentences from the document's
figures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ackclock.analysis.diagnosis import acks, bottleneck, concurrency, failures, limit_shares, limits, loss, path
from ackclock.analysis.diagnosis.capture_context import CaptureContext, DocumentContext
from ackclock.analysis.diagnosis.flow_context import ENOUGH_BYTES, Finding, FlowContext

RULES = (limits, bottleneck, loss, acks)


class Diagnosis:
    """The findings of a capture's flows."""

    def __init__(self, capture: CaptureContext) -> None:
        self._capture = capture
        self._concurrent = concurrency.findings(capture.head)
        self._last: tuple[Mapping[str, Any] | None, list[FlowContext]] = (None, [])

    def of(self, flow: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The findings about a flow's directions, by decreasing share of time."""
        findings = [finding for context in self.contexts_of(flow) for finding in _of(context)]
        findings += self._concurrent.get(flow["flow"], [])
        findings += path.of_handshake(self._capture, flow)
        findings += failures.findings(flow)
        findings.sort(key=lambda finding: -(finding.share or 0.0))
        return [finding.as_json() for finding in findings]

    def limits_of(self, flow: Mapping[str, Any]) -> dict[str, str | None]:
        """The kind of limit of each direction (`ackclock.limits.KINDS`); None without enough data
        for a diagnosis, and from a capture that does not show the sender's limits.
        """
        limited: dict[str, str | None] = {"a2b": None, "b2a": None}
        return limited | {one.direction: limit_shares.limit(one) for one in self.contexts_of(flow)}

    def contexts_of(self, flow: Mapping[str, Any]) -> list[FlowContext]:
        """The contexts of a flow's directions with enough data, kept for the next call: of two
        captures they take a search.
        """
        if self._last[0] is not flow:
            self._last = flow, self._capture.flow_contexts(flow)
        return self._last[1]


def diagnose(document: dict[str, Any]) -> None:
    """Add `diagnosis` and `limit` to each flow of a document."""
    diagnosis = Diagnosis(DocumentContext(document))
    for flow in document["flows"]:
        flow["diagnosis"] = diagnosis.of(flow)
        flow["limit"] = diagnosis.limits_of(flow)


def thresholds() -> str:
    """The evidence below which no rule has a finding about a flow, as JSON for the engine."""
    return json.dumps(
        {
            "bytes": ENOUGH_BYTES,
            "ttl_difference": failures.TTL_DIFFERENCE,
            "think_s": failures.THINK_S,
            "packets": path.ENOUGH_PACKETS,
        }
    )


def _of(context: FlowContext) -> list[Finding]:
    return [finding for rules in RULES for finding in rules.findings(context)]
