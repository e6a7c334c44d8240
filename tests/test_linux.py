"""Commands that need Linux name it on other systems; the rest does not ask."""

from __future__ import annotations

import sys

import pytest

from ackclock import cli
from ackclock.cli import daemon


@pytest.mark.finding("U24")
@pytest.mark.parametrize(("system", "name"), [("darwin", "macOS"), ("win32", "Windows")])
@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["emulate", "dsl-16m", "--", "true"], "emulate"),
        (["measure", "127.0.0.1"], "measure"),
        (["serve"], "serve"),
        (["kernel-cc", "list"], "kernel-cc"),
        (["reproduce", "wimax-simulated", "--live"], "reproduce --live"),
        (["advise", "dsl-16m", "--verify"], "advise --verify"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_live_command_names_linux_and_this_system(
    system: str,
    name: str,
    arguments: list[str],
    what: str,
    tmp_path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "platform", system)
    assert cli.run(arguments) == 1
    message = capsys.readouterr().err
    assert f"{what} requires Linux (" in message and f"this is {name}" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.finding("U24")
def test_ackclockd_names_linux_on_another_system(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert daemon.main() == 1
    assert capsys.readouterr().err.startswith("ackclockd: ackclockd requires Linux")
