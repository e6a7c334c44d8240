"""`advise --verify`: the kernel's TCP over the emulated link beside the prediction."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock as library
from ackclock.advisor.actions import candidates
from ackclock.advisor.race import Runs, label_of, mean_gain, race
from ackclock.advisor.situation import situation_of
from ackclock.advisor.verification import judgement, verify
from ackclock.errors import InputError
from tests.support.namespaces import namespaces

EFFECT: Any = {
    "goodput_bps": {"baseline": 4e6, "advised": 3.9e6},
    "sparse_rtt_p95_ms": {"baseline": 400.0, "advised": 100.0},
}
ROW: Any = {"label": "fq-codel", "effect": EFFECT, "gain": {"ratio": 1.95, "one_run": {"lo": 1.9, "hi": 2.0}}}


def measured(goodput: float = 4e6, sparse: float = 100.0, *, baseline: float = 4e6, valid: bool = True):
    """An emulated baseline with 400 ms, and an emulated advice."""
    return {
        "baseline": {"goodput_bps": baseline, "sparse_rtt_p95_ms": 400.0, "valid": True},
        "advised": {"goodput_bps": goodput, "sparse_rtt_p95_ms": sparse, "valid": valid},
    }


def test_judgement_agrees_when_the_measured_gain_is_in_the_interval() -> None:
    found = judgement(measured(), ROW, "balanced", None)
    assert (found["concluded"], found["agrees"]) == (True, True)
    assert found["gain"]["measured"] == pytest.approx(2.0)


def test_judgement_differs_when_the_measured_gain_is_small() -> None:
    found = judgement(measured(sparse=300.0), ROW, "balanced", None)
    assert (found["concluded"], found["agrees"]) == (True, False)


def test_judgement_differs_when_the_measured_gain_is_just_outside_of_the_interval() -> None:
    assert judgement(measured(goodput=4.02e6), ROW, "balanced", None)["agrees"] is False
    assert judgement(measured(goodput=3.95e6), ROW, "balanced", None)["agrees"] is True


@pytest.mark.finding("A4")
def test_judgement_is_of_the_load_of_the_emulated_transfer_when_a_link_has_three() -> None:
    row = {**ROW, "gain": {"ratio": 9.0, "one_run": {"lo": 8.0, "hi": 10.0}}}
    loads = {"down": {"gain": ROW["gain"]}, "up": {"gain": {"ratio": 9.0, "one_run": {"lo": 8.0, "hi": 10.0}}}}
    assert judgement(measured(), {**row, "loads": loads}, "balanced", None, "down")["agrees"] is True
    assert judgement(measured(), {**row, "loads": loads}, "balanced", None, "up")["agrees"] is False
    assert judgement(measured(), {**row, "loads": None}, "balanced", None)["agrees"] is False


def test_judgement_concludes_nothing_when_the_baseline_is_another() -> None:
    found = judgement(measured(baseline=3.5e6), ROW, "balanced", None)
    assert not found["concluded"]
    assert "87.5 % of the simulated goodput" in found["text"]
    assert judgement(measured(baseline=3.5e6), ROW, "balanced", 3.4e6)["concluded"], "as captured"


def test_judgement_concludes_nothing_when_the_emulation_is_invalid() -> None:
    found = judgement(measured(valid=False), ROW, "balanced", None)
    assert (found["concluded"], found["agrees"]) == (False, None)


def test_verification_names_the_change_that_no_emulation_shows() -> None:
    situation = situation_of(["dsl-16m"])
    only = [action for action in candidates(situation, ["receiver"]) if action.kind == "delayed ACK"]
    advice: Any = {"advice": [{"label": only[0].label}], "goal": "balanced"}
    found = verify(situation, [(only[0],)], advice)
    assert found["text"].startswith("Not verified: tcp.delayed_ack is set by a route")


def test_verification_needs_the_mainline_variant_when_a_program_of_that_name_is_loaded(tmp_path, monkeypatch) -> None:
    """A variant loaded as `ackclock_vegas` was once taken for the kernel's own."""
    from ackclock.advisor import verification

    available = tmp_path / "available"
    monkeypatch.setattr(verification, "AVAILABLE", available)
    situation = situation_of(["dsl-16m"])
    (vegas,) = [action for action in candidates(situation, ["sender"]) if action.label.endswith("vegas")]
    advice: Any = {"advice": [{"label": vegas.label}], "goal": "balanced"}
    available.write_text("reno cubic ackclock_vegas")
    assert "no vegas loaded" in verify(situation, [(vegas,)], advice)["text"]
    monkeypatch.setattr(verification, "_attempted", lambda *_: (_ for _ in ()).throw(InputError("x", "y")))
    available.write_text("reno cubic vegas")
    assert "no vegas loaded" not in verify(situation, [(vegas,)], advice)["text"]


