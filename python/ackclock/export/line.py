"""A link reduced to what other emulators have: one queue, rate, delay and loss in each
direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any

from ackclock.input.checked_table import CheckedTable, ReadBy, replaced
from ackclock.input.link.hop import DIRECTIONS, Direction, Hop
from ackclock.input.link.rate import is_schedule, mean_bps
from ackclock.input.units import PS_PER_S, show_rate, show_time

CELLS = {"atm": "ATM cells", "ptm": "PTM codewords", "noatm": "the bytes that the line adds to a packet"}
"""What the framing of a line is, by tc-cake(8)'s word for its cells."""


@dataclass
class Line:
    """One direction of a link. `missing` lists the properties that are lost, a sentence each.

    ``delay`` in ps, ``rate`` in bits/s or recorded; None is unlimited. With ``framing`` the rate is
    that of packets with what the line adds to them. Of a shaper ``burst`` has the bytes of its
    bucket, ``peak`` the rate of a burst in bits/s; None of both: one packet. ``policer`` is the
    slowest one, ``policed`` the framing by which it counts.
    """

    direction: str
    delay: int = 0
    rate: int | CheckedTable | None = None
    framing: CheckedTable | None = None
    queue: CheckedTable | None = None
    burst: int | None = None
    peak: int | None = None
    policer: CheckedTable | None = None
    policed: CheckedTable | None = None
    loss: CheckedTable | None = None
    jitter: Any = None
    duplicate: float = 0.0
    missing: list[str] = field(default_factory=list)

    def lacks(self, hop: str, what: str) -> None:
        self.missing.append(f"{self.direction}, {hop}: {what}")


def unframed(framing: CheckedTable) -> str:
    """That the bytes of a framing are not counted."""
    return f"{CELLS[framing.cake_cells]}: packets are sent as they are"


def cake_words(framing: CheckedTable) -> list[str]:
    """The framing as arguments of tc-cake(8), which counts from the IP packet."""
    mpu = ["mpu", str(framing.cake_mpu)] if framing.cake_mpu else []
    return [framing.cake_cells, "overhead", str(framing.cake_overhead), *mpu]


def lines_of(hops: Sequence[Hop]) -> dict[str, Line]:
    """Both directions of a link, each with the queue and rate of its slowest hop."""
    return {
        direction: _line(direction, [(hop, side) for hop in hops if (side := getattr(hop, direction))])
        for direction in DIRECTIONS
    }


def _line(direction: str, sides: Sequence[tuple[Hop, Direction]]) -> Line:
    line = Line(direction, delay=sum(hop.mean_delay[direction] for hop, _ in sides))
    slowest = min(sides, key=lambda one: _queue_bps(one, direction), default=None)
    for hop, side in sides:
        if (hop, side) == slowest:
            _take_queue(line, hop, side)
        elif bps := mean_bps(hop, direction):
            line.lacks(
                hop.name, f"a second queue, at {show_rate(round(bps))}: only that of the slowest hop is exported"
            )
        elif side.queue is not None and side.queue.ack is not None:
            line.lacks(hop.name, "what this queue does to ACKs: only the slowest hop's queue is kept")
        _take_rest(line, hop, side, is_slowest=(hop, side) == slowest)
    _take_policer(line, sides)
    line.loss = _one_loss(line, sides)
    line.duplicate = 1 - prod(1 - side.duplicate.mean for _, side in sides if side.duplicate)
    return line


def _queue_bps(side: tuple[Hop, Direction], direction: str) -> float:
    """The rate of a hop by which packets wait: that of a policer delays none."""
    hop, of = side
    limits = of.rate, of.shaper, hop.medium, hop.slots
    return mean_bps(hop, direction) or inf if any(limit is not None for limit in limits) else inf


def _take_queue(line: Line, hop: Hop, side: Direction) -> None:
    line.queue, line.rate, framing = side.queue, side.rate, side.framing
    shaper = side.shaper
    if shaper and (shaper.rate or shaper.max_shaper_rate) <= (mean_bps(hop, line.direction) or inf):
        if line.rate is not None or line.queue is not None or hop.medium:
            line.lacks(hop.name, "a queue behind the shaper: that of the shaper, which is slower, is exported")
        rate = shaper.rate or shaper.base_shaper_rate
        line.queue, line.rate, line.burst, line.peak = shaper.queue, rate, shaper.burst, shaper.peak
        if shaper.autorate:
            line.lacks(
                hop.name, f"a rate that changes, from {show_rate(rate)} on; {_controller(shaper, line.direction)}"
            )
        framing = shaper.framing or framing
    line.framing = None if isinstance(framing, str) else framing
    if hop.medium and line.rate is None:
        line.rate = hop.slowest_bps.get(line.direction)
        replacement = f"its maximum rate, {show_rate(line.rate)}, replaces it" if line.rate else "no rate replaces it"
        line.lacks(hop.name, f"a medium ({hop.medium.kind}): {replacement}")
    if hop.slots and line.rate is None:
        line.rate = hop.slowest_bps[line.direction]
        line.lacks(hop.name, f"slots: their mean rate, {show_rate(line.rate)}, and mean delay replace them")
    if hop.has_stations:
        line.lacks(hop.name, "a queue and a rate for each client: all clients share one")


