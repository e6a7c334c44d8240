"""Captures of downloads by Linux 6.12 in virtual time through its own queueing disciplines."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.fit.foreign.links import Captures
from studies.virtual_kernel import draws, guest, setups
from studies.virtual_kernel.build import Kernel
from studies.virtual_kernel.runs import netem_seed
from studies.virtual_kernel.setups import Flow, Row

SECONDS = 30.0
REPEATS = 2
"""Downloads of each variant; the input, one of cubic, comes before them."""


@dataclass(frozen=True)
class VirtualLink:
    """A path of the kernel in virtual time, and by how many flows it is used."""

    path: setups.Path
    flows: int = 1

    @property
    def name(self) -> str:
        return f"{self.path.name}, {self.flows} flows" if self.flows > 1 else self.path.name

    def row(self, variant: str) -> Row:
        return Row(self.path, (Flow(variant),) * self.flows, SECONDS)


LINKS: Sequence[VirtualLink] = (
    VirtualLink(setups.SHALLOW),
    VirtualLink(setups.ONE_BDP, flows=2),
    VirtualLink(setups.FQ_CODEL),
    VirtualLink(setups.ecn(setups.FQ_CODEL, "fq_codel ecn")),
    VirtualLink(setups.CAKE),
    VirtualLink(setups.CAKE, flows=2),
    VirtualLink(setups.PIE),
    VirtualLink(setups.POLICER),
    VirtualLink(setups.UP_FILTER),
    VirtualLink(setups.lossy("1 % in bursts")),
)


def download(kernel: Kernel, link: VirtualLink, variant: str, repeat: int, folder: Path) -> Captures:
    """The captures of a download with a variant, made unless they are there.

    Raises guest.Failed and Unavailable.
    """
    captures = folder / "server.pcap", folder / "client.pcap"
    if all(path.is_file() for path in captures):
        return captures
    folder.mkdir(parents=True, exist_ok=True)
    row, seed = link.row(variant), repeat + 1
    script = row.script(seed, netem_seed(row, seed, draws.read()), captures=True)
    with guest.run(kernel, script, seed) as of:
        for path in captures:
            shutil.copy(of / path.name, path)
    return captures
