"""Congestion controls in Python: equal to built-in ones, in one process or several, and their
errors.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import congestion_control
from tests.support import ROOT

LINK = {"hop": [{"name": "l", "rate": "5 Mb/s", "delay": "20 ms", "queue": {"kind": "droptail", "packets": 20}}]}
LOSSY = {"hop": [{**LINK["hop"][0], "loss": {"down": {"kind": "bernoulli", "mean": 0.01}}}]}
RENO = "python:own_control.Reno"


@pytest.fixture(autouse=True)
def in_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")


def run(variant: Any, link: Any = LOSSY, **tcp: Any) -> ackclock.Simulation:
    flow = {"name": "f", "workload": {"kind": "bulk"}, "variant": variant}
    return ackclock.simulate(link, [flow], duration="20 s", tcp={"slow_start": "classic", **tcp})


def figures(done: ackclock.Simulation) -> str:
    """Everything a run reports but the variant's name."""
    summary = json.loads(json.dumps(done.summaries[0]))
    for flow in summary["flows"]:
        del flow["variant"]
    return json.dumps(summary, sort_keys=True)


@pytest.mark.parametrize("recovery", ["sack", "rack", "newreno", "rate-halving"])
@pytest.mark.parametrize("host", ["ns2", "linux-6"])
@pytest.mark.parametrize("link", [LINK, LOSSY], ids=["queue", "loss"])
def test_python_reno_equals_the_built_in_reno(recovery: str, host: str, link: Any) -> None:
    # Rate halving leaves fractions of a segment in a window, which Linux's integers drop.
    rules = {"linux_rules": False} if recovery == "rate-halving" else {}
    ours, built_in = (run(variant, link, host=host, recovery=recovery, **rules) for variant in (RENO, "reno"))
    assert figures(ours) == figures(built_in)
    assert ours.series.equals(built_in.series)
    assert ours.hops.equals(built_in.hops)
    assert ours.summaries[0]["flows"][0]["window_cuts"] > 0


def test_class_can_be_passed_as_an_object() -> None:
    assert figures(run(congestion_control.find(RENO))) == figures(run(RENO))


def test_runs_in_processes_equal_those_in_threads() -> None:
    flow = {"workload": {"kind": "bulk"}, "variant": RENO}
    apart = ackclock.simulate(LOSSY, [flow], duration="5 s", seeds=[1, 2])
    alone = [ackclock.simulate(LOSSY, [flow], duration="5 s", seed=seed) for seed in (1, 2)]
    assert [json.dumps(s) for s in apart.summaries] == [json.dumps(one.summaries[0]) for one in alone]


@pytest.mark.finding("U47")
def test_python_variant_of_the_client_alone_runs_when_it_sends() -> None:
    flow = {"name": "f", "workload": {"kind": "bulk"}, "direction": "up"}
    link = {"hop": [{**LINK["hop"][0], "loss": {"up": {"kind": "bernoulli", "mean": 0.01}}}]}
    done = [
        ackclock.simulate(link, [flow], duration="5 s", tcp={"slow_start": "classic", "client": {"variant": variant}})
        for variant in ("reno", RENO)
    ]
    assert figures(done[0]) == figures(done[1])


def test_compare_ranks_a_python_variant() -> None:
    done = ackclock.compare(
        LOSSY["hop"],
        variants=["reno", congestion_control.find("python:own_control.TwoInQueue")],
        buffers=["auto"],
        delayed_ack=[True],
        duration="5 s",
        seeds=2,
    )
    assert {cell["variant"] for cell in done.document["cells"]} == {"reno", "python:own_control.TwoInQueue"}


def test_on_delivery_receives_rates_and_losses() -> None:
    received: dict[str, list[Any]] = {"rates": [], "losses": []}

    class Watcher(ackclock.CongestionControl):
        def on_delivery(self, ack: ackclock.Ack) -> None:
            received["rates"].append(ack.rate)

        def on_loss(self, loss: ackclock.Loss) -> None:
            received["losses"].append((loss.segment, loss.lost))

        def on_ack(self, ack: ackclock.Ack) -> None:
            self.cwnd = 10.0

    congestion_control.with_names(Watcher)
    run(Watcher)
    # 10 segments of 1448 bytes in a round trip of 40 ms and a little.
    assert 180 < max(rate for rate in received["rates"] if rate) < 260
    assert received["losses"] and all(lost >= 1 for _, lost in received["losses"])


def test_exception_of_a_python_variant_ends_the_run_with_its_traceback() -> None:
    class Broken(ackclock.CongestionControl):
        def on_congestion(self, congestion: ackclock.Congestion) -> None:
            raise KeyError(congestion.signal)

    with pytest.raises(ackclock.RunFailed, match=r"(?s)seed 1.*Traceback.*on_congestion.*KeyError: 'duplicates'"):
        run(Broken)


