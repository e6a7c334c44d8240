"""The stages that packets pass through in the qdiscs of an interface, in path order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ackclock.export import qdisc_syntax
from ackclock.input.units import PS_PER_S, show_rate, show_size, size_bytes
from ackclock.link_import.cake_framing import cake_framing
from ackclock.link_import.netem import jitter_of, loss_of, read_netem, reorder_of
from ackclock.link_import.path_setup import (
    ETHERNET_HEADER,
    FULL_PACKET,
    Bucket,
    Framing,
    PathSetup,
    Stage,
)
from ackclock.link_import.tc_queue import QUEUE_KINDS, QueueReader
from ackclock.link_import.tc_state import INGRESS, Filter, Interface, Qdisc, TcState, TrafficClass

MAX_DEPTH = 8
"""Qdiscs below each other that are followed."""
WITHOUT_HEADER = re.compile(r"(ppp|tun|wg|gre|sit|ip6tnl|pppoe|wwan|l2tp|6in4)", re.IGNORECASE)
"""Interfaces whose packets have no Ethernet header."""
CLASSFUL = ("prio", "mq", "multiq", "mqprio", "drr", "qfq", "ets")


SIZE_KEYS = ("overhead", "linklayer", "mpu")
"""What a size table, or a shaper of its own, says of the bytes of a packet."""


@dataclass
class Walk:
    """The walk over the qdiscs of one interface.

    Attributes:
        there: what hangs on the interface.
    """

    device: str
    there: Interface
    setup: PathSetup

    def __post_init__(self) -> None:
        self.queues = QueueReader(self.setup, self.device)

    def stages(self) -> list[Stage]:
        """The stages below the root; empty without a root."""
        root = self.there.root()
        return [] if root is None else self.below(root, 0)

    def below(self, qdisc: Qdisc, depth: int) -> list[Stage]:
        """The stages of a qdisc and what is below it."""
        if depth > MAX_DEPTH:
            self.setup.misunderstand(qdisc.line, qdisc.kind, f"more than {MAX_DEPTH} qdiscs below each other")
            return []
        read = READERS.get(qdisc.kind)
        if read is not None:
            return read(self, qdisc, depth)
        if qdisc.kind in CLASSFUL:
            return self._bands(qdisc, depth)
        if qdisc.kind in QUEUE_KINDS:
            return [self._queue_alone(qdisc)]
        if qdisc.kind not in ("noqueue", "ingress", "clsact"):
            self.setup.misunderstand(
                qdisc.line, f"{qdisc.kind} {' '.join(qdisc.words)}", f"{qdisc.kind} is no qdisc that import reads"
            )
        return []

    def inner(self, parents: Sequence[str], depth: int) -> tuple[list[Stage], Stage | None]:
        """What is below a shaper: the stages before its bucket, and the queue at the bucket."""
        child = next((found for parent in parents if (found := self.there.child(parent))), None)
        if child is None:
            return [], None
        stages = self.below(child, depth + 1)
        if not stages:
            return [], None
        last = stages[-1]
        if last.rate is None and last.bucket is None and last.kind in QUEUE_KINDS:
            return stages[:-1], last
        if last.kind == "netem" and last.rate is None:
            # netem below a shaper: what is due waits in it for the shaper.
            queue = {"kind": "droptail", "packets": last.limit or 1}
            waits = Stage("netem", f"{self.device}-queue", last.line, self.device, queue=queue, limit=last.limit)
            return stages, replace(waits, delay=last.mean_delay())
        return stages, None

    def _shaped(
        self,
        qdisc: Qdisc,
        line: int,
        bucket: Bucket,
        before: Sequence[Stage],
        waits: Stage | None,
        default: Mapping[str, Any],
    ) -> list[Stage]:
        framing, typed = self.framing(qdisc)
        queue = of_ip_packets(waits.queue if waits and waits.queue else default, framing)
        if waits is not None and waits.limit is not None:
            queue = {**queue, "packets": self._room(waits.line, waits.limit, bucket.rate, waits.delay)}
        stage = Stage(
            qdisc.kind,
            f"{self.device}-{qdisc.kind}",
            line,
            self.device,
            bucket=bucket,
            rate=bucket.rate,
            framing=framing,
            is_framing_typed=typed,
            queue=queue,
            typed=waits.typed if waits else {},
            queue_kind=waits.kind if waits else "",
        )
        return [*before, stage]

    def framing(self, qdisc: Qdisc, words: Iterable[str] = ()) -> tuple[Framing, bool]:
        """What the size of a packet is for a shaper, and whether the input says so: by a size table
        (tc-stab(8)) or by the shaper's own keys; else the packet with its Ethernet header.
        """
        header = 0 if WITHOUT_HEADER.match(self.device) else ETHERNET_HEADER
        keys = list(qdisc.stab or words)
        if qdisc.parent != INGRESS and not any(key in SIZE_KEYS for key in keys):
            keys = list(self._root_stab())
        given = {key: keys[place + 1] for place, key in enumerate(keys[:-1]) if key in SIZE_KEYS}
        try:
            overhead = int(qdisc_syntax.integer(given.get("overhead", "0")))
            mpu = int(qdisc_syntax.size(given.get("mpu", "0")))
        except ValueError as error:
            self.setup.misunderstand(qdisc.line, " ".join(keys), str(error))
            return Framing("none", header), False
        if not overhead and not mpu and given.get("linklayer") not in ("atm", "adsl"):
            return Framing("none", header), False
        cells: Literal["none", "atm"] = "atm" if given.get("linklayer") in ("atm", "adsl") else "none"
        if not -header <= overhead <= 1000:
            self.setup.misunderstand(qdisc.line, " ".join(keys), f"an overhead of {overhead} B")
            return Framing("none", header), False
        return Framing(cells, header + overhead, max(0, min(mpu, 2000))), True

    def _root_stab(self) -> tuple[str, ...]:
        """The size table of the root, by which what is below it counts, too."""
        return next((one.stab for one in self.there.qdiscs if one.parent == "root"), ())

    def _queue_alone(self, qdisc: Qdisc) -> Stage:
        queue, typed = self.queues.read(qdisc)
        name = f"{self.device}-{qdisc.kind.replace('_', '-')}"
        return Stage(qdisc.kind, name, qdisc.line, self.device, queue=queue, typed=typed, queue_kind=qdisc.kind)

    def netem(self, qdisc: Qdisc, depth: int) -> list[Stage]:
        netem = read_netem(qdisc.words)
        for why in netem.refused:
            self.setup.misunderstand(qdisc.line, f"netem {' '.join(qdisc.words)}", why)
        for text in netem.lost:
            self.setup.differ(qdisc.line, f"{self.device}: netem {text}")
        for text in netem.pitfalls:
            self.setup.lint("unit", qdisc.line, text)
        self.unit(qdisc)
        inside, waits = self.inner([f"{qdisc.handle.partition(':')[0]}:1", qdisc.handle] if qdisc.handle else [], depth)
        bps = netem.rate or next((stage.bps for stage in inside if stage.bps), None)
        loss, lost_loss = loss_of(netem, bps)
        delay, jitter, lost_jitter = jitter_of(netem)
        delay, reorder, lost_order = (delay, None, []) if jitter else reorder_of(netem, delay)
        if jitter and netem.reorder:
            lost_order = ["reorder beside a jitter: the jitter alone reorders"]
        for text in (*lost_loss, *lost_jitter, *lost_order):
            self.setup.differ(qdisc.line, f"{self.device}: netem {text}")
        named = f"{self.device}-netem"
        base = Stage("netem", named, qdisc.line, self.device, limit=netem.limit, queue_kind="netem")
        base = replace(base, loss=loss, duplicate=netem.duplicate)
        delayed = replace(base, delay=delay, jitter=jitter, reorder=reorder)
        if netem.rate is None:
            if waits is not None:  # a queue without a rate below netem: nothing waits in it
                self.setup.differ(waits.line, f"{self.device}: {waits.kind} below netem has no rate to wait for")
            return [delayed, *inside]
        framing = self._netem_framing(netem.packet_overhead, netem.cell)
        room = self._room(qdisc.line, netem.limit, netem.rate, netem.delay)
        rated = Stage("netem", named, qdisc.line, self.device, rate=netem.rate, framing=framing, limit=netem.limit)
        rated = replace(
            rated,
            is_framing_typed=bool(netem.packet_overhead),
            queue={"kind": "droptail", "packets": room},
            delay=delay,
            jitter=jitter,
            reorder=reorder,
            queue_kind="netem",
        )
        if loss is None and not netem.duplicate:
            return [rated, *inside]
        return [replace(base, name=f"{named}-loss"), rated, *inside]

    def _room(self, line: int | None, limit: int, rate: int, delay: int) -> int:
        """The packets that may wait for a rate in netem: its limit counts those that it delays."""
        held = round(rate * (delay / PS_PER_S) / 8 / FULL_PACKET)
        if held:
            self.setup.differ(
                line,
                f"{self.device}: netem's limit of {limit} packets counts delayed ones, up to {held} of {FULL_PACKET} B "
                f"here: {max(1, limit - held)} wait for the rate",
            )
        return max(1, limit - held)

    def _netem_framing(self, overhead: int, cell: int) -> Framing:
        header = 0 if WITHOUT_HEADER.match(self.device) else ETHERNET_HEADER
        return Framing("atm" if cell == 48 else "none", max(0, header + overhead))

    def unit(self, qdisc: Qdisc | TrafficClass) -> None:
        """Name rates in bytes per second that are typed as such."""
        for key, value in zip(qdisc.words, qdisc.words[1:], strict=False):
            if key in ("rate", "ceil", "peakrate", "bandwidth", "maxrate"):
                self.setup.rate_in_bytes(qdisc.line, key, value)

    def tbf(self, qdisc: Qdisc, depth: int) -> list[Stage]:
        words = [re.sub(r"/\d+$", "", word) for word in qdisc.words]
        given, refused = qdisc_syntax.typed("tbf", words)
        self._refuse(qdisc, refused)
        self.unit(qdisc)
        rate = round(float(given.get("rate", 0)))
        if rate <= 0:
            self.setup.misunderstand(qdisc.line, f"tbf {' '.join(qdisc.words)}", "tbf without a rate")
            return []
        burst = round(float(given.get("burst") or given.get("buffer") or 0)) or None
        peak = round(float(given.get("peakrate", 0))) or None
        before, waits = self.inner([f"{qdisc.handle.partition(':')[0]}:1", qdisc.handle] if qdisc.handle else [], depth)
        latency = given.get("latency") or given.get("lat")
        limit = round(float(given.get("limit", 0)))
        if latency is not None:
            limit = round(rate / 8 * float(latency) / 1e6) + (burst or 0)
        if not limit and waits is None:
            self.setup.misunderstand(qdisc.line, f"tbf {' '.join(qdisc.words)}", "tbf without a limit or a latency")
            return []
        return self._shaped(
            replace(qdisc, stab=qdisc.stab or tuple(words)),
            qdisc.line,
            Bucket(rate, burst, peak),
            before,
            waits,
            {"kind": "droptail", "bytes": show_size(max(1, limit))},
        )

    def cake(self, qdisc: Qdisc, _depth: int) -> list[Stage]:
        framing, rest = cake_framing(qdisc.words)
        queue, typed, bandwidth = self.queues.cake(qdisc, rest)
        self.unit(qdisc)
        header = 0 if WITHOUT_HEADER.match(self.device) else ETHERNET_HEADER
        bucket = Bucket(bandwidth) if bandwidth else None
        stage = Stage("cake", f"{self.device}-cake", qdisc.line, self.device, bucket=bucket, rate=bandwidth or None)
        return [
            replace(
                stage,
                framing=framing or Framing("none", header),
                is_framing_typed=framing is not None,
                queue=queue,
                typed=typed,
                queue_kind="cake",
            )
        ]

    def _bands(self, qdisc: Qdisc, depth: int) -> list[Stage]:
        """A qdisc with bands: the band that filters select, else the first with something below."""
        major = qdisc.handle.partition(":")[0]
        children = [one for one in self.there.qdiscs if one.parent.partition(":")[0] == major and one.parent != "root"]
        chosen = [one for one in children if one.kind in (*READERS, *CLASSFUL)] or children[:1]
        if not chosen:
            return []
        flowids = [one.flowid for one in self.there.filters]
        chosen.sort(key=lambda one: one.parent in flowids)  # the band that a filter selects
        selected = next((one for one in self.there.filters if one.flowid == chosen[-1].parent), None)
        if qdisc.kind not in ("mq", "mqprio", "multiq"):
            whom = f"what `{selected.matches or 'all'}` selects" if selected else "part of the traffic"
            self.setup.assume(
                qdisc.line, f"{self.device}: {qdisc.kind}: {whom} passes {chosen[-1].kind}, and all traffic here"
            )
        for other in chosen[:-1]:
            if qdisc.kind in ("mq", "mqprio", "multiq"):
                break
            self.setup.differ(other.line, f"{self.device}: {other.kind} at {other.parent}: one band is imported")
        return self.below(chosen[-1], depth + 1)

    def htb(self, qdisc: Qdisc, depth: int) -> list[Stage]:
        words = list(qdisc.words)
        default = words[words.index("default") + 1] if "default" in words[:-1] else ""
        major = qdisc.handle.partition(":")[0]
        default_id = f"{major}:{default.lower().removeprefix('0x').lstrip('0')}" if default else ""
        leaf = self._class(qdisc, major, default_id)
        if leaf is None:
            return []
        classes = {one.classid: one for one in self.there.classes}
        chain, parent = [leaf], leaf.parent
        while parent in classes and len(chain) < MAX_DEPTH and classes[parent] not in chain:
            chain.append(classes[parent])
            parent = classes[parent].parent
        rates = [(rate, one) for one in chain if (rate := self._class_rate(one))]
        for one in chain:
            self.unit(one)
        if not rates:
            self.setup.misunderstand(leaf.line, f"{leaf.kind} {' '.join(leaf.words)}", "a class without a rate")
            return []
        rate, slowest = min(rates, key=lambda pair: pair[0])
        if (own := self._class_rate(leaf)) and own > rate:
            self.setup.lint(
                "shaper-above-line",
                leaf.line,
                f"class {leaf.classid} has a ceil of {show_rate(own)}, its parent {slowest.classid} {show_rate(rate)}",
            )
        before, waits = self.inner([leaf.classid], depth)
        if waits is None and not any(stage.rate for stage in before):
            self.setup.assume(
                leaf.line,
                f"{self.device}: class {leaf.classid} has the default queue, of txqueuelen: "
                f"{self.queues.default_length()} packets",
            )
        return self._shaped(
            replace(qdisc, stab=qdisc.stab or leaf.words),
            leaf.line,
            Bucket(rate, self._class_burst(leaf)),
            before,
            waits,
            {"kind": "droptail", "packets": self.queues.default_length()},
        )

    def _class(self, qdisc: Qdisc, major: str, default_id: str) -> TrafficClass | None:
        """The class of the traffic that is imported: the one that filters for all packets select,
        the default, or the only one.
        """
        of_qdisc = [one for one in self.there.classes if one.classid.partition(":")[0] == major]
        parents = {one.parent for one in of_qdisc}
        leaves = [one for one in of_qdisc if one.classid not in parents]
        by_id = {one.classid: one for one in leaves}
        filters = [one for one in self.there.filters if one.flowid in by_id]
        everything = next((one for one in filters if not one.matches), None)
        default = by_id.get(default_id)
        if not leaves:
            self.setup.misunderstand(
                qdisc.line, f"{qdisc.kind} {' '.join(qdisc.words)}", f"{qdisc.kind} without classes"
            )
            return None
        if default_id and default is None:
            self._unshaped(qdisc, f"default {default_id.partition(':')[2]} is no class")
        elif not default_id and everything is None:
            self._unshaped(qdisc, "no default class")
        chosen = by_id[everything.flowid] if everything else self._with_netem(leaves, filters) or default
        if chosen is None:
            chosen = by_id[filters[0].flowid] if filters else leaves[0]
        selected = next((one for one in filters if one.flowid == chosen.classid), None)
        if selected is not None and selected.matches and chosen is not default:
            self.setup.assume(
                selected.line,
                f"{self.device}: class {chosen.classid} has what `{selected.matches}` selects, here all traffic",
            )
        for other in leaves:
            if other is not chosen:
                self.setup.differ(
                    other.line, f"{self.device}: class {other.classid}: one class is imported, {chosen.classid}"
                )
        return chosen

    def _unshaped(self, qdisc: Qdisc, why: str) -> None:
        self.setup.lint(
            "no-default-class",
            qdisc.line,
            f"{self.device}: {qdisc.kind} has {why}: packets that no filter selects pass it unshaped",
        )

    def _with_netem(self, leaves: Sequence[TrafficClass], filters: Sequence[Filter]) -> TrafficClass | None:
        """A class with netem that a filter selects, beside others without."""
        selected = {one.flowid for one in filters}
        return next(
            (
                one
                for one in leaves
                if one.classid in selected and (child := self.there.child(one.classid)) and child.kind == "netem"
            ),
            None,
        )

    def _class_rate(self, one: TrafficClass) -> int | None:
        """htb: ceil, else rate; hfsc: the upper limit, else the share."""
        words = list(one.words)
        if one.kind == "hfsc":
            for curve in ("ul", "sc", "ls", "rt"):
                if curve in words and (found := _after(words[words.index(curve) :], ("rate", "m2"))):
                    return self._rate(one, found)
            return None
        found = _after(words, ("ceil",)) or _after(words, ("rate",))
        return self._rate(one, found) if found else None

    def _rate(self, one: TrafficClass, text: str) -> int | None:
        try:
            return round(qdisc_syntax.rate(text)) or None
        except ValueError as error:
            self.setup.misunderstand(one.line, f"{one.kind} {' '.join(one.words)}", str(error))
            return None

    def _class_burst(self, one: TrafficClass) -> int | None:
        text = _after([re.sub(r"/\d+$", "", word) for word in one.words], ("burst", "buffer", "maxburst"))
        try:
            return round(qdisc_syntax.size(text)) or None if text else None
        except ValueError as error:
            self.setup.misunderstand(one.line, f"{one.kind} {' '.join(one.words)}", str(error))
            return None

    def _refuse(self, qdisc: Qdisc, refused: Iterable[str]) -> None:
        for why in refused:
            self.setup.misunderstand(qdisc.line, f"{qdisc.kind} {' '.join(qdisc.words)}", why)

    def policers(self, parents: Sequence[str]) -> list[Stage]:
        """The policers of filters at these places."""
        stages = []
        for one in self.there.filters:
            if one.parent not in parents or not one.police:
                continue
            words = [
                word
                for word in one.police
                if word not in ("drop", "shot", "continue", "pass", "ok", "pipe", "reclassify")
            ]
            rate_text, burst_text = _after(words, ("rate",)), _after(words, ("burst", "buffer", "maxburst"))
            try:
                rate = round(qdisc_syntax.rate(rate_text or ""))
                burst = round(qdisc_syntax.size(burst_text or ""))
                if not rate or not burst:
                    raise ValueError("a policer needs a rate and a burst above zero")
            except ValueError as error:
                self.setup.misunderstand(one.line, f"police {' '.join(one.police)}", str(error))
                continue
            self.setup.rate_in_bytes(one.line, "rate", rate_text or "")
            if one.matches:
                self.setup.assume(
                    one.line, f"{self.device}: the policer has what `{one.matches}` selects, here all traffic"
                )
            framing, typed = self.framing(Qdisc(self.device, "police", "", INGRESS, one.line), words)
            if parents[0] == INGRESS:  # a packet that arrives has no Ethernet header any more
                header = 0 if WITHOUT_HEADER.match(self.device) else ETHERNET_HEADER
                framing = replace(framing, overhead=max(0, framing.overhead - header))
            stage = Stage(
                "police", f"{self.device}-police", one.line, self.device, framing=framing, is_framing_typed=typed
            )
            stages.append(replace(stage, policer=Bucket(rate, burst)))
        return stages


READERS: Mapping[str, Callable[[Walk, Qdisc, int], list[Stage]]] = {
    "netem": Walk.netem,
    "tbf": Walk.tbf,
    "cake": Walk.cake,
    "htb": Walk.htb,
    "hfsc": Walk.htb,
}


def of_ip_packets(queue: Mapping[str, Any], framing: Framing) -> Mapping[str, Any]:
    """A queue whose limits in bytes are of IP packets, from those of what the kernel counts for a
    full packet: a queue below a shaper has packets of its sizes.

    >>> of_ip_packets({"kind": "droptail", "bytes": "3028 B"}, Framing("none", 14))["bytes"]
    '3 kB'
    """
    counted = framing.counted(FULL_PACKET)
    if counted == FULL_PACKET or queue["kind"] not in ("droptail", "red"):
        return queue
    scaled = {
        key: show_size(max(1, size_bytes(queue[key]) * FULL_PACKET // counted))
        for key in ("bytes", "min", "max")
        if str(queue.get(key, "")).endswith("B")
    }
    return {**queue, **scaled}


def _after(words: Sequence[str], keys: Sequence[str]) -> str | None:
    """The word after the first of the keys."""
    return next((words[place + 1] for place, word in enumerate(words[:-1]) if word in keys), None)


def redirects(state: TcState) -> dict[str, str]:
    """The interface whose arriving packets an ifb has, by ifb."""
    return {
        one.redirect: device
        for device, there in state.interfaces.items()
        for one in there.filters
        if one.redirect and one.parent in (INGRESS, "ingress", "ffff:fff2")
    }
