"""Storage of valid transfers of the running kernel, a line of JSON each: a table can be measured in
parts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock


@dataclass(frozen=True)
class Figures:
    """`rtt_ms` is the mean over time of the sender's smoothed RTT; `goodput_bps` includes the
    handshake."""

    goodput_bps: float
    rtt_ms: float
    retransmitted: int


@dataclass(frozen=True)
class Transfer:
    """A valid transfer.

    `link_digest`: of the link file's text; `began_s`: start, since the link's; `load`: load
    average; `seed`: of the link's random numbers; `code`: digest of the emulator's and the
    program's sources;
    `started`: Unix time; `steal_percent`: CPU time that the hypervisor gave to other machines.
    `grade` and what follows are absent in earlier files.
    """

    link: str
    variant: str
    seconds: float
    release: str
    link_digest: str
    began_s: float
    load: float
    figures: Figures
    seed: int = 1
    grade: str = ""
    code: str = ""
    started: float = 0.0
    steal_percent: float = 0.0

    def same_as(self, other: Transfer) -> bool:
        """Whether both belong to the same row: link, variant, length, kernel and emulator."""
        keys = ("link", "variant", "seconds", "release", "link_digest", "code")
        return all(getattr(self, key) == getattr(other, key) for key in keys)


class TransferStore:
    """The transfers in a file, or without a file only those of this process."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = Lock()
        lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
        self._all = [transfer_of(line) for line in lines]

    def add(self, transfer: Transfer) -> None:
        with self._lock:
            self._all.append(transfer)
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(transfer)) + "\n")

    def of(self, link: str, variant: str, seconds: float, release: str, link_digest: str, code: str) -> list[Transfer]:
        """The transfers of a row, in the order in which they were made."""
        row = Transfer(link, variant, seconds, release, link_digest, 0.0, 0.0, Figures(0.0, 0.0, 0), code=code)
        return [transfer for transfer in self._all if transfer.same_as(row)]


def transfer_of(line: str) -> Transfer:
    """Parse a line that `TransferStore.add` has written."""
    fields = json.loads(line)
    return Transfer(**{**fields, "figures": Figures(**fields["figures"])})
