"""The files of iperf3 and Flent as inputs of `diff` and `report`."""

from __future__ import annotations

import bz2
import copy
import gzip
import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.cli import run
from ackclock.errors import InputError
from ackclock.other_programs import read_program_test, sniffed
from tests.support.documents import follows
from tests.support.namespaces import namespaces


def iperf3(rate=20e6, rtt_us=30_000, retransmits=4, reverse=0, protocol="TCP", seconds=3):
    """A client's document of `iperf3 -J`, with the keys that version 3.12 has."""
    sends = not reverse
    rtts = {"mean_rtt": rtt_us if sends else 0, "min_rtt": rtt_us - 500 if sends else 0, "max_rtt": 2 * rtt_us}
    total: dict[str, Any] = {
        "start": 0,
        "end": seconds,
        "seconds": seconds,
        "bytes": rate * seconds / 8,
        "sender": sends,
    }
    lost: dict[str, Any] = {"jitter_ms": 0.2, "lost_packets": 3, "packets": 60, "lost_percent": 5}
    intervals = []
    for second in range(seconds):
        stream: dict[str, Any] = {
            "socket": 5,
            "end": second + 1,
            "bits_per_second": rate,
            "omitted": False,
            "sender": sends,
        }
        if sends and protocol == "TCP":
            stream |= {"rtt": rtt_us + 1000 * second, "snd_cwnd": 90_000, "retransmits": 1}
        total_of = {**stream, "omitted": second == 0 and seconds > 3}
        intervals.append({"streams": [stream], "sum": total_of})
    ends: dict[str, Any]
    if protocol == "TCP":
        ends = {
            "streams": [{"sender": {"socket": 5, **rtts, "sender": sends}, "receiver": {"socket": 5, "sender": sends}}],
            "sum_sent": {**total, "bits_per_second": 1.01 * rate, "retransmits": retransmits},
            "sum_received": {**total, "bits_per_second": rate},
        }
    else:
        ends = {
            "streams": [{"udp": {"socket": 5, **lost, "sender": sends}}],
            "sum_sent": {**total, "bits_per_second": rate},
            "sum_received": {**total, "bits_per_second": 0.95 * rate, **lost, "sender": False},
        }
    asked = {"protocol": protocol, "num_streams": 1, "reverse": reverse, "duration": seconds}
    start = {"version": "iperf 3.12", "connecting_to": {"host": "far.example", "port": 5201}, "test_start": asked}
    return {
        "start": {**start, "timestamp": {"time": "Mon, 02 Nov 2026 10:00:00 GMT"}},
        "intervals": intervals,
        "end": ends,
    }


def flent(down=40.0, ping=25.0, points=50):
    """A data file as Flent's documentation has it, of a test with a download and pings."""
    names = {"Ping (ms) ICMP": ("ms", ping), "TCP download": ("Mbits/s", down), "TCP upload::1::tcp_cwnd": ("", 30.0)}
    return {
        "version": 4,
        "metadata": {
            "NAME": "tcp_1down",
            "TITLE": "before",
            "HOST": "far.example",
            "TIME": "2026-11-02T10:00:00.000000Z",
            "LENGTH": 10,
            "STEP_SIZE": 0.2,
            "SERIES_META": {
                name: {"UNITS": unit, **({"MEAN_VALUE": mean} if unit == "Mbits/s" else {})}
                for name, (unit, mean) in names.items()
            },
        },
        "x_values": [0.2 * number for number in range(points)],
        "results": {
            name: [None if number < 3 else mean + number % 3 - 1 for number in range(points)]
            for name, (_, mean) in names.items()
        },
        "raw_values": {},
    }


@pytest.fixture
def file(tmp_path):
    """Writes a document to a file."""

    def write(name, document):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return write


