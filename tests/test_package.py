"""What an installation has: every command, from the package alone."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


@pytest.mark.finding("U15")
def test_ackclockd_is_installed_beside_ackclock_and_answers_version() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(scripts) == {"ackclock", "ackclockd"}
    done = subprocess.run([BIN / "ackclockd", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"ackclockd \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.finding("U15")
def test_ackclockd_exits_with_2_when_an_option_is_unknown() -> None:
    done = subprocess.run([BIN / "ackclockd", "--most-frobs", "3"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--most-frobs" in done.stderr and "panicked" not in done.stderr


@pytest.mark.finding("U15")
@pytest.mark.realtime
def test_ackclockd_of_the_package_serves_a_measurement_until_sigterm(tmp_path: Path) -> None:
    token = tmp_path / "token"
    subprocess.run([BIN / "ackclockd", "--new-token", token], check=True, capture_output=True)
    command = [str(BIN / "ackclockd"), "--port", "0", "--token-file", str(token)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as serving:
        assert serving.stdout is not None
        where = re.search(r"127\.0\.0\.1:(\d+)", serving.stdout.readline())
        assert where is not None
        measure = [str(BIN / "ackclock"), "measure", "127.0.0.1", "--port", where[1], "--tests", "delay", "--duration", "1 s"]
        measure += ["--token-file", str(token), "--json", "--quiet", "--no-report", "--out", str(tmp_path / "run")]
        done = subprocess.run(measure, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(10) == 0


@pytest.mark.slow
@pytest.mark.finding("U15")
def test_wheel_has_both_commands(tmp_path: Path) -> None:
    build = [str(BIN / "maturin"), "build", "--out", str(tmp_path), "--profile", "release"]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (listed,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        points = archive.read(listed).decode()
    assert "ackclock=ackclock.cli:main" in points.replace(" ", "")
    assert "ackclockd=ackclock.cli.daemon:main" in points.replace(" ", "")
