"""The running Linux over an emulated link against the simulator on the same link. `make kernel` prints what is compared here."""

from __future__ import annotations

import pytest

from studies.kernel.runs import LINKS, SEEDS, VARIANTS, Unmeasured, faults, kernel, median, missing, simulator
from studies.kernel.transfers import Figures
from tests.support.namespaces import namespaces

live = pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")


def compare(link: str, variant: str, seconds: float) -> list[str]:
    if why := missing(variant):
        pytest.skip(why)
    try:
        theirs = [kernel(link, variant, seconds, seed) for seed in SEEDS]
    except Unmeasured as error:
        pytest.skip(f"the emulation's own audit failed: {error}")
    ours = simulator(link, variant, seconds)
    return [f"{what}: kernel {theirs}, simulator {ours}" for what in faults(median(ours), median(theirs))]


@live
@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("link", LINKS)
def test_the_running_kernel_and_the_simulator_agree(link: str, variant: str) -> None:
    assert not compare(link, variant, 20)


@live
@pytest.mark.slow  # real time on a machine that may be busy: no gate
def test_the_running_kernels_reno_fills_the_narrow_link_as_the_simulators_does() -> None:
    assert not compare("narrow", "reno", 6)


def test_a_median_is_of_each_figure_by_itself() -> None:
    runs = [Figures(1.0, 30.0, 5), Figures(3.0, 10.0, 4), Figures(2.0, 20.0, 6)]
    assert median(runs) == Figures(2.0, 20.0, 5)
    assert median(runs[:2]) == Figures(1.0, 10.0, 4)


def test_the_tolerances_are_those_that_were_promised() -> None:
    one = Figures(100.0, 50.0, 40)
    assert not faults(one, Figures(104.0, 54.0, 58))
    assert faults(one, Figures(94.0, 50.0, 40)) == ["goodput"]
    assert faults(one, Figures(100.0, 56.0, 40)) == ["round trip"]
    assert faults(one, Figures(100.0, 50.0, 61)) == ["retransmissions"]
    assert not faults(Figures(100.0, 50.0, 0), Figures(100.0, 50.0, 5))
