"""Links of one hour, one day or one test of the papers' measurements (P12)."""

from __future__ import annotations

import tomllib

import pytest

import ackclock
from ackclock.input.link import PACKAGED
from ackclock.papers.experiments import Experiments
from ackclock.papers.reproduce import EVALUATORS, verdicts

pytestmark = pytest.mark.finding("P12")
PARENTS = {
    "expedience-campus-hour": ("expedience-campus", {"medium.caps"}),
    "expedience-residential-july": ("expedience-residential", {"delay"}),
    "expedience-corbais-rush-hour": ("expedience-corbais", {"medium.caps", "medium.handover"}),
}
"""A link, the link that it is a moment of, and the keys that differ."""


def _keys(hop):
    """The keys of a hop by path; those of its medium one by one."""
    medium = {f"medium.{key}": value for key, value in hop.get("medium", {}).items()}
    return {**{key: value for key, value in hop.items() if key != "medium"}, **medium}


@pytest.mark.parametrize("name", PARENTS)
def test_link_of_a_moment_differs_from_its_parent_in_what_was_measured_only(name):
    parent, differing = PARENTS[name]
    moment, usual = (tomllib.loads((PACKAGED / f"{link}.toml").read_text())["hop"] for link in (name, parent))
    pairs = [(_keys(a), _keys(b)) for a, b in zip(moment, usual, strict=True)]
    assert {key for a, b in pairs for key in a.keys() | b.keys() if a.get(key) != b.get(key)} == differing


def _download(link, seeds=3, duration="60 s", **tcp):
    flow = {"name": "download", "workload": {"kind": "bulk"}}
    done = ackclock.simulate({"link": link, "duration": duration, "seeds": seeds, "tcp": tcp, "flow": [flow]})
    return done.flows


def test_campus_hour_carries_the_download_of_table_3():
    """P0-126, which it is calibrated on; the campus varies from minute to minute."""
    hour, any_hour = (
        _download(link, variant="reno", host="linux-2.6.20")["goodput_bps"]
        for link in ("expedience-campus-hour", "expedience-campus")
    )
    assert hour.mean() == pytest.approx(0.40e6, rel=0.1)
    assert hour.max() < 1.1 * hour.min()
    assert any_hour.max() > 1.2 * any_hour.min()


def test_rush_hour_has_the_round_trips_of_20_00():
    """P2-002 and P2-003, which it is calibrated on."""
    rush = _download("expedience-corbais-rush-hour", duration="120 s", host="linux-2.6.8")
    assert rush["rtt_ms_mean"].mean() == pytest.approx(201.0, rel=0.1)
    assert rush["rtt_ms_max"].mean() == pytest.approx(603.0, rel=0.1)


def test_slow_day_has_the_path_of_july_4():
    """P0-007, which it is not calibrated on: 124.4 ms."""
    flows = [
        {"name": "probe", "direction": "up", "workload": {"kind": "probe", "last": "60 B", "rounds": 20, "gap": "1 s"}}
    ]
    done = ackclock.simulate({"link": "expedience-residential-july", "duration": "40 s", "seeds": 1, "flow": flows})
    rtts = [row["rtt_ms"]["mean"] for row in done.document["flows"][0]["probes"] if row["rtt_ms"]["mean"]]
    assert max(rtts) == pytest.approx(124.4, rel=0.1)


def test_spread_of_table_5_stands_beside_the_paper_without_a_verdict():
    runs = EVALUATORS["asymmetry"](Experiments((1,), paper="asymmetry"))
    (spread,) = verdicts("asymmetry", runs, only=["P1-113"])
    assert spread.verdict == "not_tested"
    assert spread.evidence.ours.mean > 0.0
    assert "packets" in spread.why


def test_doubtful_figure_has_none_of_ours_without_an_evaluator():
    (spread,) = verdicts("asymmetry", {}, only=["P1-113"])
    assert spread.verdict == "not_tested"
    assert spread.evidence is None
