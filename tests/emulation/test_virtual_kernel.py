"""The simulator against the committed table of Linux in virtual time; `make virtual-kernel` writes
the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from studies.virtual_kernel import build, compare, draws, guest, page, runs, setups, table, uml
from studies.virtual_kernel.compare import UNTRACED, known_misses
from studies.virtual_kernel.runs import Figures, Outcome
from studies.virtual_kernel.setups import Flow, Row
from studies.virtual_kernel.table import Measured

DRAWS = draws.read()
MEASURED = {row.name: (row, found) for row, found in page.measured_rows(table.read(), DRAWS)}
FIGURES = Figures(9e6, 50.0, 80.0, 55.0, 40, 50_000)


def faults(name: str) -> list[str]:
    """What is wrong with a row: it misses and is not listed, or it is listed and holds."""
    row, found = MEASURED[name]
    simulated = [runs.simulated(row, run.seed, DRAWS) for run in found]
    compared = compare.compare(row, [run.outcome for run in found], simulated)
    listed = name in known_misses()
    if compared.verdict == "misses" and not listed:
        return [f"{figure.name}: kernel {figure.kernel:g}, simulator {figure.simulator:g}"
                for flow in compared.flows for figure in flow if figure.verdict == "misses"]  # fmt: skip
    return ["holds, but is listed in misses.toml"] if listed and compared.verdict != "misses" else []


SIMULATED = [name for name, (row, _) in MEASURED.items() if row.path.missing is None]
QUICK = [
    name
    for name in SIMULATED
    for row in [MEASURED[name][0]]
    if not row.path.seeded and all(flow.variant in ("reno", "cubic", "dctcp") for flow in row.flows)
]
"""Rows that `make test` runs, in 20 s of CPU."""


@pytest.mark.parametrize("name", QUICK)
def test_simulator_agrees_with_linux_in_virtual_time(name: str) -> None:
    assert not faults(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SIMULATED if name not in QUICK])
def test_simulator_agrees_with_linux_in_virtual_time_in_further_rows(name: str) -> None:
    assert not faults(name)


def test_table_has_every_row_and_seed() -> None:
    assert len(MEASURED) >= 120
    assert [row.name for row in setups.rows()] == list(MEASURED)
    assert all(len(found) == len(row.seeds) for row, found in MEASURED.values())


def test_each_listed_miss_is_a_row_with_a_cause() -> None:
    misses = known_misses()
    assert set(misses) <= set(MEASURED)
    assert all(misses.values())


def test_table_is_read_as_it_was_written(tmp_path) -> None:
    outcome = Outcome((FIGURES, replace(FIGURES, retransmitted=7)), 9, 3, "abc")
    run = Measured("path/cubic+bbr", 2, "s", "6.12", "c", "b", "g", "2026-11-26", outcome)
    table.write([run], tmp_path / "table.csv")
    assert table.read(tmp_path / "table.csv") == [run]


def test_runs_that_the_table_lacks_are_those_of_other_seeds_and_scripts() -> None:
    row = Row(setups.ONE_BDP, (Flow("cubic"),), seeds=(1, 2))
    run = Measured(row.name, 1, table.script_digest(row, 1, DRAWS), "", "", "", "", "", Outcome((FIGURES,), 0, 0, ""))
    assert page.missing([run], [row], DRAWS) == [(row, 2)]
    assert page.missing([replace(run, script="other")], [row], DRAWS) == [(row, 1), (row, 2)]


def verdicts(kernel: list[Figures], simulator: list[Figures], path: setups.Path = setups.ONE_BDP) -> list[str]:
    row = Row(path, (Flow("cubic"),))
    compared = compare.compare(row, *([Outcome((one,), 0, 0, "") for one in side] for side in (kernel, simulator)))
    return [figure.verdict for figure in compared.flows[0]]


def test_figures_beyond_their_tolerances_miss() -> None:
    near = Figures(9.17e6, 51.4, 82.3, 0.0, 44, 0)
    assert verdicts([FIGURES], [near]) == ["holds"] * 4
    assert verdicts([FIGURES], [Figures(9.2e6, 51.6, 82.5, 0.0, 45, 0)]) == ["misses"] * 4
    assert verdicts([replace(FIGURES, retransmitted=0, rtt_p50_ms=10)], [replace(FIGURES, retransmitted=3, rtt_p50_ms=11)]) == ["holds"] * 4  # fmt: skip


def test_difference_within_the_spread_of_the_seeds_is_no_miss() -> None:
    kernel = [replace(FIGURES, goodput_bps=rate) for rate in (8e6, 9e6, 10e6)]
    shifted = [replace(one, goodput_bps=one.goodput_bps + 5e5) for one in kernel]
    assert verdicts(kernel, shifted)[0] == "spread"
    # With shared draws the difference of each pair counts, which is the same here for all.
    assert verdicts(kernel, shifted, setups.lossy("1 %"))[0] == "misses"


def test_row_without_random_numbers_has_more_delay_up_in_each_further_run() -> None:
    row = Row(setups.ONE_BDP, (Flow("cubic"),))
    assert "netem delay 20ms limit" in row.script(1)
    assert "netem delay 20.74ms limit" in row.script(3)
    assert 'up = "20.74 ms"' in row.link(3)
    assert 'up = "20 ms"' in Row(setups.ONE_BDP, (Flow("bbr"),)).link(3)


def test_lossy_row_loses_the_packets_that_netem_loses() -> None:
    row = Row(setups.lossy("1 %"), (Flow("reno"),))
    draw = DRAWS.of("1 %", 2)
    assert f"loss=0.01 seed={draw.netem_seed}" in row.script(2, draw.netem_seed)
    assert f"packets = [{draw.lost[0]}, {draw.lost[1]}, " in row.link(2, draw.numbers())


def test_simulated_hosts_are_those_of_the_guest() -> None:
    (flow,), duration = Row(setups.STEP, (Flow("dctcp"),)).scenario(2)
    assert (flow["rto_tick"], flow["processing_jitter"]) == ("1 ms", False)
    # The guest's client has the default control: it echoes CE until CWR.
    assert (flow["variant"], flow["client"]) == ("dctcp", {"variant": "cubic"})
    assert (flow["start"], duration) == ("0 s", "60 s")


def test_row_with_random_numbers_starts_later_with_each_seed() -> None:
    flows, duration = Row(setups.ONE_BDP, (Flow("cubic"), Flow("bbr"))).scenario(3)
    assert [flow["start"] for flow in flows] == ["0.00074 s", "0.10074 s"]
    assert duration == "60.1007 s"


def test_page_names_rows_that_miss_with_their_cause() -> None:
    row = Row(setups.ONE_BDP, (Flow("cubic"),))
    run = Measured(row.name, 1, "s", "6.12.1", "c", "b", "g", "2026-11-26", Outcome((FIGURES,), 5, 0, "d"))
    compared = compare.compare(row, [run.outcome], [Outcome((replace(FIGURES, goodput_bps=8e6),), 0, 0, "")])
    text = page.page([(row, [run], compared)], {row.name: UNTRACED})
    assert "Of 1 rows 0 hold, 0 differ by no more than their seeds, 1 miss." in text
    assert "| not traced | 1 BDP/cubic (goodput) |" in text
    assert "| cubic | 9.000 | 8.000 | 50.0 | 50.0 | 80.0 | 80.0 | 40 | 40 | 5 | 0 | misses: goodput |" in text


@pytest.fixture
def user_cache(monkeypatch) -> None:
    """The cache in which `make virtual-kernel` and `make uml` keep kernels, not the tests' own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path.home() / ".cache"))


@pytest.mark.slow
@pytest.mark.usefixtures("user_cache")
def test_run_of_the_virtual_kernel_gives_the_bytes_of_the_table() -> None:
    kernel = build.built()
    if kernel is None:
        pytest.skip("`make virtual-kernel` has built no kernel here")
    row, found = MEASURED["1 BDP/cubic 300 kB"]
    if (found[0].build, found[0].code) != (kernel.build, guest.source_digest()):
        pytest.skip("the table is of another kernel")
    try:
        assert runs.virtual_kernel(kernel, row, 1, DRAWS) == found[0].outcome
    except build.Unavailable as why:
        pytest.skip(str(why))


@pytest.mark.realtime
@pytest.mark.slow
@pytest.mark.usefixtures("user_cache")
def test_uml_runs_a_script_as_root_with_modules_of_the_kernel() -> None:
    script = "id -u; tc qdisc add dev lo root cake bandwidth 9mbit; tc qdisc show dev lo; touch /etc/written; exit 7"
    try:
        result = uml.run(script)
    except build.Unavailable as why:
        pytest.skip(str(why))
    assert result.status == 7
    assert result.output.splitlines()[0] == "0"
    assert "qdisc cake" in result.output
    assert "bandwidth 9Mbit" in result.output
