"""A tc script, or the output of `tc qdisc show`, as a path: which interface carries which
direction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ackclock.link_import import shell_script, tc_show, tc_state
from ackclock.link_import.path_setup import SIDES, PathSetup, Side, Stage
from ackclock.link_import.tc_path import Walk, redirects
from ackclock.link_import.tc_state import INGRESS, TcState

TOWARDS_CLIENTS = re.compile(
    r"(?:br[-_]?)?lan\d*|down(?:link|stream)?|.*_?(?:lan|down|client|clients)(?:_?(?:if|dev|iface))?", re.IGNORECASE
)
TOWARDS_SERVERS = re.compile(
    r"(?:pppoe?|wwan|usb|ppp).*|up(?:link|stream)?|(?:.*_)?(?:wan|up|ext|inet|server|servers)\d*(?:_?(?:if|dev|iface))?|wan.*",
    re.IGNORECASE,
)


def script_path(commands: Iterable[shell_script.Command], setup: PathSetup, egress: Side | None) -> None:
    """The path that a script's commands make."""
    _directions(tc_state.run(commands, setup), setup, egress)


def shown_path(text: str, setup: PathSetup, egress: Side | None) -> None:
    """The path that `tc qdisc show` prints."""
    state = tc_show.read_shown(text, setup)
    for device, there in state.interfaces.items():
        for qdisc in there.qdiscs:
            if qdisc.dropped and qdisc.sent:
                share = 100 * qdisc.dropped / (qdisc.dropped + qdisc.sent)
                setup.lint(
                    "drops",
                    qdisc.line,
                    f"{device}: {qdisc.kind} dropped {qdisc.dropped} packets, {share:.2g} % of those that arrived",
                )
    _directions(state, setup, egress)


def _directions(state: TcState, setup: PathSetup, egress: Side | None) -> None:
    arriving = redirects(state)
    if not arriving:
        arriving = _named_ifbs(state, setup)
    walked = {device: _walked(state, device, setup) for device in state.interfaces if device not in arriving}
    setup.misread += [misread for _, notes in walked.values() for misread in notes.misread]
    sent = [device for device, (stages, _) in walked.items() if stages]
    if shaping := [device for device in sent if any(_shapes(stage) for stage in walked[device][0])]:
        for device in sent:
            if device not in shaping:
                setup.differ(None, f"{device}: its queues have no rate or delay: it is left out")
        sent = shaping
    received = [device for device in state.interfaces if _has_policer(state, device)]
    sides = _sides(sent, [*arriving.values(), *received], setup, egress)
    shaped: dict[Side, str] = {}
    for device in sent:
        stages, notes = walked[device]
        setup.take(notes)
        for side in SIDES if _is_loopback(device) else (sides[device],):
            if side in shaped:
                setup.differ(None, f"{device}: a further interface that sends {side}: {shaped[side]} is imported")
                continue
            shaped[side] = device
            _add(setup, side, stages)
        if _is_loopback(device) and any(stage.rate for stage in stages):
            setup.differ(None, "lo: both directions share its rate and queue: here each has its own")
    redirected: dict[Side, str] = {}
    for ifb, device in arriving.items():
        side = _other(sides.get(device))
        if side in redirected:
            setup.differ(None, f"{ifb}: a further interface that has what arrives: {redirected[side]} is imported")
        elif ifb in state.interfaces:
            redirected[side] = ifb
            _add(setup, side, Walk(ifb, state.interfaces[ifb], setup).stages())
    for device in received:
        walk = Walk(device, state.interfaces[device], setup)
        _add(setup, _other(sides.get(device)), walk.policers([INGRESS, "ingress", "ffff:fff2"]))


def _walked(state: TcState, device: str, setup: PathSetup) -> tuple[list[Stage], PathSetup]:
    """The stages of what an interface sends, and the notes on them."""
    notes = PathSetup(setup.format, txqueuelen=setup.txqueuelen)
    walk = Walk(device, state.interfaces[device], notes)
    at_root = ["root", "egress", *(qdisc.handle for qdisc in walk.there.qdiscs if qdisc.parent == "root")]
    return [*walk.policers(at_root), *walk.stages()], notes


def _shapes(stage: Stage) -> bool:
    """Whether a stage does more than queue."""
    return replace(stage, queue=None).has_effect


def _is_loopback(device: str) -> bool:
    return device.partition("@")[0] == "lo"


def _other(side: Side | None) -> Side:
    """The direction of what an interface receives; up is what it sends where nothing is known."""
    return "up" if side == "down" else "down"


def _add(setup: PathSetup, side: Side, stages: Iterable[Stage]) -> None:
    """Append stages; those of further interfaces of a direction follow."""
    known = {stage.name for stage in setup.stages[side]}
    for stage in stages:
        name, number = stage.name, 2
        while name in known:
            name, number = f"{stage.name}-{number}", number + 1
        known.add(name)
        setup.stages[side].append(replace(stage, name=name))


def _has_policer(state: TcState, device: str) -> bool:
    return any(
        one.police and one.parent in (INGRESS, "ingress", "ffff:fff2") for one in state.interfaces[device].filters
    )


def _named_ifbs(state: TcState, setup: PathSetup) -> dict[str, str]:
    """Interfaces named as ifbs, where the input has no redirection: `tc qdisc show` prints none."""
    found = {}
    for device in state.interfaces:
        if match := re.fullmatch(r"ifb4(.+)|ifb\d*|.*_?ifb_?.*", device, re.IGNORECASE):
            others = [one for one in state.interfaces if one != device and not re.match("ifb", one, re.IGNORECASE)]
            owner = next(
                (one for one in others if match[1] and one.startswith(match[1])), others[0] if len(others) == 1 else ""
            )
            found[device] = owner or "the other interface"
            setup.assume(
                None, f"{device}: an ifb without a redirection in the input: it has what {found[device]} receives"
            )
    return found


def _sides(sent: list[str], received: list[str], setup: PathSetup, egress: Side | None) -> dict[str, Side]:
    """The direction of what each interface sends."""
    sides: dict[str, Side] = {}
    devices = list(dict.fromkeys([*sent, *received]))
    for device in devices:
        if egress is not None and len(devices) == 1:
            sides[device] = egress
        elif re.search("@.*client", device, re.IGNORECASE):
            sides[device] = "up"
        elif re.search("@.*server", device, re.IGNORECASE):
            sides[device] = "down"
        elif device in setup.outer_interfaces or TOWARDS_SERVERS.fullmatch(device):
            sides[device] = "up"
        elif TOWARDS_CLIENTS.fullmatch(device):
            sides[device] = "down"
    left = [device for device in devices if device not in sides and not _is_loopback(device)]
    if egress is not None:
        sides.update(dict.fromkeys(left, egress))
    elif len(left) == 1 and len(devices) == 1:
        (device,) = left
        sides[device] = "up" if device in received else "down"
        _assume_side(setup, device, sides[device])
    elif len(left) == 1:
        taken = next((sides[other] for other in devices if other in sides), "up")
        sides[left[0]] = "down" if taken == "up" else "up"
        _assume_side(setup, left[0], sides[left[0]])
    else:
        for number, device in enumerate(left):
            sides[device] = "up" if device in received or number % 2 else "down"
            _assume_side(setup, device, sides[device])
    return sides


def _assume_side(setup: PathSetup, device: str, side: Side) -> None:
    whom = "the clients" if side == "down" else "the servers"
    setup.assume(
        None, f"{device} sends towards {whom} ({side}); --egress {'up' if side == 'down' else 'down'} is the opposite"
    )
