"""Advice over media that send in frames."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock as library
from ackclock.advisor.conditions import conditions
from ackclock.advisor.situation import situation_of

JITTER = [f"the mean jitter of `core` is {mean}" for mean in ("0.5 ms", "2 ms")]
AIR: dict[str, Any] = {
    "name": "air",
    "medium": {"kind": "grants", "standard": "nr", "rate": {"down": "4 Mb/s", "up": "2 Mb/s"}},
    "queue": {"down": {"bytes": "256 kB"}, "up": {"bytes": "64 kB"}},
}
BLOATED: dict[str, Any] = {
    "duration": "8 s",
    "hop": [{"name": "core", "delay": "10 ms"}, AIR],
    "flow": [{"name": "download", "workload": {"kind": "bulk"}}],
}


@pytest.mark.finding("P2")
@pytest.mark.parametrize(("link", "expected"), [("nr-uplink", JITTER), ("dsl-16m", []), ("lte-fixed-10m", [])])
def test_conditions_have_other_jitter_when_the_medium_sends_in_frames(link: str, expected: list[str]) -> None:
    found = [one for one in conditions(situation_of([link])) if "jitter" in one.text]
    assert [one.text for one in found] == expected
    points = [{"hop.core.jitter": {"kind": "exponential", "mean": text.split(" is ")[1]}} for text in expected]
    assert [one.point for one in found] == points


@pytest.mark.finding("P2")
def test_advice_has_the_remark_and_other_jitter_when_frames_have_none_beside_them() -> None:
    document = library.advise(BLOATED, may=["sender"], cpu_s=0.5).document
    assert any("RTTs lock to the grid of the frames" in note for note in document["notes"])
    (first, *_) = document["advice"]
    assert [row["condition"] for row in first["conditions"] if "jitter" in row["condition"]] == JITTER
