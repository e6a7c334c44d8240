"""The pages of the emulator's measurements keep what the present code has measured."""

from __future__ import annotations

import statistics

import pytest

from studies.emulator import page
from studies.emulator.bound import Run, RunStore, error, is_within, table
from studies.emulator.code_digest import emulator_digest
from studies.kernel import page as kernel_page
from studies.kernel.runs import release
from studies.kernel.transfers import Figures, Transfer, TransferStore


def run(**keys):
    made = {
        "workload": "echo requests",
        "loaded": True,
        "code": emulator_digest(),
        "started": 1e9,
        "grade": "usable",
        "goodput_bound": 0.01,
        "rtt_bound": 0.02,
        "late_share": 0.1,
        "p99_us": 100.0,
        "load": 4.0,
        "steal_percent": 0.5,
        "goodput_bps": 1e6,
        "rtt_p95_s": 0.03,
    }
    return Run(**{**made, **keys})


@pytest.mark.finding("L9")
def test_sections_stay_when_another_one_is_written():
    sections = {"Accuracy": "a\n\nb", "Speed": "c"}
    text = page.page_of(sections)
    assert page.sections_of(text) == sections
    assert page.sections_of(page.page_of({**sections, "Speed": "d"}))["Accuracy"] == "a\n\nb"
    assert page.code_line() in page.page_of({"Speed": f"{page.code_line()}\n\nd"})


@pytest.mark.finding("L9")
def test_error_is_the_distance_from_what_the_references_predict_of_one_more_run():
    # Student's t of 99 % and nine degrees of freedom is 3.25, and a tenth is added to the variance.
    references = [0.9, 1.1] * 5
    half = 3.2498 * statistics.stdev(references) * 1.1**0.5
    assert 0.3 < half < 0.4
    assert error(1.0 + half - 0.001, references) == 0.0
    assert error(1.1 * (1.0 + half), references) == pytest.approx(0.1, abs=1e-4)
    assert error((1.0 - half) / 1.2, references) == pytest.approx(0.2, abs=1e-4)
    assert error(1.21, [1.1]) == pytest.approx(0.1)


@pytest.mark.finding("L9")
def test_run_is_within_its_bounds_when_both_errors_are():
    reference = [run(loaded=False)]
    assert is_within(run(goodput_bps=0.991e6, rtt_p95_s=0.0305), reference)
    assert not is_within(run(goodput_bps=0.98e6), reference)
    assert not is_within(run(rtt_p95_s=0.031), reference)
    assert is_within(run(rtt_p95_s=0.031, rtt_bound=None), reference)


@pytest.mark.finding("L9")
def test_runs_by_an_earlier_emulator_do_not_count(tmp_path):
    store = RunStore(tmp_path / "runs.jsonl")
    for each in (run(loaded=False), run(), run(code="earlier")):
        store.add(each)
    again = RunStore(tmp_path / "runs.jsonl")
    assert again.runs == [run(loaded=False), run()]
    lines = "\n".join(table(again))
    assert "1 of 1 | 2001-09-09 | 4.0, 4.0 | 0.5, 0.5 |" in lines


@pytest.mark.finding("L9")
def test_kernel_transfers_by_an_earlier_emulator_do_not_count(tmp_path):
    store = TransferStore(tmp_path / "kept.jsonl")
    row = ("wide", "reno", 15.0, "6.0", "link")
    for code, grade in (("earlier", "usable"), ("present", "exact")):
        store.add(Transfer(*row, 0.5, 1.0, Figures(9e6, 120.0, 3), 1, grade, code, 1e9, 0.25))
    (kept,) = TransferStore(tmp_path / "kept.jsonl").of(*row, "present")
    side = kernel_page.of_transfers([kept])
    assert (side.grades, side.date, side.load, side.steal) == ("1 exact", "2001-09-09", "1", "0.2")


def test_rows_of_a_kernel_page_with_fewer_columns_stay():
    old = [name for name in kernel_page.HEADINGS if name not in ("grades", "date", "steal, %")]
    row = ["wide", "reno", "9.1", "9.0", "-1.0%", "120.0", "121.0", "+0.8%", "3", "4", "2", "holds"]
    lines = ["| " + " | ".join(cells) + " |" for cells in (old, row)]
    rows = kernel_page.of_page("\n".join([f"by Linux {release()}", *lines]))
    side = rows["wide", "reno"]
    assert (side.goodput, side.load, side.date, side.grades) == ("9.1", "2", "", "")
    assert "earlier" in side.note
