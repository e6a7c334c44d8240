"""The arguments of qdiscs as their manual pages give them: tc(8), tc-pfifo(8), tc-prio(8),
tc-tbf(8), tc-red(8), tc-codel(8), tc-fq_codel(8), tc-fq(8), tc-pie(8), tc-cake(8).

It reads what recipes and exports print, and is not made from what writes them: an argument that
the writer invents or that tc would take for another is an error here.
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


def integer(text: str) -> float:
    """A number of packets, flows or bytes without a unit."""
    return _number(text, r"-?\d+", {"": 1})


def rate(text: str) -> float:
    """A rate in bits/s; without a unit, too (tc(8), RATES)."""
    units = {"": 1, "bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "bps": 8, "kbps": 8e3, "mbps": 8e6}
    return _number(text, r"\d+(?:\.\d+)?", units)


def size(text: str) -> float:
    """A size in bytes; k is 1024 (tc(8), SIZES)."""
    return _number(text, r"\d+(?:\.\d+)?", {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 2**20, "mb": 2**20})


def time(text: str) -> float:
    """A time in microseconds; without a unit, too (tc(8), TIMES)."""
    units = {"": 1, "us": 1, "usec": 1, "ms": 1e3, "msec": 1e3, "s": 1e6, "sec": 1e6}
    return _number(text, r"\d+(?:\.\d+)?", units)


def share(text: str) -> float:
    """A probability from 0 to 1."""
    return _number(text, r"[01](?:\.\d+)?(?:e-\d+)?", {"": 1})


_CODEL: Mapping[str, Reader] = {"limit": integer, "target": time, "interval": time, "ce_threshold": time}
_ECN = {"ecn": ("ecn", True), "noecn": ("ecn", False)}
VALUES: Mapping[str, Mapping[str, Reader]] = {
    "pfifo": {"limit": integer},
    "pfifo_head_drop": {"limit": integer},
    "bfifo": {"limit": size},
    "pfifo_fast": {},
    "prio": {"bands": integer},
    "fq": {"limit": integer, "flow_limit": integer, "quantum": integer, "initial_quantum": integer, "maxrate": rate},
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
    },
    "cake": {"bandwidth": rate, "rtt": time, "overhead": integer, "mpu": integer, "memlimit": size},
}
"""The keys with a value of each qdisc."""
FLAGS: Mapping[str, Mapping[str, tuple[str, Value]]] = {
    "fq_codel": _ECN,
    "codel": _ECN,
    "pie": {**_ECN, "bytemode": ("bytemode", True), "nobytemode": ("bytemode", False)},
    "red": {word: (word, True) for word in ("ecn", "harddrop", "adaptive", "nodrop")},
    "fq": {"pacing": ("pacing", True), "nopacing": ("pacing", False)},
    "cake": {
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
    found = dict(DEFAULTS.get(kind, {}))
    left = list(arguments)
    while left:
        word = left.pop(0)
        if word in FLAGS.get(kind, {}):
            key, value = FLAGS[kind][word]
            found[key] = value
        elif word in VALUES[kind] and left:
            found[word] = VALUES[kind][word](left.pop(0))
        else:
            raise ValueError(f"no argument of {kind}: {word}")
    return found


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
