"""Events of a link that runs are too short for."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock
from ackclock.comparison.link_events import auto_duration, lengthened, missed_events
from ackclock.input.scenario.draft import draft_of

SECOND = 10**12


def _hops(**side: Any) -> Any:
    hop = {"name": "radio", **({} if "slots" in side else {"rate": "1 Mb/s"}), **side}
    return (
        draft_of({"duration": "1 s", "hop": [hop], "flow": [{"name": "f", "workload": {"kind": "bulk"}}]}).check().hop
    )


@pytest.mark.finding("A16")
@pytest.mark.parametrize(
    ("side", "seconds", "seeds", "text"),
    [
        ({"handover": {"every": "15 s", "first": "12 s", "gap": "40 ms"}}, 10, 3, "the handovers of `radio`, every 15 s from 12 s on"),
        ({"handover": {"every": "15 s", "first": "12 s", "gap": "40 ms"}}, 13, 3, None),
        ({"outage": {"down": [{"start": "8 s", "end": "11 s"}]}}, 10, 3, "the outage of `radio down` from 8 s to 11 s"),
        ({"outage": {"down": [{"start": "8 s", "end": "9 s"}]}}, 10, 3, None),
        ({"loss": {"kind": "gilbert-elliott", "mean": 1e-4, "bad_sojourn": "20 ms"}}, 10, 3, "one in 200 s on average"),
        ({"loss": {"kind": "gilbert-elliott", "mean": 1e-4, "bad_sojourn": "20 ms"}}, 30, 10, None),
        ({"loss": {"kind": "gilbert-elliott", "mean": 0, "bad_sojourn": "20 ms"}}, 1, 1, None),
        ({"loss": 1e-6}, 1, 1, None),
        ({"rate": {"schedule": [["0 s", "1 Mb/s"], ["12 s", "0 b/s"]]}}, 10, 3, "the rate of 0 b/s that `radio down` has from 12 s on"),
        ({"rate": {"schedule": [["0 s", "1 Mb/s"], ["12 s", "0 b/s"]]}}, 13, 3, None),
        ({"delay": {"schedule": [["0 s", "1 ms"], ["12 s", "9 ms"]]}}, 10, 3, "the delay of 9 ms that `radio down` has from 12 s on"),
        ({"loss": {"mean": {"schedule": [["0 s", 0], ["12 s", 0.1]]}}}, 10, 3, "the mean loss of 0.1 that `radio down` has from 12 s on"),
        ({"slots": {"rate": "9 Mb/s", "held": "1 s"}}, 12, 3, "the slots of `radio`, which change every 15 s from 12 s on"),
        ({"slots": {"rate": "9 Mb/s", "held": "1 s"}}, 14, 3, None),
    ],
)  # fmt: skip
def test_note_names_an_event_of_the_link_when_runs_end_before_it(side, seconds, seeds, text) -> None:
    found = missed_events(_hops(**side), seconds * SECOND, seeds)
    assert len(found) == (text is not None)
    if text:
        assert text in found[0] and found[0].startswith(f"Runs of {seconds} s (3 seeds) are too short for ")


@pytest.mark.finding("A16")
def test_comparison_of_leo_has_a_note_when_its_runs_end_before_the_handover() -> None:
    short = ackclock.compare(
        "leo", variants=["cubic"], buffers=["64 KiB"], delayed_ack=[True], duration="2 s", seeds=1, with_prices=False
    )
    assert any(
        "the slots of `satellite`, which change every 15 s from 12 s on" in note for note in short.document["notes"]
    )


@pytest.mark.finding("A16")
@pytest.mark.parametrize(
    ("side", "seeds", "seconds"),
    [
        ({}, 3, 10),
        ({"handover": {"every": "15 s", "first": "12 s", "gap": "40 ms"}}, 3, 27),
        ({"handover": {"every": "2 s", "gap": "40 ms"}}, 3, 10),
        ({"handover": {"every": "1 h", "gap": "40 ms"}}, 3, 60),
        ({"outage": {"down": [{"start": "8 s", "end": "11 s"}]}}, 3, 14),
        ({"loss": {"kind": "gilbert-elliott", "mean": 1e-3, "bad_sojourn": "20 ms"}}, 3, 20),
        ({"loss": {"kind": "gilbert-elliott", "mean": 1e-3, "bad_sojourn": "20 ms"}}, 10, 10),
        ({"loss": 1e-6}, 1, 10),
        ({"slots": {"rate": "9 Mb/s"}}, 1, 57),
        ({"slots": {"rate": "9 Mb/s"}}, 2, 42),
        ({"slots": {"rate": "9 Mb/s"}}, 3, 27),
        ({"slots": {"rate": "9 Mb/s"}}, 10, 27),
        ({"slots": {"rate": "9 Mb/s", "every": "2 s", "first": "1 s"}}, 3, 10),
        ({"delay": {"schedule": [["0 s", "1 ms"], ["12 s", "9 ms"]], "repeat": "40 s"}}, 3, 40),
        ({"loss": {"mean": {"schedule": [["0 s", 0], ["8 s", 0.1]]}}}, 3, 16),
    ],
)  # fmt: skip
def test_auto_duration_has_the_events_of_the_link_when_they_come_late(side, seeds, seconds) -> None:
    hops = _hops(**side)
    duration = auto_duration(hops, seeds)
    assert duration == seconds * SECOND
    assert bool(lengthened(hops, duration, seeds)) == (seconds > 10)


@pytest.mark.finding("A16")
def test_comparison_with_auto_duration_runs_beyond_the_handover_of_leo() -> None:
    done = ackclock.compare(
        "leo", variants=["cubic"], buffers=["64 KiB"], delayed_ack=[True], duration="auto", seeds=3, with_prices=False
    )
    assert done.document["scenario"]["duration"] == "27 s"
    notes = " ".join(done.document["notes"])
    assert "Runs of 27 s, not 10 s, because of the slots of `satellite`, which change every 15 s from 12 s on" in notes
    assert "too short for" not in notes
