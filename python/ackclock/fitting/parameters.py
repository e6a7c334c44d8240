"""The parameters of a fitted link: values, intervals, and what the captures do not identify."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ackclock.fitting import evidence

HOP = "access"
"""Name of the fitted hop."""
DIRECTIONS = ("down", "up")
MIN_QUEUE_BYTES = 15_000
"""Minimum of an assumed queue: ten full packets."""
MIN_PACKETS_BYTES = 4500
"""Minimum of a queue that is taken from the other direction's: three full packets."""
NS_PER_MS = 1e6
ROUNDED_TO = 100.0
"""Parts of an interval to which its ends and value are rounded."""
DRAWS = 400
"""Number of joint draws."""
GUESS = 4.0
"""Factor by which an assumed rate or queue may be wrong: its draws reach that far, so that a
comparison that depends on it is a tie."""
MIN_SERVING_SHARE = 0.3
MIN_SERVING_DIFFERENCE = 0.05
"""Minimum share of the service times of a busy link that agree, and by how much faster they are
than the mean, from which on it serves others, too."""


@dataclass(frozen=True)
class Parameter:
    """One parameter at its path in the link file.

    `status` is "identified" (a value with a 95 % interval), "bounded" (an interval, no value) or
    "assumed" (neither). `used` is the value in the link file, None where the key is left out.
    `kind` is the value of a key that is a word. `draws` are in the unit, in the order of the other
    parameters' draws.
    """

    path: str
    unit: str
    status: str
    method: str
    evidence: str
    value: float | None = None
    lo: float | None = None
    hi: float | None = None
    used: float | None = None
    why: str = ""
    kind: str = ""
    draws: Sequence[float] = field(default=(), repr=False)

    def row(self) -> dict[str, Any]:
        """The row of the document."""
        keys = ("path", "value", "unit", "lo", "hi", "status", "method", "evidence")
        row = {key: getattr(self, key) for key in keys}
        return {**row, "kind": self.kind} if self.kind else row

    def not_identified(self) -> dict[str, Any]:
        """The row of the document's `not_identified`."""
        return {"path": self.path, "why": self.why, "default": self.used}


def parameters_of(fit: Mapping[str, Any]) -> list[Parameter]:
    """All parameters of the engine's fit, in the order of a hop's keys."""
    rates = {direction: _rate(fit, direction) for direction in DIRECTIONS}
    stalls = [row for direction in DIRECTIONS for row in _stalls(fit[direction]["periodic_stalls"], direction)]
    late = [row for direction in DIRECTIONS for row in _reordering(fit[direction], direction)]
    delays = _delays(fit)
    rtt_ms = sum(delay.used or 0.0 for delay in delays) * (2 if len(delays) == 1 else 1)
    queues = [_queue(fit, direction, rates, rtt_ms) for direction in DIRECTIONS]
    losses = [row for direction in DIRECTIONS for row in _loss(fit[direction]["loss"], direction)]
    jitters = [row for direction in DIRECTIONS for row in _jitter(fit[direction]["jitter"], direction)]
    return [*rates.values(), *queues, *losses, *delays, *jitters, *late, *stalls]


def _path(*keys: str) -> str:
    return ".".join(("hop", HOP, *keys))


def _rate(fit: Mapping[str, Any], direction: str) -> Parameter:
    fitted = fit[direction]["rate"]
    path, method = _path("rate", direction), evidence.rate_method(fitted["evidence"]["method"])
    if fitted["status"] == "identified":
        row = _identified(path, "b/s", method, evidence.rate(fitted), fitted)
        return _shared(row, fitted) if serves_others(fitted) else row
    other = fit["up" if direction == "down" else "down"]["rate"]
    lo, hi = fitted["lo"], fitted["hi"]
    # ACKs alone need less than their direction carries.
    assumed = [rate for rate in (other["value"], other["lo"]) if rate is not None][:1]
    used = min(max([*assumed, lo or 0.0]), hi if hi is not None else math.inf) or None
    if fitted["evidence"]["bursts"] is not None:
        # Service times that do not agree are those of a token bucket and of its bursts.
        used = math.sqrt(lo * hi) if fitted["evidence"]["method"] == "mode" else lo
    return Parameter(
        path,
        "b/s",
        "bounded",
        method,
        evidence.rate(fitted),
        lo=lo,
        hi=hi,
        used=used,
        why=evidence.no_rate(fit, direction),
        draws=_guesses(path, used, lo, hi, factor=hi / lo if fitted["evidence"]["bursts"] else GUESS),
    )


