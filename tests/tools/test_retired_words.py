"""The check of retired words: which uses it finds, and which are right."""

from __future__ import annotations

import pytest
from retired_words import PATTERNS, Exemption, findings, parts, read_patterns, subject_faults

WORDS = read_patterns(PATTERNS.read_text("utf-8"))


def found(path: str, text: str) -> list[str]:
    return [f"{f.line} {f.kind} {f.word}" for f in findings(path, text, WORDS)]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.rs", "// The sender is told at the\n// second turn.\n", ["1 prose told"]),
        ("a.rs", "/// Nothing is heard.\nlet heard = 1;\n", ["1 prose heard", "2 identifier heard"]),
        ("a.rs", 'let lifetime: &\'a str = "nobody answers";\n', ["1 prose nobody"]),
        ("a.rs", 'let key = "told";\n', []),
        ("a.py", '"""Whoever asks."""\nsaid = 1\n', ["1 prose Whoever", "2 identifier said"]),
        (
            "a.py",
            "least = 1\nat_least = 2\nmost_rate = 3\nalmost = 4\n",
            ["1 identifier least", "3 identifier most_rate"],
        ),
        ("a.rs", "let one_way_delay = 1;\nlet way = 2;\n", ["2 identifier way"]),
        ("a.md", "The least of them.\n\n```\nthe least\n```\n`the least` at least\n", ["1 prose The least"]),
        ("a.md", "A one-way delay; in both ways; a way to measure\n", ["1 prose both ways"]),
        ("a.md", "a STAMP session; the most recent ACK; user nobody\n", ["1 prose nobody"]),
        ("told.rs", "", ["1 file told.rs"]),
        ("fused_link.rs", "", []),
        ("link_fused.rs", "", ["1 file link_fused.rs"]),
        ("red.rs", "", []),
    ],
)
def test_retired_words_are_found_in_prose_names_and_files(path: str, text: str, expected: list[str]) -> None:
    assert found(path, text) == expected


def test_exception_covers_its_path_and_word_only() -> None:
    exception = Exemption("crates/flow/**", "prose", "told", "a reason")
    one, other = findings("crates/flow/a/b.rs", "// told\n// heard\n", WORDS)
    assert exception.covers(one)
    assert not exception.covers(other)
    assert not any(exception.covers(f) for f in findings("crates/core/a.rs", "// told\n", WORDS))


def test_parts_of_a_name_are_its_words() -> None:
    assert parts("RTOTimer") == ["rto", "timer"]
    assert parts("mss_bytes2") == ["mss", "bytes", "2"]


@pytest.mark.parametrize(
    ("subject", "faults"),
    [
        ("core: rename Way to Direction", 0),
        ("Rename Way to Direction", 1),
        ("core: what the sender is told", 1),
        ("core: " + "x" * 67, 1),
    ],
)
def test_commit_subject_is_checked(subject: str, faults: int) -> None:
    assert len(subject_faults(subject, WORDS)) == faults
