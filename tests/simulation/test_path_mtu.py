"""What an MTU and a tunnel change for a flow, against arithmetic and the kernel's counts: each
test runs with the key and without it.
"""

from __future__ import annotations

from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError

PAYLOAD, HEADERS = 1448, 52
LINE = 10_000_000
CALL = {"name": "call", "direction": "up", "workload": {"kind": "cbr", "rate": "80 kb/s", "packet": "200 B"}}


def run(hops: list[dict[str, Any]], flow: dict[str, Any] | None = None, seconds: int = 30, **link: Any) -> Any:
    bulk = {"workload": {"kind": "bulk"}}
    done = ackclock.simulate(
        {"hop": hops, **link},
        [flow or bulk],
        duration=f"{seconds} s",
        seed=1,
        measure={"window": ["5 s", f"{seconds} s"]},
        tcp={"variant": "bbr"},
    )
    return done.summaries[0]


def line(**keys: Any) -> dict[str, Any]:
    return {"name": "line", "rate": f"{LINE} b/s", "delay": "10 ms", "queue": {"packets": 100}, **keys}


def dropped(summary: Any) -> int:
    return sum(int(row["drops_by_cause"].get("mtu", 0)) for row in summary["hops"])


def test_black_hole_stops_a_download_that_a_report_or_a_clamped_syn_saves() -> None:
    whole = run([line()])["flows"][0]["goodput_bps"]
    lost = run([line(mtu={"ip": "1400 B", "icmp": False})])
    assert (lost["flows"][0]["goodput_bps"], dropped(lost) > 1) == (0.0, True)
    assert lost["flows"][0]["limit"]["cause"] == "mtu"
    assert "longer than the MTU of `line down`" in lost["flows"][0]["why"]
    for saved in ({"ip": "1400 B"}, {"ip": "1400 B", "icmp": False, "clamp_mss": True}):
        flow = run([line(mtu=saved)])["flows"][0]
        assert flow["goodput_bps"] / whole == pytest.approx((1348 / 1400) / (1448 / 1500), rel=0.005)


def test_host_that_probes_gets_through_a_black_hole() -> None:
    tcp = {"workload": {"kind": "bulk"}, "mtu_probing": "black-hole"}
    flow = run([line(mtu={"ip": "1400 B", "icmp": False})], tcp, seconds=60)["flows"][0]
    assert flow["goodput_bps"] == pytest.approx(LINE * 1347 / 1399, rel=0.06)


LAN = [
    {"name": "a", "rate": "10 Gb/s", "delay": "20 us", "queue": {"packets": 1000}},
    {"name": "b", "rate": "10 Gb/s", "delay": "20 us", "queue": {"packets": 1000}},
]
"""Two links of a machine: veth pairs with a router between them."""


def lan(mtu: dict[str, Any], size: str, seconds: int, **tcp: Any) -> Any:
    done = ackclock.simulate(
        {"hop": [LAN[0], {**LAN[1], "mtu": mtu}]},
        [{"workload": {"kind": "transfer", "size": size}}],
        duration=f"{seconds} s",
        seed=1,
        tcp=tcp,
    )
    return done.summaries[0]["flows"][0]


def test_sender_repeats_what_linux_repeats_when_a_router_reports_the_mtu() -> None:
    """Linux 6.18 over veth, 300 kB: ten segments of 1448 B in two packets of 7240 B become six
    segments each; no RTO, and no reduction of the window.
    """
    flow = lan({"ip": "1400 B"}, "300 kB", 5)
    assert (flow["retransmitted_segments"], flow["timeouts"], flow["window_cuts"]) == (12, 0, 0)


def test_sender_behind_a_black_hole_has_the_rtos_of_linux() -> None:
    """Linux 6.18: 0.22, 0.63, 1.46, 3.12 and 6.58 s after the data."""
    flow = lan({"ip": "1400 B", "icmp": False}, "300 kB", 8)
    assert (flow["retransmitted_segments"], flow["timeouts"]) == (5, 5)


def test_sender_that_probes_resumes_when_linux_does() -> None:
    """Linux 6.18 with tcp_mtu_probing 1: the fifth RTO at 6.46 s has segments of 1024 B; 3 MB are
    through at 6.38 to 6.53 s with segments of 1347 B and 28 retransmissions.
    """
    flow = lan({"ip": "1400 B", "icmp": False}, "3 MB", 10, mtu_probing="black-hole")
    assert flow["completed_s"] - flow["from_s"] == pytest.approx(6.5, abs=0.25)
    assert flow["timeouts"] == 5


def test_nothing_changes_when_every_packet_fits() -> None:
    def text(hop: dict[str, Any]) -> Any:
        summary = run([hop])
        del summary["engine"]
        return summary

    assert text(line(mtu={"ip": "1500 B"})) == text(line())


