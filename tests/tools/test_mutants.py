"""`make mutants`: which places of a source are changed, and how."""

from __future__ import annotations

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


def test_every_known_survivor_has_a_reason_and_is_a_mutant_of_the_tree(mutants):
    known = mutants.reasons(mutants.SURVIVORS.read_text("utf-8"))
    assert all(known.values())
    present = {one.key for _, paths in mutants.SETS.values() for one in mutants.all_mutants(paths)}
    assert set(known) <= present
