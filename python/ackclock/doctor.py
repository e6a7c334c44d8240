"""What works on this machine, and what to install for the rest: `ackclock doctor`."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
"""Flags of unshare(2)."""
_SLEEPS = 200
_SLEEP_S = 0.5e-3
_LATE_S = 200e-6
"""A timer that is later than this makes packets late (`late` in docs/reference/emulate.md)."""


@dataclass(frozen=True)
class Check:
    """One thing that a command needs.

    Attributes:
        name: what is checked.
        needed_for: the commands or features that need it.
        works: whether it is there.
        found: what the check saw.
        remedy: what to install or set; empty if it works.
    """

    name: str
    needed_for: str
    works: bool
    found: str
    remedy: str


def checks() -> list[Check]:
    """All checks, in a fraction of a second. None needs root, leaves a trace or uses the network.

    >>> [check.works for check in checks() if check.name == "engine"]
    [True]
    """
    return [_checked(*one) for one in _CHECKS]


def document(of: list[Check]) -> dict[str, Any]:
    """What `doctor --json` prints: `{checks: [{name, needed_for, works, found, remedy}]}`."""
    return {"checks": [asdict(check) for check in of]}


def table(of: list[Check], *, every: bool = False) -> Table:
    """For the terminal, one screen: what was found and the remedy of what is missing stand below;
    with `every` what was found of each has a column.
    """
    from ackclock.terminal import text_table

    rows = text_table("", ["check", "works", "needed for", *(["found"] if every else [])], [])
    for check in of:
        rows.add_row(check.name, "yes" if check.works else "no", check.needed_for, *([check.found] if every else []))
    rows.caption = "\n".join(f"{check.name}: {check.found}; {check.remedy}." for check in of if check.remedy)
    return rows


def _checked(name: str, needed_for: str, look: Callable[[], tuple[bool, str]], remedy: str) -> Check:
    try:
        works, found = look()
    except OSError as error:
        works, found = False, os.strerror(error.errno) if error.errno else str(error)
    return Check(name, needed_for, works, found, "" if works else remedy)


def _engine() -> tuple[bool, str]:
    try:
        from ackclock.input.catalogue import variants
    except ImportError as error:
        return False, str(error)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return True, f"ackclock {version('ackclock')}, {len(variants())} variants, {cores} cores"


def _packages(*names: str) -> Callable[[], tuple[bool, str]]:
    def look() -> tuple[bool, str]:
        missing = [name for name in names if find_spec(name) is None]
        return not missing, f"{', '.join(missing)} not installed" if missing else "installed"

    return look


def _writable() -> tuple[bool, str]:
    with tempfile.TemporaryFile(dir=".") as file:
        file.write(b"1")
        file.flush()
    free = shutil.disk_usage(".").free
    return True, f"{free / 1e9:.1f} GB free"


def _namespaces() -> tuple[bool, str]:
    """A child process makes the namespaces that `emulate` makes."""
    if not Path("/proc/self/ns/net").exists():
        return False, "no Linux network namespaces"
    flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
    child = os.fork()
    if child == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        os._exit(0 if libc.unshare(flags) == 0 else min(ctypes.get_errno(), 255))
    error = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    who = "as root" if os.geteuid() == 0 else "in a user namespace"
    return error == 0, who if error == 0 else f"unshare: {os.strerror(error)}"


def _tun() -> tuple[bool, str]:
    os.close(os.open("/dev/net/tun", os.O_RDWR))
    return True, "/dev/net/tun opens"


def _timers() -> tuple[bool, str]:
    late = []
    for _ in range(_SLEEPS):
        due = time.monotonic() + _SLEEP_S
        time.sleep(_SLEEP_S)
        late.append(time.monotonic() - due)
    p99 = sorted(late)[int(0.99 * _SLEEPS)]
    return p99 <= _LATE_S, f"99 % of timers at most {p99 * 1e6:.0f} us late"


def _packet_sockets() -> tuple[bool, str]:
    if not hasattr(socket, "AF_PACKET"):
        return False, "no packet sockets"
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    return True, "packet sockets open"


def _nat() -> tuple[bool, str]:
    found = next((tool for tool in ("nft", "iptables") if shutil.which(tool)), None)
    return found is not None and os.geteuid() == 0, (found or "neither nft nor iptables") + (
        "" if os.geteuid() == 0 else ", not root"
    )


def _kernel_variants() -> tuple[bool, str]:
    offered = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
    return {"reno", "cubic", "bbr"} <= set(offered), ", ".join(offered)


def _kernel_cc() -> tuple[bool, str]:
    from ackclock.emulation.kernel_cc import find_binary

    missing = [
        what
        for what, there in (
            ("no loader", find_binary() is not None),
            ("no BTF", Path("/sys/kernel/btf/vmlinux").exists()),
            ("not root", os.geteuid() == 0),
        )
        if not there
    ]
    return not missing, ", ".join(missing) or "loader, BTF and root"


_CHECKS: tuple[tuple[str, str, Callable[[], tuple[bool, str]], str], ...] = (
    ("engine", "every command", _engine, "reinstall ackclock"),
    ("this folder", "run folders", _writable, "change to a folder that you may write to, or use `--out`"),
    ("reports", "report.html, plots", _packages("altair", "vl_convert"), "pip install 'ackclock[report]'"),
    ("CMA-ES", "`hunt`", _packages("cmaes"), "pip install 'ackclock[hunt]'"),
    ("Dask", "`sweep --dask`", _packages("distributed"), "pip install 'ackclock[dask]'"),
    (
        "URLs",
        "`--out` on object stores",
        _packages("fsspec"),
        "pip install 'ackclock[fsspec]', or 'ackclock[s3]' for s3://",
    ),
    ("namespaces", "`emulate`", _namespaces, "run as root, or set `sysctl -w kernel.unprivileged_userns_clone=1`"),
    ("TUN devices", "`emulate`", _tun, "`modprobe tun`; in a container add `--device /dev/net/tun`"),
    (
        "timers",
        "the grade of `emulate`",
        _timers,
        "end other work on the CPUs; as root `emulate` takes real-time priority",
    ),
    ("NAT", "`emulate --internet`", _nat, "install nftables and run as root"),
    ("captures", "`measure --capture`, `serve`", _packet_sockets, "`setcap cap_net_raw+ep` or run as root"),
    ("TCP variants", "`emulate` with bbr", _kernel_variants, "`modprobe tcp_bbr`"),
    (
        "kernel-cc",
        "the papers' variants in the kernel",
        _kernel_cc,
        "`make kernel-cc` (clang, bpftool), and run as root",
    ),
)
