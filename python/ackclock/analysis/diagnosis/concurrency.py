"""Findings about concurrent flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.analysis.diagnosis.flow_context import Finding

_AGAINST = -0.5
_TOGETHER = 0.6


def findings(head: Mapping[str, Any]) -> dict[int, list[Finding]]:
    """By flow: the correlation of its goodput with that of another flow."""
    findings_of: dict[int, list[Finding]] = {}
    for pair in head.get("concurrent", ()):
        (one, two), (direction, other_direction), r = pair["flows"], pair["ways"], pair["correlation"]
        if one == two or _AGAINST < r < _TOGETHER:
            continue
        conclusion = "one gains what the other loses: they share a bottleneck" if r < 0 else "both have a common limit"
        evidence = (
            f"Its goodput goes {'against' if r < 0 else 'with'} that of flow {two} "
            f"({other_direction}) (r = {r:.2f} over {pair['bins']} bins of {pair['bin_s']:.2g} s): "
            f"{conclusion}."
        )
        findings_of.setdefault(one, []).append(Finding(direction, "concurrent_flows", evidence))
    return findings_of
