"""The Linux kernel's counters of a host's retransmissions, as `nstat` prints them or /proc/net has
them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

Counters = Mapping[str, int]


@dataclass(frozen=True)
class KernelRetransmissions:
    """A host's retransmissions by cause.

    `total` is RetransSegs, `fast` TCPFastRetrans, `go_back_n` TCPSlowStartRetrans, `handshake`
    TCPSynRetrans (SYN and SYN-ACK). `timeouts` is TcpTimeoutRehash without the SYNs: TCPTimeouts
    counts the timer of a SYN-ACK as well. The kernel counts tail loss probes (TCPLossProbes), but
    not how many of them are retransmissions: `tlp_retransmits` is the rest of the total, and
    `new_data_probes` are the other probes. `spurious_timeouts` is TCPSpuriousRTOs (F-RTO),
    `dsack_segments` TCPDSACKRecvSegs: segments that the peer received twice. `lost_retransmissions`
    is TCPLostRetransmit.
    """

    total: int
    fast: int
    go_back_n: int
    timeouts: int
    handshake: int
    tlp_retransmits: int
    new_data_probes: int
    spurious_timeouts: int
    dsack_segments: int
    lost_retransmissions: int

    @staticmethod
    def of(counters: Counters) -> KernelRetransmissions:
        """From a host's counters; an absent counter is zero."""
        total, fast, go_back_n = (
            counters.get(name, 0) for name in ("RetransSegs", "TCPFastRetrans", "TCPSlowStartRetrans")
        )
        handshake, probes = counters.get("TCPSynRetrans", 0), counters.get("TCPLossProbes", 0)
        of_syn = handshake if counters.get("ActiveOpens", 0) else 0
        timeouts = counters.get("TcpTimeoutRehash", 0) - of_syn
        rest = total - fast - go_back_n - timeouts - handshake
        tlp = min(max(rest, 0), probes)
        return KernelRetransmissions(
            total,
            fast,
            go_back_n,
            timeouts,
            handshake,
            tlp,
            probes - tlp,
            counters.get("TCPSpuriousRTOs", 0),
            counters.get("TCPDSACKRecvSegs", 0),
            counters.get("TCPLostRetransmit", 0),
        )

    def document(self) -> dict[str, int]:
        """As a dict for JSON."""
        return asdict(self)


def read_counters(path: Path) -> dict[str, dict[str, int]]:
    """The counters of `client` and `server` in a file with a header `== NAME` per host, a counter a
    line.

    A header that ends with `c` or `client` begins the client's counters, any other the server's.
    """
    hosts: dict[str, dict[str, int]] = {}
    current: dict[str, int] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("=="):
            name = line[2:].strip()
            current = hosts.setdefault("client" if name.endswith(("-c", "client")) else "server", {})
        elif len(fields := line.split()) >= 2 and not line.startswith("#"):
            current[_short(fields[0])] = int(fields[1])
    return hosts


def _short(name: str) -> str:
    """The counter's name in /proc/net, without the prefix of nstat: `TcpExtTCPTimeouts` is
    TCPTimeouts."""
    if name.startswith("TcpExt"):
        return name.removeprefix("TcpExt")
    return name.removeprefix("Tcp") if name.startswith("Tcp") and not name.startswith("TcpTimeoutRehash") else name
