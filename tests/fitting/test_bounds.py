"""What a fit does not identify: values that the captures do not show, beside the nearest input that
shows them.
"""

from __future__ import annotations

import gzip
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.analysis.filter import PacketFilter
from ackclock.errors import InputError
from ackclock.fitting import one_end
from ackclock.fitting.engine import engine_fit
from ackclock.fitting.media import candidates
from ackclock.fitting.parameters import parameters_of
from studies.fit.inputs import captures_of
from studies.fit.links import TrueLink
from tests.support.captures import merged, simulated_captures

TWO_HOPS: list[dict[str, Any]] = [
    {"name": "internet", "rate": "100 Mb/s", "delay": "8 ms"},
    {
        "name": "access",
        "rate": {"down": "60 Mb/s", "up": "100 Mb/s"},
        "delay": "4 ms",
        "queue": {"kind": "droptail", "bytes": "400 kB"},
    },
]
SHARED = {
    "name": "access",
    "rate": {"down": "1046 kb/s", "up": "500 kb/s"},
    "delay": "31 ms",
    "queue": {"kind": "droptail", "bytes": "20 kB"},
}
HOST_CAPTURES = ("gso-cubic", "http", "jumbo-gso", "smallwin", "spike")
BULK = {"name": "f", "workload": {"kind": "bulk"}}


def rows(fit: Any) -> dict[str, dict[str, Any]]:
    return {row["path"].removeprefix("hop.access."): row for row in fit.document["parameters"]}


def covers(row: dict[str, Any], truth: float) -> bool:
    lo, hi = row["lo"], row["hi"]
    return bool((lo is None or lo <= truth) and (hi is None or truth <= hi))


