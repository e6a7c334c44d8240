"""Links on which single rules of the kernel decide: losses, reordering, ACK trains at the edge of
HyStart's, and a token bucket. Rows of `docs/evidence/kernel-vs-simulator.md`, each seed's run of
the kernel paired with the simulator's of the same draws."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from studies.kernel.transfers import Figures

SEEDS = (1, 2, 3)
_LOSSY = """title = "{title}"
source = "test"
[[hop]]
name = "line"
rate = "10 Mb/s"
delay = "20 ms"
queue = {{ kind = "droptail", bytes = "100 kB" }}
{condition}
"""
_STEP = """title = "{rate} Mb/s, 40 ms, a deep buffer"
source = "test"
[[hop]]
name = "line"
rate = "{rate} Mb/s"
delay = "20 ms"
queue = {{ kind = "droptail", bytes = "400 kB" }}
"""
_BUCKET = """title = "A cable modem's token bucket of 10 Mb/s and 64 KiB on a channel of 50 Mb/s"
source = "test"
[[hop]]
name = "core"
delay = "15 ms"
[[hop]]
name = "cable"
medium = { kind = "grants", standard = "docsis-3.1", rate = { down = "50 Mb/s", up = "20 Mb/s" }, cap = { down = "10 Mb/s", up = "5 Mb/s" }, burst = "64 KiB" }
queue = { kind = "droptail", bytes = "200 kB" }
"""
_SHARES = {"0.1 %": 0.001, "1 %": 0.01, "2 %": 0.02}
BURST_PACKETS = 3
"""Mean length of a burst of losses, in packets of 1500 B at the line's rate."""


def _bursty(share: float) -> str:
    sojourn_ms = BURST_PACKETS * 1500 * 8 / 10e6 * 1e3
    return f'loss.down = {{ kind = "gilbert-elliott", mean = {share}, bad_sojourn = "{sojourn_ms:.1f} ms" }}'


def _links() -> Iterator[tuple[str, str]]:
    for name, share in _SHARES.items():
        condition = f'loss.down = {{ kind = "bernoulli", mean = {share} }}'
        yield f"random loss of {name}", _LOSSY.format(title=f"{name} of random loss", condition=condition)
    for name, share in _SHARES.items():
        yield f"loss of {name} in bursts", _LOSSY.format(title=f"{name} of loss in bursts", condition=_bursty(share))
    reorder = 'reorder.down = { mean = 0.03, delay = "5 ms" }'
    yield "3 % reordered", _LOSSY.format(title="3 % of packets 5 ms late", condition=reorder)
    for step in range(7):
        rate = 5.5 + step / 4
        yield f"{rate:.2f} Mb/s", _STEP.format(rate=f"{rate:.2f}")
    yield "token bucket", _BUCKET


CONDITIONS = dict(_links())
"""Link files by name."""


def variants_of(link: str) -> tuple[str, ...]:
    """What runs over a link: cubic alone at HyStart's edge, bbr alone behind the token bucket."""
    if link == "token bucket":
        return ("bbr",)
    return ("cubic",) if link.endswith("Mb/s") else ("reno", "cubic")


@dataclass(frozen=True)
class Paired:
    """Means over the seeds: the simulator's figure over the kernel's, less one."""

    goodput: float
    rtt: float
    retransmitted: float


def paired(simulated: Sequence[Figures], measured: Sequence[Figures]) -> Paired:
    """The mean of each seed's relative difference.

    >>> paired([Figures(1.1, 50.0, 9)], [Figures(1.0, 50.0, 10)]).goodput.__round__(2)
    0.1
    """
    pairs = list(zip(simulated, measured, strict=True))
    return Paired(
        statistics.fmean(s.goodput_bps / m.goodput_bps - 1 for s, m in pairs),
        statistics.fmean(s.rtt_ms / m.rtt_ms - 1 for s, m in pairs),
        sum(s.retransmitted for s, _ in pairs) / max(sum(m.retransmitted for _, m in pairs), 1) - 1,
    )


def paired_faults(difference: Paired, simulated: Sequence[Figures], measured: Sequence[Figures]) -> list[str]:
    """Figures beyond the tolerances: goodput 5 %, RTT 10 %, retransmissions a factor of 1.5 or 5
    segments a run."""
    failed = []
    if abs(difference.goodput) > 0.05:
        failed.append("goodput")
    if abs(difference.rtt) > 0.10:
        failed.append("RTT")
    low, high = sorted(sum(run.retransmitted for run in runs) / len(runs) for runs in (simulated, measured))
    if high - low > 5 and high > 1.5 * low:
        failed.append("retransmissions")
    return failed
