"""`make mutants`: which places of a source are changed, and how."""

from __future__ import annotations

import re
import sys

import pytest

from tests.support import ROOT

SOURCE = """
/// Not a < b && c in a comment.
const LIMIT: u32 = 16; // 17
fn is_late(a: u32, b: &Option<u32>) -> bool {
    let text = "a < b";
    !b.is_none() && a <= LIMIT
}

#[cfg(test)]
mod tests {
    fn unused() -> bool { 1 < 2 }
}
"""


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch):
    """The module tools/mutants.py."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import mutants

    return mutants


@pytest.fixture
def mutant_switch(mutants):
    """The module tools/mutant_switch.py."""
    return sys.modules["mutant_switch"]


def test_mutants_change_code_and_neither_text_nor_tests(mutants):
    found = {one.change: one.apply(SOURCE) for one in mutants.mutants_of("a.rs", SOURCE)}
    assert set(found) == {
        "16 to 17",
        "16 to 15",
        "is_late returns true",
        "is_late returns false",
        "negation deleted",
        "&& to ||",
        "<= to <",
        "<= to >",
    }
    assert "    b.is_none() && a <= LIMIT" in found["negation deleted"]
    assert "const LIMIT: u32 = 15; // 17" in found["16 to 15"]
    assert "-> bool { true }" in found["is_late returns true"]


def test_key_of_a_mutant_is_the_same_on_another_line(mutants):
    keys = [one.key for one in mutants.mutants_of("a.rs", SOURCE)]
    assert keys == [one.key for one in mutants.mutants_of("a.rs", f"// A line.\n{SOURCE}")]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("line", "operator", "operands"),
    [
        ("let x = a - b + c * d;", "+", ("a - b", "c * d")),
        ("let x = a - b + c * d;", "*", ("c", "d")),
        ("if self.x(1, 2) < b as f64 && c {", "<", ("self.x(1, 2)", "b as f64")),
        ("if self.x(1, 2) < b as f64 && c {", "&&", ("self.x(1, 2) < b as f64", "c")),
        ("a.map(|p| p.x - q.y).sum()", "-", ("p.x", "q.y")),
        ("match a { X { b, .. } if b == Y { c: 1 } => d / 2, _ => e }", "/", ("d", "2")),
        ("while i < END { i += 2 * step; }", "<", ("i", "END")),
        ("while i < END { i += 2 * step; }", "+=", ("i", "2 * step")),
        ("let x = -a * !b.c()?;", "*", ("-a", "!b.c()?")),
        ("(*slot).at[i] -= x", "-=", ("(*slot).at[i]", "x")),
        ("x = y.collect::<Vec<u8>>().len() * 2", "*", ("y.collect::<Vec<u8>>().len()", "2")),
        ("let x = a + if b { 1 } else { 2 };", "+", None),
        ("let x = match a { _ => 1 } + 2;", "+", None),
    ],
)
def test_operands_of_an_operator_are_those_of_the_language(mutant_switch, line, operator, operands):
    code = f"fn f() {{\n    {line}\n}}\n"
    tokens = mutant_switch.Tokens(code)
    found = tokens.operands(tokens.at(code.index(f" {operator} ") + 1))
    assert (found and (code[found[0] : found[1]], code[found[2] : found[3]])) == operands


def switched(mutants, mutant_switch, source: str):
    """The source with its switches, and the changes of its mutants by their numbers."""
    found = list(enumerate(mutants.mutants_of("crates/a/src/a.rs", source), 1))
    changes = [mutant_switch.Change(number, one.start, one.end, one.text, one.kind) for number, one in found]
    program = mutant_switch.Switched({"crates/a/src/a.rs": source}, {"crates/a/src/a.rs": changes})
    return program, {one.change: number for number, one in found}


def test_switch_changes_an_expression_and_a_constant_where_it_is_used(mutants, mutant_switch):
    program, numbers = switched(mutants, mutant_switch, SOURCE)
    text = program.texts()["crates/a/src/a.rs"]
    assert {program.first(number) for number in numbers.values()} == {1, 3, 5, 6, 7}
    plain = re.sub(r"/\*<?\d+>?\*/", "", text)
    assert "pub const LIMIT_M1: u32 = 15; " in plain and "const LIMIT_M2: u32 = 17; const LIMIT: u32 = 16;" in plain
    limit = "(match crate::mutant_switch::at(1) { 0 => LIMIT_M1, 1 => LIMIT_M2, _ => LIMIT })"
    assert f"(match (&(a), &({limit})) {{ (l, r) => match crate::mutant_switch::at(7)" in plain
    assert "{ 0 => return false, 1 => return true, _ => () }" in plain


def test_mutants_that_the_compiler_refuses_stand_apart(mutants, mutant_switch):
    program, numbers = switched(mutants, mutant_switch, SOURCE)
    text = program.texts()["crates/a/src/a.rs"]
    at = text.index("*l <= *r")
    assert program.drop(text, at, at + 2)
    assert {change for change, number in numbers.items() if program.first(number) is None} == {"<= to <", "<= to >"}
    assert "&& to ||" in numbers and "a <= /*<" in program.texts()["crates/a/src/a.rs"]


def test_every_known_survivor_has_a_reason_and_is_a_mutant_of_the_tree(mutants):
    known = mutants.reasons(mutants.SURVIVORS.read_text("utf-8"))
    assert all(known.values())
    present = {one.key for _, paths in mutants.SETS.values() for one in mutants.all_mutants(paths)}
    assert set(known) <= present