@pytest.mark.parametrize("window", [0.5, float("nan"), float("inf")])
def test_invalid_window_ends_the_run(window: float) -> None:
    class Wrong(ackclock.CongestionControl):
        def on_ack(self, ack: ackclock.Ack) -> None:
            self.cwnd = window

    with pytest.raises(ackclock.RunFailed, match=r"cwnd is .* allowed: a number of segments, 1 or more"):
        run(Wrong)


def scenario(folder: Path, variant: str, seeds: int) -> Path:
    file = folder / "own.toml"
    file.write_text(
        f"""
duration = "2 s"
seeds = {seeds}
[tcp]
variant = "{variant}"
[[hop]]
name = "l"
rate = "5 Mb/s"
delay = "20 ms"
[[flow]]
workload = {{ kind = "bulk" }}
"""
    )
    return file


def cli(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ackclock", *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("seeds", [1, 2])
def test_python_variant_fails_with_traceback_and_exit_status_1(tmp_path: Path, seeds: int) -> None:
    (tmp_path / "mine.py").write_text(
        "import ackclock\nclass Mine(ackclock.CongestionControl):\n    def on_ack(self, ack):\n        return 1 / 0\n"
    )
    done = cli("simulate", scenario(tmp_path, "python:mine.Mine", seeds), cwd=tmp_path)
    assert done.returncode == 1
    assert "return 1 / 0" in done.stderr and "ZeroDivisionError" in done.stderr


def test_edited_class_has_another_digest(tmp_path: Path) -> None:
    source = (
        "import ackclock\nclass Mine(ackclock.CongestionControl):\n    def on_ack(self, ack):\n        self.cwnd = {}\n"
    )
    rates = []
    for window in (4.0, 8.0):
        (tmp_path / "mine.py").write_text(source.format(window))
        done = cli(
            "simulate", scenario(tmp_path, "python:mine.Mine", 1), "--json", "--out", "out", "--force", cwd=tmp_path
        )
        rates.append(json.loads(done.stdout)["flows"][0]["goodput_bps"])
    assert rates[1] > 1.5 * rates[0]


@pytest.mark.parametrize(
    "variant", ["python:nowhere.Mine", "python:json.JSONDecoder", "python:Mine", "python:own_control.Missing"]
)
def test_unknown_python_variant_is_refused(tmp_path: Path, variant: str) -> None:
    done = cli("simulate", scenario(tmp_path, variant, 1), cwd=ROOT / "examples")
    assert done.returncode == 2
    assert variant in done.stderr and "ackclock.CongestionControl" in done.stderr and "own.toml:5" in done.stderr


@pytest.mark.finding("U41")
@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("credit", "its name is 'growth_credit'"),
        ("limited", "its name is 'cwnd_limited'"),
        ("cleared", "its name is 'acked_total'"),
        ("window", "'Ack' object has no attribute 'window'"),
    ],
)
def test_error_names_the_field_that_replaces_a_former_one_of_ack(field: str, message: str) -> None:
    def on_ack(self: Any, ack: Any) -> None:
        self.cwnd += getattr(ack, field)

    old = type("Old", (ackclock.CongestionControl,), {"on_ack": on_ack, "__module__": __name__})
    with pytest.raises(ackclock.RunFailed) as failed:
        run(old, LINK)
    assert "AttributeError" in str(failed.value) and message in str(failed.value)
    assert ("its name is" in str(failed.value)) == ("its name is" in message)


@pytest.mark.finding("U41")
def test_fields_of_ack_in_python_have_the_names_of_the_engine() -> None:
    engine = fields(ROOT / "crates/core/src/tcp/cc/api.rs", r"pub struct Ack \{(.*?)^\}", r"^    pub (\w+):")
    python = fields(ROOT / "python/ackclock/_native.pyi", r"^class Ack:(.*?)^@final", r"^    (\w+):")
    bound = fields(ROOT / "crates/py/src/cc_events.rs", r"pub struct PyAck \{(.*?)^\}", r"^    (\w+):")
    assert python == bound
    not_given = {"marked", "timestamps", "next_departure"}
    of_the_rate_sample = {"app_limited", "prior_delivered", "delivered_total", "tx_in_flight"}
    assert engine - not_given == python - of_the_rate_sample


def fields(file: Path, struct: str, field: str) -> set[str]:
    """The fields of a struct or class of a source."""
    found = re.search(struct, file.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    return set(re.findall(field, found[1], re.MULTILINE))


def test_documented_class_equals_the_one_of_the_examples() -> None:
    block = re.search(
        r":caption: mine.py\n\n(.*?)```", (ROOT / "docs/guides/own-control.md").read_text(), flags=re.DOTALL
    )
    assert block is not None
    reported = re.search(r"class TwoInQueue.*", block[1], flags=re.DOTALL)
    assert reported is not None and reported[0].strip() in (ROOT / "examples/own_control.py").read_text()
