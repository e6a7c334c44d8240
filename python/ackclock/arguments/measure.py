"""The arguments of ``measure``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.arguments import COMMAS, FORCE, OUT, SERVER_PORT, TOKEN_FILE, argument, listed, struct
from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.input.objects import Time
    from ackclock.notebook import Progress

PORT = 4862
"""The TCP and UDP port of a measurement server."""


def rates_of(text: str) -> list[str]:
    """The rates of a list such as ``0.5,1,2,4 Mb/s``: a number without a unit has that of the
    last.
    """
    parts = listed(text)
    unit = parts[-1].lstrip("0123456789.eE+- ")
    return [part if part[-1:].isalpha() else f"{part} {unit}" for part in parts]


def _labels(texts: Sequence[str]) -> dict[str, str]:
    pairs = {text: text.partition("=") for text in texts}
    for text, pair in pairs.items():
        if not all(pair):
            raise InputError(text, "NAME=VALUE, such as ssi=3", option="--label")
    return {name: value for name, _, value in pairs.values()}


@struct
class MeasureArguments:
    """Which tests ``measure`` runs to which host, and what it keeps of them. Those that are keys of
    the plan replace its values.
    """

    host: str = argument("Where ackclockd or `ackclock serve` runs.", name="HOST")
    plan: Mapping[str, Any] | str | Path | None = argument(
        "A TOML file with the plan of the measurement.",
        "Or its keys as a mapping (docs/reference/measure.md); times may also be seconds as a number, or a timedelta.",
        default=None,
        kind=Path,
    )
    _: KW_ONLY
    tests: Sequence[str] | None = argument(
        "path (no far end needed), delay, capacity, steps, tcp, bidirectional, flows, latency, transfers"
        f"{COMMAS} (default: all).",
        default=None,
        read=listed,
        quick=("delay", "capacity", "tcp", "latency"),
    )
    directions: Sequence[str] | None = argument(
        "down (from the far end), up, or down,up.", default=None, name="--direction", read=listed
    )
    duration: Time | None = argument("Time of one test (default: 10 s).", default=None, quick="3 s")
    congestion: Sequence[str] | None = argument(
        f"Congestion controls{COMMAS} (default: cubic).", default=None, read=listed
    )
    buffers: Sequence[str] | None = argument(f'Socket buffers{COMMAS} (default: "auto").', default=None, read=listed)
    flows: int | None = argument("Connections of `flows` and `latency` (default: 4).", default=None, min=1)
    sizes: Sequence[str] | None = argument(
        "Sizes of transfers (default: 10 kB,100 kB,1 MB).", default=None, read=listed
    )
    steps: Sequence[str] | None = argument(
        'Rates of `steps` instead of shares of the capacity, also above it, such as "0.5,1,2,4 Mb/s".',
        default=None,
        read=rates_of,
    )
    max_bytes: str | None = argument(
        "Maximum bytes of the whole measurement on the path, both directions (default: 500 MB); what does not fit is "
        "shortened or left out.",
        default=None,
    )
    labels: Mapping[str, str] | None = argument(
        "A condition to group by, such as ssi=3; repeatable.",
        default=None,
        name="--label",
        kind=list[str],
        read=_labels,
    )
    alternate: bool | None = argument("Alternate the directions of `steps` and `tcp` from run to run.", default=None)
    offset: Time | None = argument(
        "`bidirectional`: start the second direction this much after the first, and end it as much before, such as "
        "5 s.",
        default=None,
    )
    capture: bool = argument(
        "Keep this end's packets as capture.pcap in the run folder (needs CAP_NET_RAW).", default=False
    )
    capture_far: bool = argument(
        "Fetch the far end's capture of the session's headers, too, if it runs with --allow-capture; with --capture "
        "both are analyzed together.",
        default=False,
    )
    pps: Sequence[str | Path] = argument(
        "Clock values at the pulses of a second (PPS), such as /sys/class/pps/pps0/assert; given again, those of the "
        "far end. With --capture and --capture-far, delays are then in UTC.",
        "They are recorded as ``pulses.txt`` and ``pulses-far.txt``.",
        default=(),
        kind=list[Path],
    )
    port: int = argument(SERVER_PORT, default=PORT)
    token: str | None = argument(
        "The server's token; else `token_file` or the environment's ACKCLOCK_TOKEN.", default=None, name=None
    )
    token_file: str | Path | None = argument(TOKEN_FILE, default=None)
    out: str | Path | None = argument(OUT, "The Python function writes nothing without it.", default=None)
    force: bool = argument(FORCE, default=False)
    progress: Progress | None = argument(
        "Called with the number of finished tests, the number of all tests, and a label.", default=None, name=None
    )

    def identified(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """What the run folder's identity hashes, with the checked plan."""
        return {"host": self.host, "port": self.port, "plan": plan}
