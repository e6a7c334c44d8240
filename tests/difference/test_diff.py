"""`ackclock diff`: run folders and captures before and after a change."""

from __future__ import annotations

import json
import random

import pytest

import ackclock as library
from ackclock.difference.figures import capture_figures
from ackclock.errors import InputError
from ackclock.format import figure
from ackclock.statistics import Moments
from tests.support.documents import follows
from tests.support.short_flows import Connection, exchange, write_connections

HOP = {"name": "air", "rate": "4 Mb/s", "delay": "20 ms", "loss": {"down": 0.01}}
FLOWS = [{"name": "download", "workload": {"kind": "bulk"}}]


def run(folder, *, packets=40, seeds=4, variant="reno", captures=None):
    link = {"hop": [{**HOP, "queue": {"kind": "droptail", "packets": packets}}]}
    tcp = {"variant": variant}
    library.simulate(link, FLOWS, "3 s", seeds, tcp=tcp, out=folder, captures=captures)
    return folder


def row(document, metric, where="all flows"):
    return next(one for one in document["metrics"] if (one["where"], one["metric"]) == (where, metric))


def test_diff_finds_the_figures_that_a_change_moves(tmp_path) -> None:
    lossy, clean = {"hop": [HOP]}, {"hop": [{**HOP, "loss": {"down": 0.0}}]}
    for name, link in (("lossy", lossy), ("clean", clean)):
        library.simulate(link, FLOWS, "5 s", 8, tcp={"variant": "reno"}, out=tmp_path / name)
    found = library.diff(tmp_path / "lossy", tmp_path / "clean")
    assert follows("diff", found.document)["kind"] == "simulate"
    assert found.document["paired"]
    goodput = row(found.document, "goodput_bps")
    assert goodput["differs"]
    assert 0 < goodput["lo"] < goodput["difference"] < goodput["hi"]
    assert goodput["b"] - goodput["a"] == pytest.approx(goodput["difference"])
    assert row(found.document, "retransmission_rate")["differs"]
    assert "differ" in found.document["verdict"]
    assert found.metrics.filter("differs").height == sum(one["differs"] for one in found.document["metrics"])


def test_diff_finds_nothing_between_other_seeds_of_one_scenario(tmp_path) -> None:
    first, second = run(tmp_path / "a", seeds=[1, 2, 3, 4]), run(tmp_path / "b", seeds=[5, 6, 7, 8])
    document = library.diff(first, second).document
    assert not document["paired"]
    assert [one for one in document["metrics"] if one["differs"]] == []
    assert document["verdict"] == "No figure differs by more than chance."


@pytest.mark.parametrize(
    ("metric", "value", "shown"),
    [("drops", 29.0, "29"), ("timeouts", 0.0, "0"), ("drops", 29.4, "29.4"), ("jain", 1.0, "1.00")],
)
def test_count_has_no_decimals_when_it_is_a_whole_number(metric, value, shown) -> None:
    assert figure(value, metric) == shown


