"""What `export` writes is imported as the same link, where the target expresses it."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import _native
from ackclock.export import Exported, export_link
from ackclock.export.line import Line, lines_of
from ackclock.input.checked_table import CheckedTable
from ackclock.input.link import packaged_links
from ackclock.input.scenario import draft_of
from ackclock.input.toml_writer import to_toml
from ackclock.link_import import LinkImport, import_link

SCRIPTS = {"tc": "tc.sh", "mahimahi": "mahimahi.sh"}
FAST = ("docsis-3.1", "gpon", "leo", "nr-uplink")
NOT_EXPRESSED = ("pie's is 1000 packets", "a rate of exactly")
"""In a list of lost properties: the export is of another link."""


def commands(files: dict[str, str]) -> dict[str, list[str]]:
    """The files of an export without comments, which have the title."""
    return {name: [line for line in text.splitlines() if not line.startswith("#")] for name, text in files.items()}


def imported(link: str, to: str, folder: Path) -> tuple[Exported, LinkImport]:
    """A link's export, and the link file `again.toml` of its import."""
    exported = export_link(link, to)
    for name, text in exported.files.items():
        (folder / name).write_text(text)
    found = import_link(folder / SCRIPTS[to], out=folder / "again.toml")
    found.write(folder / "again.toml", force=True)
    return exported, found


def is_expressed(exported: Exported) -> bool:
    return not any(text in lost for lost in exported.missing for text in NOT_EXPRESSED)


def marked(link: str) -> object:
    """Mahimahi's files of the rates of a fast link are tens of megabytes."""
    return pytest.param(link, marks=pytest.mark.slow) if link in FAST else link


@pytest.mark.parametrize("to", SCRIPTS)
@pytest.mark.parametrize("link", [marked(link) for link in packaged_links()])
def test_packaged_link_is_the_same_after_export_and_import(link, to, tmp_path):
    exported, found = imported(link, to, tmp_path)
    assert found.document["not_understood"] == []
    if is_expressed(exported):
        again = export_link(str(tmp_path / "again.toml"), to)
        assert commands(again.files) == commands(exported.files)


@pytest.mark.slow
def test_links_that_targets_do_not_express_are_few():
    inexact = {to: sum(not is_expressed(export_link(link, to)) for link in packaged_links()) for to in SCRIPTS}
    assert inexact["tc"] <= 1 and inexact["mahimahi"] <= 10


def lines(link: str | dict) -> dict[str, Line]:
    scenario = {"duration": "1 s", "flow": [{"name": "any", "workload": {"kind": "live"}}]}
    data = {"link": link} if isinstance(link, str) else link
    return lines_of(draft_of({**data, **scenario}).check().hop)


def sizes(framing: CheckedTable) -> list[int]:
    """What some packets count."""
    return [_native.on_wire(json.dumps(framing.plan()), size) for size in (40, 52, 576, 1500)]


def known(line: Line) -> list:
    """A queue by its plan, framing by what it counts, delay with the middle of a jitter."""
    jitter = line.jitter
    middle, spread = 0, None
    if jitter is not None and jitter.kind == "uniform":
        middle, spread = (jitter.low + jitter.high) / 2, (jitter.high - jitter.low) / 2
    elif jitter is not None:
        middle, spread = jitter.mean, jitter.sd
    return [
        line.delay + middle,
        spread,
        line.rate,
        line.framing and sizes(line.framing),
        (line.burst, line.peak),
        line.policer and (line.policer.rate, line.policer.burst, line.policed and sizes(line.policed)),
        line.queue.plan() if line.queue is not None else None,
        round(line.loss.mean, 12) if line.loss is not None else None,
        round(line.duplicate, 12),
    ]


