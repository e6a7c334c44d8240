"""Access lines, hosts and loads drawn from a seed: DSL with and without ATM, cable, fibre, recorded
LTE, WiMAX; hosts of Linux, Windows and BSD, some without window scaling; downloads, uploads, both.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from studies.advise.situations import Data, Drawn

RECORDED = ("TMobile-LTE-short", "Verizon-LTE-short")
"""Recordings of LTE in the folder `cellular` of ACKCLOCK_DATA."""
OVERHEADS = (2, 10, 24, 32)
"""Bytes of encapsulation in ATM cells beside the trailer: PPPoA with VC multiplexing, IPoA with
LLC/SNAP, bridged Ethernet, PPPoE with LLC/SNAP (RFC 2684)."""
SEGMENT_S = "10 s"


def _log(rng: random.Random, low: float, high: float) -> float:
    return float(low * (high / low) ** rng.random())


def _bits(value: float) -> str:
    return f"{round(value, -3):.0f} b/s"


def _ms(seconds: float) -> str:
    return f"{round(1e6 * seconds)} us"


def _fifo(bps: float, seconds: float) -> Data:
    """A FIFO of so many seconds at a rate, of two packets at least."""
    return {"kind": "droptail", "bytes": f"{max(3028, round(bps * seconds / 8))} B"}


def _net(rng: random.Random, low: float = 0.002, high: float = 0.03) -> Data:
    return {"name": "net", "delay": _ms(_log(rng, low, high))}


def _line(rng: random.Random, down: float, up: float, delay: float, queues: tuple[float, float], **more: Any) -> Data:
    rates = {"down": down, "up": up}
    fifos = {d: _fifo(rates[d], seconds) for d, seconds in zip(rates, queues, strict=True)}
    shown = {direction: _bits(bps) for direction, bps in rates.items()}
    return {"name": "line", "rate": shown, "delay": _ms(delay), "queue": fifos, **more}


def _adsl(rng: random.Random) -> list[Data]:
    """ADSL of 3 to 20 Mb/s with ATM cells and a modem's deep queues."""
    down = _log(rng, 3e6, 20e6)
    up = min(down / rng.uniform(6, 14), 1.4e6)
    framing = {"kind": "atm", "overhead": f"{rng.choice(OVERHEADS)} B"}
    queues = (_log(rng, 0.05, 0.5), _log(rng, 0.2, 1.5))
    return [_net(rng), _line(rng, down, up, _log(rng, 0.004, 0.015), queues, framing=framing)]


def _vdsl(rng: random.Random) -> list[Data]:
    """VDSL of 12 to 50 Mb/s without cells."""
    down = _log(rng, 12e6, 50e6)
    queues = (_log(rng, 0.05, 0.4), _log(rng, 0.1, 0.8))
    return [_net(rng), _line(rng, down, down / rng.uniform(4, 12), _log(rng, 0.003, 0.01), queues)]


def _cable(rng: random.Random) -> list[Data]:
    """A DOCSIS modem: requests and grants, a rate that is sold, a burst above it."""
    down, up = _log(rng, 15e6, 60e6), _log(rng, 2e6, 6e6)
    caps = {"down": _bits(down), "up": _bits(up)}
    medium = {
        "kind": "grants",
        "standard": "docsis-3.1",
        "rate": {"down": _bits(10 * down), "up": _bits(10 * up)},
        "cap": caps,
        "burst": f"{round(_log(rng, 3e4, 2e5))} B",
    }
    queues = {"down": _fifo(down, _log(rng, 0.05, 0.3)), "up": _fifo(up, _log(rng, 0.1, 0.8))}
    return [_net(rng), {"name": "cable", "medium": medium, "delay": "500 us", "queue": queues}]


def _fibre(rng: random.Random) -> list[Data]:
    """Fibre of 60 to 120 Mb/s with short or shallow queues."""
    down = _log(rng, 60e6, 120e6)
    queues = (_log(rng, 0.003, 0.1), _log(rng, 0.003, 0.1))
    return [_net(rng, 0.002, 0.02), _line(rng, down, down / rng.choice([1, 2, 5]), _log(rng, 1e-3, 3e-3), queues)]


def _lte(rng: random.Random) -> list[Data]:
    """Recorded LTE from a time of the recording, with the base station's deep queue."""
    folder = Path(os.environ["ACKCLOCK_DATA"]) / "cellular"
    name, start = rng.choice(RECORDED), f"{rng.randrange(100)} s"
    traces = {d: {"trace": str(folder / f"{name}.{d}.gz"), "start": start} for d in ("down", "up")}
    queue = {"kind": "droptail", "packets": rng.choice([100, 250, 750])}
    return [_net(rng, 0.01, 0.03), {"name": "air", "rate": traces, "delay": "10 ms", "queue": queue}]


