"""A model of a Windows host that reads recipes: values of the registry by `reg`, and TCP's global
parameters by `netsh interface tcp`, at a prompt of cmd.exe.

It is the counterpart of `machine` and, as that one, refuses a line that it does not know or that
the tool would refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

LABELS = {
    "autotuninglevel": ("Receive Window Auto-Tuning Level", ("disabled", "highlyrestricted", "restricted", "normal")),
    "congestionprovider": ("Add-On Congestion Control Provider", ("none", "ctcp")),
    "ecncapability": ("ECN Capability", ("disabled", "enabled")),
    "timestamps": ("RFC 1323 Timestamps", ("disabled", "enabled")),
}
"""How `show global` prints each parameter, and the values that `set global` takes."""
WIDTH = 36
"""The column of the colon in `show global`."""


def _expect(right: bool, problem: str) -> None:
    if not right:
        raise ValueError(problem)


@dataclass
class WindowsMachine:
    """The state of a machine: values of type REG_DWORD by key and name, and global parameters."""

    registry: dict[tuple[str, str], int] = field(default_factory=dict)
    parameters: dict[str, str] = field(
        default_factory=lambda: {
            "autotuninglevel": "normal",
            "congestionprovider": "none",
            "ecncapability": "disabled",
            "timestamps": "disabled",
        }
    )

    def state(self) -> dict[str, Any]:
        """All that recipes change, by name."""
        return {**{name: value for (_, name), value in self.registry.items()}, **self.parameters}

    def run(self, command: str) -> str:
        """What a command prints; the machine is as the command leaves it."""
        if match := re.fullmatch(r"reg query (\S+) /v (\w+)", command):
            return self._query(match[1], match[2])
        if match := re.fullmatch(r"reg add (\S+) /v (\w+) /t REG_DWORD /d (0x[0-9a-f]+|\d+) /f", command):
            number = int(match[3], 0)
            _expect(number < 2**32, f"no REG_DWORD: {match[3]}")
            self.registry[_key(match[1]), match[2]] = number
        elif match := re.fullmatch(r"reg delete (\S+) /v (\w+) /f", command):
            _expect((_key(match[1]), match[2]) in self.registry, f"no value {match[2]}")
            del self.registry[_key(match[1]), match[2]]
        elif command == "netsh interface tcp show global":
            return "\n".join(f"{LABELS[name][0]:{WIDTH}}: {value}" for name, value in self.parameters.items())
        elif match := re.fullmatch(r"netsh interface tcp set global (\w+)=(\w+)", command):
            _expect(match[1] in LABELS and match[2] in LABELS[match[1]][1], f"no global parameter: {command}")
            self.parameters[match[1]] = match[2]
        else:
            raise ValueError(f"no command that the reader knows: {command}")
        return ""

    def _query(self, key: str, name: str) -> str:
        """As Windows XP prints it: a header, the key, and the value in hexadecimal digits; of a
        value that does not exist the header alone (the error goes to the other stream).
        """
        header = "! REG.EXE VERSION 3.0\n"
        value = self.registry.get((_key(key), name))
        return header if value is None else f"{header}\n{key}\n    {name}\tREG_DWORD\t{value:#x}\n"


def _key(path: str) -> str:
    _expect(re.fullmatch(r"HKLM(\\[\w{}-]+)+", path) is not None, f"no key of the registry: {path}")
    return path.lower()


@dataclass
class Prompt:
    """A prompt of cmd.exe: as much of it as recipes use. Files are kept, as across a restart."""

    machine: WindowsMachine
    variables: dict[str, str] = field(
        default_factory=lambda: {"USERPROFILE": "C:\\Users\\a b", "GUID": "{6B29FC40-CA47-1067-B31D-00DD010662DA}"}
    )
    files: dict[str, str] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    jobs: list[tuple[str, ...]] = field(default_factory=list)
    """Recipes of hosts start none."""

    def type(self, lines: Iterable[str]) -> None:
        """Run lines one by one. Raises ValueError for one that this prompt or a tool refuses."""
        for line in lines:
            if line.startswith("rem "):
                self.comments.append(line.removeprefix("rem "))
            else:
                self._line(self._expanded(line))

    def _expanded(self, line: str) -> str:
        """A name between per cent signs is a variable; `%v` of a loop is none."""
        return re.sub(r"%(\w+)%", lambda name: self.variables[name[1]], line)

    def _line(self, line: str) -> None:
        loop = re.fullmatch(
            r"""for /f "tokens=(\d+)(?: delims=(.+))?" %v in \('find "(.+?)" \^< "(.+?)"'\) do (.+)""", line
        )
        if loop:
            place, separators, text, file, command = loop.groups()
            for printed in self.files[file].splitlines():
                words = [word for word in re.split(f"[{re.escape(separators or ' ' + chr(9))}]", printed) if word]
                if text in printed and len(words) >= int(place):
                    self.machine.run(command.replace("%v", words[int(place) - 1]))
        elif saved := re.fullmatch(r'(.+) > "(.+)"', line):
            self.files[saved[2]] = self.machine.run(saved[1])
        else:
            _expect(self.machine.run(line) == "", f"prints, and changes nothing: {line}")
