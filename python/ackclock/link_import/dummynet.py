"""Pipes of ipfw and dnctl (dummynet): rate, queue, losses and delay, and the rules that send
packets into them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ackclock.input.units import show_size
from ackclock.link_import.path_setup import PathSetup, Side, Stage
from ackclock.link_import.shell_script import Command

PROGRAMS = ("ipfw", "dnctl")
SLOTS = 50
"""Packets of a pipe's queue where none is given."""
RATES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
PS_PER_MS = 10**9


@dataclass
class _Rules:
    sides: dict[str, set[Side]] = field(default_factory=dict)


def dummynet_path(commands: Iterable[Command], setup: PathSetup, egress: Side | None) -> None:
    """The path of the pipes: `out` of this machine is up unless `egress` is "down"."""
    pipes: dict[str, Stage] = {}
    rules = _Rules()
    out: Side = egress or "up"
    for command in commands:
        words = list(command.words)
        if words[0] in ("echo", "printf") and (rule := re.search(r"dummynet\b.*\bpipe\s+\d+", command.text)):
            words = ["dnctl", *rule[0].split()]  # a rule of pf.conf(5), which a pipe gives to pfctl
        elif words[0] == "dummynet":
            words = ["dnctl", *words]
        program = words[0].rpartition("/")[2]
        if program not in PROGRAMS:
            if any(word in PROGRAMS for word in words):
                setup.misunderstand(command.line, command.text, "no command that import reads")
            continue
        words = [word for word in words[1:] if not re.fullmatch(r"-[a-zA-Z]+", word)]
        try:
            _read(command, words, pipes, rules, setup, out)
        except ValueError as error:
            setup.misunderstand(command.line, command.text, str(error))
    imported = False
    for number, stage in pipes.items():
        sides = rules.sides.get(number)
        if not sides and (imported or any(rules.sides.values())):
            setup.differ(stage.line, f"pipe {number}: no rule says which packets pass it")
            continue
        imported = True
        if not sides:
            setup.assume(
                stage.line,
                f"pipe {number}: no rule says which packets pass it: both directions, each with a pipe of its own",
            )
            sides = {"down", "up"}
        for side in sorted(sides):
            if stage.loss is not None:  # plr comes before the queue
                setup.stages[side].append(Stage("pipe", f"{stage.name}-loss", stage.line, loss=stage.loss))
            setup.stages[side].append(replace(stage, loss=None))


def _read(
    command: Command, words: list[str], pipes: dict[str, Stage], rules: _Rules, setup: PathSetup, out: Side
) -> None:
    if words[:1] == ["pipe"] and len(words) > 2 and words[2] == "config":
        pipes[words[1]] = _pipe(command, words[1], words[3:], setup)
        return
    if "pipe" in words and words[0] in ("add", "dummynet"):
        place = words.index("pipe")
        number = words[place + 1] if words[place + 1 :] else ""
        directed: set[Side] = set()
        if "out" in words:
            directed.add(out)
        if "in" in words:
            directed.add("down" if out == "up" else "up")
        rules.sides.setdefault(number, set()).update(directed or {"down", "up"})
        if not directed:
            setup.assume(command.line, f"pipe {number}: the rule has no direction: both, each with a pipe of its own")
        return
    if words[:1] not in (["flush"], ["-f"], ["delete"], ["enable"], ["list"], ["show"]) and words[1:2] != ["delete"]:
        raise ValueError("no command of ipfw or dnctl that import reads")


def _pipe(command: Command, number: str, words: list[str], setup: PathSetup) -> Stage:
    stage = Stage("pipe", f"pipe-{re.sub(r'[^0-9A-Za-z_-]', '', number)[:40] or 1}", command.line)
    queue: dict[str, Any] = {"kind": "droptail", "packets": SLOTS}
    left = list(words)
    while left:
        key = left.pop(0)
        if key == "noerror":
            continue
        if key not in ("bw", "bandwidth", "delay", "queue", "plr", "mask", "buckets", "burst") or not left:
            setup.misunderstand(command.line, " ".join([key, *left]), "no argument of a pipe that import reads")
            return replace(stage, queue=queue if stage.rate else None)
        value = left.pop(0)
        if key in ("bw", "bandwidth"):
            stage = replace(stage, rate=_rate(value))
        elif key == "delay":
            match = re.fullmatch(r"(\d{1,7})(?:ms)?", value)
            if not match:
                raise ValueError(f"no delay in ms: {value}")
            stage = replace(stage, delay=int(match[1]) * PS_PER_MS)
        elif key == "plr":
            if not re.fullmatch(r"[01]?\.?\d{1,20}|1\.0*", value) or float(value) > 1:
                raise ValueError(f"no share from 0 to 1: {value}")
            stage = replace(stage, loss={"kind": "bernoulli", "mean": float(value)} if float(value) else None)
        elif key == "queue":
            queue = {"kind": "droptail", **_queue(value)}
        elif key == "mask":
            setup.differ(command.line, f"pipe {number}: mask: a pipe for each flow or host; one for all here")
            while left and re.fullmatch(r"(dst|src)-(ip|port)|proto|all|0x[0-9a-f]+|flow-id", left[0]):
                left.pop(0)
        elif key == "burst":
            setup.differ(command.line, f"pipe {number}: burst {value}")
    return replace(stage, queue=queue if stage.rate else None, queue_kind="droptail")


def _rate(text: str) -> int | None:
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([kKmMgG]?)(bit/s|bits/s|b|bps|Byte/s|Bytes/s|B|)", text)
    if not match:
        raise ValueError(f"no bandwidth: {text}")
    octets = 8 if match[3].startswith("B") else 1
    return round(float(match[1]) * RATES[match[2].lower()] * octets) or None


def _queue(text: str) -> dict[str, Any]:
    match = re.fullmatch(r"(\d{1,9})([kKmM]?)(Bytes?|bytes?|B|b)?", text)
    if not match or not int(match[1]):
        raise ValueError(f"no queue: {text}")
    if match[2] or match[3]:
        return {"bytes": show_size(int(match[1]) * {"": 1, "k": 1024, "m": 2**20}[match[2].lower()])}
    return {"packets": int(match[1])}
