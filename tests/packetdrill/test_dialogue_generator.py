"""The recorder of dialogues: packets, scripts, the model of peer and link, and one recording."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from ackclock.packetdrill import run_script
from studies.dialogues.generator.categories import CATEGORIES, plan
from studies.dialogues.generator.command import OUTCOMES, Tasks, possible, write_index
from studies.dialogues.generator.host import machine_sysctls
from studies.dialogues.generator.packets import Address, Codec, Options, Packet, parse, show
from studies.dialogues.generator.path import LinkPath, PathConfig
from studies.dialogues.generator.peer import PeerConfig, Receiver
from studies.dialogues.generator.script import Call, Dialogue, Inbound, Info, Outbound, Setup, read
from studies.dialogues.generator.timer_slack import TimerSlack
from studies.dialogues.page import CATEGORIES as TITLES
from studies.dialogues.play import FOLDER, play, scripts
from studies.outcome_files import keep

ROOT = Path(__file__).parents[2]
PACKET = Packet("EP.", 4, 7, 9, 300, Options(timestamps=(5, 6), sack=((1, 3), (20, 40))), "ce")


@pytest.mark.parametrize(("here", "there"), [("192.168.0.1", "192.0.2.1"), ("fd3d::1", "fd3d:1::1")])
def test_packet_is_the_same_after_its_bytes_when_numbers_wrap(here: str, there: str) -> None:
    host, peer = Address(here, 80), Address(there, 40_000)
    data = Codec(host, peer, 2**32 - 2, 2**32 - 5).encode(PACKET)
    assert Codec(peer, host, 2**32 - 5, 2**32 - 2).decode(data) == PACKET
    assert Codec(peer, Address(here, 81), 2**32 - 5, 2**32 - 2).decode(data) is None, "of another connection"
    assert Codec(peer, host, 0).decode(data[:30]) is None


def test_bytes_have_valid_checksums() -> None:
    data = Codec(Address("192.168.0.1", 80), Address("192.0.2.1", 40_000), 7, 8).encode(PACKET)
    pseudo = data[12:20] + b"\0\6" + (len(data) - 20).to_bytes(2, "big")
    for part in (data[:20], pseudo + data[20:] + b"\0" * (len(data) % 2)):
        total = sum(int.from_bytes(part[at : at + 2], "big") for at in range(0, len(part), 2))
        assert (total & 0xFFFF) + (total >> 16) == 0xFFFF  # RFC 1071


@pytest.mark.parametrize(
    "text",
    [
        "S 0:0(0) win 65535 <mss 1000,sackOK,TS val 1020 ecr 0,nop,wscale 7>",
        "[ect0] P. 1:1001(1000) ack 1 <nop,nop,TS val 2 ecr 3,nop,nop,sack 5:7 9:11>",
        ". 1:1(0) ack 1 win 7",
        "R 7:7(0)",
    ],
)
def test_packet_is_written_as_it_was_read(text: str) -> None:
    found = parse(text)
    assert show(found.packet, window=found.window, ecn=found.ecn, any_options=not found.options) == text


def test_packet_of_another_form_is_refused() -> None:
    for text in (". 1:1(0) ack 1 urg 7", ". 1:1(0) ack 1 <md5 noclue>", "icmp unreachable"):
        with pytest.raises(ValueError, match="another"):
            parse(text)


DIALOGUE = Dialogue(
    "x-1: what Linux 6.18, HZ 250, did",
    Setup("cubic", {"tcp_ecn": "1"}, options=(("TCP_NODELAY", 1),)),
    [
        Inbound(20, parse("S 0:0(0) win 65535 <mss 1000>").packet),
        Outbound(20, parse("S. 0:0(0) ack 1 <...>")),
        Inbound(50, parse(". 1:1(0) ack 1 win 500").packet),
        Call(50, "accept", None, 4),
        Call(52, "write", 500, 500),
        Outbound(52, parse("P. 1:501(500) ack 1")),
        Info(52.5, {"snd_cwnd": (10, 10), "sacked": (0, 0), "lost": (0, 0), "retrans": (0, 0), "rtt": (7, 9)}),
        Outbound(250, parse("P. 1:501(500) ack 1"), 270),
        Call(300, "recv", 100, -1, "EAGAIN"),
        Call(302, "shutdown", "SHUT_WR"),
        Call(303, "write", 100, -1, "EPIPE"),
        Call(304, "close"),
    ],
)


def test_dialogue_is_the_same_after_its_text(tmp_path: Path) -> None:
    text = DIALOGUE.text()
    assert read(text) == DIALOGUE
    assert "tcpi_sacked + tcpi_lost + tcpi_retrans == 0 and 7 <= tcpi_rtt <= 9" in text
    (tmp_path / "x-1.pkt").write_text(text)
    assert run_script(tmp_path / "x-1.pkt").verdict != "unsupported"


def test_script_of_the_shared_form_is_read_and_written_again(oracles: Path) -> None:
    files = scripts(oracles / FOLDER)[::40]
    if not files:
        pytest.skip(f"ACKCLOCK_ORACLES has no {FOLDER}")
    for file in files:
        text = file.read_text("utf-8")
        assert read(text).text() == text


def test_receiver_reports_gaps_newest_first_and_duplicates() -> None:
    peer = Receiver(PeerConfig())

    def arrives(seq: int) -> Packet:
        assert peer.receive(0, Packet(".", seq, 1000, 1), marked=False)
        return peer.acknowledges()

    assert (arrives(1).ack, arrives(2001).options.sack) == (1001, ((2001, 3001),))
    assert arrives(4001).options.sack == ((4001, 5001), (2001, 3001))
    assert arrives(3001).options.sack == ((2001, 5001),)
    assert arrives(2001).options.sack == ((2001, 3001), (2001, 5001))  # D-SACK, RFC 2883
    filled = arrives(1001)
    assert (filled.ack, filled.options.sack) == (5001, ())
    assert arrives(1).options.sack == ((1, 1001),)


def test_receiver_echoes_a_mark_until_cwr() -> None:
    peer = Receiver(PeerConfig(ecn=True))
    flags = []
    for number, (sent, marked) in enumerate([(".", True), (".", False), ("W.", False)]):
        peer.receive(0, Packet(sent, 1 + 1000 * number, 1000, 1), marked)
        flags.append(peer.acknowledges().flags)
    assert flags == ["E.", "E.", "."]


def test_receiver_waits_for_a_second_segment_and_advertises_what_was_read() -> None:
    peer = Receiver(PeerConfig(ack_every=2, buffer=3000, wscale=0, read_bytes=2000))
    assert not peer.receive(5, Packet(".", 1, 1000, 1), marked=False)
    assert peer.delayed_until() == 45
    assert peer.receive(6, Packet(".", 1001, 1000, 1), marked=False)
    assert peer.acknowledges().window == 1000
    assert peer.read()
    assert (peer.acknowledges().window, peer.delayed_until()) == (3000, None)


def test_path_loses_marks_and_delays_what_its_configuration_names() -> None:
    config = PathConfig(5, 20, 2, lost=frozenset([1]), marks=frozenset([2]), stalls=((40, 60),))
    path = LinkPath(config, Random(1))
    sent = [path.forward(0, Packet(".", 1 + 1000 * number, 1000, 1, ecn="ect0")) for number in range(3)]
    assert [[(arrival.at_ms, arrival.marked) for arrival in of] for of in sent] == [[(7, False)], [], [(11, True)]]
    assert path.forward(39, Packet(".", 1001, 1000, 1))[0].at_ms == 60, "a retransmission, held"
    assert path.back(100) == 120


def test_slack_of_a_timer_grows_with_its_time_and_with_the_timer_before() -> None:
    slack, data = TimerSlack(), Packet(".", 1, 1000, 1)
    slack.event(50)
    slack.answer(50, data)
    assert [slack.timer(at, data) for at in (120, 350, 1200)] == [10, 20, 58]
    slack.event(1210, Packet(".", 1, 0, 1001))
    assert slack.timer(1280, Packet(".", 1001, 1000, 1)) == 10
    slack.event(1600, Packet(".", 1, 100, 1001))
    assert slack.timer(1640, Packet(".", 2001, 0, 101)) == 10, "a delayed ACK counts from the last event"
    assert slack.timer(2000, Packet(".", 2000, 0, 101)) == 48, "a probe from the timer before"


def test_plan_is_the_same_for_the_same_seed_and_every_category_has_a_title() -> None:
    assert set(CATEGORIES) == set(TITLES)
    for category in CATEGORIES:
        assert plan(category, 3) == plan(category, 3)
        assert plan(category, 3).name == f"{category}-3"


def test_recording_goes_on_where_it_ended(tmp_path: Path) -> None:
    for seed, outcome in enumerate(["kept", "late", "differs"]):
        keep(
            tmp_path / OUTCOMES,
            {"category": "c_reorder", "name": f"c_reorder-{seed}", "seed": seed} | {"outcome": outcome},
        )
    tasks = Tasks(["c_reorder", "l_bbr"], range(6), tmp_path, 3)
    assert [tasks.take() for _ in range(3)] == [("c_reorder", 1), ("l_bbr", 0), ("c_reorder", 3)]
    assert tasks.take() == ("l_bbr", 1), "two of c_reorder are running, one is kept: enough"
    tasks.ended("c_reorder", "differs")
    assert [tasks.take() for _ in range(2)] == [("c_reorder", 4), ("l_bbr", 2)]
    assert write_index(tmp_path) == {"kept": 1, "late": 1, "differs": 1}
    assert (tmp_path / "index.csv").read_text().splitlines()[1].startswith("c_reorder-0,c_reorder/c_reorder-0.pkt,")


@pytest.mark.realtime
def test_dialogue_with_the_kernel_is_recorded_replayed_and_played(tmp_path: Path) -> None:
    if why := possible():
        pytest.skip(f"dialogues are not recorded here: {why}")
    before = machine_sysctls()
    command = [sys.executable, "-m", "studies.dialogues.generator.command", "--out", str(tmp_path), "--workers", "1"]
    command += ["--category", "h_applimited", "--kept", "1", "--seeds", "1-9", "--minutes", "0.7"]
    environment = {name: value for name, value in os.environ.items() if name != "PACKETDRILL"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
    outcomes = [json.loads(line)["outcome"] for line in (tmp_path / OUTCOMES).read_text().splitlines()]
    if set(outcomes) == {"late"}:
        pytest.skip("this machine is too busy for real time")
    assert outcomes[-1] == "kept", done.stderr
    [script] = scripts(tmp_path)
    text = script.read_text()
    assert f"what Linux {os.uname().release.split('-')[0]}, HZ " in text.splitlines()[0]
    assert read(text).text() == text
    assert play(script).verdict in ("passes", "fails")
    assert machine_sysctls() == before
