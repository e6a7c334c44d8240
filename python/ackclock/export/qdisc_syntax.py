"""The arguments of qdiscs as their manual pages give them: tc(8), tc-pfifo(8), tc-prio(8),
tc-tbf(8), tc-htb(8), tc-red(8), tc-sfq(8), tc-codel(8), tc-fq_codel(8), tc-fq(8), tc-pie(8),
tc-cake(8).

It reads what recipes and exports print, and is not made from what writes them: an argument that
the writer invents or that tc would take for another is an error here. `import` reads with it what
people type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

Value = float | str | bool
Reader = Callable[[str], Value]


def _number(text: str, pattern: str, units: Mapping[str, float]) -> float:
    found = re.fullmatch(rf"({pattern})([A-Za-z]*)", text)
    if not found or found[2].lower() not in units:
        raise ValueError(f"no number that tc takes: {text}")
    return float(found[1]) * units[found[2].lower()]


DECIMAL = r"(?:\d{1,18}(?:\.\d{0,12})?|\.\d{1,12})(?:e[+-]?\d{1,2})?"
PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
RATES = {
    "": 1.0,
    **{f"{prefix}bit": float(factor) for prefix, factor in PREFIXES.items()},
    **{f"{prefix}bps": 8.0 * factor for prefix, factor in PREFIXES.items()},
}
"""Bits/s by unit: bit is bits per second, bps bytes per second."""
SIZES = {
    "": 1.0,
    "b": 1.0,
    **{f"{prefix}{unit}": 1024.0**power for power, prefix in enumerate("kmg", 1) for unit in ("", "b")},
    **{f"{prefix}bit": 1024.0**power / 8 for power, prefix in enumerate("kmg", 1)},
}
TIMES = {
    "": 1.0,
    **dict.fromkeys(("us", "usec", "usecs"), 1.0),
    **dict.fromkeys(("ms", "msec", "msecs"), 1e3),
    **dict.fromkeys(("s", "sec", "secs"), 1e6),
}


def integer(text: str) -> float:
    """A number of packets, flows or bytes without a unit."""
    return _number(text, r"-?\d{1,18}", {"": 1})


def rate(text: str) -> float:
    """A rate in bits/s; without a unit, too (tc(8), RATES)."""
    return _number(text, DECIMAL, RATES)


def size(text: str) -> float:
    """A size in bytes; k is 1024 (tc(8), SIZES)."""
    return _number(text, DECIMAL, SIZES)


def time(text: str) -> float:
    """A time in microseconds; without a unit, too (tc(8), TIMES)."""
    return _number(text, DECIMAL, TIMES)


def share(text: str) -> float:
    """A probability from 0 to 1."""
    return _number(text, r"[01](?:\.\d+)?(?:e-\d+)?", {"": 1})


def word(text: str) -> str:
    """A value that is a word, such as a link layer or a class."""
    return text


_CODEL: Mapping[str, Reader] = {"limit": integer, "target": time, "interval": time, "ce_threshold": time}
_ECN = {"ecn": ("ecn", True), "noecn": ("ecn", False)}
VALUES: Mapping[str, Mapping[str, Reader]] = {
    "pfifo": {"limit": integer},
    "pfifo_head_drop": {"limit": integer},
    "bfifo": {"limit": size},
    "pfifo_fast": {},
    "prio": {"bands": integer},
    "sfq": {
        **dict.fromkeys(("limit", "depth", "divisor", "flows", "quantum"), integer),
        "perturb": time,
        "redflowlimit": size,
    },
    "fq": {
        **dict.fromkeys(("limit", "flow_limit", "buckets", "orphan_mask", "quantum", "initial_quantum"), integer),
        **dict.fromkeys(("maxrate", "low_rate_threshold"), rate),
        **dict.fromkeys(("refill_delay", "timer_slack", "horizon", "ce_threshold"), time),
    },
    "fq_codel": {**_CODEL, "flows": integer, "quantum": integer, "memory_limit": size, "drop_batch": integer},
    "codel": _CODEL,
    "pie": {"limit": integer, "target": time, "tupdate": time, "alpha": integer, "beta": integer},
    "red": {
        **dict.fromkeys(("limit", "min", "max", "avpkt"), size),
        "burst": integer,
        "bandwidth": rate,
        "probability": share,
    },
    "tbf": {
        "rate": rate,
        "burst": size,
        "buffer": size,
        "limit": size,
        "latency": time,
        "lat": time,
        "mpu": size,
        "peakrate": rate,
        "mtu": size,
        "minburst": size,
        "overhead": integer,
        "linklayer": word,
    },
    "htb": {"default": word, "r2q": integer, "direct_qlen": integer, "direct_packets_stat": integer},
    "cake": {
        "bandwidth": rate,
        "rtt": time,
        "overhead": integer,
        "mpu": integer,
        "memlimit": size,
        "fwmark": word,
    },
}
"""The keys with a value of each qdisc."""
FLAGS: Mapping[str, Mapping[str, tuple[str, Value]]] = {
    "fq_codel": _ECN,
    "codel": _ECN,
    "pie": {**_ECN, "bytemode": ("bytemode", True), "nobytemode": ("bytemode", False)},
    "red": {word: (word, True) for word in ("ecn", "harddrop", "adaptive", "nodrop")},
    "fq": {
        "pacing": ("pacing", True),
        "nopacing": ("pacing", False),
        "horizon_drop": ("horizon", True),
        "horizon_cap": ("horizon", False),
    },
    "sfq": {"headdrop": ("headdrop", True), "ecn": ("ecn", True)},
    "htb": {"offload": ("offload", True)},
    "cake": {
        "autorate-ingress": ("autorate", True),
        "unlimited": ("bandwidth", 0.0),
        **{word: ("tins", word) for word in ("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8")},
        **{
            word: ("isolation", word)
            for word in (
                *("flowblind", "srchost", "dsthost", "hosts", "flows"),
                *("dual-srchost", "dual-dsthost", "triple-isolate"),
            )
        },
        "nat": ("nat", True),
        "nonat": ("nat", False),
        "wash": ("wash", True),
        "nowash": ("wash", False),
        "split-gso": ("split-gso", True),
        "no-split-gso": ("split-gso", False),
        **{word: ("ack-filter", word) for word in ("no-ack-filter", "ack-filter", "ack-filter-aggressive")},
        **{word: ("cells", word) for word in ("noatm", "atm", "ptm")},
        "ingress": ("ingress", True),
        "egress": ("ingress", False),
        "raw": ("raw", True),
    },
}
"""The keywords of each qdisc, with what each sets; of competing ones tc keeps the last."""
DEFAULTS: Mapping[str, Mapping[str, Value]] = {
    "fq_codel": {"limit": 10240.0, "flows": 1024.0, "target": 5e3, "interval": 1e5, "ecn": True},
    "codel": {"limit": 1000.0, "target": 5e3, "interval": 1e5, "ecn": False},
    "pie": {"limit": 1000.0, "target": 15e3, "tupdate": 15e3, "ecn": False},
    "cake": {
        "bandwidth": 0.0,
        "rtt": 1e5,
        "tins": "diffserv3",
        "isolation": "triple-isolate",
        "ack-filter": "no-ack-filter",
        "cells": "noatm",
        "overhead": 0.0,
        "ingress": False,
    },
}
"""What a qdisc does without an argument, by its manual page."""


def parameters(kind: str, arguments: Sequence[str]) -> dict[str, Value]:
    """The parameters that arguments set, over the defaults. ValueError for what tc refuses."""
    if kind not in VALUES:
        raise ValueError(f"no qdisc that the reader knows: {kind}")
    given, refused = typed(kind, arguments)
    if refused:
        raise ValueError(refused[0])
    return {**DEFAULTS.get(kind, {}), **given}


def typed(kind: str, arguments: Sequence[str]) -> tuple[dict[str, Value], list[str]]:
    """The parameters that arguments set, without defaults, and a sentence for each that tc
    refuses.

    >>> typed("fq_codel", ["limit", "600", "ecm"])
    ({'limit': 600.0}, ['no argument of fq_codel: ecm'])
    """
    given: dict[str, Value] = {}
    refused: list[str] = []
    left = list(arguments)
    while left:
        word = left.pop(0)
        if word in FLAGS.get(kind, {}):
            key, value = FLAGS[kind][word]
            given[key] = value
        elif word in VALUES[kind] and left:
            try:
                given[word] = VALUES[kind][word](left.pop(0))
            except ValueError as error:
                refused.append(f"{error}")
        else:
            refused.append(f"no argument of {kind}: {word}")
    return given, refused


def shown(kind: str, arguments: Sequence[str]) -> str:
    """Arguments as `tc qdisc show` prints them: limits with a unit that tc itself does not take,
    and nothing of ECN that is off.
    """
    unit = {"bfifo": "b"}.get(kind, "p")
    on = [] if kind not in ("fq_codel", "codel", "pie") or not parameters(kind, arguments)["ecn"] else ["ecn"]
    words = [word for word in arguments if kind not in ("fq_codel", "codel", "pie") or word not in _ECN] + on
    for place, word in enumerate(words[:-1]):
        if word == "limit" and kind not in ("tbf", "red"):
            words[place + 1] += unit
        elif word in ("burst", "quantum") and kind in ("tbf", "fq"):
            words[place + 1] += "b"
        elif word == "unlimited":
            words[place] = "bandwidth unlimited"
    return " ".join(words)
