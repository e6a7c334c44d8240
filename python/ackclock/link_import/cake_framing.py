"""What cake counts for a packet, by its keywords (tc-cake(8), OVERHEAD)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ackclock.link_import.path_setup import Framing

CAKE_FRAMINGS: Mapping[str, Framing] = {
    "raw": Framing(),
    "conservative": Framing("atm", 48),
    "ipoa-vcmux": Framing("atm", 8),
    "ipoa-llcsnap": Framing("atm", 16),
    "bridged-vcmux": Framing("atm", 24),
    "bridged-llcsnap": Framing("atm", 32),
    "pppoa-vcmux": Framing("atm", 10),
    "pppoa-llc": Framing("atm", 14),
    "pppoe-vcmux": Framing("atm", 32),
    "pppoe-llcsnap": Framing("atm", 40),
    "pppoe-ptm": Framing("ptm", 30),
    "bridged-ptm": Framing("ptm", 22),
    "docsis": Framing("none", 18, 64),
    "ethernet": Framing("none", 38, 84),
}
"""The keywords of tc-cake(8) that add an overhead."""
VLAN_TAG = 4


def cake_framing(words: Sequence[str]) -> tuple[Framing | None, list[str]]:
    """What cake counts for a packet by its keywords, None without any (then as the kernel has it,
    with the Ethernet header), and the other words.

    >>> cake_framing("bandwidth 9mbit pppoe-ptm ether-vlan".split())
    (Framing(cells='ptm', overhead=34, mpu=0), ['bandwidth', '9mbit'])
    """
    found: Framing | None = None
    rest: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        before = found or Framing()
        if word == "raw":
            found = None
            if left[:2] == ["overhead", "0"]:  # `tc qdisc show` prints both
                left = left[2:]
        elif word in CAKE_FRAMINGS:
            added = CAKE_FRAMINGS[word]
            found = Framing(added.cells, before.overhead + added.overhead, max(before.mpu, added.mpu))
        elif word == "ether-vlan":
            found = replace(before, overhead=before.overhead + VLAN_TAG)
        elif word in ("atm", "ptm"):
            found = replace(before, cells="atm" if word == "atm" else "ptm")
        elif word == "noatm":
            found = replace(before, cells="none") if found else found
        elif word in ("overhead", "mpu") and left and re.fullmatch(r"-?\d{1,4}", left[0]):
            value = int(left.pop(0))
            found = (
                replace(before, overhead=max(0, value)) if word == "overhead" else replace(before, mpu=max(0, value))
            )
        else:
            rest.append(word)
    return found, rest
