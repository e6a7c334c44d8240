"""The bound of harm: by values given for the runs, and by runs of a path with a deep buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ackclock.input.scenario.draft import Draft, draft_of
from ackclock.simulation.chunk_runner import run_missing
from ackclock.simulation.dataset import Dataset
from ackclock.simulation.harm import (
    AS_IT_IS,
    DEFAULTS,
    FIRST_SEEDS,
    SEEDS,
    TRANSFER,
    HarmBound,
    HarmRun,
    Place,
    Seeds,
    of_harm,
)
from ackclock.simulation.run_list import RunList

BULK = {"name": "bulk", "workload": {"kind": "bulk"}}


def _line(**keys: Any) -> Draft:
    hop = {"name": "line", "rate": "1 Mb/s", "delay": "30 ms", "queue": {"bytes": "60 kB"}, **keys}
    return draft_of({"duration": "1 s", "hop": [hop], "flow": [BULK], "tcp": {"variant": "reno"}})


def _simulated(name: str, runs: Sequence[HarmRun], seeds: Sequence[int]) -> list[Seeds]:
    params = [{"label": run.label, "beside": run.companion} for run in runs]
    data = Dataset(RunList(params, [run.scenario for run in runs], tuple(seeds), of_harm, "none"), None)
    run_missing(data, workers=1)
    return [dict(zip(seeds, rows, strict=True)) for rows in data.metrics()]


class Given:
    """Runs with given goodputs in Mb/s: label to own, other, transfer."""

    def __init__(self, **figures: tuple[float, float, float]) -> None:
        self.figures: Mapping[str, tuple[float, float, float]] = {
            {"default": DEFAULTS, "before": AS_IT_IS}.get(label, label): figure for label, figure in figures.items()
        }
        self.seen: dict[tuple[str, str], int] = {}

    def run(self, name: str, runs: Sequence[HarmRun], seeds: Sequence[int]) -> list[Seeds]:
        found: list[Seeds] = []
        for run in runs:
            own, other, transfer = self.figures[run.label]
            self.seen[run.label, run.companion] = self.seen.get((run.label, run.companion), 0) + len(seeds)
            of = {"transfer_bps": transfer} if run.companion == TRANSFER else {"own_bps": own, "other_bps": other}
            found.append({seed: {k: 1e6 * v * (1.0 + 0.01 * (seed % 2)) for k, v in of.items()} for seed in seeds})
        return found

    def harmed(self, as_it_is: bool = False) -> set[tuple[str, str]]:
        place = Place(_line())
        bound = HarmBound(place, ["down"], self.run, as_it_is=place if as_it_is else None)
        return {(harm.companion, harm.metric) for harm in bound.check({"changed": place})["changed"]}


@pytest.mark.finding("A6")
@pytest.mark.parametrize(
    ("changed", "harmed"),
    [
        ((0.5, 0.5, 0.8), set()),
        ((0.27, 0.70, 0.8), set()),
        ((0.20, 0.80, 0.8), {("cubic", "own_bps")}),
        ((0.80, 0.20, 0.8), {("cubic", "other_bps"), ("reno", "other_bps")}),
        ((0.5, 0.5, 0.3), {(TRANSFER, "transfer_bps")}),
        ((0.5, 0.5, 2.0), set()),
    ],
)
def test_harm_is_what_falls_below_half_of_the_defaults(changed, harmed) -> None:
    assert Given(default=(0.5, 0.5, 0.8), changed=changed).harmed() == harmed


@pytest.mark.finding("A13")
def test_equal_share_is_no_harm_when_an_excess_ends() -> None:
    """The other flow had 0.98 of 1 Mb/s: nine tenths of an equal share are less than half of it."""
    assert Given(default=(0.02, 0.98, 0.8), changed=(0.48, 0.46, 0.8)).harmed() == set()
    assert ("cubic", "other_bps") in Given(default=(0.02, 0.98, 0.8), changed=(0.6, 0.3, 0.8)).harmed()
    # Shared equally, but of less than half of the rate.
    assert ("cubic", "other_bps") in Given(default=(0.02, 0.98, 0.8), changed=(0.2, 0.2, 0.8)).harmed()


def test_change_is_not_blamed_when_the_flow_was_below_the_bound_before() -> None:
    """The flow is not the host's default, and has little beside cubic with and without a change."""
    figures = {"default": (0.5, 0.5, 0.8), "before": (0.1, 0.9, 0.8)}
    assert Given(**figures, changed=(0.1, 0.9, 0.8)).harmed(as_it_is=True) == set()
    assert Given(**figures, changed=(0.05, 0.95, 0.8)).harmed(as_it_is=True) == {("cubic", "own_bps")}


