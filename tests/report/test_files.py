"""`report --format`: figures and tables as files, and what is said without the extra."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

import ackclock
from ackclock import cli
from ackclock.report.files import table_files

SCENARIO = {
    "hop": [{"name": "line", "rate": "2 Mb/s", "delay": "10 ms", "queue": {"kind": "droptail", "packets": 20}}],
    "duration": "3 s",
    "flow": [{"workload": {"kind": "bulk"}}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run"
    ackclock.simulate(SCENARIO, out=out)
    return out


@pytest.fixture
def run(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "run"))


@pytest.mark.finding("U20")
@pytest.mark.parametrize(("suffix", "begin"), [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_figures_are_files_in_figures(run: Path, suffix: str, begin: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    assert cli.run(["report", str(run), "--format", suffix]) == 0
    printed = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert printed == sorted((run / "figures").iterdir())
    assert printed[0].name == f"01-congestion-window.{suffix}"
    assert all(path.read_bytes().startswith(begin) for path in printed)
    assert cli.run(["report", str(run), "--format", suffix, "--json"]) == 0, "twice into the same folder"
    assert json.loads(capsys.readouterr().out)["files"] == [str(path) for path in printed]


@pytest.mark.finding("U20")
def test_csv_has_the_frames_with_their_columns(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["report", str(run), "--format", "csv"]) == 0
    names = {Path(line).stem for line in capsys.readouterr().out.splitlines()}
    assert names >= {"flows", "series", "hops"}
    read = pl.read_csv(run / "tables" / "series.csv")
    kept = pl.read_parquet(run / "series.parquet")
    assert (read.columns, read.height) == (kept.columns, kept.height)
    assert read["cwnd_bytes"].to_list() == kept["cwnd_bytes"].to_list()


def test_nested_column_is_json_in_csv(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [1, 2], "gaps_ms": [[1.5], None], "at": [{"a": 1}, {"a": None}]})
    (file,) = table_files({"rows": frame}, tmp_path)
    read = pl.read_csv(file)
    assert read["gaps_ms"].to_list() == ["[1.5]", None]
    assert json.loads(read["at"][1]) == {"a": None}


def test_other_format_is_bad_input_and_writes_nothing(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["report", str(run), "--format", "gif"]) == 2
    assert "svg, pdf, png, csv" in capsys.readouterr().err
    assert not (run / "figures").exists()


def test_missing_extra_is_named_and_nothing_is_written(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert cli.run(["report", str(run), "--format", "svg"]) == 1
    assert "ackclock[report]" in capsys.readouterr().err
    assert not (run / "figures").exists()
    assert cli.run(["report", str(run), "--format", "csv"]) == 0, "tables need no extra"
