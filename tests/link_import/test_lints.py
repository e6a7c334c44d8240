"""Each lint fires where it is right, and is silent in the nearest case where it is not."""

from __future__ import annotations

import pytest

from ackclock.link_import import import_link
from ackclock.link_import.lints import CHECKS, READER_LINTS, texts

TC = "tc qdisc add dev {} root {}"


def netem(arguments, device="eth0"):
    return TC.format(device, f"netem {arguments}")


def tbf(arguments, device="eth0"):
    return TC.format(device, f"tbf {arguments} limit 100kb")


def htb(queue, rate="100mbit", default="default 1", further=""):
    return (
        f"tc qdisc add dev eth0 root handle 1: htb {default}\n"
        f"tc class add dev eth0 parent 1: classid 1:1 htb rate {rate}\n"
        f"tc qdisc add dev eth0 parent 1:1 {queue}\n{further}"
    )


def cake(up, down, further=""):
    return (
        f"tc qdisc add dev wan root cake bandwidth {up} overhead 0 {further}\n"
        "tc qdisc add dev wan handle ffff: ingress\n"
        "tc filter add dev wan parent ffff: matchall action mirred egress redirect dev ifb0\n"
        f"tc qdisc add dev ifb0 root cake bandwidth {down} overhead 0\n"
    )


def policed(shaped):
    return (
        "tc qdisc add dev wan handle ffff: ingress\n"
        "tc filter add dev wan parent ffff: matchall action police rate 20mbit burst 40k mpu 64 conform-exceed drop/pipe "
        "action mirred egress redirect dev ifb0\n"
        f"tc qdisc add dev ifb0 root cake bandwidth {shaped} overhead 0\n"
    )


def sqm(**options):
    given = {
        "enabled": "1",
        "interface": "pppoe-wan",
        "download": "50000",
        "upload": "10000",
        "qdisc": "cake",
        **options,
    }
    given = {"script": "piece_of_cake.qos", "linklayer": "none", **given}
    return "config queue\n" + "".join(f"  option {key} '{value}'\n" for key, value in given.items())


def shown(dropped):
    return (
        "qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn\n"
        f" Sent 15140 bytes 90 pkt (dropped {dropped}, overlimits 0 requeues 0)\n"
    )


BELOW = (
    "tc class add dev eth0 parent 1:1 classid 1:2 htb rate 10mbit\n"
    "tc filter add dev eth0 parent 1: matchall flowid 1:2\n"
)
NAT = 'nft add rule ip nat postrouting oifname "eth0" masquerade\n'
ROWS = [
    # code, fires, silent, words of the sentence
    ("netem-limit", netem("delay 200ms"), netem("delay 200ms limit 20000"), "above 60 Mb/s at 200 ms"),
    # 1000 packets of 1500 B are 12 ms of 1 Gb/s.
    ("netem-limit", netem("delay 13ms"), netem("delay 12ms"), "above 923 Mb/s at 13.0 ms"),
    ("netem-limit", netem("delay 200ms rate 61mbit"), netem("delay 200ms rate 60mbit"), "61 Mb/s needs limit 1017"),
    ("netem-limit", netem("delay 200ms 50ms rate 61mbit"), netem("delay 190ms 50ms rate 61mbit"), "limit 1000"),
    ("netem-reorders", netem("delay 20ms 5ms limit 9000"), netem("delay 20ms 5ms rate 20mbit"), "keeps the order"),
    ("netem-reorders", netem("delay 9ms 2ms"), netem("delay 9ms"), "jitter (4.00 ms)"),
    ("tbf-burst", tbf("rate 1mbit burst 1513"), tbf("rate 1mbit burst 1514"), "below a full packet (1514 B"),
    ("tbf-burst", tbf("rate 1mbit burst 1499", "ppp0"), tbf("rate 1mbit burst 1500", "ppp0"), "(1500 B"),
    # 1 Gb/s are 125 kB in a millisecond.
    ("tbf-burst", tbf("rate 1gbit burst 124999"), tbf("rate 1gbit burst 125000"), "send in 1 ms (125 kB)"),
    ("fq-codel-limit", htb("fq_codel limit 833"), htb("fq_codel limit 834"), "less than its interval of 100 ms"),
    ("fq-codel-limit", htb("fq_codel limit 50"), htb("pfifo limit 50"), "holds 6.00 ms"),
    ("fq-codel-limit", htb("fq_codel", "2gbit"), htb("fq_codel", "1gbit"), "limit 10240"),
    ("fq-codel-limit", htb("fq_codel limit 1000000"), htb("fq_codel limit 10240"), "does not slow down"),
    ("no-default-class", htb("pfifo", default=""), htb("pfifo"), "no default class"),
    (
        "no-default-class",
        htb("pfifo", default="default 9"),
        htb("pfifo", default="default 0x1"),
        "default 9 is no class",
    ),
    (
        "no-default-class",
        htb("pfifo", default="", further="tc filter add dev eth0 parent 1: u32 match ip dport 22 0xffff flowid 1:1"),
        htb("pfifo", default="", further="tc filter add dev eth0 parent 1: matchall flowid 1:1"),
        "unshaped",
    ),
    (
        "shaper-above-line",
        htb("pfifo", further="tc class change dev eth0 parent 1: classid 1:1 htb rate 9mbit\n" + BELOW),
        htb("pfifo", further=BELOW),
        "its parent",
    ),
    (
        "shaper-above-line",
        htb("tbf rate 90mbit burst 90kb limit 90kb", "80mbit"),
        htb("tbf rate 90mbit burst 90kb limit 90kb", "100mbit"),
        "behind it",
    ),
    ("overhead-missing", sqm(), sqm(linklayer="ethernet", overhead="34"), "pppoe-ptm"),
    ("overhead-missing", sqm(), sqm(interface="eth1"), "an ACK takes 62 % more"),
    ("overhead-missing", f"# ADSL\n{tbf('rate 1mbit burst 2kb')}", f"# fibre\n{tbf('rate 1mbit burst 2kb')}", "adsl"),
    (
        "overhead-missing",
        tbf("rate 1mbit burst 2kb", "ppp0"),
        tbf("rate 1mbit burst 2kb overhead 8 linklayer atm", "ppp0"),
        "pppoe",
    ),
    ("sqm-disabled", sqm(enabled="0"), sqm(), "does not run"),
    (
        "sqm-linklayer",
        sqm(linklayer="ptm", overhead="30"),
        sqm(linklayer="ethernet", overhead="30"),
        "overhead 30 and no cells",
    ),
    (
        "sqm-linklayer",
        sqm(linklayer="ptm", overhead="30", qdisc="fq_codel", script="simple.qos"),
        sqm(linklayer="atm", overhead="30", qdisc="fq_codel", script="simple.qos"),
        "tc has no linklayer ptm",
    ),
    (
        "sqm-linklayer",
        sqm(linklayer="atm", overhead="32", linklayer_adaptation_mechanism="htb_private"),
        sqm(linklayer="atm", overhead="32", linklayer_adaptation_mechanism="tc_stab"),
        "does not use htb_private",
    ),
    # 100 Mb/s are 8333 segments a second, 4167 ACKs of 52 B: 1.73 Mb/s.
    ("cake-ack-filter", cake("3mbit", "100mbit"), cake("4mbit", "100mbit"), "need 1.73 Mb/s of 3 Mb/s"),
    ("cake-ack-filter", cake("3mbit", "100mbit"), cake("3mbit", "100mbit", "ack-filter"), "ack-filter thins"),
    (
        "cake-nat",
        NAT + TC.format("eth0", "cake bandwidth 9mbit"),
        NAT + TC.format("eth0", "cake bandwidth 9mbit nat"),
        "add nat",
    ),
    (
        "cake-nat",
        NAT + TC.format("eth0", "cake bandwidth 9mbit"),
        TC.format("eth0", "cake bandwidth 9mbit"),
        "one address",
    ),
    (
        "cake-nat",
        NAT + TC.format("eth0", "cake bandwidth 9mbit"),
        NAT + TC.format("eth0", "cake bandwidth 9mbit flows"),
        "",
    ),
    ("unit", tbf("rate 1mbps burst 9kb"), tbf("rate 1mbit burst 9kb"), "1mbps is 8 Mb/s"),
    ("unit", netem("loss 0.005"), netem("loss 0.005%"), "loss 0.005 is 0.005 %"),
    ("unit", netem("delay 100"), netem("delay 100us"), "microseconds; milliseconds are 100ms"),
    ("drops", shown(10), shown(0), "10 packets, 10 % of those"),
    (
        "policer-burst",
        "tc qdisc add dev eth0 ingress\ntc filter add dev eth0 ingress matchall action police rate 9mbit burst 1499 drop",
        "tc qdisc add dev eth0 ingress\ntc filter add dev eth0 ingress matchall action police rate 9mbit burst 1500 drop",
        "full packets are dropped",
    ),
    ("shaper-above-policer", policed("21mbit"), policed("20mbit"), "above the policer's 20 Mb/s"),
]


