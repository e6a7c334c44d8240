"""A script, and what the kernel says of it, are imported as the same link."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ackclock.errors import InvalidValue
from ackclock.input.units import rate_bps, size_bytes, time_ps
from ackclock.link_import import import_link

PAIRS = tomllib.loads(Path(__file__).with_name("shown.toml").read_text())["pair"]


def number(value):
    """A quantity as a number, anything else as it is."""
    for read in (rate_bps, size_bytes, time_ps):
        try:
            return float(read(value))
        except InvalidValue:
            continue
    return value


def flat(value, path=""):
    """The values of nested tables by their path, the names of hops left out."""
    if isinstance(value, dict):
        return {key: one for name in value for key, one in flat(value[name], f"{path}.{name}").items()}
    if isinstance(value, list):
        return {key: one for n, item in enumerate(value) for key, one in flat(item, f"{path}.{n}").items()}
    return {path: number(value)}


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["typed"].split("\n")[-1].partition("v0 ")[2][:50] for pair in PAIRS])
def test_shown_setup_is_the_link_that_was_typed(pair, tmp_path):
    links = {}
    for name in ("typed", "shown"):
        (tmp_path / name).write_text(pair[name])
        document = import_link(tmp_path / name, egress="up").document
        assert document["not_understood"] == []
        links[name] = document
    typed, shown = (flat(links[name]["link"]["hop"]) for name in ("typed", "shown"))
    # What tc prints is rounded to four digits, and has defaults.
    defaults = {key: value for key, value in shown.items() if key not in typed}
    assert {key.rpartition(".")[2] for key in defaults} <= {
        "ecn",
        "target",
        "interval",
        "alpha",
        "beta",
        "bytes",
        "packets",
        "quantum",
    }
    assert {key: value for key, value in shown.items() if key in typed} == {
        key: pytest.approx(value, rel=5e-3) if isinstance(value, float) else value for key, value in typed.items()
    }
    known = {lint["code"] for lint in links["typed"]["lints"]} - {"unit"}
    assert {lint["code"] for lint in links["shown"]["lints"]} == known
