"""Errors as objects: two forms of message, the document under --json, and their fields after
pickling.
"""

from __future__ import annotations

import errno
import json
import pickle

import pytest

from ackclock import cli
from ackclock.errors import FIELDS, InputError, InvalidValue, RunFailed, UsageError, from_document


def test_input_error_names_file_line_and_key_when_in_first_form():
    error = InputError('"10 sec"', "a time", file="s.toml", line=3, key="duration")
    assert str(error) == 's.toml:3: duration: found "10 sec"; allowed: a time'
    assert error.document()["error"] == {
        "kind": "input", "code": "value", "message": str(error), "file": "s.toml", "line": 3, "key": "duration",
        "option": None, "found": '"10 sec"', "allowed": "a time", "hint": None,
    }  # fmt: skip


def test_input_error_names_the_option_once_when_in_second_form():
    error = InputError.problem("--every requires --out", "add --out DIR", option="--every")
    assert str(error) == "--every requires --out; add --out DIR"
    assert (error.option, error.hint, error.found, error.allowed) == ("--every", "add --out DIR", "", "")


def test_input_error_names_the_option_in_place_of_the_key_when_typed_on_the_command_line():
    error = InputError('"64" without a unit', "a size", key="sweep.tcp.send_buffer").with_option("--buffers")
    assert str(error) == '--buffers: found "64" without a unit; allowed: a size'
    assert error.option == "--buffers" and error.key == ""


def test_invalid_value_becomes_an_error_of_its_form_when_located():
    error = InputError.of(
        InvalidValue.problem("a flow has no workload", "add one"), file="s.toml", line=2, key="flow[1]"
    )
    assert str(error) == "s.toml:2: flow[1]: a flow has no workload; add one"


@pytest.mark.parametrize(
    "error",
    [
        InputError("0", "1 or more", file="s.toml", line=3, key="flow[1].count"),
        InputError.problem("--a excludes --b", "leave one out", option="--a"),
        UsageError.problem("simulate requires SCENARIO", "usage: ackclock simulate SCENARIO", option="SCENARIO"),
        RunFailed("seed 3 failed", "say it again", file="runs/x"),
    ],
    ids=lambda error: error.kind,
)
def test_error_keeps_type_fields_and_message_when_pickled_or_read_from_its_document(error):
    for again in (pickle.loads(pickle.dumps(error)), from_document(json.loads(json.dumps(error.document())))):
        assert (type(again), str(again)) == (type(error), str(error))
        assert [getattr(again, name) for name in FIELDS] == [getattr(error, name) for name in FIELDS]


@pytest.mark.finding("U18")
@pytest.mark.parametrize(
    ("arguments", "kind", "option"),
    [
        (["simulate", "none.toml", "--json"], "input", None),
        (["simulate", "--json"], "usage", "SCENARIO"),
        (["--json", "simulate"], "usage", "--json"),
        (["simulate", "x.toml", "--json", "--nonsense"], "usage", "--nonsense"),
        (["simulate", "x.toml", "--seed", "-1", "--json"], "usage", "--seed"),
        (["list", "things", "--json"], "usage", "KIND"),
        (["frobnicate", "--json"], "usage", "COMMAND"),
        (["report", "nowhere", "--json"], "input", None),
    ],
)
def test_json_prints_one_error_document_when_the_command_line_or_its_input_is_wrong(ackclock, arguments, kind, option):
    done = ackclock(*arguments)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert list(error) == list(FIELDS)
    assert (error["kind"], error["option"]) == (kind, option)
    assert done.stderr == f"ackclock: {error['message']}\n"


@pytest.mark.finding("U18")
def test_json_prints_the_error_of_failed_and_of_interrupted_work_when_it_ends_so(ackclock, monkeypatch, small):

    from ackclock.simulation import run

    for raised, status, kind in (
        (RunFailed("no luck", "try again"), 1, "failed"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ):

        def fail(*_: object, raised: BaseException = raised, **__: object) -> None:
            raise raised

        monkeypatch.setattr(run, "simulate_scenario", fail)
        done = ackclock("simulate", small, "--json")
        assert done.returncode == status
        assert json.loads(done.stdout)["error"]["kind"] == kind


def test_json_option_after_two_dashes_belongs_to_the_child_command(ackclock):
    done = ackclock("emulate", "no-such-link", "--", "tool", "--json")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.finding("U25")
def test_results_are_printed_when_the_library_of_charts_panics(ackclock, monkeypatch, small, tmp_path):
    """As in a chroot without /proc. Another exception of its base is not hidden."""

    class PanicException(BaseException):
        pass

    def fail(kind):
        def write(folder):
            raise kind("left: 2\n right: 0")

        monkeypatch.setattr("ackclock.result_folder.write_report", write)

    fail(PanicException)
    done = ackclock("simulate", small, "--out", str(tmp_path / "run"))
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "Flows, means over 2 seeds")
    assert "no HTML report: the charts' library failed (left: 2 right: 0)" in done.stderr
    fail(GeneratorExit)
    with pytest.raises(GeneratorExit):
        ackclock("simulate", small, "--out", str(tmp_path / "run"))


def test_fit_ends_at_once_when_its_file_cannot_be_written(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert cli.run(["fit", str(tmp_path / "none.pcap"), "-o", str(tmp_path / "link.toml")]) == 1
    printed = capsys.readouterr().err
    assert "link.toml: no permission to write it" in printed and "Traceback" not in printed


def test_link_file_that_cannot_be_written_is_named(monkeypatch, capsys, tmp_path):
    def refuse(path, content):
        raise PermissionError(errno.EACCES, "Permission denied", f".{path.name}.1.tmp")

    monkeypatch.setattr("ackclock.storage.atomic_files.atomic_write", refuse)
    script, link = tmp_path / "tc.sh", tmp_path / "link.toml"
    script.write_text("tc qdisc add dev eth0 root tbf rate 20mbit burst 32k latency 400ms\n")
    assert cli.run(["import", str(script), "--out", str(link)]) == 1
    printed = capsys.readouterr().err
    assert f"{link}: no permission to write it" in printed and ".tmp" not in printed
