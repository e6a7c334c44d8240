"""The kernel's figures of a row against the simulator's: tolerances, and the known misses."""

from __future__ import annotations

import math
import statistics
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock.statistics.intervals import t_quantile
from studies.virtual_kernel.runs import Figures, Outcome
from studies.virtual_kernel.setups import Row

GOODPUT = 0.02
RTT, RTT_MS = 0.03, 1.0
RETRANSMITTED, SEGMENTS = 0.1, 3.0
CONFIDENCE = 0.95
MISSES = Path(__file__).with_name("misses.toml")
"""Rows that miss, and why."""
UNTRACED = "not traced"


@dataclass(frozen=True)
class Figure:
    """One figure of one flow: means over the seeds, and a verdict.

    The verdict is `holds` within the tolerance, `spread` beyond it if the 95 % interval of the
    difference of the means (paired where both sides share the draws, else Welch's) contains zero,
    otherwise `misses`.
    """

    name: str
    kernel: float
    simulator: float
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """A row's figures, by flow."""

    row: Row
    flows: tuple[tuple[Figure, ...], ...]

    @property
    def verdict(self) -> str:
        verdicts = {figure.verdict for flow in self.flows for figure in flow}
        return next(word for word in ("misses", "spread", "holds") if word in verdicts)

    @property
    def missed(self) -> list[str]:
        """Names of the figures that miss, with the flow's number where there are several."""
        flows = [(f" of flow {at}" if len(self.flows) > 1 else "", flow) for at, flow in enumerate(self.flows, 1)]
        return [figure.name + of for of, flow in flows for figure in flow if figure.verdict == "misses"]


def compare(row: Row, kernel: Sequence[Outcome], simulator: Sequence[Outcome]) -> Comparison:
    """The outcomes are of the same seeds, in the same order."""
    flows = []
    for at in range(len(row.flows)):
        pairs = [(a.flows[at], b.flows[at]) for a, b in zip(kernel, simulator, strict=True)]
        flows.append(tuple(_figures(pairs, shared=row.path.loss is not None)))
    return Comparison(row, tuple(flows))


def _figures(pairs: Sequence[tuple[Figures, Figures]], shared: bool) -> list[Figure]:
    return [
        _figure("goodput", [(a.goodput_bps, b.goodput_bps) for a, b in pairs], GOODPUT, 0.0, shared),
        _figure("median RTT", [(a.rtt_p50_ms, b.rtt_p50_ms) for a, b in pairs], RTT, RTT_MS, shared),
        _figure("95th percentile of RTT", [(a.rtt_p95_ms, b.rtt_p95_ms) for a, b in pairs], RTT, RTT_MS, shared),
        _figure(
            "retransmissions", [(a.retransmitted, b.retransmitted) for a, b in pairs], RETRANSMITTED, SEGMENTS, shared
        ),
    ]


def _figure(name: str, pairs: Sequence[tuple[float, float]], share: float, amount: float, shared: bool) -> Figure:
    kernel, simulator = ([pair[side] for pair in pairs] for side in (0, 1))
    a, b = statistics.fmean(kernel), statistics.fmean(simulator)
    if abs(b - a) <= max(share * abs(a), amount):
        verdict = "holds"
    else:
        verdict = "spread" if len(pairs) > 1 and abs(b - a) <= _half_interval(kernel, simulator, shared) else "misses"
    return Figure(name, a, b, verdict)


def _half_interval(a: Sequence[float], b: Sequence[float], shared: bool) -> float:
    """Half of the interval of the difference of the means."""
    n, p = len(a), (1 + CONFIDENCE) / 2
    if shared:
        differences = [x - y for x, y in zip(a, b, strict=True)]
        return t_quantile(p, n - 1) * statistics.stdev(differences) / math.sqrt(n)
    va, vb = statistics.variance(a) / n, statistics.variance(b) / n
    if va + vb == 0:
        return 0.0
    freedom = (va + vb) ** 2 * (n - 1) / (va**2 + vb**2)
    return t_quantile(p, freedom) * math.sqrt(va + vb)


def known_misses(path: Path = MISSES) -> dict[str, str]:
    """Causes by the rows' names."""
    return tomllib.loads(path.read_text("utf-8"))["misses"] if path.exists() else {}


def write_misses(causes: dict[str, str], path: Path = MISSES) -> None:
    quoted = {name: cause.replace("\\", "\\\\").replace('"', '\\"') for name, cause in causes.items()}
    lines = [f'"{name}" = "{cause}"' for name, cause in quoted.items()]
    head = (
        "# Rows whose figures differ from the kernel's by more than the tolerances, and why. Renewed by\n"
        "# `make virtual-kernel VIRTUAL_KERNEL=--simulator`, which keeps the causes of rows that still miss.\n"
    )
    path.write_text("\n".join([head + "[misses]", *lines]) + "\n", encoding="utf-8")
