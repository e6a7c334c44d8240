"""The running Linux over an emulated link against the simulator on the same link; `make kernel`
writes the table."""

from __future__ import annotations

from pathlib import Path

import pytest

import ackclock
from studies.kernel.conditions import CONDITIONS, paired, paired_faults, variants_of
from studies.kernel.page import BELOW, MIDDLE, SIDE, with_part
from studies.kernel.runs import LINKS, SEEDS, VARIANTS, Unmeasured, faults, kernel, median, missing, simulator
from studies.kernel.transfers import Figures
from tests.support.namespaces import namespaces

live = pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")


def compare(link: str, variant: str, seconds: float) -> list[str]:
    if why := missing(variant):
        pytest.skip(why)
    try:
        measured = [kernel(link, variant, seconds, seed) for seed in SEEDS]
    except Unmeasured as error:
        pytest.skip(f"the emulation's audit failed: {error}")
    simulated = simulator(link, variant, seconds)
    return [
        f"{fault}: kernel {measured}, simulator {simulated}" for fault in faults(median(simulated), median(measured))
    ]


@live
@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("link", LINKS)
def test_simulator_agrees_with_the_running_kernel(link: str, variant: str) -> None:
    assert not compare(link, variant, 20)


@live
@pytest.mark.slow  # real time on a machine that may be busy: no gate
def test_simulated_reno_agrees_with_the_kernels_on_the_narrow_link() -> None:
    assert not compare("narrow", "reno", 6)


def test_median_is_taken_of_each_figure() -> None:
    runs = [Figures(1.0, 30.0, 5), Figures(3.0, 10.0, 4), Figures(2.0, 20.0, 6)]
    assert median(runs) == Figures(2.0, 20.0, 5)
    assert median(runs[:2]) == Figures(1.0, 10.0, 4)


def test_faults_lists_figures_beyond_their_tolerance() -> None:
    reference = Figures(100.0, 50.0, 40)
    assert not faults(reference, Figures(104.0, 54.0, 58))
    assert faults(reference, Figures(94.0, 50.0, 40)) == ["goodput"]
    assert faults(reference, Figures(100.0, 56.0, 40)) == ["RTT"]
    assert faults(reference, Figures(100.0, 50.0, 61)) == ["retransmissions"]
    assert not faults(Figures(100.0, 50.0, 0), Figures(100.0, 50.0, 5))


def test_differences_are_paired_by_seed() -> None:
    measured = [Figures(1.0, 50.0, 10), Figures(2.0, 50.0, 10), Figures(4.0, 50.0, 10)]
    simulated = [Figures(1.1, 50.0, 10), Figures(2.2, 50.0, 10), Figures(4.4, 50.0, 10)]
    difference = paired(simulated, measured)
    assert difference.goodput == pytest.approx(0.1)
    assert paired_faults(difference, simulated, measured) == ["goodput"]
    # In another order the means are the same, and the pairs are not.
    swapped = [simulated[2], simulated[1], simulated[0]]
    assert paired(swapped, measured).goodput > 0.9


def test_tables_stay_when_another_one_is_written() -> None:
    page = "# first\n\n" + MIDDLE + "\nsecond\n\n" + SIDE + "\nthird\n\n" + BELOW + "\ncauses\n"
    for part, old in ((MIDDLE, "second"), (SIDE, "third")):
        written = with_part(page, part + "\nnew\n")
        assert written == page.replace(f"{old}\n", "new\n")
    assert with_part(page, "# new\n") == page.replace("# first", "# new")


def test_every_condition_is_a_link_with_a_variant(tmp_path: Path) -> None:
    for name, text in CONDITIONS.items():
        path = tmp_path / "link.toml"
        path.write_text(text)
        assert ackclock.Link.load(path).hops, name
        assert variants_of(name)
