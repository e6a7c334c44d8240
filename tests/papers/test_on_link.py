"""`reproduce PAPER --on LINK`: verdicts of ratios, the designs, and whole reports."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

import ackclock
from ackclock import cli
from ackclock.input.link import PACKAGED
from ackclock.papers.claims import PAPERS, claims_of
from ackclock.papers.experiments import experiments_file
from ackclock.papers.on_link.design import design_of
from ackclock.papers.on_link.placement import Placement
from ackclock.papers.on_link.run import placed, reproduce_on
from ackclock.papers.on_link.verdict import Alike, Bound, Difference, Expected, Level, survival
from ackclock.statistics import Ratio, ratio, ratios
from tests.support.documents import follows

NOISE = (0.94, 1.07, 0.99, 1.05, 0.91, 1.03, 0.97, 1.08, 0.95, 1.02)
"""Figures of ten seeds about 1; their interval is 3 % wide on each side."""


def _seeds(mean: float, spread: float = 1.0) -> Ratio:
    """The ratio to 1 of ten figures about a mean."""
    return ratio([(mean * (1.0 + spread * (value - 1.0)), 1.0) for value in NOISE])


@pytest.mark.finding("P11")
@pytest.mark.parametrize(
    ("expected", "mean", "verdict"),
    [
        (Difference.of(1.96), 1.9, "survives"),
        (Difference.of(1.96), 1.2, "smaller"),
        (Difference.of(1.96), 5.0, "larger"),
        (Difference.of(1.96), 1.0, "gone"),
        (Difference.of(1.96), 0.8, "reversed"),
        (Difference.of(0.5), 0.45, "survives"),
        (Difference.of(0.5), 0.125, "larger"),
        (Difference.of(0.5), 0.85, "smaller"),
        (Difference.of(0.5), 1.3, "reversed"),
        (Difference(more=False), 0.9, "survives"),
        (Difference(more=False), 1.1, "reversed"),
        (Alike(0.1), 1.02, "survives"),
        (Alike(0.1), 1.4, "gone"),
        (Bound(above=True, value=0.9), 1.1, "survives"),
        (Bound(above=True, value=0.9), 0.8, "gone"),
        (Level(6.2), 1.1, "survives"),
        (Level(6.2), 0.3, "smaller"),
        (Level(6.2), 3.0, "larger"),
        (Level(6.2), 0.0, "gone"),
    ],
)
def test_statement_has_a_verdict_when_the_interval_excludes_the_others(expected, mean, verdict):
    assert survival(expected, _seeds(mean)) == verdict


@pytest.mark.finding("P11")
@pytest.mark.parametrize(
    ("expected", "mean"),
    [
        (Difference.of(1.96), 0.8),
        (Difference.of(1.96), 1.2),
        (Difference.of(0.96), 1.04),
        (Difference(more=True), 0.9),
        (Alike(0.1), 1.2),
        (Bound(above=True, value=0.9), 0.97),
        (Level(6.2), 2.0),
    ],
)
def test_statement_is_undecided_when_the_difference_is_within_the_noise(expected: Expected, mean: float):
    """The same means as those that are reversed, smaller or gone with less noise."""
    assert survival(expected, _seeds(mean, spread=9.0)) == "undecided"


@pytest.mark.parametrize("expected", [Difference.of(1.96), Alike(), Bound(above=True, value=0.9), Level(6.2)])
def test_one_seed_and_no_figure_decide_nothing(expected):
    assert survival(expected, ratio([(1.0, 3.0)])) == "undecided"
    assert survival(expected, ratio([(float("nan"), 3.0)] * 4)) == "undecided"


def test_difference_of_4_percent_is_not_gone_by_the_margin_of_5():
    """Half of the paper's own effect is the margin of a small one."""
    assert survival(Difference.of(0.96), _seeds(0.97, spread=0.1)) == "survives"
    assert survival(Difference.of(0.96), _seeds(0.99, spread=0.1)) == "gone"


def test_interval_widens_when_more_statements_are_asked():
    pairs = [(value * 1.05, 1.0) for value in NOISE]
    alone = ratios({"a": pairs})["a"]
    among = ratios({"a": pairs, **{f"{n}": [(value, 1.0) for value in NOISE] for n in range(9)}})["a"]
    assert alone.p < 0.05 < among.p
    assert alone.lo > 1.0 > among.lo


@pytest.mark.finding("P11")
@pytest.mark.parametrize("paper", PAPERS)
def test_design_names_each_experiment_of_the_paper_once_as_run_or_as_staying(paper):
    design, file = design_of(paper), experiments_file(paper)
    run = {point["experiment"] for point in design.points.values()}
    assert not run & design.stays.keys()
    # Experiments that only vary what another one runs.
    assert {*run, *design.stays} == file["experiments"].keys()
    assert all(point.get("scheme", "") in ("", *file.get("schemes", {})) for point in design.points.values())
    used = {name for one in design.questions for name in (one.point, one.base) if name}
    assert used == design.points.keys()


@pytest.mark.parametrize("paper", PAPERS)
def test_questions_name_claims_of_the_paper_once_each(paper):
    design, ids = design_of(paper), {claim.id for claim in claims_of(paper)}
    assert all(set(question.claims) <= ids for question in design.questions)
    assert len({question.id for question in design.questions}) == len(design.questions)