def test_datagram_is_lost_with_one_of_its_fragments() -> None:
    stream = {"workload": {"kind": "cbr", "rate": "1 Mb/s", "packet": "1400 B"}}
    share = {}
    for size in (1400, 700):
        hops = [line(mtu={"ip": f"{size} B"}), {"name": "air", "delay": "1 ms", "loss": 0.05}]
        row = run(hops, stream, seconds=400)["flows"][0]
        share[size] = row["goodput_bps"] / 1e6 * 1400 / 1372
    assert share[1400] == pytest.approx(0.95, rel=0.005)
    # 1380 B of payload are 680, 680 and 20 B.
    assert share[700] == pytest.approx(0.95**3, rel=0.01)


OUTER = {"wireguard": 60, "openvpn-udp": 52, "ipsec-esp": 54, "gre": 24, "vxlan": 50}
INNER = {"wireguard": 1420, "openvpn-udp": 1448, "ipsec-esp": 1446, "gre": 1476, "vxlan": 1450}


@pytest.mark.parametrize("kind", OUTER)
def test_goodput_over_a_tunnel_is_that_of_its_headers(kind: str) -> None:
    summary = run([line()], tunnel=[{"kind": kind, "over": ["line"]}])
    plain = run([line()])["flows"][0]["goodput_bps"]
    ratio = ((INNER[kind] - HEADERS) / (INNER[kind] + OUTER[kind])) / (PAYLOAD / (PAYLOAD + HEADERS))
    assert summary["flows"][0]["goodput_bps"] / plain == pytest.approx(ratio, rel=0.005)


def test_flow_queue_sees_one_flow_in_a_tunnel() -> None:
    """A call beside an upload: FQ-CoDel serves it at once, and in a tunnel behind the upload."""
    hop = {"name": "line", "rate": "1 Mb/s", "delay": "10 ms", "queue": {"kind": "fq-codel"}}
    p95 = {}
    for name, link in {"plain": {}, "tunnel": {"tunnel": [{"kind": "wireguard", "over": ["line"]}]}}.items():
        done = ackclock.simulate(
            {"hop": [hop], **link}, [{"direction": "up", "workload": {"kind": "bulk"}}, CALL], duration="30 s", seed=1
        )
        p95[name] = next(row for row in done.summaries[0]["flows"] if row["flow"] == "call")["one_way_delay_ms"]["p95"]
    assert p95["plain"] < 30 and p95["tunnel"] > p95["plain"] + 5


def test_mark_inside_a_tunnel_reaches_the_sender() -> None:
    hop = line(queue={"kind": "codel"}, rate="5 Mb/s")
    flow = {"workload": {"kind": "bulk"}, "variant": "cubic", "ecn": True}
    for kind, marks in (("gre", True), ("openvpn-udp", False)):
        row = run([hop], flow, tunnel=[{"kind": kind, "over": ["line"]}])["flows"][0]
        assert (row["ecn_cuts"] > 0) == marks, kind


def test_tunnel_s_packets_are_divided_on_a_hop_with_a_smaller_mtu_unless_they_must_not() -> None:
    tunnel = {"kind": "wireguard", "over": ["line"], "mtu": "1420 B"}
    small = line(mtu={"ip": "1400 B"})
    plain = run([line()])["flows"][0]["goodput_bps"] / (PAYLOAD / (PAYLOAD + HEADERS))
    divided = run([small], tunnel=[tunnel])["flows"][0]["goodput_bps"]
    # 1480 B leave as 1396 and 104 B.
    assert divided / plain == pytest.approx(1368 / 1500, rel=0.005)
    df = run([small], tunnel=[{**tunnel, "df": True}])
    # 1340 B inside are 1344 with padding, 1404 outside: 1328 B are the longest whose padding fits.
    assert df["flows"][0]["goodput_bps"] / plain == pytest.approx((1328 - HEADERS) / 1388, rel=0.005)
    hole = run([line(mtu={"ip": "1400 B", "icmp": False})], tunnel=[{**tunnel, "df": True}])
    assert hole["flows"][0]["goodput_bps"] == 0


@pytest.mark.parametrize(
    ("tunnels", "message"),
    [
        ([{"kind": "gre", "over": ["nowhere"]}], "nowhere"),
        ([{"kind": "gre", "over": ["a", "c"]}], "consecutive hops"),
        ([{"kind": "gre", "over": ["a"]}, {"kind": "gre", "over": ["a", "b"]}], "at most one tunnel"),
        ([{"kind": "gre", "over": ["a"], "mtu": "60 B"}], "68 B"),
        ([{"kind": "pptp", "over": ["a"]}], "wireguard"),
    ],
)
def test_tunnel_is_refused_where_it_cannot_be(tunnels: list[dict[str, Any]], message: str) -> None:
    hops = [{"name": name, "rate": "1 Mb/s", "delay": "1 ms"} for name in "abc"]
    with pytest.raises(InputError, match=message):
        run(hops, tunnel=tunnels)
