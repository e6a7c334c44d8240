"""Readers of stored files: older names of keys."""

import json
from pathlib import Path

from ackclock.storage.stored_files import read_json

BOUNDS = {"direction": "down", "least_delay_interval_ms": [4.0, 9.5]}


def _stored(folder: Path, document: object) -> Path:
    path = folder / "measure.json"
    path.write_text(json.dumps(document))
    return path


def test_stored_document_has_the_present_names_when_it_was_written_with_older_ones(tmp_path: Path) -> None:
    correlation = {"flows": [1, 2], "ways": ["a2b", "b2a"]}
    path = _stored(tmp_path, {"tests": [{"ways": [BOUNDS]}], "concurrent": [correlation]})
    assert read_json(path) == {
        "tests": [{"directions": [{"direction": "down", "min_delay_interval_ms": [4.0, 9.5]}]}],
        "concurrent": [{"flows": [1, 2], "directions": ["a2b", "b2a"]}],
    }


def test_stored_document_keeps_a_name_that_a_user_gave_when_it_is_an_older_key(tmp_path: Path) -> None:
    document = {"flows": {"ways": {"goodput_bps": 1}}, "params": {"ways": 3, "name": "least_delay_interval_ms"}}
    assert read_json(_stored(tmp_path, document)) == document
