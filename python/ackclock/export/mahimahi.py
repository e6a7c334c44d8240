"""A link as mahimahi shells: mm-delay, mm-loss and mm-link with a trace for each direction
(Netravali et al. 2015).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from math import gcd

from ackclock.export.line import Line, unframed
from ackclock.input.checked_table import CheckedTable
from ackclock.input.link.queue import limit_in_packets
from ackclock.input.link.rate import is_recorded, mean_rate, recording
from ackclock.input.link.trace import BYTES_PER_OPPORTUNITY
from ackclock.input.units import show_rate

BITS_PER_CHANCE = 8 * BYTES_PER_OPPORTUNITY
LONGEST_PERIOD_MS = 60_000
UNLIMITED_BPS = 10**9
SIDES = {"up": "uplink", "down": "downlink"}

SCRIPT = """\
#!/bin/sh
# {title}
# Written by ackclock for mahimahi: ./mahimahi.sh COMMAND runs the command behind the link.
#
# What mahimahi cannot express of this link:
{missing}
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec {shells} -- "$@"
"""


def export_mahimahi(title: str, lines: dict[str, Line]) -> dict[str, str]:
    """A script and both traces. Lost properties are added to the lines' `missing`."""
    shells = [*_delay(lines), *_loss(lines), *_link(lines)]
    files = {f"{direction}.trace": _trace(line) for direction, line in lines.items()}
    for line in lines.values():
        _add_missing(line)
    missing_texts = [text for line in lines.values() for text in line.missing]
    missing = "\n".join(f"# - {text}" for text in missing_texts) or "# nothing"
    script = SCRIPT.format(title=title or "A link", missing=missing, shells=" \\\n  ".join(shells))
    return {"mahimahi.sh": script, **files}


def _delay(lines: dict[str, Line]) -> Iterator[str]:
    """mm-delay takes whole milliseconds, equal in both directions."""
    total = sum(line.delay for line in lines.values())
    each = round(total / 2 / 1e9)
    if lines["up"].delay != lines["down"].delay:
        both = " and ".join(f"{line.delay / 1e9:g} ms {line.direction}" for line in lines.values())
        lines["down"].missing.append(f"both directions: a delay of {both}: {each} ms in each")
    elif each * 10**9 != total / 2:
        lines["down"].missing.append(
            f"both directions: a delay of {total / 2e9:g} ms: {each} ms, in whole milliseconds"
        )
    if each:
        yield f"mm-delay {each}"


def _loss(lines: dict[str, Line]) -> Iterator[str]:
    for direction, line in lines.items():
        if line.loss and line.loss.kind == "bernoulli" and line.loss.mean:
            yield f"mm-loss {SIDES[direction]} {line.loss.mean:.9g}"
        elif line.loss and line.loss.plan():
            line.missing.append(f"{direction}: loss other than independent ({line.loss.kind})")


def _link(lines: dict[str, Line]) -> Iterator[str]:
    queues = " ".join(_queue(lines[direction], SIDES[direction]) for direction in ("up", "down"))
    yield f'mm-link "$here/up.trace" "$here/down.trace" {queues}'


def _queue(line: Line, side: str) -> str:
    queue = line.queue
    name, arguments = "infinite", ""
    if queue and queue.kind in ("fq-codel", "cake"):
        line.missing.append(f"{line.direction}: {queue.kind}: mahimahi's codel, one queue for all flows, replaces it")
    if queue and queue.kind in ("codel", "fq-codel", "cake"):
        name = "codel"
        arguments = (
            f"packets={limit_in_packets(queue) or 1000}, target={queue.target // 10**9}, "
            f"interval={queue.interval // 10**9}"
        )
    elif queue and queue.kind == "pie":
        name, burst = "pie", queue.burst // 10**9
        arguments = f"packets={limit_in_packets(queue) or 1000}, qdelay_ref={queue.target // 10**9}, max_burst={burst}"
    elif queue and queue.kind == "droptail":
        name, arguments = _droptail(line, queue)
    elif queue is not None:
        line.missing.append(f"{line.direction}: {queue.kind}: a droptail queue replaces it")
        name, arguments = "droptail", f"packets={queue.plan()['packets'] or 1000}"
    if queue and queue.ack:
        line.missing.append(f"{line.direction}: the queue's handling of ACKs")
    options = f"--{side}-queue={name}"
    return f'{options} --{side}-queue-args="{arguments}"' if arguments else options


