"""How the transport of a flow is named for readers: the stack is part of the name, because other
QUIC stacks differ in their timers and pacing.
"""

from collections.abc import Mapping
from typing import Any

TCP, QUIC = "tcp", "quic"
"""The words of `transport` of a flow."""


def control_text(flow: Mapping[str, Any], separator: str = " over ") -> str:
    """The congestion control of a flow of a summary, and its stack if that is not TCP: "cubic",
    "cubic over noq 1.4", "UDP".
    """
    if flow["variant"] == "udp":
        return "UDP"
    quic = flow.get("quic")
    return f"{flow['variant']}{separator}{quic['stack']}" if quic else str(flow["variant"])


def counts_timeouts(flow: Mapping[str, Any]) -> bool:
    """Whether the flow's transport shows its timeouts and its idle time: TCP does."""
    return flow["variant"] != "udp" and not flow.get("quic")
