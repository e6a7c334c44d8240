"""Runs a script as root in Debian's user-mode Linux, in real time: for recipes of tc, ip and
sysctl, and for what undoes them. Nothing reaches the machine's own network.

`python -m studies.virtual_kernel.uml [--limit SECONDS] SCRIPT` prints what the script prints, and
exits with its status; `make uml RUN=SCRIPT`. The packages are downloaded and unpacked, not
installed. For timing there is guest.py: this kernel shares the machine's clock and CPU.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from studies.virtual_kernel.build import MISSING, Unavailable, cache, download
from studies.virtual_kernel.console import run_to_halt

PACKAGE = "user-mode-linux"
INIT = Path(__file__).with_name("uml_init.sh")
LIMIT_S = 60.0
MEMORY = "256M"


@dataclass(frozen=True)
class Result:
    """What the script printed to both outputs, and its exit status."""

    output: str
    status: int


def packages() -> Path:
    """The folder with the unpacked packages. Raises Unavailable."""
    if installed := shutil.which("linux.uml"):
        root = Path(installed).parents[2]
        if shutil.which("kmod", path=_path()):
            return root
    folder = cache() / PACKAGE
    if not (folder / "usr/bin/linux.uml").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            download(Path(work), [PACKAGE, "kmod", "libkmod2"])
            (Path(work) / "root").rename(folder)
    return folder


def _path() -> str:
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


def run(script: str, limit_s: float = LIMIT_S) -> Result:
    """Run a bash script as root in a machine of its own, which ends with it.

    The script has the files of this machine, read-only but for /etc, /run and /tmp, which are
    copies; the kernel's modules load when they are needed. Raises Unavailable without the package,
    TimeoutError if the machine has not halted after `limit_s` of real time.
    """
    root = packages()
    for program in ("bash", "mount"):
        if shutil.which(program, path=_path()) is None:
            raise Unavailable(f"no {program}")
    with tempfile.TemporaryDirectory(prefix="uml-") as name:
        folder = Path(name)
        shutil.copy(INIT, folder / "init")
        (folder / "script").write_text(script, encoding="utf-8")
        console = _boot(root, folder, limit_s)
        if not (folder / "status").exists():
            raise RuntimeError(f"the virtual machine did not run the script:\n{console[-2000:]}")
        output = (folder / "output").read_text("utf-8", errors="replace")
        return Result(output, int((folder / "status").read_text("ascii")))


def _boot(root: Path, folder: Path, limit_s: float) -> str:
    command = [
        *(str(root / "usr/bin/linux.uml"), "rootfstype=hostfs", "rootflags=/", "ro", f"mem={MEMORY}", "quiet"),
        *("con=null", "con0=null,fd:1", f"init={folder}/init", f"WORK={folder}", f"PACKAGES={root}"),
    ]
    try:
        console = run_to_halt(command, limit_s, folder=folder)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"the virtual machine did not halt in {limit_s:.0f} s") from None
    return re.sub(r"\x1b\[[0-9;]*m", "", console)


def main() -> int:
    parser = argparse.ArgumentParser(description="A script as root in Debian's user-mode Linux.")
    parser.add_argument("script", help="text of a bash script")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS", help="of real time")
    options = parser.parse_args()
    try:
        result = run(options.script, options.limit)
    except Unavailable as why:
        sys.stderr.write(f"uml: skipped: {why}\n")
        return MISSING
    sys.stdout.write(result.output)
    return result.status


if __name__ == "__main__":
    raise SystemExit(main())
