"""The document of ``measure`` and its schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from ackclock.measurement.capacity import capacity
from ackclock.measurement.document_schema import Capacity, Queue, measurement_schema
from ackclock.measurement.queue_inference import QueueStatements, infer
from studies.measurement.simulated_path import SimulatedPath

SCHEMA = Path(__file__).parents[2] / "docs" / "measure.schema.json"


def test_schema_in_the_documentation_is_that_of_the_types():
    assert json.loads(SCHEMA.read_text("utf-8")) == json.loads(json.dumps(measurement_schema()))


def test_capacity_of_the_document_follows_the_schema_when_a_queue_was_inferred():
    hop = {"name": "line", "rate": "4 Mb/s", "delay": "10 ms", "queue": {"kind": "droptail", "bytes": "40 kB"}}
    found = infer(SimulatedPath({"title": "t", "source": "test", "hop": [hop]}, "up", 5, 4.0).facts())
    sent = {
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
        "least_delay_interval_ms": None,
    }
    document = json.loads(json.dumps(capacity(sent, True, found)))
    assert Capacity.model_validate(document).queue.kind == "droptail"
    with pytest.raises(ValidationError):
        Capacity.model_validate({**document, "renamed": 1})
    assert set(Queue.model_fields) == set(QueueStatements.__dataclass_fields__)
