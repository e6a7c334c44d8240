"""HAR files as pages: what is kept of them, and what is not."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.input.scenario.har import har_objects

HOSTS = ("shop.example", "cdn.private.example:8443")
SECRETS = (*HOSTS, "session=d41d8cd9", "user-4711", "Mozilla/5.0 (Tester)", "checkout", "cdn.private")


def entry(url: str, start_ms: int, time_ms: float, size: int, **more: Any) -> dict[str, Any]:
    headers = [{"name": "Cookie", "value": "session=d41d8cd9"}, {"name": "User-Agent", "value": "Mozilla/5.0 (Tester)"}]
    return {
        "startedDateTime": f"2026-11-28T10:00:{start_ms // 1000:02}.{start_ms % 1000:03}Z",
        "time": time_ms,
        "request": {
            "method": "GET",
            "url": url,
            "headers": headers,
            "cookies": [{"name": "session", "value": "d41d8cd9"}],
        },
        "response": {
            "status": 200,
            "headers": headers,
            "content": {"size": 3 * size},
            "bodySize": size,
            "headersSize": 200,
        },
        "timings": {"send": 0, "wait": 5, "receive": 1},
        **more,
    }


def har() -> dict[str, Any]:
    shop, cdn = (f"https://{host}" for host in HOSTS)
    document = f"{shop}/checkout?user-4711"
    entries = [
        entry(document, 0, 100, 18_000),
        entry(f"{cdn}/style.css", 120, 40, 10_000, _initiator={"type": "parser", "url": document}),
        entry(f"{cdn}/font.woff2", 175, 30, 30_000, _initiator={"type": "parser", "url": f"{cdn}/style.css"}),
        entry(f"{shop}/late.json", 300, 30, 500),
        entry("data:image/png;base64,AAAA", 130, 0, 4),
        entry(f"{shop}/cached.js", 140, 0, 0, response={"status": 200, "_transferSize": 0, "content": {"size": 9}}),
    ]
    return {"log": {"version": "1.2", "creator": {"name": "test"}, "entries": entries}}


def written(path: Path, document: object) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path


def scenario(page: str) -> dict[str, Any]:
    flow = {"name": "page", "workload": {"kind": "page", "page": page}}
    return {"hop": [{"name": "line", "rate": "16 Mb/s", "delay": "15 ms"}], "flow": [flow], "duration": "5 s"}


def test_objects_have_sizes_parents_waits_and_labels_of_servers(tmp_path: Path) -> None:
    document, sheet, font, late = har_objects(written(tmp_path / "page.har", har()))
    shop, cdn = document[3], sheet[3]
    assert document[:3] == ["18200 B", 0, "0 us"] and shop != cdn
    assert sheet == ["10200 B", 0, "20000 us", cdn] and font == ["30200 B", 1, "15000 us", cdn]
    assert late == ["700 B", 2, "95000 us", shop], "after the last that was complete before it"


def test_labels_differ_between_files_and_not_between_readings(tmp_path: Path) -> None:
    other = har()
    other["log"]["comment"] = "another"
    first, second = written(tmp_path / "a.har", har()), written(tmp_path / "b.har", other)
    assert har_objects(first) == har_objects(first)
    assert not {row[3] for row in har_objects(first)} & {row[3] for row in har_objects(second)}


def test_nothing_of_the_har_but_sizes_and_times_is_stored_or_written(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    (tmp_path / "page.har").write_text(json.dumps(har()), "utf-8")
    file.write_text(
        """duration = "5 s"
[[hop]]
name = "line"
rate = "16 Mb/s"
delay = "15 ms"
[[flow]]
name = "page"
workload = { kind = "page", page = "page.har" }
""",
        "utf-8",
    )
    command = [sys.executable, "-m", "ackclock", "simulate", str(file), "--out", "run", "--report", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    kept = [done.stdout, done.stderr, *(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())]
    assert len(kept) > 4
    for text in kept:
        for secret in SECRETS:
            assert secret.encode() not in text, secret
    (score,) = [flow["app"]["score"] for flow in json.loads(done.stdout)["flows"] if "app" in flow]
    assert score["bytes"] == 18_200 + 10_200 + 30_200 + 700 and score["load_s"] > 0.3


def test_page_of_two_servers_opens_connections_to_both(tmp_path: Path) -> None:
    path = written(tmp_path / "page.har", har())
    for http, connections in (("1.1", 12), ("2", 2)):
        case = scenario(str(path))
        case["flow"][0]["workload"]["http"] = http
        flows = ackclock.simulate(case).summaries[0]["flows"]
        assert len(flows) == connections
        score: Any = flows[0]["app"]["score"]
        # Document after three round trips of 30 ms; waits of 20 and 15 ms; another connection with
        # TLS.
        assert 0.3 < score["load_s"] < 0.6


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("", "no JSON"),
        ("{}", "no entries"),
        ('{"log": {"entries": 7}}', "no entries"),
        ('{"log": {"entries": []}}', "no response that came over the network"),
        ("[" * 100_000, "nested too deep"),
        ('{"log": {"entries": [{"request": {"url": "https://private.example/"}}]}}', "entry 1 without"),
    ],
)
def test_damaged_har_is_refused_with_its_name_and_without_its_words(damage: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "page.har", damage)
    with pytest.raises(InputError, match=message) as refused:
        ackclock.simulate(scenario(str(path)))
    assert refused.value.file == str(path) and "private" not in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        {"time": None},
        {"time": float("nan")},
        {"startedDateTime": "yesterday"},
        {"response": {}},
        {"request": {"url": 7}},
        {"request": {"url": "https://[private"}},
        {"response": {"status": 200, "content": {"size": "many"}}},
        {"_initiator": "private"},
    ],
)
def test_damaged_entry_is_refused_by_its_number(change: dict[str, Any], tmp_path: Path) -> None:
    document = copy.deepcopy(har())
    document["log"]["entries"][1].update(change)
    with pytest.raises(InputError, match="entry 2 without") as refused:
        har_objects(written(tmp_path / "page.har", document))
    assert "private" not in str(refused.value)


def test_missing_har_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.har"):
        ackclock.simulate(scenario(str(tmp_path / "absent.har")))
