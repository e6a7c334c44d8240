"""What the clients of a hop contend for, in both directions: one element in place of a rate.

Each kind is a model in a file of its own with two methods: `plan()`, what the engine is told (docs/plan.md), and
`nominal_bps(way)`, the most it can carry in one direction. All but a chain of packet radios may have a `handover`.
"""

from __future__ import annotations

from typing import Annotated

from ackclock.input.link.grants import Grants
from ackclock.input.link.half_duplex import HalfDuplex
from ackclock.input.link.packet_radio import PacketRadio
from ackclock.input.link.wimax import Wimax
from ackclock.input.link.wlan import Wlan
from ackclock.input.schema import by_kind

MEDIA = {"grants": Grants, "half-duplex": HalfDuplex, "packet-radio": PacketRadio, "wimax": Wimax, "wlan": Wlan}
Medium = Annotated[Grants | HalfDuplex | PacketRadio | Wimax | Wlan, by_kind(MEDIA)]
