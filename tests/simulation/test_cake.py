"""CAKE before an uplink modem, end to end: rate, delay, fairness between hosts, and ACK
filtering.
"""

from __future__ import annotations

from typing import Any

import pytest

import ackclock

SHAPED = 900_000
"""What the router sends up, bits a second: nine tenths of what the modem could."""


def home(queue: dict[str, Any]) -> dict[str, Any]:
    """A router that shapes the uplink, and a modem with half a second of buffer behind it."""
    return {
        "hop": [
            {"name": "internet", "rate": "1 Gb/s", "delay": "10 ms"},
            {
                "name": "modem",
                "rate": {"down": "16 Mb/s", "up": "1 Mb/s"},
                "delay": "8 ms",
                "queue": {"down": {"bytes": "256 KiB"}, "up": {"bytes": "64 KiB"}},
            },
            {"name": "router", "only": "up", "rate": f"{SHAPED} b/s", "queue": queue},
        ]
    }


def run(queue: dict[str, Any], flows: list[dict[str, Any]], clients: int) -> Any:
    done = ackclock.simulate(
        home(queue), flows, duration="40 s", seed=1, clients=clients, measure={"window": ["10 s", "40 s"]}
    )
    return done.summaries[0]


def up(summary: Any, hop: str) -> Any:
    return next(row for row in summary["hops"] if (row["hop"], row["direction"]) == (hop, "up"))


def goodput(summary: Any, name: str) -> float:
    return sum(row["goodput_bps"] for row in summary["flows"] if row["flow"].split("-")[0] == name)


BULK = {"kind": "bulk"}
FAMILY = [{"name": "get", "workload": BULK}, {"name": "put", "direction": "up", "workload": BULK}]
CAKE = {"kind": "cake", "ack": {"filter": "cake"}}


def test_cake_shaper_keeps_its_rate_with_low_delay():
    summary = run(CAKE, [FAMILY[1]], 1)
    sent = next(row for row in summary["flows"])["throughput_bps"]
    assert sent == pytest.approx(SHAPED, rel=0.02)
    assert up(summary, "modem")["queue_delay_ms"]["max"] < 1.0, "nothing waits in the modem"
    # At 0.9 Mb/s a full packet takes 13 ms: the target is one and a half of them.
    assert up(summary, "router")["queue_delay_ms"]["mean"] < 60.0
    plain = run({"bytes": "64 KiB"}, [FAMILY[1]], 1)
    assert up(plain, "router")["queue_delay_ms"]["mean"] > 300.0


def test_cake_download_keeps_its_rate_beside_an_upload_with_filtered_acks():
    summary, plain = run(CAKE, FAMILY, 1), run({"bytes": "64 KiB"}, FAMILY, 1)
    assert goodput(summary, "get") > 14.5e6
    assert goodput(plain, "get") < 0.7 * goodput(summary, "get"), "behind the upload's data it is starved of ACKs"
    assert up(summary, "router")["drops_by_cause"]["ack_filter"] > 100
    assert goodput(summary, "put") > 0.5 * SHAPED


def test_cake_is_fair_between_hosts_with_one_and_eight_flows():
    # A table's flows are dealt to the clients in turn, so a table of one is client 0's.
    pair = {"name": "pair", "direction": "up", "workload": BULK, "count": 2}
    more = [{"name": f"more{number}", "direction": "up", "workload": BULK} for number in range(7)]

    def share(queue: dict[str, Any]) -> float:
        rows = run(queue, [pair, *more], 2)["flows"]
        rates = {row["flow"]: row["goodput_bps"] for row in rows}
        return rates["pair-2"] / sum(rates.values())

    assert share(CAKE) == pytest.approx(1 / 2, abs=0.05)
    assert share({**CAKE, "hosts": False}) == pytest.approx(1 / 9, abs=0.03)
