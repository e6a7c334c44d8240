"""The running Linux over an emulated link against the simulator on the same link; `make kernel`
writes the table."""

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
