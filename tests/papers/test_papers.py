"""The papers' claims: rows, tolerances, verdicts, analytical results."""

from __future__ import annotations

import csv
import re
import tomllib
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from ackclock import closed_forms
from ackclock.errors import InputError
from ackclock.input.link import PACKAGED
from ackclock.input.scenario.draft import draft_of
from ackclock.papers import asymmetry, report_tables
from ackclock.papers.asymmetry import table1
from ackclock.papers.causes import cause_of
from ackclock.papers.claims import PAPERS, Claim, Quantity, all_claims, claims_of
from ackclock.papers.evidence import By, Evaluate, Evidence, judge
from ackclock.papers.experiments import Experiments, experiments_file, settings_of
from ackclock.papers.ns2 import ns2_values
from ackclock.papers.readings import Reading, contradiction, readings_of
from ackclock.papers.reproduce import EVALUATORS, Reproduction, calibrated, reproduce, untested
from ackclock.papers.terminal_tables import format_totals, summary
from ackclock.papers.tolerance import read_tolerance
from ackclock.papers.wimax_measured.pchar import column
from ackclock.report.page import Table
from ackclock.simulation.runner import RunSpec, run_specs
from ackclock.statistics import interval


def test_claims_file_rows_belong_to_one_paper() -> None:
    text = resources.files("ackclock.papers").joinpath("claims.csv").read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert [claim.id for claim in all_claims()] == [row["id"] for row in rows]
    assert sum(len(claims_of(paper)) for paper in PAPERS) == len(rows)
    assert len({claim.id for claim in all_claims()}) == len(rows)


def test_unknown_paper_is_refused_with_the_known_names() -> None:
    with pytest.raises(InputError, match="asymmetry"):
        reproduce("asymetry")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1.78 Mbps", Quantity(1.78, "Mbps", 0.005)),
        ("k = 18.05", Quantity(18.05, "", 0.005)),
        ("9800.00 Kbps", Quantity(9800.0, "Kbps", 0.005)),
        ("280 ms (277.8)", Quantity(280.0, "ms", 0.5)),
        ("about 2.5 s", Quantity(2.5, "s", 0.05)),
        ("35 %", Quantity(35.0, "%", 0.5)),
        ("AF > ACC > Reno", None),
    ],
)
def test_claim_number_is_read_with_unit_and_rounding(value: str, expected: Quantity | None) -> None:
    assert _claim(value=value).quantity() == expected


@pytest.mark.parametrize(
    ("text", "case", "paper", "inside", "outside"),
    [
        ("+-15 %", "", 4.35, [4.35, 3.70, 5.00], [3.69, 5.01]),
        ("+-50 % relative", "", 2.0, [1.0, 3.0], [0.99, 3.01]),
        ("+-0.05", "", 1.1, [1.05, 1.15], [1.04, 1.16]),
        ("0.01", "", 18.05, [18.0556, 18.04], [18.07]),
        ("+-3 ms", "", 280.0, [277.8, 283.0], [276.9]),
        ("+-10 points", "", 25.0, [15.0, 35.0], [14.9]),
        ("factor 2", "", 10.0, [5.0, 20.0], [4.9, 20.1]),
        ("5 to 15 s", "", 10.0, [5.0, 15.0], [4.9, 15.1]),
        ("exact", "", 0.052, [0.052, 0.0524], [0.053]),
        ("+-25 % (AF: factor 3)", "", 1740.0, [1305.0, 2175.0], [1300.0, 2180.0]),
        ("+-25 % (AF: factor 3)", "AF", 135.8, [46.0, 407.0], [45.0, 408.0]),
        ("+-15 % (rates, RTT), factor 2 (retransmissions)", "rates", 100.0, [86.0, 115.0], [84.0]),
        ("+-15 % (rates, RTT), factor 2 (retransmissions)", "retransmissions", 100.0, [50.0, 200.0], [49.0]),
    ],
)
def test_tolerances_are_parsed(text: str, case: str, paper: float, inside: list[float], outside: list[float]) -> None:
    tolerance = read_tolerance(text, case)
    # Three decimals printed, so that "exact" means the third.
    quantity = Quantity(paper, "", 0.0005)
    assert [value for value in inside if not tolerance.admits(value, quantity)] == []
    assert [value for value in outside if tolerance.admits(value, quantity)] == []


@pytest.mark.parametrize("text", ["none", "ties within 2 %", "do not gate", "-", "shape only"])
def test_tolerance_in_words_requires_the_evaluators_verdict(text: str) -> None:
    tolerance = read_tolerance(text)
    assert tolerance.kind == "stated"
    with pytest.raises(ValueError, match="evaluator"):
        tolerance.admits(1.0, Quantity(1.0, "", 0.5))


