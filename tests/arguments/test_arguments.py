"""One description of a command's arguments: its options, its Python function, its identity."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields
from typing import Any

import pytest
from typer.main import get_command

import ackclock
from ackclock.arguments import described, option_names
from ackclock.arguments.compare import RANK_BY, CompareArguments
from ackclock.arguments.measure import MeasureArguments
from ackclock.cli import complete
from ackclock.cli.app import app
from ackclock.comparison import ranking
from ackclock.errors import InputError
from ackclock.goals import GOALS
from ackclock.measurement.plan import KEYS, Plan, asked_plan
from ackclock.simulation import run_list
from ackclock.storage.run_folder import Identity

STRUCTS: dict[str, Any] = {"compare": CompareArguments, "measure": MeasureArguments}


def options_of(command: str) -> dict[str, Any]:
    return {one.name: one for one in get_command(app).commands[command].params}  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", STRUCTS)
def test_python_function_has_the_fields_of_the_struct_with_their_defaults_and_texts(command: str) -> None:
    function, struct = getattr(ackclock, command), STRUCTS[command]
    signature = inspect.signature(function).parameters
    assert {name: one.default for name, one in signature.items()} == {
        one.name: inspect.Parameter.empty if one.default is MISSING else one.default for one in fields(struct)
    }
    assert list(signature) == re.findall(r"^    (\w+): ", function.__doc__.split("Raises:")[0], re.MULTILINE)
    assert "with commas between" not in function.__doc__
    with pytest.raises(TypeError, match=rf"^{command}\(\).* 'bogus'"):
        function("a", bogus=1)


@pytest.mark.parametrize("command", STRUCTS)
def test_written_default_of_an_option_reads_as_the_default_of_its_field(command: str) -> None:
    options, struct = options_of(command), STRUCTS[command]
    for one in fields(struct):
        argument = described(struct)[one.name]
        assert (one.name in options) == (argument.name is not None)
        if argument.name is None or one.default in (MISSING, None, ()):
            continue
        written = options[one.name].default
        value = argument.read(str(written) if argument.words else written)
        assert value == (list(one.default) if isinstance(value, list) else one.default), one.name


@pytest.mark.parametrize("command", STRUCTS)
def test_option_that_an_error_names_is_one_of_the_command(command: str) -> None:
    known = {name for one in options_of(command).values() for name in one.opts}
    for option in option_names(STRUCTS[command]).values():
        assert option in known or option in ("LINK", "HOST")


def test_completions_of_arguments_exist() -> None:
    named = {one.complete for struct in STRUCTS.values() for one in described(struct).values() if one.complete}
    assert named == {"links", "variants", "queues", "hosts"}
    assert all(callable(getattr(complete, name)) for name in named)


def test_allowed_values_are_those_that_the_simulation_knows() -> None:
    assert described(CompareArguments)["goal"].allowed == GOALS
    assert list(RANK_BY.values()) == list(ranking.RANK_BY)
    assert described(CompareArguments)["series"].allowed == run_list.SERIES


@pytest.mark.parametrize("wrong", [{"goal": "speed"}, {"rank_by": "goodput"}, {"series": "some"}])
def test_compare_refuses_a_value_that_is_not_allowed(wrong: dict[str, str]) -> None:
    with pytest.raises(InputError, match="; allowed: ") as refused:
        ackclock.compare("dsl-16m", **wrong)  # type: ignore[arg-type]
    assert refused.value.key == next(iter(wrong))


def hashed(monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> list[Any]:
    """What the identity of a comparison's run folder hashes, without a run."""
    found: list[Any] = []

    def stop(kind: str, resolved: list[Any]) -> None:
        found.extend(resolved)
        raise InputError("a test", "no run")

    monkeypatch.setattr(Identity, "of", stop)
    with pytest.raises(InputError, match="no run"):
        ackclock.compare("dsl-16m", variants=["cubic"], buffers=["auto"], delayed_ack=[True], seeds=2, **arguments)
    return found


def test_identity_of_a_comparison_hashes_what_stored_run_folders_have(monkeypatch: pytest.MonkeyPatch) -> None:
    *head, points = hashed(monkeypatch)
    assert head == ["goodput_bps", ["balanced", False], None, "sampled", [1, 2]]
    assert [params["variant"] for params, _ in points] == ["cubic"]
    assert hashed(monkeypatch, with_prices=False)[1] == []
    assert hashed(monkeypatch, goal="latency", may_harm=True, rank_by="rtt_p95_ms", series="all")[:4] == [
        "rtt_p95_ms",
        ["latency", True],
        None,
        "all",
    ]
    unlike = {"workers": 1, "force": True, "keep": True, "progress": lambda *_: None}
    assert hashed(monkeypatch, **unlike) == [*head, points]


def test_plan_of_a_measurement_takes_an_argument_before_the_plan_and_that_before_the_quick_default() -> None:
    arguments = MeasureArguments("host", {"duration": 2, "tests": ["tcp"]}, tests=["delay"], labels={"a": "b"})
    labelled = {"duration": "2 s", "tests": ["delay"], "labels": {"a": "b"}}
    assert asked_plan(arguments, quick=True) == Plan.read(labelled)
    in_short = asked_plan(MeasureArguments("host", {"tests": ["tcp"]}), quick=True)
    assert in_short == Plan.read({"duration": "3 s", "tests": ["tcp"]})
    assert arguments.identified({"x": 1}) == {"host": "host", "port": 4862, "plan": {"x": 1}}


def test_keys_of_the_plan_among_the_arguments_are_the_plans() -> None:
    further = {"host", "plan", "capture", "capture_far", "pps", "port", "token", "token_file", "out", "force"}
    assert {one.name for one in fields(MeasureArguments)} - further - {"progress"} <= set(KEYS)
