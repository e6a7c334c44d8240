"""Tables of results as Polars and as pandas frames, with no warning."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from tests.support import ROOT

FLOWS: list[Any] = [{"name": name, "workload": {"kind": "bulk"}, "variant": name} for name in ("cubic", "bbr")]


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def results(folder: Path) -> list[ackclock.Result]:
    """A run, a sweep, the captures of the run, and the run read again."""
    run = ackclock.simulate("dsl-16m", FLOWS, duration="4 s", captures="pcap", out=folder / "run")
    capture = next((folder / "run").rglob("*.server.pcap"))
    swept = ackclock.sweep(
        "dsl-16m", FLOWS[:1], duration="3 s", seeds=2, over={"tcp.receive_buffer": ["32 KiB", "auto"]}
    )
    return [run, swept, ackclock.analyze(capture), ackclock.open(folder / "run")]


@pytest.mark.finding("U41")
def test_results_are_polars_frames_without_a_warning(tmp_path: Path) -> None:
    for result in results(tmp_path):
        assert result.frames, result
        for frame in result.frames.values():
            assert isinstance(frame, pl.DataFrame)
            frame.describe()


@pytest.mark.finding("U41")
def test_results_are_pandas_frames_without_a_warning(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    for result in results(tmp_path):
        for name, frame in result.to_pandas().items():
            table = result.frames[name]
            assert isinstance(frame, pandas.DataFrame) and frame.shape == table.shape
            assert list(frame.columns) == table.columns
            for column in table:
                numeric = column.dtype.is_numeric()
                assert frame[column.name].isna().sum() == column.null_count() + (
                    column.is_nan().sum() if numeric else 0
                )
                if numeric and column.null_count() < column.len():
                    assert frame[column.name].sum() == pytest.approx(column.fill_nan(None).sum())


def test_documented_lines_on_frames_run() -> None:
    pytest.importorskip("pandas")
    block = re.search(r"```python\n(.*?)```", (ROOT / "docs/reference/python.md").read_text("utf-8"), re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {}
    *statements, last = block[1].strip().splitlines()
    exec("\n".join(statements), names)
    assert set(eval(last, names).index) == {"cubic", "bbr"}
