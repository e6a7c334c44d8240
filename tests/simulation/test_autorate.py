"""Shapers whose rate a controller changes: by cake-autorate's rules, and by a class in Python."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.plot.time_series import Frames, panels_of_run
from ackclock.rate_controller import RateController

BULK = {"name": "download", "workload": {"kind": "bulk"}}
RATES = {"min_shaper_rate": "5 Mb/s", "base_shaper_rate": "10 Mb/s", "max_shaper_rate": "60 Mb/s"}
LINE = {"name": "line", "rate": "30 Mb/s", "delay": "10 ms", "queue": {"kind": "droptail", "bytes": "1 MB"}}
EXAMPLE = "python:gentle.Gentle"


def link(controller: Any, **keys: Any) -> dict[str, Any]:
    """A line of 30 Mb/s with a deep queue, and a router behind it that shapes downloads."""
    shaper = {"autorate": controller, **RATES, "queue": {"kind": "cake"}, **keys}
    return {"hop": [LINE, {"name": "router", "shaper": {"down": shaper}}]}


def run(controller: Any, seconds: int = 30, seed: int = 1) -> ackclock.Simulation:
    return ackclock.simulate(link(controller), [BULK], duration=f"{seconds} s", seed=seed)


def rates(done: ackclock.Simulation, from_s: float) -> list[float]:
    """The shaper's rate in Mb/s."""
    hops = done.hops.drop_nulls("shaper_rate_bps")
    return [bps / 1e6 for bps, at in zip(hops["shaper_rate_bps"], hops["time_s"], strict=True) if at > from_s]


