"""`make digest`: which differences between two trees' results the comparison reports."""

from __future__ import annotations

import copy
import io
import json
import sys
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from tests.support import ROOT

TOOLS = ROOT / "tools"

DOCUMENT: dict[str, Any] = {
    "folder": "runs/1",
    "flows": [{"flow": "download", "rtt_ms": {"p95": 12.5, "min": None}}],
    "diagnosis": [{"finding": "loss_radio", "evidence": "3 losses, no queue.", "advice": ""}],
    "figures": [{"x": "time (s)", "rows": [{"line": "CUBIC", "x": 1.0}]}],
    "notes": ["One note."],
    "shown": {"cubic, 64 KiB": "c0ffee"},
}
TABLE = {"flow": ["a", "b"], "rtt_ms": [1.5, None], "cell": ["c0ffee", "c0ffee"], "cause_evidence": ["3 losses", None]}


@pytest.fixture
def digest(monkeypatch: pytest.MonkeyPatch):
    """The module tools/digest.py."""
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.delitem(sys.modules, "digest", raising=False)
    import digest

    return digest


@pytest.fixture
def compared(digest) -> Callable[..., list[tuple[str, str, str]]]:
    """Compares two documents (or two tables); returns path, value before and value now of each
    unexpected difference.
    """

    def of(before: Any, now: Any, exceptions: str = "") -> list[tuple[str, str, str]]:
        items = digest.digest_items
        make = (
            (lambda table: items.parquet_item(parquet(table)))
            if before is TABLE
            else (lambda found: items.item("json", found))
        )
        done = digest.compare(
            {"job:file": make(before)},
            {"job:file": make(now)},
            digest.read_exceptions(f"since 0\n{exceptions}", lambda _: False),
        )
        assert done.agrees == (not done.unexpected)
        return [(one.path, one.before, one.now) for found in done.unexpected.values() for one in found]

    return of


def parquet(columns: dict[str, Any]) -> bytes:
    written = io.BytesIO()
    pl.DataFrame(columns).write_parquet(written)
    return written.getvalue()


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    change(document)
    return document


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d["flows"][0]["rtt_ms"].update(p95=12.6), ("flows.0.rtt_ms.p95", "12.5", "12.6")),
        (lambda d: d["flows"][0]["rtt_ms"].update(min=0), ("flows.0.rtt_ms.min", "null", "0")),
        (lambda d: d["flows"][0]["rtt_ms"].pop("p95"), ("flows.0.rtt_ms.p95", "12.5", "absent")),
        (lambda d: d["flows"][0].update(ecn=0), ("flows.0.ecn", "absent", "0")),
        (lambda d: d["flows"].append({}), ("flows.length", "1", "2")),
        (lambda d: d["notes"].append("Another."), ("notes.length", "1", "2")),
        (
            lambda d: d["diagnosis"][0].update(finding="loss_buffer"),
            ("diagnosis.0.finding", '"loss_radio"', '"loss_buffer"'),
        ),
        (lambda d: d["diagnosis"][0].update(advice="Repair."), ("diagnosis.0.advice", '""', '"(prose)"')),
        (lambda d: d["figures"][0]["rows"][0].update(line="Reno"), ("figures.0.rows.0.line", '"CUBIC"', '"Reno"')),
        (lambda d: d["figures"][0]["rows"][0].update(x=2.0), ("figures.0.rows.0.x", "1.0", "2.0")),
    ],
)
def test_comparison_names_path_and_values_when_a_document_changes(compared, change, expected) -> None:
    assert compared(DOCUMENT, changed(change)) == [expected]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["diagnosis"][0].update(evidence="Of 100 segments 3 were lost."),
        lambda d: d["figures"][0].update(x="seconds"),
        lambda d: d.update(notes=["The same note in other words."]),
        lambda d: d.update(folder="runs/2"),
        lambda d: d.update(shown={"cubic, 64 KiB": "beef"}),
    ],
)
def test_documents_agree_when_only_prose_or_provenance_changes(compared, change) -> None:
    assert compared(DOCUMENT, changed(change)) == []


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"rtt_ms": [1.5, 1e-9]}, ("rtt_ms", "row 1: None", "1e-09")),
        ({"rtt_ms": ["1.5", None]}, ("rtt_ms", "Float64", "String")),
        ({"flow": ["a", "c"]}, ("flow", "row 1: 'b'", "'c'")),
        ({"extra": [1, 2]}, ("extra", "absent", "Int64")),
        ({"cause_evidence": [None, None]}, ("cause_evidence", "String", "Null")),
    ],
)
def test_comparison_names_column_and_row_when_a_table_changes(compared, columns, expected) -> None:
    assert compared(TABLE, {**TABLE, **columns}) == [expected]


def test_tables_agree_when_only_file_bytes_prose_or_provenance_change(digest, compared) -> None:
    assert compared(TABLE, {**TABLE, "cell": ["beef", "beef"], "cause_evidence": ["Lost: 3", None]}) == []
    uncompressed = io.BytesIO()
    pl.DataFrame(TABLE).write_parquet(uncompressed, compression="uncompressed")
    assert uncompressed.getvalue() != parquet(TABLE)
    assert (
        digest.digest_items.parquet_item(uncompressed.getvalue()).sha256
        == digest.digest_items.parquet_item(parquet(TABLE)).sha256
    )


