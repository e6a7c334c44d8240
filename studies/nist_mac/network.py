"""The network of the module's runs: a wired hop and one 802.16 cell, with the parameters that its
tables vary.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ackclock
from ackclock.simulation.run import Simulation

LINK = """title = "7 MHz, frames of 5 ms, {ratio}"
source = "test"
[[hop]]
name = "wire"
rate = "{rate}"
delay = {{ down = {delay_down}, up = "{delay}" }}
queue = {{ kind = "droptail", packets = 10000 }}
{wired_loss}[[hop]]
name = "air"
queue = {{ kind = "droptail", packets = {queue} }}
{air_loss}[hop.medium]
kind = "wimax"
channel = "7 MHz"
frame = "5 ms"
modulation = "64qam-3/4"
cyclic_prefix = "1/16"
dl_ul = "{ratio}"
contention = {contention}
contention_layout = "fractional"
contention_modulation = "64qam-3/4"
backoff = [{backoff_start}, {backoff_stop}]
t16 = "{t16}"
request_tries = 3
requests = "nist-{bookkeeping}"
"""
LOSS = """[hop.loss.down]
kind = "gilbert-elliott"
mean = {share}
bad_sojourn = "5 ms"
"""
DSDV_BYTES = 20
"""A station's routing agent adds an IP header to what its node sends (DSDV::recv)."""
AIR_QUEUE = 49
"""The module's queue of 50 counts a packet of which a part was sent; here it has left the queue."""
JITTER_PERIOD_S = 10
"""After which the random delays of the wired hop repeat."""


@dataclass(frozen=True)
class Network:
    """What the tables vary; the fields have the names of their columns.

    ``per`` is the share of the time in which every packet to the stations is lost, 5 ms in a row on
    average, on the wired hop or, with ``err`` "air", at the station. ``jitter_ms`` is the range of
    the wired hop's delay, redrawn every millisecond.
    """

    dl_ul: str = "3:1"
    bookkeeping: str = "corrected"
    stations: int = 1
    contention_size: int = 5
    backoff_start: int = 2
    backoff_stop: int = 6
    t16_s: str = "0.1"
    per: str = "0"
    err: str = "wired"
    rate: str = field(default="100 Mb/s", compare=False)
    wired_delay_ms: str = "45"
    jitter_ms: str = "0"

    @classmethod
    def of(cls, row: Mapping[str, str], **other: Any) -> Network:
        """The network of a row of a table, with the defaults in place of absent columns."""
        values: dict[str, Any] = {name: row[name] for name in cls.__dataclass_fields__ if row.get(name)}
        numbers = ("stations", "contention_size", "backoff_start", "backoff_stop")
        values |= {name: int(values[name]) for name in numbers if name in values}
        return cls(**values | other)

    def link(self, seed: int) -> str:
        """The link file."""
        loss = "" if float(self.per) == 0 else LOSS.format(share=self.per)
        return LINK.format(
            ratio=self.dl_ul,
            queue=AIR_QUEUE,
            rate=self.rate,
            delay=f"{self.wired_delay_ms} ms",
            delay_down=self._delay_down(seed),
            wired_loss=loss if self.err == "wired" else "",
            air_loss=loss if self.err == "air" else "",
            contention=self.contention_size,
            backoff_start=self.backoff_start,
            backoff_stop=self.backoff_stop,
            t16=f"{self.t16_s} s",
            bookkeeping="corrected" if self.bookkeeping == "any" else self.bookkeeping,
        )

    def _delay_down(self, seed: int) -> str:
        jitter_ms = float(self.jitter_ms)
        if jitter_ms == 0:
            return f'"{self.wired_delay_ms} ms"'
        draw = random.Random(f"jitter {seed}")
        delays_us = [
            round(1e3 * (float(self.wired_delay_ms) + jitter_ms * draw.random())) for _ in range(1000 * JITTER_PERIOD_S)
        ]
        steps = ", ".join(f'["{at} ms", "{delay} us"]' for at, delay in enumerate(delays_us))
        return f'{{ schedule = [{steps}], repeat = "{JITTER_PERIOD_S} s" }}'

    def simulate(
        self, flows: Sequence[dict[str, Any]], seconds: float, seed: int, captures: Path | None = None
    ) -> Simulation:
        """A run of this network, with captures of each flow in a folder if one is given."""
        with tempfile.TemporaryDirectory() as folder:
            link = Path(folder) / "link.toml"
            link.write_text(self.link(seed), encoding="utf-8")
            return ackclock.simulate(
                str(link),
                flows,
                f"{seconds} s",
                seed=seed,
                clients=self.stations,
                phase_jitter=False,
                out=captures,
                captures="pcap" if captures else None,
            )
