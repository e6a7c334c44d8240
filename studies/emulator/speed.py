"""The emulator's throughput: one link at increasing load, and a hundred links at once."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator

from ackclock.emulation.terminal_tables import bounded
from ackclock.emulation.tries import GRADES
from ackclock.format import date_of
from studies.emulator.traffic import IDLE_S, PORT, PROGRAM, Stream, link, run

TOTALS = (0.5e9, 1.0e9, 1.25e9, 1.5e9, 1.5e9, 1.5e9, 1.75e9, 2.0e9, 2.5e9)
"""Offered load of both directions, in bit/s of IP packets; the target three times."""
SATURATED = (1.5e9, 1.75e9, 2.0e9, 2.5e9)
"""Capacity of saturated links, both directions."""
OVERLOAD = 1.04
"""Offered load of a saturated link, relative to its capacity."""
SECONDS = 5.0
LINKS, LINK_BPS = 100, 10e6
HUNDRED_RUNS = 3
HEADINGS = (
    "link per direction",
    "offered",
    "carried",
    "received",
    "lost by the link",
    "lost by the emulator",
    "release error p50, p99 us",
    "CPU us per packet",
    "grade",
    "bound: goodput, p95 delay",
    "date",
    "load",
    "steal",
)


def one_link() -> Iterator[tuple[str, ...]]:
    """A fixed rate with 30 ms of delay and streams of 1500 B in both directions, below and above
    the link's rate."""
    for total, rate in [(total, 4e9) for total in TOTALS] + [(OVERLOAD * total, total / 2) for total in SATURATED]:
        queue = '{ kind = "droptail", packets = 5000 }'
        outcome = run(
            link(f'"{rate / 1e6:g} Mb/s"', queue=queue), [Stream("down", total / 2), Stream("up", total / 2)], SECONDS
        )
        document, counted = outcome.document, outcome.counted.values()
        late = document["release_error_us"]
        yield (
            f"{rate / 1e9:g} Gb/s",
            f"{total / 1e9:.2f} Gb/s",
            f"{document['packets_out'] * 1500 * 8 / SECONDS / 1e9:.3f} Gb/s",
            f"{sum(counts.get('bps', 0.0) for counts in counted) / 1e9:.3f} Gb/s",
            str(sum(hop["drops"] for hop in document["hops"])),
            str(document["unintended_drops"]),
            f"{late['p50'] or 0:.0f}, {late['p99'] or 0:.0f}",
            f"{1e6 * document['cpu_seconds'] / max(1, document['packets_out']):.2f}",
            document["grade"] if document["valid"] else f"invalid: {document['why']}",
            f"{bounded(document['bound']['goodput'])}, {bounded(document['bound']['rtt_p95'])}",
            date_of(document["started"]),
            f"{document['load']:.1f}",
            f"{document['steal_percent']:.1f} %",
        )


def generator_alone() -> str:
    """The throughput of sender and receiver, in both directions over a veth pair without
    offloads.
    """
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "ethtool"))):
        return "The generator alone was not measured: it requires root, iproute2 and ethtool."
    names = [f"ackgen{end}-{os.getpid()}" for end in "ab"]
    ip = ["ip", "netns", "exec"]
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        subprocess.run(
            ["ip", "-n", names[0], "link", "add", "v", "type", "veth", "peer", "name", "v", "netns", names[1]],
            check=True,
        )
        for number, name in enumerate(names, 1):
            subprocess.run(["ip", "-n", name, "address", "add", f"198.51.100.{number}/24", "dev", "v"], check=True)
            for device in ("lo", "v"):  # the sender warms the caches through 127.0.0.1
                subprocess.run(["ip", "-n", name, "link", "set", device, "up"], check=True)
            off = [word for feature in ("tx", "rx", "sg", "tso", "gso", "gro") for word in (feature, "off")]
            subprocess.run([*ip, name, "ethtool", "-K", "v", *off], check=False, capture_output=True)
        sinks = [
            subprocess.Popen(
                [*ip, name, str(PROGRAM), "sink", str(PORT), str(IDLE_S)], stdout=subprocess.PIPE, text=True
            )
            for name in names
        ]
        senders = [
            subprocess.Popen(
                [*ip, name, str(PROGRAM), "send", f"198.51.100.{3 - number}:{PORT}", "0", "1500", str(SECONDS)],
                stdout=subprocess.DEVNULL,
            )
            for number, name in enumerate(names, 1)
        ]
        counts = [json.loads(sink.communicate(timeout=60)[0]) for sink in sinks]
        for sender in senders:
            sender.wait()
    finally:
        for name in names:
            with contextlib.suppress(OSError):
                subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    total, lost = sum(sink["bps"] for sink in counts), sum(sink["lost"] for sink in counts)
    packets = sum(sink["packets"] for sink in counts)
    return (
        "The generator alone, at full speed in both directions over a veth pair without "
        "offloads:\n"
        f"{total / 1e9:.2f} Gb/s are received ({100 * lost / max(1, packets + lost):.0f} % of the "
        "packets are lost at the receiver's full buffer)."
    )


def hundred_links() -> Iterator[str]:
    """A link per client, in several runs."""
    yield f"{LINKS} links of {LINK_BPS / 1e6:g} Mb/s at once in one process, 98 % loaded for 10 s:"
    yield ""
    yield "| carried | exact | usable | invalid | maximum p99 us | lost by the emulator | date | load | steal |"
    yield "|" + "---|" * 9
    for _ in range(HUNDRED_RUNS):
        yield "| " + " | ".join(_hundred_links()) + " |"


def _hundred_links() -> tuple[str, ...]:
    text = link(f'"{LINK_BPS / 1e6:g} Mb/s"', per_client="true", queue='{ kind = "droptail", packets = 50 }')
    outcome = run(text, [Stream("down", 0.98 * LINKS * LINK_BPS, 1500, LINKS)], 10.0, clients=LINKS)
    document = outcome.document
    clients = document["clients"]
    grades = [client["grade"] for client in clients]
    down = next(hop for hop in document["hops"] if hop["direction"] == "down")
    return (
        f"{down['delivered'] * 1500 * 8 / 10 / 1e9:.3f} Gb/s",
        *(str(grades.count(grade)) for grade in reversed(GRADES)),
        f"{max(client['release_error_us']['p99'] or 0.0 for client in clients):.0f}",
        str(document["unintended_drops"]),
        date_of(document["started"]),
        f"{document['load']:.1f}",
        f"{document['steal_percent']:.1f} %",
    )


def lines() -> Iterator[str]:
    """The lines of the page's part.

    ``carried`` counts at the emulator, ``received`` at the receivers.
    """
    yield generator_alone()
    yield ""
    yield "| " + " | ".join(HEADINGS) + " |"
    yield "|" + "---|" * len(HEADINGS)
    for row in one_link():
        yield "| " + " | ".join(row) + " |"
    yield ""
    yield from hundred_links()
