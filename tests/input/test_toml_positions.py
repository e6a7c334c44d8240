"""The line of every key in a TOML text."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from ackclock.input.toml_positions import key_lines
from ackclock.input.toml_writer import to_toml


def test_key_lines_has_tables_arrays_dotted_keys_and_inline_tables():
    text = "\n".join(
        [
            'title = "x # [no] comment"',  # 1
            "# [hop]",
            "[[hop]]",  # 3
            "name = 'a = b'",
            'queue = { kind = "droptail", packets = 5 } # c',  # 5
            'rate.down = "1 Mb/s"',
            'rate."up" = "2 Mb/s"',  # 7
            "[hop.loss.down]",
            "mean = 0.1",  # 9
            "[[hop]]",
            'name = """b',  # 11
            '[[hop]]"""',
            "outage = [",  # 13
            "  { start = '1 s', end = '2 s' }, # ] not the end",
            "  { start = '3 s', end = '4 s' },",  # 15
            "]",
            '["sweep"]',  # 17
            '"tcp.variant" = [ "a",',
            '  "b" ]',  # 19
            "at = 1979-05-27 07:32:00",
        ]
    )
    tomllib.loads(text)
    lines = key_lines(text)
    assert lines[("title",)] == 1
    assert lines[("hop", 0)] == 3
    assert lines[("hop", 0, "name")] == 4
    assert lines[("hop", 0, "queue", "packets")] == 5
    assert lines[("hop", 0, "rate", "down")] == 6
    assert lines[("hop", 0, "rate", "up")] == 7
    assert lines[("hop", 0, "loss", "down")] == 8
    assert lines[("hop", 0, "loss", "down", "mean")] == 9
    assert lines[("hop", 1)] == 10
    assert lines[("hop", 1, "name")] == 11
    assert lines[("hop", 1, "outage")] == 13
    assert lines[("hop", 1, "outage", 0, "start")] == 14
    assert lines[("hop", 1, "outage", 1, "end")] == 15
    assert lines[("sweep",)] == 17
    assert lines[("sweep", "tcp.variant", 1)] == 19
    assert lines[("sweep", "at")] == 20


KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN = st.one_of(st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False), KEYS)
VALUES = st.recursive(
    PLAIN, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3))
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)


@given(DOCUMENTS)
def test_written_toml_reads_back_equal(document):
    assert tomllib.loads(to_toml(document)) == document


@given(DOCUMENTS)
def test_key_lines_has_every_path(document):
    text = to_toml(document)
    lines = key_lines(text)
    for path in _paths(tomllib.loads(text)):
        assert path in lines, path
        assert 1 <= lines[path] <= text.count("\n")


def _paths(value, before=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*before, key)
        yield from _paths(one, (*before, key))
