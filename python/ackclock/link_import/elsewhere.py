"""Commands that run in a namespace, in a container, on another host or in another shell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ackclock.link_import import shell_script
from ackclock.link_import.shell_script import Command

ELSEWHERE = ("ip", "docker", "podman", "lxc", "kubectl", "nsenter", "unshare", "ssh", "chroot", "timeout", "env", "su")
"""Programs that run a command elsewhere."""
QUOTING = ("echo", "printf", "grep", "alias", "man", "which", "cat", "tc")
"""Programs with words that are no commands."""
SHELLS = ("sh", "bash", "dash", "ash", "eval")


def unwrapped(commands: Iterable[Command], depth: int = 0) -> Iterator[Command]:
    """Commands without the program that runs them elsewhere: in a namespace, a container, on
    another host, or in a shell. Interfaces of another machine are named NAME@MACHINE.
    """
    for command in commands:
        words = command.words
        program = words[0].rpartition("/")[2]
        text = next((word for word in words[1:] if re.search(r"\btc\s+\w", word)), None)
        place = next((n for n, word in enumerate(words) if n and word.rpartition("/")[2] == "tc"), None)
        if program in (*ELSEWHERE, *SHELLS) and text is not None and depth < 3:
            inner = [replace(one, line=command.line) for one in shell_script.commands(text)]
            conditional = [replace(one, is_conditional=command.is_conditional or one.is_conditional) for one in inner]
            yield from unwrapped((_on(one, _machine(words)) for one in conditional), depth + 1)
        elif program in ELSEWHERE and place is not None:
            yield _on(replace(command, words=words[place:]), _machine(words))
        elif (
            place is not None
            and program not in QUOTING
            and words[place + 1 : place + 2]
            and _is_object(words[place + 1])
        ):
            yield replace(command, words=words[place:])  # such as `post-up tc ..` of interfaces(5)
        elif program == "tc" and words[1:2] and words[1] in ("-n", "-netns", "-net") and words[2:]:
            yield _on(replace(command, words=("tc", *words[3:])), words[2])
        else:
            yield command


def _is_object(word: str) -> bool:
    return word in ("qdisc", "class", "filter")


def _machine(words: Sequence[str]) -> str:
    """The namespace, container or host of a command, where its words say which."""
    program = words[0].rpartition("/")[2]
    if list(words[:3]) == ["ip", "netns", "exec"] and words[3:]:
        return words[3]
    skipped = ("exec", "sudo", "sh", "bash", "run", "--")
    names = [word for word in words[1:] if not word.startswith("-") and word not in skipped and " " not in word]
    return names[0] if names and program in ("docker", "podman", "lxc", "kubectl", "ssh") and names[0] != "tc" else ""


def _on(command: Command, machine: str) -> Command:
    """The command with its interfaces named after the machine."""
    label = re.sub(r"[^\w-]", "", machine)[:30]
    if not label:
        return command
    words = [f"{word}@{label}" if before == "dev" else word for before, word in pairwise(("", *command.words))]
    return replace(command, words=tuple(words))
