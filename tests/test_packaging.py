"""The unit file that is shipped: what it forbids the far end, by systemd's own reckoning where that is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[1] / "packaging" / "ackclockd.service"
MOST_EXPOSED = 2.0
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
def test_exposure_of_the_unit_file_is_at_most_2_when_systemd_reckons_it():
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", done.stdout)
    assert said is not None, done.stderr
    assert float(said[1]) <= MOST_EXPOSED
