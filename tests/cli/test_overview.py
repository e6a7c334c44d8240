"""`show` and `doctor`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ackclock
from ackclock import cli
from ackclock.doctor import Check, checks, table
from ackclock.errors import InputError
from ackclock.input.link import packaged_links
from ackclock.overview import overview
from ackclock.terminal import PROMPT, SCREEN

LINK = """title = "a line"
[[hop]]
name = "line"
rate = { down = "8 Mb/s", up = "1 Mb/s" }
delay = "20 ms"
queue = { kind = "droptail", bytes = "40 kB" }
loss = { down = { kind = "bernoulli", mean = 0.01 } }
"""


@pytest.fixture
def link(tmp_path: Path) -> Path:
    path = tmp_path / "line.toml"
    path.write_text(LINK, encoding="utf-8")
    return path


def test_link_has_base_rtt_bottlenecks_and_hops(link: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["show", str(link), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["title"], document["base_rtt_ms"]) == ("link", "a line", 40.0)
    assert document["directions"]["down"] == {"bottleneck_bps": 8e6, "bdp_bytes": 40_000.0}
    assert document["directions"]["up"] == {"bottleneck_bps": 1e6, "bdp_bytes": 5_000.0}
    assert document["hops"][0]["queue"]["bytes"] == "40 kB"


@pytest.mark.finding("U45")
def test_ofdm_cell_is_shown_without_a_size_of_fft(capsys: pytest.CaptureFixture[str]) -> None:
    """Its PHY has 256 subcarriers, whatever the default of the other PHY."""
    assert cli.run(["show", "wimax-nist"]) == 0
    assert "fft" not in capsys.readouterr().out
    assert cli.run(["show", "wimax-nist", "--json"]) == 0
    medium = json.loads(capsys.readouterr().out)["hops"][1]["medium"]
    assert (medium["phy"], "fft" in medium) == ("ofdm", False)


@pytest.mark.finding("U45")
def test_ofdma_cell_is_shown_with_its_size_of_fft(link: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'medium = { kind = "wimax", channel = "10 MHz", phy = "ofdma", modulation = "64qam-3/4" }'
    link.write_text(LINK.replace('rate = { down = "8 Mb/s", up = "1 Mb/s" }', text), encoding="utf-8")
    assert cli.run(["show", str(link), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hops"][0]["medium"]["fft"] == 1024


@pytest.mark.finding("R2")
@pytest.mark.parametrize("name", ["links/line.toml", "links/line", "./links/line.toml", "links/../links/line.toml"])
def test_link_in_a_folder_is_shown_by_its_relative_path(
    name: str, link: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (link.parent / "links").mkdir()
    link.rename(link.parent / "links" / "line.toml")
    monkeypatch.chdir(link.parent)
    assert cli.run(["show", name, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["name"], document["title"]) == ("link", name, "a line")


@pytest.mark.finding("R2")
def test_error_of_a_link_in_a_folder_names_the_path_as_typed(
    link: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (link.parent / "links").mkdir()
    (link.parent / "links" / "slow.toml").write_text(LINK.replace("8 Mb/s", "8 Mbps"), encoding="utf-8")
    monkeypatch.chdir(link.parent)
    assert cli.run(["show", "links/slow.toml"]) == 2
    assert capsys.readouterr().err.startswith("ackclock: links/slow.toml:4: hop.line.rate.down: found")


def test_link_is_one_screen_of_eighty_columns(
    link: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.run(["show", str(link)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "line down: loss: bernoulli, mean 0.01" in lines
    assert any(line.startswith("Bottleneck up: 1.00 Mb/s") for line in lines)


@pytest.mark.parametrize("name", packaged_links())
def test_packaged_link_has_an_overview(name: str) -> None:
    shown = overview(name)
    assert shown.document["kind"] == "link"
    assert shown.tables()


def test_scenario_has_flows_runs_and_sweep(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(
        'link = "dsl-16m"\nduration = "2 s"\nseeds = 3\n[[flow]]\nworkload = { kind = "bulk" }\n'
        '[sweep]\n"tcp.variant" = ["reno", "bbr"]\n',
        encoding="utf-8",
    )
    document = overview(str(path)).document
    assert (document["kind"], document["runs"]) == ("scenario", 6)
    assert document["sweep"] == {"tcp.variant": ["reno", "bbr"]}
    assert document["scenario"]["flow"][0]["workload"]["kind"] == "bulk"


def test_run_folder_has_the_document_of_its_command(
    link: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    done = ackclock.simulate(str(link), [{"workload": {"kind": "bulk"}}], duration="2 s", out=run)
    assert cli.run(["show", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["flows"] == done.document["flows"]
    assert cli.run(["show", str(run)]) == 0
    assert "Flows" in capsys.readouterr().out


def test_unknown_name_is_an_error_that_names_what_is_allowed() -> None:
    with pytest.raises(InputError, match=r"dsl-16n.*dsl-16m"):
        overview("dsl-16n")


def test_checks_have_a_remedy_exactly_where_something_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    found = checks()
    assert next(check for check in found if check.name == "engine").works
    assert all(bool(check.remedy) != check.works for check in found)
    assert cli.run(["doctor", "--json"]) == 0
    assert {one["name"] for one in json.loads(capsys.readouterr().out)["checks"]} == {one.name for one in found}


def test_remedy_stands_below_the_checks() -> None:
    rows = table([Check("tea", "engineers", False, "no kettle", "boil water")])
    assert rows.caption == "tea: no kettle; boil water."


def test_checks_of_this_machine_are_one_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(SCREEN[0]))
    assert cli.run(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= SCREEN[1] - PROMPT and max(map(len, lines)) <= SCREEN[0]
    assert cli.run(["doctor", "--all"]) == 0
    assert " variants, " in capsys.readouterr().out