@pytest.mark.parametrize(
    ("change", "evidence", "verdict"),
    [
        ({}, Evidence(interval([1.9]), "ran"), "holds"),
        ({}, Evidence(interval([2.2]), "ran"), "fails"),
        ({}, None, "not_tested"),
        ({"tolerance": "none"}, Evidence(None, "ordered", holds=True), "holds"),
        ({"tolerance": "none"}, Evidence(None, "not ordered", holds=False), "fails"),
        ({"tolerance": "do not gate"}, Evidence(interval([1.78]), "ran"), "not_tested"),
        ({"tolerance_reason": "configuration"}, Evidence(interval([1.78]), "set"), "calibration"),
    ],
)
def test_verdict_follows_from_claim_and_evidence(
    change: dict[str, str], evidence: Evidence | None, verdict: str
) -> None:
    evaluate = None if evidence is None else lambda claim: evidence
    result = judge(_claim(**change), evaluate, "waits for a model")
    assert result.verdict == verdict
    assert result.why
    if verdict == "not_tested" and evidence is None:
        assert result.why == "waits for a model"


@pytest.mark.parametrize(
    ("ns2", "agrees"), [({}, None), ({"V1": 2.3}, True), ({"V1": 1.0, "V2": 9.0}, True), ({"V1": 1.78}, False)]
)
def test_ns2_agrees_when_ours_is_within_10_percent_of_its_range(ns2: dict[str, float], agrees: bool | None) -> None:
    result = judge(_claim(), lambda claim: Evidence(interval([2.4]), "ran", ns2=ns2), "")
    assert result.verdict == "fails"
    assert result.ns2_agrees is agrees


def test_k_equals_the_papers() -> None:
    k = closed_forms.normalized_bandwidth_ratio
    assert k(10e6, 100e3, 1000, 40) == pytest.approx(4.0)
    assert k(10e6, 28.8e3, 1000, 52) == pytest.approx(18.05, abs=0.01)
    assert k(10e6, 9.6e3, 1000, 40) == pytest.approx(41.7, abs=0.05)
    assert closed_forms.ack_limited_throughput(10e6, 18.05, 2) == pytest.approx(1.1e6, rel=0.01)
    assert closed_forms.ack_limited_throughput(10e6, 0.5, 1) == 10e6
    assert closed_forms.transmission_time(1000, 28.8e3) == pytest.approx(0.2778, abs=1e-4)


@pytest.fixture(scope="module")
def runs() -> Experiments:
    return Experiments((1,))


def test_table_1_has_verdicts_by_cell_with_ns2_values(runs: Experiments) -> None:
    evaluators = asymmetry.evaluators(runs)
    claims = {claim.id: claim for claim in claims_of("asymmetry")}
    for name in table1.CELLS:
        entry = judge(claims[name], evaluators[name], "").as_json()
        quantity = claims[name].quantity()
        assert quantity is not None
        ours: Any = entry["ours"]
        within = abs(ours["mean"] / quantity.value - 1.0) <= (
            0.20 if name in ("P1-019", "P1-022", "P1-025", "P1-028") else 0.15
        )
        assert entry["verdict"] == ("holds" if within else "fails")
        assert entry["ns2_agrees"] is True, name
        assert entry["ns2"] == ns2_values(name)
        assert entry["also"].keys() == {"V1", "V2"}


def test_report_has_the_papers_tables_with_paper_and_ns2_values(runs: Experiments) -> None:
    evaluators = asymmetry.evaluators(runs)
    result = [
        judge(c, evaluators.get(c.id) if c.id in table1.CELLS else None, "not run here").as_json()
        for c in claims_of("asymmetry")
    ]
    drawn = report_tables.section("asymmetry", result)
    assert drawn is not None
    first = drawn.blocks[0]
    assert isinstance(first, Table)
    assert [len(row) for row in first.rows] == [4, 4, 4, 4]
    assert first.rows[0][1].note == "paper 1.78, ns-2 1.93 / 1.82"
    assert report_tables.section("wibro", []) is None


def test_analytical_claims_hold_by_our_functions(runs: Experiments) -> None:
    result = [
        judge(claim, found, "")
        for claim in claims_of("asymmetry")
        if (found := asymmetry.arithmetic_evaluators().get(claim.id))
    ]
    assert len(result) == 14
    assert [claim.claim.id for claim in result if claim.verdict != "holds"] == []


