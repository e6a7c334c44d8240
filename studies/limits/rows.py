"""Runs whose limit is known: a flow over one access hop, and the same run with one limit relaxed.

`Setting` is one run; `RELAXATIONS` maps each limit to a change of the setting that lifts this
limit alone. A setting has a limit if its relaxation raises goodput by a fifth or more, and every
other one by less than a twentieth.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ackclock import analyze
from ackclock.input.scenario import draft_of
from ackclock.simulation.engine import Batches, run
from ackclock.simulation.limits import FlowLimit, connection_facts, decide
from ackclock.simulation.plan import Capture, Plan, build_plan

RAISES = 1.2
"""Goodput of the relaxed run over that of the run, of its limit."""
LEAVES = 1.05
"""The same, of every other limit."""
FLOW = "flow"
UPLOAD = "opposite"
PACKET = 1500
HOPS = ("plain", "asymmetric", "wimax", "wlan", "grants", "packet-radio", "recorded", "proxy")


@dataclass(frozen=True)
class Setting:
    """One run.

    Attributes:
        kind: one of `HOPS`.
        down_mbps, up_mbps: rates; of a medium, the speed of the channel in its own steps.
        delay_ms: one-way delay of the path without queues.
        buffer_ms: of the bottleneck's queue, in time at its rate before a relaxation.
        up_buffer_ms: of the other direction's queue.
        loss: share of the data packets lost after the queue.
        mark_packets: queue length from which packets are marked; 0: no marks.
        upload: a bulk flow in the other direction.
        scaling: window scaling.
        receive_kib, send_kib: buffers; None: much more than any path needs.
        workload: of the flow, as in a scenario.
        iw: initial window.
        start_s: start of the flow.
        speed: factor of the speed of the data's direction (of all of a shared medium).
        up_speed: factor of the speed of the other direction.
        core_mbps: rate of the hop in front.
    """

    kind: str
    down_mbps: float = 4.0
    up_mbps: float = 4.0
    delay_ms: float = 20.0
    buffer_ms: float = 200.0
    up_buffer_ms: float = 200.0
    loss: float = 0.0
    mark_packets: int = 0
    upload: bool = False
    scaling: bool = True
    receive_kib: int | None = None
    send_kib: int | None = None
    variant: str = "cubic"
    workload: Mapping[str, Any] = field(default_factory=lambda: {"kind": "bulk"})
    iw: int = 10
    speed: float = 1.0
    up_speed: float = 1.0
    start_s: float = 0.0
    seconds: float = 10.0

    def scenario(self, traces: Path) -> dict[str, Any]:
        """The scenario; recorded rates are written to `traces`."""
        flow = {"name": FLOW, "direction": "down", "workload": dict(self.workload), "start": f"{self.start_s} s"}
        flows: list[dict[str, Any]] = [flow]
        if self.upload:
            flows.append({"name": UPLOAD, "direction": "up", "workload": {"kind": "bulk"}})
        buffers = {
            "receive_buffer": f"{self.receive_kib} KiB" if self.receive_kib else "4 MiB",
            "send_buffer": f"{self.send_kib} KiB" if self.send_kib else "unlimited",
        }
        return {
            "hop": self._hops(traces),
            "duration": f"{self.seconds} s",
            "sample": f"{self.seconds} s",
            "seeds": [1],
            "tcp": {
                "host": "linux-6",
                "variant": self.variant,
                "window_scaling": self.scaling,
                "ecn": self.mark_packets > 0,
                "initial_window": self.iw,
                "slow_start": "classic",
                "metrics_cache": False,
                **buffers,
            },
            "flow": flows,
        }

    def _hops(self, traces: Path) -> list[dict[str, Any]]:
        down, up = self.down_mbps * self.speed, self.up_mbps * self.up_speed
        queue: dict[str, Any] = {
            "down": {"kind": "droptail", "bytes": _bytes(self.down_mbps, self.buffer_ms)},
            "up": {"kind": "droptail", "bytes": _bytes(self.up_mbps, self.up_buffer_ms)},
        }
        if self.mark_packets:
            queue["down"]["mark"] = f"{self.mark_packets} packets"
        hop: dict[str, Any] = {"name": "access", "delay": f"{self.delay_ms} ms", "queue": queue}
        if self.loss:
            hop["loss"] = {"down": {"kind": "bernoulli", "mean": self.loss}}
        core = {"name": "core", "rate": "1 Gb/s", "delay": "1 ms"}
        if self.kind == "proxy":
            proxy = {"buffer": "1 MB", "tcp": {"receive_buffer": "1 MB", "send_buffer": "unlimited"}}
            hop |= {"rate": {"down": _rate(down), "up": _rate(up)}, "pep": proxy}
            core |= {"delay": "10 ms"}
            return [core, hop, {"name": "lan", "rate": "100 Mb/s", "delay": "1 ms"}]
        if self.kind in ("plain", "asymmetric"):
            return [core, {**hop, "rate": {"down": _rate(down), "up": _rate(up)}}]
        if self.kind == "recorded":
            rates = {
                side: {"trace": str(_trace(traces, mbps)), "start": "0 s"}
                for side, mbps in (("down", down), ("up", up))
            }
            return [core, {**hop, "rate": rates}]
        return [core, {**hop, "medium": self._medium(down, up)}]

    def _medium(self, down: float, up: float) -> dict[str, Any]:
        if self.kind == "grants":
            rate = {"down": _rate(down), "up": _rate(up)}
            return {"kind": "grants", "standard": "docsis-3.1", "rate": rate}
        if self.kind == "wlan":
            return {"kind": "wlan", "standard": "802.11g", "rate": f"{round(6 * self.speed)} Mb/s"}
        if self.kind == "wimax":
            return {
                "kind": "wimax",
                "channel": f"{1.75 * self.speed:g} MHz",
                "modulation": "64qam-2/3",
                "cyclic_prefix": "1/16",
                "dl_ul": "2:1",
            }
        times = {"transmit_to_receive": 0.4, "receive_to_transmit": 0.5, "backoff": 0.8, "latency": 0.5}
        spans = {name: f"{ms / self.speed:.4f} ms" for name, ms in times.items()}
        return {"kind": "packet-radio", "hops": 1, "rate": f"{4000 * self.speed:.0f} kb/s", **spans}


def _rate(mbps: float) -> str:
    return f"{round(1000 * mbps)} kb/s"


def _bytes(mbps: float, ms: float) -> str:
    return f"{max(round(mbps * ms * 125), 2 * PACKET)} B"


def _trace(folder: Path, mbps: float) -> Path:
    """A recording of a varying rate with this mean: opportunities of 1500 bytes in a minute."""
    path = folder / f"{mbps:g}.up"
    if not path.exists():
        rng, ms, times = random.Random(7), 0.0, []
        mean = PACKET * 8e-3 / mbps
        while ms < 60_000.0:
            ms += mean * rng.uniform(0.5, 1.5)
            times.append(max(round(ms), 1))
        path.write_text("".join(f"{time}\n" for time in times))
    return path


Relaxation = Callable[[Setting], Setting]
_SHARED = ("wlan", "packet-radio", "wimax")
"""Media whose directions have one capacity."""


def _faster(of: Setting) -> Setting:
    # The buffer stays as long in bytes, so only the rate differs.
    return replace(of, speed=2.0 * of.speed)


def _faster_return(of: Setting) -> Setting:
    """A return path in which ACKs do not wait."""
    return of if of.kind in _SHARED else replace(of, up_speed=20.0 * of.up_speed)


RELAXATIONS: Mapping[str, Relaxation] = {
    "bottleneck": _faster,
    "ack_path": _faster_return,
    "receive_window": lambda of: replace(of, receive_kib=2 * of.receive_kib if of.receive_kib else None, scaling=True),
    "send_buffer": lambda of: replace(of, send_kib=2 * of.send_kib if of.send_kib else None),
    "channel": lambda of: replace(of, loss=0.0),
    "overflow": lambda of: replace(of, buffer_ms=max(4.0 * of.buffer_ms, 2.5 * (2.0 * of.delay_ms + 40.0))),
    "mark": lambda of: replace(of, mark_packets=0),
    "application": lambda of: of if of.workload["kind"] == "transfer" else replace(of, workload={"kind": "bulk"}),
}
"""The limits of the table and what lifts them. "channel", "overflow" and "mark" are the causes of a
congestion window after losses, and of the recovery from them.
"""


@dataclass(frozen=True)
class Row:
    """A setting, its goodput and its label, and the goodput with each limit relaxed over it.

    Attributes:
        part: the flow to which the label belongs: a part of the connection if proxies split it.
    """

    setting: Setting
    goodput_bps: float
    label: FlowLimit
    gains: Mapping[str, float]
    part: str = FLOW

    @cached_property
    def truth(self) -> str | None:
        """The limit by relaxation; None if there is not exactly one."""
        raising = [name for name, gain in self.gains.items() if gain >= RAISES]
        others = [gain for name, gain in self.gains.items() if name not in raising]
        return raising[0] if len(raising) == 1 and all(gain < LEAVES for gain in others) else None

    @property
    def named(self) -> str:
        """The limit that the label names, as in `RELAXATIONS`."""
        if self.label.document["kind"] in ("cwnd", "recovery"):
            return self.label.document["cause"] or ""
        return self.label.document["kind"]

    @property
    def right(self) -> bool:
        """Whether the label names the limit."""
        return self.named == self.truth


def evaluate(settings: Sequence[Setting], traces: Path, threads: int = 2) -> list[Row]:
    """Run each setting and its relaxations, in one batch."""
    plans: list[Plan] = []
    numbers: dict[str, int] = {}

    def number(setting: Setting) -> int:
        key = json.dumps(repr(setting))
        if key not in numbers:
            numbers[key] = len(plans)
            plans.append(build_plan(draft_of(setting.scenario(traces)).check(), 1))
        return numbers[key]

    wanted = [(number(s), {name: number(relax(s)) for name, relax in RELAXATIONS.items()}) for s in settings]
    output = Batches(threads).run(plans, [(index, 1, False) for index in range(len(plans))], 0)
    summaries = output.summaries
    goodputs = [_goodput(summary) for summary in summaries]
    rows = []
    for setting, (base, relaxed) in zip(settings, wanted, strict=True):
        facts = connection_facts(summaries[base], plans[base].document)
        compared = next(of for name, of in facts.items() if name.startswith(FLOW))
        gains = {name: goodputs[index] / goodputs[base] if goodputs[base] else 1.0 for name, index in relaxed.items()}
        rows.append(Row(setting, goodputs[base], decide(compared), gains, compared.flow))
    return rows


@dataclass(frozen=True)
class CaptureLimit:
    """The limit that `analyze` reports from a capture at the sender of a row."""

    row: Row
    kind: str | None

    @property
    def right(self) -> bool:
        """Whether it is that of the row. One capture does not show whether a loss was an overflow,
        a mark or on the channel.
        """
        if self.row.truth in LOSSES:
            return self.kind in ("cwnd", "recovery")
        return self.kind == self.row.truth


def captured(row: Row, folder: Path) -> CaptureLimit:
    """Run a row's setting again with a capture at the sender, and analyze the capture."""
    path = folder / "sender.pcap"
    scenario = draft_of(row.setting.scenario(folder)).check()
    run(build_plan(scenario, 1, [Capture(row.part, "server", path)]))
    return CaptureLimit(row, analyze(path).document["flows"][0]["limit"]["b2a"])