@pytest.mark.realtime
@pytest.mark.slow
@pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")
def test_the_kernel_confirms_an_aqm_over_the_emulated_link() -> None:
    line = {"name": "line", "rate": "4 Mb/s", "delay": "15 ms", "queue": {"down": {"bytes": "200 kB"}}}
    found = library.advise({"hop": [line]}, may=["operator"], verify=True).document["verification"]
    assert found["concluded"], found["text"]
    assert found["agrees"], found["text"]
    assert found["gain"]["measured"] > 1.5


def test_sparse_packets_of_a_verification_are_as_far_apart_as_those_of_a_prediction() -> None:
    """An echo each 100 ms once took 5 % of an uplink of 100 kb/s, the predicted one 1 %."""
    from ackclock.advisor.verification import _config

    for up_bps, every_s in ((100_000, 0.5), (1_000_000, 0.0512), (10_000_000, 0.02)):
        line = {"name": "line", "rate": {"down": "10 Mb/s", "up": f"{up_bps} b/s"}, "delay": "20 ms"}
        situation = situation_of([{"hop": [line]}])
        assert _config(situation, (), "")["every_s"] == pytest.approx({"down": 0.02, "up": every_s})
        rates = {flow.direction: getattr(flow.workload, "rate", 0) for flow in situation.scenario().flow if flow.is_udp}
        assert rates["up"] == pytest.approx(8 * 64 / every_s, rel=0.01)
        assert rates["down"] == pytest.approx(8 * 64 / 0.02, rel=0.01)


def test_the_verified_receiver_has_its_window_whatever_packets_take_up() -> None:
    """SO_RCVBUF of 16 kB was 14.5 kB of window over the emulator's devices: 89 % of the goodput."""
    from ackclock.advisor.verification import _config, _sysctls

    line = {"name": "line", "rate": "3 Mb/s", "delay": "90 ms"}
    flow = {"name": "download", "workload": {"kind": "bulk"}}
    tcp = {"receive_buffer": "16309 B"}
    fixed = situation_of([{"hop": [line], "tcp": tcp, "flow": [flow], "duration": "10 s"}])
    assert _config(fixed, (), "")["window"] == 16309
    server, client = _sysctls(fixed, ())
    assert client["net.ipv4.tcp_rmem"] == "4096 65236 65236"
    assert server["net.ipv4.tcp_rmem"] != client["net.ipv4.tcp_rmem"]
    tuned = next(one for one in candidates(fixed, ["receiver"]) if one.label == "receive buffer auto")
    assert "window" not in _config(fixed, (tuned,), "")
    assert "65236" not in _sysctls(fixed, (tuned,))[1]["net.ipv4.tcp_rmem"]
    assert "window" not in _config(situation_of([{"hop": [line]}]), (), "")


def test_wanted_change_is_a_finalist_when_others_are_better() -> None:
    """Illinois and cake was the only advice over a lossy line, and the kernel had no illinois."""
    line = {"name": "line", "rate": "2 Mb/s", "delay": "20 ms", "queue": {"bytes": "200 kB"}}
    situation = situation_of([{"hop": [line]}]).lasting(2.0)
    actions = candidates(situation, ["operator"])
    raced = race(Runs(situation, None), actions, "score_latency", 1)
    alone, found = raced.finalists, raced.metrics
    better = [
        label
        for label in found
        if mean_gain(found[label], found[label_of(())], "score_latency") > 1.0
        and label not in [label_of(()), *map(label_of, alone)]
    ]
    wanted = [lambda one: label_of(one) == better[0]]
    both = race(Runs(situation, None), actions, "score_latency", 1, wanted).finalists
    assert [label_of(one) for one in both] == [*map(label_of, alone), better[0]]
