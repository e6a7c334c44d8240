"""The page of public reports has the answers of today, as far as the gate can run them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from studies.reports.cases import VERDICTS, Case, answered, cases

PAGE = Path(__file__).parents[2] / "docs/evidence/reports.md"
CASES = {", ".join(case.sources): case for case in cases()}


def rows() -> dict[str, str]:
    """The verdicts of the page's table."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    return {cells[0]: cells[2] for line in lines[1:] if len(cells := line.strip("| ").split(" | ")) == 3}


def test_page_has_a_row_for_each_report() -> None:
    assert list(rows()) == list(CASES)
    for name, verdict in rows().items():
        assert verdict == CASES[name].verdict and verdict in VERDICTS, name
        assert verdict == "right" or CASES[name].reason or not CASES[name].commands


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.sample], ids=lambda case: case.sources[0])
def test_answer_of_a_report_is_the_known_one_when_the_gate_runs_it(case: Case) -> None:
    assert not answered(case).misses


def test_answer_is_wrong_when_a_figure_is_outside_its_range() -> None:
    case = next(case for case in CASES.values() if case.sources[0] == "comcast 28")
    other = replace(case, figure=[case.figure[0], replace(case.figure[1], accepted="drops above 10 Mb/s")])
    found = answered(other)
    assert found.verdict == "wrong" and len(found.misses) == 1
