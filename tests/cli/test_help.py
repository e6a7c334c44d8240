"""The help of the command line at 80 columns: groups, whole sentences, panels, examples."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from ackclock.cli import _command
from ackclock.cli.help import GROUPS, MANY, PANELS, name_of, panel_of
from ackclock.explanations import explanations
from ackclock.input.link.names import packaged_links
from ackclock.papers.claims import PAPERS

COMMANDS: dict[str, Any] = _command().commands  # type: ignore[attr-defined]
WIDTH = 80
HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
"""As the group sets it: a command keeps its first context's help option."""


def _help(name: str) -> list[str]:
    context = typer.Context(COMMANDS[name], info_name=f"ackclock {name}", terminal_width=WIDTH, **HELP)
    return COMMANDS[name].get_help(context).splitlines()


def _first_screen() -> list[str]:
    group: Any = _command()
    return group.get_help(typer.Context(group, info_name="ackclock", terminal_width=WIDTH, **HELP)).splitlines()


@pytest.mark.finding("U29")
def test_commands_are_in_three_groups_with_whole_sentences() -> None:
    lines = _first_screen()
    assert all(f"{group}:" in lines for group in GROUPS)
    for name, command in COMMANDS.items():
        row = next(line for line in lines if line.startswith(f"  {name} "))
        assert row.endswith(command.short_help) and command.short_help.endswith((".", "?"))
    assert not any("..." in line for line in lines if "COMMAND" not in line)
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns_and_cuts_nothing(name: str) -> None:
    lines = _help(name)
    # A list of words in the name of an option cannot be broken.
    assert all(len(line) <= WIDTH for line in lines if not re.match(r"  \S+ [<{]", line))
    text = "".join("".join(lines).split())
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option":
            assert "".join((parameter.help or "").split()) in text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_panels_when_a_command_has_many_options(name: str) -> None:
    options = [name_of(parameter) for parameter in COMMANDS[name].params if parameter.param_type_name == "option"]
    assert (name in PANELS) == (len(options) > MANY), f"{name} has {len(options)} options"
    if name in PANELS:
        assert not [option for option in options if panel_of(name, option) == "Options"]
        unknown = {option for panel in PANELS[name].values() for option in panel} - set(options)
        assert not unknown


def _examples() -> Iterator[tuple[str, list[str]]]:
    for name, command in COMMANDS.items():
        program, typed, *rest = shlex.split(command.epilog)
        assert (program, typed) == ("ackclock", name)
        yield name, rest


@pytest.mark.parametrize(("name", "words"), list(_examples()), ids=COMMANDS)
def test_help_ends_with_an_example_that_parses(name: str, words: list[str]) -> None:
    assert _help(name)[-2:] == ["Example:", f"  {COMMANDS[name].epilog}"]
    context = COMMANDS[name].make_context(name, list(words), **HELP)
    assert context.params
    links = [word for word in words if re.fullmatch(r"[a-z]+-\d+m", word)]
    assert set(links) <= set(packaged_links())
    if name == "explain":
        assert words[0] in explanations()
    if name == "reproduce":
        assert words[0] in PAPERS