def serves_others(fitted: Mapping[str, Any]) -> bool:
    """A busy link has a sharp service time and a lower mean rate: it served packets of others."""
    facts = fitted["evidence"]
    # Null without a gap in the mode.
    above = facts["mode_above_mean"] or 0.0
    return bool(
        fitted["status"] == "identified"
        and facts["method"] == "mean"
        # In steps, each has its own service time.
        and facts.get("steps") is None
        and facts["mode_share"] >= MIN_SERVING_SHARE
        and above >= MIN_SERVING_DIFFERENCE
    )


def _shared(row: Parameter, fitted: Mapping[str, Any]) -> Parameter:
    """The rate of a link that serves others as well: from what was left to the rate of its service
    times.
    """
    assert row.value is not None and row.lo is not None
    hi = fitted["value"] * (1 + fitted["evidence"]["mode_above_mean"])
    rng = random.Random(row.path)
    return replace(
        row,
        status="bounded",
        value=None,
        hi=rounded(row.value, row.lo, hi)[2],
        used=row.value,
        why="the link served others as well: what was left for these flows, to its own rate",
        draws=tuple(rng.uniform(row.lo, hi) for _ in row.draws),
    )


def _guesses(
    path: str, used: float | None, lo: float | None, hi: float | None, factor: float = GUESS
) -> tuple[float, ...]:
    """Draws of an assumed value: its logarithm is uniform, as far as the bounds allow."""
    if not used:
        return ()
    low = max(used / factor, lo or 0.0)
    high = max(min(used * factor, hi if hi is not None else math.inf), low)
    rng = random.Random(path)
    return tuple(low * (high / low) ** rng.random() for _ in range(DRAWS))


def _queue(fit: Mapping[str, Any], direction: str, rates: Mapping[str, Parameter], rtt_ms: float) -> Parameter:
    path, fitted = _path("queue", direction, "bytes"), fit[direction]["queue"]
    if fitted is not None and fitted["status"] == "identified":
        row = _identified(path, "B", "step of the loss rate over the backlog", evidence.queue(fitted), fitted)
        return _less_one_packet(row, fitted["evidence"]["packet"])
    seen = fitted["evidence"]["max_accepted"] if fitted is not None else 0.0
    rate = rates[direction].used or 0.0
    opposite = "up" if direction == "down" else "down"
    other, other_rate = fit[opposite]["queue"], rates[opposite].used
    why = evidence.no_queue(fitted)
    if other is not None and other["status"] == "identified" and other_rate:
        used = max(seen, other["value"] * rate / other_rate, MIN_PACKETS_BYTES)
        why += "; taken to hold as long a queue in time as the other direction's"
    else:
        used = max(2 * seen, rate / 8 * rtt_ms / 1e3, MIN_QUEUE_BYTES)
    used = float(round(used))
    return Parameter(
        path,
        "B",
        "bounded" if seen else "assumed",
        "largest backlog" if seen else "none",
        evidence.queue(fitted),
        lo=seen or None,
        used=used,
        why=why,
        draws=_guesses(path, used, seen, None),
    )


def _less_one_packet(row: Parameter, packet: float) -> Parameter:
    """The limit of a queue, with an interval and draws down by one packet: ACKs clock departures to
    the ends of services, and the packet in transmission may count or not.
    """
    assert row.lo is not None
    draws = tuple(max(packet, draw - packet * (number % 2)) for number, draw in enumerate(row.draws))
    return replace(row, lo=max(packet, row.lo - packet), draws=draws)


def _loss(fitted: Mapping[str, Any], direction: str) -> list[Parameter]:
    mean, sojourn = fitted["mean"], fitted["bad_sojourn"]
    path, text = _path("loss", direction, "mean"), evidence.loss(fitted)
    facts = mean["evidence"]
    bursty = facts["is_bursty"]
    method = "likelihood of Gilbert's channel" if bursty else "likelihood of independent losses"
    rows = []
    if mean["status"] == "identified":
        rows.append(_identified(path, "1", method, text, mean))
    else:
        share = facts["lost"] / facts["packets"] if facts["packets"] else 0.0
        why = evidence.no_loss(fitted)
        drawn = tuple(mean["draws"]) if share else ()
        rows.append(
            Parameter(
                path, "1", "bounded", method, text, lo=mean["lo"], hi=mean["hi"], used=share, why=why, draws=drawn
            )
        )
    if bursty:
        path = _path("loss", direction, "bad_sojourn")
        if sojourn["status"] == "identified":
            rows.append(_identified(path, "ms", method, text, sojourn, 1 / NS_PER_MS))
        else:
            lo, hi = sojourn["lo"] / NS_PER_MS, sojourn["hi"] / NS_PER_MS
            why = f"{facts['bursts']} bursts are too few for their length"
            drawn = tuple(draw / NS_PER_MS for draw in sojourn["draws"])
            used = math.sqrt(lo * hi)
            rows.append(Parameter(path, "ms", "bounded", method, text, lo=lo, hi=hi, used=used, why=why, draws=drawn))
    return rows


