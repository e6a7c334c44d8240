"""What CONTRIBUTING's recipes promise of each variant, queue and finding: a row, a page, a test and
an explanation. What is missing is named.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from docsite import parts
from docsite.keys import keys

from ackclock.explanations import explanations
from ackclock.export.tc_queue import WRITERS
from ackclock.input import catalogue
from ackclock.input.checked_table import kinds
from tests.docs.test_docs import page_of
from tests.support import ROOT

MODELS = ROOT / "docs/models"
QUEUES = ROOT / "crates/core/src/queue"
FINDING_ROWS = ROOT / "crates/diagnose/src/capture/tests.rs"
FUNCTION = re.compile(r"^ *fn (\w+)\(", re.MULTILINE)
SENTENCE = 4
"""Underscores in the name of a test."""
OF_CAPTURES = ("mirrored_capture", "clock_steps", "not_decoded")
"""Findings of a capture as a whole: each has a test of its own, without a row."""
SOURCE = re.compile(r"\]\((?:\.\./)+(crates/[\w/-]+\.rs)[)#]")


def row(group: catalogue.Kind, name: str) -> list[str]:
    """What `ackclock list` lacks."""
    entry = next((row for row in catalogue.entries(group) if row["name"] == name), None)
    if entry is None:
        return [f"no row in the catalogue of {group}"]
    return [f"no {part} in the catalogue of {group}" for part in ("summary", "source") if not entry[part]]


def sources(page: Path) -> list[Path]:
    """The sources that a page of a model links."""
    return [ROOT / source for source in SOURCE.findall(page.read_text("utf-8"))]


@cache
def rust_functions() -> set[str]:
    """The functions of all Rust files, tests among them."""
    return {name for file in (ROOT / "crates").rglob("*.rs") for name in FUNCTION.findall(file.read_text("utf-8"))}


def names_a_test(page: Path) -> bool:
    """Whether a page has the name of a test as code; it is a sentence."""
    code = re.findall(r"`(\w+)`", page.read_text("utf-8"))
    return any(name.count("_") >= SENTENCE and name in rust_functions() for name in code)


def is_tested(source: Path) -> bool:
    """Whether a source has tests, in itself or beside it."""
    beside = (source.with_name("tests.rs"), source.with_suffix("") / "tests.rs")
    return any("#[test]" in file.read_text("utf-8") for file in (source, *beside) if file.is_file())


def page(path: Path) -> list[str]:
    """What a page of a model lacks: itself, a line in the index, a test."""
    if not path.is_file():
        return [f"no page {path.name} of a model"]
    index = (MODELS / "README.md").read_text("utf-8")
    missing = [] if f"({path.name})" in index else [f"{path.name} is not in the index of models"]
    tested = names_a_test(path) or any(map(is_tested, sources(path)))
    return missing if tested else [*missing, f"{path.name} names no test and links no source with one"]


def missing_of_variant(name: str) -> list[str]:
    return [*row("variants", name), *page(MODELS / f"{page_of(name)}.md")]


def missing_of_queue(name: str) -> list[str]:
    missing = row("queues", name)
    table = kinds("Queue").get(name)
    missing += [f"no text of the key {key.name}" for key in keys(table) if not key.text] if table else ["no table"]
    source = QUEUES / f"{name.replace('-', '_')}.rs"
    pages = [path for path in MODELS.glob("*.md") if path.name != "README.md" and source in sources(path)]
    missing += page(pages[0]) if pages else [f"no page of a model links {source.name}"]
    if table and f"{table}Config" not in (ROOT / "crates/core/tests/suite/queues.rs").read_text("utf-8"):
        missing.append(f"no {table} in the contract of queues")
    return missing if name in WRITERS else [*missing, "no qdisc in `ackclock export`"]


def missing_of_finding(name: str) -> list[str]:
    explanation = explanations().get(name)
    missing = [] if explanation and explanation.kind == "finding" and explanation.text else ["no explanation"]
    if f"### {name}\n" not in parts.make("findings", []):
        missing.append("no title in the reference of findings")
    tested = name in OF_CAPTURES or f'"{name}"' in FINDING_ROWS.read_text("utf-8")
    return missing if tested else [*missing, "no row in the tests of rules"]


def findings() -> list[str]:
    return [entry.name for entry in explanations().values() if entry.kind == "finding"]


def test_tests_that_pages_of_models_name_exist() -> None:
    files = [file.read_text("utf-8") for file in (ROOT / "tests").rglob("*.py")]
    functions = {name for file in files for name in re.findall(r"^def (\w+)\(", file, re.MULTILINE)}
    known = functions | {name.removeprefix("test_") for name in functions} | rust_functions()
    missing = {
        f"{path.name}: {name}"
        for path in MODELS.glob("*.md")
        for name in re.findall(r"`(\w+)`", path.read_text("utf-8"))
        if name.count("_") >= SENTENCE and not name.startswith("tcp_") and name not in known
    }
    assert missing == set()


@pytest.mark.parametrize("name", catalogue.variants())
def test_variant_has_row_page_test_and_explanation(name: str) -> None:
    assert missing_of_variant(name) == []


@pytest.mark.parametrize("name", sorted({*kinds("Queue"), *(entry["name"] for entry in catalogue.entries("queues"))}))
def test_queue_has_row_table_page_test_and_qdisc(name: str) -> None:
    assert missing_of_queue(name) == []


@pytest.mark.parametrize("name", findings())
def test_finding_has_explanation_title_and_row_of_test(name: str) -> None:
    assert missing_of_finding(name) == []


def test_everything_is_missing_of_a_name_that_no_recipe_made(tmp_path: Path) -> None:
    assert missing_of_variant("vegan") == ["no row in the catalogue of variants", "no page vegan.md of a model"]
    queue = ["no row in the catalogue of queues", "no table", "no page of a model links fair.rs"]
    assert missing_of_queue("fair") == [*queue, "no qdisc in `ackclock export`"]
    finding = ["no explanation", "no title in the reference of findings", "no row in the tests of rules"]
    assert missing_of_finding("loss_of_interest") == finding
    lonely = tmp_path / "lonely.md"
    lonely.write_text("# A model\n[source](../../crates/core/src/lib.rs)\n")
    assert page(lonely) == [
        "lonely.md is not in the index of models",
        "lonely.md names no test and links no source with one",
    ]
