"""Keys that had another name: files with it are still read, and the present name is printed."""

import warnings
from pathlib import Path

import pytest

from ackclock import cli
from ackclock.errors import FormerName, InputError
from ackclock.input.scenario.draft import read_draft
from ackclock.simulation.plan import build_plan

MEDIUM = '[[hop]]\nname = "air"\nmedium = { kind = "wimax", channel = "7 MHz", KEY = "200 B" }\n'
PROBE = '[[hop]]\nname = "line"\nrate = "1 Mb/s"\n[[flow]]\nworkload = { kind = "probe", KEY = "576 B" }\n'
TSO = '[[hop]]\nname = "line"\nrate = "1 Mb/s"\n[tcp]\ntso = { segments = 2, time = "1 ms", KEY = "64 KiB" }\n'
BULK = '[[flow]]\nworkload = { kind = "bulk" }\n'
RENAMED = [
    pytest.param(MEDIUM + BULK, "least_grant", "min_grant", id="least_grant"),
    pytest.param(PROBE, "reply_most", "max_reply", id="reply_most"),
    pytest.param(TSO + BULK, "most", "max", id="most"),
]


def _file(folder: Path, text: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(f'duration = "2 s"\n{text}')
    return path


@pytest.mark.parametrize(("text", "former", "present"), RENAMED)
def test_plan_is_the_same_when_a_key_has_its_former_name(tmp_path: Path, text: str, former: str, present: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", FormerName)
        expected = build_plan(read_draft(_file(tmp_path, text.replace("KEY", present))).check(), 1)
    with pytest.warns(FormerName, match=f"^the key `{former}` is now `{present}`$"):
        plan = build_plan(read_draft(_file(tmp_path, text.replace("KEY", former))).check(), 1)
    assert plan == expected


def test_command_prints_the_present_name_of_a_key_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["show", str(_file(tmp_path, (MEDIUM + BULK).replace("KEY", "least_grant")))]
    assert cli.run(command) == 0
    assert capsys.readouterr().err.splitlines() == ["warning: the key `least_grant` is now `min_grant`"]
    _file(tmp_path, (MEDIUM + BULK).replace("KEY", "min_grant"))
    assert cli.run(command) == 0
    assert capsys.readouterr().err == ""


def test_both_names_of_a_key_are_an_error_at_the_former_one(tmp_path: Path) -> None:
    text = (MEDIUM + BULK).replace("KEY", 'min_grant = "100 B", least_grant')
    with pytest.raises(InputError) as refused:
        read_draft(_file(tmp_path, text)).check()
    message = "scenario.toml:4: hop.air.medium.least_grant: found least_grant and min_grant; allowed: min_grant alone"
    assert message in str(refused.value)
