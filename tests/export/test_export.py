"""Export of links: properties that the target has are written, others are listed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from ackclock import _native
from ackclock.cli import run
from ackclock.errors import InputError
from ackclock.export import export_link
from ackclock.input.link import packaged_links
from ackclock.input.link.hop import READ_HOP
from studies.virtual_kernel import build, uml
from tests.support.namespaces import namespaces

LINE = """title = "a line"
source = "test"
[[hop]]
name = "line"
queue = {{ packets = 30 }}
rate = {{ down = "{down}", up = "1 Mb/s" }}
delay = "20 ms"
{more}
"""


@pytest.fixture
def line(write):
    """A link of one hop, with more keys if wanted."""

    def make(more="", down="10 Mb/s"):
        return str(write("line.toml", LINE.format(more=more, down=down)))

    return make


def tc(link):
    exported = export_link(link, "tc")
    return exported.files["tc.sh"], exported.missing


@pytest.mark.parametrize("to", ["tc", "mahimahi"])
@pytest.mark.parametrize("link", packaged_links())
def test_packaged_links_are_exported_with_lost_properties(link, to):
    exported = export_link(link, to)
    script = next(text for name, text in exported.files.items() if name.endswith(".sh"))
    assert all(text in script for text in exported.missing)
    for name, text in exported.files.items():
        if name.endswith(".trace"):
            times = [int(number) for number in text.split()]
            assert times == sorted(times) and times[-1] > 0


def test_tc_export_of_a_plain_line_is_complete(line):
    script, missing = tc(line())
    assert missing == ()
    assert (
        'add dev "$DOWN" root handle 1: stab overhead -14 linklayer ethernet netem limit 1000000 delay 20ms\n' in script
    )
    assert "tbf rate 10000000bit burst 1514" in script
    assert 'add dev "$UP" parent 2:1 handle 3: pfifo limit 30\n' in script


def test_tc_export_subtracts_the_ethernet_header(line):
    assert "stab overhead -14" in tc(line())[0]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("loss = 0.01", "loss random 1%"),
        # 100 ms in 10 Mb/s are 83.3 full packets, and the good state lasts 99 times as long.
        (
            'loss.down = { kind = "gilbert-elliott", mean = 0.01, bad_sojourn = "100 ms" }',
            "loss gemodel 0.0121212121% 1.2% 100% 0%",
        ),
        ("duplicate = 0.02", "duplicate 2%"),
        ('jitter = { kind = "uniform", low = "2 ms", high = "6 ms", in_order = false }', "delay 24ms 2ms"),
        (
            'jitter = { kind = "normal", mean = "3 ms", sd = "1 ms", in_order = false }',
            "delay 23ms 1ms distribution normal",
        ),
    ],
)
def test_tc_export_has_loss_and_delay(line, more, words):
    assert words in tc(line(more))[0]


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        ('{ kind = "codel" }', "codel limit 1000 target 5000us interval 100000us ecn"),
        (
            '{ kind = "fq-codel", ecn = false }',
            "fq_codel flows 1024 quantum 1514 target 5000us interval 100000us noecn",
        ),
        ('{ kind = "fq-codel", packets = 600 }', "fq_codel limit 600 flows 1024"),
        (
            '{ kind = "fq-codel", bytes = "90 kB" }',
            "fq_codel flows 1024 quantum 1514 target 5000us interval 100000us memory_limit 90000 ecn",
        ),
        ('{ kind = "codel", bytes = "90 kB" }', "codel limit 1000 target 5000us"),
        ('{ kind = "codel", bytes = "9 MB" }', "codel limit 5945 target 5000us"),
        ('{ kind = "pie", bytes = "90 kB" }', "pie limit 1000 target 15000us"),
        ('{ kind = "pie" }', "pie limit 1000 target 15000us tupdate 15000us alpha 2 beta 20 ecn"),
        (
            '{ kind = "cake", ack.filter = "cake" }',
            "cake bandwidth 1000000bit besteffort triple-isolate rtt 100000us ack-filter",
        ),
        ('{ bytes = "30 kB" }', "bfifo limit 30000"),
        ('{ packets = 9, drop = "front" }', "pfifo_head_drop limit 9"),
    ],
)
def test_tc_export_has_queues_by_name(line, write, queue, words):
    path = line()
    write("line.toml", Path(path).read_text().replace("{ packets = 30 }", queue))
    assert words in tc(path)[0]


@pytest.mark.parametrize(
    ("more", "output"),
    [
        ('outage = [{ start = "1 s", end = "2 s" }]', "1 scheduled outages"),
        ('reorder = { mean = 0.01, delay = "5 ms" }', "overtaken"),
        ('loss = { kind = "list", packets = [3] }', "exact list"),
        ('jitter = { kind = "exponential", mean = "3 ms" }', "exponential jitter"),
    ],
)
def test_tc_export_lists_lost_properties_of_both_directions(line, more, output):
    missing = tc(line(more))[1]
    assert sum(output in text for text in missing) == 2


def test_tc_export_lists_a_schedule_and_has_its_mean(write):
    steps = 'schedule = [["0 s", {}], ["15 s", {}]], repeat = "30 s"'
    loss = "loss = { mean = { " + steps.format(0, 0.02) + " } }"
    delay = "{ " + steps.format('"20 ms"', '"28 ms"') + " }"
    script, missing = tc(str(write("line.toml", LINE.format(more=loss, down="10 Mb/s").replace('"20 ms"', delay))))
    assert "delay 24ms" in script and "loss random 1%" in script
    for lost in ("a schedule of the delay: its mean, 24 ms,", "a schedule of the loss: its mean, 0.01,"):
        assert sum(lost in text for text in missing) == 2


def test_export_lists_slots_and_has_their_mean_rate_and_delay(write):
    slots = 'slots = { rate = ["5 Mb/s", "15 Mb/s"], delay = ["0 ms", "4 ms"], held = "1.5 s" }'
    link = write("slots.toml", f'title = "slots"\nsource = "test"\n[[hop]]\nname = "sky"\ndelay = "20 ms"\n{slots}\n')
    for to, rate in (("tc", "tbf rate 9000000bit"), ("mahimahi", None)):
        exported = export_link(str(link), to)
        assert (
            sum("slots: their mean rate, 9 Mb/s, and mean delay replace them" in text for text in exported.missing) == 2
        )
        script = exported.files.get("tc.sh", "")
        assert rate is None or (rate in script and "delay 22ms" in script)


@pytest.mark.parametrize(("rate", "period"), [("10 Mb/s", 6), ("256 kb/s", 375), ("12 Mb/s", 1), ("500 Mb/s", 3)])
def test_mahimahi_trace_has_the_exact_rate(line, rate, period):
    trace = [int(number) for number in export_link(line(down=rate), "mahimahi").files["down.trace"].split()]
    number, prefix = rate.split()[0], rate.split()[1][0]
    bps = int(number) * {"k": 10**3, "M": 10**6}[prefix]
    assert trace[-1] == period
    assert Fraction(len(trace) * 12000 * 1000, trace[-1]) == bps


@pytest.mark.finding("U6")
@pytest.mark.parametrize(
    ("start", "times", "lost"),
    [
        (None, [2, 3, 3, 10], "a start drawn for each seed"),
        ("0 s", [2, 3, 3, 10], None),
        # From 3 ms on: 10 ms, then 2, 3 and 3 ms of the repetition.
        ("3 ms", [7, 9, 10, 10], None),
        ("5 ms", [7, 9, 10, 10], "the opportunity before it, 3 ms"),
    ],
)
def test_mahimahi_trace_of_a_recording_begins_at_its_start(tmp_path, start, times, lost):
    (tmp_path / "cell").write_text("2\n3\n3\n10\n")
    key = f', start = "{start}"' if start else ""
    (tmp_path / "link.toml").write_text(
        f'[[hop]]\nname = "air"\nrate.down = {{ trace = "cell"{key} }}\nrate.up = "12 Mb/s"\nqueue = {{ packets = 9 }}\n'
    )
    exported = export_link(str(tmp_path / "link.toml"), "mahimahi")
    assert [int(number) for number in exported.files["down.trace"].split()] == times
    about = [text for text in exported.missing if "start" in text]
    assert about == [] if lost is None else [lost in text for text in about] == [True]


def test_mahimahi_export_has_one_delay_for_both_directions(line, write):
    path = line()
    write("line.toml", Path(path).read_text().replace('delay = "20 ms"', 'delay = { down = "11 ms", up = "76 ms" }'))
    exported = export_link(path, "mahimahi")
    assert "mm-delay 44 " in exported.files["mahimahi.sh"]
    assert any(re.search("11 ms down and 76 ms up", text) for text in exported.missing)


def test_unknown_emulator_is_refused():
    with pytest.raises(InputError, match="mahimahi"):
        export_link("dsl-16m", "mahimahy")


def test_export_writes_executable_scripts(tmp_path, capsys):
    assert run(["export", "dsl-16m", "--to", "tc", "--out", str(tmp_path / "there")]) == 0
    script = tmp_path / "there" / "tc.sh"
    assert script.stat().st_mode & 0o111
    assert capsys.readouterr().out.strip() == str(script)


def test_export_of_an_unknown_link_is_bad_input(capsys):
    assert run(["export", "no-such-link", "--to", "tc"]) == 2
    assert "no link" in capsys.readouterr().err


@pytest.mark.finding("A3")
@pytest.mark.parametrize(("overhead", "stab", "cake"), [(2, -4, 10), (32, 26, 40)])
def test_tc_export_counts_atm_cells_of_the_slowest_hop(line, write, overhead, stab, cake):
    path = line(f'framing = {{ kind = "atm", overhead = "{overhead} B" }}')
    script, missing = tc(path)
    assert script.count(f"root handle 1: stab overhead {stab} linklayer atm netem") == 2
    assert not any("ATM" in text for text in missing)
    write("line.toml", Path(path).read_text().replace("{ packets = 30 }", '{ kind = "cake" }'))
    assert f" atm overhead {cake}" in tc(path)[0]


@pytest.mark.parametrize(
    ("framing", "stab", "cake"),
    [
        ("pppoe-vcmux", "stab overhead 18 linklayer atm", "atm overhead 32"),
        ("docsis", "stab mpu 64 overhead 4 linklayer ethernet", "noatm overhead 18 mpu 64"),
        ("pppoe-ptm", "stab overhead 16 linklayer ethernet", "ptm overhead 30"),
        ("raw", "stab overhead -14 linklayer ethernet", "noatm overhead 0"),
    ],
)
def test_tc_export_has_the_keyword_of_a_framing_as_bytes(line, write, framing, stab, cake):
    path = line(f'framing = "{framing}"')
    script, missing = tc(path)
    assert stab in script
    assert any("codewords" in text for text in missing) == (framing == "pppoe-ptm")
    write("line.toml", Path(path).read_text().replace("{ packets = 30 }", '{ kind = "cake" }'))
    assert f" {cake}\n" in tc(path)[0] and "bandwidth 10000000bit" in tc(path)[0]


def test_tc_export_of_a_shaper_is_tbf_with_its_bucket_or_cake(line):
    shaper = 'shaper.down = {{ rate = "8 Mb/s", burst = "15 kB", peak = "50 Mb/s", queue = {{ {queue} }} }}'
    script, missing = tc(line(shaper.format(queue="bytes = '100 kB'")))
    assert "tbf rate 8000000bit burst 15000 peakrate 50000000bit mtu 1514 limit 100000" in script
    assert any("behind the shaper" in text for text in missing)
    script, missing = tc(line(shaper.format(queue="kind = 'cake'")))
    assert "cake bandwidth 8000000bit" in script and any("a burst of 15000 B" in text for text in missing)
    assert any("burst" in text for text in export_link(line(shaper.format(queue="packets = 5")), "mahimahi").missing)


def test_export_of_a_shaper_above_the_line_has_the_line(line):
    script, _ = tc(line('shaper.down = { rate = "20 Mb/s" }'))
    assert "tbf rate 10000000bit" in script


def test_export_of_a_policer_is_a_filter_where_packets_enter(line):
    script, missing = tc(line('policer.up = { rate = "5 Mb/s", burst = "9 kB" }'))
    assert 'tc qdisc add dev "$DOWN" handle ffff: ingress\n' in script
    words = (
        'dev "$DOWN" parent ffff: matchall action police rate 5000000bit burst 9000 mtu 64kb conform-exceed drop/pipe\n'
    )
    assert words in script and not any("policer" in text for text in missing)
    framed = 'framing = { kind = "pppoe-ptm" }\npolicer.down = { rate = "6.5 Mb/s", burst = "9 kB", exceed = "ce" }'
    script, missing = tc(line(framed))
    assert (
        "police rate 6400000bit burst 9000 mtu 64kb overhead 30 linklayer ethernet conform-exceed drop/pipe" in script
    )
    assert any("ECN marks of the policer" in text for text in missing)
    second = '\n[[hop]]\nname = "b"\npolicer.down = { rate = "8 Mb/s", burst = "9 kB" }'
    _, missing = tc(line('policer.down = { rate = "5 Mb/s", burst = "9 kB" }' + second))
    assert any("a second policer, of 8 Mb/s" in text for text in missing)


def test_tc_export_without_cells_has_the_bytes_of_packets(line, write):
    path = line()
    assert "atm" not in tc(path)[0]
    write("line.toml", Path(path).read_text().replace("{ packets = 30 }", '{ kind = "cake" }'))
    assert "overhead 0" in tc(path)[0] and "atm" not in tc(path)[0]


def test_tc_export_limits_bytes_of_cells_when_tbf_counts_them(line, write):
    path = line('framing = { kind = "atm", overhead = "2 B" }')
    write("line.toml", Path(path).read_text().replace("{ packets = 30 }", '{ bytes = "30 kB" }'))
    script, missing = tc(path)
    assert f"bfifo limit {20 * 32 * 53}" in script
    assert sum("of their cells" in text for text in missing) == 2


def test_mahimahi_export_lists_atm_cells(line):
    exported = export_link(line('framing = "atm"'), "mahimahi")
    assert sum("ATM cells" in text for text in exported.missing) == 2


COUNT_BYTES = """
import re, socket, subprocess
def tc(*words):
    return subprocess.run(["tc", *words], check=True, capture_output=True, text=True).stdout