def test_diff_is_undecidable_when_a_run_has_one_seed(tmp_path, ackclock) -> None:
    first, second = run(tmp_path / "a", seeds=1), run(tmp_path / "b", seeds=3, packets=10)
    done = ackclock("diff", first, second, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert all(one["differs"] is None and one["lo"] is None for one in document["metrics"])
    assert "undecidable" in document["verdict"]
    printed = " ".join(ackclock("diff", first, second).stdout.split())
    assert "Seen" in printed and "one value on a side cannot say; two seeds or more can." in printed
    assert "undecidable" not in printed


def test_diff_matches_points_of_sweeps_and_names_those_of_one_side(tmp_path) -> None:
    link = {"hop": [HOP]}
    for name, variants in (("a", ["reno", "cubic"]), ("b", ["cubic", "bbr"])):
        over = {"tcp.variant": variants}
        library.sweep(link, FLOWS, "2 s", 3, over=over, out=tmp_path / name)
    document = library.diff(tmp_path / "a", tmp_path / "b").document
    assert {one["where"] for one in document["metrics"]} == {"variant cubic"}
    assert (document["only_in_a"], document["only_in_b"]) == (["variant reno"], ["variant bbr"])
    assert all(one["method"] == "equal" for one in document["metrics"])


def test_diff_matches_configurations_of_comparisons(tmp_path) -> None:
    for name, loss in (("a", 0.0), ("b", 0.03)):
        library.compare(
            [{**HOP, "loss": {"down": loss}}],
            variants=["reno", "cubic"],
            buffers=["auto"],
            delayed_ack=[True],
            duration="3 s",
            seeds=4,
            with_prices=False,
            out=tmp_path / name,
        )
    document = library.diff(tmp_path / "a", tmp_path / "b").document
    lower = row(document, "goodput_bps", "reno, auto buffers, delayed ACK")
    assert lower["differs"]
    assert lower["hi"] < 0


def capture(path, rtt: float, port: int = 80, flows: int = 6):
    """Requests one after another, whose RTTs scatter by a millisecond."""
    rng = random.Random(path.name)
    connections = [
        Connection(exchange(2.0 * n, 20, rtt=rtt + rng.uniform(0.0, 1e-3)), ("10.0.0.1", 2000 + n), ("192.0.2.1", port))
        for n in range(flows)
    ]
    return write_connections(path, connections)


def test_diff_of_captures_compares_the_flows_of_a_server_port(tmp_path, ackclock) -> None:
    before, after = capture(tmp_path / "before.pcap", 0.060), capture(tmp_path / "after.pcap", 0.030)
    document = follows("diff", json.loads(ackclock("diff", before, after, "--json").stdout))
    assert document["kind"] == "analyze"
    handshake = row(document, "handshake_rtt_ms", "port 80, data from the server")
    assert handshake["differs"]
    assert handshake["lo"] < -30.0 < handshake["hi"]
    assert (handshake["n_a"], handshake["n_b"], handshake["method"]) == (6, 6, "Welch")
    same = library.diff(before, capture(tmp_path / "again.pcap", 0.060)).document
    assert not any(one["differs"] for one in same["metrics"])


def test_diff_takes_an_analysis_and_a_capture(tmp_path) -> None:
    before, after = capture(tmp_path / "before.pcap", 0.060), capture(tmp_path / "after.pcap", 0.030)
    library.analyze(before, out=tmp_path / "analysis")
    assert (
        library.diff(tmp_path / "analysis", after).document["metrics"]
        == library.diff(before, after).document["metrics"]
    )


def test_diff_refuses_captures_of_other_ports(tmp_path) -> None:
    with pytest.raises(InputError, match=r"no figures in common: A has port 80.*, B has port 443"):
        library.diff(capture(tmp_path / "a.pcap", 0.06), capture(tmp_path / "b.pcap", 0.06, port=443))


def test_diff_of_one_flow_each_is_undecidable(tmp_path) -> None:
    one, other = capture(tmp_path / "a.pcap", 0.06, flows=1), capture(tmp_path / "b.pcap", 0.03, flows=1)
    document = library.diff(one, other).document
    assert {found["differs"] for found in document["metrics"]} == {None}
    assert document["verdict"].startswith("All figures are undecidable: a side has one value")


def test_concurrent_flows_are_one_value() -> None:
    import polars as pl

    def flow(start: float, duration: float, goodput: float) -> dict[str, object]:
        data = {f"b2a_{key}": None for key in ("rtt_ms_mean", "rtt_ms_p95", "rto_retransmits", "window_limited_share")}
        return {
            "server": "192.0.2.1:443",
            "start_s": start,
            "duration_s": duration,
            "handshake_rtt_ms": 20.0,
            "a2b_unique_bytes": 200,
            "b2a_unique_bytes": 100_000,
            "b2a_goodput_bps": goodput,
            "b2a_retransmission_rate": 0.0,
            **data,
        }

    together = pl.DataFrame(
        [flow(0.0, 10.0, 1e6), flow(0.1, 10.0, 3e6), flow(20.0, 1.0, 5e6)], infer_schema_length=None
    )
    found = capture_figures(together).found()
    assert found["port 443, data from the server", "goodput_bps"] == Moments.of([2e6, 5e6])


def test_diff_refuses_runs_of_different_kinds(tmp_path, ackclock) -> None:
    simulated = run(tmp_path / "a", seeds=2)
    library.sweep({"hop": [HOP]}, FLOWS, "1 s", 2, over={"tcp.variant": ["reno"]}, out=tmp_path / "b")
    done = ackclock("diff", simulated, tmp_path / "b", "--json")
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["option"] == "B"
    assert "simulate" in error["message"]
    assert "sweep" in error["message"]


def test_diff_refuses_a_missing_folder_and_an_unfinished_one(tmp_path, ackclock) -> None:
    simulated = run(tmp_path / "a", seeds=2)
    assert "no such folder" in ackclock("diff", simulated, tmp_path / "nothing").stderr
    (tmp_path / "empty").mkdir()
    done = ackclock("diff", tmp_path / "empty", simulated)
    assert (done.returncode, "A: found a folder that holds no such run" in done.stderr) == (2, True)
    with pytest.raises(InputError, match="no figures in common: A has all flows"):
        other = [{"name": "other", "workload": {"kind": "cbr", "rate": "1 Mb/s"}}]
        library.simulate({"hop": [{**HOP, "name": "x"}]}, other, "1 s", 2, out=tmp_path / "c")
        library.diff(simulated, tmp_path / "c")


def measurement(folder, goodputs, completion):
    """The document of a measurement: bulk tests of two connections, and transfers."""

    def flow(test: int, goodput: float) -> dict[str, object]:
        rtt = {"mean": 40.0, "p95": 55.0}
        known = {"purpose": "tcp", "direction": "down", "label": "cubic", "goodput_bps": goodput}
        return {**known, "test": test, "rtt_ms": rtt, "retransmission_rate": 0.001}

    mean, sd = completion
    transfers = {"direction": "down", "size": "20 kB", "handshake_ms": None}
    document = {
        "flows": [flow(test, share * total) for test, total in enumerate(goodputs) for share in (0.4, 0.6)],
        "transfers": [{**transfers, "completion_ms": {"count": 20, "mean": mean, "sd": sd}}],
        "delay": {"down": {"delay_variation_ms": {"mean": 2.0, "p95": 4.0}, "loss_rate": 0.0}},
    }
    folder.mkdir()
    (folder / "measurement.json").write_text(json.dumps(document))
    return folder


def test_diff_of_measurements_counts_tests_and_transfers(tmp_path) -> None:
    before = measurement(tmp_path / "a", [8e6, 8.2e6, 7.9e6], (120.0, 10.0))
    after = measurement(tmp_path / "b", [9e6, 9.2e6, 9.1e6], (121.0, 10.0))
    document = library.diff(before, after).document
    goodput = row(document, "goodput_bps", "tcp down cubic")
    assert (goodput["n_a"], goodput["differs"]) == (3, True), "two concurrent connections are one value"
    completion = row(document, "completion_ms", "transfers down 20 kB")
    assert (completion["n_a"], completion["differs"], completion["method"]) == (20, False, "Welch")
    assert row(document, "loss_rate", "delay down")["differs"] is None
