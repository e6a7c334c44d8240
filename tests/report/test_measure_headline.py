"""The headline of a measurement's report."""

from __future__ import annotations

from typing import Any

import pytest

from ackclock.measurement.terminal_tables import answer as headline

pytestmark = pytest.mark.finding("U13")


@pytest.mark.parametrize(
    ("at_least", "tcp_bps", "answer"),
    [
        (True, 1e9, "The path carries at least 1.00 Gb/s (by TCP) down."),
        (True, 2e8, "The path carries at least 341 Mb/s down."),
        (False, 1e9, "The path carries 341 Mb/s down."),
    ],
)
def test_headline_is_no_less_than_what_tcp_carried(at_least: bool, tcp_bps: float, answer: str) -> None:
    document: Any = {
        "capacity": {"down": {"rate_bps": 341e6, "at_least": at_least}},
        "flows": [{"direction": "down", "goodput_bps": tcp_bps}, {"direction": "up", "goodput_bps": 5e9}],
    }
    assert headline(document) == answer
