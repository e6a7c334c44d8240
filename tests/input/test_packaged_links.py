"""The packaged links have sources and run."""

from __future__ import annotations

import tomllib

import pytest

import ackclock
from ackclock.input.link import PACKAGED
from ackclock.input.scenario import draft_of
from ackclock.input.scenario.resolution import resolved
from ackclock.input.toml_writer import to_toml
from ackclock.simulation.plan import build_plan

LINKS = sorted(PACKAGED.glob("*.toml"))


@pytest.mark.parametrize("path", LINKS, ids=lambda path: path.stem)
def test_packaged_links_have_title_source_and_plan(path):
    link = tomllib.loads(path.read_text())
    assert link["title"]
    assert link["source"]
    flows = [{"workload": {"kind": "bulk"}}, {"name": "up", "direction": "up", "workload": {"kind": "bulk"}}]
    scenario = draft_of({"link": path.stem, "duration": "10 s", "flow": flows}).check()
    assert build_plan(scenario, 1).document["hops"]
    assert scenario.title == link["title"]


@pytest.mark.parametrize("path", LINKS, ids=lambda path: path.stem)
def test_resolved_scenario_of_a_packaged_link_is_the_same_run(path):
    flows = [{"workload": {"kind": "bulk"}}]
    scenario = draft_of({"link": path.stem, "duration": "10 s", "flow": flows}).check()
    again = draft_of(tomllib.loads(to_toml(resolved(scenario)))).check()
    assert build_plan(again, 1).document["hops"] == build_plan(scenario, 1).document["hops"]


def test_cable_dialup_is_the_network_of_asymmetry():
    scenario = draft_of({"link": "cable-dialup", "duration": "50 s", "flow": [{"workload": {"kind": "bulk"}}]}).check()
    down = [hop.down for hop in scenario.hop if hop.down]
    up = {hop.name: hop.up for hop in scenario.hop if hop.up}
    assert [direction.rate for direction in down] == [10_000_000] * 3
    assert sum(direction.delay for direction in down) == 7 * 10**9
    assert sum(direction.delay for direction in up.values()) == 52 * 10**9
    assert up["dialup"].queue
    assert (up["dialup"].rate, up["dialup"].framing, up["dialup"].queue.packets) == (28_800, "cslip", 10)


def cell(link):
    scenario = draft_of({"link": link, "duration": "1 s", "flow": [{"workload": {"kind": "bulk"}}]}).check()
    return scenario.hop[-1].medium


def test_wimax_nist_has_the_capacity_of_its_symbols():
    """3:1 of 146 symbols: 109 down less six of overhead and the map's entry of the ranging region,
    37 up less nineteen of ranging and requests, 108 bytes each, 200 frames a second.
    """
    medium = cell("wimax-nist")
    assert medium.nominal_bps["down"] == (109 - 6) * 108 * 8 * 200
    assert medium.nominal_bps["up"] == (37 - 19) * 108 * 8 * 200


def test_wibro_wave2_has_the_capacity_of_its_slots():
    """13 columns of 30 slots down less frame control (4) and maps (67 bytes in 12 slots, four times
    over), 4 of 35 up.
    """
    medium = cell("wibro-wave2")
    assert medium.nominal_bps["down"] == (13 * 30 - 4 - 4 * 12) * 30 * 8 * 200
    assert medium.nominal_bps["up"] == 4 * 35 * 18 * 8 * 200


@pytest.mark.parametrize(
    ("link", "direction", "rate", "size", "counted"),
    [
        ("vdsl2-50m", "down", 50e6, 1492, 1546),  # 30 B more, and a byte with each 64: 1522 + 24
        ("vdsl2-50m", "up", 10e6, 1492, 1546),
        ("vdsl2-50m", "up", 10e6, 52, 84),  # 82 + 2
        ("gpon", "down", 300e6, 1500, 1527),  # GEM 5 B, Ethernet 18 B, VLAN 4 B
        ("gpon", "up", 50e6, 1500, 1527),
        ("gpon", "up", 50e6, 52, 79),
        ("docsis-3.1", "down", 500e6, 1500, 1518),  # an Ethernet frame
        ("docsis-3.1", "up", 20e6, 1500, 1518),
        ("docsis-3.1", "up", 20e6, 52, 70),
        ("cable-100m", "down", 100e6, 1500, 1518),
        ("cable-100m", "up", 10e6, 40, 64),
    ],
)
def test_packaged_link_carries_the_bytes_of_its_framing_when_datagrams_fill_it(link, direction, rate, size, counted):
    workload = {"kind": "cbr", "rate": f"{2 * rate / 1e6} Mb/s", "packet": f"{size} B"}
    flow = {"direction": direction, "workload": workload}
    run = ackclock.simulate(link, [flow], duration="2 s", seed=1, measure={"window": ["1 s", "2 s"]})
    # A report of 2 B in each frame of 125 us, or none: 0.3 % of 50 Mb/s.
    assert run.summaries[0]["flows"][0]["throughput_bps"] == pytest.approx(rate * size / counted, rel=0.004)


def test_list_links_has_the_packaged_links():
    assert list(ackclock.list_links()) == [path.stem for path in LINKS]
