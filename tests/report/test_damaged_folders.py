"""Damaged run folders: each verb that reads one names the file in one line."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import cli
from ackclock.errors import InputError
from ackclock.folder_damage import check_files, damage_named
from studies.run_folders import fuzz

pytestmark = pytest.mark.finding("R3")
KINDS = ("simulate", "sweep", "compare", "analyze")
VERBS = ("show", "open", "diff")
"""Verbs that take milliseconds; `report` draws."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run folder of each kind that needs no real time."""
    folder = tmp_path_factory.mktemp("runs")
    fuzz.make(folder, KINDS)
    return folder


@pytest.fixture
def damaged(runs: Path, tmp_path: Path):
    """Copies a run folder and returns the copy's path."""

    def copied(kind: str) -> Path:
        whole = shutil.ignore_patterns("captures", "xplot", "report.html")
        return Path(shutil.copytree(runs / kind, tmp_path / kind, ignore=whole))

    return copied


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.suffix in (".json", ".toml", ".parquet")]


def _mutations(content: bytes, suffix: str, tmp_path: Path) -> Iterator[bytes | None]:
    """The file removed, emptied, cut, replaced by other text, and with bytes that are not UTF-8."""
    yield from (None, b"", content[: len(content) // 2], b"hello\n", b"{}", b"[]", b"null", b"\xff\xfe" + content)
    if suffix == ".parquet":
        other = tmp_path / "other.parquet"
        pl.DataFrame({"x": [1]}).write_parquet(other)
        yield other.read_bytes()
        yield content[:4] + bytes(byte ^ 0x55 for byte in content[4:-200]) + content[-200:]


def _nulls(document: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of a JSON document, the first two of each array."""
    below = document.items() if isinstance(document, dict) else enumerate(document[:2])
    for key, value in below:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from _nulls(value, (*at, key))


def _with_null(document: Any, at: tuple[str | int, ...]) -> bytes:
    changed = copy.deepcopy(document)
    part = changed
    for key in at[:-1]:
        part = part[key]
    part[at[-1]] = None
    return json.dumps(changed).encode()


def _status(verb: str, folder: Path, whole: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """The exit status of a verb, whose error is one line."""
    if verb == "open":
        try:
            ackclock.open(folder)
        except InputError as error:
            assert "\n" not in str(error)
            return 2
        return 0
    arguments = {"diff": ["diff", str(whole), str(folder)]}.get(verb, [verb, str(folder)])
    status = cli.run(arguments)
    err = capsys.readouterr().err
    assert status in (0, 2), err
    assert len(err.splitlines()) == (1 if status else 0), err
    return status


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_file_is_one_line_in_every_verb(kind: str, damaged, runs: Path, tmp_path: Path, capsys) -> None:
    folder = damaged(kind)
    refused = 0
    for path in _files(folder):
        content = path.read_bytes()
        for number, changed in enumerate(_mutations(content, path.suffix, tmp_path)):
            if changed is None:
                path.unlink()
            else:
                path.write_bytes(changed)
            for verb in (*VERBS, *(("report",) if number in (0, 2) else ())):
                refused += _status(verb, folder, runs / kind, capsys) == 2
            path.write_bytes(content)
    assert refused > 20


def _run_with_nulls(kind: str, verbs: tuple[str, ...], step: int, folder: Path, whole: Path, capsys) -> None:
    for path in _files(folder):
        if path.suffix == ".json":
            content = path.read_bytes()
            document = json.loads(content)
            for at in list(_nulls(document))[::step]:
                path.write_bytes(_with_null(document, at))
                for verb in verbs:
                    _status(verb, folder, whole, capsys)
            path.write_bytes(content)


@pytest.mark.parametrize("kind", KINDS)
def test_null_in_a_document_is_one_line(kind: str, damaged, runs: Path, capsys) -> None:
    _run_with_nulls(kind, VERBS, 7, damaged(kind), runs / kind, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_null_at_every_key_is_one_line_in_report_too(kind: str, damaged, runs: Path, capsys) -> None:
    _run_with_nulls(kind, (*VERBS, "report"), 1, damaged(kind), runs / kind, capsys)


def test_folder_with_drawn_damage_is_one_line_in_every_command(runs: Path, tmp_path: Path) -> None:
    """The fuzz target's first inputs."""
    folder = tmp_path / fuzz.FOLDER
    for number in range(40):
        kind, done = fuzz.draw(runs, folder, 1, number, KINDS)
        assert done
        for arguments in fuzz.commands(runs / kind, folder, 1, number):
            assert fuzz.play(arguments) is None, (number, kind, done)


def test_fuzz_target_draws_the_same_damage_for_the_same_number(runs: Path, tmp_path: Path) -> None:
    def drawn(seed: int, number: int) -> dict[str, bytes]:
        fuzz.draw(runs, tmp_path / fuzz.FOLDER, seed, number, KINDS)
        files = fuzz.files(tmp_path / fuzz.FOLDER)
        return {str(path): path.read_bytes() for path in files if path.suffix != ".parquet"}

    all_drawn = [drawn(1, number) for number in range(10)]
    assert [drawn(1, number) for number in range(10)] == all_drawn
    assert [drawn(2, number) for number in range(10)] != all_drawn


@pytest.mark.parametrize("error", [KeyError("flows"), SystemError("a panic"), None])
def test_fuzz_target_reports_a_traceback_and_a_wrong_status(error, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object) -> int:
        if error:
            raise error
        return 1

    monkeypatch.setattr(cli, "run", run)
    failure = fuzz.play(["show", "folder"])
    assert failure is not None
    assert failure.place.startswith(type(error).__name__ if error else "status 1 with 0 lines")


@pytest.mark.parametrize(
    ("kind", "name", "changed", "message"),
    [
        ("simulate", "series.parquet", b"", "the file is empty"),
        ("simulate", "hops.parquet", None, "the file is missing from the run folder"),
        ("simulate", "summary.json", None, "the file is missing from the run folder"),
        ("analyze", "flows.parquet", b"PAR1 and then nothing", "the file is cut after 21 bytes, inside its Parquet"),
        ("sweep", "sweep.json", b'{"cells": [', "the file is cut after 11 bytes, inside its JSON"),
        ("sweep", "sweep.json", b"cells", "the file is not JSON (Expecting value, line 1)"),
        ("compare", "compare.json", b"\xff\xfe", "the file is not UTF-8 text (byte 1)"),
        ("compare", "compare.json", b"{}", "link: found no such key; allowed: the key is required"),
    ],
)
def test_message_names_file_damage_and_remedy(kind, name, changed, message, damaged, capsys) -> None:
    folder = damaged(kind)
    (folder / name).unlink() if changed is None else (folder / name).write_bytes(changed)
    assert cli.run(["show", str(folder)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"ackclock: {folder / name}: {message}")
    assert err.endswith("; copy the run folder again, or run its command again into a new folder\n")


def test_null_is_named_with_its_key(damaged, capsys) -> None:
    folder = damaged("simulate")
    path = folder / "summary.json"
    document = json.loads(path.read_bytes())
    path.write_bytes(_with_null(document, (0, "hops", 0, "queue_delay_ms")))
    assert cli.run(["show", str(folder), "--all"]) == 2
    assert f"{path}: hops[1].queue_delay_ms: found null; allowed: an object; copy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "at"),
    [
        ("analyze", ("summary", "top", 0, "rows")),
        ("analyze", ("summary", "top", 0, "rows", 0, "bytes")),
        ("compare", ("scenario", "seeds")),
        ("compare", ("scenario", "hop")),
        ("compare", ("scenario", "flow", 0, "workload")),
        ("compare", ("asymmetry", "k")),
        ("compare", ("cells", 0, "metrics", "rtt_p95_ms", "mean")),
    ],
)
def test_null_in_what_only_the_report_shows_is_named(kind, at, damaged, runs: Path, capsys) -> None:
    folder = damaged(kind)
    path = folder / {"analyze": "analysis.json", "compare": "compare.json"}[kind]
    path.write_bytes(_with_null(json.loads(path.read_bytes()), at))
    assert _status("report", folder, runs / kind, capsys) == 2


def test_report_of_a_comparison_is_drawn_when_no_limit_is_known(damaged, runs: Path, capsys) -> None:
    folder = damaged("compare")
    path = folder / "compare.json"
    path.write_bytes(_with_null(json.loads(path.read_bytes()), ("ranking", 0, "why")))
    assert _status("report", folder, runs / "compare", capsys) == 0


@pytest.mark.parametrize(
    ("document", "at"),
    [({"totals_by": None}, "totals_by"), ({"totals_by": {"simulation": None}}, "totals_by.simulation")],
)
def test_null_among_the_totals_of_a_paper_is_named(document, at, tmp_path: Path) -> None:
    whole = {"paper": "wibro", "claims": [], "totals": {}, "gated": {}}
    (tmp_path / "reproduce.json").write_text(json.dumps({**whole, **document}))
    with pytest.raises(InputError, match=f"{at}: found null; allowed: an object"):
        check_files(tmp_path)


def test_table_of_an_emulation_with_other_columns_is_named(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "fates.parquet")
    with pytest.raises(InputError, match=r"not the table `fates` of a run \(no column fate\)"):
        check_files(tmp_path)


@pytest.mark.finding("R3")
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_number_that_is_no_json_is_named(number: str, tmp_path: Path) -> None:
    (tmp_path / "reproduce.json").write_text(f'{{"paper": "wibro", "claims": [{{"ours": {number}}}]}}')
    with pytest.raises(InputError, match=r"claims\[1\]\.ours is no number"):
        check_files(tmp_path)


@pytest.mark.finding("R3")
def test_run_beyond_the_points_is_named(tmp_path: Path) -> None:
    (tmp_path / "points.json").write_text('{"points": [{}, {}], "seeds": [1, 2]}')
    (tmp_path / "runs").mkdir()
    pl.DataFrame({"run": [0, 3], "seed": [1, 2]}).write_parquet(tmp_path / "runs" / "00000.parquet")
    check_files(tmp_path)
    pl.DataFrame({"run": [0, 4], "seed": [1, 2]}).write_parquet(tmp_path / "runs" / "00000.parquet")
    with pytest.raises(InputError, match="there is a run 4 of 4"):
        check_files(tmp_path)


@pytest.mark.finding("R3")
def test_table_of_another_kind_of_run_is_named(tmp_path: Path) -> None:
    hops = {"hop": ["a"], "direction": ["down"], "time_s": [0.0], "queue_packets": [1]}
    pl.DataFrame(hops).write_parquet(tmp_path / "hops.parquet")
    with pytest.raises(InputError, match=r"not the table `hops` of a run \(no column station\)"):
        check_files(tmp_path)
    pl.DataFrame({**hops, "station": [""]}).write_parquet(tmp_path / "hops.parquet")
    check_files(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_folder_has_no_damage(kind: str, runs: Path, capsys) -> None:
    check_files(runs / kind)
    for verb in (*VERBS, "report"):
        assert _status(verb, runs / kind, runs / kind, capsys) == 0


def test_value_that_only_the_digest_shows_is_damage_after_a_failure(damaged) -> None:
    """Any change that makes a reader fail is named, whatever the types say of it."""
    folder = damaged("sweep")
    path = next((folder / "runs").glob("*.parquet"))
    pl.read_parquet(path).with_columns(pl.lit("text").alias("goodput_mbps")).write_parquet(path)
    with pytest.raises(InputError, match=r"runs/00000.parquet: the file is not what its run wrote"):
        check_files(folder)
    with pytest.raises(InputError, match="not what its run wrote"), damage_named(folder):
        float("text")


@pytest.mark.parametrize("is_damaged", [True, False])
def test_what_native_code_prints_is_dropped_with_damage_only(is_damaged: bool, damaged, capfd) -> None:
    """A panic of the Parquet reader is printed by its thread, before its exception is here."""
    folder = damaged("simulate")
    if is_damaged:
        (folder / "series.parquet").write_bytes(b"")
    with pytest.raises(InputError if is_damaged else KeyError), damage_named(folder):
        os.write(2, b"thread 'async-executor-0' panicked\n")
        raise KeyError("flow")
    assert capfd.readouterr().err == ("" if is_damaged else "thread 'async-executor-0' panicked\n")


def test_finished_folder_without_digests_is_damaged_and_one_of_an_earlier_version_is_not(damaged) -> None:
    path = damaged("simulate") / "environment.json"
    environment = json.loads(path.read_bytes())
    del environment["files"]
    path.write_text(json.dumps(environment))
    with pytest.raises(InputError, match="has no digests of the run's files"):
        check_files(path.parent)
    del environment["run"]
    path.write_text(json.dumps(environment))
    check_files(path.parent)


def test_defect_stays_a_traceback_where_no_file_is_damaged(runs: Path) -> None:
    with pytest.raises(KeyError), damage_named(runs / "simulate"):
        raise KeyError("a defect of this program")


def test_unfinished_run_is_not_called_damaged(damaged, capsys) -> None:
    folder = damaged("simulate")
    environment = json.loads((folder / "environment.json").read_bytes())
    environment["run"]["state"] = "begun"
    (folder / "environment.json").write_text(json.dumps(environment))
    (folder / "summary.json").unlink()
    assert cli.run(["show", str(folder)]) == 2
    assert "holds an unfinished simulate" in capsys.readouterr().err
