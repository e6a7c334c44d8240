"""Copies to share: the analysis of a copy is that of the original, but for addresses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze
from ackclock.analysis.strip import strip
from ackclock.errors import InputError
from tests.support.captures import simulated_captures

ADDRESS = re.compile(r"\[[0-9a-f:]+\]|\b\d+\.\d+\.\d+\.\d+\b|\b(?:[0-9a-f]*:){2,}[0-9a-f]+\b")
CHANGED = ("capture", "cut_short", "bad_checksums")


def without_addresses(value: Any) -> Any:
    """A document with all addresses as one word, without what a copy changes."""
    if isinstance(value, dict):
        return {key: without_addresses(part) for key, part in value.items() if key not in CHANGED}
    if isinstance(value, list):
        return [without_addresses(part) for part in value]
    return ADDRESS.sub("ADDRESS", value) if isinstance(value, str) else value


def hosts(document: Any) -> set[str]:
    return {flow[end].rpartition(":")[0] for flow in document["flows"] for end in ("client", "server")}


def assert_same(capture: Path, copy: Path) -> None:
    original, stripped = analyze(capture).document, analyze(copy).document
    assert json.dumps(without_addresses(original)) == json.dumps(without_addresses(stripped))


@pytest.mark.finding("C42")
def test_copy_of_a_simulated_capture_has_the_same_findings(tmp_path):
    for number, capture in enumerate(
        simulated_captures(tmp_path / "run", {"loss": {"kind": "bernoulli", "mean": 0.01}})
    ):
        copy = tmp_path / f"{number}.pcapng"
        made = strip(capture, copy)
        document = analyze(capture).document
        assert document["flows"][0]["diagnosis"] and made.packets == document["packets"]
        assert_same(capture, copy)
        assert not hosts(document) & hosts(analyze(copy).document)


@pytest.mark.finding("C42")
@pytest.mark.parametrize("folder", ["captures-host", "captures-public", "captures-foreign"])
def test_copies_of_captures_of_real_hosts_have_the_same_findings(oracles: Path, folder: str, tmp_path):
    captures = sorted(path for path in (oracles / folder).rglob("*.pcap*") if path.stat().st_size < 700_000)[:25]
    if not captures:
        pytest.skip(f"no captures in {folder}")
    for number, capture in enumerate(captures):
        copy = tmp_path / f"{number}.pcapng"
        strip(capture, copy)
        assert_same(capture, copy)


def test_copy_does_not_replace_a_file(tmp_path):
    capture, _ = simulated_captures(tmp_path / "run", duration="1 s")
    kept = tmp_path / "kept"
    kept.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="a file that exists"):
        strip(capture, kept)
    with pytest.raises(InputError, match="no such file"):
        strip(tmp_path / "absent.pcap", tmp_path / "copy")
    assert kept.read_text("utf-8") == "mine" and not (tmp_path / "copy").exists()
