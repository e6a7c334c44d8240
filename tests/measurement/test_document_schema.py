"""The document of ``measure`` and its types."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from ackclock.documents import checker
from ackclock.documents.measure import Capacity
from ackclock.measurement.capacity import capacity
from ackclock.measurement.consistency import StreamSender, consistent
from ackclock.measurement.queue_inference import infer
from studies.measurement.simulated_path import SimulatedPath


def test_capacity_of_the_document_follows_the_schema_when_a_queue_was_inferred():
    hop = {"name": "line", "rate": "4 Mb/s", "delay": "10 ms", "queue": {"kind": "droptail", "bytes": "40 kB"}}
    found = infer(SimulatedPath({"title": "t", "source": "test", "hop": [hop]}, "up", 5, 4.0).facts())
    sent: Any = {
        "direction": "up",
        "payload_bytes": 1172,
        "ip_bytes": 1200,
        "asked_gap_us": 1920.0,
        "sent": 1,
        "sent_gap_us": None,
        "sent_bps": None,
        "received": 1,
        "received_bps": None,
        "duplicated": 0,
        "reordered": 0,
        "loss": None,
        "loss_bursts": 0,
        "delay_variation_ms": None,
        "one_way_delay_ms": None,
        "min_delay_interval_ms": None,
    }
    sender = StreamSender("this host", 5e6, 5e6, 4e6, 1000, 1000, 0.0, 0.0, 0)
    document = json.loads(json.dumps(capacity(sent, consistent(found, sender, [], filled=True))))
    assert checker(Capacity).validate_python(document)["queue"]["kind"] == "droptail"
    with pytest.raises(ValidationError):
        checker(Capacity).validate_python(
            {("room" if key == "buffer_bytes" else key): document[key] for key in document}
        )
