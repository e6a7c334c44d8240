"""CAKE and DualPI2 under constant overload, against what follows from the paper and from RFC 9332.

The traffic does not respond to signals, so that each equilibrium is a short calculation. The first
seconds of a run are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any

import polars as pl

from studies.oracles.agreement import Check, Figure
from studies.oracles.aqm import MBPS, MS, WITHIN, replay_ours
from studies.oracles.aqm_arrivals import ECT0, ECT1, NOT_ECT, Arrivals, Packet

RATE = 20 * MBPS
SECONDS = 60
WARM_UP_S = 20

DUALPI2 = {
    "kind": "dualpi2",
    "packets": 10_000,
    "bytes": None,
    "target_ps": 15 * MS,
    "update_ps": 16 * MS,
    "alpha": 0.16,
    "beta": 3.2,
    "coupling": 2,
    "step_ps": MS,
    "overload": 0.25,
    "classic_share": 0.1,
}
CAKE = {
    "kind": "cake",
    "packets": 10_240,
    "bytes": 4 * 2**20,
    "flows": 1024,
    "quantum": 1514,
    "hosts": False,
    "target_ps": 5 * MS,
    "interval_ps": 100 * MS,
    "mtu": 1514,
    "signal": "mark",
}


@dataclass(frozen=True)
class Source:
    """A flow with exponential gaps; `load` is its rate as a share of the link's."""

    load: float
    size: int = 1500
    ecn: int = NOT_ECT


def _traffic(sources: Sequence[Source], seconds: float) -> list[Packet]:
    packets = []
    for flow, source in enumerate(sources):
        arrivals = Arrivals("poisson", RATE, source.load, seconds, seed=flow + 1, sizes=(source.size,))
        packets += [(ns, flow, size, source.ecn) for ns, _, size, _ in arrivals.packets()]
    return sorted(packets)


def _events(queue: Mapping[str, Any], sources: Sequence[Source], seconds: float = SECONDS) -> pl.DataFrame:
    """Events of the packets that arrive after the warm-up: `flow`, `kind`, `bytes`, `wait_ms`."""
    events = replay_ours(queue, RATE, 1, _traffic(sources, seconds))
    return events.filter(pl.col("arrived") >= WARM_UP_S * 10**9)


def _share(events: pl.DataFrame, kind: str, flow: int) -> float:
    """Packets of a flow with this event, as a share of those that arrived."""
    own = events.filter(pl.col("flow") == flow)
    ended = own.filter(pl.col("kind") != "marked")
    return own.filter(pl.col("kind").is_in(kind.split())).height / ended.height


def _wait_ms(events: pl.DataFrame, flow: int) -> float:
    departed = events.filter((pl.col("flow") == flow) & (pl.col("kind") == "departed"))
    return float(departed["wait_ms"].to_numpy().mean())


def _rate_mbps(events: pl.DataFrame, flow: int) -> float:
    departed = events.filter((pl.col("flow") == flow) & (pl.col("kind") == "departed"))
    return float(departed["bytes"].sum()) * 8 / (SECONDS - WARM_UP_S) / 1e6


DROPPED = "early full"


def dualpi2_classic(case: str) -> list[Figure]:
    """Overload 1.2: the PI controller holds the target, and p_C = 1 - 1/1.2 is dropped."""
    events = _events(DUALPI2, [Source(1.2)])
    return [
        Figure(case, "dropped", _share(events, DROPPED, 0), 1 - 1 / 1.2, WITHIN, unit="%"),
        Figure(case, "mean delay", _wait_ms(events, 0), 15, WITHIN, unit="ms"),
    ]