@pytest.mark.parametrize("paper", [name for name in PAPERS if name != "asymmetry"])
def test_papers_have_evaluators_for_60_percent_of_claims(paper: str) -> None:
    found = EVALUATORS[paper](Experiments((1,), paper=paper))
    open_ = [
        claim for claim in claims_of(paper) if not (claim.is_configuration or claim.do_not_gate or calibrated(claim.id))
    ]
    result = [claim.id for claim in open_ if claim.id in found]
    assert len(result) >= 0.6 * len(open_)
    assert set(found) <= {claim.id for claim in claims_of(paper)}


def test_wibro_claims_have_verdicts_and_reasons(tmp_path: Path) -> None:
    done = reproduce("wibro", quick=True, out=tmp_path)
    document = done.document
    assert [entry["id"] for entry in document["claims"]] == [claim.id for claim in claims_of("wibro")]
    assert sum(document["totals"].values()) == len(document["claims"])
    assert all(
        entry["why"] for entry in document["claims"] if entry["verdict"] in ("not_tested", "fails", "calibration")
    )
    verdicts = {entry["id"]: (entry["verdict"], entry["gated"]) for entry in document["claims"]}
    assert verdicts["P4-001"] == ("calibration", False), "what a link was set up with proves nothing"
    assert verdicts["P4-028"][1] is False, "needs the paper's own network"
    assert verdicts["P4-036"] == ("calibration", False), "grants were chosen with the downloads in view"
    assert verdicts["P4-042"] == ("holds", True)
    assert document["seeds"] == [1]
    apart = document["totals_by"]
    assert {by: sum(found.values()) for by, found in apart.items()} == Counter(
        {"simulation": 0, "arithmetic": 0, **Counter(entry["by"] for entry in document["claims"] if entry["by"])}
    )
    failing = [c for c in document["claims"] if (c["by"], c["verdict"]) == ("simulation", "fails")]
    assert failing and all(entry["cause"]["text"] for entry in failing)
    assert all(entry["cause"]["kind"] == entry["standing"] for entry in failing)
    simulated = [c for c in document["claims"] if c["by"] == "simulation" and c["verdict"] in ("holds", "fails")]
    assert document["standings"] == {
        kind: sum(c["standing"] == kind for c in simulated) for kind in document["standings"]
    }
    drawn = [figure["title"].partition(":")[0] for figure in document["figures"]]
    assert drawn == [f"Figure {number}" for number in ("2", "3a", "3b", "3c", "4a", "4b", "5a", "5a, apart", "5b")]
    assert any(row.get("paper") for row in document["figures"][0]["rows"]), "what the paper states stands beside ours"
    page = done.report().read_text("utf-8")
    assert "Figure 5a" in page and "How the simulated claims stand" in page
    (line,) = summary([done])
    assert sum(line["standings"].values()) == len(simulated)
    assert line["claims"] == line["calibrated"] + line["holding"] + line["failing"] + line["not_tested"]
    assert sorted(name for group in line["why_not"] for name in group["claims"]) == [
        "P4-015",
        "P4-016",
        "P4-017",
        "P4-019",
        "P4-026",
        "P4-027",
    ]


def _readings() -> list[Reading]:
    return [reading for paper in PAPERS for reading in readings_of(paper)]


@pytest.mark.parametrize("paper", PAPERS)
def test_claim_has_no_verdict_from_a_reading_calibrated_on_it(paper: str) -> None:
    claims = {claim.id: claim for claim in claims_of(paper)}
    found = Evidence(interval([1.0]), "ran", holds=True)
    for reading in readings_of(paper):
        assert reading.source and reading.choice, reading.name
        assert bool(reading.calibrated_on) == bool(reading.calibration), reading.name
        assert reading.calibrated_on <= claims.keys(), reading.name
        for name in reading.calibrated_on:
            verdict = judge(claims[name], lambda claim: found, untested(name), calibrated(name)).verdict
            assert verdict in ("calibration", "not_tested"), (reading.name, name)


@pytest.mark.parametrize("paper", PAPERS)
def test_alternatives_are_settings_that_the_experiments_can_run(paper: str) -> None:
    experiments = experiments_file(paper)["experiments"]
    for reading in readings_of(paper):
        for alternative in reading.alternatives:
            named = alternative.experiments or experiments.keys()
            assert set(named) <= experiments.keys(), alternative.name
            changed = False
            for name in named:
                plain = settings_of(experiments[name], paper)
                other = settings_of(experiments[name], paper, name, alternative)
                changed |= any(a[1] != b[1] for a, b in zip(plain, other, strict=True))
            assert changed, f"{reading.name}: {alternative.name} changes no setting"