def test_harm_is_assumed_when_the_mean_is_within_its_standard_error_of_the_bound() -> None:
    class Varied(Given):
        def run(self, name: str, runs: Sequence[HarmRun], seeds: Sequence[int]) -> list[Seeds]:
            found = super().run(name, runs, seeds)
            spread = {seed: 1.0 + (0.4 if seed % 2 else -0.4) for seed in seeds}
            return [
                {s: {k: v * (spread[s] if run.label == "changed" else 1.0) for k, v in of[s].items()} for s in seeds}
                for run, of in zip(runs, found, strict=True)
            ]

    default = (0.5, 0.5, 0.8)
    bound = HarmBound(Place(_line()), ["down"], Varied(default=default, changed=(0.26, 0.74, 0.8)).run)
    (harm,) = bound.check({"changed": Place(_line())})["changed"]
    assert harm.share > 0.5
    assert "10 seeds do not separate from the bound" in harm.text
    assert Varied(default=default, changed=(0.4, 0.6, 0.8)).harmed() == set()


def test_seeds_are_ten_when_a_mean_is_near_the_bound() -> None:
    near, far = (
        Given(default=(0.5, 0.5, 0.8), changed=(0.27, 0.7, 0.8)),
        Given(default=(0.5, 0.5, 0.8), changed=(0.5, 0.5, 0.8)),
    )
    near.harmed()
    far.harmed()
    assert near.seen["changed", "cubic"] == near.seen[DEFAULTS, "cubic"] == SEEDS
    assert near.seen["changed", "reno"] == FIRST_SEEDS
    assert set(far.seen.values()) == {FIRST_SEEDS}


def test_later_batch_has_the_runs_of_the_defaults_from_the_first() -> None:
    given = Given(default=(0.5, 0.5, 0.8), changed=(0.5, 0.5, 0.8), later=(0.1, 0.9, 0.8))
    bound = HarmBound(Place(_line()), ["down"], given.run)
    assert bound.check({"changed": Place(_line())}) == {"changed": []}
    assert [harm.metric for harm in bound.check({"later": Place(_line())})["later"]] == ["own_bps"]
    assert given.seen[DEFAULTS, "cubic"] == FIRST_SEEDS


@pytest.mark.finding("A6")
def test_vegas_is_harmed_beside_cubic_and_the_default_is_not_when_the_buffer_is_deep() -> None:
    bound = HarmBound(Place(_line()), ["up"], _simulated, cpu_s=0.1)
    found = bound.check({name: Place(_line(), keys={"tcp.variant": name}) for name in ("vegas", "cubic")})
    assert found["cubic"] == []
    (harm,) = found["vegas"]
    assert (harm.direction, harm.companion, harm.metric) == ("up", "cubic", "own_bps")
    assert harm.share < 0.5
    assert "beside one cubic upload it gets" in harm.text


def test_vegas_is_not_harmed_when_the_queue_separates_the_flows() -> None:
    bound = HarmBound(Place(_line()), ["down"], _simulated, cpu_s=0.1)
    keys = {"tcp.variant": "vegas", "hop.line.queue.down": {"kind": "fq-codel"}}
    assert bound.check({"pair": Place(_line(), keys=keys)}) == {"pair": []}


def test_runs_are_shorter_when_they_take_more_than_their_cpu_time() -> None:
    fast = HarmBound(Place(_line(rate="1 Gb/s")), ["down"], _simulated, cpu_s=1.0)
    slow = HarmBound(Place(_line()), ["down"], _simulated, cpu_s=1.0)
    assert (fast.measured_s, slow.measured_s) == (15.0, 60.0)


def test_companion_has_the_default_host_when_the_flow_has_another() -> None:
    place = Place(_line(), {"host": "windows-xp"}, {"tcp.send_buffer": "64 KiB"})
    scenario = place.scenario("up", "cubic")
    own, other = (scenario.tcp_of(flow).keys for flow in scenario.flow)
    assert own["variant"] != "cubic"
    assert (own["send_buffer"], other["variant"]) == (65536, "cubic")
    assert other["send_buffer"] != own["send_buffer"]
    assert [flow.direction for flow in scenario.flow] == ["up", "up"]