def _delays(fit: Mapping[str, Any]) -> list[Parameter]:
    """The delay of each direction with known clocks, else one for both."""
    if fit["known_clocks"]:
        of = {_path("delay", direction): fit[direction]["base_delay"] for direction in DIRECTIONS}
    else:
        of = {_path("delay"): fit["delay"]}
    text, method = evidence.delay(fit), "minimum delay of packets that found an empty path"
    rows = []
    for path, fitted in of.items():
        if fitted["status"] == "identified":
            rows.append(_identified(path, "ms", method, text, fitted, 1 / NS_PER_MS))
            continue
        hi = None if fitted["hi"] is None else max(0.0, fitted["hi"] / NS_PER_MS)
        why = "no packet found the path empty, so that every delay includes queueing"
        rows.append(Parameter(path, "ms", "bounded", "minimum delay", text, lo=0.0, hi=hi, used=hi, why=why))
    return rows


def _jitter(fitted: Mapping[str, Any], direction: str) -> list[Parameter]:
    path, text = _path("jitter", direction), evidence.jitter(fitted)
    if fitted["family"] is None:
        if fitted["status"] == "identified":
            hi = (fitted["p95"] or 0.0) / NS_PER_MS
            return [Parameter(path, "ms", "identified", "delays above their floor", text, value=0.0, lo=0.0, hi=hi)]
        return [Parameter(path, "ms", "assumed", "none", text, why=evidence.no_jitter(fitted))]
    method = f"{fitted['family']['kind']} distribution of the delays above their floor"
    if fitted["status"] != "identified":
        why = "no distribution of a link file describes the delays"
        return [
            Parameter(
                f"{path}.{parameter['key']}",
                "ms",
                "assumed",
                method,
                text,
                used=parameter["value"] / NS_PER_MS,
                why=why,
            )
            for parameter in fitted["parameters"]
        ]
    return [
        _identified(f"{path}.{parameter['key']}", "ms", method, text, parameter, 1 / NS_PER_MS)
        for parameter in fitted["parameters"]
    ]


def _stalls(stalls: Mapping[str, Any] | None, direction: str) -> list[Parameter]:
    if stalls is None:
        return []
    text, method = f"{stalls['stalls']} times at which the link sent nothing of what waited", "period of the stalls"
    path = _path("handover", direction)
    return [_identified(f"{path}.{key}", "ms", method, text, stalls[key], 1 / NS_PER_MS) for key in ("every", "gap")]


def _reordering(fit: Mapping[str, Any], direction: str) -> list[Parameter]:
    found = fit["reordering"]
    if found is None or (fit["jitter"]["in_order"] is False and fit["jitter"]["family"] is not None):
        return []
    text = f"others overtook {found['overtaken']} of {found['arrived']} packets"
    path, method = _path("reorder", direction), "packets that others overtook"
    return [
        _identified(f"{path}.mean", "1", method, text, found["mean"]),
        _identified(f"{path}.delay", "ms", method, text, found["delay"], 1 / NS_PER_MS),
    ]


def _identified(
    path: str, unit: str, method: str, text: str, fitted: Mapping[str, Any], scale: float = 1.0
) -> Parameter:
    value, lo, hi = (fitted[key] * scale for key in ("value", "lo", "hi"))
    if unit == "ms":  # an unloaded path may be shorter than what the clocks resolve
        value, lo, hi = max(value, 0.0), max(lo, 0.0), max(hi, 0.0)
    value, lo, hi = rounded(value, lo, hi)
    draws = tuple(draw * scale for draw in fitted["draws"])
    return Parameter(path, unit, "identified", method, text, value, lo, hi, used=value, draws=draws)


def rounded(value: float, lo: float, hi: float) -> tuple[float, float, float]:
    """A value and its interval without the digits that the interval does not support; the interval
    is widened by rounding, never narrowed.
    """
    width = hi - lo
    if not width > 0 or not math.isfinite(width):
        return value, lo, hi
    digits = -math.floor(math.log10(width / ROUNDED_TO))
    step = 10.0**-digits
    # The second rounding removes the binary rest of the division.
    return (
        round(round(value / step) * step, max(digits, 0)),
        round(math.floor(lo / step) * step, max(digits, 0)),
        round(math.ceil(hi / step) * step, max(digits, 0)),
    )
