"""The ten links: packaged ones, and with another queue at the last hop."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from ackclock.input.link.names import PACKAGED

FQ_CODEL: Mapping[str, Any] = {"kind": "fq-codel"}
CODEL: Mapping[str, Any] = {"kind": "codel"}
SMALL: Mapping[str, Any] = {"down": {"kind": "droptail", "bytes": "40 kB"}, "up": {"kind": "droptail", "bytes": "8 kB"}}
"""20 ms and 64 ms at 16 Mb/s and 1 Mb/s."""
LINKS: Mapping[str, tuple[str, Mapping[str, Any] | None]] = {
    "dsl-16m": ("dsl-16m", None),
    "dsl-16m, small buffers": ("dsl-16m", SMALL),
    "dsl-16m, codel": ("dsl-16m", CODEL),
    "dsl-16m, fq_codel": ("dsl-16m", FQ_CODEL),
    "cable-modem-5m": ("cable-modem-5m", None),
    "cable-modem-5m, fq_codel": ("cable-modem-5m", FQ_CODEL),
    "lte-fixed-10m": ("lte-fixed-10m", None),
    "lte-fixed-10m, fq_codel": ("lte-fixed-10m", FQ_CODEL),
    "dumbbell-10m": ("dumbbell-10m", None),
    "geo-satellite": ("geo-satellite", None),
}
"""Name of the page's row: the packaged link, and the queue in place of its last hop's.

Without framing: a replay of the emulation cannot bound what lateness does to cells and overhead, so
that such a run has to be exact.
"""


def link_of(name: str) -> dict[str, Any]:
    """The link as `emulate` and scenarios take it."""
    packaged, queue = LINKS[name]
    link = tomllib.loads((PACKAGED / f"{packaged}.toml").read_text("utf-8"))
    link.pop("assumed", None)
    if queue:
        link["hop"][-1]["queue"] = dict(queue)
    return link
