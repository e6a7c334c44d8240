"""The verdict of a comparison: the recommendation and its reason in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.comparison.ack_path import AS_IS, HOST
from ackclock.comparison.configuration import buffers_in_words
from ackclock.comparison.socket_buffers import needed
from ackclock.format import rate, three
from ackclock.input.variant_groups import shown

Document = Mapping[str, Any]


def verdict(document: Document) -> str:
    """The recommendation and its reason, from the ``cells`` and the ``ranking`` of a comparison."""
    metrics = {cell["label"]: cell["metrics"] for cell in document["cells"]}
    best = document["ranking"][0]
    settings = f" These buffers need {lines}." if (lines := needed(best.get("settings", ()))) else ""
    return f"{recommendation(document, metrics)} {best['why']}{settings}"


def recommendation(document: Document, metrics: Mapping[str, Document]) -> str:
    """What to use, with its goodput and p95 RTT, as a sentence.

    `metrics` are those of the cells, by label.
    """
    best = document["ranking"][0]
    of = metrics[best["label"]]
    params = best["params"]
    sockets = buffers_in_words(params["send_buffer"], params["receive_buffer"])
    acks = "delayed ACKs" if params["delayed_ack"] else "an ACK for every segment"
    if "goodput_bps" not in of or "rtt_p95_ms" not in of:
        return "No configuration delivered data."
    return (
        f"Use {shown(params['variant'])} with {sockets} and {acks}{_on_path(params)}: "
        f"{rate(of['goodput_bps']['mean'])} of goodput at a p95 RTT of "
        f"{three(of['rtt_p95_ms']['mean'])} ms."
    )


def _on_path(params: Document) -> str:
    """The choice's changes of the bottlenecks' queues and of the hosts."""
    parts = []
    if (queue := params.get("queue", AS_IS)) != AS_IS:
        parts.append(f"a {queue} queue before the bottleneck")
    if (policy := params.get("ack_policy", AS_IS)) != AS_IS:
        parts.append("no ACK policy" if policy == "none" else f"ACK policy {policy} on the reverse path")
    if (technique := params.get("ack_technique", HOST)) != HOST:
        parts.append(f"{technique} in the hosts")
    return "".join(f", {one}" for one in parts)
