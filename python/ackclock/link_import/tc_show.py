"""The state that `tc qdisc show` and `tc class show` print (tc(8))."""

from __future__ import annotations

import re
from dataclasses import replace

from ackclock.link_import.path_setup import PathSetup
from ackclock.link_import.tc_state import INGRESS, Qdisc, TcState, TrafficClass, full_handle

SHOWN = re.compile(r"\s*(?:qdisc|class)\s+[a-z_0-9]+\s+[0-9a-f]*:\S*\s")


def read_shown(text: str, setup: PathSetup) -> TcState:
    """The state that `tc qdisc show` and `tc class show` print, with -s and -d."""
    state = TcState()
    last: Qdisc | None = None
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        try:
            if words[:1] == ["qdisc"] and len(words) > 2:
                last = _shown_qdisc(words[1:], number)
                state.interface(last.device).qdiscs.append(last)
            elif words[:1] == ["class"] and len(words) > 2:
                last = None
                _shown_class(state, words[1:], number)
            elif words[:1] == ["linklayer"] and last is not None:
                last = _replaced(state, replace(last, stab=tuple(words)))
            elif words[:1] == ["Sent"] and last is not None:
                last = _with_counters(state, last, line)
            elif words[:1] == ["filter"]:
                last = None
                setup.misunderstand(number, line, "the output of `tc filter show` is not read")
        except ValueError as error:
            setup.misunderstand(number, line, str(error))
    return state


def _shown_qdisc(words: list[str], line: int) -> Qdisc:
    """``KIND HANDLE [dev NAME] root|parent CLASS [refcnt N] ARGUMENTS``."""
    kind, handle, *rest = words
    device, parent = "dev", "root"
    if rest[:1] == ["dev"] and rest[1:]:
        device, rest = rest[1], rest[2:]
    if rest[:1] == ["root"]:
        rest = rest[1:]
    elif rest[:1] == ["parent"] and rest[1:]:
        parent, rest = full_handle(rest[1]), rest[2:]
    if rest[:1] == ["refcnt"]:
        rest = rest[2:]
    if kind in ("ingress", "clsact"):
        return Qdisc(device, kind, INGRESS, INGRESS, line)
    if kind == "fq_codel" and "ecn" not in rest:
        rest.append("noecn")  # its default is on, and tc prints only what is on
    return Qdisc(device, kind, full_handle(handle), parent, line, tuple(rest))


def _shown_class(state: TcState, words: list[str], line: int) -> None:
    """``KIND ID root|parent ID [leaf ID] ARGUMENTS``; `tc class show` prints no interface."""
    kind, classid, *rest = words
    parent = "root"
    leaf = ""
    device = next(iter(reversed(state.interfaces)), "dev")
    while rest and rest[0] in ("root", "parent", "leaf", "dev"):
        if rest[0] == "root":
            rest = rest[1:]
        elif rest[1:]:
            if rest[0] == "parent":
                parent = full_handle(rest[1])
            elif rest[0] == "leaf":
                leaf = full_handle(rest[1])
            else:
                device = rest[1]
            rest = rest[2:]
        else:
            break
    major = full_handle(classid).partition(":")[0]
    owner = next(
        (name for name, one in state.interfaces.items() if any(q.handle == f"{major}:" for q in one.qdiscs)), device
    )
    state.interface(owner).classes.append(
        TrafficClass(
            owner, kind, full_handle(classid), f"{major}:" if parent == "root" else parent, line, tuple(rest), leaf
        )
    )


def _with_counters(state: TcState, qdisc: Qdisc, line: str) -> Qdisc:
    match = re.search(r"Sent \d+ bytes (\d{1,18}) pkt \(dropped (\d{1,18})", line)
    return _replaced(state, replace(qdisc, sent=int(match[1]), dropped=int(match[2]))) if match else qdisc


def _replaced(state: TcState, qdisc: Qdisc) -> Qdisc:
    """Put a qdisc in the place of the last one."""
    state.interface(qdisc.device).qdiscs[-1] = qdisc
    return qdisc
