"""The qdiscs, classes and filters that tc commands leave behind (tc(8))."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ackclock.link_import.elsewhere import unwrapped
from ackclock.link_import.path_setup import FULL_PACKET, PathSetup
from ackclock.link_import.shell_script import Command

INGRESS = "ffff:"
KEEPING = ("fq_codel", "codel", "pie", "cake", "fq")
"""Qdiscs whose `change` keeps what is not typed."""
MIN_MTU = 68
"""The minimum MTU of IPv4 (RFC 791)."""
OBJECTS = ("qdisc", "class", "filter")
VERBS = ("add", "delete", "del", "replace", "change", "show", "list", "ls")
WITHOUT_EFFECT = (
    *("echo", "printf", "sleep", "set", "cd", "exit", "return", "true", "false", ":", "shift", "read", "wait", "local"),
    *("modprobe", "insmod", "ping", "ping6", "iperf", "iperf3", "curl", "wget", "clear", "date", "test", "[", "[["),
    *("sysctl", "which", "command", "trap", "source", ".", "export", "unset", "declare", "esac"),
    *("break", "continue", "usage", "apt", "apt-get", "opkg", "tee", "cat", "grep", "id", "whoami", "kill", "chmod"),
    *("awk", "sed", "cut", "head", "tail", "watch", "ssh", "route", "brctl", "bridge", "logger", "uname", "eval"),
)
"""Commands that leave the rate, delay and queue of a link as they are."""


@dataclass(frozen=True)
class Qdisc:
    """A qdisc: kind, handle ("1:", or empty), parent ("root", a class, or `INGRESS`), its size
    table and its arguments, as typed. `dropped` and `sent` are packets, if the input has counters.
    """

    device: str
    kind: str
    handle: str
    parent: str
    line: int
    words: tuple[str, ...] = ()
    stab: tuple[str, ...] = ()
    sent: int | None = None
    dropped: int | None = None


@dataclass(frozen=True)
class TrafficClass:
    """A class: its id, its parent and its arguments, as typed."""

    device: str
    kind: str
    classid: str
    parent: str
    line: int
    words: tuple[str, ...] = ()
    leaf: str = ""


@dataclass(frozen=True)
class Filter:
    """A filter: the class that it selects, the interface to which it redirects, or the arguments
    of its policer. `matches` is what it selects, empty for all packets.
    """

    device: str
    parent: str
    line: int
    matches: str
    flowid: str = ""
    redirect: str = ""
    police: tuple[str, ...] = ()


@dataclass
class Interface:
    """What hangs on an interface."""

    qdiscs: list[Qdisc] = field(default_factory=list)
    classes: list[TrafficClass] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.qdiscs or self.classes or self.filters)

    def child(self, parent: str) -> Qdisc | None:
        """The qdisc below a class or below a qdisc without classes of its own."""
        return next((one for one in reversed(self.qdiscs) if one.parent == parent), None)

    def root(self) -> Qdisc | None:
        return self.child("root")


@dataclass
class TcState:
    """Interfaces by name, in the order of their first line."""

    interfaces: dict[str, Interface] = field(default_factory=dict)
    removed: dict[str, Interface] = field(default_factory=dict)
    """What was on an interface before its root was deleted."""

    def interface(self, device: str) -> Interface:
        return self.interfaces.setdefault(device, Interface())


def full_handle(text: str) -> str:
    """A handle or a class as `major:minor` in lower case, a handle with an empty minor.

    >>> full_handle("1"), full_handle("1:0"), full_handle("0001:0A"), full_handle("root")
    ('1:', '1:', '1:a', 'root')
    """
    match = re.fullmatch(r"([0-9a-fA-F]{0,4}):?([0-9a-fA-F]{0,4})", text)
    if not match or not text:
        return text
    major, minor = (part.lower().lstrip("0") for part in match.groups())
    return f"{major}:{minor}"


def run(commands: Iterable[Command], setup: PathSetup) -> TcState:
    """The state after the commands; what is no command of tc and may have an effect is named."""
    state = TcState()
    for command in unwrapped(commands):
        words = list(command.words)
        program = words[0].rpartition("/")[2]
        if program == "tc" or (program in OBJECTS and words[1:2] and words[1] in VERBS):  # a line of `tc -batch`
            try:
                _tc(state, command, words[program == "tc" :], setup)
            except ValueError as error:
                setup.misunderstand(command.line, command.text, str(error))
        elif program in ("iptables", "ip6tables", "iptables-legacy", "nft"):
            _firewall(command, setup)
        elif program in ("ip", "ifconfig"):
            _interface_settings(command, setup)
        elif program == "ethtool":
            pass
        elif program not in WITHOUT_EFFECT:
            setup.misunderstand(command.line, command.text, "no command that import reads")
    for device, before in state.removed.items():
        if state.interfaces[device].is_empty and not before.is_empty:
            state.interfaces[device] = before
            setup.assume(None, f"{device}: the script deletes its qdiscs at the end; the state before is imported")
    return state


def _interface_settings(command: Command, setup: PathSetup) -> None:
    """The MTU and the queue length of an interface."""
    words = command.words
    for key, value in pairwise(words):
        if key not in ("mtu", "txqueuelen", "txqlen") or not re.fullmatch(r"\d{1,7}", value):
            continue
        named = dict(pairwise(words))
        device = _named(named.get("dev") or named.get("set") or words[1])
        if key == "mtu" and MIN_MTU <= int(value) < FULL_PACKET:
            setup.mtu[device] = (command.line, int(value))
        elif key != "mtu":
            setup.txqueuelen[device] = max(1, int(value))


def _firewall(command: Command, setup: PathSetup) -> None:
    if any(word in ("MASQUERADE", "masquerade", "SNAT", "snat") for word in command.words):
        setup.translates_addresses = True
        places = [n for n, word in enumerate(command.words[:-1]) if word in ("-o", "--out-interface", "oifname", "oif")]
        setup.outer_interfaces |= {_named(command.words[n + 1].strip("'\"")) for n in places}
    elif any(word in ("MARK", "CLASSIFY", "mark", "DSCP", "dscp", "TCPMSS") for word in command.words):
        setup.misunderstand(
            command.line, command.text, "firewall rules are not read: they may select classes or change packets"
        )


def _tc(state: TcState, command: Command, words: list[str], setup: PathSetup) -> None:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-n", "-netns", "-b", "-batch") and words[1:] else words[1:]
    if len(words) < 2:
        raise ValueError("no command of tc")
    kind = next((name for name in OBJECTS if name.startswith(words[0])), None)
    verb = next((name for name in VERBS if name.startswith(words[1])), None)
    if kind is None or verb is None:
        raise ValueError(f"no command of tc that import reads: {' '.join(words[:2])}")
    if verb not in ("show", "list", "ls"):
        _READERS[kind](state, command, verb, words[2:], setup)


def _named(text: str) -> str:
    """An interface's name; of a variable without a value the variable's.

    >>> _named("${WAN_IF}"), _named("${1}"), _named("eth0")
    ('WAN_IF', 'argument1', 'eth0')
    """
    return re.sub(r"\$\{?(\w+)\}?", r"\1", re.sub(r"\$\{(\d)\}", r"argument\1", text))[:60]


def _place(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """What stands before the kind: device, handle, parent, classid, and the rest."""
    found: dict[str, str] = {}
    while words:
        word = words[0]
        if word in ("dev", "handle", "parent", "classid", "block") and words[1:]:
            found[word] = words[1]
            words = words[2:]
        elif word in ("root", "ingress", "clsact", "egress"):
            found.setdefault("parent", {"root": "root"}.get(word, word))
            if word in ("ingress", "clsact"):
                found["kind"] = word
            words = words[1:]
        elif word in ("estimator", "est") and words[2:]:
            words = words[3:]
        else:
            break
    if "dev" not in found:
        raise ValueError("no interface: dev NAME is missing")
    found["dev"] = _named(found["dev"])
    return found, words


def _qdisc(state: TcState, command: Command, verb: str, words: list[str], setup: PathSetup) -> None:
    place, rest = _place(words)
    device = place["dev"]
    there = state.interface(device)
    parent = full_handle(place.get("parent", ""))
    if verb in ("delete", "del"):
        if not command.is_conditional:
            _delete(state, device, place.get("kind") or parent)
        return
    if place.get("kind") in ("ingress", "clsact") or (parent == "ffff:fff1"):
        there.qdiscs = [
            *[one for one in there.qdiscs if one.parent != INGRESS],
            Qdisc(device, place.get("kind", "ingress"), INGRESS, INGRESS, command.line),
        ]
        return
    stab: list[str] = []
    if rest[:1] == ["stab"]:
        rest = rest[1:]
        while len(rest) > 1 and rest[0] in (
            "overhead",
            "linklayer",
            "mtu",
            "tsize",
            "mpu",
            "data",
            "size_log",
            "cell_log",
        ):
            stab += rest[:2]
            rest = rest[2:]
        extra, rest = _place(["dev", device, *rest])  # root, parent and handle may follow the table
        place = {**place, **extra}
        parent = full_handle(place.get("parent", ""))
    if not rest:
        raise ValueError("no kind of qdisc")
    if not parent:
        if verb != "change":
            raise ValueError("no place of the qdisc: root or parent")
        handle = full_handle(place.get("handle", ""))
        old = next((one for one in there.qdiscs if one.handle == handle and handle), None)
        parent = old.parent if old else "root"
    old = there.child(parent)
    kind, arguments = rest[0], tuple(rest[1:])
    if verb in ("change", "replace") and old and old.kind == kind and kind in KEEPING:
        arguments = (*old.words, *arguments)
    if old and old.kind == kind and old.words != arguments and verb == "change":
        setup.differ(command.line, f"{device}: {kind} changes here ({' '.join(old.words)}): the last state is imported")
    handle = full_handle(place.get("handle", "")) or (old.handle if old and old.kind == kind else "")
    if old and old.kind != kind:
        _drop_below(there, old)
    there.qdiscs = [one for one in there.qdiscs if one.parent != parent]
    there.qdiscs.append(Qdisc(device, kind, handle, parent, command.line, arguments, tuple(stab)))


def _delete(state: TcState, device: str, parent: str) -> None:
    there = state.interface(device)
    if parent == "root":
        if there.root():
            state.removed[device] = Interface(list(there.qdiscs), list(there.classes), list(there.filters))
        ingress = [one for one in there.qdiscs if one.parent == INGRESS]
        kept = [one for one in there.filters if one.parent in (INGRESS, "ingress", "egress")]
        state.interfaces[device] = Interface(ingress, [], kept)
    elif parent in ("ingress", "clsact"):
        before = state.removed.get(device) or Interface()
        lost = [one for one in there.filters if one.parent in (INGRESS, "ingress", "egress")]
        if lost:
            state.removed[device] = replace(before, filters=[*before.filters, *lost])
        there.qdiscs = [one for one in there.qdiscs if one.parent != INGRESS]
        there.filters = [one for one in there.filters if one not in lost]
    elif parent:
        there.qdiscs = [one for one in there.qdiscs if one.parent != parent]


def _drop_below(there: Interface, old: Qdisc) -> None:
    """The classes and filters of a qdisc that another kind replaces."""
    major = old.handle.partition(":")[0]
    there.classes = [one for one in there.classes if one.classid.partition(":")[0] != major]
    there.filters = [one for one in there.filters if one.parent.partition(":")[0] != major]
    there.qdiscs = [one for one in there.qdiscs if one.parent.partition(":")[0] != major or one.parent == "root"]


def _class(state: TcState, command: Command, verb: str, words: list[str], setup: PathSetup) -> None:
    place, rest = _place(words)
    there = state.interface(place["dev"])
    classid = full_handle(place.get("classid", ""))
    if verb in ("delete", "del"):
        if not command.is_conditional:
            there.classes = [one for one in there.classes if one.classid != classid]
        return
    if not rest or not classid:
        raise ValueError("no class: classid ID KIND is missing")
    old = next((one for one in there.classes if one.classid == classid), None)
    parent = full_handle(place.get("parent", "")) or (old.parent if old else "")
    if old and old.words != tuple(rest[1:]) and verb == "change":
        setup.differ(command.line, f"{place['dev']}: class {classid} changes here: the last state is imported")
    there.classes = [one for one in there.classes if one.classid != classid]
    there.classes.append(TrafficClass(place["dev"], rest[0], classid, parent, command.line, tuple(rest[1:])))


def _filter(state: TcState, command: Command, verb: str, words: list[str], setup: PathSetup) -> None:
    place, rest = _place(words)
    there = state.interface(place["dev"])
    if verb in ("delete", "del"):
        return
    flowid = redirect = ""
    parent = place.get("parent", "root")
    police: list[str] = []
    matches: list[str] = []
    is_action = False
    while rest:
        word = rest.pop(0)
        if word in ("ingress", "egress") and not matches:
            parent = word
        elif word in ("parent", "root", "handle", "protocol", "prio", "pref", "preference", "chain") and (
            rest or word == "root"
        ):
            value = "root" if word == "root" else rest.pop(0)
            parent = value if word in ("parent", "root") else parent
            if word == "handle" and value not in ("0", "1:", "::"):
                matches.append(f"handle {value}")
            if word == "protocol" and value not in ("ip", "all", "ipv6", "802.1q", "0x0800"):
                matches.append(f"protocol {value}")
        elif word in ("flowid", "classid") and rest:
            flowid = full_handle(rest.pop(0))
        elif word == "police":
            if matches[:1] in (["matchall"], ["flower"]) and not is_action:
                why = f"`{matches[0]}` takes a policer as `action police`"
                setup.misunderstand(command.line, "police", why)
            police, rest = _police_words(rest)
        elif word == "action":
            is_action = True
        elif word == "mirred":
            action, rest = rest[:4], rest[4:]
            if action[1:2] == ["redirect"] and action[2:3] == ["dev"] and action[3:]:
                redirect = _named(action[3])
        else:
            matches.append(word)
    text = "" if _matches_all(matches) else " ".join(matches)
    if not (flowid or redirect or police):
        setup.misunderstand(command.line, command.text, "a filter without a class, a redirection or a policer")
        return
    if verb == "replace" or verb == "change":
        there.filters = [one for one in there.filters if (one.parent, one.matches) != (full_handle(parent), text)]
    there.filters.append(Filter(place["dev"], full_handle(parent), command.line, text, flowid, redirect, tuple(police)))


POLICE_WORDS = (
    "rate",
    "burst",
    "buffer",
    "maxburst",
    "mtu",
    "minburst",
    "peakrate",
    "avrate",
    "overhead",
    "mpu",
    "linklayer",
    "conform-exceed",
    "pkts_rate",
    "pkts_burst",
    "index",
    "action",
)


def _police_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments of a policer, and the words after it."""
    place = 0
    while place < len(words):
        if words[place] in POLICE_WORDS and place + 1 < len(words):
            place += 2
        elif words[place] in ("drop", "continue", "pass", "ok", "pipe", "reclassify", "shot") or words[
            place
        ].startswith("drop/"):
            place += 1
        else:
            break
    return list(words[:place]), list(words[place:])


MATCHES_ALL = (
    r"u(?:32|16|8) 0(?:x0+)? 0(?:x0+)?(?: at \S+)?",
    r"ip6? (?:src|dst) (?:0(?:\.0\.0\.0)?|::|any|default)(?:/0)?",
    r"ip6? protocol \S+ 0(?:x0+)?",
)
"""Matches of u32 that every packet has."""


def _matches_all(words: Sequence[str]) -> bool:
    """Whether a filter selects all packets: matchall, u32 with masks of zero, flower without
    keys.
    """
    text = " ".join(words)
    if text in ("matchall", "u32", "flower", "flower skip_sw", "basic", ""):
        return True
    return re.fullmatch(rf"u32(?: match (?:{'|'.join(MATCHES_ALL)}))+", text) is not None


_READERS: Mapping[str, Callable[[TcState, Command, str, list[str], PathSetup], None]] = {
    "qdisc": _qdisc,
    "class": _class,
    "filter": _filter,
}
