"""Host stacks: the default of every TCP key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ValidationError

from ackclock.input.catalogue import HOSTS
from ackclock.input.document import read_document
from ackclock.input.scenario.tcp import DelayedAck, TcpKeys, Tso
from ackclock.input.schema import Table, Text, first_invalid

DEFAULT_HOST = "linux-6"
TUNING_HOST = "linux-2.6.20"  # the tuning rules of hosts without their own
RECEIVE_TUNING = (
    "receive_start",
    "receive_limit",
    "window_share",
    "receive_opening",
    "receive_growth",
    "receive_overhead",
)
SEND_TUNING = ("send_start", "send_limit", "send_overhead")
NEEDS_ECN = {"dctcp": True, "prague": "accecn"}  # without ECN these are Reno, so ECN is on by default
WITHOUT_SACK = ("classic", "newreno")  # these recoveries use cumulative ACKs only, so SACK is off by default

ABSENT: Mapping[str, Any] = {
    "push": "every",
    "first_climb": 0.0,
    "app_limited_growth": False,
    "syn_linear_timeouts": 0,
    "ecn_packets": "data",
    "accecn_option": "changes",
    "processing_jitter": False,
    "gro": False,
    "tsq": False,
}
"""Values of keys that a host may lack; a plan does not have them."""


def _bounds(tso: Tso) -> dict[str, int]:
    return {"segments": tso.segments, "time_ps": tso.time, "most": tso.most}


class HostFile(Table):
    """A file in hosts/.

    [tcp] has every key, [words] the values of "auto" and true, [tuning] the growth of a "tuned"
    buffer, [variant.X] and [recovery.X] the keys that X sets.
    """

    title: Text
    source: Text
    tcp: TcpKeys
    words: TcpKeys
    tuning: TcpKeys | None = None
    variant: dict[str, TcpKeys] = {}
    recovery: dict[str, TcpKeys] = {}


@dataclass(frozen=True)
class Tcp:
    """All TCP keys of a flow, with defaults and symbolic values resolved."""

    host: str
    keys: Mapping[str, Any]

    def plan(self) -> dict[str, Any]:
        """The TCP object of a plan."""
        keys = dict(self.keys)
        receive = {name: keys.pop(name) for name in RECEIVE_TUNING if name in keys}
        if receive:
            keys["receive_buffer"] = receive["receive_limit"]
            keys["receive_tuning"] = {
                "start": min(receive["receive_start"], receive["receive_limit"]),
                "share": receive["window_share"],
                "opening": receive["receive_opening"],
                "growth": receive["receive_growth"],
                "overhead": None if receive["receive_overhead"] is False else receive["receive_overhead"],
            }
        send = {name: keys.pop(name) for name in SEND_TUNING if name in keys}
        if send:
            start = min(send["send_start"], send["send_limit"])
            keys["send_tuning"] = {"start": start, "limit": send["send_limit"], "overhead": send["send_overhead"]}
            keys["send_buffer"] = None
        for name in ("rto_initial", "rto_min", "rto_max", "rto_tick"):
            keys[f"{name}_ps"] = keys.pop(name)
        if "pacing_tick" in keys:
            keys["pacing_tick_ps"] = keys.pop("pacing_tick")
        if keys["send_buffer"] == "unlimited":
            keys["send_buffer"] = None
        if keys["initial_ssthresh"] == "unlimited":
            keys["initial_ssthresh"] = None
        sack_compression = keys["sack_compression"]
        keys["sack_compression"] = (
            {
                "segments": sack_compression.segments,
                "share": sack_compression.share,
                "longest_ps": sack_compression.longest,
            }
            if sack_compression
            else None
        )
        tso = keys["tso"]
        keys["tso"] = _bounds(tso) if tso else None
        jitter = keys.pop("processing_jitter", False)
        if jitter:
            keys["processing_jitter"] = jitter.plan()
        gro = keys.pop("gro", False)
        if gro:
            keys["gro_ps"] = gro
        tsq = keys.pop("tsq", False)
        if tsq:
            keys["tsq"] = _bounds(tsq)
        for name, value in ABSENT.items():
            if keys.get(name) == value:
                del keys[name]
        keys["metrics_cache"] = keys["metrics_cache"] or "off"
        delayed_ack = keys["delayed_ack"]
        keys["delayed_ack"] = delayed_ack.plan() if delayed_ack else None
        ack_control = keys.pop("ack_congestion_control", False)
        if ack_control:
            keys["ack_congestion_control"] = ack_control.plan()
        return keys

    def written(self) -> dict[str, Any]:
        """All keys as a [tcp] table has them."""
        return {"host": self.host, **TcpKeys.model_construct(None, **self.keys).model_dump(exclude_none=True)}


@cache
def host_file(name: str) -> HostFile:
    """Read and check a host stack; `name` is one of `ackclock.list_hosts()`."""
    document = read_document(HOSTS / f"{name}.toml")
    try:
        return HostFile.model_validate(document.data)
    except ValidationError as error:
        raise document.error(*first_invalid(error)) from None


def resolve(*tables: TcpKeys) -> Tcp:
    """The TCP keys of a flow: explicit keys (later tables override earlier ones), then those of the
    variant and the host.
    """
    explicit: dict[str, Any] = {}
    for table in tables:
        explicit.update(table.explicit_keys())
    explicit.pop("overhead", None)
    name = explicit.pop("host", DEFAULT_HOST)
    host = host_file(name)
    defaults = host.tcp.explicit_keys()
    variant_keys = host.variant.get(explicit.get("variant", defaults["variant"]))
    implied = variant_keys.explicit_keys() if variant_keys else {}
    if explicit.get("recovery", implied.get("recovery")) in WITHOUT_SACK:
        implied.setdefault("sack", False)
    ecn = NEEDS_ECN.get(explicit.get("variant", defaults["variant"]))
    if ecn is None and explicit.get("ack_congestion_control"):
        ecn = True  # it marks ACKs by ECN
    if ecn is not None:
        implied.setdefault("ecn", ecn)
    recovery_keys = host.recovery.get(explicit.get("recovery", implied.get("recovery", defaults["recovery"])))
    keys = {**defaults, **(recovery_keys.explicit_keys() if recovery_keys else {}), **implied, **explicit}
    words = host.words.explicit_keys()
    for key in ("send_buffer", "receive_buffer"):
        if keys[key] == "auto":
            keys[key] = words[key]
    tuning = (host.tuning or host_file(TUNING_HOST).tuning or TcpKeys()).explicit_keys()
    for key, names in (("send_buffer", SEND_TUNING), ("receive_buffer", RECEIVE_TUNING)):
        for detail in names:
            if keys[key] == "tuned":
                keys.setdefault(detail, tuning[detail])
            else:
                keys.pop(detail, None)
    if keys["metrics_cache"] is True:
        keys["metrics_cache"] = words.get("metrics_cache", "full")
    if keys["delayed_ack"] is True:
        keys["delayed_ack"] = words["delayed_ack"]
    if not isinstance(keys["delayed_ack"], DelayedAck):
        keys["delayed_ack"] = False
    return Tcp(
        name, {key: keys[key] for key in TcpKeys.model_fields if key in keys and key not in ("host", "overhead")}
    )