def test_comparison_reports_missing_items_but_not_items_of_new_jobs(digest) -> None:
    one = digest.digest_items.item("status", 0)
    done = digest.compare({"a:1": one, "a:2": one, "b:1": one}, {"a:1": one, "a:3": one, "new:1": one}, [])
    found = {name: (difference.before, difference.now) for name, (difference,) in done.unexpected.items()}
    assert found == {"a:2": ("present", "absent"), "a:3": ("absent", "present"), "b:1": ("present", "absent")}
    assert done.added == ["new"]


def test_comparison_counts_expected_changes_when_an_exception_covers_them(digest) -> None:
    items = digest.digest_items
    before, now = (
        items.item("json", document)
        for document in (DOCUMENT, changed(lambda d: d["flows"][0]["rtt_ms"].update(p95=13, min=1)))
    )
    text = "# reasons\nsince 0\njob:*  *.p95  one quantile rule\nsince 1\njob:*  *.min  an older change\n"
    exceptions = digest.read_exceptions(text, lambda change: change == "1")
    done = digest.compare({"job:file": before}, {"job:file": now}, exceptions)
    assert [difference.path for difference in done.unexpected["job:file"]] == ["flows.0.rtt_ms.min"]
    assert done.expected == {exceptions[0]: 1}


def test_exceptions_are_refused_when_a_reason_is_missing(digest) -> None:
    with pytest.raises(digest.DigestError, match="ITEM PATH REASON"):
        digest.read_exceptions("since 0\njob:*  *.p95\n", lambda _: False)
    with pytest.raises(digest.DigestError, match="since COMMIT"):
        digest.read_exceptions("job:*  *.p95  a change of no commit\n", lambda _: False)


def test_captures_differ_when_one_byte_differs(digest, tmp_path) -> None:
    def item(name: str, content: bytes):
        (tmp_path / name).write_bytes(content)
        return digest.digest_items.file_item(tmp_path / name)

    old, same, other = item("a.pcap", b"\x00\x01"), item("b.pcap", b"\x00\x01"), item("c.pcap", b"\x00\x02")
    assert digest.compare({"a:x": old}, {"a:x": same}, []).agrees
    assert not digest.compare({"a:x": old}, {"a:x": other}, []).agrees


def test_cells_keep_their_names_when_the_folders_hashes_change(digest, tmp_path) -> None:
    def items(hashes: tuple[str, str]) -> dict[str, Any]:
        folder = tmp_path / hashes[0]
        for name, seed in zip(hashes, (1, 2), strict=True):
            cell = folder / "cells" / name
            cell.mkdir(parents=True)
            (cell / "scenario.toml").write_text(f"seeds = [{seed}]\n")
            (cell / "summary.json").write_text(f'{{"goodput_bps": {seed}}}')
            (cell / "environment.json").write_text(f'{{"engine": "{name}"}}')
        return dict(digest.digest_items.files(folder))

    before, now = items(("aa", "bb")), items(("dd", "cc"))
    assert before == now
    assert sorted(before) == [
        f"cells/00{place}/{name}" for place in (0, 1) for name in ("scenario.toml", "summary.json")
    ]


def test_runs_are_the_same_items_in_both_layouts(digest, tmp_path) -> None:
    summaries = [{"seed": seed, "flows": [{"goodput_bps": 1.5 * seed}]} for seed in (2, 1)]
    flows = pl.DataFrame({"seed": [2, 1], "tcp.variant": ["reno", "reno"], "goodput_bps": [3.0, 1.5]})
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "sweep.json").write_text("{}")
    for name, summary in zip("ab", summaries, strict=True):
        (old / "cells" / name).mkdir(parents=True)
        (old / "cells" / name / "summary.json").write_text(json.dumps(summary))
    flows.with_columns(cell=pl.lit("a")).write_parquet(old / "flows.parquet")
    for name in ("flows", "summaries"):
        (new / name).mkdir()
    numbered = flows.with_columns(pl.col("seed").cast(pl.UInt64)).with_row_index("run")
    numbered.write_parquet(new / "flows" / "00000.parquet")
    texts = pl.DataFrame({"run": [0, 1], "summary": [json.dumps(one, indent=1) for one in summaries]})
    texts.write_parquet(new / "summaries" / "00000.parquet")
    before, now = (dict(digest.digest_items.files(folder)) for folder in (old, new))
    assert digest.compare(before, now, []).agrees
    assert sorted(now) == ["flows.parquet", "summaries.json", "sweep.json"]
    texts.with_columns(summary=texts["summary"].str.replace("1.5", "1.6")).write_parquet(
        new / "summaries" / "00000.parquet"
    )
    assert dict(digest.digest_items.files(new))["summaries.json"] != now["summaries.json"]


def test_items_are_the_same_when_read_back(digest, tmp_path) -> None:
    items = {"a:1": digest.digest_items.item("json", DOCUMENT), "a:2": digest.digest_items.Item("00", "pcap")}
    digest.write_items(tmp_path, items)
    assert digest.read_items(tmp_path) == items
    assert (tmp_path / "items.txt").read_text().splitlines()[1] == "a:2  00  pcap"


def test_xplot_titles_are_not_compared_when_coordinates_are_the_same(digest) -> None:
    lines = list(digest.digest_items.xplot("timeval unsigned\ntitle\nRTT over time\nline 0 1 2 3\n"))
    assert lines == ["timeval unsigned", "title", "line 0 1 2 3"]