def dualpi2_coupled(case: str) -> list[Figure]:
    """Classic traffic of 1.05 and L4S traffic of 0.05: p_C = 1 - 0.95/1.05, p_CL = 2 sqrt(p_C)."""
    events = _events(DUALPI2, [Source(1.05), Source(0.05, 200, ECT1)])
    classic = 1 - 0.95 / 1.05
    return [
        Figure(case, "classic dropped", _share(events, DROPPED, 0), classic, WITHIN, unit="%"),
        Figure(case, "classic mean delay", _wait_ms(events, 0), 15, WITHIN, unit="ms"),
        Figure(case, "L4S dropped", _share(events, DROPPED, 1), 0, WITHIN, "equal", unit="%"),
        Figure(case, "L4S marked", _share(events, "marked", 1), 2 * sqrt(classic), WITHIN, unit="%"),
    ]


def dualpi2_overload(case: str) -> list[Figure]:
    """L4S traffic of 1.2 and classic of 0.5: above saturation both are dropped with 1 - 1/1.7."""
    events = _events(DUALPI2, [Source(0.5, ecn=ECT0), Source(1.2, ecn=ECT1)])
    dropped = 1 - 1 / 1.7
    return [
        Figure(case, "classic dropped", _share(events, DROPPED, 0), dropped, WITHIN, unit="%"),
        Figure(case, "L4S dropped", _share(events, DROPPED, 1), dropped, WITHIN, unit="%"),
        Figure(case, "classic mean delay", _wait_ms(events, 0), 15, WITHIN, unit="ms"),
    ]


def cake_shares(case: str) -> list[Figure]:
    """Two flows below their fair share keep their rates, three others share the rest equally."""
    light, heavy = [Source(0.05, 200), Source(0.1, 576)], [Source(0.4), Source(0.6, 700), Source(1.0, 300)]
    events = _events(CAKE, [*light, *heavy])
    rest = (RATE / 1e6) * (1 - 0.15) / 3
    return [
        *(
            Figure(
                case,
                f"rate, offered {source.load:g}",
                _rate_mbps(events, flow),
                RATE / 1e6 * source.load,
                WITHIN,
                unit="Mb/s",
            )
            for flow, source in enumerate(light)
        ),
        *(
            Figure(case, f"rate, offered {source.load:g}", _rate_mbps(events, flow), rest, WITHIN, unit="Mb/s")
            for flow, source in enumerate(heavy, 2)
        ),
    ]


def cake_marks(case: str) -> list[Figure]:
    """ECT traffic of 1.05: signal n + 1 follows signal n after interval / sqrt(n + 1)."""
    seconds = 12.0
    events = replay_ours(
        {**CAKE, "packets": 10**6, "bytes": 2**30}, RATE, 1, _traffic([Source(1.05, ecn=ECT0)], seconds)
    )
    marks = (events.filter(pl.col("kind") == "marked")["ns"].sort() / 1e9).to_list()
    # The queue of a Poisson stream returns below the target at first.
    first = marks[10]
    expected, next_s, count = 0, first, 11
    while next_s < seconds:
        expected, count = expected + 1, count + 1
        next_s += 0.1 / sqrt(count)
    return [Figure(case, "marks", sum(first <= mark < seconds for mark in marks), expected, WITHIN)]


def cake_blue(case: str) -> list[Figure]:
    """ECT traffic of 2 that overflows: BLUE drops 1 - 1/2 of it, so that few find no room."""
    events = _events({**CAKE, "packets": 1000}, [Source(2.0, ecn=ECT0)])
    return [
        Figure(case, "dropped", _share(events, DROPPED, 0), 0.5, WITHIN, unit="%"),
        Figure(case, "dropped by BLUE", _share(events, "early", 0), 0.5, WITHIN, unit="%"),
    ]


ROWS = {
    "dualpi2, classic 1.2": dualpi2_classic,
    "dualpi2, classic 1.05, L4S 0.05": dualpi2_coupled,
    "dualpi2, classic 0.5, L4S 1.2": dualpi2_overload,
    "cake, five flows": cake_shares,
    "cake, one ECT flow 1.05": cake_marks,
    "cake, one ECT flow 2, 1000 packets": cake_blue,
}


def checks() -> list[Check]:
    """One for each row. They need `ackclock-bench`."""
    return [Check(case, partial(figures, case)) for case, figures in ROWS.items()]
