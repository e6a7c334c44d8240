"""Fits to a capture of one end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.fitting.one_end import _descend
from ackclock.fitting.parameters import MIN_PACKETS_BYTES
from tests.support.captures import simulated_captures

HOP = {
    "rate": {"down": "2 Mb/s", "up": "500 kb/s"},
    "delay": "25 ms",
    "queue": {"kind": "droptail", "bytes": "24 kB"},
}


def rows(fit: Any) -> dict[str, dict[str, Any]]:
    return {row["path"].removeprefix("hop.access."): row for row in fit.document["parameters"]}


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    return simulated_captures(tmp_path_factory.mktemp("ends"), HOP, duration="10 s")


@pytest.mark.parametrize("end", ["server", "client"])
def test_rate_queue_and_delay_are_within_their_intervals_when_one_end_was_captured(captures, end):
    fit = ackclock.fit(captures[end == "client"], variant="cubic")
    found = rows(fit)
    assert found["rate.down"]["value"] == pytest.approx(2e6, rel=0.005)
    for path, truth in {"rate.down": 2e6, "queue.down.bytes": 24e3, "delay": 25.0}.items():
        assert found[path]["lo"] <= truth <= found[path]["hi"], found[path]
    assert found["rate.up"]["status"] == "assumed"
    assert fit.document["inputs"][0]["end"] == end
    other = {"server": "client", "client": "server"}[end]
    assert any(f"at the {other}" in text for text in fit.document["remarks"])
    draws = fit.draws["hop.access.rate.up"].to_list()
    assert max(draws) > 3 * min(draws)


def test_one_end_is_refused_when_it_has_no_bulk_transfer(tmp_path):
    flow = [{"name": "f", "workload": {"kind": "transfer", "size": "1 B"}}]
    server, _ = simulated_captures(tmp_path, HOP, flows=flow, duration="1 s")
    with pytest.raises(InputError) as raised:
        ackclock.fit(server)
    assert raised.value.file == str(server)


def test_burst_intervals_cover_their_truth_when_the_sender_was_captured(tmp_path):
    loss = {"down": {"kind": "gilbert-elliott", "mean": 0.01, "bad_sojourn": "20 ms"}}
    # No other loss than the channel's.
    hop = {**HOP, "rate": "10 Mb/s", "queue": {"kind": "droptail", "bytes": "400 kB"}, "loss": loss}
    within = {"loss.down.mean": 0, "loss.down.bad_sojourn": 0}
    for delay in ("20 ms", "25 ms", "30 ms", "35 ms", "40 ms"):
        server, _ = simulated_captures(tmp_path / delay[:2], {**hop, "delay": delay}, duration="30 s")
        found = rows(ackclock.fit(server))
        for path, truth in {"loss.down.mean": 0.01, "loss.down.bad_sojourn": 20.0}.items():
            within[path] += path in found and found[path]["lo"] <= truth <= found[path]["hi"]
    assert min(within.values()) >= 4, within


def test_stalls_are_fitted_when_the_sender_was_captured(tmp_path):
    handover = {"down": {"every": "4 s", "gap": "350 ms"}}
    server, _ = simulated_captures(tmp_path, {**HOP, "rate": "16 Mb/s", "handover": handover}, duration="30 s")
    fit = ackclock.fit(server)
    assert rows(fit)["rate.down"]["value"] == pytest.approx(16e6, rel=0.005)
    assert not any(path.startswith(("loss.up", "jitter.up")) for path in rows(fit))


def test_short_queue_and_an_aqm_are_not_known_apart_at_the_receiver(tmp_path, captures):
    hop = {**HOP, "rate": "14 Mb/s", "delay": "10 ms", "queue": {"kind": "fq-codel"}}
    _, client = simulated_captures(tmp_path, hop, duration="12 s")
    of_aqm, of_queue = (rows(ackclock.fit(end, variant="cubic"))["queue.down.bytes"] for end in (client, captures[1]))
    assert of_aqm["status"] == "assumed" and of_aqm["value"] is None, of_aqm
    assert of_queue["status"] == "identified" and of_queue["lo"] <= 24e3 <= of_queue["hi"], of_queue


def test_descent_ends_where_no_other_queue_is_possible():
    class Far:
        end = SimpleNamespace(carried_bps=0.0, rate_bps=2e6)

        def distance(self, *_: float) -> float:
            raise AssertionError("no point is possible")

    smallest = (2e6, 0.8 * MIN_PACKETS_BYTES / 1.4, 0.0)
    assert _descend(cast(Any, Far()), 30.0, smallest) == (30.0, smallest)
