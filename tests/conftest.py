"""Fixtures: folders of oracles and recorded links (tests are skipped without them), scenarios, the
command line.
"""

from __future__ import annotations

import io
import os
import signal
import threading
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine is no bug. `make test` draws the same cases every time, as a gate must say the
# same twice; `make test-slow` (ACKCLOCK_FRESH=1) looks for new ones.
settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("fresh", deadline=None)
settings.load_profile("fresh" if os.environ.get("ACKCLOCK_FRESH") else "gate")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the product's cache of this machine's user out of the tests, and one for the tests
    beside pytest's own; let Ctrl-C reach the commands under test.
    """
    # A job in the background inherits an ignored SIGINT, and its children would, too.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["XDG_CACHE_HOME"] = str(config.rootpath / ".pytest_cache" / "xdg")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Record which findings a test is for; ACKCLOCK_FINDINGS (ids joined by commas) keeps the tests
    of these only.
    """
    only = set(filter(None, os.environ.get("ACKCLOCK_FINDINGS", "").split(",")))
    others = []
    for item in items:
        ids = [id_ for mark in item.iter_markers("finding") for id_ in mark.args]
        item.user_properties += [("finding", id_) for id_ in ids]
        if only and not only & set(ids):
            others.append(item)
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]


def _folder(variable: str) -> Path:
    named = os.environ.get(variable)
    if not named or not Path(named).is_dir():
        pytest.skip(f"{variable} names no folder")
    return Path(named)


@pytest.fixture(scope="session")
def oracles() -> Path:
    """Results of independent simulators and analysers."""
    return _folder("ACKCLOCK_ORACLES")


@pytest.fixture(scope="session")
def data() -> Path:
    """Recorded links."""
    return _folder("ACKCLOCK_DATA")


@pytest.fixture(params=["TMobile-LTE-short", "Verizon-LTE-short", "TMobile-UMTS-driving"])
def cellular_link(request, data, write) -> Path:
    """A link file over a recorded cellular network, both directions as recorded."""
    traces = {direction: data / "cellular" / f"{request.param}.{direction}.gz" for direction in ("down", "up")}
    return write(
        "cellular.toml",
        f"""title = "{request.param}"
source = "recorded with mahimahi's saturator"
[[hop]]
name = "core"
delay = "20 ms"
[[hop]]
name = "air"
rate.down = {{ trace = "{traces["down"]}", start = "0 s" }}
rate.up = {{ trace = "{traces["up"]}", start = "0 s" }}
queue = {{ kind = "droptail", packets = 250 }}
""",
    )


@pytest.fixture
def write(tmp_path: Path):
    """Writes a text file into the test's own folder and returns its path."""

    def to(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return to


SMALL = """\
duration = "3 s"
sample = "100 ms"
seeds = 2

[[hop]]
name = "air"
rate = "2 Mb/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 20 }
loss.down = 0.01

[[flow]]
name = "download"
workload = { kind = "bulk" }
"""


@pytest.fixture
def small(write) -> Path:
    """A scenario that runs in milliseconds: one bulk flow over 2 Mb/s with 1 % loss, two seeds."""
    return write("small.toml", SMALL)


@dataclass(frozen=True)
class Done:
    """What a command line left behind."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def ackclock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs the command line in the test's folder, in this process: starting one takes longer than
    most runs.
    """
    from ackclock.cli import run as command_line

    def run(*arguments: object) -> Done:
        monkeypatch.chdir(tmp_path)
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = command_line([str(argument) for argument in arguments])
        return Done(status, out.getvalue(), err.getvalue())

    return run
