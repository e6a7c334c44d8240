"""SQM of OpenWrt (the package sqm-scripts): a queue of /etc/config/sqm, as lines for `uci`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ackclock.advisor.commands import DEVICE, Command, Comment, Service, Uci

SECTION = "sqm.ackclock"
"""The section of the queue, whose deletion is the undo."""
LINKS = {"download": "downlink", "upload": "uplink"}


@dataclass(frozen=True, slots=True)
class SqmQueue:
    """A queue with cake on the router's interface to the link.

    Attributes:
        download, upload: the shaped rates in kbit/s; 0: not shaped.
        ingress, egress: further keywords of cake.
        atm_overhead: bytes of AAL5 and encapsulation that go with an IP packet into ATM cells; None
            where the line has no cells. `linklayer_adaptation_mechanism` is then cake's own, whose
            overhead counts from the IP packet; that of `tc stab` counts from the Ethernet frame.
        interface: the router's interface to the link.
    """

    download: int
    upload: int
    ingress: str = ""
    egress: str = ""
    atm_overhead: int | None = None
    interface: str = DEVICE

    @classmethod
    def merged(cls, queues: Sequence[SqmQueue]) -> SqmQueue | None:
        """The queue that does what several do; None where two shape one direction, or count the
        bytes of the line in two ways.
        """
        down, up = ([one for one in queues if getattr(one, option)] for option in LINKS)
        if len(down) > 1 or len(up) > 1 or not queues or len({one.atm_overhead for one in queues}) > 1:
            return None
        download, ingress = (down[0].download, down[0].ingress) if down else (0, "")
        upload, egress = (up[0].upload, up[0].egress) if up else (0, "")
        return replace(queues[0], download=download, ingress=ingress, upload=upload, egress=egress)

    def notes(self) -> tuple[Command, ...]:
        """What a rate of 0 means, where one stands in the lines."""
        return tuple(
            Comment(f"{option}=0: the {link} remains unshaped")
            for option, link in LINKS.items()
            if not getattr(self, option)
        )

    def commands(self) -> tuple[Command, ...]:
        """The lines that make the queue and start it."""
        line = {"linklayer": "none"}
        if self.atm_overhead is not None:
            line = {"linklayer": "atm", "overhead": str(self.atm_overhead), "linklayer_advanced": "1"}
            line |= {"linklayer_adaptation_mechanism": "cake"}
        options = {
            "enabled": "1",
            "interface": self.interface,
            "download": str(self.download),
            "upload": str(self.upload),
            "qdisc": "cake",
            "script": "piece_of_cake.qos",
            **line,
            "qdisc_advanced": "1",
            "qdisc_really_really_advanced": "1",
            **({"iqdisc_opts": self.ingress} if self.ingress else {}),
            **({"eqdisc_opts": self.egress} if self.egress else {}),
        }
        lines = [Uci("set", f"{SECTION}.{name}", value) for name, value in options.items()]
        return (Uci("set", SECTION, "queue"), *lines, Uci("commit", "sqm"), Service("sqm"))

    @staticmethod
    def undo() -> tuple[Command, ...]:
        """The lines that remove it."""
        return (Uci("delete", SECTION), Uci("commit", "sqm"), Service("sqm"))
