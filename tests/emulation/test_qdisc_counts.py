"""What a packet counts, also in a tunnel, and which packets a policer drops, as in the committed
tables of Linux; `make qdisc-counts` writes the tables.
"""

from __future__ import annotations

import json
from itertools import groupby

import pytest

import ackclock
from ackclock import _native
from ackclock.input.scenario import draft_of
from ackclock.simulation.plan import build_plan
from studies.qdisc_counts.guest import BURST, KEYWORDS, RATE, SIZES
from studies.qdisc_counts.measure import arrivals, differences, overheads, tunnels

COUNTED = {
    keyword: [(size, counted) for _, size, counted in rows]
    for keyword, rows in groupby(overheads(), key=lambda row: row[0])
}
RAW = "overhead 0"


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_framing_counts_what_cake_counts_with_its_keyword(keyword: str) -> None:
    hop = {"name": "line", "rate": "1 Mb/s", "framing": "raw" if keyword == RAW else keyword}
    flow = {"workload": {"kind": "bulk"}}
    plan = build_plan(draft_of({"hop": [hop], "flow": [flow], "duration": "1 s"}).check(), 1)
    framing = json.dumps(plan.document["hops"][0]["down"]["framing"])
    found = [(size, _native.on_wire(framing, size)) for size in SIZES]
    assert found == COUNTED[keyword] and len(found) == 40


def on_line(size: int, kind: str) -> float:
    """Bytes on a line for a packet of this IP length in a tunnel, by the time it sends."""
    flow = {"workload": {"kind": "cbr", "rate": "100 kb/s", "packet": f"{size} B"}, "stop": "500 ms"}
    link = {"hop": [{"name": "line", "rate": "8 Mb/s"}], "tunnel": [{"kind": kind, "over": ["line"]}]}
    (row,) = (hop for hop in ackclock.simulate(link, [flow], "1 s", 1).document["hops"] if hop["direction"] == "down")
    return float(row["utilization"] * 1e6 / row["delivered"])


@pytest.mark.parametrize("kind", ["gre", "vxlan", "ipsec-esp"])
def test_packet_in_a_tunnel_is_as_long_as_linux_makes_it(kind: str) -> None:
    rows = [(inner, outer) for name, inner, outer in tunnels() if name == kind]
    for inner, outer in rows:
        assert on_line(inner, kind) == pytest.approx(outer, abs=0.01), inner
    assert len(rows) > 30


def test_policer_drops_what_act_police_drops_but_for_packets_within_one_of_the_edge() -> None:
    packets = arrivals()
    other = differences(packets, RATE, BURST)
    assert len(other) <= len(packets) // 100 and all(abs(margin) < 1500 for margin in other)
    dropped = sum(not packet.passed for packet in packets)
    assert dropped > len(packets) // 20


def test_policer_of_another_burst_or_framing_differs_by_more() -> None:
    packets = arrivals()
    few = len(differences(packets, RATE, BURST))
    with_header = [type(one)(one.at_ns, one.size + 14, one.passed) for one in packets]
    assert len(differences(with_header, RATE, BURST)) > 3 * few
    assert len(differences(packets, RATE, BURST // 2)) > 3 * few