def lints(text, tmp_path, **options):
    (tmp_path / "setup").write_text(text)
    document = import_link(tmp_path / "setup", **options).document
    assert not document["not_understood"], document["not_understood"]
    return [(lint["code"], lint["text"]) for lint in document["lints"]]


@pytest.mark.parametrize(
    ("code", "fires", "silent", "words"), ROWS, ids=[f"{row[0]}-{n}" for n, row in enumerate(ROWS)]
)
def test_lint_fires_and_is_silent_in_the_nearest_case(code, fires, silent, words, tmp_path):
    sentences = [text for found, text in lints(fires, tmp_path) if found == code]
    assert sentences and words in sentences[0]
    assert code not in [found for found, _ in lints(silent, tmp_path)]


@pytest.mark.parametrize(("line", "fires"), [("21 Mb/s", False), ("20 Mb/s", False), ("19999999 b/s", True)])
def test_shaper_above_the_line_is_a_lint_when_the_line_has_a_rate(line, fires, tmp_path):
    text = tbf("rate 20mbit burst 20kb")
    found = [code for code, _ in lints(text, tmp_path, line_down=line, line_up="1 b/s")]
    assert ("shaper-above-line" in found) == fires
    assert "shaper-above-line" in [code for code, _ in lints(text, tmp_path, line_up="1 b/s", egress="up")]


def test_shown_burst_is_rounded_by_the_kernel_and_no_lint(tmp_path):
    text = "qdisc tbf 82e2: dev eth0 root refcnt 3 rate 10Mbit burst 1513b/1 mpu 0b lat 34.8ms linklayer ethernet \n"
    assert lints(text, tmp_path) == []


def test_every_lint_has_a_text_and_a_row():
    assert set(texts()) == set(CHECKS) | set(READER_LINTS) == {row[0] for row in ROWS}
    assert all(len(text) > 30 for text in texts().values())


def test_matchall_without_action_is_no_policer_that_tc_takes(tmp_path):
    (tmp_path / "setup").write_text(
        "tc qdisc add dev eth0 ingress\ntc filter add dev eth0 ingress matchall police rate 9mbit burst 9kb drop\n"
    )
    (line,) = import_link(tmp_path / "setup").document["not_understood"]
    assert "action police" in str(line)
