"""Every message of `messages.jsonl`, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.input import wrong_inputs


def replayed(folder: Path) -> Iterator[tuple[list[Any], str]]:
    """The rows with inputs, and the text of each."""
    before = ""
    for line in wrong_inputs.FILE.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row[0] == "base":
            _, name, form, before = row
            assert isinstance(wrong_inputs.result(form, before, folder), str), f"{name}, a valid input, is refused"
        else:
            yield [form, *row], wrong_inputs.changed(before, *row[:3])


def test_messages_of_wrong_inputs_are_those_of_the_file(tmp_path: Path) -> None:
    different = []
    errors = 0
    with wrong_inputs.in_folder(tmp_path):
        for (form, _, _, _, expected, *of_dicts), text in replayed(tmp_path):
            found = [wrong_inputs.result(form, text, tmp_path), wrong_inputs.result_of_dicts(form, text, tmp_path)]
            wanted = [expected, *(of_dicts or [wrong_inputs.without_place(expected)])]
            errors += isinstance(expected, list)
            if found != wanted:
                different.append(f"{text}\nfound    {found}\nexpected {wanted}")
    assert errors > 1500
    assert different == [], f"{len(different)} differ:\n" + "\n".join(different[:20])


def test_change_of_lines_gives_the_text_that_it_was_made_from() -> None:
    for before, after in (("a\nb\nc\n", "a\nx\ny\nc\n"), ("a\nb\n", "a\n"), ("a\n", "a\na\n"), ("a\nb\n", "b\na\n")):
        assert wrong_inputs.changed(before, *wrong_inputs.difference(before, after)) == after
