"""The catalogue of the lab page: links as their files have them, variants and policies."""

import json
from pathlib import Path

import pytest

from ackclock.input.document import read_document
from ackclock.lab import catalogue
from ackclock.lab.server import CATALOGUE, PageFile, catalogue_with


@pytest.fixture(scope="module")
def document() -> dict:
    return json.loads(catalogue.text(catalogue.packaged()))


def test_catalogue_has_every_packaged_link_with_the_hops_of_its_file(document: dict) -> None:
    assert [link["name"] for link in document["links"]] == [name for name, _ in catalogue.packaged()]
    for link, (_, path) in zip(document["links"], catalogue.packaged(), strict=True):
        assert link["hops"] == read_document(path).data["hop"]
        assert link["recordings"] == {}


def test_catalogue_has_variants_policies_and_the_files_of_hosts(document: dict) -> None:
    cubic = next(variant for variant in document["variants"] if variant["name"] == "cubic")
    assert cubic["common"] and cubic["summary"]
    assert document["hosts"][document["host"]]["tcp"]["variant"] == "cubic"
    policies = {policy["name"]: policy for policy in document["ack_policies"]}
    assert policies["as the host"]["written"] == {}
    assert policies["every segment"]["written"] == {"delayed_ack": False}


def test_catalogue_has_workloads_and_whether_they_run_over_tcp(document: dict) -> None:
    over_tcp = {workload["name"]: workload["tcp"] for workload in document["workloads"]}
    names = ["bulk", "transfer", "web", "page", "video", "call", "conference", "game", "cbr", "onoff"]
    assert list(over_tcp) == names
    assert [name for name in names if not over_tcp[name]] == ["call", "conference", "game", "cbr", "onoff"]
    assert next(one for one in document["workloads"] if one["name"] == "call")["text"].startswith("A call: ")


@pytest.mark.finding("U53")
def test_catalogue_has_the_household_as_its_file_has_it(document: dict) -> None:
    assert [flow["name"] for flow in document["household"]["flow"]] == ["call", "game", "page", "download", "upload"]
    assert document["household"]["duration"] == "60 s"
    assert document["scenario"]["household_ps"] == 60 * 10**12


def test_recording_of_a_link_is_in_the_catalogue_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "cell.down").write_text("0\n5\n12\n")
    own = tmp_path / "cell.toml"
    own.write_text('title = "Cell"\n[[hop]]\nname = "air"\nrate = { down = { trace = "cell.down" }, up = "1 Mb/s" }\n')
    link = catalogue.link_entry("cell", own)
    path = str(tmp_path / "cell.down")
    assert link["hops"][0]["rate"]["down"] == {"trace": path}
    assert link["recordings"] == {path: (0, 5, 12)}


def test_catalogue_has_the_tunnels_of_a_link(tmp_path: Path) -> None:
    own = tmp_path / "office.toml"
    own.write_text(
        'title = "Office"\n[[hop]]\nname = "dsl"\nrate = "5 Mb/s"\n[[tunnel]]\nkind = "gre"\nover = ["dsl"]\n'
    )
    assert catalogue.link_entry("office", own)["tunnels"] == [{"kind": "gre", "over": ["dsl"]}]


def test_own_link_file_comes_first_with_its_name(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('title = "Mine"\n[[hop]]\nname = "a"\nrate = "5 Mb/s"\n')
    files = {CATALOGUE: PageFile("application/json", b'{"links": [{"name": "dsl-16m"}]}')}
    document = json.loads(catalogue_with([own], files))
    assert [link["name"] for link in document["links"]] == ["mine", "dsl-16m"]
    assert document["first"] == "mine"
