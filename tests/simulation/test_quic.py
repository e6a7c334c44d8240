"""Flows over QUIC: every workload, what a result says of them, captures, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError

DSL = {"name": "dsl", "rate": {"down": "16 Mb/s", "up": "1 Mb/s"}, "delay": "15 ms"}
ONOFF = {"kind": "onoff", "rate": "2 Mb/s", "on": "500 ms", "off": "500 ms"}


def run(flow: dict[str, Any], hop: dict[str, Any] | None = None, **options: Any) -> ackclock.Simulation:
    flows = [{"name": "f", "transport": "quic", **flow}]
    return ackclock.simulate({"hop": [hop or DSL]}, flows, duration=options.pop("duration", "20 s"), **options)


def row(done: ackclock.Simulation, name: str = "f") -> dict[str, Any]:
    return dict(next(flow for flow in done.summaries[0]["flows"] if flow["flow"] == name))


def test_bulk_flow_fills_the_link_and_names_its_stack() -> None:
    done = run({"workload": {"kind": "bulk"}, "variant": "cubic"})
    flow = row(done)
    assert 14.0e6 < flow["goodput_bps"] < 15.5e6
    assert flow["variant"] == "cubic" and flow["quic"]["stack"] == "noq 1.4"
    # An ACK for every second packet.
    assert 0.4 < flow["quic"]["back_packets"] / flow["segments_sent"] < 0.7
    assert flow["rtt_ms"]["min"] >= 30.0 and flow["limited_share"]
    text = "\n".join(str(column._cells) for table in done.tables() for column in table.columns)
    assert "noq 1.4" in text


def test_upload_fills_the_return_direction_which_limits_it_as_tcp() -> None:
    flows = {}
    for transport in ("tcp", "quic"):
        flow = {"transport": transport, "direction": "up", "workload": {"kind": "bulk"}, "variant": "cubic"}
        flows[transport] = row(run({**flow, "pacing": True} if transport == "tcp" else flow))
        limit = flows[transport]["limit"]
        assert (limit["kind"], limit["hop"], limit["direction"]) == ("bottleneck", "dsl", "up"), transport
    assert flows["quic"]["goodput_bps"] == pytest.approx(flows["tcp"]["goodput_bps"], rel=0.03)
    assert 0.9e6 < flows["quic"]["goodput_bps"] < 0.97e6


def test_transfer_ends_and_the_stack_has_controls_of_its_own() -> None:
    for control in ("variant", "noq-cubic", "noq-newreno", "noq-bbr3"):
        flow = row(run({"workload": {"kind": "transfer", "size": "2 MB"}, "quic": {"control": control}}))
        assert 1.0 < flow["completed_s"] < 4.0, control
        assert flow["variant"] == ("cubic" if control == "variant" else control)


def test_web_has_its_pages_on_one_connection() -> None:
    done = run({"workload": {"kind": "web", "jobs": 5, "think": "100 ms"}})
    assert len(done.summaries[0]["flows"]) == 1
    jobs = done.summaries[0]["jobs"]
    assert jobs["completed"] == jobs["count"] == 5


def test_page_has_a_stream_for_each_object_and_no_other_handshake() -> None:
    over = {
        transport: row(
            ackclock.simulate(
                {"hop": [{**DSL, "loss": {"down": {"kind": "bernoulli", "mean": 0.01}}}]},
                [{"name": "f", "transport": transport, "workload": {"kind": "page", "page": "light", "http": "2"}}],
                duration="20 s",
                seeds=1,
            )
        )["app"]["score"]["load_s"]
        for transport in ("tcp", "quic")
    }
    assert 0.1 < over["quic"] < over["tcp"] + 0.5 and over["tcp"] < 5


def test_video_and_onoff_run_over_quic() -> None:
    video = row(run({"workload": {"kind": "video"}}))
    assert video["app"]["score"]["start_s"] is not None
    onoff = row(run({"workload": ONOFF, "stop": "15 s"}))
    assert 0.4e6 < onoff["goodput_bps"] < 1.6e6 and onoff["quic"]["stack"] == "noq 1.4"


def test_sender_that_asks_for_fewer_acks_gets_them() -> None:
    flow = row(run({"workload": {"kind": "bulk"}, "quic": {"ack_frequency": 9}}))
    assert flow["quic"]["back_packets"] / flow["segments_sent"] < 0.16


def test_acks_of_quic_are_left_by_an_ack_filter_and_header_compression() -> None:
    queue = {"kind": "droptail", "packets": 20}
    slow = {**DSL, "rate": {"down": "16 Mb/s", "up": "50 kb/s"}, "framing": {"up": "cslip"}}
    plain = {**slow, "queue": {"up": queue}}
    filtered = {**slow, "queue": {"up": {**queue, "ack": {"filter": "p1"}}}}
    flows: dict[str, list[int]] = {}
    for hop in (plain, filtered):
        for transport in ("tcp", "quic"):
            done = ackclock.simulate(
                {"hop": [hop]},
                [{"name": "f", "transport": transport, "workload": {"kind": "bulk"}}],
                duration="20 s",
                seeds=1,
            )
            causes = next(hop for hop in done.summaries[0]["hops"] if hop["direction"] == "up")["drops_by_cause"]
            flows.setdefault(transport, []).append(sum(count for cause, count in causes.items() if "filter" in cause))
    assert flows["quic"] == [0, 0] and flows["tcp"][1] > 0


def test_capture_is_read_as_quic_and_both_ends_are_joined(tmp_path: Path) -> None:
    run({"workload": {"kind": "transfer", "size": "1 MB"}}, captures="pcap", out=tmp_path / "run")
    captures = sorted((tmp_path / "run" / "captures").glob("*.pcap"))
    assert len(captures) == 2
    found = ackclock.analyze(*captures)
    (flow,) = found.document["udp_flows"]
    assert flow["protocol"] == "quic" and flow["b2a"]["one_way_delay_ms"]["min"] == pytest.approx(15.3, abs=0.3)


@pytest.mark.parametrize(
    ("flow", "hop", "words"),
    [
        ({"variant": "dctcp"}, {}, "not dctcp, prague, lp or python"),
        ({"variant": "lp"}, {}, "not dctcp, prague, lp or python"),
        ({"variant": "prague"}, {}, "not dctcp, prague, lp or python"),
        ({"quic": {"send_burst": 17}}, {}, "1 to 16 packets"),
        ({"transport": "tcp", "quic": {"streams": 2}}, {}, 'transport = "quic" with it'),
        ({"workload": {"kind": "cbr", "rate": "1 Mb/s"}}, {}, "bulk, transfer, web, page, video or onoff"),
    ],
)
def test_what_quic_cannot_do_is_refused(flow: dict[str, Any], hop: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        run({"workload": {"kind": "bulk"}, **flow}, {**DSL, **hop})


def test_proxy_that_splits_tcp_connections_refuses_quic() -> None:
    flow = {"transport": "quic", "workload": {"kind": "bulk"}}
    with pytest.raises(InputError, match="a flow over QUIC"):
        ackclock.simulate({"hop": [DSL, {**DSL, "name": "far", "pep": {}}]}, [flow], duration="1 s")


def test_same_seed_gives_the_same_run() -> None:
    first, second = (
        row(run({"workload": {"kind": "bulk"}}, {**DSL, "loss": {"down": {"kind": "bernoulli", "mean": 0.01}}}))
        for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("control", ["variant", "noq-cubic", "noq-newreno", "noq-bbr3"])
def test_every_control_shows_what_is_in_flight_and_what_limits_it(control: str) -> None:
    hop = {**DSL, "queue": {"kind": "droptail", "packets": 60}}
    done = run({"workload": {"kind": "bulk"}, "quic": {"control": control}}, hop, duration="10 s", sample="100 ms")
    flight = done.series["flight_bytes"].to_list()
    assert max(flight) > 20_000
    shares = row(done)["limited_share"]
    assert shares["cwnd"] + shares["recovery"] + shares["pacing"] > 0.9
