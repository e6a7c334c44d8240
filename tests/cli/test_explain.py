"""`explain`: every code, finding and rule that the program prints has a text."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from ackclock import cli
from ackclock._native import findings, kind_rules
from ackclock.cli.app import app
from ackclock.errors import Internal, Interrupted, RunFailed, UsageError
from ackclock.explanations import TEXTS, WORDS, explain, explanations
from ackclock.limitations import limitations
from tests.support import ROOT
from tests.support.printed_words import heads, unknown_words

INVALID = (ROOT / "crates/scenario/src/invalid.rs").read_text("utf-8")
READ = r'Code::\w+ => "([a-z-]+)"'
SOURCES = "".join(path.read_text("utf-8") for path in (ROOT / "python/ackclock").rglob("*.py"))


def test_every_code_of_the_sources_has_a_text_and_every_text_a_code() -> None:
    usual = {error.kind for error in (UsageError, RunFailed, Interrupted, Internal)} | {"value", "combination"}
    raised = set(re.findall(r'\bcode(?:: str)? ?= ?"([a-z-]+)"', SOURCES)) | set(re.findall(READ, INVALID)) | usual
    assert raised == {one.name for one in explanations().values() if one.kind == "error"}


@pytest.mark.parametrize("name", explanations())
def test_explanation_is_a_sentence_and_prints_its_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(name).text.endswith(".")
    assert (explain(name).kind == "error") == explain(name).example.startswith("ackclock: ")
    assert cli.run(["explain", name]) == 0
    assert explain(name).page in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "content", "code"),
    [
        (["show", "FILE"], "[[hop]]\nname = 'a'\nrate = '10 Mbps'", "unit"),
        (["show", "FILE"], "[[hop]]\nname = 'a'\nqeue = 1", "unknown-key"),
        (["show", "FILE"], "[[hop]]\nrate = '1 Mb/s'", "missing-key"),
        (["show", "FILE"], "[[hop]\n", "toml"),
        (["simulate", "FILE/none.toml"], "", "file"),
        (["report", "FILE", "--format", "gif"], "", "value"),
        (["reproduce", "wibro", "--quick", "--full"], "", "combination"),
        (["report", "FILE"], "", "run-folder"),
        (["simulate"], "", "usage"),
    ],
)
def test_error_has_the_code_of_its_cause(arguments, content, code, tmp_path, capsys) -> None:
    file = tmp_path / "a.toml"
    file.write_text(content)
    assert cli.run([one.replace("FILE", str(file)) for one in arguments] + ["--json"]) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out)["error"]["code"] == code, printed.out
    assert "more:" not in printed.err, "one line where no person reads"


def test_rule_is_explained_with_its_kind_and_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "rto_silence"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("rto_silence (rule; timeout)\n")
    assert "Source: RFC 6298, section 5.4\n" in printed
    # What needs no standard has none.
    assert cli.run(["explain", "unexplained", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["source"] == ""


def test_names_of_errors_findings_rules_words_and_limitations_are_distinct() -> None:
    texts = tomllib.loads(TEXTS.read_text("utf-8"))
    words = (word for group in tomllib.loads(WORDS.read_text("utf-8")).values() for word in group)
    names = [*texts["errors"], *(of["name"] for of in findings()), *(name for name, _, _ in kind_rules()), *words]
    names += [one.name for one in limitations()]
    assert len(set(names)) == len(names) == len(explanations())


@pytest.mark.finding("U42")
def test_limitation_is_explained_with_the_commands_that_it_touches(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "equal-minimum-delays"]) == 0
    assert "(limitation; touches analyze, fit, measure)" in capsys.readouterr().out
    commands = {command for one in limitations() for command in one.commands}
    assert commands <= {command.name for command in app.registered_commands}


def test_terminal_names_the_command_that_explains_an_error(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert cli.run(["simulate"]) == 2
    assert "more: ackclock explain usage" in capsys.readouterr().err
    assert cli.run(["explain", "nonsense"]) == 2


NAMES = {"cubic", "reno", "bbr", "release error us p50"}
"""Names of congestion controls at the head of a column, and a head of a table of papers."""


@pytest.mark.finding("U31")
def test_each_head_of_a_table_has_a_sentence() -> None:
    known = {name.casefold() for name in explanations()} | NAMES
    found = heads(ROOT / "python/ackclock")
    assert len(found) > 150
    assert not {head: file for head, file in found.items() if unknown_words(head, known)}


def test_head_without_a_sentence_is_named() -> None:
    assert unknown_words("sojourn ms\np95", {"p95"}) == ["sojourn"]


def test_word_is_explained_in_any_case_and_of_several_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "P95", "rtt"]) == 0
    assert "19 of 20 samples" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("copied", "name"),
    [("1?", "rank"), ("2=", "rank"), ("queue ms", "queue"), ("retrans- mitted %", "retransmitted"), ("gain", "gain")],
)
@pytest.mark.finding("U31")
def test_head_is_explained_as_it_is_printed(copied: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", copied]) == 0
    assert capsys.readouterr().out.startswith(f"{name} (word; ")


def test_number_is_no_rank(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "17"]) == 2
    assert "rank (word" not in capsys.readouterr().out
