"""A leaf qdisc as a queue of a link file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from ackclock.export import qdisc_syntax
from ackclock.input.units import show_rate, show_size, show_time
from ackclock.link_import.path_setup import PathSetup
from ackclock.link_import.tc_state import Qdisc

TXQUEUELEN = 1000
QUEUE_KINDS = (
    *("pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast", "sfq", "fq", "fq_codel", "codel", "pie", "fq_pie", "red"),
    *("cake", "dualpi2"),
)
"""Qdiscs that become a queue."""
NEVER = "1 h"
"""CoDel's target in a queue of flows without CoDel."""
RTT_KEYWORDS = {
    "datacentre": "100us",
    "lan": "1ms",
    "metro": "10ms",
    "regional": "30ms",
    "internet": "100ms",
    "oceanic": "300ms",
    "satellite": "1s",
    "interplanetary": "3600s",
}
"""cake's keywords for its interval (tc-cake(8), ROUND TRIP TIME PARAMETERS)."""
PIE_GAIN = 16
"""tc's alpha and beta of pie are sixteenths."""
CAKE_TARGET_SHARE = 20


def plain_words(words: Sequence[str]) -> list[str]:
    """Arguments as typed from those that `tc qdisc show` prints: without the unit of packets, and
    of bytes where tc takes a number.

    >>> plain_words(["limit", "10240p", "quantum", "1514b", "memory_limit", "32Mb"])
    ['limit', '10240', 'quantum', '1514', 'memory_limit', '32Mb']
    """
    return [re.sub(r"^(\d+)[pb](?:/\d+)?$", r"\1", word) for word in words]


