"""What a hop's framing, policer and shaper change for its users, against arithmetic: each test runs
with the key and without it.
"""

from __future__ import annotations

from typing import Any

import pytest

import ackclock

BULK = {"kind": "bulk"}


def rows(hop: dict[str, Any], flows: list[dict[str, Any]], seconds: int = 30) -> tuple[Any, Any]:
    """Flows and hops of a run over one hop, measured without its first 5 s."""
    done = ackclock.simulate(
        {"hop": [{"name": "line", "delay": "10 ms", **hop}]},
        flows,
        duration=f"{seconds} s",
        seed=1,
        measure={"window": ["5 s", f"{seconds} s"]},
    )
    return done.summaries[0]["flows"], done.summaries[0]["hops"]


def up(hops: Any) -> Any:
    return next(row for row in hops if row["direction"] == "up")


CALL = {"name": "call", "direction": "up", "workload": {"kind": "cbr", "rate": "80 kb/s", "packet": "200 B"}}


@pytest.mark.parametrize(
    ("framing", "wire"),
    [("none", 200), ("pppoe-vcmux", 5 * 53), ("pppoa-vcmux", 5 * 53), ("pppoe-ptm", 230 + 4), ("docsis", 218)],
)
def test_call_of_80_kbps_fits_100_kbps_by_the_bytes_of_its_framing(framing: str, wire: int) -> None:
    """50 packets of 200 B a second: 5 cells each are 106 kb/s, of which 100 pass."""
    line = {"rate": "100 kb/s", "framing": framing, "queue": {"packets": 5}}
    offered = 50 * wire * 8
    _, hops = rows(line, [CALL])
    sent = up(hops)["delivered"] + up(hops)["drops"]
    assert up(hops)["drops"] / sent == pytest.approx(max(0.0, 1 - 100_000 / offered), abs=0.002)
    assert up(hops)["utilization"] == pytest.approx(min(1.0, offered / 100_000), abs=0.003)


def test_shaper_below_the_line_takes_the_queue_from_the_modem() -> None:
    """128 KiB of a modem's buffer are a second at 1 Mb/s, also behind a shaper above that rate."""
    modem = {"rate": {"down": "16 Mb/s", "up": "1 Mb/s"}, "queue": {"bytes": "128 KiB"}}
    put = {"direction": "up", "workload": BULK}
    delay = {}
    for rate in (None, "950 kb/s", "2 Mb/s"):
        shaper = {"shaper": {"up": {"rate": rate, "queue": {"kind": "cake"}}}} if rate else {}
        delay[rate] = up(rows({**modem, **shaper}, [put])[1])["queue_delay_ms"]["p50"]
    assert delay[None] > 600 and delay["2 Mb/s"] > 600
    assert delay["950 kb/s"] < 60


def test_policer_bounds_a_download_by_its_burst_and_no_queue_does() -> None:
    """Linux in virtual time has 12.3 to 15.3 Mb/s of 20 (docs/evidence/virtual-kernel.md)."""
    line = {"rate": "100 Mb/s", "delay": "20 ms", "queue": {"packets": 1000}}
    goodput = {}
    for burst in (None, "40 kB", "500 kB"):
        policer = {"policer": {"down": {"rate": "20 Mb/s", "burst": burst}}} if burst else {}
        flows, hops = rows({**line, **policer}, [{"workload": BULK, "host": "linux-6", "variant": "cubic"}])
        goodput[burst] = flows[0]["goodput_bps"] / 1e6
        down = next(row for row in hops if row["direction"] == "down")
        assert down["queue_delay_ms"]["p50"] < 1 or burst is None
        assert bool(down["drops_by_cause"]["policed"]) == (burst is not None)
    assert goodput[None] > 90
    assert 11 < goodput["40 kB"] < 16.5
    assert 17 < goodput["500 kB"] < 19.4


def test_policer_that_marks_keeps_packets_of_senders_with_ecn() -> None:
    line = {"rate": "100 Mb/s", "delay": "20 ms"}
    policer = {"policer": {"down": {"rate": "20 Mb/s", "burst": "100 kB", "exceed": "ce"}}}
    flow = {"workload": BULK, "host": "linux-6", "variant": "cubic", "ecn": True}
    flows, hops = rows({**line, **policer}, [flow])
    down = next(row for row in hops if row["direction"] == "down")
    assert (down["drops_by_cause"]["policed"], down["marks"] > 10) == (0, True)
    assert flows[0]["goodput_bps"] > 15e6


def test_burst_of_a_shaper_shortens_a_page_and_not_a_download() -> None:
    """A page of 500 kB takes 400 ms at 10 Mb/s, and 40 ms of a bucket of 1 MB at 100 Mb/s."""
    took = {}
    for burst in ("1 packet", "1 MB"):
        shaper = {"rate": "10 Mb/s", "burst": burst, "queue": {"bytes": "1 MB"}}
        hop = {"rate": "100 Mb/s", "shaper": {"down": shaper}}
        flows, _ = rows(hop, [{"workload": {"kind": "transfer", "size": "500 kB"}, "start": "6 s"}], seconds=15)
        took[burst] = flows[0]["completed_s"]
    # The difference is that of the transmission times, at most.
    assert took["1 packet"] - took["1 MB"] == pytest.approx(0.36, abs=0.15)


def test_stream_loses_what_a_schedule_does_not_carry_although_its_mean_does() -> None:
    """Of 2500 packets in 10 s at 1 Mb/s 1250 leave and 20 wait; at the mean, 2.5 Mb/s, all pass."""
    stream = {"workload": {"kind": "cbr", "rate": "2 Mb/s", "packet": "1000 B"}, "stop": "40 s"}
    schedule = {"schedule": [["0 s", "4 Mb/s"], ["10 s", "1 Mb/s"]], "repeat": "20 s"}
    drops = {}
    for name, rate in (("schedule", schedule), ("mean", "2.5 Mb/s")):
        line = {"name": "line", "delay": "10 ms", "queue": {"packets": 20}, "rate": {"down": rate, "up": "1 Mb/s"}}
        done = ackclock.simulate({"hop": [line]}, [stream], duration="41 s", seed=1)
        (row,) = (row for row in done.summaries[0]["hops"] if row["direction"] == "down")
        drops[name] = row["drops"]
        assert row["utilization"] == pytest.approx(((10_000 - row["drops"]) * 8000) / 101e6, rel=0.03)
    assert drops == {"schedule": pytest.approx(2 * (1250 - 20), abs=6), "mean": 0}


@pytest.mark.parametrize(
    ("hop", "cause", "words"),
    [
        ({"policer": {"rate": "20 Mb/s", "burst": "40 kB"}}, "policer", "drops by the policer of `line down`"),
        ({"rate": "20 Mb/s", "queue": {"bytes": "15 kB"}}, "overflow", "drops at the queue of `line down`"),
    ],
)
def test_reason_of_lost_packets_is_the_policer_or_the_queue(hop: dict[str, Any], cause: str, words: str) -> None:
    line = {"rate": "1 Gb/s", "delay": "40 ms", **hop}
    flow = rows(line, [{"workload": BULK}])[0][0]
    assert (flow["limit"]["cause"], words in flow["why"]) == (cause, True), flow["why"]