def sent():
    return int(re.search(r"Sent (\\d+) bytes", tc("-s", "qdisc", "show", "dev", "veth0"))[1])
tc("qdisc", "add", "dev", "veth0", "root", *STAB.split(), "tbf", "rate", "1gbit", "burst", "100000", "limit", "100000")
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for size in SIZES:
    before = sent()
    probe.sendto(bytes(size - 28), ("192.0.2.2", 9))
    print(sent() - before)
"""
PREPARE = """\
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link add veth0 type veth peer name veth1
ip addr add 192.0.2.1/24 dev veth0
ip link set veth0 up; ip link set veth1 up
ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev veth0
exec "$PYTHON" -c "$COUNT"
"""


@pytest.mark.realtime
@pytest.mark.skipif(
    not namespaces() or not all(map(shutil.which, ("tc", "ip", "unshare"))), reason="no network namespaces, or no tc"
)
@pytest.mark.parametrize(
    ("framing", "grain"),
    [
        ('{ kind = "atm", overhead = "2 B" }', 1),
        ('{ kind = "atm", overhead = "32 B" }', 1),
        ('{ kind = "pppoe-llcsnap", vlan = 1 }', 1),
        ('{ cells = "none", overhead = "38 B" }', 1),
        # A size table has steps of 4 B, which ATM has anyway; a minimum needs the table, too.
        ('"docsis"', 4),
        ('"ethernet"', 4),
    ],
)
def test_kernel_counts_the_bytes_of_a_packet_by_the_exported_stab(line, framing, grain):
    sizes = [28, 40, 52, 85, 86, 87, 576, 1000, 1492, 1500]
    hop = READ_HOP(tomllib.loads(f'name = "line"\nframing = {framing}'))
    stab = re.search(r"stab .*? linklayer \S+", tc(line(f"framing = {framing}"))[0])
    assert stab is not None
    program = f"STAB, SIZES = {stab[0]!r}, {sizes}\n{COUNT_BYTES}"
    done = subprocess.run(
        ["unshare", "-rn", "sh", "-c", PREPARE],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHON": sys.executable, "COUNT": program},
    )
    counted = [int(text) for text in done.stdout.split()]
    more = [
        found - _native.on_wire(json.dumps(hop.down.framing.plan()), size)
        for found, size in zip(counted, sizes, strict=True)
    ]
    assert all(0 <= bytes_ < grain for bytes_ in more), more


@pytest.mark.realtime
@pytest.mark.slow
@pytest.mark.parametrize(("framing", "bytes_"), [('"pppoe-ptm"', 1030), ('"ethernet"', 1040), ('"pppoe-vcmux"', 1166)])
def test_user_mode_linux_takes_the_exported_script_and_counts_the_bytes_on_the_line(line, framing, bytes_):
    """Debian's kernel has netem, and takes a size table at the root only (10 packets of 1000 B).

    A table with a minimum has steps of 4 B.
    """
    device = "ip link add {0} type dummy; ip link set {0} up\n"
    send = "s.sendto(bytes(972), ('192.0.2.2', 9))"
    script = (
        f"{device.format('d0')}{device.format('u0')}export DOWN=d0 UP=u0\ncat > /tmp/tc.sh <<'END'\n"
        f"{tc(line(f'framing = {framing}'))[0]}END\nsh /tmp/tc.sh || exit 1\n"
        "ip addr add 192.0.2.1/24 dev d0; ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:01 dev d0\n"
        f'{sys.executable} -c "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nfor _ in range(10): {send}"\n'
        "sleep 1; tc -s qdisc show dev d0\n"
    )
    try:
        done = uml.run(script)
    except build.Unavailable as error:
        pytest.skip(str(error))
    assert done.status == 0, done.output
    tbf = done.output[done.output.index("qdisc tbf") :]
    assert f"Sent {10 * bytes_} bytes 10 pkt" in tbf, tbf


def test_export_of_an_mtu_and_a_tunnel_names_how_to_set_them(line):
    path = Path(line('mtu.down = { ip = "1400 B" }'))
    hop = tomllib.loads(path.read_text())["hop"][0]["name"]
    path.write_text(f'{path.read_text()}\n[[tunnel]]\nkind = "gre"\nover = ["{hop}"]\n')
    _, missing = tc(str(path))
    assert any("`ip link set DEV mtu 1400`" in text for text in missing)
    assert any(f"a gre tunnel over {hop}" in text for text in missing)