def test_iperf3_upload_has_goodput_rtt_and_retransmissions_of_the_sender(file):
    test = read_program_test(file("a.json", iperf3()))
    assert (test.program, test.title, test.seconds) == ("iperf3", "TCP up, far.example", 3)
    figures = {"goodput_bps": 20e6, "rtt_ms_mean": 30.0, "rtt_ms_min": 29.5, "retransmits": 4}
    assert test.figures == {"TCP up": figures}
    rate, rtt = test.series
    assert (rate.values, rtt.values) == ((20.0, 20.0, 20.0), (30.0, 31.0, 32.0))
    assert not test.remarks


def test_iperf3_download_has_no_rtt_when_the_server_sends(file):
    test = read_program_test(file("a.json", iperf3(reverse=1)))
    assert set(test.figures["TCP down"]) == {"goodput_bps", "retransmits"}
    assert [one.quantity for one in test.series] == ["rate"]
    assert "RTT" in test.remarks[0]


def test_iperf3_datagrams_have_loss_and_jitter_and_the_rate_that_arrives(file):
    figures = read_program_test(file("a.json", iperf3(protocol="UDP"))).figures
    assert figures == {"UDP up": {"goodput_bps": 19e6, "loss_rate": 0.05, "jitter_ms": 0.2}}
    old = iperf3(protocol="UDP")
    old["end"]["sum"] = {**old["end"].pop("sum_received"), "bits_per_second": 20e6, "sender": True}
    del old["end"]["sum_sent"]
    assert read_program_test(file("b.json", old)).figures["UDP up"]["goodput_bps"] == pytest.approx(19e6)


def test_iperf3_leaves_out_intervals_that_were_omitted(file):
    rate, rtt = read_program_test(file("a.json", iperf3(seconds=5))).series
    assert len(rate.times) == len(rtt.times) == 4


def test_flent_has_its_series_by_name_and_units(file):
    test = read_program_test(file("a.flent", flent()))
    assert (test.program, test.title) == ("flent", "tcp_1down, before, far.example")
    assert test.figures["TCP download"] == {"goodput_bps": 40e6}
    ping = test.figures["Ping (ms) ICMP"]
    assert ping["rtt_ms_mean"] == pytest.approx(25.0, abs=0.1) and ping["rtt_ms_p95"] == 26.0
    assert {one.name: len(one.times) for one in test.series} == {"Ping (ms) ICMP": 47, "TCP download": 47}
    assert "TCP upload::1::tcp_cwnd" in test.remarks[0]


def test_flent_means_its_values_when_the_program_has_no_mean(file):
    document = flent()
    del document["metadata"]["SERIES_META"]
    figures = read_program_test(file("a.flent", document)).figures
    assert figures["TCP download"]["goodput_bps"] == pytest.approx(40e6, rel=0.01)
    assert set(figures) == {"TCP download", "Ping (ms) ICMP"}


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_flent_file_is_read_when_it_is_compressed(pack, tmp_path):
    path = tmp_path / "a.flent.gz"
    path.write_bytes(pack(json.dumps(flent()).encode()))
    assert sniffed(path) and read_program_test(path).figures["TCP download"]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="damaged compressed file"):
        read_program_test(path)


def test_diff_compares_folders_of_tests_one_value_for_each_file(file, tmp_path):
    rng = random.Random(5)
    for side, rate in (("before", 20e6), ("after", 26e6)):
        for number in range(6):
            document = iperf3(rate=rate + rng.uniform(-1e6, 1e6), rtt_us=30_000 + rng.randint(-500, 500))
            file(f"{side}/{number}.json", document)
    document = follows("diff", ackclock.diff(tmp_path / "before", tmp_path / "after").document)
    assert (document["kind"], document["unit"]) == ("iperf3", "test")
    rows = {row["metric"]: row for row in document["metrics"]}
    assert rows["goodput_bps"]["differs"] and rows["goodput_bps"]["lo"] > 4e6
    assert rows["rtt_ms_mean"]["differs"] is False
    assert rows["goodput_bps"]["n_a"] == 6


