"""Shared media of a hop, for both directions, in place of its rate.

Each kind is a model in its own file with `plan()`, the engine's plan (docs/inside/plan.md), and
`nominal_bps(direction)`, the maximum rate in a direction. All except packet radio may have a
`handover`.
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
