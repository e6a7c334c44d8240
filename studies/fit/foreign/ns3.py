"""Captures of downloads that ns-3 simulates (Debian: `apt-get install libns3-dev g++`)."""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path

from studies.fit.foreign.links import NS3_S, Captures, Ns3Link

SOURCE = Path(__file__).with_name("bottleneck.cc")
MODULES = ("applications", "core", "internet", "network", "point-to-point", "traffic-control")
VARIANTS = {"cubic": "TcpCubic", "bbr": "TcpBbr"}


class Ns3Missing(RuntimeError):
    """ns-3 or a compiler is not installed."""


@lru_cache(maxsize=1)
def version() -> str:
    """The version of the installed ns-3, by Debian's pkg-config.

    Raises:
        Ns3Missing: none is installed.
    """
    files = sorted(Path("/usr/lib").glob("*/pkgconfig/ns3-core.pc"))
    found = re.search(r"^Version: *(\S+)", files[0].read_text(), re.MULTILINE) if files else None
    if not found:
        raise Ns3Missing("libns3-dev is not installed")
    return found[1]


def compiled(folder: Path) -> Path:
    """bottleneck.cc as a program in `folder`.

    Raises:
        Ns3Missing: no ns-3 is installed.
    """
    version()
    program = folder / "bottleneck"
    libraries = [f"-lns3-{module}" for module in MODULES]
    subprocess.run(["c++", "-O1", "-std=c++17", str(SOURCE), "-o", str(program), *libraries], check=True)
    return program


def download(link: Ns3Link, variant: str, repeat: int, folder: Path, program: Path) -> Captures:
    """Simulate a download into `folder`; its captures."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(program), f"--variant={VARIANTS[variant]}", f"--run={repeat + 1}", f"--seconds={NS3_S:g}"]
    subprocess.run([*command, f"--folder={folder}", *link.arguments], check=True)
    # The sender opens the connection: it is the client.
    return folder / "receiver.pcap", folder / "sender.pcap"
