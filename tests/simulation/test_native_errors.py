"""Errors of the engine reach Python as objects with fields: no caller parses a message."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ackclock
from ackclock import _native
from ackclock.errors import InputError, RunFailed, native_errors

PACKAGE = Path(ackclock.__file__).parent


def _fields(error: _native.NativeError) -> tuple[object, ...]:
    return error.file, error.line, error.found, error.allowed, error.statement


@pytest.mark.finding("N4")
def test_capture_error_has_fields_when_it_crosses_into_python(tmp_path):
    (tmp_path / "x.pcap").write_bytes(b"hello")
    for name, found in (("x.pcap", "a file that begins with 68 65 6c 6c"), ("none", "no such file"), (".", "a folder")):
        path = str(tmp_path / name)
        with pytest.raises(_native.InputError) as caught:
            _native.CaptureReader(path, "{}")
        assert caught.value.file == str(Path(path)) or name == "."
        assert (caught.value.found, caught.value.statement) == (found, "")
        assert caught.value.allowed.startswith("a pcap, pcapng, snoop or ERF capture")


@pytest.mark.finding("N4")
def test_pulse_error_has_file_line_and_option_when_it_crosses_into_python(tmp_path):
    capture = tmp_path / "x.pcap"
    capture.write_bytes(b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(8) + b"\xff\xff\x00\x00\x01\x00\x00\x00")
    with pytest.raises(_native.InputError) as caught:
        _native.CaptureReader(str(capture), "{}", False, ("a.pps", "1 2\nx 3\n"))
    error = caught.value
    assert (error.file, error.line, error.option, error.found) == ("a.pps", 2, "--pps", '"x 3"')


@pytest.mark.finding("N4")
def test_plan_error_names_its_part_when_it_crosses_into_python(small):
    from ackclock.input.scenario import read_draft
    from ackclock.simulation.plan import build_plan

    plan = build_plan(read_draft(small).check(), 1).expanded()
    plan["hops"][0]["down"]["rate"]["bps"] = 0
    with pytest.raises(_native.PlanError) as caught:
        _native.run(json.dumps(plan))
    assert (caught.value.key, caught.value.statement) == ("hop 'air' down", "the rate is 0 b/s")
    with pytest.raises(RunFailed, match="hop 'air' down: the rate is 0 b/s; correct the plan"), native_errors():
        _native.run(json.dumps(plan))


@pytest.mark.finding("N4")
def test_measurement_error_has_fields_when_it_crosses_into_python():
    with pytest.raises(_native.InputError) as caught:
        _native.LiveSession("127.0.0.1", 1, "short")
    assert caught.value.found == "a token of about 5 bits" and caught.value.allowed.startswith(
        "at least 128 random bits"
    )
    with pytest.raises(InputError) as refused, native_errors():
        _native.LiveSession("127.0.0.1", 1, "q7Zr2PxW9sKd0LmVtB4nHcFy8GjE1uRo")
    assert refused.value.option == "--port" and refused.value.hint.startswith("start `ackclock serve` there")


@pytest.mark.finding("N4")
def test_package_parses_no_message():
    cuts = re.compile(r"""(partition|split|removeprefix|removesuffix|replace)\(\s*["'](; allowed|found |; )""")
    guilty = [path for path in PACKAGE.rglob("*.py") if cuts.search(path.read_text("utf-8"))]
    assert guilty == []