def test_claims_counted_before_the_readings_still_count_or_quote_the_paper() -> None:
    listed = tomllib.loads(Path(__file__).with_name("counted.toml").read_text("utf-8"))
    left = {claim: entry["sentence"] for entry in listed["left"] for claim in entry["claims"]}
    assert all(left.values())
    for paper, ids in listed["counted"].items():
        evaluators = EVALUATORS[paper](Experiments((1,), paper=paper))
        claims = {claim.id: claim for claim in claims_of(paper)}
        gone = {name for name in ids if name not in evaluators or calibrated(name) or claims[name].do_not_gate}
        gone |= {name for name in ids if contradiction(paper, name)}
        assert gone <= left.keys(), paper


def test_a_failing_claim_is_unexplained_without_an_experiment() -> None:
    cause = cause_of("wimax-simulated", "P3-999")
    assert (cause.experiment, cause.kind) == ("", "unexplained")


def test_score_has_simulated_claims_apart_and_marks_one_seed() -> None:
    evidence: dict[str, By] = {"P1-018": "simulation", "P1-019": "simulation", "P1-020": "arithmetic"}

    def found(by: By) -> Evaluate:
        return lambda claim: Evidence(interval([1.78]), "", holds=claim.id != "P1-019", by=by)

    results = [judge(_claim(id=name), found(by), "") for name, by in evidence.items()]
    done = Reproduction("asymmetry", results, seeds=(1,))
    assert done.totals_by["simulation"] == {"holds": 1, "fails": 1, "calibration": 0, "not_tested": 0}
    assert done.totals_by["arithmetic"]["holds"] == 1
    text = format_totals(done.totals_by, done.totals, len(done.seeds))
    assert "1 of 2 simulated claims hold" in text and text.endswith("(one seed)")


@pytest.mark.parametrize("link", sorted({reading.link for reading in _readings() if reading.link}))
def test_calibrated_link_names_its_claims(link: str) -> None:
    comment = PACKAGED.joinpath(f"{link}.toml").read_text("utf-8").partition("\n[[hop]]")[0].replace("\n#", "")
    named = set(re.findall(r"P\d-\d{3}", comment))
    for paper, first, last in re.findall(r"(P\d)-(\d{3})(?:\.\.| to )(\d{3})", comment):
        named |= {f"{paper}-{number:03d}" for number in range(int(first), int(last) + 1)}
    for paper, several in re.findall(r"(P\d)-((?:\d{3}(?:, | and |,? to |\.\.)?)+)", comment):
        named |= {f"{paper}-{number}" for number in re.findall(r"\d{3}", several)}
    ids = {name for reading in _readings() if reading.link == link for name in reading.calibrated_on}
    assert ids - named == set()


def test_pchar_fit_has_the_rate_of_a_link_by_bytes() -> None:
    hops = [{"name": "core", "delay": "5 ms", "rate": "100 Mb/s"}, {"name": "last", "delay": "5 ms", "rate": "1 Mb/s"}]
    probe = {"kind": "probe", "gap": "250 ms", "rounds": 2}
    flows = [
        {"name": "part", "over": ["core"], "workload": probe},
        {"name": "all", "start": "100 s", "workload": probe},
    ]
    scenario = draft_of({"hop": hops, "flow": flows, "duration": "200 s"}).check()
    result = run_specs([RunSpec(scenario, 1)])[0]
    found = column(result, up=False)
    assert found.bottleneck_kbps == pytest.approx(1000.0, rel=0.01)
    assert found.wired == pytest.approx(10.0 + 8e-5 * 56, abs=0.01), "the intercept: a probe of no size, and its answer"
    assert found.loss == 0.0


def test_claims_without_evaluator_have_a_reason() -> None:
    assert [
        claim.id for claim in all_claims() if "no evaluator" in untested(claim.id) and not _has_verdict(claim)
    ] == []


def _has_verdict(claim: Claim) -> bool:
    known = {found for paper, make in EVALUATORS.items() for found in make(Experiments((1,), paper=paper))}
    return claim.id in known or claim.is_configuration or claim.do_not_gate or bool(calibrated(claim.id))


def _claim(**changes: str) -> Claim:
    fields = {
        "id": "P1-018",
        "paper": "",
        "where": "Table 1",
        "scenario": "",
        "metric": "throughput",
        "variant": "Reno",
        "parameters": "",
        "value": "1.78 Mbps",
        "tolerance": "+-15 %",
        "tolerance_reason": "",
        "kind": "exact table cell",
        "network_bound": "no",
    }
    return Claim(**{**fields, **changes})