@pytest.mark.parametrize("link", ["nr-uplink", "docsis-3.1", "wifi-80211b", "dumbbell-10m", "leo"])
@pytest.mark.parametrize("paper", PAPERS)
def test_each_point_is_a_valid_scenario_when_the_link_is_another(paper, link):
    place = Placement(design_of(paper), link)
    for point in place.design.points.values():
        scenario = place.scenario(point)
        assert [hop.name for hop in scenario.hop] == [hop.name for hop in place.hops]


def test_keys_of_hops_stand_at_the_hop_with_the_same_part_when_the_link_is_another():
    place = Placement(design_of("asymmetry"), "docsis-3.1")
    cable = place.scenario(place.design.points["Reno+AF"]).hop[-1]
    assert cable.up.queue.kind == "pie"
    assert cable.up.queue.ack.filter.preset == "p1"
    assert cable.down.queue.ack is None
    lossy = Placement(design_of("wimax-simulated"), "nr-uplink")
    core, air = lossy.scenario(lossy.design.points["BIC, errors 1e-3"]).hop
    assert core.down.loss is None
    assert air.down.loss.mean == 1e-3
    window = Placement(design_of("wimax-measured"), "nr-uplink")
    tcp = window.scenario(window.design.points["Vegas, 2.2 BDP"]).tcp
    assert tcp.receive_buffer == round(2.2 * window.bdp_bytes)


@pytest.fixture(scope="module")
def bursts():
    return reproduce_on("wimax-bursts", "wibro-wave2", seeds=3)


@pytest.mark.finding("P11")
def test_document_follows_its_schema_and_counts_each_question(bursts):
    document = follows("reproduce", bursts.document)
    assert sum(document["totals"].values()) == len(document["questions"]) == 5
    assert [entry["names"] for entry in document["not_transferred"]] == [["radio"]]
    assert document["sentence"]["today"].startswith("On wibro-wave2, of the paper's 5 statements ")


def test_no_loss_in_either_scheme_is_no_difference(bursts):
    loss = {answer.question.id: answer for answer in bursts.answers}
    assert loss["busy-hour-loss"].verdict == "gone"
    assert loss["overflow"].as_json()["today"]["why"] == "nothing dropped"


@pytest.mark.finding("P11")
def test_statements_survive_when_the_link_is_the_return_line_of_the_paper(tmp_path):
    """28.8 kb/s without header compression: the network of the figures that are asked for. The
    paper states nothing of QUIC: what it says of ACKs need not hold there.
    """
    text = (PACKAGED / "cable-dialup.toml").read_text("utf-8").replace('framing = "cslip"', 'framing = "none"')
    (tmp_path / "slip.toml").write_text(text, "utf-8")
    verdicts = {
        answer.question.id: answer.verdict
        for answer in reproduce_on("asymmetry", tmp_path / "slip.toml", seeds=4).answers
    }
    for name in ("af-goodput", "acc-goodput", "af-goodput-full", "acks-first-goodput"):
        assert verdicts[name] == "survives", name
    assert not [name for name, found in verdicts.items() if found in ("gone", "reversed") and name[:4] != "quic"]


def test_terminal_lines_fit_80_columns(bursts, capsys, monkeypatch):
    from ackclock.cli.output import print_tables

    monkeypatch.setenv("COLUMNS", "80")
    print_tables(bursts.tables())
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("wimax-bursts on wibro-wave2: ")


def test_command_writes_folder_and_report_and_continues_there(tmp_path, capsys):
    folder = tmp_path / "on"
    arguments = ["reproduce", "wimax-bursts", "--on", "wibro-wave2", "--seed", "1", "--out", str(folder)]
    assert cli.run([*arguments, "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["totals"]["undecided"] == 5
    assert (folder / "report.html").read_text().count("wimax-bursts on wibro-wave2")
    assert cli.run(["show", str(folder)]) == 0
    assert "busy-hour-rtt" in capsys.readouterr().out
    assert ackclock.open(folder).frames["questions"]["verdict"].to_list() == ["undecided"] * 5
    cells = {path: path.stat().st_mtime_ns for path in folder.glob("cells/*/summary.json")}
    assert len(cells) == 4
    assert cli.run([*arguments, "--quiet"]) == 0
    assert {path: path.stat().st_mtime_ns for path in cells} == cells


def test_pages_are_named_with_the_reason_when_a_proxy_of_the_link_does_not_carry_them():
    scenarios, refused = placed(Placement(design_of("asymmetry"), "geo-100m-pep"))
    assert {"pages, Reno", "pages, AF"} == {name for name in refused if "QUIC" not in name}
    assert "geo-100m-pep cannot have it: hop.satellite.pep: a proxy on the path of web" in refused["pages, AF"]
    assert "a proxy on the path of a flow over QUIC" in refused["QUIC"]
    assert scenarios.keys() == design_of("asymmetry").points.keys() - refused.keys()


def test_questions_are_named_with_the_reason_when_the_link_has_no_rate(tmp_path):
    """A link without a rate has no BDP and no bottleneck; exit status 0."""
    (tmp_path / "free.toml").write_text('title = "no rate"\n[[hop]]\nname = "wire"\ndelay = "5 ms"\n')
    link = str(tmp_path / "free.toml")
    place = Placement(design_of("wimax-bursts"), link)
    assert place.bdp_bytes is None
    done = reproduce_on("wimax-bursts", link, seeds=2)
    assert not done.answers
    assert done.document["sentence"]["today"] == f"No statement of the paper can be asked on {link}."
    assert "no hop limits the rate of a direction" in done.not_transferred[0]["why"]
    assert list(_names(done.not_transferred[:1])) == [question.id for question in done.design.questions]


def _names(entries: Sequence) -> list[str]:
    return [name for entry in entries for name in entry["names"]]
