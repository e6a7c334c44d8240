"""Summaries of runs over seeds, as the JSON documents and tables show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ackclock.comparison.metrics import of_run, over_seeds


def metrics_json(summaries: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every metric's mean, lo, hi and sd over runs that differ in their seed only; rates in bits/s, times in ms.

    UDP flows are the background of a run with TCP flows and do not count then.
    """
    rows = [{**of_run(_without_background(summary)), "jain": summary["jain"]} for summary in summaries]
    return {name: dict(found.as_json()) for name, found in over_seeds(rows).items()}


def _without_background(summary: Mapping[str, Any]) -> dict[str, Any]:
    tcp = [flow for flow in summary["flows"] if flow["variant"] != "udp"]
    return {**summary, "flows": tcp or summary["flows"]}
