"""Runs the unit tests of the loader's pins.rs.

They require only rustc, unlike the rest of `crates/kernel-cc`.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.support import ROOT

PINS = ROOT / "crates" / "kernel-cc" / "src" / "pins.rs"


@pytest.mark.finding("S8")
@pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc here")
def test_folder_of_pins_is_refused_when_another_user_could_change_it(tmp_path):
    program = tmp_path / "pins"
    build = ["rustc", "--edition", "2024", "--test", "-o", program, PINS]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
