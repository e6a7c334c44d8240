"""The engine accepts every scenario that Python accepts: each is refused with a message, or
runs.
"""

from __future__ import annotations

import json

from hypothesis import event, given, settings
from hypothesis import strategies as st

from ackclock.errors import InputError
from ackclock.input.scenario import draft_of
from ackclock.simulation import engine
from ackclock.simulation.plan import build_plan

TIMES = st.sampled_from(["5 ms", "1 us", "20 ms", "300 ms", "2 s", "100 day"])
SOON = st.sampled_from(["0 s", "1 ps", "5 ms", "60 ms", "399 ms"])
SIZES = st.sampled_from(["1 B", "29 B", "40 B", "1500 B", "9 kB", "65415 B", "64 KiB", "1 MB"])
RATES = st.sampled_from(["1 b/s", "9.6 kb/s", "1 Mb/s", "10 Mb/s"])
SHARES = st.sampled_from([0, 1e-3, 0.3, 0.999, 1])
COUNTS = st.sampled_from([1, 2, 3])
FLAGS = st.booleans()


def table(required=None, **optional):
    return st.fixed_dictionaries(required or {}, optional=optional)


def kind(name, required=None, **optional):
    return table({"kind": st.just(name), **(required or {})}, **optional)


LOSS = st.one_of(
    SHARES,
    kind("bernoulli", {"mean": SHARES}),
    kind("gilbert-elliott", {"mean": st.sampled_from([0, 1e-6, 0.5]), "bad_sojourn": TIMES}),
    kind("gilbert-elliott", {"good_sojourn": TIMES, "bad_sojourn": TIMES, "loss_good": SHARES, "loss_bad": SHARES}),
    kind("list", {"packets": st.lists(st.integers(1, 30), min_size=1, max_size=3, unique=True).map(sorted)}),
)
JITTER = st.one_of(
    kind("uniform", {"high": TIMES}, low=st.sampled_from(["0 s", "1 ps"]), in_order=FLAGS),
    kind("normal", {"mean": TIMES, "sd": TIMES}, in_order=FLAGS),
    kind("exponential", {"mean": TIMES}, in_order=FLAGS),
    kind("pareto", {"mean": TIMES}, shape=st.sampled_from([1.001, 1.5, 20]), in_order=FLAGS),
)
MARKS = st.sampled_from(["0 packets", "20 packets", "3 kB", "1 ms"])
OUTAGES = st.sampled_from([[], [{"start": "0 s", "end": "1 ps"}, {"start": "20 ms", "end": "300 ms"}]])
ACKS = table(
    filter=st.one_of(
        st.sampled_from(["safe", "p1", "cake", "cake-aggressive"]),
        table(
            preset=st.sampled_from(["safe", "cake"]),
            keep=COUNTS,
            occupancy=st.integers(0, 20),
            probability=SHARES,
            survivor=st.sampled_from(["tail", "head"]),
            window=FLAGS,
            sack=st.sampled_from(["off", "covered", "new"]),
            signs=FLAGS,
            duplicates=st.sampled_from(["keep", "below", "sacked", "mark"]),
        ),
    ),
    first=FLAGS,
    drop=st.sampled_from(["tail", "front"]),
)
ROOM = {"packets": COUNTS, "bytes": SIZES, "ack": ACKS}
CONTROL = {"target": TIMES, "interval": TIMES, "mtu": SIZES, "ecn": FLAGS}
UPDATES = st.sampled_from(["1 us", "15 ms", "100 day"])
GAINS = st.sampled_from([0, 0.125, 1e6])
QUEUES = st.one_of(
    kind("droptail", mark=MARKS, drop=st.sampled_from(["tail", "front"]), **ROOM),
    kind(
        "red", {"min": st.just("1.5 packets"), "max": st.just("6 packets")},
        max_p=SHARES, gentle=FLAGS, only=st.sampled_from(["all", "data"]), mean_packet=SIZES, ecn=FLAGS, weight=st.sampled_from([1e-9, 1]), **ROOM,
    ),
    kind("codel", **CONTROL, **ROOM),
    kind("fq-codel", flows=st.integers(1, 3), quantum=st.sampled_from(["64 B", "1514 B"]), **CONTROL, **ROOM),
    kind("cake", flows=st.integers(1, 20), quantum=st.sampled_from(["64 B", "1514 B"]), hosts=FLAGS, **CONTROL, **ROOM),
    kind("pie", target=TIMES, update=UPDATES, alpha=GAINS, beta=GAINS, burst=TIMES, mark_up_to=SHARES, mean_packet=SIZES, ecn=FLAGS, **ROOM),
    kind(
        "dualpi2", target=TIMES, update=UPDATES, alpha=GAINS, beta=GAINS, coupling=st.sampled_from([1e-9, 2, 100]),
        step=TIMES, overload=SHARES, classic_share=st.sampled_from([0, 0.1, 0.999]), **ROOM,
    ),
)  # fmt: skip
FRAMINGS = st.sampled_from(["none", "slip", "cslip", "pppoe-ptm", "docsis", {"cells": "atm", "overhead": "1000 B"}])
SIDE = {
    "policer": table({"rate": RATES, "burst": SIZES}, exceed=st.sampled_from(["drop", "ce"]), framing=FRAMINGS),
    "shaper": table(
        {"rate": RATES}, burst=st.one_of(SIZES, st.just("1 packet")), peak=RATES, queue=QUEUES, framing=FRAMINGS
    ),
    "queue": QUEUES,
    "reconstruct": table({"every": SIZES}, within=TIMES),
    "rate": RATES,
    "framing": FRAMINGS,
    "outage": OUTAGES,
    "loss": LOSS,
    "duplicate": SHARES,
    "delay": st.sampled_from(["30 ms", "0 s", "100 day"]),
    "jitter": JITTER,
    "reorder": table({"mean": SHARES, "delay": TIMES}),
}
HOP = table({"delay": SIDE.pop("delay")}, per_client=FLAGS, **SIDE)
MEDIUM = st.one_of(
    kind("half-duplex", {"rate": RATES}, turnaround=TIMES),
    kind(
        "packet-radio",
        hops=COUNTS,
        rate=RATES,
        latency=TIMES,
        receive_to_transmit=TIMES,
        rts=SIZES,
        backoff=TIMES,
        backoff_cap=TIMES,
        defer=st.sampled_from(["wait", "back-off"]),
        nack_cts=FLAGS,
        piggyback=FLAGS,
        ack_timeout=TIMES,
        tries=COUNTS,
        relay_queue=COUNTS,
        frame_error=SHARES,
    ),
    kind(
        "packet-radio",
        mac=st.just("ns2-multihop"),
        hops=COUNTS,
        latency=TIMES,
        receive_to_transmit=TIMES,
        backoff=TIMES,
        rts=SIZES,
    ),
    kind(
        "wlan",
        standard=st.sampled_from(["802.11b", "802.11g", "802.11n", "802.11ac"]),
        rate=RATES,
        basic_rate=RATES,
        preamble=st.sampled_from(["long", "short", "72-bit"]),
        guard_interval=st.sampled_from(["400 ns", "800 ns"]),
        streams=st.integers(1, 5),
        slot=TIMES,
        sifs=TIMES,
        eifs=TIMES,
        cw=st.sampled_from([[1, 1], [15, 1023], [31, 7]]),
        header=SIZES,
        rts_threshold=st.one_of(st.just("never"), SIZES),
        short_retries=COUNTS,
        aggregate=table(frames=COUNTS, bytes=SIZES, time=TIMES),
        frame_error=SHARES,
    ),
)
ON_LINE = ("rate", "framing")
OVER_MEDIUM = table(
    {"medium": MEDIUM}, per_client=FLAGS, **{key: side for key, side in SIDE.items() if key not in ON_LINE}
)
ONE_DIRECTION = table({"only": st.sampled_from(["down", "up"])}, **SIDE)
TCP = {
    "host": st.sampled_from(["ns2", "linux-6", "linux-2.6.20", "linux-2.6.8", "windows-xp", "bsd-1997"]),
    "variant": st.sampled_from(["reno", "newreno", "cubic"]),
    "recovery": st.sampled_from(["classic", "newreno", "sack", "rate-halving"]),
    "first_climb": st.sampled_from([0, 0.05, 1]),
    "segment": st.sampled_from(["100 B", "1448 B", "9 kB"]),
    "header": st.sampled_from(["1 B", "40 B"]),
    "send_buffer": st.one_of(SIZES, st.sampled_from(["auto", "unlimited", "tuned"])),
    "send_start": SIZES,
    "send_limit": SIZES,
    "send_overhead": SIZES,
    "quick_acks": st.integers(0, 3),
    "ping_pong": FLAGS,
    "metrics_cache": st.sampled_from([False, True, "rtt", "full"]),
    "window_validation": st.sampled_from(["off", "rfc2861", "rfc7661"]),
    "app_limited_growth": FLAGS,
    "receive_overhead": st.one_of(st.just(False), SIZES),
    "rto_restart": st.sampled_from(["advance", "recovery", "head", "head-and-sack", "every-ack"]),
    "pacing": FLAGS,
    "tail_loss_probe": FLAGS,
    "syn_linear_timeouts": st.integers(0, 4),
    "tso_win_divisor": COUNTS,
    "tso": st.one_of(st.just(False), table({"segments": COUNTS, "time": TIMES, "max": SIZES})),
    "tsq": st.one_of(FLAGS, table({"segments": COUNTS, "time": TIMES, "max": SIZES})),
    "delayed_ack": st.one_of(
        FLAGS, table({"segments": COUNTS, "timer": TIMES}, per_rtt=st.sampled_from([0.1, 4]), push=FLAGS)
    ),
    "ack_congestion_control": st.one_of(
        FLAGS, table(max=COUNTS, timer=TIMES, option_bytes=st.sampled_from(["0 B", "40 B"]))
    ),
    "push": st.sampled_from(["every", "chunks"]),
    "dupack_marking": FLAGS,
    "max_burst": COUNTS,
    "pacing_tick": TIMES,
    "initial_window": COUNTS,
    "initial_ssthresh": st.one_of(st.just("unlimited"), COUNTS),
    "rto_min": TIMES,
    "rto_max": st.sampled_from(["100 day", "2 s"]),
    "rto_initial": TIMES,
    "rto_tick": TIMES,
    "sack": FLAGS,
    "sack_rtt": FLAGS,
    "timestamps": FLAGS,
    "ecn": st.sampled_from([False, True, "accecn"]),
    "ecn_packets": st.sampled_from(["data", "established", "all"]),
    "accecn_option": st.sampled_from(["off", "changes", "every"]),
    "ecn_beta": st.sampled_from([0.5, 0.85]),
    "timestamp_bytes": st.sampled_from(["0 B", "12 B"]),
    "window_scaling": FLAGS,
    "byte_counting": st.integers(0, 3),
    "dupack_threshold": COUNTS,
    "overhead": TIMES,
}
WORKLOAD = st.one_of(
    kind("bulk", read_rate=RATES),
    kind("transfer", {"size": SIZES}),
    kind(
        "web",
        request=SIZES,
        answers=st.integers(1, 3),
        jobs=st.integers(1, 3),
        persistent=FLAGS,
        think=st.sampled_from(["1 ms", "uniform(0 s, 200 day)"]),
    ),
    kind("cbr", {"rate": RATES}, packet=st.sampled_from(["29 B", "1500 B"]), variation=SHARES),
    kind(
        "onoff",
        {"rate": RATES, "on": st.sampled_from(["300 ms", "9000 s"]), "off": TIMES},
        distribution=st.sampled_from(["exponential", "pareto"]),
    ),
)
FLOW = table(
    {"workload": WORKLOAD, "receive_buffer": st.sampled_from(["1 B", "1500 B", "64 KiB"])},  # bounds the work
    direction=st.sampled_from(["down", "up"]),
    over=st.sampled_from([["a"], ["a", "b"], ["b"]]),
    count=COUNTS,
    start=st.one_of(SOON, st.just("uniform(0 s, 100 ms)")),
    stop=st.sampled_from(["400 ms", "1 day"]),
    repeat=table({"every": st.sampled_from(["1 ms", "1 ps"]), "times": COUNTS}),
    **TCP,
)
SCENARIO = st.fixed_dictionaries(
    {
        "duration": st.just("400 ms"),
        "hop": st.tuples(HOP, st.one_of(HOP, ONE_DIRECTION, OVER_MEDIUM)).map(
            lambda hops: [{"name": name, **hop} for name, hop in zip("ab", hops, strict=True)]
        ),
        "flow": st.lists(FLOW, min_size=1, max_size=2),
    },
    optional={
        "clients": COUNTS,
        "sample": st.sampled_from(["0 s", "100 ms", "1 ms"]),
        "phase_jitter": FLAGS,
        "measure": table(window=st.sampled_from(["all", "all-active", ["100 ms", "-100 ms"]])),
    },
)


@settings(max_examples=150)
@given(SCENARIO)
def test_scenario_is_refused_by_python_or_accepted_by_the_engine(data):
    try:
        plan = build_plan(draft_of(data).check(), 1)
    except InputError as error:
        event(f"refused: {error.key.rpartition('.')[2]}")
        return
    event("ran")
    result = engine.run(plan)
    json.dumps(result.summary, allow_nan=False)
