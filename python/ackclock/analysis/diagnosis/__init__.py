"""What held each flow, and what would help: findings in plain sentences, from the figures of the document."""

from __future__ import annotations

from typing import Any

from ackclock.analysis.diagnosis import acks, bottleneck, concurrency, limits, loss, path
from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, views

RULES = (limits, bottleneck, loss, acks)


def diagnose(document: dict[str, Any]) -> None:
    """Put `diagnosis` into each flow of the document: the findings about its directions, those that took most time first."""
    shared = concurrency.findings(document)
    for flow in document["flows"]:
        found = [finding for view in views(document, flow) for finding in _of(view)]
        found += shared.get(flow["flow"], [])
        found += path.of_handshake(document, flow)
        found.sort(key=lambda finding: -(finding.share or 0.0))
        flow["diagnosis"] = [finding.as_json() for finding in found]


def _of(view: FlowContext) -> list[Finding]:
    return [finding for rules in RULES for finding in rules.findings(view)]