def unpacked(capture: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    to = folder / capture.name.removesuffix(".gz")
    with gzip.open(capture) as packed, to.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    return to


def of_host(oracles: Path, name: str, folder: Path) -> dict[str, Any]:
    """The parameters by the engine alone, of captures of the kernel."""
    ends = [str(unpacked(oracles / "captures-host" / f"{name}.{end}.pcap.gz", folder)) for end in ("server", "client")]
    fit = engine_fit(ends, [PacketFilter(None)] * 2, None, 1)["fit"]
    assert candidates(fit) == [] or name == "smallwin"
    return {row.key: row.row() for row in parameters_of(fit)}


@pytest.fixture(scope="module")
def two_flows(tmp_path_factory) -> list[Path]:
    """A file for each flow and end of two downloads at once."""
    folder = tmp_path_factory.mktemp("two")
    ackclock.simulate({"hop": [SHARED]}, [{**BULK, "count": 2}], "20 s", 1, out=folder / "run", captures="pcap")
    return sorted((folder / "run" / "captures").glob("*.pcap"))


@pytest.mark.finding("F1")
def test_flows_at_once_are_one_run_when_their_files_overlap_in_time(two_flows, tmp_path):
    fit = ackclock.fit(*two_flows)
    found = rows(fit)
    ends = [
        merged(tmp_path / f"{end}.pcap", *(file for file in two_flows if f".{end}." in file.name))
        for end in ("server", "client")
    ]
    together = rows(ackclock.fit(*ends, score=False))
    for path, truth in {"rate.down": 1046e3, "delay": 31.0, "queue.down.bytes": 20e3}.items():
        assert found[path]["value"] == pytest.approx(together[path]["value"], rel=0.01), found[path]
        assert found[path]["value"] == pytest.approx(truth, rel=0.02), found[path]
    assert not any("cross traffic" in text for text in fit.document["remarks"])
    assert [(one["run"], one["flows"]) for one in fit.document["inputs"]] == [(1, 2)] * 4
    assert abs(fit.document["score"]["held_out"][0]["goodput_error"]) < 0.05, fit.document["score"]


@pytest.mark.finding("F1")
def test_runs_of_two_folders_are_pooled_when_both_begin_at_the_time_of_simulations(two_flows, tmp_path):
    files = [two_flows[0], two_flows[1]]
    ackclock.simulate({"hop": [SHARED]}, [{**BULK, "direction": "up"}], "10 s", 1, out=tmp_path / "up", captures="pcap")
    fit = ackclock.fit(*files, *sorted((tmp_path / "up" / "captures").glob("*.pcap")), score=False)
    assert [one["run"] for one in fit.document["inputs"]] == [1, 1, 2, 2]
    assert rows(fit)["rate.up"]["status"] == "identified" and covers(rows(fit)["rate.up"], 500e3)


@pytest.mark.finding("F2")
def test_rate_by_lengths_is_a_lower_bound_when_the_path_has_two_links(tmp_path):
    run = tmp_path / "run"
    ackclock.simulate({"hop": TWO_HOPS}, [BULK], "4 s", 1, tcp={"host": "linux-6"}, out=run, captures="pcap")
    fit = ackclock.fit(run, score=False)
    row = rows(fit)["rate.up"]
    assert (row["status"], row["value"], row["hi"]) == ("bounded", None, None) and 49e6 < row["lo"] <= 100e6, row
    drawn = fit.draws["hop.access.rate.up"].to_list()
    assert 49e6 < min(drawn) < 60e6 < max(drawn) <= 100.1e6
    # The delay is that of both.
    assert rows(fit)["delay"]["value"] == pytest.approx(12.0, abs=0.02)


@pytest.mark.finding("F2")
def test_rate_is_identified_when_a_queue_stood_behind_a_second_link(tmp_path):
    hops = [TWO_HOPS[0], {**TWO_HOPS[1], "rate": {"down": "60 Mb/s", "up": "20 Mb/s"}}]
    run = tmp_path / "run"
    ackclock.simulate({"hop": hops}, [{**BULK, "direction": "up"}], "4 s", 1, out=run, captures="pcap")
    row = rows(ackclock.fit(run, score=False))["rate.up"]
    assert row["status"] == "identified" and covers(row, 20e6), row


@pytest.mark.finding("F2")
@pytest.mark.parametrize("name", HOST_CAPTURES)
def test_no_rate_is_identified_where_nothing_limits_the_direction_of_acks(name, oracles, tmp_path):
    row = of_host(oracles, name, tmp_path)["rate.up"]
    assert row["status"] != "identified" and row["hi"] is None, row


@pytest.mark.finding("F3")
def test_packets_that_a_host_held_back_are_no_service(oracles, tmp_path):
    # The host behind the bucket stopped three times for 0.6 s. A TUN device has no Ethernet header.
    found = of_host(oracles, "spike", tmp_path)
    assert found["rate.down"]["status"] == "identified", found["rate.down"]
    assert found["rate.down"]["value"] == pytest.approx(5e6, rel=0.001)
    assert covers(found["queue.down.bytes"], 150e3), found["queue.down.bytes"]
    row = of_host(oracles, "gso-cubic", tmp_path)["rate.down"]
    assert covers(row, 20e6), row


@pytest.mark.finding("F3")
def test_backlog_of_super_packets_is_no_larger_than_the_bucket_accepted(oracles, tmp_path):
    found = of_host(oracles, "jumbo-gso", tmp_path)
    # tbf counts a super-packet with one Ethernet header, the capture each segment's IP header.
    assert found["rate.down"]["value"] == pytest.approx(60e6, rel=0.003), found["rate.down"]
    # The limit and the super-packet that waits for tokens in front of it.
    assert found["queue.down.bytes"]["lo"] <= 150e3 + 65e3, found["queue.down.bytes"]


@pytest.mark.finding("F4")
def test_rate_of_one_end_is_at_least_what_was_carried(oracles):
    fit = ackclock.fit(oracles / "captures-foreign" / "comp001.pcap")
    row = rows(fit)["rate.down"]
    # Its first second carries 1.33 Mb/s with headers.
    assert row["status"] == "bounded" and row["lo"] > 1.2e6 and covers(row, 1.33e6), row


@pytest.mark.finding("F4")
def test_queue_of_one_end_is_identified_when_replays_agree_alone(tmp_path):
    hop = {"rate": "3 Mb/s", "delay": "25 ms", "queue": {"kind": "droptail", "bytes": "24 kB"}}
    end = one_end.read(str(simulated_captures(tmp_path, hop, duration="6 s")[1]), None)
    point, drawn = (3e6, 24e3, 0.0, 25.0), [(3e6, 24e3, 0.0, 25.0)] * 10
    status = {
        score: {row.key: row.status for row in one_end._parameters(end, point, drawn, score)}["queue.down.bytes"]
        for score in (4.0, 20.0)
    }
    assert status == {4.0: "identified", 20.0: "bounded"}
    assert "cannot be of this form" in one_end.unlike(49.0) and "cannot" not in one_end.unlike(20.0)


@pytest.mark.finding("F5")
def test_evidence_of_delay_and_jitter_does_not_contradict_itself(two_flows):
    found = rows(ackclock.fit(two_flows[0], two_flows[1], score=False))
    assert "found the path empty" in found["delay"]["evidence"]
    assert not any(
        "found the path empty" in row["evidence"] for path, row in found.items() if path.startswith("jitter")
    )


@pytest.mark.finding("F6")
def test_bound_without_losses_names_its_assumption_of_independence(tmp_path):
    fit = ackclock.fit(*simulated_captures(tmp_path, duration="6 s"), score=False)
    (why,) = (one["why"] for one in fit.document["not_identified"] if one["path"] == "hop.access.loss.up.mean")
    assert "if losses are independent; of bursts, fewer than one in 2 s" in why, why


@pytest.mark.finding("F7")
def test_policer_of_a_public_capture_is_a_bucket_and_no_loss(oracles, tmp_path):
    ends = [str(unpacked(oracles / "captures-public" / f"policer-cubic.{end}.pcap.gz", tmp_path)) for end in "AB"]
    fit = engine_fit(ends, [PacketFilter(None)] * 2, None, 1)["fit"]
    found = {row.key: row.row() for row in parameters_of(fit)}
    direction = next(d for d in ("down", "up") if f"policer.{d}.rate" in found)
    assert found[f"policer.{direction}.burst"]["lo"] is not None
    assert found[f"loss.{direction}.mean"]["status"] != "identified", found[f"loss.{direction}.mean"]


@pytest.mark.finding("F8")
def test_rate_is_bounded_from_below_when_the_receive_window_limited_the_input(tmp_path):
    tcp = {end: {"window_scaling": False} for end in ("client", "server")}
    captures = simulated_captures(tmp_path, {"rate": "1 Gb/s", "delay": "7 ms"}, tcp, duration="4 s")
    for given in (captures, captures[:1], captures[1:]):
        row = rows(ackclock.fit(*given, score=False, variant="cubic"))["rate.down"]
        assert row["status"] == "bounded" and covers(row, 1e9) and row["lo"] > 20e6, row


@pytest.mark.finding("F8")
def test_rate_is_identified_when_the_receive_window_filled_the_queue(tmp_path):
    tcp = {end: {"window_scaling": False} for end in ("client", "server")}
    hop = {"rate": "5 Mb/s", "delay": "7 ms", "queue": {"kind": "droptail", "bytes": "200 kB"}}
    for given in (captures := simulated_captures(tmp_path, hop, tcp, duration="6 s"), captures[1:]):
        row = rows(ackclock.fit(*given, score=False, variant="cubic"))["rate.down"]
        assert row["status"] == "identified" and covers(row, 5e6), row


@pytest.mark.finding("F9")
@pytest.mark.parametrize("up", ["5 Mb/s", "500 kb/s"])
def test_delay_of_the_senders_end_allows_for_the_service_of_acks(up, tmp_path):
    hop = {"rate": {"down": "5 Mb/s", "up": up}, "delay": "22.16 ms", "queue": {"kind": "droptail", "bytes": "40 kB"}}
    server, _ = simulated_captures(tmp_path, hop, duration="6 s")
    row = rows(ackclock.fit(server, variant="cubic"))["delay"]
    assert covers(row, 22.16) and row["hi"] - row["lo"] < 2.5, row


@pytest.mark.finding("F10")
def test_typing_has_no_link(oracles, tmp_path):
    ends = [unpacked(oracles / "captures-host" / f"ssh.{end}.pcap.gz", tmp_path) for end in ("server", "client")]
    for given in (ends, ends[:1], ends[1:]):
        with pytest.raises(InputError) as raised:
            ackclock.fit(*given)
        assert "no bulk transfer" in str(raised.value) and "such as a download" in str(raised.value)


def as_datagrams(capture: Path, to: Path) -> Path:
    """The TCP segments of a capture as QUIC packets of the same lengths and times."""
    content = capture.read_bytes()
    written, at = [content[:24]], 24
    while at < len(content):
        second, part, kept, length = struct.unpack("<IIII", content[at : at + 16])
        frame = bytearray(content[at + 16 : at + 16 + kept])
        at += 16 + kept
        # No retransmission has the number of another packet: IP identifications differ.
        segment, identification = bytes(frame[38:54]), bytes(frame[18:20])
        frame[23] = 17
        ports = bytes(frame[34:38])
        datagram = ports + struct.pack(">HH", length - 34, 0) + b"\x41" + identification + segment
        body = bytes(frame[:34]) + datagram.ljust(len(frame) - 34, b"\0")[: len(frame) - 34]
        written.append(struct.pack("<IIII", second, part, len(body), length) + body)
    to.write_bytes(b"".join(written))
    return to


def test_link_is_that_of_tcp_when_the_same_packets_are_quics(tmp_path):
    hop = {"rate": {"down": "6 Mb/s", "up": "2 Mb/s"}, "delay": "15 ms", "loss": {"down": 0.001}}
    hop |= {"queue": {"kind": "droptail", "bytes": "60 kB"}}
    captures = simulated_captures(tmp_path, hop, duration="15 s")
    datagrams = [as_datagrams(capture, tmp_path / f"quic-{capture.name}") for capture in captures]
    fit = ackclock.fit(*datagrams)
    found = rows(fit)
    for path, truth in {"rate.down": 6e6, "delay": 15.0, "queue.down.bytes": 60e3, "loss.down.mean": 0.001}.items():
        assert found[path]["status"] == "identified" and covers(found[path], truth), found[path]
    assert found == rows(ackclock.fit(*captures, score=False))
    assert fit.document["score"] is None and fit.document["inputs"][0]["flows"] == 1


@pytest.mark.parametrize(
    "hop",
    [
        {"loss": {"down": {"kind": "gilbert-elliott", "mean": 0.01, "bad_sojourn": "6 ms"}}},
        {"policer": {"down": {"rate": "2 Mb/s", "burst": "15 kB"}}, "rate": "20 Mb/s"},
        {"handover": {"down": {"every": "2 s", "gap": "300 ms"}}},
        {"rate": {"schedule": [["0 s", "8 Mb/s"], ["4 s", "3 Mb/s"]]}, "queue": {"kind": "droptail", "bytes": "60 kB"}},
        {"reorder": {"down": {"mean": 0.02, "delay": "5 ms"}}, "jitter": {"up": {"kind": "uniform", "high": "4 ms"}}},
    ],
    ids=["bursts", "policer", "handover", "rate that falls", "reordering"],
)
def test_identified_parameters_are_keys_of_the_link(hop, tmp_path):
    fit = ackclock.fit(*simulated_captures(tmp_path, hop, duration="12 s"), score=False)
    link = fit.link.to_dict()["hop"][0]
    for path, row in rows(fit).items():
        if row["status"] == "identified" and row["value"]:
            found: Any = link
            for key in path.split("."):
                assert not isinstance(found, dict) or key in found, (path, link)
                found = found[key] if isinstance(found, dict) else found


def of_kind(kind: str, hop: dict[str, Any], folder: Path) -> dict[str, dict[str, Any]]:
    """The parameters by one kind of input of the study of coverage."""
    return rows(ackclock.fit(*captures_of(kind, TrueLink(1, "", [hop], {}), folder, 1), score=False))


def test_delay_and_jitter_are_those_of_the_path_when_timestamps_are_late(tmp_path):
    hop = {**SHARED, "rate": {"down": "4 Mb/s", "up": "1 Mb/s"}, "queue": {"kind": "droptail", "bytes": "40 kB"}}
    found = of_kind("busy host", hop, tmp_path / "plain")
    assert covers(found["delay"], 31.0) and found["delay"]["hi"] - found["delay"]["lo"] < 1.0, found["delay"]
    assert found["jitter.up"]["lo"] == 0.0 and not any(path.startswith("jitter.up.") for path in found)
    # Jitter that is larger than the lateness stays.
    jitter = {"up": {"kind": "uniform", "high": "6 ms"}}
    found = of_kind("busy host", {**hop, "jitter": jitter}, tmp_path / "jitter")
    assert any(path.startswith("jitter.up.") for path in found), list(found)


def test_flows_that_overtake_each_other_alone_show_no_jitter_of_the_link(tmp_path):
    policer = {"down": {"rate": "4 Mb/s", "burst": "40 kB"}}
    hop = {"name": "access", "rate": "15 Mb/s", "delay": "10 ms", "policer": policer}
    found = of_kind("two flows, one file", hop, tmp_path / "hosts")
    assert found["jitter.down"]["status"] == "assumed"
    assert found["policer.down.rate"]["value"] == pytest.approx(4e6, rel=1e-3)
    jitter = {"down": {"kind": "uniform", "high": "6 ms"}}
    found = of_kind("two flows, one file", {**hop, "jitter": jitter}, tmp_path / "link")
    assert any(path.startswith("jitter.down.") for path in found), list(found)


def test_receiver_behind_a_policer_identifies_nothing(tmp_path):
    policer = {"down": {"rate": "3500 kb/s", "burst": "39 kB"}}
    queue = {"kind": "droptail", "bytes": "2 MB"}
    hop = {"name": "access", "rate": "14500 kb/s", "delay": "6 ms", "queue": queue, "policer": policer}
    found = of_kind("client's end", hop, tmp_path / "policer")
    assert not [path for path, row in found.items() if row["status"] == "identified"], found
    assert covers(found["rate.down"], 14.5e6) and found["rate.down"]["hi"] is None
