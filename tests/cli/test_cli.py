"""The command line: exit status, one JSON document on stdout, one line on stderr for an error."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

import ackclock as package


def test_simulate_prints_tables_and_writes_a_folder_named_by_hash_with_a_report(ackclock, small, tmp_path):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    done = ackclock("simulate", small)
    assert done.returncode == 0, done.stderr
    assert "download" in done.stdout
    assert "goodput" in done.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    assert str(folder.relative_to(tmp_path)) in done.stderr
    report = folder / "report.html"
    page = report.read_text()
    report.write_text(page.replace('content="ackclock ', 'content="of another version '))
    assert ackclock("simulate", small).returncode == 0
    assert report.read_text() == page


def test_simulate_json_is_one_document_with_the_documented_fields(ackclock, small):
    done = ackclock("simulate", "--no-report", small, "--seed", 4, "--json")
    document = json.loads(done.stdout)
    assert {"scenario", "seed", "flows", "hops", "jain"} <= set(document)
    assert document["seed"] == 4
    (flow,) = document["flows"]
    assert {
        "flow", "variant", "direction", "goodput_bps", "throughput_bps", "rtt_ms", "retransmitted_segments",
        "retransmission_rate", "timeouts", "fast_retransmits", "window_cuts", "idle_share", "segments_sent", "completed_s",
    } <= set(flow)  # fmt: skip
    assert {"min", "mean", "p50", "p95", "max", "sd"} <= set(flow["rtt_ms"])
    for hop in document["hops"]:
        assert {
            "hop",
            "direction",
            "utilization",
            "queue_delay_ms",
            "drops",
            "marks",
            "delivered",
            "control_packets",
        } <= set(hop)
        assert {"mean", "p95", "max"} <= set(hop["queue_delay_ms"])


def test_simulate_json_has_runs_and_summary_with_several_seeds(ackclock, small):
    document = json.loads(ackclock("simulate", "--no-report", small, "--json").stdout)
    assert [run["seed"] for run in document["runs"]] == [1, 2]
    assert document["summary"]["n"] == 2
    assert {"mean", "lo", "hi", "sd"} <= set(document["summary"]["metrics"]["goodput_bps"])


def test_simulate_json_has_the_single_form_with_one_seed(ackclock, write, small):
    one = write("one.toml", small.read_text().replace("seeds = 2", "seeds = [9]"))
    assert json.loads(ackclock("simulate", "--no-report", one, "--json").stdout)["seed"] == 9


def test_quiet_prints_nothing_on_stderr(ackclock, small):
    done = ackclock("simulate", "--no-report", small, "--quiet", "--json")
    assert done.stderr == ""
    json.loads(done.stdout)


def test_out_option_is_the_run_folder(ackclock, small, tmp_path):
    done = ackclock("simulate", "--no-report", small, "--out", "here", "--pcap")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "here" / "series.parquet").is_file()
    assert len(list((tmp_path / "here" / "captures").glob("*.pcap"))) == 4
    assert not (tmp_path / "runs").exists()


def test_pcap_offloads_writes_captures_without_pcap(ackclock, small, tmp_path):
    done = ackclock("simulate", "--no-report", small, "--out", "here", "--seed", "1", "--pcap-offloads")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "here" / "captures").iterdir())
    assert len(names) == 2
    assert all(name.endswith(".offloads.pcap") for name in names)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["simulate", "none.toml"], "no such file"),
        (["simulate"], "requires SCENARIO"),
        (["simulate", "bad.toml"], "bad.toml:1: duration: found"),
        (["simulate", "small.toml", "--seed", "-1"], "--seed"),
        (["simulate", "small.toml", "--pcap-format", "erf"], "pcap-format"),
        (["simulate", "small.toml", "--nonsense"], "--nonsense"),
        (["simulate", "small.toml", "--out", "small.toml"], "--out small.toml is a file"),
        (["sweep", "small.toml"], "small.toml: found no [sweep]"),
        (["compare", "cable-dialupp"], "did you mean cable-dialup?"),
        (["reproduce", "nothing"], "nothing"),
        (["report", "nowhere"], "nowhere"),
        (["list", "things"], "things"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_bad_input_prints_one_line_exits_with_2_and_writes_nothing(ackclock, small, write, tmp_path, arguments, part):
    write("bad.toml", 'duration = "10 sec"\n')
    before = sorted(tmp_path.rglob("*"))
    done = ackclock(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert part in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_sweep_prints_its_points_and_continues(ackclock, write, small, tmp_path):
    scenario = write("s.toml", small.read_text() + '[sweep]\n"tcp.variant" = ["reno", "cubic"]\n')
    first = ackclock("sweep", "--no-report", scenario, "--out", "run", "--json")
    document = json.loads(first.stdout)
    assert [cell["params"]["tcp.variant"] for cell in document["cells"]] == ["reno", "cubic"]
    again = ackclock("sweep", "--no-report", scenario, "--out", "run", "--json")
    assert json.loads(again.stdout) == document
    assert "4 of 4 runs done (from an earlier run)" in again.stderr
    assert "reno" in ackclock("sweep", "--no-report", scenario, "--out", "run").stdout


@pytest.mark.parametrize("kind", ["links", "variants", "hosts", "queues", "papers"])
def test_list_prints_names(ackclock, kind):
    names = getattr(package, f"list_{kind}")()
    assert [entry["name"] for entry in json.loads(ackclock("list", kind, "--json").stdout)[kind]] == list(names)
    assert all(name in ackclock("list", kind).stdout for name in names)


def test_help_imports_no_heavy_module():
    heavy = ("pydantic", "polars", "scipy", "jinja2", "ackclock._native", "matplotlib", "altair", "rich")
    code = (
        "import sys; from ackclock.cli import run; run(['--help']); sys.exit(str([m for m in "
        f"{heavy} if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"


@pytest.mark.realtime
def test_help_takes_less_than_300_ms_of_cpu_or_25_starts_of_the_interpreter():
    # 19 starts, on a machine where one takes 10 ms. Where a CPU second does less, the starts count.
    assert cpu_seconds("-m", "ackclock", "--help") < max(0.3, 25 * cpu_seconds("-c", "pass"))


def cpu_seconds(*arguments: str) -> float:
    """The minimum of several runs."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_short_options_print_help_and_version(ackclock):
    assert ackclock("-V").stdout == f"ackclock {package.__version__}\n"
    for arguments in ((), ("simulate",), ("emulate",)):
        assert ackclock(*arguments, "-h").stdout == ackclock(*arguments, "--help").stdout


def test_version_option_prints_the_version():
    done = subprocess.run([sys.executable, "-m", "ackclock", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"ackclock {package.__version__}\n"


def test_command_without_arguments_prints_the_help(ackclock):
    assert "compare" in ackclock().stdout


def test_public_names_exist_and_have_docstrings():
    for name in package.__all__:
        assert getattr(package, name).__doc__


def test_simulate_refuses_an_invalid_sweep(ackclock, write, small, tmp_path):
    swept = write("swept.toml", small.read_text() + '\n[sweep]\n"hop.nowhere.rate" = ["1 Mb/s"]\n')
    done = ackclock("simulate", "--no-report", swept)
    assert done.returncode == 2
    assert "swept.toml" in done.stderr
    assert "hop.nowhere.rate" in done.stderr
    assert not (tmp_path / "runs").exists()
