"""Host stacks as data: which value each TCP key takes when nobody says it."""

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
TUNING_HOST = "linux-2.6.20"  # says how a "tuned" buffer grows on hosts that have no such thing themselves
RECEIVE_TUNING = ("receive_start", "receive_limit", "window_share", "receive_opening", "receive_growth", "receive_overhead")
SEND_TUNING = ("send_start", "send_limit", "send_overhead")
NEEDS_ECN = {"dctcp": True, "prague": "accecn"}  # without marks these are Reno, so ECN is on unless it is said to be off
WITHOUT_SACK = ("classic", "newreno")  # these recoveries read cumulative ACKs only, so SACK is off unless asked for


def _bounds(tso: Tso) -> dict[str, int]:
    return {"segments": tso.segments, "time_ps": tso.time, "most": tso.most}


class HostFile(Table):
    """A file in hosts/: [tcp] says every key, [words] what "auto" and true mean, [tuning] how a "tuned" buffer grows,
    [variant.X] and [recovery.X] what X brings."""

    title: Text
    source: Text
    tcp: TcpKeys
    words: TcpKeys
    tuning: TcpKeys | None = None
    variant: dict[str, TcpKeys] = {}
    recovery: dict[str, TcpKeys] = {}


@dataclass(frozen=True)
class Tcp:
    """Every TCP key of one flow, resolved: no word stands for something else any more."""

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
        if keys["send_buffer"] == "unlimited":
            keys["send_buffer"] = None
        if keys["initial_ssthresh"] == "unlimited":
            keys["initial_ssthresh"] = None
        held = keys["sack_compression"]
        keys["sack_compression"] = {"segments": held.segments, "share": held.share, "longest_ps": held.longest} if held else None
        tso = keys["tso"]
        keys["tso"] = _bounds(tso) if tso else None
        small = keys.pop("tsq", False)
        if small:
            keys["tsq"] = _bounds(small)
        if keys.get("push") == "every":
            del keys["push"]
        keys["metrics_cache"] = keys["metrics_cache"] or "off"
        rule = keys["delayed_ack"]
        keys["delayed_ack"] = rule.plan() if rule else None
        control = keys.pop("ack_congestion_control", False)
        if control:
            keys["ack_congestion_control"] = control.plan()
        return keys

    def written(self) -> dict[str, Any]:
        """Every key as a [tcp] table would say it."""
        return {"host": self.host, **TcpKeys.model_construct(None, **self.keys).model_dump(exclude_none=True)}


@cache
def host_file(name: str) -> HostFile:
    """Read and check a host stack; `name` is one of `ackclock.list_hosts()`."""
    document = read_document(HOSTS / f"{name}.toml")
    try:
        return HostFile.model_validate(document.data)
    except ValidationError as error:
        raise document.error(*first_invalid(error)) from None


def resolve(*said: TcpKeys) -> Tcp:
    """One flow's TCP: what was said, later tables over earlier ones, over what the host and the variant bring."""
    spoken: dict[str, Any] = {}
    for table in said:
        spoken.update(table.said())
    spoken.pop("overhead", None)
    name = spoken.pop("host", DEFAULT_HOST)
    host = host_file(name)
    defaults = host.tcp.said()
    brought = host.variant.get(spoken.get("variant", defaults["variant"]))
    implied = brought.said() if brought else {}
    if spoken.get("recovery", implied.get("recovery")) in WITHOUT_SACK:
        implied.setdefault("sack", False)
    needed = NEEDS_ECN.get(spoken.get("variant", defaults["variant"]))
    if needed is None and spoken.get("ack_congestion_control"):
        needed = True  # its marks travel as ECN does
    if needed is not None:
        implied.setdefault("ecn", needed)
    repair = host.recovery.get(spoken.get("recovery", implied.get("recovery", defaults["recovery"])))
    keys = {**defaults, **(repair.said() if repair else {}), **implied, **spoken}
    words = host.words.said()
    for key in ("send_buffer", "receive_buffer"):
        if keys[key] == "auto":
            keys[key] = words[key]
    tuning = (host.tuning or host_file(TUNING_HOST).tuning or TcpKeys()).said()
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
    return Tcp(name, {key: keys[key] for key in TcpKeys.model_fields if key in keys and key not in ("host", "overhead")})
