"""The plan of a scenario and a seed, as docs/inside/plan.md defines it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.input.link.trace import read_recording
from ackclock.input.scenario import draft_of, read_draft
from ackclock.input.scenario.resolution import resolved, scenario_hash
from ackclock.input.toml_writer import to_toml
from ackclock.simulation.plan import Capture, build_plan

EVERYTHING = """\
title = "every key once"
duration = "60 s"
seeds = [3, 5]
clients = 2
sample = "0 s"
phase_jitter = false

[[hop]]
name = "core"
rate = "100 Mb/s"
delay = "45 ms"
queue = { kind = "droptail", packets = 50 }

[[hop]]
name = "air"
per_client = true
rate.down = { trace = "short.trace" }
rate.up = "256 kb/s"
framing.up = "cslip"
queue.down = { bytes = "64 KiB" }
loss.down = { kind = "gilbert-elliott", mean = 0.01, bad_sojourn = "50 ms" }
loss.up = 1e-3
duplicate = 0.001
delay = { down = "5 ms", up = "7 ms" }
jitter.down = { kind = "pareto", mean = "2 ms", in_order = false }
jitter.up = { kind = "normal", mean = "2 ms", sd = "1 ms" }
reorder.down = { mean = 0.01, delay = "5 ms" }
outage.down = [{ start = "1 s", end = "1.5 s" }]

[[hop]]
name = "cable"
only = "down"
loss = { kind = "list", packets = [1500, 4000] }
jitter = { kind = "uniform", high = "3 ms" }

[[hop]]
name = "return"
only = "up"
loss = { kind = "gilbert-elliott", good_sojourn = "1 s", bad_sojourn = "100 ms", loss_good = 0.001, loss_bad = 0.5 }
jitter = { kind = "exponential", mean = "3 ms" }

[[hop]]
name = "managed"
rate = "10 Mb/s"
queue.down = { kind = "fq-codel", quantum = "300 B" }
queue.up = { kind = "red", packets = 10, ack = { filter = "p1", first = true, drop = "front" } }
reconstruct.up = { every = "2 kB" }

[[hop]]
name = "controlled"
rate = "10 Mb/s"
queue.down = { kind = "pie", bytes = "100 kB", ecn = false }
queue.up = { kind = "dualpi2", step = "500 us" }

[[hop]]
name = "delayed"
rate = "10 Mb/s"
queue.down = { kind = "codel", ack = { filter = { preset = "cake", occupancy = 5, survivor = "head" } } }
queue.up = { kind = "red", min = "3 kB", max = "9 kB", only = "data", gentle = true }

[tcp]
host = "ns2"
variant = "newreno"
segment = "1024 B"
overhead = "10 us"

[[flow]]
name = "download"
count = 3
start = "uniform(5 s, 10 s)"
workload = { kind = "bulk", read_rate = "1 Mb/s" }
delayed_ack = true

[[flow]]
name = "upload"
direction = "up"
host = "linux-6"
variant = "cubic"
receive_buffer = "64 KiB"
workload = { kind = "transfer", size = "1 MB" }
start = "1 s"
stop = "20 s"
repeat = { every = "25 s", times = 2 }

[[flow]]
name = "cross"
over = ["core"]
workload = { kind = "onoff", rate = "20 Mb/s", on = "500 ms", off = "500 ms", distribution = "pareto", shape = 1.5 }

[[flow]]
name = "voice"
direction = "up"
workload = { kind = "cbr", rate = "64 kb/s", packet = "200 B" }

