"""A household on a link: its targets, and what a link is good for."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest

from ackclock import cli
from ackclock.input.document import read_document
from ackclock.simulation.household import (
    FILE,
    TARGETS,
    figures,
    household_draft,
    is_household,
    judgement,
    mos_text,
    whole_percent,
)
from ackclock.simulation.plan import build_plan
from ackclock.simulation.run import Simulation, simulate_scenario

SLOW = """title = "slow"
[[hop]]
name = "line"
rate = {{ down = "20 Mb/s", up = "5 Mb/s" }}
delay = "10 ms"
queue = {queue}
"""


def household(folder: Path, queue: str) -> Simulation:
    link = folder / "line.toml"
    link.write_text(SLOW.format(queue=queue))
    return simulate_scenario(household_draft(str(link)).check())


def test_bloated_line_holds_nothing_and_cake_holds_all(tmp_path: Path) -> None:
    bloated = household(tmp_path, '{ kind = "droptail", bytes = "512 KiB" }').household
    assert bloated is not None and [target["met"] for target in bloated["targets"]] == [False] * 3
    assert bloated["verdict"].startswith("Beside a download and an upload the link holds none of these: a call (MOS ")
    managed = household(tmp_path, '{ kind = "cake" }').household
    assert managed is not None and [target["app"] for target in managed["targets"] if target["met"]][::2] == [
        "a call",
        "a game",
    ]


@pytest.mark.finding("U51")
def test_download_and_each_other_application_have_a_device_of_their_own(tmp_path: Path) -> None:
    link = tmp_path / "line.toml"
    link.write_text(SLOW.format(queue='{ kind = "cake" }'))
    plan = build_plan(household_draft(str(link)).check(), 1).document
    devices: dict[str, set[int]] = {}
    for flow in plan["flows"]:
        devices.setdefault(flow["name"].partition("-")[0], set()).add(flow.get("device", 0))
    assert plan["clients"] == 1, "one station of the link"
    assert devices == {"call": {0}, "game": {1}, "page": {2}, "download": {3}, "upload": {4}}


@pytest.mark.finding("U51")
def test_page_has_less_of_a_line_with_cake_when_the_download_is_another_host(tmp_path: Path) -> None:
    link = tmp_path / "line.toml"
    link.write_text(SLOW.format(queue='{ kind = "cake" }'))
    draft = household_draft(str(link))
    as_one = draft.replaced({"flow": [{**flow, "device": 1} for flow in read_document(FILE).data["flow"]]})
    load_s = {}
    for name, scenario in (("own", draft), ("one", as_one)):
        load_s[name] = median(
            figures(summary)["page_load_s"] for summary in simulate_scenario(scenario.check()).summaries
        )
    assert load_s["own"] > 1.05 * load_s["one"], load_s


def test_page_that_is_not_complete_misses_its_target(tmp_path: Path) -> None:
    done = household(tmp_path, '{ kind = "cake" }')
    for flow in done.summaries[0]["flows"]:
        if flow["flow"].startswith("page-") and flow["flow"] != "page-1" and "app" in flow:
            flow["app"]["score"]["load_s"] = None
    _, page, _ = judgement([done.summaries[0]])["targets"]
    assert (page["found"], page["shown"], page["met"]) == (None, "not complete", False)


def test_figure_of_a_missed_target_does_not_read_as_the_target() -> None:
    assert [mos_text(mos) for mos in (3.94, 3.999, 4.0)] == ["3.9", "3.99", "4.0"]
    shares = [whole_percent(share) for share in (0.0, 0.0004, 0.01, 0.0101, 0.15, 0.999, 1.0)]
    assert shares == ["0 %", "<0.1 %", "1.0 %", "1.01 %", "15 %", "99.9 %", "100 %"]


def test_other_runs_are_no_households(tmp_path: Path) -> None:
    done = household(tmp_path, '{ kind = "cake" }')
    assert is_household(done.summaries[0]) and len(TARGETS) == 3
    fewer = {**done.summaries[0], "flows": done.summaries[0]["flows"][1:]}
    assert not is_household(fewer)  # type: ignore[arg-type]


def test_command_prints_the_verdict_and_has_it_in_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["simulate", "--household", "vdsl2-50m", "--seed", "1", "--no-report", "--quiet"]
    assert cli.run(command) == 0
    assert "\nBeside a download and an upload the link holds " in capsys.readouterr().out
    assert cli.run([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["household"]["version"] == 2 and len(document["household"]["targets"]) == 3
    assert cli.run(["simulate", "x.toml", "--household", "vdsl2-50m"]) == 2
