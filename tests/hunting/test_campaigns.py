"""The campaigns of `hunt` against ackclock itself: objectives on cases with a known answer."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ackclock.hunting.run import check_valid
from ackclock.hunting.table import read_hunt
from ackclock.input.scenario.draft import draft_of
from ackclock.input.scenario.model import Scenario
from studies.hunt import against_kernel, against_one_worker, against_truth
from studies.hunt.campaigns import CAMPAIGNS, Campaign
from studies.virtual_kernel.compare import Comparison, Figure

ROOT = Path(__file__).parents[2]
LINE: dict[str, Any] = {
    "name": "line",
    "rate": {"down": "8 Mb/s", "up": "500 kb/s"},
    "delay": "12 ms",
    "queue": {"down": {"kind": "droptail", "bytes": "60 kB"}},
    "policer": {"down": {"rate": "2 Mb/s", "burst": "20 KiB"}},
}


def scenario(hop: dict[str, Any], *variants: str) -> Scenario:
    flows = [
        {"name": f"{variant}{at}", "variant": variant, "workload": {"kind": "bulk"}}
        for at, variant in enumerate(variants)
    ]
    return draft_of({"duration": "2 s", "hop": [hop], "flow": flows}).check()


@pytest.mark.parametrize("campaign", CAMPAIGNS, ids=lambda campaign: campaign.name)
def test_campaign_has_a_valid_hunt(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    draft = draft_of(campaign.hunted)
    table = read_hunt(draft)
    check_valid(draft, table)
    assert table.objective.breaks == campaign.breaks


def test_files_and_tables_of_one_worker_are_those_of_two() -> None:
    assert against_one_worker.differing(scenario({"name": "a", "rate": "2 Mb/s", "delay": "5 ms"}, "reno")) == []


def test_files_differ_when_one_is_missing_or_has_another_byte(tmp_path: Path) -> None:
    for folder, texts in (("1", {"same": "a", "other": "b", "missing": "c"}), ("2", {"same": "a", "other": "B"})):
        (tmp_path / folder).mkdir()
        for name, text in texts.items():
            (tmp_path / folder / name).write_text(text)
    assert against_one_worker._files(tmp_path / "1", tmp_path / "2") == ["missing", "other"]


def test_truth_is_outside_by_the_widths_of_the_interval() -> None:
    row = {"lo": 90.0, "hi": 100.0}
    distances = [against_truth._outside(row, truth) for truth in (95.0, 105.0, 70.0)]
    assert distances == [0.0, 0.5, 2.0]
    # An interval counts as 1 % of the truth at least.
    assert against_truth._outside({"lo": 99.0, "hi": 99.0}, 100.0) == pytest.approx(1.0)


def test_truths_of_a_hop_have_the_paths_and_units_of_a_fit() -> None:
    hop = {
        "name": "access",
        "rate": "8 Mb/s",
        "delay": "12 ms",
        "queue": {"down": {"bytes": "60 kB"}},
        "loss": {"down": {"kind": "gilbert-elliott", "mean": 0.01, "bad_sojourn": "20 ms"}},
        "jitter": {"down": {"kind": "exponential", "mean": "500 us"}},
    }
    found = dict(against_truth.truths(scenario(hop, "reno").hop[0].written()))
    assert found == {
        "hop.access.rate.down": 8e6,
        "hop.access.rate.up": 8e6,
        "hop.access.delay": 12.0,
        "hop.access.queue.down.bytes": 6e4,
        "hop.access.loss.down.mean": 0.01,
        "hop.access.loss.down.bad_sojourn": 20.0,
        "hop.access.jitter.down.mean": 0.5,
    }


def test_row_of_the_kernel_has_the_link_of_the_case() -> None:
    row = against_kernel.row_of(scenario(LINE, "bbr", "reno"))
    assert "police rate 2000000bit burst 20480b" in row.path.guest and "bfifo limit 60000" in row.path.guest
    assert "htb rate 8000000bit" in row.path.guest and "netem rate 500000bit" in row.path.guest
    assert [flow.variant for flow in row.flows] == ["bbr", "reno"] and row.seconds == 2.0
    link = draft_of({**tomllib.loads(row.link(1)), "duration": "1 s", "flow": [{"workload": {"kind": "bulk"}}]})
    assert link.check().hop[0].written() == scenario(LINE, "bbr").hop[0].written()


def test_difference_counts_when_the_seeds_do_not_explain_it() -> None:
    def compared(verdict: str) -> Comparison:
        figure = Figure("goodput", 100.0, 110.0, verdict)
        return Comparison(against_kernel.row_of(scenario(LINE, "reno")), ((figure,),))

    assert against_kernel.largest(compared("misses")) == pytest.approx(5.0)
    assert against_kernel.largest(compared("spread")) == 1.0
    assert against_kernel.largest(compared("spread"), spread=False) == pytest.approx(5.0)
