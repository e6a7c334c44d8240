"""Figures over several runs: what has the colours, what has panels, and what cannot be drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.cli import run
from ackclock.errors import InputError, RunFailed
from ackclock.run_plots import Asked, plot_of_runs, write_plot
from ackclock.simulation.sweep_curves import Placing, curves

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

HOP = {"name": "access", "rate": "4 Mb/s", "delay": "10 ms", "queue": {"kind": "droptail", "bytes": "64 KiB"}}
BULK = {"workload": {"kind": "bulk"}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    base = tmp_path_factory.mktemp("runs")
    folders = []
    for name in ("cubic", "reno"):
        folders.append(base / name)
        ackclock.simulate({"hop": [HOP]}, [BULK, BULK], "3 s", tcp={"variant": name}, out=folders[-1])
    return folders


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("sweep")
    file = base / "sweep.toml"
    file.write_text(
        'duration = "2 s"\nseeds = 2\n[[hop]]\nname = "access"\nrate = "4 Mb/s"\ndelay = "10 ms"\n'
        'queue = { kind = "droptail", bytes = "64 KiB" }\n[[flow]]\nworkload = { kind = "bulk" }\n'
        '[sweep]\n"hop.access.rate" = ["2 Mb/s", "4 Mb/s", "8 Mb/s"]\n"tcp.variant" = ["cubic", "reno"]\n'
        '"hop.access.queue.bytes" = ["32 KiB", "128 KiB"]\n'
    )
    assert run(["sweep", str(file), "--out", str(base / "run"), "--quiet", "--no-report"]) == 0
    return base / "run"


def rows(plot: Any) -> list[dict[str, Any]]:
    return list(plot.charts[0].rows())


def test_runs_have_a_line_each_when_several_are_drawn(runs: list[Path]) -> None:
    drawn = rows(plot_of_runs(runs, Asked("cdf")))
    assert {row["line"] for row in drawn} == {"cubic", "reno"}
    for line in ("cubic", "reno"):
        shares = [row["y"] for row in drawn if row["line"] == line]
        assert shares[0] == 0.0 and shares[-1] == 100.0 and shares == sorted(shares)


def test_runs_have_panels_when_flows_have_the_colours(runs: list[Path]) -> None:
    drawn = rows(plot_of_runs(runs, Asked("box", by="flow")))
    assert {row["panel"] for row in drawn} == {"cubic", "reno"}
    assert len({row["line"] for row in drawn}) == 2
    assert all(row["low"] <= row["first"] <= row["median"] <= row["third"] <= row["high"] for row in drawn)


def test_goodput_of_flows_is_added_up_over_time(runs: list[Path]) -> None:
    late = [row["y"] for row in rows(plot_of_runs(runs[:1], Asked("series", by="run"))) if row["x"] > 1.0]
    assert sum(late) / len(late) == pytest.approx(3.85, rel=0.05)  # 4 Mb/s without headers


def test_sweep_has_one_key_as_colour_and_the_others_as_panels(sweep: Path) -> None:
    drawn = rows(plot_of_runs([sweep], Asked("scatter")))
    assert {row["line"] for row in drawn} == {"cubic", "reno"}
    assert "rate 2 Mb/s, queue size 32 KiB" in {row["panel"] for row in drawn}
    assert len({row["panel"] for row in drawn}) == 6
    by_queue = rows(plot_of_runs([sweep], Asked("scatter", by="bytes")))
    assert {row["line"] for row in by_queue} == {"32 KiB", "128 KiB"}


@pytest.mark.finding("U32")
def test_sweep_is_drawn_over_a_swept_number_when_x_names_it(sweep: Path) -> None:
    asked = Asked("series", x="access.rate", y="rtt", by="bytes", size="column")
    assert asked.file_stem == "series-rtt-over-rate-by-bytes"
    plot = plot_of_runs([sweep], asked)
    drawn = rows(plot)
    assert {row["x"] for row in drawn} == {2.0, 4.0, 8.0}
    assert {row["line"] for row in drawn} == {"32 KiB", "128 KiB"} and {row["panel"] for row in drawn} == {
        "cubic",
        "reno",
    }
    assert not plot.left_out


def test_left_out_panels_are_noted(sweep: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ackclock.run_plots.MAX_PANELS", 4)
    notes: list[str] = []
    write_plot([sweep], Asked("scatter", size="column"), "csv", tmp_path, note=notes.append)
    assert notes == ["The first 8 of 12 combinations"]


@pytest.mark.finding("U32")
def test_report_of_a_sweep_of_three_keys_has_panels_and_titles_with_units(sweep: Path) -> None:
    cells = ackclock.open(sweep).document["cells"]
    chart = curves(cells)[0]
    assert chart.title == "Goodput over rate of access"
    assert chart.spec.tree["facet"]["title"] == "Queue size of access"
    axis = chart.spec.tree["spec"]["layer"][0]["encoding"]["x"]
    assert axis["title"] == "Rate of access (Mb/s)"
    assert {row["line"] for row in chart.spec.rows()} == {"cubic", "reno"}


def test_sweep_of_two_keys_has_no_panels() -> None:
    place = Placing.of([{"tcp.variant": name} for name in ("cubic", "reno")])
    assert (place.colour, list(place.panels)) == ("tcp.variant", [])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Asked("pie"), "cdf"),
        (Asked("cdf", x="rtt", y="goodput"), "either --x or --y"),
        (Asked("cdf", x="jitters"), "rtt"),
        (Asked("scatter", y="goodputs"), "goodput_bps"),
        (Asked("cdf", by="colour"), "flow"),
        (Asked("cdf", size="wide"), "column"),
        (Asked("series", x="rtt"), "time"),
        (Asked("series", x="rate"), "a swept key, if RUN is one finished sweep"),
    ],
    ids=lambda value: value.kind + value.size if isinstance(value, Asked) else value,
)
def test_error_names_what_is_allowed(runs: list[Path], asked: Asked, words: str) -> None:
    with pytest.raises(InputError, match=words):
        plot_of_runs(runs, asked)


def test_error_of_a_sweep_names_its_numbers(sweep: Path) -> None:
    with pytest.raises(InputError, match=r"time, hop\.access\.rate"):
        plot_of_runs([sweep], Asked("series", x="variant"))


def test_error_names_what_the_runs_have_when_they_lack_the_quantity(runs: list[Path]) -> None:
    with pytest.raises(RunFailed, match="they have rtt, goodput, cwnd"):
        plot_of_runs(runs, Asked("cdf", x="delay"))


def test_file_of_a_column_has_no_title_and_the_width_of_one(runs: list[Path], tmp_path: Path) -> None:
    file = write_plot(runs, Asked("cdf", size="column"), "svg", tmp_path)
    assert file == tmp_path / "cdf-rtt.svg"
    svg = file.read_text()
    assert "Distribution" not in svg
    width = float(svg.split('width="', 1)[1].split('"')[0])
    assert 300 <= width <= 350


def test_command_needs_plot_for_several_runs(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(path) for path in runs]
    assert run(["report", *names]) == 2
    assert "several runs require --plot" in capsys.readouterr().err
    assert run(["report", names[0], "--x", "rtt"]) == 2
    assert "--x requires --plot" in capsys.readouterr().err
    assert run(["report", *names, "--plot", "box", "--x", "goodput"]) == 0
    assert capsys.readouterr().out.strip().endswith("cubic/figures/box-goodput.svg")
