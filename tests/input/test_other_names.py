"""Names by which people ask for a kind of access find its packaged link, and the output says so."""

from __future__ import annotations

import json

import pytest
import typer

from ackclock.cli import run
from ackclock.cli.app import app
from ackclock.cli.complete import links
from ackclock.cli.options import packaged_name
from ackclock.errors import InputError
from ackclock.input.link.names import other_name, other_names, packaged_links
from ackclock.input.scenario import draft_of

FLOW = {"name": "any", "workload": {"kind": "live"}}


def test_other_names_lead_to_packaged_links_and_are_none():
    packaged = packaged_links()
    for name, other in other_names().items():
        assert name not in packaged and name == name.lower()
        assert {other.link, *other.others} <= set(packaged)


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("starlink", "leo"),
        ("Starlink", "leo"),
        ("5G", "nr-uplink"),
        ("cable", "docsis-3.1"),
        ("adsl", "adsl2plus"),
        ("dsl", "dsl-16m"),
        ("lte", "lte-uplink"),
        ("4g", "lte-uplink"),
        ("wifi", "wifi-80211b"),
        ("docsis", "docsis-3.1"),
        ("satellite", "geo-100m"),
        ("geo", "geo-100m"),
        ("modem", "cable-modem-5m"),
        ("vdsl", "vdsl2-50m"),
        ("VDSL2", "vdsl2-50m"),
        ("fttc", "vdsl2-50m"),
        ("fibre", "gpon"),
        ("fiber", "gpon"),
        ("FTTH", "gpon"),
        ("pon", "gpon"),
        ("XGS-PON", "gpon"),
    ],
)
def test_scenario_has_the_link_of_another_name_and_its_title_names_it(name, link):
    scenario = draft_of({"link": name, "duration": "1 s", "flow": [FLOW]}).check()
    assert scenario.title == f"{packaged_links()[link]} ({name}: the packaged link {link})"
    assert draft_of({"link": link, "duration": "1 s", "flow": [FLOW]}).check().title == packaged_links()[link]


def test_file_or_folder_of_a_name_comes_before_another_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cable.toml").write_text('title = "mine"\n[[hop]]\nname = "a"\nrate = "1 Mb/s"\n')
    (tmp_path / "geo").mkdir()
    assert packaged_name("cable") == "cable" and packaged_name("geo") == "geo"
    assert run(["show", "cable", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["title"] == "mine" and not printed.err


def test_every_command_with_a_link_takes_other_names():
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    taking = {
        name: parameter.callback is not None
        for name, command in group.commands.items()
        for parameter in command.params
        if parameter.param_type_name == "argument" and "link" in str(getattr(parameter, "help", "")).lower()
    }
    assert set(taking) == {"advise", "compare", "emulate", "export", "lab", "show"}
    assert all(taking.values())


def test_command_names_the_link_that_it_took_and_its_document_has_that(capsys):
    assert run(["show", "5G", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["name"] == "nr-uplink"
    assert printed.err == f"{other_name('5g').sentence()}\n"
    assert run(["show", "lte", "--json"]) == 0
    assert capsys.readouterr().err.endswith("; others: lte-fixed-10m\n")
    assert run(["show", "leo", "--json"]) == 0
    assert not capsys.readouterr().err


def test_list_and_completion_have_other_names(capsys):
    assert run(["list", "links", "--json"]) == 0
    rows = {row["name"]: row["other_names"] for row in json.loads(capsys.readouterr().out)["links"]}
    assert "starlink" in rows["leo"] and rows["geo-satellite"] == []
    assert run(["list", "links"]) == 0
    assert "(also: starlink, leo-satellite)" in capsys.readouterr().out
    assert ("starlink", "leo") in links("star") and not links("isdn")


def test_misspelt_other_name_is_suggested():
    with pytest.raises(InputError, match=r"did you mean starlink\?"):
        draft_of({"link": "starlnk", "duration": "1 s", "flow": [FLOW]}).check()
