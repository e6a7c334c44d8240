"""The check of symbols that documents link to."""

from __future__ import annotations

from pathlib import Path

import pytest
from symbols import faults


@pytest.mark.parametrize(
    ("link", "is_right"),
    [
        ("[`Meter::arrive`](a.rs)", True),
        ("[`Meter`](a.rs)", True),
        ("[`DEPTH`](a.rs)", True),
        ("[`Meter::leave`](a.rs)", False),
        ("[`run`](b.py)", True),
        ("[`Run.walk`](b.py)", True),
        ("[`walked`](b.py)", False),
        ("[the text](a.rs)", True),
        ("[the text](absent.rs)", False),
        ("[outside](https://example.org/absent)", True),
    ],
)
def test_link_to_a_symbol_is_a_fault_when_its_file_does_not_define_it(
    link: str, is_right: bool, tmp_path: Path
) -> None:
    (tmp_path / "a.rs").write_text(
        "const DEPTH: u64 = 1;\npub struct Meter;\nimpl Meter {\n    pub fn arrive() {}\n}\n", "utf-8"
    )
    (tmp_path / "b.py").write_text("run = 1\n\n\nclass Run:\n    def walk(self) -> None: ...\n", "utf-8")
    document = tmp_path / "page.md"
    document.write_text(f"See {link}.\n", "utf-8")
    assert (not list(faults(document))) == is_right
