"""The ``path`` test: the hops of a path and the capacity of each link.

It requires no server and no privilege.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import polars as pl

from ackclock.measurement.pathchar import Hop, hops_of
from ackclock.measurement.plan import REPLY_BYTES, Plan
from ackclock.measurement.session import guarded

if TYPE_CHECKING:
    from ackclock.documents.measure import ProbeRow

LOOKS = 3
"""Probes for each hop during the search for hops."""
EVERY_S = 1.0
"""Interval between probes to a hop with an ICMP rate limit; Linux replies this often by default
(icmp_ratelimit), others similarly.
"""
BRISK_S = 0.02
"""Interval between probes to any other hop."""


@dataclass(frozen=True, slots=True)
class PathProbes:
    """``probes`` has a row for each: ``hop``, ``ip_bytes``, ``sent_s``, ``rtt_ms`` (null: no
    reply), ``address``, ``answer``, ``brisk``.
    """

    probes: pl.DataFrame
    hops: list[Hop]

    @property
    def ip_bytes(self) -> int:
        """IP bytes of the probes and of their replies, which are at most 576 bytes long."""
        sizes = self.probes["ip_bytes"]
        answered = int(self.probes["rtt_ms"].is_not_null().sum())
        return int(sizes.sum() or 0) + REPLY_BYTES * answered


def seconds(plan: Plan, every_s: float = EVERY_S) -> float:
    """Duration of a walk over few hops with a probe every ``every_s``; by default as if every hop
    had an ICMP rate limit.
    """
    return every_s * (LOOKS + len(plan.path_sizes) * plan.path_rounds)


def walk(host: str, plan: Plan, report: Callable[[float], None]) -> PathProbes:
    """Probe the hops of the path to a host; ``report`` is called with the completed share.

    Raises InputError for a host without an address, RunFailed if the system refuses.
    """
    from ackclock import _native

    options = {
        "looks": LOOKS,
        "sizes": list(plan.path_sizes),
        "rounds": plan.path_rounds,
        "every_ns": round(EVERY_S * 1e9),
        "brisk_ns": round(BRISK_S * 1e9),
    }
    probes = pl.DataFrame(guarded(lambda: _native.path_walk(host, json.dumps(options), report)))
    return PathProbes(probes, hops_of(cast("list[ProbeRow]", probes.to_dicts())))
