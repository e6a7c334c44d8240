"""Media that send in frames, and the jitter that keeps RTTs off the grid of their frames.

Where every packet waits for a frame, and all other delays are constant, RTTs are whole numbers of
frames. What compares RTTs then depends on the exact delays, as no measured path has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.input.checked_table import CheckedTable
from ackclock.input.link.hop import DIRECTIONS, Hop
from ackclock.input.units import show_time

ENOUGH = 0.25
"""The jitter from which on RTTs leave the grid: its sd as a share of a frame."""
PERTURBED = ("0.5 ms", "2 ms")
"""Mean jitter, in each direction, under which verdicts over frames are tried."""


@dataclass(frozen=True, slots=True)
class FrameGrid:
    """The longest frames of a path.

    Attributes:
        hop: the hop with the medium.
        frame_ps: the time from one frame to the next, of the direction where it is longer.
        jitter_sd_ps: the standard deviation of a round trip's jitter, of all hops.
        jitter_hop: the hop that takes more jitter: the one that has some, a wired one, or `hop`.
    """

    hop: str
    frame_ps: int
    jitter_sd_ps: float
    jitter_hop: str

    @classmethod
    def of(cls, hops: Sequence[Hop]) -> FrameGrid | None:
        """Of a path; None without a medium that sends in frames."""
        framed = max(hops, key=frame_ps)
        if not (longest := frame_ps(framed)):
            return None
        sds = {hop.name: math.hypot(*map(jitter_sd_ps, _jitters(hop))) for hop in hops}
        wired = (hop.name for hop in hops if not hop.medium and hop.down and hop.up)
        place = next((name for name, sd in sds.items() if sd), next(wired, framed.name))
        return cls(framed.name, longest, math.hypot(*sds.values()), place)

    @property
    def is_enough(self) -> bool:
        """Whether the jitter keeps RTTs off the grid."""
        return self.jitter_sd_ps >= ENOUGH * self.frame_ps

    @property
    def remark(self) -> str:
        """What the grid does to RTTs, and the key that changes it, as sentences."""
        jitter = f"the path's jitter (sd {self.jitter_sd_ps / 1e9:.2g} ms in an RTT) is less than a quarter of one"
        return (
            f"`{self.hop}` sends in frames of {show_time(self.frame_ps)}, and "
            f"{jitter if self.jitter_sd_ps else 'the path has no jitter'}: RTTs lock to the grid of the frames, and "
            "what compares RTTs (vegas, veno, HyStart) depends on the exact delays. "
            f'`hop.{self.jitter_hop}.jitter` adds some, such as {{ kind = "exponential", mean = "1 ms" }}.'
        )

    def points(self) -> Iterator[tuple[str, str, dict[str, dict[str, str]]]]:
        """Other jitter of the path: what it is, its value, and the value by dotted path."""
        for mean in PERTURBED:
            jitter = {"kind": "exponential", "mean": mean}
            yield f"the mean jitter of `{self.jitter_hop}`", mean, {f"hop.{self.jitter_hop}.jitter": jitter}


def locked(hops: Sequence[Hop]) -> list[str]:
    """The remark about a path whose RTTs lock to the grid of its frames; none about others."""
    grid = FrameGrid.of(hops)
    return [] if grid is None or grid.is_enough else [grid.remark]


def frame_ps(hop: Hop) -> int:
    """The time between two frames, or two grants of a direction, in ps; 0 without frames."""
    plan: dict[str, Any] = hop.medium.plan() if hop.medium else {}
    if plan.get("kind") == "grants":
        return max(int(plan[direction]["interval_ps"]) for direction in DIRECTIONS)
    return int(plan.get("frame_ps", 0))


def _jitters(hop: Hop) -> Iterator[CheckedTable]:
    for direction in DIRECTIONS:
        side = getattr(hop, direction)
        if side and side.jitter:
            yield side.jitter


def jitter_sd_ps(jitter: CheckedTable) -> float:
    """The standard deviation of the delays that a jitter draws, in ps (docs/models/jitter.md).

    Of `pareto`, whose variance is infinite up to a shape of 2 and due to rare packets above, half
    the range of the middle 68.27 %, which is the standard deviation of a normal distribution.
    """
    plan: dict[str, Any] = jitter.plan()
    if plan["kind"] == "uniform":
        return float(plan["high_ps"] - plan["low_ps"]) / math.sqrt(12.0)
    mean = float(plan["mean_ps"])
    if plan["kind"] == "exponential":
        return mean
    if plan["kind"] == "pareto":
        scale, exponent = mean * (plan["shape"] - 1.0) / plan["shape"], -1.0 / plan["shape"]
        outside = math.erfc(math.sqrt(0.5)) / 2.0
        return float(scale * (outside**exponent - (1.0 - outside) ** exponent) / 2.0)
    return _clamped_normal_sd(mean, float(plan["sd_ps"]))


def _clamped_normal_sd(mean: float, sd: float) -> float:
    """The standard deviation of a normal variable whose negative values are 0."""
    if not sd:
        return 0.0
    z = mean / sd
    above = 0.5 * math.erfc(-z / math.sqrt(2.0))
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    first = z * above + density
    second = (z * z + 1.0) * above + z * density
    return sd * math.sqrt(max(0.0, second - first * first))
