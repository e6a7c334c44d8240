"""The catalogue of the lab page: links, their keys and their places in a plan."""

import json
from pathlib import Path

import pytest

from ackclock.input.link.hop import READ_HOP
from ackclock.input.scenario.draft import draft_of
from ackclock.lab import catalogue
from ackclock.lab.controls import controls, expanded, planned
from ackclock.simulation.plan import build_plan


@pytest.fixture(scope="module")
def document() -> dict:
    return json.loads(catalogue.text(catalogue.packaged()))


def test_catalogue_has_every_packaged_link_with_the_plan_of_its_hops(document: dict) -> None:
    assert [link["name"] for link in document["links"]] == [name for name, _ in catalogue.packaged()]
    for link in document["links"]:
        scenario = draft_of(
            {"link": link["name"], "duration": "30 s", "flow": [{"workload": {"kind": "bulk"}}]}
        ).check()
        plans = json.loads(build_plan(scenario, 1).text())["hops"]
        for hop, plan in zip(link["plan"], plans, strict=True):
            assert {key: value for key, value in hop.items() if key != "slowest_bps"} == plan


def test_key_of_a_link_is_a_control_at_the_places_of_the_plan_that_it_sets() -> None:
    hop = expanded({"name": "line", "rate": {"down": "8 Mb/s", "up": "1 Mb/s"}, "queue": {"packets": 50}})
    found = {".".join(map(str, one.path)): one for one in controls(hop)}
    assert set(found) == {"rate.down", "rate.up", "delay", "queue.down.packets", "queue.up.packets"}
    assert found["rate.down"].plan == (("down", "rate", "bps"), ("slowest_bps", "down"))
    assert found["delay"].plan == (("down", "delay_ps"), ("up", "delay_ps"))
    assert found["queue.up.packets"].value == 50


def test_key_that_the_plan_converts_is_no_control() -> None:
    loss = {"kind": "gilbert-elliott", "mean": 1e-3, "bad_sojourn": "50 ms"}
    hop = expanded({"name": "line", "rate": "8 Mb/s", "loss": loss})
    assert {one.path[0] for one in controls(hop)} == {"rate", "delay"}


def test_ends_of_every_slider_are_valid_in_the_link_file(document: dict) -> None:
    from ackclock.lab.controls import _put, text

    checked = 0
    for link in document["links"]:
        for hop, of in zip(link["hops"], link["controls"], strict=True):
            for control in of["controls"]:
                for end in ("min", "max"):
                    changed = json.loads(json.dumps(hop))
                    _put(changed, tuple(control["path"]), text(control["unit"], control[end]))
                    assert planned(changed)
                    checked += 1
    assert checked > 200


def test_option_of_a_choice_is_the_plan_of_its_table(document: dict) -> None:
    link = next(link for link in document["links"] if link["name"] == "dsl-16m")
    for choice in link["controls"][1]["choices"]:
        key, direction, *ack = choice["path"]
        for option in choice["options"]:
            table = {"kind": "droptail", "ack": option["written"]} if ack else option["written"]
            hop = {"name": "x", "rate": "1 Mb/s", **({key: {direction: table}} if table else {})}
            plan = READ_HOP(hop).plan()[direction]
            assert plan.get(choice["plan"][-1]) == option["plan"]


def test_own_link_file_comes_first_with_its_name(tmp_path: Path) -> None:
    from ackclock.lab.server import CATALOGUE, PageFile, catalogue_with

    own = tmp_path / "mine.toml"
    own.write_text('title = "Mine"\n[[hop]]\nname = "a"\nrate = "5 Mb/s"\n')
    files = {CATALOGUE: PageFile("application/json", b'{"links": [{"name": "dsl-16m"}]}')}
    document = json.loads(catalogue_with([own], files))
    assert [link["name"] for link in document["links"]] == ["mine", "dsl-16m"]
    assert document["first"] == "mine"