def test_diff_of_two_files_is_undecidable_and_of_two_programs_an_error(file):
    first, second = file("a.json", flent()), file("b.json", flent(down=60.0))
    document = ackclock.diff(first, second).document
    assert all(row["differs"] is None for row in document["metrics"])
    assert next(row["difference"] for row in document["metrics"] if row["where"] == "TCP download") == 20e6
    with pytest.raises(InputError, match="A is of flent and B of iperf3"):
        ackclock.diff(first, file("c.json", iperf3()))
    file("mixed/1.json", flent())
    file("mixed/2.json", iperf3())
    with pytest.raises(InputError, match="a test of iperf3; allowed: tests of flent"):
        ackclock.diff(first, first.parent / "mixed")


def test_report_of_a_test_shows_rate_and_rtt_over_time(file, capsys, tmp_path):
    path = file("a.json", iperf3())
    assert run(["report", str(path)]) == 0
    page = Path(capsys.readouterr().out.strip())
    text = page.read_text()
    assert page.name == "a.json.html"
    assert "Rate and RTT over time" in text and "TCP up had 20.0" in text
    assert run(["report", str(file("b.flent", flent())), "--out", str(tmp_path / "there"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(tmp_path / "there" / "report.html")
    assert run(["report", str(path), "--format", "svg"]) == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', "a document with the keys a"),
        ("{", "no JSON"),
        ("[1]", "JSON that is no table"),
        ('{"start": {}, "intervals": [], "end": {}}', "no results of a test"),
        ('{"start": 3, "intervals": [], "end": {}}', "a table"),
        ('{"start": {}, "intervals": 5, "end": {"sum_sent": {}, "sum_received": {"bits_per_second": 1}}}', "a list"),
        ('{"metadata": {}, "results": {}, "x_values": []}', "no rates and no RTTs"),
        ('{"metadata": {}, "results": {"TCP download": [1]}, "x_values": []}', "1 values"),
        (
            '{"start": {}, "intervals": [], "end": {}, "error": "unable to\\nconnect"}',
            "iperf3 failed: unable to connect",
        ),
        ("{" + '"a": {' * 20_000, "no JSON"),
    ],
)
def test_file_without_a_test_is_an_error_of_one_line(text, found, file):
    path = file("a.json", text)
    with pytest.raises(InputError) as error:
        read_program_test(path)
    assert found in str(error.value) and "\n" not in str(error.value)


def places(value, path=()):
    """The paths of all values of a document."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


@pytest.mark.parametrize(
    "document",
    [iperf3(), iperf3(reverse=1), iperf3(protocol="UDP"), flent(points=4)],
    ids=["up", "down", "udp", "flent"],
)
def test_mutant_of_a_document_is_a_test_or_an_error(document, file):
    for number, path in enumerate(places(document)):
        values: tuple[Any, ...] = (None, -1, "x", [], {}, 1e308, True, "delete")
        for value in values:
            mutant = copy.deepcopy(document)
            if path:
                inner = mutant
                for key in path[:-1]:
                    inner = inner[key]
                if value == "delete":
                    del inner[path[-1]]
                else:
                    inner[path[-1]] = value
            try:
                assert read_program_test(file("m.json", mutant)).figures
            except InputError as error:
                assert "\n" not in str(error), number


@pytest.mark.realtime
@pytest.mark.skipif(not namespaces() or not shutil.which("iperf3"), reason="no network namespaces, or no iperf3")
def test_file_that_iperf3_writes_is_read(tmp_path):
    script = (
        "ip link set lo up; iperf3 -s -1 -p 5301 >/dev/null & sleep 0.5; "
        f"iperf3 -c 127.0.0.1 -p 5301 -t 2 -b 8M -J >{tmp_path}/a.json; wait"
    )
    subprocess.run(["unshare", "-rn", "sh", "-c", script], check=True, timeout=60)
    test = read_program_test(tmp_path / "a.json")
    assert test.figures["TCP up"]["goodput_bps"] == pytest.approx(8e6, rel=0.3)
    assert 0 < test.figures["TCP up"]["rtt_ms_mean"] < 100
    assert {one.quantity for one in test.series} == {"rate", "rtt"}