def _droptail(line: Line, queue: CheckedTable) -> tuple[str, str]:
    if queue.mark is not None:
        line.missing.append(f"{line.direction}: ECN marks above {queue.mark}")
    limits = [f"{unit}={limit}" for unit, limit in (("packets", queue.packets), ("bytes", queue.bytes)) if limit]
    if not limits:
        return "infinite", ""
    return ("drophead" if queue.drop == "front" else "droptail"), ", ".join(limits)


def _trace(line: Line) -> str:
    """A trace of the line's rate; a recorded rate is copied from its start on."""
    if isinstance(line.rate, int | None):
        times: list[int] | tuple[int, ...] = _steady(line, line.rate or UNLIMITED_BPS)
    else:
        times = _recorded(line, line.rate) if is_recorded(line.rate) else _mean_of_schedule(line, line.rate)
    return "".join(f"{time}\n" for time in times)


def _mean_of_schedule(line: Line, rate: CheckedTable) -> list[int]:
    mean = round(mean_rate(rate))
    line.missing.append(f"{line.direction}: a schedule of the rate: its mean, {show_rate(mean)}, replaces it")
    return _steady(line, mean)


def _recorded(line: Line, rate: CheckedTable) -> tuple[int, ...]:
    """The recording from its start on, rotated at an opportunity: its last time is the period."""
    times = recording(rate).times_ms
    if rate.start is None:
        line.missing.append(f"{line.direction}: a start drawn for each seed: the recording starts at its beginning")
        return times
    if rate.start == 0:
        return times
    start_ms = rate.start / 10**9
    first = bisect_right(times, start_ms)
    first_ms = times[first - 1] if first else 0
    if first_ms != start_ms:
        line.missing.append(f"{line.direction}: a start at {start_ms:g} ms: the opportunity before it, {first_ms} ms")
    return tuple(t - first_ms for t in times[first:]) + tuple(t + times[-1] - first_ms for t in times[:first])


def _steady(line: Line, bps: int) -> list[int]:
    """Opportunities to send 1500 B at a fixed rate, over the shortest period of whole milliseconds,
    or one close to it.
    """
    period_ms = BITS_PER_CHANCE * 1000 // gcd(BITS_PER_CHANCE * 1000, bps)
    if period_ms > LONGEST_PERIOD_MS:
        period_ms = LONGEST_PERIOD_MS
    count = round(bps * period_ms / 1000 / BITS_PER_CHANCE)
    if count == 0:
        count, period_ms = 1, round(BITS_PER_CHANCE * 1000 / bps)
    kept = count * BITS_PER_CHANCE * 1000 / period_ms
    if kept != bps:
        line.missing.append(f"{line.direction}: a rate of exactly {show_rate(bps)}: its error is {kept / bps - 1:+.1e}")
    return chances(count, period_ms)


def chances(count: int, period_ms: int) -> list[int]:
    """The times of opportunities at a fixed rate, `count` in a period, each in the first whole
    millisecond in which it is due.

    >>> chances(5, 6)
    [2, 3, 4, 5, 6]
    """
    return [-(-number * period_ms // count) for number in range(1, count + 1)]


def _add_missing(line: Line) -> None:
    if line.burst:
        line.missing.append(f"{line.direction}: a burst of {line.burst} B")
    if line.policer:
        line.missing.append(f"{line.direction}: a policer of {show_rate(line.policer.rate)}")
    if line.framing:
        line.missing.append(f"{line.direction}: {unframed(line.framing)}")
    if line.rate is None:
        line.missing.append(f"{line.direction}: an unlimited rate: {show_rate(UNLIMITED_BPS)}")
    else:
        line.missing.append(f"{line.direction}: transmission times finer than 1 ms")
    if line.jitter:
        line.missing.append(f"{line.direction}: {line.jitter.kind} jitter")
    if line.duplicate:
        line.missing.append(f"{line.direction}: duplicates")
