"""The keys of a link file for what a set-up is."""

from __future__ import annotations

import pytest

from ackclock.export import qdisc_syntax
from ackclock.link_import import link_table
from ackclock.link_import.cake_framing import CAKE_FRAMINGS, cake_framing
from ackclock.link_import.path_setup import Bucket, Framing
from ackclock.link_import.run import ImportOptions, read_path


@pytest.fixture
def hops(tmp_path, monkeypatch):
    """The hops of a text, and what they do not express."""
    monkeypatch.chdir(tmp_path)

    def read(text):
        (tmp_path / "setup").write_text(text)
        setup = read_path("setup", ImportOptions())
        return link_table.hops(setup, str), [note.text for note in setup.differs]

    return read


POLICER = """tc qdisc add dev wan handle ffff: ingress
tc filter add dev wan parent ffff: matchall police rate 20mbit burst 40kb drop
"""


def test_policer_is_a_table_of_its_hop(hops):
    (hop,), lost = hops(POLICER)
    assert hop == {
        "name": "wan-police",
        "policer": {"down": {"rate": "20 Mb/s", "burst": "40 KiB"}},
    }
    assert lost == []


def test_bucket_is_a_shaper_with_its_queue_when_it_holds_more_than_a_millisecond(hops):
    text = "tc qdisc add dev ppp0 root tbf rate 8mbit burst {} limit 60000 peakrate 9mbit mtu 1500"
    (hop,), _ = hops(text.format("30kb"))
    queue = {"kind": "droptail", "bytes": "60 kB"}
    shaper = {"rate": "8 Mb/s", "burst": "30 KiB", "peak": "9 Mb/s", "queue": queue}
    assert hop == {"name": "ppp0-tbf", "shaper": {"up": shaper}}
    (hop,), _ = hops(text.format("3000"))
    assert hop == {"name": "ppp0-tbf", "queue": {"up": queue}, "rate": {"up": "8 Mb/s"}}


def test_mtu_of_an_interface_is_that_of_its_hop(hops):
    text = "ip link set dev ppp0 mtu 1400\ntc qdisc add dev ppp0 root netem delay 3ms"
    (hop,), lost = hops(text)
    assert (hop["mtu"], lost) == ({"up": {"ip": "1400 B"}}, [])
    (hop,), lost = hops(text.replace("1400", "1500"))
    assert "mtu" not in hop and lost == []


@pytest.mark.parametrize(
    ("words", "table"),
    [
        ("pppoe-ptm", {"kind": "pppoe-ptm"}),
        ("pppoe-ptm ether-vlan", {"cells": "ptm", "overhead": "34 B"}),
        ("docsis", {"kind": "docsis"}),
        ("ethernet ether-vlan", {"cells": "none", "overhead": "42 B", "mpu": "84 B"}),
        ("conservative", {"kind": "conservative"}),
        ("atm overhead 44", {"cells": "atm", "overhead": "44 B"}),
        ("noatm overhead 18 mpu 64", {"kind": "docsis"}),
    ],
)
def test_framing_of_cake_has_the_kind_of_its_keyword(words, table):
    framing, rest = cake_framing(words.split())
    assert framing is not None and rest == []
    assert link_table.framing_table(framing) == table


@pytest.mark.parametrize("kind", CAKE_FRAMINGS)
def test_overheads_are_those_of_the_manual(kind):
    """tc-cake(8): AAL5's trailer is part of the overhead; a packet on ADSL takes whole cells."""
    figures = {
        "pppoa-vcmux": (10, "atm", 0),
        "pppoa-llc": (14, "atm", 0),
        "pppoe-vcmux": (32, "atm", 0),
        "pppoe-llcsnap": (40, "atm", 0),
        "bridged-vcmux": (24, "atm", 0),
        "bridged-llcsnap": (32, "atm", 0),
        "ipoa-vcmux": (8, "atm", 0),
        "ipoa-llcsnap": (16, "atm", 0),
        "pppoe-ptm": (30, "ptm", 0),
        "bridged-ptm": (22, "ptm", 0),
        "docsis": (18, "none", 64),
        "ethernet": (38, "none", 84),
        "conservative": (48, "atm", 0),
        "raw": (0, "none", 0),
    }
    framing = CAKE_FRAMINGS[kind]
    assert (framing.overhead, framing.cells, framing.mpu) == figures[kind]
    for size in (40, 52, 576, 1492, 1500):
        total = max(size + framing.overhead, framing.mpu)
        expected = {"atm": 53 * ((total + 47) // 48), "ptm": total + (total + 63) // 64, "none": total}
        assert framing.counted(size) == expected[framing.cells]


def test_policer_and_shaper_of_examples_have_all_their_keys():
    assert link_table.policer_table(Bucket(10**6, 3000)) == {"rate": "1 Mb/s", "burst": "3 kB"}
    assert link_table.shaper_table(Bucket(10**6), None) == {"rate": "1 Mb/s", "burst": "1 packet"}
    assert link_table.framing_table(Framing("none", 14)) == {"cells": "none", "overhead": "14 B"}


def test_units_are_those_of_tc():
    """tc(8), RATES, SIZES and TIMES; as iproute2 6.1 prints them."""
    assert [qdisc_syntax.rate(text) for text in ("1mbit", "1MBit", "1mbps", "1mibit", "1kbps", "8")] == [
        1e6,
        1e6,
        8e6,
        2**20,
        8e3,
        8,
    ]
    assert [qdisc_syntax.size(text) for text in ("1k", "1kb", "32kbit", "1mb", "1500")] == [
        1024,
        1024,
        4096,
        2**20,
        1500,
    ]
    assert [qdisc_syntax.time(text) for text in ("1ms", "1s", "1", "2usecs", "1e+06us")] == [1e3, 1e6, 1, 2, 1e6]
    for text in ("1 mbit", "1mbits", "mbit", "1qbit", "-1mbit"):
        with pytest.raises(ValueError, match="no number"):
            qdisc_syntax.rate(text)
