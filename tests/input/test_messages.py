"""Messages for bad input: file, line, key, what was found, what is allowed.

One table row for each.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackclock.errors import InputError
from ackclock.input.scenario import draft_of, read_draft

FLOW = """\
link = "dumbbell-10m"
duration = "10 s"
[[flow]]
workload = { kind = "bulk" }
"""
HOP = """\
duration = "10 s"
[[flow]]
workload = { kind = "bulk" }
[[hop]]
name = "air"
"""

# what is written, line, key, found, allowed (the last two: a part of it)
COMPLAINTS = [
    # keys
    ('link = "dumbbell-10m"\ndurations = "1 s"\n', 2, "durations", 'unknown key "durations"', "did you mean duration?"),
    (FLOW + "varient = 1\n", 5, "flow[1].varient", 'unknown key "varient"', "did you mean variant?"),
    (FLOW + "[tcp]\nsegments = 1\n", 6, "tcp.segments", 'unknown key "segments"', "did you mean segment?"),
    (HOP + "dealy = '1 ms'\n", 6, "hop.air.dealy", 'unknown key "dealy"', "did you mean delay?"),
    (HOP + "queue = { packet = 5 }\n", 6, "hop.air.queue.packet", 'unknown key "packet"', "did you mean packets?"),
    (HOP + "jitter = { mean = '1 ms' }\n", 6, "hop.air.jitter", "a table (mean)", 'the key "kind"'),
    ('link = "dumbbell-10m"\n[[flow]]\nworkload = { kind = "bulk" }\n', None, "", 'no "duration"', "required here"),
    # quantities
    (FLOW.replace("10 s", "10 sec"), 2, "duration", '"10 sec"', "did you mean s?"),
    (FLOW.replace('"10 s"', "10"), 2, "duration", "10", 'such as "45 ms"'),
    (FLOW.replace("10 s", "-1 s"), 2, "duration", '"-1 s"', "above zero"),
    (HOP + "rate = '10 Mbps'\n", 6, "hop.air.rate", '"10 Mbps"', "did you mean Mb/s?"),
    (HOP + "rate = '0 b/s'\n", 6, "hop.air.rate", '"0 b/s"', "above zero"),
    (HOP + "rate.up = '10'\n", 6, "hop.air.rate.up", '"10" without a unit', "units: b/s, kb/s"),
    (HOP + "rate.down = '1 Mb/s'\nrate.upp = '1 Mb/s'\n", 6, "hop.air.rate", "a table (down, upp)", "rate.down and rate.up"),
    (HOP + "delay = '-1 ms'\n", 6, "hop.air.delay", '"-1 ms"', "zero or more"),
    (HOP + "queue = { bytes = '0 B' }\n", 6, "hop.air.queue.bytes", '"0 B"', "above zero"),
    (FLOW + "[tcp]\nsegment = 1448\n", 6, "tcp.segment", "1448", 'such as "64 KiB"'),
    (FLOW + "[tcp]\nsegment = '64 KiB'\n", 6, "tcp.segment", '"64 KiB"', "at most 65415 B"),
    (FLOW + "[tcp]\nreceive_buffer = 'big'\n", 6, "tcp.receive_buffer", '"big"', '"auto", "tuned", or a size'),
    ("sample = '1 ps'\n" + FLOW, 1, "sample", '"1 ps"', "and more here"),
    # links and hops
    ('link = "dumbell-10m"\n', 1, "link", 'no link "dumbell-10m"', "did you mean dumbbell-10m?"),
    ("link = 3\n", 1, "link", "3", "packaged link"),
    (FLOW + "[[hop]]\nname = 'x'\n", 1, "link", "both link and [[hop]]", "not both"),
    ("duration = '1 s'\n[[flow]]\nworkload = { kind = 'bulk' }\n", None, "hop", "no hops", "[[hop]]"),
    (HOP + "[[hop]]\nname = 'air'\n", 7, "hop.air.name", 'a second hop "air"', "different name"),
    (HOP.replace('"air"', '"a.b"'), 5, "hop.a.b.name", '"a.b"', "without dots"),
    (HOP.replace('name = "air"', "delay = '1 ms'"), 4, "hop[1]", "a hop without a name", "name"),
    (HOP + "only = 'left'\n", 6, "hop.air.only", '"left"', '"down" or "up"'),
    (HOP + "only = 'down'\nrate.up = '1 Mb/s'\n", 7, "hop.air.rate.up", "rate.up on a hop with only", "rate.down"),
    (HOP + "medium = { kind = 'half-duplexx' }\n", 6, "hop.air.medium.kind", '"half-duplexx"', "did you mean half-duplex?"),
    (HOP + "medium = { kind = 'half-duplex' }\n", 6, "hop.air.medium", 'no "rate"', '"rate" is required'),
    (HOP + "medium = { kind = 'packet-radio', hops = 65 }\n", 6, "hop.air.medium.hops", "65", "1 to 64 hops"),
    (HOP + "medium = { kind = 'packet-radio', backoff_cap = '40 ms' }\n", 6, "hop.air.medium.backoff_cap", "40 ms", "twice the base"),
    (
        HOP + "medium = { kind = 'packet-radio', mac = 'ns2-multihop', nack_cts = true }\n",
        6,
        "hop.air.medium.mac",
        "ns2-multihop with",
        "has none of them",
    ),
    (
        HOP + "rate = '1 Mb/s'\nmedium = { kind = 'half-duplex', rate = '1 Mb/s' }\n",
        6, "hop.air.rate", "a medium and a rate", "either a medium or a rate",
    ),
    (HOP + "medium = { kind = 'wlan', standard = '802.11x' }\n", 6, "hop.air.medium.standard", '"802.11x"', "802.11b"),
    (HOP + "medium = { kind = 'wlan', cw = [31, 7] }\n", 6, "hop.air.medium.cw", "[31, 7]", "CWmin and CWmax"),
    (HOP + "medium = { kind = 'wlan', aggregate = { frames = 8 } }\n", 6, "hop.air.medium.aggregate", "802.11b", "802.11n"),
    (HOP + "medium = { kind = 'wimax' }\n", 6, "hop.air.medium", 'no "channel"', '"channel" is required'),
    (HOP + "medium = { kind = 'wimax', channel = '7' }\n", 6, "hop.air.medium.channel", '"7"', "7 MHz"),
    (
        HOP + "medium = { kind = 'wimax', channel = '7 MHz', modulation = '64qam' }\n",
        6, "hop.air.medium.modulation", '"64qam"', "64qam-3/4",
    ),
    (
        HOP + "medium = { kind = 'wimax', channel = '7 MHz', modulation = '64qam-5/6' }\n",
        6, "hop.air.medium.modulation", '"64qam-5/6"', "one of ofdm's",
    ),
    (HOP + "medium = { kind = 'wimax', channel = '7 MHz', dl_ul = '3' }\n", 6, "hop.air.medium.dl_ul", '"3"', "3:1"),
    (
        HOP + "medium = { kind = 'wimax', channel = '7 MHz', dl_ul = '6:1', contention_layout = 'whole' }\n",
        6, "hop.air.medium", "have no room for data", "room for data",
    ),
    (HOP + "framing = 'ppp'\n", 6, "hop.air.framing", '"ppp"', '"none", "slip", "cslip"'),
    (HOP + "queue = { kind = 'codell' }\n", 6, "hop.air.queue.kind", '"codell"', "droptail"),
    (HOP + "queue = { packets = 0 }\n", 6, "hop.air.queue.packets", "0", "1 or more"),
    (HOP + "queue = { mark = '20' }\n", 6, "hop.air.queue.mark", '"20"', "20 packets"),
    (HOP + "queue = { mark = '1.5 packets' }\n", 6, "hop.air.queue.mark", '"1.5 packets"', "1 ms"),
    (HOP + "queue = { drop = 'head' }\n", 6, "hop.air.queue.drop", '"head"', '"tail", "front"'),
    (HOP + "queue = { kind = 'red', min = '5 packets' }\n", 6, "hop.air.queue.max", 'no "max"', 'both min and max'),
    (HOP + "queue = { kind = 'red', min = '5 packets', max = '3 kB' }\n", 6, "hop.air.queue.max", '"3 kB"', 'a number of packets'),
    (HOP + "queue = { kind = 'red', min = '5 packets', max = '5 packets' }\n", 6, "hop.air.queue.max", '"5 packets"', 'more than min'),
    (HOP + "queue = { kind = 'red', min = '5', max = '6' }\n", 6, "hop.air.queue.min", '"5"', '5 packets'),
    (HOP + "queue = { kind = 'red', weight = 0 }\n", 6, "hop.air.queue.weight", '0', 'above 0'),
    (HOP + "queue = { kind = 'codel', interval = '0 s' }\n", 6, "hop.air.queue.interval", '"0 s"', 'above zero'),
    (HOP + "queue = { kind = 'fq-codel', flows = 0 }\n", 6, "hop.air.queue.flows", '0', '1 to 65536'),
    (HOP + "queue = { kind = 'fq-codel', quantum = '1 B' }\n", 6, "hop.air.queue.quantum", '"1 B"', '64 B'),
    (HOP + "queue = { kind = 'pie', update = '1 ns' }\n", 6, "hop.air.queue.update", '"1 ns"', '1 us'),
    (HOP + "queue = { kind = 'dualpi2', ecn = true }\n", 6, "hop.air.queue.ecn", 'unknown key "ecn"', 'target'),
    (HOP + "queue = { kind = 'dualpi2', ack = { first = true } }\n", 6, "hop.air.queue.ack.first", 'first = true', 'its own order'),
    (HOP + "queue = { ack = { filter = 'p2' } }\n", 6, "hop.air.queue.ack.filter", '"p2"', 'safe, p1, cake'),
    (HOP + "queue = { ack = { filter = { keep = 0 } } }\n", 6, "hop.air.queue.ack.filter.keep", '0', '1 or more'),
    (HOP + "queue = { ack = { filter = { preset = 'p2' } } }\n", 6, "hop.air.queue.ack.filter.preset", '"p2"', 'cake'),
    (HOP + "queue = { ack = { fitler = 'p1' } }\n", 6, "hop.air.queue.ack.fitler", 'unknown key "fitler"', 'did you mean filter?'),
    (HOP + "reconstruct.up = { within = '1 s' }\n", 6, "hop.air.reconstruct.up", 'no "every"', "every"),
    (HOP + "per_client = 1\n", 6, "hop.air.per_client", "1", "true or false"),
    # loss, jitter, outages
    (HOP + "loss.down = 1.5\n", 6, "hop.air.loss.down.mean", "1.5", "from 0 to 1"),
    (HOP + "loss = nan\n", 6, "hop.air.loss.mean", "nan", "from 0 to 1"),
    (HOP + "loss = { kind = 'bernouli', mean = 0.1 }\n", 6, "hop.air.loss.kind", '"bernouli"', "did you mean bernoulli?"),
    (HOP + "loss = { kind = 'gilbert-elliott', mean = 0.1 }\n", 6, "hop.air.loss", 'no "bad_sojourn"', "bad_sojourn"),
    (
        HOP + "loss = { kind = 'gilbert-elliott', mean = 0.1, bad_sojourn = '1 s', loss_bad = 1.0 }\n",
        6, "hop.air.loss", "mean and bad_sojourn and loss_bad", "either mean and bad_sojourn",
    ),
    (HOP + "loss = { kind = 'list', packets = [] }\n", 6, "hop.air.loss.packets", "an empty list", "increasing"),
    (HOP + "loss = { kind = 'list', packets = [4, 3] }\n", 6, "hop.air.loss.packets[2]", "3 after 4", "increasing"),
    (HOP + "jitter = { kind = 'pareto', mean = '1 ms', shape = 1 }\n", 6, "hop.air.jitter.shape", "1", "above 1"),
    (HOP + "jitter = { kind = 'uniform', low = '2 ms', high = '1 ms' }\n", 6, "hop.air.jitter.low", "low above high", "up to"),
    (HOP + "outage = [\n{ start = '2 s', end = '1 s' }]\n", 7, "hop.air.outage[1]", "ends before it starts", "later"),
    (HOP + "reorder = { mean = 0.1 }\n", 6, "hop.air.reorder", 'no "delay"', "required here"),
    # flows
    ('link = "dumbbell-10m"\nduration = "1 s"\n', None, "flow", "no flows", "at least one [[flow]]"),
    ("duration = '1 s'\n[flow]\nname = 'x'\n", 2, "flow", "a table (name)", "[[flow]]"),
    (FLOW + "name = 'a'\n[[flow]]\nname = 'a'\nworkload = { kind = 'bulk' }\n", 7, "flow.a.name", 'a second flow "a"', "different"),
    (
        FLOW + "name = 'a'\ncount = 2\n[[flow]]\nname = 'a-2'\nworkload = { kind = 'bulk' }\n",
        8, "flow.a-2.name", 'a second flow "a-2"', "different",
    ),
    (FLOW + "over = ['bottlenek']\n", 5, "flow[1].over[1]", '"bottlenek"', "did you mean bottleneck?"),
    (FLOW + "over = ['left', 'right']\n", 5, "flow[1].over", '["left", "right"]', "consecutive hops"),
    (FLOW + "over = []\n", 5, "flow[1].over", "an empty list", "hop names"),
    (HOP + "only = 'up'\n", 2, "flow[1].direction", "no hop that carries packets down", "TCP requires both directions"),
    (FLOW + "direction = 'dwn'\n", 5, "flow[1].direction", '"dwn"', 'did you mean "down"?'),
    (FLOW + "count = 0\n", 5, "flow[1].count", "0", "1 or more"),
    (FLOW + "count = 1000000\n", 5, "flow[1].count", "1000000 flows", "at most"),
    (FLOW + "start = '20 s'\n", 5, "flow[1].start", '"20 s"', "before the end of the run, 10 s"),
    (FLOW + "start = 'uniform(5 s, 1 s)'\n", 5, "flow[1].start", "uniform(5 s, 1 s)", "b at least a"),
    (FLOW + "start = '2 s'\nstop = '1 s'\n", 6, "flow[1].stop", '"1 s"', "after the start"),
    (FLOW + "repeat = { every = '5 s', times = 9 }\n", 5, "flow[1].repeat", "9 times every 5 s", "last start"),
    (FLOW.replace("bulk", "ftp"), 4, "flow[1].workload.kind", '"ftp"', "bulk, transfer, web, page, video, call, conference, game"),
    (FLOW.replace("bulk", "transfer"), 4, "flow[1].workload", 'no "size"', "required here"),
    # TCP
    (FLOW + "variant = 'cubik'\n", 5, "flow[1].variant", '"cubik"', "did you mean cubic?"),
    (FLOW + "host = 'linux'\n", 5, "flow[1].host", '"linux"', "did you mean linux-6?"),
    (FLOW + "[tcp]\nrecovery = 'sacks'\n", 6, "tcp.recovery", '"sacks"', "did you mean sack?"),
    (FLOW + "[tcp]\ndelayed_ack = 2\n", 6, "tcp.delayed_ack", "2", "true (the host's rule)"),
    (FLOW + "[tcp]\ndelayed_ack = { segments = 2 }\n", 6, "tcp.delayed_ack", 'no "timer"', "required here"),
    (FLOW + "[tcp]\nrto_min = '200 s'\n", 6, "tcp.rto_min", "200 s", "at most rto_max, 120 s"),
    (FLOW + "[tcp]\necn = 'yes'\n", 6, "tcp.ecn", '"yes"', 'true (RFC 3168), "accecn" (RFC 9768) or false'),
    (FLOW + "[tcp]\nack_congestion_control = 5\n", 6, "tcp.ack_congestion_control", "5", "true, false, or { max = 25"),
    (FLOW + "ack_congestion_control = true\ntimestamps = false\n", 5, "flow[1].ack_congestion_control", "control", "timestamps = true"),
    (FLOW + "[tcp]\nfirst_climb = 2\n", 6, "tcp.first_climb", "2", "a share from 0 to 1"),
    (FLOW + "[tcp]\necn_beta = 1\n", 6, "tcp.ecn_beta", "1", "a share above 0 and below 1"),
    (FLOW + "[tcp]\nsegment = '65400 B'\nsyn_option_bytes = '200 B'\n", 6, "tcp.segment", "packets of up to 65640 B", "65535 B"),
    (FLOW + "[tcp]\nreceive_buffer = '2 GB'\n", 6, "tcp.receive_buffer", '"2 GB"', "RFC 7323"),
    (FLOW + "[tcp]\nrto_min = '1 ns'\n", 6, "tcp.rto_min", '"1 ns"', "at least 1 us"),
    # the engine's limits
    (HOP, 2, "flow[1]", "takes no time", "a rate, a medium or a delay"),
    (HOP + "rate = '200000 Gb/s'\n", 6, "hop.air.rate", '"200000 Gb/s"', "at most 100000 Gb/s"),
    (HOP + "delay = '101 day'\n", 6, "hop.air.delay", '"101 day"', "at most 100 day"),
    (HOP + "loss = { kind = 'gilbert-elliott', mean = 1e-12, bad_sojourn = '1 s' }\n", 6, "hop.air.loss.mean", "1e-12", "100 days"),
    (FLOW.replace('"bulk"', '"cbr", rate = "1 Mb/s", packet = "28 B"'), 4, "flow[1].workload.packet", '"28 B"', "29 B"),
    (
        FLOW.replace('"bulk"', '"onoff", rate = "1 kb/s", on = "1 s", off = "1 s"'),
        4, "flow[1].workload.on", '"1 s"', "one packet's time, 8 s",
    ),
    # seeds, windows, sweeps
    ("seeds = 0\n" + FLOW, 1, "seeds", "0", "how many"),
    ("seeds = [1, 1]\n" + FLOW, 1, "seeds", "[1, 1]", "different whole numbers"),
    (FLOW + "[measure]\nwindow = ['5 s', '-6 s']\n", 6, "measure.window", "5 s to 4 s", "start before the end"),
    (FLOW + "[measure]\nwindow = 'al'\n", 6, "measure.window", '"al"', '"all-active"'),
    (FLOW + "[sweep]\n'tcp.variant' = []\n", 6, "sweep.tcp.variant", "an empty list", "at least one value"),
    (FLOW + "[sweep]\ntcp.variant = 'reno'\n", 6, "sweep.tcp.variant", '"reno"', "a list"),
    (FLOW + "[sweep]\n'tcp.variant' = ['reno', 'cubik']\n", 6, "sweep.tcp.variant", '"cubik"', "did you mean cubic?"),
    (FLOW + "[sweep]\n'tcp.varian' = ['reno']\n", 6, "sweep.tcp.varian", 'unknown key "varian"', "did you mean variant?"),
    (FLOW + "[sweep]\n'duration' = ['1 s',\n'1 s']\n", 7, "sweep.duration[2]", '"1 s" twice', "different values"),
    (FLOW + "[sweep]\n'hop.botleneck.rate' = ['1 Mb/s']\n", 6, "sweep.hop.botleneck.rate", "", "did you mean bottleneck?"),
    (FLOW + "[sweep]\n'hop.left.rate.down' = ['1']\n", 6, "sweep.hop.left.rate.down", '"1" without a unit', "units"),
    (FLOW + "[sweep]\nlink = ['nowhere']\n", 6, "sweep.link", 'no link "nowhere"', "packaged link"),
    (FLOW + "[sweep]\nseeds = [1]\n", 6, "sweep.seeds", '"seeds"', "tcp.variant"),
    # TOML
    ("a = = 3\n" + FLOW, 1, "", "broken TOML (Invalid value) in `a = = 3`", "TOML 1.0"),
    (FLOW + "[tcp\n", 5, "", "broken TOML", "TOML 1.0"),
    (FLOW + "direction = 'up'\ndirection = 'down'\n", 6, "", "broken TOML (Cannot overwrite a value)", "TOML 1.0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "key", "found", "allowed"), COMPLAINTS, ids=[f"{row[2]}: {row[3]}" for row in COMPLAINTS]
)
def test_bad_input_is_reported_with_line_and_key(write, text, line, key, found, allowed):
    with pytest.raises(InputError) as caught:
        draft = read_draft(write("scenario.toml", text))
        for point in draft.points():
            draft.check(point)
    error = caught.value
    assert (error.line, error.key) == (line, key)
    assert found in error.found
    assert allowed in error.allowed
    assert Path(error.file or "").name == "scenario.toml"
    assert "\n" not in str(error)
    assert error.found in str(error)


@pytest.mark.finding("U18")
@pytest.mark.finding("U19")
@pytest.mark.parametrize(
    ("text", "line", "key", "found", "allowed"), COMPLAINTS, ids=[f"{row[2]}: {row[3]}" for row in COMPLAINTS]
)
def test_json_has_the_fields_of_the_line_when_a_scenario_is_wrong(ackclock, write, text, line, key, found, allowed):
    write("scenario.toml", text)
    done = ackclock("simulate", "scenario.toml", "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, done.stderr) == (2, f"ackclock: {error['message']}\n")
    assert (error["kind"], error["file"], error["line"]) == ("input", "scenario.toml", line)
    if error["found"] is not None:
        assert (error["key"] or "") == key and found in error["found"] and allowed in error["allowed"]
        assert error["message"].endswith(f"found {error['found']}; allowed: {error['allowed']}")


def test_error_in_a_link_names_the_link_file(write):
    write("slow.toml", '[[hop]]\nname = "a"\nrate = "0 b/s"\n')
    with pytest.raises(InputError) as caught:
        read_draft(write("scenario.toml", FLOW.replace("dumbbell-10m", "slow.toml"))).check()
    assert Path(caught.value.file or "").name == "slow.toml"
    assert (caught.value.line, caught.value.key) == (3, "hop.a.rate")


def test_link_file_with_flows_is_refused(write):
    write("link.toml", 'duration = "1 s"\n[[hop]]\nname = "a"\n')
    with pytest.raises(InputError, match=r'link.toml:1: duration: found unknown key "duration"'):
        read_draft(write("scenario.toml", FLOW.replace("dumbbell-10m", "link.toml"))).check()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty trace in"),
        (b"1\n2\nx\n", '"x" in line 3 of'),
        (b"1\n2\n-3\n", '"-3" in line 3 of'),
        (b"5\n4\n", "4 ms after 5 ms in line 2 of"),
        (b"0\n0\n", "ends at 0 ms in"),
        (b"\x1f\x8bnot gzip", "damaged gzip"),
    ],
)
def test_invalid_trace_is_reported_at_the_key_that_names_it(tmp_path, write, content, found):
    (tmp_path / "bad.trace").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_draft(write("scenario.toml", HOP + "rate.down = { trace = 'bad.trace' }\n")).check()
    assert (caught.value.line, caught.value.key) == (6, "hop.air.rate.down.trace")
    assert found in caught.value.found
    assert "bad.trace" in caught.value.found


def test_missing_trace_is_reported_at_the_key_that_names_it(write):
    with pytest.raises(
        InputError, match=r'hop.air.rate.trace: found no such file, ".*none"; allowed: a file in mahimahi'
    ):
        read_draft(write("scenario.toml", HOP + "rate = { trace = 'none' }\n")).check()


def test_missing_scenario_suggests_a_similar_file(write):
    there = write("scenario.toml", FLOW)
    with pytest.raises(InputError, match=r"no such file; allowed: a TOML file \(did you mean scenario.toml\?\)"):
        read_draft(there.with_name("scenaro.toml"))


def test_errors_in_values_from_python_have_no_file():
    with pytest.raises(InputError, match=r"^flow\[1\]\.count: found 0; allowed: a whole number, 1 or more$"):
        draft_of(
            {"link": "dumbbell-10m", "duration": "1 s", "flow": [{"workload": {"kind": "bulk"}, "count": 0}]}
        ).check()
