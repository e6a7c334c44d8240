"""Host stacks: each says every key, and each runs."""

import pytest

import ackclock
from ackclock.catalogue import hosts
from ackclock.plan import build_plan
from ackclock.scenario import draft_of
from ackclock.scenario.hosts import RECEIVE_TUNING, SEND_TUNING, resolve
from ackclock.scenario.tcp import TcpKeys

TUNED = ("linux-2.6.8", "linux-2.6.15", "linux-2.6.20")
WIMAX = {"hop": [{"name": "air", "rate": "1.5 Mb/s", "delay": "60 ms", "queue": {"bytes": "64 KiB"}}]}


def tcp_plan(**tcp):
    data = {"link": "dumbbell-10m", "duration": "10 s", "tcp": tcp, "flow": [{"workload": {"kind": "bulk"}}]}
    return build_plan(draft_of(data).check(), 1).document["flows"][0]["tcp"]


def run(duration="5 s", link="dumbbell-10m", **tcp):
    return ackclock.simulate(link, [{"workload": {"kind": "bulk"}, **tcp}], duration, seed=1).flows.row(0, named=True)


@pytest.mark.parametrize("host", hosts())
def test_the_packaged_stacks_resolve_to(host, snapshot):
    assert tcp_plan(host=host) == snapshot


@pytest.mark.parametrize("host", hosts())
def test_a_stack_as_it_is_written_out_means_the_same(host):
    once = resolve(TcpKeys(host=host))
    assert resolve(TcpKeys(**once.written())) == once


@pytest.mark.parametrize("host", hosts())
def test_a_download_gets_through_with(host):
    flow = run(host=host)
    assert flow["goodput_bps"] > 1e6
    assert flow["retransmission_rate"] < 0.2


@pytest.mark.parametrize("host", TUNED)
def test_a_size_turns_tuning_off(host):
    keys = tcp_plan(host=host, send_buffer="64 KiB", receive_buffer="64 KiB")
    assert (keys["send_buffer"], keys["receive_buffer"]) == (65536, 65536)
    assert not {"send_tuning", "receive_tuning"} & set(keys)


def test_any_host_can_have_tuned_buffers_and_every_figure_of_them_can_be_said():
    keys = tcp_plan(host="ns2", send_buffer="tuned", receive_buffer="tuned", receive_start="87378 B", window_share=1)
    assert keys["receive_tuning"] == {"start": 87378, "share": 1.0, "opening": 5840, "growth": "double"}
    assert keys["send_tuning"]["start"] == 16384
    assert not set(keys) & {*RECEIVE_TUNING, *SEND_TUNING}
    assert tcp_plan(host="linux-2.6.20", receive_limit="40 KB")["receive_tuning"]["start"] == 40_000


def test_tuned_buffers_lose_what_64_kib_do_not_on_the_link_of_wimax_measured():
    tuned = run("30 s", WIMAX, host="linux-2.6.20")
    fixed = run("30 s", WIMAX, host="linux-2.6.20", send_buffer="64 KiB", receive_buffer="64 KiB")
    assert fixed["retransmitted_segments"] == 0
    assert tuned["retransmitted_segments"] > 10
    assert tuned["goodput_bps"] > 0.95 * fixed["goodput_bps"]
