"""Installed files: the commands of the package, and the restrictions of the unit file."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support import ROOT

BIN = Path(sys.executable).parent
UNIT = ROOT / "packaging" / "ackclockd.service"
MAX_EXPOSED = 2.0
REQUIRED = {
    "AmbientCapabilities": "",
    "CapabilityBoundingSet": "",
    "DynamicUser": "yes",
    "LockPersonality": "yes",
    "MemoryDenyWriteExecute": "yes",
    "NoNewPrivileges": "yes",
    "PrivateDevices": "yes",
    "PrivateTmp": "yes",
    "PrivateUsers": "yes",
    "ProtectControlGroups": "yes",
    "ProtectHome": "yes",
    "ProtectHostname": "yes",
    "ProtectKernelLogs": "yes",
    "ProtectKernelModules": "yes",
    "ProtectKernelTunables": "yes",
    "ProtectProc": "invisible",
    "ProtectSystem": "strict",
    "RemoveIPC": "yes",
    "RestrictAddressFamilies": "AF_INET AF_INET6",
    "RestrictNamespaces": "yes",
    "RestrictRealtime": "yes",
    "RestrictSUIDSGID": "yes",
    "SystemCallArchitectures": "native",
    "UMask": "0077",
}


def directives() -> dict[str, str]:
    lines = (line for line in UNIT.read_text("utf-8").splitlines() if "=" in line and not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.finding("S7")
def test_unit_file_forbids_what_the_far_end_does_not_need():
    found = directives()
    assert {name: found.get(name) for name in REQUIRED} == REQUIRED
    assert "--token-file ${CREDENTIALS_DIRECTORY}/token" in found["ExecStart"]


@pytest.mark.finding("S7")
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_exposure_of_the_unit_file_is_at_most_2_when_systemd_analyzes_it():
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    exposure = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", done.stdout)
    assert exposure is not None, done.stderr
    assert float(exposure[1]) <= MAX_EXPOSED


@pytest.mark.finding("U15")
def test_ackclockd_is_installed_beside_ackclock_and_answers_version() -> None:
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
        measure = [
            str(BIN / "ackclock"),
            "measure",
            "127.0.0.1",
            "--port",
            where[1],
            "--tests",
            "delay",
            "--duration",
            "1 s",
        ]
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