_AUTORATE_KEYS = {
    "no_pingers": "no_pingers",
    "reflector_ping_interval": "reflector_ping_interval_s",
    "pinger_method": "pinger_method",
    "monitor_achieved_rates_interval": "monitor_achieved_rates_interval_ms",
    "owd_delta_delay_thr": "{}_owd_delta_delay_thr_ms",
    "avg_owd_delta_max_adjust_up_thr": "{}_avg_owd_delta_max_adjust_up_thr_ms",
    "avg_owd_delta_max_adjust_down_thr": "{}_avg_owd_delta_max_adjust_down_thr_ms",
    "bufferbloat_detection_window": "bufferbloat_detection_window",
    "bufferbloat_detection_thr": "bufferbloat_detection_thr",
    "alpha_baseline_increase": "alpha_baseline_increase",
    "alpha_baseline_decrease": "alpha_baseline_decrease",
    "shaper_rate_min_adjust_down_bufferbloat": "shaper_rate_min_adjust_down_bufferbloat",
    "shaper_rate_max_adjust_down_bufferbloat": "shaper_rate_max_adjust_down_bufferbloat",
    "shaper_rate_min_adjust_up_load_high": "shaper_rate_min_adjust_up_load_high",
    "shaper_rate_max_adjust_up_load_high": "shaper_rate_max_adjust_up_load_high",
    "shaper_rate_adjust_down_load_low": "shaper_rate_adjust_down_load_low",
    "shaper_rate_adjust_up_load_low": "shaper_rate_adjust_up_load_low",
    "high_load_thr": "high_load_thr",
    "bufferbloat_refractory_period": "bufferbloat_refractory_period_ms",
    "decay_refractory_period": "decay_refractory_period_ms",
}
"""Names of keys in the configuration of cake-autorate 3.2; {} is the direction."""


def _controller(shaper: CheckedTable, direction: str) -> str:
    """What changes a shaper's rate: the lines of cake-autorate's configuration that differ from its
    defaults, or the class.
    """
    if shaper.autorate != "cake-autorate":
        return f"{shaper.autorate} runs in ackclock only"
    side = {"down": "dl", "up": "ul"}[direction]
    lines = [
        f"{name}_{side}_shaper_rate_kbps={getattr(shaper, f'{name}_shaper_rate') // 1000}"
        for name in ("min", "base", "max")
    ]
    for key, name in _AUTORATE_KEYS.items():
        if (value := getattr(shaper, key)) is not None:
            unit = {"s": PS_PER_S, "ms": PS_PER_S // 1000}.get(name.rpartition("_")[2])
            lines.append(f"{name.format(side)}={value / unit if unit else value}")
    return f"cake-autorate 3.2 changes its rate beside tc, with {' '.join(lines)}"


def _take_rest(line: Line, hop: Hop, side: Direction, *, is_slowest: bool) -> None:
    if not isinstance(side.framing, str):
        if not is_slowest:
            line.lacks(hop.name, unframed(side.framing))
    elif side.framing != "none":
        line.lacks(hop.name, f"{side.framing} framing: headers are not compressed")
    if side.mtu:
        line.lacks(
            hop.name, f"an MTU of {side.mtu.ip} B: set it on the interface (`ip link set DEV mtu {side.mtu.ip}`)"
        )
    if side.shaper and not is_slowest:
        controller = f"; {_controller(side.shaper, line.direction)}" if side.shaper.autorate else ""
        line.lacks(hop.name, f"a shaper: only that of the slowest hop is exported{controller}")
    if is_schedule(side.delay):
        line.lacks(hop.name, f"a schedule of the delay: its mean, {show_time(side.delay.mean_ps)}, replaces it")
    if is_schedule(getattr(side.loss, "mean", None)):
        line.lacks(hop.name, f"a schedule of the loss: its mean, {side.loss.mean_share:g}, replaces it")
    if side.handover:
        line.lacks(hop.name, "handovers: the path stays the same")
    if hop.pep:
        line.lacks(hop.name, "a proxy: connections are not split")
    if side.outage:
        line.lacks(hop.name, f"{len(side.outage)} scheduled outages")
    if side.reorder:
        line.lacks(hop.name, "packets held back to be overtaken")
    if side.reconstruct:
        line.lacks(hop.name, "ACKs put in again")
    if side.jitter and line.jitter:
        line.lacks(hop.name, "a second jitter")
    line.jitter = line.jitter or side.jitter


def _take_policer(line: Line, sides: Sequence[tuple[Hop, Direction]]) -> None:
    """The slowest policer: what passes it hardly ever finds a faster one's bucket empty."""
    policed = [(hop, side) for hop, side in sides if side.policer]
    slowest = min(policed, key=lambda one: one[1].policer.rate, default=None)
    for hop, side in policed:
        if (hop, side) != slowest:
            line.lacks(hop.name, f"a second policer, of {show_rate(side.policer.rate)}: only the slowest is exported")
            continue
        framing = side.policer.framing or side.framing
        line.policer, line.policed = side.policer, None if isinstance(framing, str) else framing


def _one_loss(line: Line, sides: Iterable[tuple[Hop, Direction]]) -> CheckedTable | None:
    """Independent losses combined; of others the first, since no emulator has two."""
    losses = [(hop, side.loss) for hop, side in sides if side.loss]
    kept = next((loss for _, loss in losses if loss.kind != "bernoulli"), None)
    if kept is None and losses:
        lost = 1 - prod(1 - loss.mean_share for _, loss in losses)
        return ReadBy("Loss")(lost)
    for hop, loss in losses:
        if loss is not kept:
            line.lacks(hop.name, f"a second loss ({loss.kind})")
    if kept and is_schedule(getattr(kept, "mean", None)):
        return replaced(kept, mean=kept.mean_share)
    return kept
