"""Titles of axes and legends in words: of keys that a sweep varies, and of columns of results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

DIRECTIONS = ("down", "up")
_OF_TCP = {
    "variant": "Congestion control",
    "send_buffer": "Send buffer",
    "receive_buffer": "Receive buffer",
    "delayed_ack": "Delayed ACKs",
    "ack_policy": "ACK policy",
    "ack_technique": "ACK technique",
    "host": "Host stack",
    "segment": "Segment size",
}
_OF_HOP = {
    "rate": "Rate",
    "delay": "One-way delay",
    "loss": "Packet loss",
    "loss.mean": "Packet loss",
    "queue": "Queue",
    "queue.kind": "Queue",
    "queue.bytes": "Queue size",
    "queue.packets": "Queue size",
    "jitter.mean": "Jitter",
}
_OF_FLOW = {"count": "Number of flows", "start": "Start", "workload.bytes": "Size of the transfer"}
_OTHER = {"link": "Link", "duration": "Duration", "queue": "Queue", "run": "Run", "flow": "Flow", "hop": "Hop"}
_COLUMNS = {
    "goodput_bps": "Goodput",
    "throughput_bps": "Throughput",
    "rtt_ms_p95": "95th percentile of the RTT",
    "rtt_p95_ms": "95th percentile of the RTT",
    "rtt_ms_mean": "Mean RTT",
    "rtt_mean_ms": "Mean RTT",
    "rtt_ms_p50": "Median RTT",
    "rtt_ms_min": "Minimum RTT",
    "rtt_min_ms": "Minimum RTT",
    "retransmission_rate": "Retransmitted segments",
    "queue_delay_ms": "Mean queueing delay",
    "ack_queue_delay_ms": "Mean queueing delay of ACKs",
    "ack_drop_share": "ACKs dropped",
    "jain": "Jain's index",
    "idle_share": "Time idle",
    "completed_s": "Completed after",
}
_UNITS = (
    (r"_bps$", "Mb/s", 1e-6),
    (r"_ms(?:_|$)", "ms", 1.0),
    (r"(_rate|_share|utilization)$", "%", 100.0),
    (r"_bytes$", "KiB", 1.0 / 1024.0),
    (r"_s$", "s", 1.0),
)


def key_title(path: str) -> str:
    """A key of a scenario, or a column of a comparison, in words.

    >>> key_title("hop.cable.queue.down.bytes"), key_title("tcp.variant")
    ('Queue size of cable, down', 'Congestion control')
    """
    kind, *rest = path.split(".")
    match kind:
        case "hop" if len(rest) > 1:
            name, *keys = rest
            direction = next((key for key in keys if key in DIRECTIONS), "")
            what = _words([key for key in keys if key != direction], _OF_HOP)
            return f"{what} of {name}" + (f", {direction}" if direction else "")
        case "flow" if len(rest) > 1:
            name, *keys = rest
            what = _words(keys, _OF_FLOW)
            return f"{what} {name}" if keys == ["count"] else f"{what} of {name}"
        case "tcp" if rest:
            return _words(rest, _OF_TCP)
    return _OTHER.get(path) or _words(path.split("."), _OF_TCP)


def point_label(values: Mapping[str, str]) -> str:
    """The values of varied keys in a line: a congestion control without its key, and a hop's key
    with its place only where two hops have it.

    >>> point_label({"hop.cable.rate.down": "5 Mb/s", "tcp.variant": "reno"})
    'rate down 5 Mb/s, reno'
    """
    short = {path: _without_place(path) for path in values}
    names = {
        path: within(key_title(path)) if list(short.values()).count(name) > 1 else name for path, name in short.items()
    }
    return ", ".join(f"{names[path]} {value}".strip() for path, value in values.items())


def _without_place(path: str) -> str:
    kind, *rest = path.split(".")
    if rest[-1:] == ["variant"] or path == "variant":
        return ""
    if kind == "hop" and len(rest) > 1:
        keys = [key for key in rest[1:] if key not in DIRECTIONS]
        return " ".join([within(_words(keys, _OF_HOP)), *(key for key in rest if key in DIRECTIONS)])
    return within(key_title(path))


def is_share(path: str) -> bool:
    """Whether a key's numbers are shares (0..1), which an axis has in percent."""
    return bool(re.search(r"\bloss(\.(down|up))?(\.mean)?$", path))


def column_title(name: str) -> tuple[str, str, float]:
    """A column of figures in words, its unit on an axis, and the factor to that unit.

    >>> column_title("goodput_bps"), column_title("window_cuts")
    (('Goodput', 'Mb/s', 1e-06), ('Window cuts', '', 1.0))
    """
    found = [entry for entry in _UNITS if re.search(entry[0], name)]
    ending, unit, factor = found[0] if found else ("$", "", 1.0)
    plain = re.sub(ending, "_" if ending.startswith("_ms") else "", name).strip("_")
    return _COLUMNS.get(name) or sentence_case(plain), unit, factor


def with_unit(title: str, unit: str) -> str:
    """A title with its unit, if it has one."""
    return f"{title} ({unit})" if unit else title


def within(title: str) -> str:
    """A title within a sentence: its first word in lower case, unless that is an abbreviation.

    >>> within("Queue size of cable, down"), within("RTT")
    ('queue size of cable, down', 'RTT')
    """
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def sentence_case(name: str) -> str:
    """Words of a name with underscores, the first with a capital."""
    words = re.sub(r"\brtt\b", "RTT", re.sub(r"\back\b", "ACK", name.replace("_", " ")))
    return words[:1].upper() + words[1:]


def _words(keys: Sequence[str], known: dict[str, str]) -> str:
    return known.get(".".join(keys)) or sentence_case(" ".join(keys))


_VAGUE = ("mean", *DIRECTIONS)
"""Last parts of paths that say too little by themselves."""


def short_paths(paths: Sequence[str]) -> list[str]:
    """Swept keys by their last part, with all parts below the hop where that says too little,
    and whole where they would be the same.

    >>> short_paths(["hop.air.loss.down.mean", "hop.air.queue.down.packets", "tcp.variant"])
    ['loss.down.mean', 'packets', 'variant']
    >>> short_paths(["hop.air.rate", "hop.core.rate"])
    ['hop.air.rate', 'hop.core.rate']
    """
    short = []
    for path in paths:
        last = path.rpartition(".")[2]
        short.append(re.sub(r"^hop\.[^.]+\.", "", path) if last in _VAGUE else last)
    return short if len(set(short)) == len(short) else list(paths)
