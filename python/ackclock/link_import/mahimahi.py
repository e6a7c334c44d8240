"""A mahimahi command: its shells from the outside, which is the servers' side, to the inside
(Netravali et al. 2015).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.export.mahimahi import UNLIMITED_BPS, chances
from ackclock.input.link.trace import BYTES_PER_OPPORTUNITY, Recording, read_recording
from ackclock.input.units import LARGEST
from ackclock.link_import.path_setup import PathSetup, Side, Stage
from ackclock.link_import.shell_script import Command

SIDES: tuple[tuple[str, Side], ...] = (("uplink", "up"), ("downlink", "down"))
SHELLS = ("mm-delay", "mm-link", "mm-loss", "mm-onoff")
FLAGS = (
    "--once",
    "--meter-uplink",
    "--meter-uplink-delay",
    "--meter-downlink",
    "--meter-downlink-delay",
    "--meter-all",
)
QUEUES = ("infinite", "droptail", "drophead", "codel", "pie")
PS_PER_MS = 10**9


def mahimahi_path(commands: Iterable[Command], folder: Path, setup: PathSetup) -> None:
    """The path of the mahimahi shells in the commands."""
    reader = _Reader(folder, setup)
    for command in commands:
        words = list(command.words)
        while words and words[0] in ("sudo", "exec", "env", "time"):
            words = words[1:]
        if words and words[0].rpartition("/")[2] in SHELLS:
            reader.read(command, words)
    setup.stages["down"] = reader.down
    setup.stages["up"] = list(reversed(reader.up))


class _Reader:
    def __init__(self, folder: Path, setup: PathSetup) -> None:
        self.folder, self.setup = folder, setup
        self.down: list[Stage] = []
        self.up: list[Stage] = []

    def read(self, command: Command, words: list[str]) -> None:
        """The shells of a command, until another program begins."""
        while words and words[0].rpartition("/")[2] in SHELLS:
            shell = words[0].rpartition("/")[2]
            try:
                words = getattr(self, f"_{shell[3:]}")(command, words[1:])
            except (ValueError, InputError) as error:
                self.setup.misunderstand(command.line, command.text, str(error))
                return
        if words and words[0].startswith("mm-"):
            self.setup.misunderstand(command.line, " ".join(words), f"{words[0]} is no shell that import reads")

    def _delay(self, command: Command, words: list[str]) -> list[str]:
        if not words or not re.fullmatch(r"\d{1,7}", words[0]):
            raise ValueError("mm-delay without whole milliseconds")
        delay = int(words[0]) * PS_PER_MS
        for stages in (self.down, self.up):
            stages.append(Stage("mm-delay", f"delay-{len(stages) + 1}", command.line, delay=delay))
        return words[1:]

    def _loss(self, command: Command, words: list[str]) -> list[str]:
        side = dict(SIDES).get(words[0] if words else "")
        if side is None or not words[1:] or not re.fullmatch(r"[01]?\.?\d{1,20}(?:e-\d{1,2})?|1\.0*", words[1]):
            raise ValueError("mm-loss needs uplink or downlink and a share from 0 to 1")
        if not 0 <= float(words[1]) <= 1:
            raise ValueError(f"no share from 0 to 1: {words[1]}")
        stages = self.up if side == "up" else self.down
        loss = {"kind": "bernoulli", "mean": float(words[1])} if float(words[1]) else None
        stages.append(Stage("mm-loss", f"loss-{len(stages) + 1}", command.line, loss=loss))
        return words[2:]

    def _onoff(self, command: Command, words: list[str]) -> list[str]:
        self.setup.misunderstand(command.line, command.text, "mm-onoff: links that go on and off are not read")
        return words[3:]

    def _link(self, command: Command, words: list[str]) -> list[str]:
        given: dict[str, str] = {}
        files: list[str] = []
        while words and len(files) < 2:
            word = words.pop(0)
            if word == "--":
                break
            name, equals, value = word.partition("=")
            if word in FLAGS or name.endswith("-log"):
                continue
            if word.startswith("--") and equals:
                given[name] = value
            elif word.startswith("--"):
                given[word] = words.pop(0) if words else ""
            else:
                files.append(word)
        if len(files) < 2:
            raise ValueError("mm-link needs a trace for the uplink and one for the downlink")
        words = self._further_options(words, given)
        for (link, side), name in zip(SIDES, files, strict=True):
            stages = self.up if side == "up" else self.down
            stage = Stage("mm-link", f"link-{len(stages) + 1}", command.line)
            queue = _queue(given.pop(f"--{link}-queue", "infinite"), given.pop(f"--{link}-queue-args", ""))
            stages.append(
                replace(
                    stage, rate=self._rate(command, name), queue=queue, queue_kind=str((queue or {}).get("kind", ""))
                )
            )
        for option in given:
            self.setup.misunderstand(command.line, option, "no option of mm-link that import reads")
        return words

    def _further_options(self, words: list[str], given: dict[str, str]) -> list[str]:
        """Options after the traces, and what follows them."""
        while words and words[0].startswith("--") and words[0] != "--":
            word = words.pop(0)
            name, equals, value = word.partition("=")
            if word in FLAGS or name.endswith("-log"):
                continue
            given[name] = value if equals else (words.pop(0) if words else "")
        return words[1:] if words[:1] == ["--"] else words

    def _rate(self, command: Command, name: str) -> int | Path | None:
        """A fixed rate where the trace has the opportunities of one, else the trace."""
        path = self.folder / name
        if not path.is_file():
            self.setup.misunderstand(command.line, name, "no such trace: the link file names it, and needs it there")
            return None
        recording = read_recording(path)
        bps = steady_bps(recording)
        if bps == UNLIMITED_BPS:
            self.setup.assume(command.line, f"{name}: 1 Gb/s, which `ackclock export` writes for an unlimited rate")
        return bps if bps is not None else path


def steady_bps(recording: Recording) -> int | None:
    """The rate whose opportunities a trace has, each in the first whole millisecond in which it is
    due; None for a rate that varies.
    """
    period, count = recording.times_ms[-1], len(recording.times_ms)
    bits = 8 * 1000 * count * BYTES_PER_OPPORTUNITY
    if bits % period:
        return None
    return bits // period if list(recording.times_ms) == chances(count, period) and bits // period <= LARGEST else None


def _queue(kind: str, text: str) -> dict[str, Any] | None:
    if kind not in QUEUES:
        raise ValueError(f"no queue of mahimahi: {kind}")
    values = _arguments(text)
    if kind == "infinite":
        return None
    limits: dict[str, Any] = {"packets": values["packets"]} if values.get("packets") else {}
    if values.get("bytes"):
        limits["bytes"] = f"{values['bytes']} B"
    if kind in ("droptail", "drophead"):
        if not limits:
            raise ValueError(f"{kind} needs packets or bytes")
        return {"kind": "droptail", **limits, **({"drop": "front"} if kind == "drophead" else {})}
    names = {
        "codel": (("target", "target"), ("interval", "interval")),
        "pie": (("target", "qdelay_ref"), ("burst", "max_burst")),
    }
    times = {key: f"{values[name]} ms" for key, name in names[kind] if values.get(name)}
    return {"kind": kind, **limits, **times, "ecn": False}


def _arguments(text: str) -> dict[str, int]:
    """``packets=100, target=5`` as numbers."""
    values: dict[str, int] = {}
    for part in re.split(r"[,\s]+", text.strip().strip("\"'")):
        name, equals, value = part.partition("=")
        if not part:
            continue
        if not equals or not re.fullmatch(r"\d{1,12}", value):
            raise ValueError(f"no argument of a queue: {part}")
        values[name] = int(value)
    return values
