"""Runs a script in Linux in virtual time: the clock moves from event to event, and a run of one
program gives the same bytes each time, however busy the machine is.

Four things make it so: getrandom(2) of the program comes from a seed, the command line is the same
word for word (the folder of a run is mounted on /mnt, in a mount namespace of its own), the time
at the start is fixed, and /run is an empty one, as mount(8) looks for files there: each call that
reads the clock moves a run by 256 ns. Other versions of bash, ip, tc or the C library may move it,
too.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from studies.virtual_kernel.build import Kernel, Unavailable
from studies.virtual_kernel.console import run_to_halt

HERE = Path(__file__).parent
START_NS = 1_700_000_000 * 10**9
MEMORY = "256M"
COMMAND = (
    *("rootfstype=hostfs", "rootflags=/", "ro", "init=/mnt/init.sh", f"mem={MEMORY}"),
    *("con=null", "con0=null,fd:1", "quiet", "time-travel=inf-cpu", f"time-travel-start={START_NS}"),
)
NEEDED = ("unshare", "mount", "timeout", "bash", "ip", "tc", "cc")
MIN_FREE = 600 << 20


class Failed(Exception):
    """The virtual machine did not end as it should; the console's last lines."""


@cache
def programs() -> Path:
    """A folder with the guest's programs, compiled. Raises Unavailable."""
    if os.getuid() != 0:
        raise Unavailable("not root, which mounts a folder")
    for program in NEEDED:
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            raise Unavailable(f"no {program}")
    if not Path("/mnt").is_dir():
        raise Unavailable("no folder /mnt")
    folder = Path(tempfile.gettempdir()) / f"ackclock-guest-{os.getuid()}-{source_digest()}"
    if not (folder / "guest").exists():
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            for output, source, flags in (
                ("seeded_random.so", "seeded_random.c", ["-shared", "-fPIC"]),
                ("guest", "guest.c", []),
            ):
                subprocess.run(["cc", "-O2", *flags, "-o", f"{work}/{output}", str(HERE / source)], check=True)
                Path(work, output).rename(folder / output)
    return folder


@cache
def source_digest() -> str:
    """Digest of the sources of what runs in the guest, of its programs without comments."""
    program = "".join((HERE / name).read_text("utf-8") for name in ("guest.c", "seeded_random.c"))
    code = re.sub(r"\s+", "", re.sub(r"/\*.*?\*/", "", program, flags=re.DOTALL))
    return hashlib.sha256((code + (HERE / "init.sh").read_text("utf-8")).encode()).hexdigest()[:12]


@contextmanager
def run(kernel: Kernel, script: str, seed: int, limit_s: float = 300.0) -> Iterator[Path]:
    """Run `script` (row.sh of init.sh) with the seed of the kernel's random numbers; yields the
    folder with what it wrote.

    Raises Failed if the machine does not halt within `limit_s` of real time or has no uptime.txt,
    Unavailable if the programs or mount namespaces are missing.
    """
    with tempfile.TemporaryDirectory(prefix="virtual-kernel-") as name:
        folder = Path(name)
        shutil.copy(programs() / "guest", folder)
        shutil.copy(HERE / "init.sh", folder)
        (folder / "row.sh").write_text(script, encoding="utf-8")
        console = _boot(kernel.program, folder, seed, limit_s)
        (folder / "console.txt").write_text(console, encoding="utf-8")
        if not (folder / "uptime.txt").exists() or "FAILED" in console:
            raise Failed("\n".join(console.splitlines()[-15:]))
        yield folder


def _boot(linux: Path, folder: Path, seed: int, limit_s: float) -> str:
    shared = Path("/dev/shm")
    environment = {
        **os.environ,
        "VIRTUAL_KERNEL_SEED": str(seed),
        "HOME": "/mnt",  # user-mode Linux writes its process number there
        **({"TMPDIR": str(shared)} if shared.is_dir() and shutil.disk_usage(shared).free > MIN_FREE else {}),
    }
    preload = programs() / "seeded_random.so"
    inside = (
        'mount --bind "$1" /mnt && shift && mount -t tmpfs tmpfs /run && mkdir /run/mount && '
        f'LD_PRELOAD={preload} exec timeout -k 5 {limit_s:.0f} "$@"'
    )
    command = ["unshare", "--mount", "sh", "-c", inside, "sh", str(folder), str(linux), *COMMAND]
    return run_to_halt(command, limit_s + 30, environment=environment)


def results_digest(folder: Path) -> str:
    """Digest of what a run measured: every RTT, TCP_INFO, the counters of TCP and of the queues."""
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.json*"), folder / "netstat.txt"]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
