"""The actions of an advice for flows over QUIC: what their stack sets, and nothing of TCP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.advisor.action import WHO
from ackclock.advisor.actions import candidates
from ackclock.advisor.host_actions import unsettable
from ackclock.advisor.situation import Situation, situation_of
from ackclock.advisor.verification import cannot
from ackclock.input.toml_writer import to_toml

LINE = {
    "name": "line",
    "rate": {"down": "20 Mb/s", "up": "200 kb/s"},
    "delay": "30 ms",
    "queue": {"down": {"kind": "droptail", "packets": 60}, "up": {"kind": "droptail", "packets": 20}},
}


def situation(folder: Path, *flows: dict[str, Any]) -> Situation:
    whole = [{"name": f"f{n}", "workload": {"kind": "bulk"}, **flow} for n, flow in enumerate(flows)]
    file = folder / "scenario.toml"
    file.write_text(to_toml({"duration": "10 s", "hop": [LINE], "flow": whole}), "utf-8")
    return situation_of([file])


def labels(of: Situation) -> list[str]:
    return [action.label for action in candidates(of, WHO)]


QUIC = {"transport": "quic"}


def test_hosts_of_quic_have_the_changes_of_their_stack_and_no_sysctl(tmp_path: Path) -> None:
    of = situation(tmp_path, QUIC)
    found = [action for action in candidates(of, WHO) if action.changes[0].path.startswith(("quic.", "tcp."))]
    assert [action.label for action in found] == [
        "congestion control noq-newreno",
        "congestion control noq-bbr3",
        "an ACK in 10 packets",
        "an ACK in 25 packets",
        "initial window of 38400 B",
    ]
    lines = [step.command.text() for action in found for step in action.steps]
    assert all(line.startswith("# in the program: ") for line in lines)
    for action in found:
        changed = of.scenario([action]).flow[0]
        assert changed.transport == "quic" and changed.quic.written(given=True) == {
            action.changes[0].path.removeprefix("quic."): action.changes[0].to
        }


def test_no_router_sees_acks_of_quic_and_no_proxy_splits_it(tmp_path: Path) -> None:
    of_tcp, of_quic = (labels(situation(tmp_path, flow)) for flow in ({}, QUIC))
    words = ("ACK filter", "ACKs first", "proxy", "SYN", "buffer")
    assert any(word in label for label in of_tcp for word in words)
    assert not any(word in label for label in of_quic for word in words)
    assert {label for label in of_quic if "queue" in label or "droptail" in label or "SQM" in label} <= {*of_tcp}


def test_flows_over_both_transports_change_no_host(tmp_path: Path) -> None:
    of = situation(tmp_path, QUIC, {})
    assert not [action for action in candidates(of, WHO) if not action.changes[0].path.startswith("hop.")]
    assert "ACK filter at line up" in labels(of) and not any("proxy" in label for label in labels(of))
    assert unsettable(of, WHO) == ["Some of the flows are over TCP and some over QUIC: no host is changed."]


def test_receive_window_is_tried_where_the_path_needs_a_larger_one(tmp_path: Path) -> None:
    small = situation(tmp_path, {**QUIC, "quic": {"receive_window": "64 kB"}})
    assert "receive window of 300 kB" in labels(small)
    assert not any("receive window" in label for label in labels(situation(tmp_path, QUIC)))


def test_kernel_verifies_no_change_of_quic(tmp_path: Path) -> None:
    assert cannot(situation(tmp_path, QUIC), ()) == "the running kernel has no QUIC"


@pytest.mark.parametrize(("transports", "starved"), [("quic", True), ("tcp", False)])
def test_compare_prices_what_quic_takes_from_tcp(transports: str, starved: bool) -> None:
    """On the radio's return path large ACKs of a paced sender leave none for TCP's."""
    done = ackclock.compare(
        "cable-ricochet",
        variants=["cubic"],
        buffers=["auto"],
        delayed_ack=[True],
        transports=[transports],
        duration="20 s",
        seeds=2,
    )
    (priced,) = (choice["metrics"] for choice in done.document["prices"]["choices"] if "metrics" in choice)
    others = [priced[f"{other}_goodput_bps"]["mean"] for other in ("cubic", "reno")]
    assert (max(others) < 100e3) == starved