RATES = st.integers(10_000, 10**10)
QUEUES = st.one_of(
    st.builds(lambda n: {"kind": "droptail", "packets": n}, st.integers(1, 10**6)),
    st.builds(lambda n: {"kind": "droptail", "bytes": f"{n} B"}, st.integers(1500, 10**8)),
    st.builds(lambda n: {"kind": "droptail", "packets": n, "drop": "front"}, st.integers(1, 10**6)),
    st.builds(
        lambda n, t, e: {"kind": "codel", "packets": n, "target": f"{t} us", "ecn": e},
        st.integers(1, 10**6),
        st.integers(1, 999_999),
        st.booleans(),
    ),
    st.builds(
        lambda n, t, f, q, e: {
            "kind": "fq-codel",
            "packets": n,
            "interval": f"{t} us",
            "flows": f,
            "quantum": f"{q} B",
            "ecn": e,
        },
        st.integers(1, 10**6),
        st.integers(1, 999_999),
        st.integers(1, 65536),
        st.integers(300, 9000),
        st.booleans(),
    ),
    st.builds(
        lambda n, t, e: {"kind": "pie", "packets": n, "target": f"{t} us", "ecn": e},
        st.integers(1, 10**6),
        st.integers(1, 999_999),
        st.booleans(),
    ),
    st.builds(
        lambda a, h: {"kind": "cake", "hosts": h, **({"ack": {"filter": a}} if a else {})},
        st.sampled_from(["", "cake", "cake-aggressive"]),
        st.booleans(),
    ),
)
DELAYS = st.builds(lambda us: f"{us} us", st.integers(0, 2_000_000))
SIDES = st.fixed_dictionaries(
    {"rate": st.builds(lambda bps: f"{bps} b/s", RATES), "queue": QUEUES, "delay": DELAYS},
    optional={
        "policer": st.builds(
            lambda bps, size: {"rate": f"{bps} b/s", "burst": f"{size} B"}, RATES, st.integers(1500, 10**6)
        ),
        "loss": st.floats(1e-6, 1.0).map(lambda mean: round(mean, 9)),
        "duplicate": st.floats(1e-6, 0.9).map(lambda mean: round(mean, 9)),
        "jitter": st.one_of(
            st.builds(
                lambda low, more: {
                    "kind": "uniform",
                    "low": f"{low} us",
                    "high": f"{low + 2 * more} us",
                    "in_order": False,
                },
                st.integers(0, 10**5),
                st.integers(1, 10**5),
            ),
            st.builds(
                lambda m, s: {"kind": "normal", "mean": f"{m} us", "sd": f"{s} us", "in_order": False},
                st.integers(1, 10**5),
                st.integers(1, 10**4),
            ),
        ),
    },
)


@pytest.mark.parametrize("framing", [None, {"kind": "pppoe-vcmux"}, {"cells": "none", "overhead": "22 B"}])
def test_shaper_and_policer_are_the_same_after_export_and_import(framing, tmp_path):
    hop = {
        "name": "line",
        "policer": {"down": {"rate": "30 Mb/s", "burst": "60 kB"}, "up": {"rate": "3 Mb/s", "burst": "9 kB"}},
        "shaper": {
            "down": {"rate": "20 Mb/s", "burst": "15 kB", "peak": "100 Mb/s", "queue": {"bytes": "150 kB"}},
            "up": {"rate": "2 Mb/s", "queue": {"kind": "cake"}},
        },
        **({"framing": framing} if framing else {}),
    }
    (tmp_path / "link.toml").write_text(to_toml({"hop": [hop]}))
    _, found = imported(str(tmp_path / "link.toml"), "tc", tmp_path)
    before, after = lines(str(tmp_path / "link.toml")), lines(str(tmp_path / "again.toml"))
    assert found.document["not_understood"] == []
    assert {side: known(after[side]) for side in after} == {side: known(before[side]) for side in before}


@settings(max_examples=60)
@given(down=SIDES, up=SIDES, atm=st.one_of(st.none(), st.integers(0, 100)))
def test_any_line_of_tc_is_the_same_after_export_and_import(down, up, atm):
    framing = {} if atm is None else {"framing": {"kind": "atm", "overhead": f"{atm} B"}}
    hop = {"name": "line", **framing}
    for key in {*down, *up}:
        hop[key] = {side: keys[key] for side, keys in (("down", down), ("up", up)) if key in keys}
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "link.toml").write_text(to_toml({"hop": [hop]}))
        imported(str(folder / "link.toml"), "tc", folder)
        before, after = lines(str(folder / "link.toml")), lines(str(folder / "again.toml"))
    for side in ("down", "up"):
        assert known(after[side]) == known(before[side])
