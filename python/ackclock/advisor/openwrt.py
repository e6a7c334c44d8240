"""SQM of OpenWrt (the package sqm-scripts): a queue of /etc/config/sqm, as lines for `uci`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.advisor.commands import DEVICE, Command, Service, Uci

SECTION = "sqm.ackclock"
"""The section of the queue, whose deletion is the undo."""


@dataclass(frozen=True, slots=True)
class SqmQueue:
    """A queue with cake in both directions of the router's interface to the link.

    Attributes:
        download, upload: the shaped rates in kbit/s; 0: not shaped.
        ingress, egress: further keywords of cake.
        interface: the router's interface to the link.
    """

    download: int
    upload: int
    ingress: str = ""
    egress: str = ""
    interface: str = DEVICE

    def commands(self) -> tuple[Command, ...]:
        """The lines that make the queue and start it."""
        options = {
            "enabled": "1",
            "interface": self.interface,
            "download": str(self.download),
            "upload": str(self.upload),
            "qdisc": "cake",
            "script": "piece_of_cake.qos",
            "linklayer": "none",
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

    @classmethod
    def parsed(cls, commands: Sequence[Command]) -> SqmQueue:
        """The queue that commands make; `parsed(queue.commands()) == queue`.

        Raises ValueError for commands that make no queue, or do not start it.
        """
        *lines, commit, restart = commands
        if (commit, restart) != (Uci("commit", "sqm"), Service("sqm")) or lines[:1] != [Uci("set", SECTION, "queue")]:
            raise ValueError("the lines make no queue of sqm")
        found: dict[str, str] = {}
        for line in lines[1:]:
            if not isinstance(line, Uci) or line.verb != "set" or not line.path.startswith(f"{SECTION}."):
                raise ValueError(f"no option of the queue: {line.text()}")
            found[line.path.removeprefix(f"{SECTION}.")] = line.value
        if missing := {"enabled", "interface", "download", "upload", "qdisc", "script"} - found.keys():
            raise ValueError(f"the queue has no {', '.join(sorted(missing))}")
        keywords = (found.get("iqdisc_opts", ""), found.get("eqdisc_opts", ""))
        return cls(int(found["download"]), int(found["upload"]), *keywords, found["interface"])
