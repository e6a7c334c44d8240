"""Diagnosis: what limits each flow and what would improve it, as sentences from the document's
figures.
"""

from __future__ import annotations

from typing import Any

from ackclock.analysis.diagnosis import acks, bottleneck, concurrency, limits, loss, path
from ackclock.analysis.diagnosis.capture_context import CaptureContext
from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext

RULES = (limits, bottleneck, loss, acks)


def diagnose(document: dict[str, Any]) -> None:
    """Add `diagnosis` to each flow of the document: the findings about its directions, by
    decreasing share of time.
    """
    shared = concurrency.findings(document)
    capture = CaptureContext(document)
    for flow in document["flows"]:
        flow_findings = [finding for context in capture.flow_contexts(flow) for finding in _of(context)]
        flow_findings += shared.get(flow["flow"], [])
        flow_findings += path.of_handshake(capture, flow)
        flow_findings.sort(key=lambda finding: -(finding.share or 0.0))
        flow["diagnosis"] = [finding.as_json() for finding in flow_findings]


def _of(context: FlowContext) -> list[Finding]:
    return [finding for rules in RULES for finding in rules.findings(context)]
