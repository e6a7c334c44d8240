"""Retransmission kinds on a few simulated downloads with ground truth, at both ends and within the
path; docs/evidence/analyze-accuracy.md has the full grids.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from studies.analyzer.captures import (
    Case,
    Score,
    Tap,
    explained_timeouts,
    joined,
    lost,
    missing,
    run,
    scores_at_middle,
    scores_at_receiver,
    scores_at_sender,
)
from studies.analyzer.grids import HELD_OUT, THIRD, Grid
from studies.analyzer.random_downloads import Wide

_LINK = {"name": "air", "rate": "2 Mb/s", "delay": "40 ms", "queue": {"kind": "droptail", "packets": 25}}
_BURSTS = {"loss": {"down": {"kind": "gilbert-elliott", "mean": 0.03, "bad_sojourn": "200 ms"}}}
_RANDOM = {"loss": {"down": 0.02}}


@pytest.mark.parametrize(("queue", "flows"), [("pie", 20), ("fq-codel", 60)])
@pytest.mark.parametrize("offloads", [(), ("server",)])
@pytest.mark.finding("C2")
def test_timeout_has_no_ack_that_explains_it_when_many_flows_fill_an_aqm(tmp_path, queue, flows, offloads):
    hop = {"name": "air", "rate": "10 Mb/s", "delay": "2 ms", "queue": {"kind": queue, "ecn": False}}
    flow = {"workload": {"kind": "bulk"}, "count": flows, "start": "uniform(0 s, 1 s)"}
    scores: dict[str, Score] = {}
    false = 0
    for seed in (1, 2, 3):
        case = Case(hop, {"host": "linux-6", "variant": "cubic"}, "3 s", seed, flow=flow, offloads=offloads)
        run(case, tmp_path / str(seed))
        reported, true = explained_timeouts(tmp_path / str(seed))
        false += reported - true
        scores_at_sender(tmp_path / str(seed), scores)
    # With offloads one of seed 2 is RACK's: after a timeout, a cumulative ACK of a retransmission
    # shows that a segment sent before it is lost.
    assert false <= (1 if offloads else 0)
    for kind in ("fast", "timeout", "go_back_n"):
        right, wrong, missed = scores[kind].right, scores[kind].wrong, scores[kind].missed
        assert wrong <= max(2, 0.02 * (right + wrong)), kind
        assert missed <= max(2, 0.02 * (right + missed)), kind


@pytest.mark.parametrize("where", ["behind", "before", "both"])
def test_retransmission_kinds_are_classified_at_every_vantage_point(tmp_path, where):
    at: dict[str, dict[str, Score]] = {"sender": {}, "middle": {}, "receiver": {}}
    for number, (host, trouble) in enumerate(
        (host, trouble) for host in ("linux-6", "linux-2.6.20", "bsd-1997") for trouble in (_BURSTS, _RANDOM)
    ):
        folder = tmp_path / str(number)
        run(Case({**_LINK, **trouble}, {"host": host, "variant": "reno"}, seed=7, tap=Tap(where, 0.5)), folder)
        scores_at_sender(folder, at["sender"])
        scores_at_middle(folder, at["middle"])
        scores_at_receiver(folder, at["receiver"])
    for place, scores in at.items():
        for cause in ("fast", "go_back_n"):
            score = scores[cause]
            worst = min(score.precision or 0.0, score.recall or 0.0)
            assert worst >= 0.9, (place, cause, score)


def test_losses_before_and_after_a_capture_in_the_middle_are_separated(tmp_path):
    run(Case({**_LINK, **_RANDOM}, {"host": "linux-6", "variant": "cubic"}, seed=3, tap=Tap("both", 0.5)), tmp_path)
    before, behind = missing(tmp_path, "server", "middle"), missing(tmp_path, "middle", "client")
    assert before and behind
    assert before | behind == lost(tmp_path)


def test_segment_without_room_for_options_is_one_packet(tmp_path):
    # ns-2's segments are as long as what was agreed, with their options beside it (RFC 6691 has
    # them within).
    run(Case({**_LINK, **_RANDOM}, {"host": "ns2", "variant": "newreno"}, seed=3), tmp_path)
    reported = joined(tmp_path).document["flows"][0]["b2a"]["lost"]["between_captures"]
    assert reported == len(missing(tmp_path, "server", "client"))


def _scored(grid: Grid, number: int, folder) -> dict[str, dict[str, Score]]:
    return _scores(list(grid.cases())[number][1], folder)


def _scores(case: Case, folder) -> dict[str, dict[str, Score]]:
    at: dict[str, dict[str, Score]] = {"sender": {}, "middle": {}, "receiver": {}}
    run(case, folder)
    scores_at_sender(folder, at["sender"])
    scores_at_middle(folder, at["middle"])
    scores_at_receiver(folder, at["receiver"])
    return at


def test_syn_acks_to_a_retransmitted_syn_are_not_network_duplicates(tmp_path):
    """linux-6 reno, 2 Mb/s, outages: the first answer is lost, and the timer's and the second SYN's
    pass together. That they do needs hosts that process a SYN at once.
    """
    case = list(HELD_OUT.cases())[13][1]
    at_once = replace(case, tcp={**case.tcp, "processing_jitter": False})
    for place, scores in _scores(at_once, tmp_path).items():
        assert (scores["handshake"].missed, scores["handshake"].wrong) == (0, 0), place


def test_partial_acks_without_sack_are_not_classified_as_timeouts(tmp_path):
    """windows-xp, 20 Mb/s, reordering: nothing is lost, and no timer runs out."""
    at = _scored(THIRD, 213, tmp_path)
    assert "timeout" not in at["sender"] and "go_back_n" not in at["sender"]
    assert at["receiver"].get("timeout", Score()).wrong <= 2


@pytest.mark.parametrize(
    ("number", "seed", "reaches"),
    [
        pytest.param(18, 301, ("sender", "receiver"), id="newreno-slow-start"),
        pytest.param(121, 302, ("sender",), id="cubic-silent-until-acknowledged"),
        pytest.param(187, 401, ("sender",), id="cubic-spurious-and-not-taken-back"),
    ],
)
def test_timeout_in_recovery_is_classified_by_later_packets(tmp_path, number, seed, reaches):
    """ns-2's senders, whose timer runs out while duplicates come in, or whose first repair was lost
    too: all that follows is go-back-N.
    """
    run(list(Wide("", number, seed).cases())[-1][1], tmp_path)
    at: dict[str, dict[str, Score]] = {"sender": {}, "receiver": {}}
    scores_at_sender(tmp_path, at["sender"])
    scores_at_receiver(tmp_path, at["receiver"])
    for place in reaches:
        score = at[place]["go_back_n"]
        assert score.right >= 25 and score.missed <= 2 and score.wrong <= 0.1 * score.right, (place, score)