@dataclass
class QueueReader:
    """Reads the queues of one interface; what a link file lacks goes into `setup`."""

    setup: PathSetup
    device: str

    def read(self, qdisc: Qdisc) -> tuple[dict[str, Any], dict[str, Any]]:
        """The queue as a link file has it, and the arguments as typed."""
        if qdisc.kind == "cake":
            queue, typed, _ = self.cake(qdisc, list(qdisc.words))
            return queue, typed
        if qdisc.kind == "pfifo_fast":
            return {"kind": "droptail", "packets": self.default_length()}, {}
        if qdisc.kind == "fq_pie":
            self.setup.differ(qdisc.line, f"{self.device}: fq_pie: pie, one queue for all flows, replaces it")
            return {"kind": "pie"}, {}
        if qdisc.kind == "dualpi2":
            return self._dualpi2(qdisc)
        words = list(plain_words(qdisc.words))
        average = ""
        if qdisc.kind == "red" and "ewma" in words[:-1]:  # as `tc qdisc show` prints it
            average = words[words.index("ewma") + 1]
            words = _without(_without(words, "ewma"), "Scell_log")
        given, refused = qdisc_syntax.typed(qdisc.kind, words)
        for why in refused:
            self.setup.misunderstand(qdisc.line, f"{qdisc.kind} {' '.join(qdisc.words)}", why)
        queue = getattr(self, f"_{qdisc.kind}")(qdisc, given)
        if average.isdigit() and len(average) < 3 and queue["kind"] == "red":
            queue["weight"] = 2.0 ** -max(0, min(31, int(average)))
        return {key: value for key, value in queue.items() if value is not None}, given

    def _limit(self, qdisc: Qdisc, given: Mapping[str, Any]) -> int:
        if "limit" not in given:
            length = self.default_length()
            self.setup.assume(qdisc.line, f"{self.device}: {qdisc.kind}'s limit is txqueuelen, {length} packets")
        return max(1, int(given.get("limit", self.default_length())))

    def default_length(self) -> int:
        """Packets of a queue without a limit of its own: the interface's txqueuelen."""
        return self.setup.txqueuelen.get(self.device, TXQUEUELEN)

    def _pfifo(self, qdisc: Qdisc, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"kind": "droptail", "packets": self._limit(qdisc, given)}

    def _pfifo_head_drop(self, qdisc: Qdisc, given: Mapping[str, Any]) -> dict[str, Any]:
        return {**self._pfifo(qdisc, given), "drop": "front"}

    def _bfifo(self, qdisc: Qdisc, given: Mapping[str, Any]) -> dict[str, Any]:
        if "limit" not in given:
            return self._pfifo(qdisc, given)
        return {"kind": "droptail", "bytes": _bytes(given["limit"])}

    def _flows(self, qdisc: Qdisc, packets: int, flows: int, quantum: Any) -> dict[str, Any]:
        """A queue for each flow without AQM: fq-codel whose CoDel never acts."""
        self.setup.differ(
            qdisc.line,
            f"{self.device}: {qdisc.kind}: fq-codel whose CoDel never signals replaces it; a full queue drops at the "
            "head of the longest flow's",
        )
        fair = {"flows": min(65536, max(1, flows)), "quantum": _bytes(max(64, quantum)) if quantum else None}
        return {"kind": "fq-codel", "packets": packets, "target": NEVER, "interval": NEVER, "ecn": False, **fair}

    def _sfq(self, qdisc: Qdisc, given: Mapping[str, Any]) -> dict[str, Any]:
        if "perturb" in given:
            self.setup.differ(qdisc.line, f"{self.device}: sfq's perturbation of its hash")
        return self._flows(
            qdisc, max(1, int(given.get("limit", 127))), int(given.get("divisor", 1024)), given.get("quantum")
        )

    def _fq(self, qdisc: Qdisc, given: Mapping[str, Any]) -> dict[str, Any]:
        self.setup.differ(qdisc.line, f"{self.device}: fq's pacing and its limit for each flow: the sender paces")
        if given.get("maxrate"):
            self.setup.differ(
                qdisc.line, f"{self.device}: fq's maxrate, {show_rate(round(given['maxrate']))} for each flow"
            )
        return self._flows(qdisc, max(1, int(given.get("limit", 10_000))), 1024, given.get("quantum"))

    @staticmethod
    def _codel_keys(given: Mapping[str, Any]) -> dict[str, Any]:
        times = {key: show_time(max(1, round(given[key] * 1e6))) for key in ("target", "interval") if key in given}
        return {**times, "ecn": bool(given["ecn"]) if "ecn" in given else None}

    def _ce_threshold(self, qdisc: Qdisc, given: Mapping[str, Any]) -> None:
        if "ce_threshold" in given:
            self.setup.differ(qdisc.line, f"{self.device}: {qdisc.kind}'s ce_threshold")

    def _codel(self, qdisc: Qdisc, given: Mapping[str, Any]) -> dict[str, Any]:
        self._ce_threshold(qdisc, given)
        keys = {"ecn": False, **{key: value for key, value in self._codel_keys(given).items() if value is not None}}
        return {"kind": "codel", "packets": max(1, int(given.get("limit", 1000))), **keys}

    def _fq_codel(self, qdisc: Qdisc, given: Mapping[str, Any]) -> dict[str, Any]:
        self._ce_threshold(qdisc, given)
        limit, memory = given.get("limit"), given.get("memory_limit")
        return {
            "kind": "fq-codel",
            "packets": max(1, int(limit)) if limit is not None and int(limit) != 10_240 else None,
            "bytes": _bytes(memory) if memory and memory != 32 << 20 else None,
            **self._codel_keys(given),
            "flows": min(65536, max(1, int(given["flows"]))) if given.get("flows", 1024) != 1024 else None,
            "quantum": _bytes(max(64, given["quantum"])) if given.get("quantum", 1514) != 1514 else None,
        }

    def _pie(self, qdisc: Qdisc, given: Mapping[str, Any]) -> dict[str, Any]:
        if given.get("bytemode") is True:
            self.setup.differ(qdisc.line, f"{self.device}: pie's bytemode")
        times = {name: given[key] for name, key in (("target", "target"), ("update", "tupdate")) if key in given}
        gains = {key: given[key] / PIE_GAIN for key in ("alpha", "beta") if key in given}
        return {
            "kind": "pie",
            "packets": max(1, int(given.get("limit", 1000))),
            "ecn": bool(given.get("ecn", False)),
            **{name: show_time(max(10**6, round(value * 1e6))) for name, value in times.items()},
            **{key: gain for key, gain in gains.items() if gain >= 0},
        }

    def _red(self, qdisc: Qdisc, given: Mapping[str, Any]) -> dict[str, Any]:
        low, high = float(given.get("min", 0)), float(given.get("max", 0))
        limit, packet = float(given.get("limit", 0)), float(given.get("avpkt", 1000)) or 1000.0
        if not 0 < low < high or limit < high:
            self.setup.misunderstand(
                qdisc.line, f"red {' '.join(qdisc.words)}", "red needs limit, min and max in this order"
            )
            return {"kind": "droptail", "bytes": _bytes(max(1.0, limit or 1e6))}
        burst = float(given.get("burst", 0)) or (2 * low + high) / (3 * packet)
        if given.get("adaptive"):
            self.setup.differ(qdisc.line, f"{self.device}: red's adaptive probability")
        return {
            "kind": "red",
            "bytes": _bytes(limit),
            "min": f"{_bytes(low)}",
            "max": f"{_bytes(high)}",
            "max_p": float(given.get("probability", 0.02)),
            "weight": red_weight(low / packet, burst),
            "mean_packet": _bytes(packet),
            "draw": "signal",
            "ecn": bool(given.get("ecn", False)),
        }

    def _dualpi2(self, qdisc: Qdisc) -> tuple[dict[str, Any], dict[str, Any]]:
        queue: dict[str, Any] = {"kind": "dualpi2"}
        words = plain_words(qdisc.words)
        for key, value in itertools.pairwise(words):
            try:
                if key == "limit":
                    queue["packets"] = max(1, int(qdisc_syntax.integer(value)))
                elif key in ("target", "tupdate"):
                    time = show_time(max(10**6, round(qdisc_syntax.time(value) * 1e6)))
                    queue["target" if key == "target" else "update"] = time
                elif key == "step_thresh" and value.endswith("s"):
                    queue["step"] = show_time(round(qdisc_syntax.time(value) * 1e6))
                elif key in ("alpha", "beta"):
                    queue[key] = float(value)
            except ValueError as error:
                self.setup.misunderstand(qdisc.line, f"dualpi2 {' '.join(qdisc.words)}", str(error))
        return queue, {}

    def cake(self, qdisc: Qdisc, words: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any], int]:
        """The queue of cake, its arguments as typed, and its bandwidth in bits/s (0: unlimited).
        The words are without those of its framing.
        """
        words = [
            "unlimited" if word == "bandwidth" and words[n + 1 : n + 2] == ["unlimited"] else word
            for n, word in enumerate(words)
        ]
        rest = [word for word in words if word not in RTT_KEYWORDS]
        given, refused = qdisc_syntax.typed(
            "cake",
            [word for n, word in enumerate(rest) if not (word == "unlimited" and rest[n - 1 : n] == ["unlimited"])],
        )
        for why in refused:
            self.setup.misunderstand(qdisc.line, f"cake {' '.join(qdisc.words)}", why)
        for word in words:
            if word in RTT_KEYWORDS:
                given["rtt"] = qdisc_syntax.time(RTT_KEYWORDS[word])
        tins = given.get("tins", "diffserv3")
        if tins != "besteffort":
            self.setup.differ(qdisc.line, f"{self.device}: cake's {tins}: one tin here, as for traffic without DSCP")
        isolation = given.get("isolation", "triple-isolate")
        if isolation in ("flowblind", "srchost", "dsthost", "hosts"):
            self.setup.differ(qdisc.line, f"{self.device}: cake's {isolation}: flows are isolated here")
        if given.get("autorate"):
            self.setup.differ(qdisc.line, f"{self.device}: cake's autorate-ingress: its bandwidth is fixed here")
        if given.get("ingress"):
            self.setup.differ(
                qdisc.line,
                f"{self.device}: cake's ingress: packets that it drops count here, too, only where they are sent",
            )
        queue: dict[str, Any] = {"kind": "cake", "hosts": isolation != "flows"}
        rtt = float(given.get("rtt", 1e5))
        if rtt != 1e5 and rtt > 0:
            queue["interval"] = show_time(max(1, round(rtt * 1e6)))
            queue["target"] = show_time(max(1, round(rtt * 1e6 / CAKE_TARGET_SHARE)))
        if memory := given.get("memlimit"):
            queue["bytes"] = _bytes(memory)
        filtered = {"ack-filter": "cake", "ack-filter-aggressive": "cake-aggressive"}.get(str(given.get("ack-filter")))
        if filtered:
            queue["ack"] = {"filter": filtered}
        return queue, given, round(float(given.get("bandwidth", 0)))


def _without(words: Sequence[str], key: str) -> list[str]:
    """Words without a key and its value."""
    if key not in words:
        return list(words)
    place = list(words).index(key)
    return [*words[:place], *words[place + 2 :]]


def _bytes(size: Any) -> str:
    return show_size(max(1, round(float(size))))


def red_weight(threshold: float, burst: float) -> float:
    """The weight of a new sample, a power of 1/2, with which a burst of so many packets into an
    empty queue leaves the average below the threshold (Floyd and Jacobson 1993, Eq. 3), as tc
    derives it from `burst`.
    """
    weight = 0.5
    length = min(max(1.0, burst), 1e6)
    while weight > 2**-31:
        average = (
            length + 1 + ((1 - weight) ** (length + 1) - 1) / weight if length * log(1 / (1 - weight)) < 700 else length
        )
        if average <= threshold:
            break
        weight /= 2
    return weight