def _wimax(rng: random.Random) -> list[Data]:
    """A fixed WiMAX sector with one station."""
    medium = {
        "kind": "wimax",
        "channel": "7 MHz",
        "frame": "5 ms",
        "modulation": rng.choice(["64qam-3/4", "16qam-3/4"]),
        "cyclic_prefix": "1/16",
        "dl_ul": rng.choice(["1:1", "3:1", "5:1"]),
    }
    queue = {"kind": "droptail", "packets": rng.choice([50, 100, 300])}
    return [_net(rng, 0.01, 0.04), {"name": "air", "medium": medium, "queue": queue}]


def _long(rng: random.Random) -> list[Data]:
    """A path across an ocean to a fast line: its BDP is above 64 KB."""
    down, rtt = _log(rng, 8e6, 25e6), _log(rng, 0.1, 0.25)
    queues = (_log(rng, 0.3, 1.0) * rtt, 0.1)
    return [_net(rng), _line(rng, down, down / 4, rtt / 2, queues)]


def _good(rng: random.Random) -> list[Data]:
    """A line whose queues are FQ-CoDel."""
    down = _log(rng, 5e6, 40e6)
    hops = [_net(rng), _line(rng, down, down / rng.uniform(1, 4), _log(rng, 0.004, 0.02), (1.0, 1.0))]
    hops[1]["queue"] = {d: {"kind": "fq-codel"} for d in ("down", "up")}
    return hops


LINES: Mapping[str, Callable[[random.Random], list[Data]]] = {
    "ADSL": _adsl,
    "VDSL": _vdsl,
    "cable": _cable,
    "fibre": _fibre,
    "LTE": _lte,
    "WiMAX": _wimax,
    "long path": _long,
    "good": _good,
}
HOSTS: Mapping[str, Data] = {
    "Linux": {},
    "Linux, bbr": {"variant": "bbr"},
    "Linux, no window scaling": {"window_scaling": False},
    "Linux, 64 KiB sockets": {"send_buffer": "64 KiB", "receive_buffer": "64 KiB"},
    "Linux 2.6.20": {"host": "linux-2.6.20"},
    "Windows XP": {"host": "windows-xp"},
    "Windows Vista": {"host": "windows-vista"},
    "BSD": {"host": "bsd-1997"},
    "Linux to Windows XP": {"client": {"host": "windows-xp"}},
    "Windows Vista to Linux": {"client": {"host": "linux-6"}, "server": {"host": "windows-vista"}},
}
LOADS: Mapping[str, tuple[str, ...]] = {"down": ("down",), "up": ("up",), "both": ("down", "up")}


def scenario(rng: random.Random, line: str, host: str, load: str, duration: str = SEGMENT_S) -> Data:
    """Bulk transfers of hosts over a line."""
    names = {"down": "download", "up": "upload"}
    flows = [{"name": names[d], "direction": d, "workload": {"kind": "bulk"}} for d in LOADS[load]]
    return {"duration": duration, "tcp": dict(HOSTS[host]), "hop": LINES[line](rng), "flow": flows}


RECIPES: tuple[tuple[str, str, str], ...] = (
    ("ADSL", "Linux", "both"),
    ("long path", "Linux, no window scaling", "down"),
    ("VDSL", "Linux", "both"),
    ("cable", "Linux", "down"),
    ("LTE", "Linux", "down"),
    ("long path", "Windows XP", "down"),
    ("WiMAX", "Linux", "down"),
    ("ADSL", "Windows Vista", "both"),
    ("fibre", "Linux", "both"),
    ("long path", "Linux, 64 KiB sockets", "down"),
    ("VDSL", "BSD", "down"),
    ("cable", "Linux", "both"),
    ("LTE", "Windows Vista", "down"),
    ("ADSL", "Linux", "up"),
    ("WiMAX", "Linux 2.6.20", "both"),
    ("fibre", "Linux 2.6.20", "down"),
    ("VDSL", "Windows XP", "both"),
    ("long path", "BSD", "down"),
    ("long path", "Linux to Windows XP", "down"),
    ("long path", "Windows Vista to Linux", "down"),
)
"""Lines, hosts and loads of the situations whose recipes are typed, in rotation."""
REGRETS: tuple[tuple[str, str, str], ...] = (
    ("ADSL", "Linux", "both"),
    ("LTE", "Linux", "down"),
    ("long path", "Windows XP", "down"),
    ("good", "Linux, bbr", "down"),
    ("VDSL", "Linux", "down"),
    ("long path", "Linux, no window scaling", "down"),
    ("ADSL", "Windows Vista", "down"),
    ("VDSL", "Linux", "both"),
    ("good", "Linux", "both"),
    ("LTE", "Linux", "both"),
)
"""Those of the situations beside the grid, in rotation."""


def drawn(kinds: tuple[tuple[str, str, str], ...], seed: int) -> Iterator[Drawn]:
    """Situations without end, the kinds in rotation; each number has random numbers of its own.
    Those over recordings are left out where ACKCLOCK_DATA names no folder.
    """
    number = 0
    while True:
        for line, host, load in kinds:
            number += 1
            if line == "LTE" and "ACKCLOCK_DATA" not in os.environ:
                continue
            data = scenario(random.Random(f"{seed} {number}"), line, host, load)
            yield Drawn(f"{line}, {host}, {load}", number, data)
