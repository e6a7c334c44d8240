"""The statements about the queue of a direction as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.documents.measure import Queue

from ackclock.format import rate as show
from ackclock.measurement.queue_inference import AQM, CODEL, DROPTAIL, PER_FLOW, PIE, UNKNOWN


def sentences(direction: str, queue: Queue) -> list[str]:
    """The statements about one direction as sentences, from the document's ``queue``."""
    out = []
    kinds = {
        DROPTAIL: "is droptail",
        PER_FLOW: "has a queue for each flow",
        CODEL: "is CoDel-like",
        PIE: "drops by a probability (PIE-like)",
        AQM: "is an AQM",
        UNKNOWN: "is of unknown kind",
    }
    out.append(f"The queue {direction} {kinds[queue['kind']]}: {queue['because']}.")
    rate = queue["rate"]
    if rate and rate["wanders"]:
        out.append(
            f"The rate {direction} wanders: {show(rate['p5_bps'])} to {show(rate['p95_bps'])} in windows of a second "
            f"(median {show(rate['p50_bps'])})."
        )
    if queue["buffer_bytes"] is not None:
        size = f"The buffer {direction} holds {queue['buffer_bytes'] / 1e3:.0f} kB"
        waits = "" if queue["stream_queue_ms"] is None else f", which is {queue['stream_queue_ms']:.0f} ms of queue"
        out.append(f"{size}{waits}.")
    elif queue["stream_queue_ms"] is not None and queue["kind"] != UNKNOWN:
        prefix = "at least " if queue["stream_grows"] else ""
        if queue["tcp_queue_ms"] is not None:
            out.append(f"TCP {direction} meets {queue['tcp_queue_ms']:.0f} ms of queue.")
        out.append(f"A stream {direction} that does not yield piles up {prefix}{queue['stream_queue_ms']:.0f} ms.")
    origins = {
        "overflow": "overflow of the queue",
        "aqm": "drops of the AQM",
        "channel": "channel losses",
        "both": "drops of the queue and channel losses",
    }
    if queue["losses"] in origins:
        out.append(f"Losses {direction} are {origins[queue['losses']]}.")
    return out
