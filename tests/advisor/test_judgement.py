"""How an advice is judged: the loads of a link, the sparse flow that is not the situation's, the
bound of harm, benefits, and reasons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

import ackclock as library
from ackclock.advice.tables import lines, page, tables
from ackclock.advisor.actions import WHO, candidates
from ackclock.advisor.outcome import beside_costs, probe_refusal, refusal
from ackclock.advisor.race import NO_CONDITION, Left, Runs, Sizes, label_of, over_loads
from ackclock.advisor.run import _Asked, _left_text, _probe_flips
from ackclock.advisor.situation import situation_of
from ackclock.input.objects import Link
from ackclock.statistics import Ratio
from tests.support.documents import follows

SMALL: dict[str, Any] = {"cpu_s": 0.5, "workers": 1}
BULK = {"workload": {"kind": "bulk"}}
LINE = {
    "name": "line",
    "rate": {"down": "4 Mb/s", "up": "1 Mb/s"},
    "delay": "10 ms",
    "queue": {"down": {"bytes": "150 kB"}, "up": {"bytes": "60 kB"}},
}
UPLOAD = {
    "duration": "12 s",
    "hop": [
        {"name": "a", "rate": {"down": "3 Mb/s", "up": "384 kb/s"}, "delay": "60 ms", "queue": {"bytes": "200 kB"}}
    ],
    "flow": [{"name": "u", "direction": "up", **BULK}],
}
"""An upload beside whose queue one flow of vegas starves next to one of cubic."""
MARKING = {
    "duration": "12 s",
    "hop": [{"name": "a", "rate": "9 Mb/s", "delay": "45 ms", "queue": {"kind": "codel", "ecn": True}}],
    "flow": [{"name": "d", **BULK}],
}
"""A download to which vegas gives 7 % more beside a sparse flow, and 7 % less without one."""


@pytest.fixture(scope="module")
def line():
    """The advice for a line with deep buffers in both directions."""
    return library.advise(Link([LINE]), goal="balanced", may=["router"], **SMALL)


@pytest.mark.finding("A4")
def test_gain_of_a_link_is_the_mean_of_its_loads(line) -> None:
    document = line.document
    follows("advise", document)
    assert document["loads"] == ["down", "up", "both"]
    assert document["advice"]
    for row in document["advice"]:
        assert list(row["loads"]) == document["loads"]
        gains = [of["gain"]["ratio"] for of in row["loads"].values()]
        assert row["gain"]["ratio"] == pytest.approx(math.prod(gains) ** (1 / 3), rel=0.02)
        assert row["effect"] == row["loads"]["down"]["effect"]
    both = document["advice"][0]["loads"]["both"]["effect"]
    assert {"goodput_down_bps", "goodput_up_bps"} <= both.keys()
    assert not any("beside it" in one["condition"] for one in document["advice"][0]["conditions"])


@pytest.mark.finding("A4")
def test_first_advice_of_a_link_serves_the_upload_that_starves_the_download(line) -> None:
    """An upload fills the queue up, where the ACKs of a download wait: a remedy for the download
    alone leaves that.
    """
    row = line.document["advice"][0]
    changed = {change["path"] for change in row["change"]}
    assert any(path.startswith(("hop.line.queue.up", "hop.sqm.queue.up")) for path in changed)
    goodput = row["loads"]["both"]["effect"]["goodput_down_bps"]
    assert goodput["advised"] > 1.3 * goodput["baseline"]


@pytest.mark.finding("A4")
def test_terminal_and_report_show_the_loads_side_by_side(line) -> None:
    titles = [table.title for table in tables(line.document)]
    assert titles == ["Advice", "Gain under each load", "Not advised"]
    loads = tables(line.document)[1]
    assert [column.header for column in loads.columns] == ["rank", "download alone", "upload alone", "both at once"]
    assert loads.row_count == len(line.document["advice"]) + 2
    assert "Under each load" in [section.title for section in page(line.document).sections]
    assert "both at once: goodput" in line.document["verdict"]


def test_link_has_the_flows_of_each_load_and_a_scenario_has_its_own() -> None:
    link = situation_of([Link([LINE])], direction="up")
    views = {load: link.under(load) for load in link.loads}
    flows = {load: [(flow.name, flow.direction) for flow in view.base.flow] for load, view in views.items()}
    assert flows == {
        "down": [("flow_down", "down")],
        "up": [("flow", "up")],
        "both": [("flow_down", "down"), ("flow", "up")],
    }
    assert views["both"].own == ("flow_down", "flow")
    assert link.directions == ("down", "up")
    given = situation_of([UPLOAD])
    assert (given.loads, given.directions) == ((), ("up",))


def test_scores_over_loads_are_geometric_means_and_the_rest_is_of_one_direction() -> None:
    runs = {"down": {"score_x": 8.0, "rtt": 1.0}, "up": {"score_x": 1.0, "rtt": 2.0}}
    found = over_loads(runs, "up")
    assert found["score_x"] == pytest.approx(math.sqrt(8.0))
    assert (found["rtt"], found["down:rtt"], found["up:score_x"]) == (2.0, 1.0, 1.0)
    assert math.isnan(over_loads({"down": {"score_x": math.nan}, "up": {"score_x": 1.0}}, "down")["score_x"])


def test_runs_of_a_link_are_no_more_than_twice_those_of_a_transfer() -> None:
    link, scenario = situation_of(["dsl-16m"]), situation_of([{**UPLOAD}])
    sizes = [Sizes.within(of, 30, 1e9).runs(30) for of in (link, scenario)]
    assert sizes[0] < 2 * sizes[1]


@pytest.mark.finding("A5")
def test_throughput_is_that_of_the_scenario_without_the_sparse_flow() -> None:
    document = library.advise(MARKING, goal="throughput", may=["sender"], **SMALL).document
    final = next(one for one in document["runs"]["rounds"] if one["name"] == "final")
    as_given = library.simulate({**MARKING, "seeds": final["seeds"]}).metrics["goodput_bps"]["mean"]
    assert document["baseline"]["metrics"]["goodput_bps"]["mean"] == pytest.approx(as_given, rel=1e-9)
    vegas = next(row for row in document["nothing_to_gain"] if row["label"] == "congestion control vegas")
    assert vegas["gain"] < 1.0


@pytest.mark.finding("A5")
def test_change_is_refused_when_its_goodput_falls_without_the_sparse_flow() -> None:
    runs = Runs(situation_of([MARKING]), None, workers=1)
    wanted = {
        one.label: (one,) for one in candidates(runs.situation, ["sender"]) if one.label.endswith(("vegas", "reno"))
    }
    assert len(wanted) == 2
    seeds = range(1001, 1007)
    every = [(), *wanted.values()]
    scored = runs.scored("final", [(one, NO_CONDITION) for one in every], seeds)
    final = dict(zip(map(label_of, every), scored, strict=True))
    flips = _probe_flips(runs, wanted, final, seeds, _Asked("balanced", ("sender",), 1, 1.0, False))
    assert list(flips) == ["congestion control vegas"]
    assert "without it" in flips["congestion control vegas"]


def _ratio(value: float, half: float = 0.01, n: int = 10) -> Ratio:
    return Ratio(value, value - half, value + half, 0.0, n)


@pytest.mark.finding("A5")
@pytest.mark.parametrize(
    ("beside", "without", "gain", "refused"),
    [
        (_ratio(1.05), _ratio(0.91), 1.2, True),
        (_ratio(1.0), _ratio(0.91), 1.2, True),
        (_ratio(1.05), _ratio(1.04), 1.0, False),
        (_ratio(0.90), _ratio(0.85), 1.2, False),
        (_ratio(1.05), _ratio(0.95, half=0.2), 1.2, False),
        (_ratio(1.05), _ratio(0.95, half=0.2), 1.01, True),
        (_ratio(1.001), _ratio(0.998, half=0.001), 1.0, False),
    ],
)
def test_probe_refusal_needs_a_loss_that_only_the_run_without_it_shows(beside, without, gain, refused) -> None:
    assert bool(probe_refusal(beside, without, gain)) == refused


@pytest.fixture(scope="module")
def alone():
    """The advice for the sender of an upload: within the bound of harm, and beyond it."""
    return {lifted: library.advise(UPLOAD, may=["sender"], may_harm=lifted, **SMALL) for lifted in (False, True)}


@pytest.mark.finding("A6")
def test_vegas_alone_is_not_advised_when_it_starves_beside_cubic(alone) -> None:
    document = alone[False].document
    follows("advise", document)
    labels = [row["label"] for row in document["advice"]]
    assert not {"congestion control vegas", "congestion control bbr"} & set(labels)
    vegas = next(row for row in document["nothing_to_gain"] if row["label"] == "congestion control vegas")
    assert vegas["gain"] > 2.0
    assert vegas["why"].startswith("harm: beside one cubic upload it gets")
    (harm,) = vegas["harm"]
    assert (harm["companion"], harm["metric"]) == ("cubic", "own_bps")
    assert harm["share"] < 0.5
    assert any("--may-harm lifts this bound" in text for text in lines(document))


@pytest.mark.finding("A6")
def test_vegas_is_advised_with_its_cost_when_harm_is_allowed(alone) -> None:
    document = alone[True].document
    row = document["advice"][0]
    assert row["label"].startswith("congestion control vegas")
    assert any(
        cost["metric"] == "own_beside_cubic_bps" and cost["who_pays"] == "the flows themselves" for cost in row["costs"]
    )
    assert any("Cost, paid by the flows themselves: beside a cubic flow it gets" in text for text in lines(document))
    assert not any(one["harm"] for one in document["nothing_to_gain"])
    assert not any("--may-harm" in text for text in lines(document))


def test_harmless_change_is_advised_beside_harmful_ones(alone) -> None:
    """The queue serves the upload: no flow beside it has less than half."""
    row = library.advise(UPLOAD, may=["sender", "router"], **SMALL).document["advice"][0]
    assert row["who"] == "router"
    assert row["gain"]["ratio"] > 2.0


def test_third_action_joins_a_pair_when_it_is_compatible_with_both() -> None:
    from ackclock.advisor.race import THIRDS, _triples, compatible

    actions = candidates(situation_of(["dsl-16m"]), WHO)
    pair = next((a, b) for a in actions for b in actions if a.label < b.label and compatible(a, b))
    triples = _triples(actions, [pair], lambda change: 1.0)
    assert len(triples) == THIRDS
    assert len({label_of(one) for one in triples}) == len(triples)
    for one in triples:
        assert {action.label for action in pair} < {action.label for action in one}
        assert all(compatible(a, b) for a in one for b in one if a is not b)
    assert _triples(list(pair), [pair], lambda change: 1.0) == []


def test_third_action_has_the_maximum_gain_with_either_of_a_pair() -> None:
    from ackclock.advisor.race import THIRDS, _triples, compatible

    actions = candidates(situation_of(["dsl-16m"]), WHO)
    pair = next((a, b) for a in actions for b in actions if a.label < b.label and compatible(a, b))
    fitting = [one for one in actions if all(compatible(one, part) for part in pair)]
    assert len(fitting) > THIRDS
    last = fitting[-1]
    joined = {label_of(one) for one in _triples(actions, [pair], lambda change: 2.0 if last in change else 1.0)}
    assert any(last.label in label for label in joined)
    assert not any(last.label in label_of(one) for one in _triples(actions, [pair], lambda change: 1.0))


def test_same_queue_is_that_of_both_directions() -> None:
    from ackclock.advisor.race import same_queue

    actions = {one.label: one for one in candidates(situation_of(["dsl-16m"]).under("both"), WHO)}
    down, up = actions["fq-codel at dsl down"], actions["fq-codel at dsl up"]
    assert same_queue(down, up)
    assert not same_queue(down, actions["cake at dsl up"])
    assert not same_queue(down, actions["fq-codel with a target of 20 ms at dsl up"])
    assert not same_queue(down, actions["ECN"])


def _beside(own: float, other: float, own_base: float, other_base: float) -> Any:
    seeds = range(1, 4)

    def runs(a: float, b: float) -> Mapping[int, Mapping[str, float]]:
        return {seed: {"own_bps": a * (1 + 0.001 * seed), "other_bps": b * (1 + 0.001 * seed)} for seed in seeds}

    found = {("down", name): (runs(own, other), runs(own_base, other_base)) for name in ("cubic", "reno", "bbr")}
    return beside_costs(found)


@pytest.mark.finding("A13")
def test_equal_share_is_a_benefit_when_an_excess_ends() -> None:
    costs, benefits = _beside(22.0e6, 22.9e6, 0.8e6, 43.2e6)
    assert costs == []
    assert [one["text"].split(":")[0] for one in benefits] == [
        f"shares equally with a {name} flow" for name in ("cubic", "reno", "bbr")
    ]
    # The changed flow had the excess.
    costs, benefits = _beside(22.0e6, 22.0e6, 43.2e6, 0.8e6)
    assert costs == []
    assert len(benefits) == 3


@pytest.mark.finding("A13")
def test_less_than_an_equal_share_is_a_cost() -> None:
    costs, benefits = _beside(30.0e6, 14.0e6, 0.8e6, 43.2e6)
    assert [one["metric"] for one in costs] == ["beside_goodput_bps"] * 2
    assert benefits == []
    costs, benefits = _beside(4.0e6, 40.0e6, 22.0e6, 22.0e6)
    assert [one["metric"] for one in costs] == ["own_beside_cubic_bps", "own_beside_bbr_bps"]
    assert benefits == []
    # Equal shares of half the rate are no benefit.
    costs, benefits = _beside(11.0e6, 11.0e6, 22.0e6, 22.0e6)
    assert len(costs) == 4
    assert benefits == []


@pytest.mark.finding("A14")
@pytest.mark.parametrize(
    ("left", "gain", "words"),
    [
        (Left(1, 3), Ratio(1.237, 1.237, 1.237, 1.0, 1), "too few seeds to be certain (1 seed, in which 3 others"),
        (
            Left(2, 1),
            Ratio(1.237, 0.9, 1.6, 0.2, 2),
            "too uncertain: -10 % .. +60 % with 2 seeds, in which 1 other gained",
        ),
        (Left(4, 9), Ratio(1.05, 1.04, 1.06, 0.0, 4), "gains less than 9 others with the same 4 seeds (+4 % .. +6 %)"),
        (Left(2, 9), Ratio(1.02, 1.01, 1.03, 0.0, 2), "gains less than 3 %"),
        (Left(2, 9), Ratio(0.98, 0.9, 1.1, 0.0, 2), "loses"),
    ],
)
def test_reason_is_too_few_seeds_where_these_decided(left, gain, words) -> None:
    assert _left_text(left, gain).startswith(words)


@pytest.mark.finding("A14")
def test_refusal_has_the_interval_when_it_is_too_wide() -> None:
    assert refusal({}, {}, Ratio(1.237, 0.98, 1.6, 0.06, 10), "balanced") == (
        "too uncertain: with 10 seeds its gain is -2 % .. +60 %, which includes 0"
    )
    assert refusal({}, {}, Ratio(1.02, 1.01, 1.03, 0.0, 10), "balanced") == "gains less than 3 %"
