"""Active tests through the command line and from Python, with both ends on this machine."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

import ackclock
from ackclock.comparison.measurement_rows import beside
from ackclock.errors import InputError
from ackclock.folder_damage import check_files
from ackclock.input.document import Document
from ackclock.measurement.consistency import contradictions
from ackclock.measurement.pathchar import hops_of
from ackclock.measurement.plan import estimate, plan_of
from ackclock.measurement.schedule import Schedule, keep, overview
from tests.support.documents import follows, further_fields

pytestmark = pytest.mark.realtime

CLI = [sys.executable, "-m", "ackclock"]


@pytest.fixture(scope="module")
def far_end(tmp_path_factory):
    """A far end in a process of its own: its port and its token file."""
    token = tmp_path_factory.mktemp("far") / "token"
    serve = subprocess.Popen([*CLI, "serve", "--port", "0", "--token-file", token], stdout=subprocess.PIPE, text=True)
    assert serve.stdout is not None
    where = re.search(r"127\.0\.0\.1:(\d+)", serve.stdout.readline())
    assert where is not None
    yield int(where[1]), token
    serve.terminate()
    serve.wait(10)


@pytest.fixture(scope="module")
def measured(far_end, tmp_path_factory):
    """A short measurement by the command line: what it printed and its folder."""
    port, token = far_end
    folder = tmp_path_factory.mktemp("measured") / "run"
    plan = folder.parent / "plan.toml"
    plan.write_text(
        'tests = ["delay", "tcp", "latency", "transfers"]\nduration = "0.5 s"\nflows = 2\nsizes = ["20 kB"]\nrepeats = 2\n'
    )
    argv = [
        *CLI,
        "measure",
        "127.0.0.1",
        "--port",
        str(port),
        "--token-file",
        token,
        "--plan",
        plan,
        "--json",
        "--out",
        folder,
    ]
    done = subprocess.run([*argv, "--no-report"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), folder


def test_measurement_document_has_the_plans_tests_and_equals_the_folders(measured):
    document, folder = measured
    follows("measure", document)
    assert further_fields("measure", document) == []
    assert set(document["delay"]) == {"down", "up"}
    assert document["delay"]["down"]["sent"] == 12
    assert [(f["direction"], f["purpose"]) for f in document["flows"]][:2] == [("down", "tcp"), ("up", "tcp")]
    for flow in document["flows"]:
        assert flow["failed"] is None
        assert flow["goodput_bps"] > 1e6
        assert flow["variant"] == flow["asked"]["congestion"] == flow["given"]["receiver"]["congestion"]
    assert [(t["completed"], t["failed"]) for t in document["transfers"]] == [(2, 0), (2, 0)]
    assert document["latency_under_load"]["down"]["responsiveness"]["rpm"] > 0
    assert document["clock"]["offset_interval_ms"][0] < 0.5
    assert json.loads((folder / "measurement.json").read_text()) == document
    check_files(folder)
    names = {
        "scenario.toml",
        "environment.json",
        "flows.parquet",
        "series.parquet",
        "delays.parquet",
        "measurement.json",
    }
    assert names <= {path.name for path in folder.iterdir()}


@pytest.mark.realtime
@pytest.mark.slow
@pytest.mark.finding("M1")
def test_measure_finishes_every_test_when_none_is_named(far_end, tmp_path):
    port, token = far_end
    argv = [
        *CLI,
        "measure",
        "127.0.0.1",
        "--port",
        str(port),
        "--token-file",
        token,
        "--duration",
        "0.1 s",
        "--sizes",
        "10 kB",
    ]
    done = subprocess.run(
        [*argv, "--json", "--no-report", "--out", tmp_path / "run"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["unfinished"], document["failed"]) == ([], None)
    assert document["path"][-1]["reached"]
    assert document["path"][-1]["loss_rate"] == 0.0
    assert {flow["purpose"] for flow in document["flows"]} == {"tcp", "bidirectional", "flows", "latency"}


@pytest.mark.finding("M1")
def test_measure_keeps_finished_tests_when_a_later_one_fails(tmp_path):
    serve = subprocess.Popen(
        [*CLI, "serve", "--port", "0", "--token-file", tmp_path / "token", "--most-bytes", "1"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert serve.stdout is not None
        where = re.search(r"127\.0\.0\.1:(\d+)", serve.stdout.readline())
        assert where is not None
        run = tmp_path / "run"
        argv = [
            *CLI,
            "measure",
            "127.0.0.1",
            "--port",
            where[1],
            "--token-file",
            tmp_path / "token",
            "--tests",
            "delay,transfers",
        ]
        argv += ["--duration", "0.2 s", "--sizes", "10 MB", "--quiet", "--no-report", "--out", run]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    finally:
        serve.terminate()
        serve.wait(10)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "transfers" in line
    assert str(run) in line
    kept = json.loads((run / "measurement.json").read_text("utf-8"))
    assert kept["delay"]["down"]["sent"] == 5
    assert kept["unfinished"] == ["transfers"]
    assert kept["failed"]["label"] == "10 MB down"
    assert "allowed: 1000000" in kept["failed"]["why"]


@pytest.mark.finding("M12")
def test_measure_announces_its_maximum_of_bytes_and_stays_below_it(far_end, tmp_path):
    port, token = far_end
    argv = [*CLI, "measure", "127.0.0.1", "--port", str(port), "--token-file", token, "--no-report", "--json"]
    argv += ["--tests", "delay,capacity,tcp,latency,transfers", "--duration", "1 s", "--max-bytes", "8 MB"]
    done = subprocess.run([*argv, "--out", tmp_path / "run"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert "at most 8.0 MB in all (--max-bytes)" in done.stderr.splitlines()[0]
    document = json.loads(done.stdout)
    size = document["bytes"]
    assert size["max"] == 8_000_000
    assert document["ip_bytes"] < size["used"] <= size["max"]
    # The loopback interface carries more than 8 MB in a tenth of a second.
    assert {one["test"] for one in (*size["left_out"], *size["shortened"])} >= {"capacity"}
    assert list(contradictions(document)) == []
    assert document["failed"] is None


@pytest.mark.finding("M1")
def test_hop_loss_is_counted_without_brisk_probes_when_icmp_is_rate_limited():
    def probe(n, answered, brisk):
        rtt, answer, at = (1.0, "reached", "192.0.2.1") if answered else (None, None, None)
        return {"hop": 1, "ip_bytes": 64 + n, "rtt_ms": rtt, "address": at, "answer": answer, "brisk": brisk}

    slow = [probe(n, n != 3, False) for n in range(10)]
    (limited,) = hops_of([*(probe(n, True, True) for n in range(6)), probe(6, False, True), *slow])
    assert (limited.sent, limited.answered) == (10, 9)
    (free,) = hops_of([probe(n, True, True) for n in range(16)])
    assert (free.sent, free.answered) == (16, 16)


def test_measurement_report_has_its_results(measured):
    pytest.importorskip("altair")
    _, folder = measured
    page = ackclock.measurement.folder.read_folder(folder).report(folder / "page.html").read_text()
    assert "The path to 127.0.0.1" in page
    assert "RTTs/min" in page


def test_compare_shows_a_measurement_beside_its_results(measured, tmp_path):
    document, folder = measured
    done = ackclock.compare(
        "cable-dialup", variants=["cubic"], buffers=["auto"], duration="2 s", seeds=1, measured=folder
    )
    (row,) = done.document["measured"]
    assert row["simulated"]["label"] == "cubic, auto buffers, delayed ACK"
    assert row["goodput_bps"] == next(f["goodput_bps"] for f in document["flows"] if f["purpose"] == "tcp")
    assert beside(document, [], "up")[0]["simulated"] is None
    with pytest.raises(InputError, match="measure"):
        ackclock.compare("cable-dialup", variants=["cubic"], measured=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["--token-file", "missing"], "token"),
        (["--duration", "1000 s"], "at most 120 s"),
        (["--tests", "delays"], "did you mean delay"),
        (["--congestion", "nonsense"], "congestion control"),
        (["--every", "1 h"], "--out"),
    ],
)
def test_measure_exits_with_2_and_one_line_on_bad_input(far_end, tmp_path, arguments, output):
    port, token = far_end
    argv = [*CLI, "measure", "127.0.0.1", "--port", str(port), "--token-file", str(token), "--quiet", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert output in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_wrong_token_and_unknown_host_are_bad_input(far_end):
    port, _ = far_end
    with pytest.raises(InputError, match="token"):
        ackclock.measure("127.0.0.1", port=port, token="xq7ZkX2mW9vB4nT8sL1rY6pD")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1 "):
        ackclock.measure("127.0.0.1", port=1, token="xq7ZkX2mW9vB4nT8sL1rY6pD")


def test_invalid_plan_names_its_key():
    for key, value in (
        ("buffers", ["1 B"]),
        ("sample", "1 ms"),
        ("directions", ["sideways"]),
        ("shares", [0]),
        ("colour", 1),
    ):
        with pytest.raises(InputError, match=key):
            plan_of(Document({key: value}))
    plan = plan_of(Document({"buffers": ["auto", "64 KiB", "auto"], "tests": ["tcp", "delay"]}))
    assert plan.buffers == ("auto", "64 KiB")
    assert plan.tests == ("delay", "tcp")
    assert plan_of(Document(plan.written)) == plan
    # Two transfers in each direction of 10 s at 1 MB/s, and 48 bytes in each direction 25 times a
    # second.
    assert estimate(plan, {"down": 8e6, "up": 8e6})[1] == pytest.approx(4e7 + 11 * 2400)


class Machine:
    """A clock that advances only by sleeps and by a powered-off time."""

    def __init__(self):
        self.time, self.made, self.power_cut = 1000.0, [], 1150.0

    def sleep(self, seconds):
        self.time += seconds
        if self.time > self.power_cut:
            raise KeyboardInterrupt

    def measure(self, folder):
        self.made.append((self.time, folder.name))
        if len(self.made) == 2:
            raise InputError("no host", "a host")
        folder.mkdir()
        (folder / "measurement.json").write_text('{"capacity": {}, "flows": [], "delay": null}')
        self.time += 20

    def run(self, folder, times=5):
        return keep(
            folder,
            Schedule(100.0, times),
            {"host": "h"},
            self.measure,
            report=print,
            now=lambda: self.time,
            sleep=self.sleep,
        )


def test_schedule_keeps_times_records_failures_and_survives_restarts(tmp_path):
    machine = Machine()
    with pytest.raises(KeyboardInterrupt):
        machine.run(tmp_path / "s")
    machine.time, machine.power_cut = 1320.0, 9999.0
    state = machine.run(tmp_path / "s")
    # The third's time passed while the machine was off; the fourth is late by 20 s, and the fifth
    # keeps its distance.
    assert [time for time, _ in machine.made] == [1000.0, 1100.0, 1320.0, 1420.0]
    rows = overview(tmp_path / "s", state)
    assert [row["failed"] for row in rows] == [None, "found no host; allowed: a host", "missed", None, None]
    with pytest.raises(InputError, match="another input"):
        machine.run(tmp_path / "s", times=6)


def test_serve_refuses_an_invalid_address():
    done = subprocess.run(
        [*CLI, "serve", "--listen", "nowhere"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "nowhere" in done.stderr


def test_session_capture_is_written_with_cap_net_raw(far_end, tmp_path):
    port, token = far_end
    plan = {"tests": ["tcp"], "duration": "0.3 s", "directions": ["down"]}
    try:
        done = ackclock.measure("127.0.0.1", plan, port=port, token_file=token, out=tmp_path / "run", capture=True)
    except InputError as refused:
        assert "CAP_NET_RAW" in str(refused)
        assert not (tmp_path / "run").exists()
        pytest.skip("captures are not permitted here")
    seen = ackclock.analyze(tmp_path / "run" / "capture.pcap").document
    assert done.document["capture"]["dropped"] == 0 or seen["packets"] > 100
    assert len(seen["flows"]) == 2  # control and data
    assert seen["malformed"] == 0


def test_serve_ends_on_ctrl_c():
    argv = [*CLI, "serve", "--port", "0"]
    # A shell that starts something in the background lets it ignore the signal: not here.
    serve = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, restore_signals=True)
    assert serve.stdout is not None
    assert serve.stdout.readline().startswith("listening at 127.0.0.1:")
    assert len(serve.stdout.readline().split("token: ")[1].strip()) == 32
    serve.send_signal(signal.SIGINT)
    assert serve.wait(10) == 130