[measure]
window = ["5 s", "-5 s"]
"""


@pytest.fixture
def everything(write) -> Path:
    write("short.trace", "0\n3\n3\n10\n")
    return write("everything.toml", EVERYTHING)


def test_plan_has_every_key(everything, snapshot):
    plan = build_plan(read_draft(everything).check(), 3).expanded()
    assert json.dumps(plan, indent=1) == snapshot


def test_plan_of_ns2_and_linux_stacks_equals_the_snapshot(snapshot):
    for host in ("ns2", "linux-6"):
        assert tcp_plan({"host": host}) == snapshot(name=host)


def tcp_plan(tcp, flow=None):
    data = {
        "link": "dumbbell-10m",
        "duration": "10 s",
        "tcp": tcp,
        "flow": [{"workload": {"kind": "bulk"}, **(flow or {})}],
    }
    return build_plan(draft_of(data).check(), 1).document["flows"][0]["tcp"]


@pytest.mark.parametrize(
    ("tcp", "flow", "recovery", "sack"),
    [
        ({"host": "ns2", "variant": "reno"}, {}, "sack", True),
        ({"host": "ns2", "variant": "newreno"}, {}, "newreno", False),
        ({"host": "ns2", "variant": "newreno", "recovery": "sack"}, {}, "sack", True),
        ({"host": "ns2", "variant": "newreno", "sack": True}, {}, "newreno", True),
        ({"host": "ns2", "variant": "reno", "recovery": "classic"}, {}, "classic", False),
        ({"host": "ns2", "recovery": "rate-halving"}, {}, "rate-halving", True),
        ({"host": "ns2"}, {"variant": "newreno"}, "newreno", False),
        ({"host": "ns2", "recovery": "classic"}, {"recovery": "sack"}, "sack", True),
        ({}, {}, "linux", True),
        ({}, {"host": "ns2", "variant": "newreno"}, "newreno", False),
    ],
)
def test_recovery_defaults_to_the_variants_and_sack_to_the_recoverys(tcp, flow, recovery, sack):
    plan = tcp_plan(tcp, flow)
    assert (plan["recovery"], plan["sack"]) == (recovery, sack)


def test_symbolic_values_are_those_of_the_host():
    assert tcp_plan({})["receive_buffer"] == 6 * 2**20
    assert tcp_plan({})["send_buffer"] is None
    assert tcp_plan({})["delayed_ack"] == {"segments": 2, "timer_ps": 40 * 10**9, "push": True}
    own = {"segments": 2, "timer": "40 ms"}
    assert tcp_plan({"delayed_ack": own})["delayed_ack"] == {"segments": 2, "timer_ps": 40 * 10**9}
    assert tcp_plan({"host": "ns2"})["delayed_ack"] is None
    assert tcp_plan({"host": "ns2", "delayed_ack": True})["delayed_ack"] == {"segments": 2, "timer_ps": 100 * 10**9}
    assert tcp_plan({"delayed_ack": False})["delayed_ack"] is None
    assert tcp_plan({"initial_ssthresh": 100})["initial_ssthresh"] == 100


def flows(extra, **keys):
    data = {"link": "dumbbell-10m", "duration": "10 s", "flow": [{"workload": {"kind": "bulk"}, **extra}], **keys}
    return build_plan(draft_of(data).check(), 1).document["flows"]


def test_phase_jitter_is_10_ms_at_start_and_a_tenth_of_a_service_time_for_a_single_flow():
    (flow,) = flows({"start": "1 s"}, tcp={"host": "ns2", "segment": "1024 B"})
    assert flow["start"] == {"low_ps": 10**12, "high_ps": 10**12 + 10 * 10**9}
    assert flow["overhead_ps"] == 1064 * 8 * 10**12 // 10**7 // 10
    (random,) = flows({"start": "uniform(1 s, 2 s)"})
    assert random["start"] == {"low_ps": 10**12, "high_ps": 2 * 10**12}


def test_phase_jitter_of_flows_that_share_a_link_is_half_a_service_time():
    both = flows({"count": 2}, tcp={"host": "ns2", "segment": "1024 B"})
    assert [flow["overhead_ps"] for flow in both] == [1064 * 8 * 10**12 // 10**7 // 2] * 2


@pytest.mark.parametrize(
    ("flow", "max_us"),
    [
        ({"workload": {"kind": "bulk"}}, 100),
        ({"workload": {"kind": "bulk"}, "count": 2}, 1000),
        ({"workload": {"kind": "cbr", "rate": "10 kb/s"}, "count": 2}, 100),
    ],
)
def test_phase_jitter_of_packets_has_an_upper_bound(flow, max_us):
    data = {"hop": [{"name": "line", "rate": "28.8 kb/s"}], "duration": "10 s", "flow": [flow]}
    assert build_plan(draft_of(data).check(), 1).document["flows"][0]["overhead_ps"] == max_us * 10**6


def test_overhead_is_zero_without_phase_jitter_unless_given():
    (exact,) = flows({"start": "1 s"}, phase_jitter=False)
    assert exact["start"] == {"low_ps": 10**12, "high_ps": 10**12}
    assert exact["overhead_ps"] == 0
    (text,) = flows({"overhead": "7 us"}, phase_jitter=False)
    assert text["overhead_ps"] == 7 * 10**6


def test_flows_are_assigned_to_clients_in_rotation_and_repeated():
    dealt = flows({"name": "f", "count": 3, "repeat": {"every": "4 s", "times": 2}, "stop": "3 s"}, clients=2)
    assert [flow["name"] for flow in dealt] == [f"f-{number}" for number in range(1, 7)]
    assert [flow["client"] for flow in dealt] == [0, 1, 0, 0, 1, 0]
    assert [flow["start"]["low_ps"] for flow in dealt] == [0, 0, 0] + [4 * 10**12] * 3
    assert [flow["stop_ps"] for flow in dealt] == [3 * 10**12] * 3 + [7 * 10**12] * 3


def test_resolved_scenario_has_the_same_plan_and_resolves_to_itself(everything, tmp_path):
    first = read_draft(everything).check()
    again = tmp_path / "again.toml"
    again.write_text(to_toml(resolved(first)))
    second = read_draft(again).check()
    assert build_plan(second, 3).expanded() == build_plan(first, 3).expanded()
    assert resolved(second) == resolved(first)
    assert scenario_hash(second) == scenario_hash(first)


def test_scenario_hash_depends_on_contents_of_traces_not_names(tmp_path):
    def hashed(name, content):
        (tmp_path / name).write_bytes(content)
        hop = {"name": "a", "rate": {"trace": str(tmp_path / name)}}
        scenario = draft_of({"hop": [hop], "duration": "1 s", "flow": [{"workload": {"kind": "bulk"}}]}).check()
        return scenario_hash(scenario), build_plan(scenario, 1).digest

    assert hashed("a", b"1\n2\n") == hashed("b.gz", gzip.compress(b"1\n2\n"))
    assert hashed("a", b"1\n2\n") != hashed("c", b"1\n3\n")


def test_plan_digest_omits_captures(small, tmp_path):
    scenario = read_draft(small).check()
    plan = build_plan(scenario, 1, [Capture("download", "server", tmp_path / "x.pcap")])
    assert plan.expanded()["captures"] == [
        {"flow": "download", "end": "server", "path": str(tmp_path / "x.pcap"), "format": "pcap"}
    ]
    with_offloads = Capture("download", "server", tmp_path / "x.pcap", offloads=True).plan()
    assert with_offloads["offloads"] == {"max_bytes": 65_535, "gro_ps": 50_000_000}
    assert plan.digest == build_plan(scenario, 1).digest
    assert plan.digest != build_plan(scenario, 2).digest


@given(st.lists(st.integers(0, 5), min_size=1, max_size=50).filter(any))
def test_trace_reads_back_plain_or_compressed(tmp_path_factory, gaps):
    times, now = [], 0
    for gap in gaps:
        now += gap
        times.append(now)
    folder = tmp_path_factory.mktemp("traces")
    content = "".join(f"{time}\n" for time in times).encode()
    (folder / "plain").write_bytes(content)
    (folder / "zipped").write_bytes(gzip.compress(content))
    assert read_recording(folder / "plain").times_ms == read_recording(folder / "zipped").times_ms == tuple(times)


def test_trace_path_is_relative_to_its_file(tmp_path, write):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "t").write_text("1\n2\n")
    (tmp_path / "links" / "cell.toml").write_text('[[hop]]\nname = "air"\nrate.down = { trace = "t" }\n')
    scenario = write("s.toml", 'link = "links/cell.toml"\nduration = "1 s"\n[[flow]]\nworkload = { kind = "bulk" }\n')
    plan = build_plan(read_draft(scenario).check(), 1).expanded()
    assert plan["hops"][0]["down"]["rate"] == {"kind": "trace", "times_ms": [1, 2]}
    assert plan["hops"][0]["up"]["rate"] is None


def test_recorded_cellular_links_are_readable(cellular_link):
    data = {"link": str(cellular_link), "duration": "1 s", "flow": [{"workload": {"kind": "bulk"}}]}
    plan = build_plan(draft_of(data).check(), 1).expanded()
    for direction in ("down", "up"):
        times = plan["hops"][1][direction]["rate"]["times_ms"]
        assert len(times) > 50_000
        assert times == sorted(times)
