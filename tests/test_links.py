"""The packaged links say where their figures come from and can be run."""

from __future__ import annotations

import tomllib

import pytest

import ackclock
from ackclock.link import PACKAGED
from ackclock.plan import build_plan
from ackclock.scenario import draft_of

LINKS = sorted(PACKAGED.glob("*.toml"))


@pytest.mark.parametrize("path", LINKS, ids=lambda path: path.stem)
def test_a_packaged_link_has_a_title_a_source_and_a_plan(path):
    link = tomllib.loads(path.read_text())
    assert link["title"]
    assert link["source"]
    flows = [{"workload": {"kind": "bulk"}}, {"name": "up", "direction": "up", "workload": {"kind": "bulk"}}]
    scenario = draft_of({"link": path.stem, "duration": "10 s", "flow": flows}).check()
    assert build_plan(scenario, 1).document["hops"]
    assert scenario.title == link["title"]


def test_cable_dialup_is_the_network_of_the_asymmetry_paper():
    scenario = draft_of({"link": "cable-dialup", "duration": "50 s", "flow": [{"workload": {"kind": "bulk"}}]}).check()
    down = [hop.down for hop in scenario.hop if hop.down]
    up = {hop.name: hop.up for hop in scenario.hop if hop.up}
    assert [way.rate for way in down] == [10_000_000] * 3
    assert sum(way.delay for way in down) == 7 * 10**9
    assert sum(way.delay for way in up.values()) == 52 * 10**9
    assert up["dialup"].queue
    assert (up["dialup"].rate, up["dialup"].framing, up["dialup"].queue.packets) == (28_800, "cslip", 10)


def test_listed_links_are_the_packaged_ones():
    assert list(ackclock.list_links()) == [path.stem for path in LINKS]