@pytest.fixture
def gentle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The controller of the docstring, as a file in the current folder."""
    found = re.search(r"::\n\n(.*?)\n\nAttributes:", inspect.cleandoc(RateController.__doc__ or ""), re.DOTALL)
    assert found
    text = textwrap.dedent(found[1]) + "\n"
    assert len([line for line in text.splitlines() if line.strip()]) <= 20
    (tmp_path / "gentle.py").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_shaper_follows_the_line_and_shortens_its_queue_with_cake_autorate() -> None:
    controlled = run("cake-autorate", 60)
    # The load is high up to 30 / 0.75 Mb/s, and the last step is 4 %.
    assert 22 < sum(rates(controlled, 20)) / len(rates(controlled, 20)) < 41.6
    open_ = ackclock.simulate({"hop": [LINE]}, [BULK], duration="60 s", seed=1)
    queued = [done.summaries[0]["hops"][0]["queue_delay_ms"]["p95"] for done in (controlled, open_)]
    assert queued[0] < 0.6 * queued[1], queued


def test_run_has_a_column_and_a_panel_of_the_rate_when_it_is_controlled_and_not_otherwise() -> None:
    controlled = run("cake-autorate", 5)
    panels = panels_of_run(Frames(controlled.series, controlled.hops))
    assert [(panel.unit, [line.name for line in panel.lines]) for panel in panels if panel.key == "shaper"] == [
        ("Mb/s", ["router down"])
    ]
    fixed = ackclock.simulate(
        {"hop": [LINE, {"name": "router", "shaper": {"down": {"rate": "10 Mb/s"}}}]}, [BULK], duration="1 s", seed=1
    )
    assert "shaper_rate_bps" not in fixed.hops.columns
    assert not [panel for panel in panels_of_run(Frames(fixed.series, fixed.hops)) if panel.key == "shaper"]


def test_controller_of_the_docstring_follows_the_line(gentle: Path) -> None:
    done = run(EXAMPLE, 60)
    mean = sum(rates(done, 20)) / len(rates(done, 20))
    assert 20 < mean < 36, mean
    assert len(set(rates(done, 0))) > 10


def test_runs_with_a_python_controller_are_equal_when_the_seed_is(gentle: Path) -> None:
    first, second = run(EXAMPLE, 5), run(EXAMPLE, 5)
    assert json.dumps(first.summaries) == json.dumps(second.summaries)
    assert first.hops.equals(second.hops)
    apart = ackclock.simulate(link(EXAMPLE), [BULK], duration="5 s", seeds=[1, 2])
    assert json.dumps(apart.summaries[0]) == json.dumps(first.summaries[0]), "several processes"


def test_stored_run_is_another_one_when_the_source_of_its_controller_changes(
    gentle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ackclock.input.scenario.draft import draft_of
    from ackclock.input.scenario.fingerprint import fingerprint
    from ackclock.input.scenario.resolution import scenario_hash

    draft = draft_of({**link(EXAMPLE), "flow": [BULK], "duration": "1 s"})
    assert fingerprint(draft) is None, "its source may change"
    before = scenario_hash(draft.check())
    monkeypatch.setattr("ackclock.congestion_control.digest", lambda name: "another")
    assert scenario_hash(draft.check()) != before


def test_sweep_runs_a_python_controller_beside_fixed_rates(gentle: Path) -> None:
    over = {"hop.router.shaper.down": [link(EXAMPLE)["hop"][1]["shaper"]["down"], {"rate": "10 Mb/s"}]}
    done = ackclock.sweep(link("cake-autorate"), [BULK], duration="5 s", seed=1, over=over)
    assert done.metrics["goodput_bps"][0] != done.metrics["goodput_bps"][1]


def test_controller_gets_delays_and_rates_of_its_direction_and_its_answer_is_bounded() -> None:
    samples: list[ackclock.RateSample] = []

    class Highest(ackclock.RateController):
        def on_sample(self, sample: ackclock.RateSample) -> float:
            samples.append(sample)
            return 1e9

    done = ackclock.simulate(link(Highest), [BULK], duration="10 s", seed=1)
    assert set(rates(done, 1)) == {60.0}
    first, last = samples[0], samples[-1]
    assert first.rtt == pytest.approx(0.020, abs=0.001) and first.delay == pytest.approx(first.rtt / 2)
    assert [sample.reflector for sample in samples[:6]] == [0, 1, 2, 3, 4, 5]
    assert (first.rate, first.achieved, first.readings) == (10e6, 0.0, 0)
    # 30 Mb/s pass the line, of which the pings are a little.
    assert last.achieved == pytest.approx(30e6, rel=0.05) and last.readings in (48, 49, 50)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise RuntimeError('no rate')", "RuntimeError: no rate"),
        ("return -1.0", "on_sample returned -1; allowed: bits per second, above 0, or None"),
        ("return 'fast'", "TypeError"),
    ],
)
def test_run_ends_with_the_traceback_when_a_controller_raises(
    body: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (
        f"import ackclock\nclass Broken(ackclock.RateController):\n    def on_sample(self, sample):\n        {body}\n"
    )
    (tmp_path / "broken.py").write_text(text, "utf-8")
    monkeypatch.delitem(__import__("sys").modules, "broken", raising=False)
    with pytest.raises(ackclock.RunFailed, match=re.escape(message)):
        run("python:broken.Broken", 2)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("python:no_such_module.Gentle", "cannot be imported"),
        ("python:gentle.Missing", "which is no such class"),
        ("python:gentle", '"python:gentle"'),
    ],
)
def test_link_is_refused_when_its_controller_cannot_be_imported(gentle: Path, name: str, found: str) -> None:
    with pytest.raises(ackclock.InputError, match=re.escape(found)) as refused:
        run(name, 1)
    assert "ackclock.RateController" in str(refused.value)


def test_class_of_another_kind_is_no_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kinds.py").write_text(
        "import ackclock\nclass Window(ackclock.CongestionControl): pass\nclass Rate(ackclock.RateController): pass\n",
        "utf-8",
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ackclock.InputError, match=r"derives from ackclock\.RateController"):
        run("python:kinds.Window", 1)
    with pytest.raises(ackclock.InputError, match=r"derives from ackclock\.CongestionControl"):
        ackclock.simulate({"hop": [LINE]}, [{**BULK, "variant": "python:kinds.Rate"}], duration="1 s")


def test_export_has_the_base_rate_and_the_lines_of_cake_autorate() -> None:
    from ackclock.export.line import lines_of
    from ackclock.input.link.hop import READ_HOP

    tables = link("cake-autorate", owd_delta_delay_thr="25 ms", high_load_thr=0.8)["hop"]
    at_line, alone = (lines_of([READ_HOP(table) for table in hops])["down"] for hops in (tables, tables[1:]))
    assert (at_line.rate, alone.rate) == (30_000_000, 10_000_000)
    assert "only that of the slowest hop is exported; cake-autorate" in "\n".join(at_line.missing)
    text = "\n".join(alone.missing)
    for line in (
        "min_dl_shaper_rate_kbps=5000",
        "base_dl_shaper_rate_kbps=10000",
        "max_dl_shaper_rate_kbps=60000",
        "dl_owd_delta_delay_thr_ms=25",
        "high_load_thr=0.8",
    ):
        assert line in text
    assert "no_pingers" not in text