def _goodput(summary: Mapping[str, Any]) -> float:
    return sum(
        flow["goodput_bps"] or 0.0
        for flow in summary["flows"]
        if flow["flow"].startswith(FLOW) and not flow.get("feeds")
    )


def draw(rng: random.Random, kind: str, limit: str) -> Setting:
    """A setting over a hop of this kind, meant to have this limit; the runs show whether it has."""
    uniform, choice = rng.uniform, rng.choice
    rate = round(uniform(4.0, 10.0), 2)
    delay = round(uniform(30.0, 90.0), 1)
    up = rate if kind != "asymmetric" else round(rate / uniform(4.0, 12.0), 3)
    base = Setting(kind, rate, up, delay, variant=choice(["cubic", "reno", "cubic", "bbr"]))
    if limit in ("channel", "overflow", "mark"):
        base = replace(base, variant=choice(["cubic", "reno"]))
    base = replace(base, buffer_ms=max(2.5 * (2.0 * delay + 40.0), 150.0))
    if kind in _SHARED:
        base = replace(base, down_mbps=_speed_mbps(base), up_mbps=_speed_mbps(base))
    # A medium's frames and contention are a part of each RTT, which the rate would shorten: the
    # rest is long.
    long_delay = round(uniform(100.0, 200.0) if kind in (*_SHARED, "grants") else uniform(50.0, 120.0), 1)
    window_kib = max(int(_speed_mbps(base) * (2.0 * delay + 5.0) / 8.0 * uniform(0.15, 0.6)), 6)
    if limit == "receive_window":
        if choice([True, False]):
            return replace(base, receive_kib=window_kib)
        # A window of 65,535 B without scaling: a path that carries more.
        return replace(base, delay_ms=round(65_535 * 8e-3 / _speed_mbps(base) * uniform(0.8, 1.6), 1), scaling=False,
                       receive_kib=256)  # fmt: skip
    if limit == "send_buffer":
        # The server's buffer is in front of the proxy, where the RTT is that of the core.
        core_kib = max(int(rate * 22.0 / 8.0 * uniform(0.15, 0.6)), 3)
        return replace(base, send_kib=core_kib if kind == "proxy" else window_kib)
    if limit == "channel":
        return replace(base, loss=round(10 ** uniform(-2.6, -1.2), 4))
    if limit == "overflow":
        return replace(base, buffer_ms=round(uniform(2.0, 6.0), 1), delay_ms=long_delay)
    if limit == "mark":
        return replace(base, mark_packets=choice([1, 2, 3]), delay_ms=long_delay, variant="reno")
    if limit == "application":
        if choice([True, False]):
            read = {"kind": "bulk", "read_rate": f"{round(1000 * _speed_mbps(base) * uniform(0.3, 0.6))} kb/s"}
            # The reader's buffer holds a small part of the transfer.
            kib = int(_speed_mbps(base) * (2.0 * delay + 40.0) / 8.0 * 1.2)
            return replace(base, workload=read, receive_kib=kib, seconds=20.0)
        think = round(uniform(0.2, 0.6) if kind not in _SHARED else uniform(0.6, 1.2), 2)
        page = {
            "kind": "web",
            "persistent": True,
            "request": "200 B",
            "answers": 1,
            "size": f"{choice([10, 20, 40])} KiB",
        }
        return replace(base, workload={**page, "think": f"{think} s", "jobs": 10_000})
    if limit == "ack_path":
        # A transfer of some RTTs, which ACKs behind the upload lengthen.
        size = f"{choice([60, 120, 240])} KiB"
        return replace(base, up_mbps=round(rate / uniform(4.0, 16.0), 3), upload=True, start_s=3.0, variant="cubic",
                       up_buffer_ms=round(uniform(150.0, 800.0)), workload={"kind": "transfer", "size": size})  # fmt: skip
    return base


def _speed_mbps(of: Setting) -> float:
    """About the goodput of the hop: of a medium, that of its channel."""
    return {"wlan": 4.5, "wimax": 3.0, "packet-radio": 2.5}.get(of.kind, of.down_mbps)


LIMITS = tuple(RELAXATIONS)
LOSSES = ("channel", "overflow", "mark")
CELLS = tuple((kind, limit) for kind in HOPS for limit in LIMITS if limit != "ack_path" or kind not in _SHARED)
"""Each kind of hop with each limit that it can have alone: in a shared medium ACKs have no capacity
of their own.
"""


def drawn(seed: int, number: int, kind: str, limit: str) -> Setting:
    """The setting of this number of a cell."""
    return draw(random.Random(f"{seed} {number} {kind} {limit}"), kind, limit)
