"""Flows that ran at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.analysis.diagnosis.flow_context import Finding

_AGAINST = -0.5
_TOGETHER = 0.6


def findings(document: Mapping[str, Any]) -> dict[int, list[Finding]]:
    """By flow: what its goodput has to do with another's."""
    found: dict[int, list[Finding]] = {}
    numbers = {flow["flow"] for flow in document["flows"]}
    for pair in document.get("concurrent", ()):
        (one, two), (way, other_way), r = pair["flows"], pair["ways"], pair["correlation"]
        if one not in numbers or one == two or _AGAINST < r < _TOGETHER:
            continue
        told = (
            "what one gains the other loses: they share a bottleneck"
            if r < 0
            else "the same thing slows both, or both follow one rate"
        )
        evidence = f"Its goodput goes {'against' if r < 0 else 'with'} that of flow {two} ({other_way}) (r = {r:.2f} over {pair['bins']} bins of {pair['bin_s']:.2g} s): {told}."
        found.setdefault(one, []).append(Finding(way, "concurrent_flows", evidence))
    return found
