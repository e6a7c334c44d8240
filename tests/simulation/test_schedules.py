"""Delays and losses that change at given times, against arithmetic, and without a change."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError

STREAM = {"name": "stream", "workload": {"kind": "cbr", "rate": "800 kb/s", "packet": "1000 B"}}
"""100 packets a second."""
BULK = {"name": "bulk", "workload": {"kind": "bulk"}}


def schedule(*steps: tuple[str, str | float], **keys: Any) -> dict[str, Any]:
    return {"schedule": [list(step) for step in steps], **keys}


def flow_of(flow: dict[str, Any], seconds: int, **keys: Any) -> Any:
    done = ackclock.simulate({"hop": [{"name": "line", **keys}]}, [flow], f"{seconds} s", seed=1, phase_jitter=False)
    return done.summaries[0]["flows"][0]


@pytest.mark.parametrize(("linear", "mean_ms"), [(False, 24.0), (True, 24.0)])
def test_paced_stream_has_the_mean_and_the_range_of_a_schedule_of_delay(linear: bool, mean_ms: float) -> None:
    """Half of the time 20 ms and half 28 ms, or from one to the other and back."""
    delay = schedule(("0 s", "20 ms"), ("15 s", "28 ms"), repeat="30 s", linear=linear)
    found = flow_of(STREAM, 60, delay=delay)["one_way_delay_ms"]
    assert found["mean"] == pytest.approx(mean_ms, abs=0.01)
    assert (found["min"], found["max"]) == (pytest.approx(20, abs=0.01), pytest.approx(28, abs=0.01))


def test_stream_loses_the_mean_of_a_schedule_of_loss() -> None:
    """10 of each 20 s at 0, 10 at 0.2: a tenth; 40,000 packets have a standard error of 0.0014."""
    fast = {"name": "stream", "workload": {"kind": "cbr", "rate": "8 Mb/s", "packet": "1000 B"}}
    loss = {"mean": schedule(("0 s", 0), ("10 s", 0.2), repeat="20 s")}
    found = flow_of(fast, 40, delay="5 ms", loss=loss)
    lost, received = found["datagrams"]["lost"], found["one_way_delay_ms"]["count"]
    assert lost / (lost + received) == pytest.approx(0.1, abs=0.006)


@pytest.mark.parametrize(
    ("key", "constant", "steps"),
    [
        ("delay", "20 ms", schedule(("0 s", "20 ms"))),
        ("delay", "20 ms", schedule(("0 s", "20 ms"), ("3 s", "20 ms"), repeat="4 s", linear=True)),
        ("loss", {"mean": 0.01}, {"mean": schedule(("0 s", 0.01))}),
        (
            "loss",
            {"kind": "gilbert-elliott", "mean": 0.01, "bad_sojourn": "5 ms"},
            {"kind": "gilbert-elliott", "mean": schedule(("0 s", 0.01), ("2 s", 0.01)), "bad_sojourn": "5 ms"},
        ),
    ],
)
def test_schedule_of_one_value_is_the_constant(key: str, constant: Any, steps: Any) -> None:
    keys = {"rate": "20 Mb/s", "queue": {"packets": 50}, "delay": "20 ms"}
    flows = [flow_of(BULK, 10, **{**keys, key: value}) for value in (constant, steps)]
    assert flows[0] == flows[1]


def test_schedule_of_delay_changes_the_verdict_on_a_transfer_that_its_mean_does_not() -> None:
    """Reno over 20 and 220 ms in turn: the window that a path of 120 ms has, fills neither."""
    keys = {"rate": "20 Mb/s", "queue": {"packets": 60}}
    delay = schedule(("0 s", "10 ms"), ("5 s", "110 ms"), repeat="10 s")
    changing = flow_of(BULK, 60, **keys, delay=delay)
    mean = flow_of(BULK, 60, **keys, delay="60 ms")
    assert changing["rtt_ms"]["p95"] > mean["rtt_ms"]["p95"] + 40
    assert changing["rtt_ms"]["min"] < mean["rtt_ms"]["min"] - 90


@pytest.mark.parametrize(
    ("keys", "key", "allowed"),
    [
        ({"delay": schedule(("0 s", "1 ms"), ("5 s", "2 ms"), repeat="5 s")}, "repeat", "a time after the last"),
        ({"delay": schedule(("1 s", "1 ms"))}, "schedule", '"0 s" as the first time'),
        ({"loss": {"mean": schedule(("0 s", 0.5), ("9 s", 0), repeat="3 s")}}, "repeat", "a time after the last"),
        (
            {"loss": {"kind": "gilbert-elliott", "mean": schedule(("0 s", 1.0)), "bad_sojourn": "5 ms"}},
            "mean",
            "means from 0 to below 1",
        ),
    ],
)
def test_schedule_is_refused_when_it_is_none(keys: dict[str, Any], key: str, allowed: str) -> None:
    with pytest.raises(InputError) as raised:
        flow_of(STREAM, 1, **keys)
    assert key in raised.value.key and allowed in raised.value.allowed
