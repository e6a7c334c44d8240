"""The bottleneck's buffer from two captures: measured for one droptail queue, qualified or absent
otherwise.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from studies.analyzer.captures import Case, joined, run

CUBIC = {"host": "linux-6", "variant": "cubic"}


def buffer_of(folder: Path, hop: dict[str, Any], seed: int = 1, **rest: Any) -> dict[str, Any]:
    """What the two captures of a download say of the bottleneck's buffer."""
    run(Case({"name": "air", **hop}, {**CUBIC, "ecn": False, **rest.pop("tcp", {})}, "20 s", seed, **rest), folder)
    flows = joined(folder).document["flows"]
    found: Any = max(flows, key=lambda flow: int(flow["bytes"]))["b2a"]["bottleneck_buffer_bytes"]
    return found


@pytest.mark.parametrize("queue", ["codel", "fq-codel", "pie", "red"])
@pytest.mark.parametrize(
    ("speed", "delay", "seed"), [("4 Mb/s", "20 ms", 1), ("12 Mb/s", "35 ms", 2), ("2 Mb/s", "60 ms", 3)]
)
def test_aqm_queue_is_not_measured_as_droptail(tmp_path, queue, speed, delay, seed):
    kind = {"kind": queue, "packets": 200} if queue == "red" else {"kind": queue}
    buffer = buffer_of(tmp_path, {"rate": speed, "delay": delay, "queue": kind}, seed)
    assert not buffer["filled"] or "early_drops" in buffer["doubts"] or buffer["max_based"] is None


@pytest.mark.parametrize("seed", range(10))
def test_droptail_queue_is_measured_within_10_percent_or_a_packet_without_reservation(tmp_path, seed):
    draw = random.Random(f"buffers {seed}")
    size, rate = int(10 ** draw.uniform(4, 6.3)), round(10 ** draw.uniform(0.3, 1.3), 2)
    hop = {
        "rate": f"{rate} Mb/s",
        "delay": f"{draw.uniform(5, 60):.0f} ms",
        "queue": {"kind": "droptail", "bytes": f"{size} B"},
    }
    buffer = buffer_of(tmp_path, hop, seed)
    if buffer["filled"]:
        assert buffer["doubts"] == [], hop
        assert abs(buffer["max_based"] - size) <= max(0.1 * size, 1500), hop
    else:
        assert buffer["max_based"] <= 1.1 * size + 1500


def test_flow_queues_are_detected_by_reordering_between_flows(tmp_path):
    """A bulk download beside a stream of small datagrams' worth of web traffic, each in its own
    queue.
    """
    cross = ({"workload": {"kind": "bulk"}, "direction": "down"},)
    hop = {"rate": "6 Mb/s", "delay": "20 ms"}
    own = buffer_of(tmp_path / "own", {**hop, "queue": {"kind": "fq-codel"}}, cross=cross)
    assert {"flow_queues", "early_drops"} & set(own["doubts"])
    shared = buffer_of(tmp_path / "shared", {**hop, "queue": {"kind": "droptail", "packets": 80}}, cross=cross)
    assert shared["doubts"] == []


@pytest.mark.parametrize("seed", [1, 2])
def test_radio_retransmissions_are_not_measured_as_a_queue(tmp_path, seed):
    """A window far below the bandwidth-delay product, so no queue stands; one burst in ten is
    damaged and retransmitted after 10 ms, at most four times.
    """
    medium = {
        "kind": "wimax",
        "channel": "7 MHz",
        "modulation": "64qam-3/4",
        "error": 0.1,
        "harq": {"attempts": 4, "feedback": "15 ms"},
    }
    queue = {"kind": "droptail", "packets": 100}
    buffer = buffer_of(
        tmp_path, {"medium": medium, "delay": "20 ms", "queue": queue}, seed, tcp={"receive_buffer": "16 KiB"}
    )
    assert not buffer["filled"]
    assert buffer["max_based"] is None or buffer["max_based"] < 16 * 1024 * 1.1 or buffer["doubts"]
