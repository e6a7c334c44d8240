"""The commands of Windows in an advice: values of the registry with `reg`, and the global
parameters of TCP with `netsh`, as Microsoft's pages have them (`Page`).

A value of the registry takes effect at the next start of Windows, when the variables of a shell are
gone: what was there is saved in a file of the user's folder. An undo deletes the value, and a loop
over that file (`for /f`, as typed at the prompt, not in a batch file) adds the one that was there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TCPIP = r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
AFD = r"HKLM\SYSTEM\CurrentControlSet\Services\Afd\Parameters"
INTERFACE = TCPIP + r"\Interfaces\%GUID%"
"""The key of one interface, `%GUID%` a variable of the shell."""
APPENDIX_C = "Appendix C: Windows Sockets and DNS Registry Parameters"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of Microsoft's documentation: its title, and where it stood."""

    title: str
    where: str

    def text(self) -> str:
        """The line that names it beside a command."""
        return f'Microsoft, "{self.title}" ({self.where})'


@dataclass(frozen=True, slots=True)
class RegistryValue:
    """A value of type REG_DWORD: its key, the values that it takes, and its page."""

    key: str
    values: range
    page: Page


REGISTRY: Mapping[str, RegistryValue] = {
    "TcpWindowSize": RegistryValue(
        TCPIP, range(2**30), Page("TcpWindowSize", "TechNet, registry reference of Windows Server 2003, cc757802")
    ),
    "Tcp1323Opts": RegistryValue(
        TCPIP, range(4), Page("Tcp1323Opts", "TechNet, registry reference of Windows Server 2003, cc757402")
    ),
    "DefaultSendWindow": RegistryValue(AFD, range(2**31), Page(APPENDIX_C, "TechNet, Windows XP and Server 2003")),
    "TcpAckFrequency": RegistryValue(
        INTERFACE,
        range(256),
        Page(
            "New registry entry for controlling the TCP Acknowledgment (ACK) behavior in Windows XP and in Windows "
            "Server 2003",
            "article 328890",
        ),
    ),
}
"""The values of the registry that an advice sets. The pages of both Tcpip values are of Windows
2000 and of Windows Server 2003, between which Windows XP lies (article 224829, "Description of
Windows 2000 and Windows Server 2003 TCP Features").
"""


@dataclass(frozen=True, slots=True)
class NetshOption:
    """A global parameter of TCP: its values, and how `netsh interface tcp show global` prints it:
    the label, and the place of the value among the words of the line.
    """

    values: tuple[str, ...]
    label: str
    place: int
    page: Page


NETSH: Mapping[str, NetshOption] = {
    "autotuninglevel": NetshOption(
        ("disabled", "highlyrestricted", "restricted", "normal", "experimental"),
        "Receive Window Auto-Tuning Level",
        5,
        Page(
            "Network connectivity may fail when you try to use Windows Vista behind a firewall device", "article 934430"
        ),
    ),
    "ecncapability": NetshOption(
        ("disabled", "enabled", "default"),
        "ECN Capability",
        3,
        Page("How to enable and disable Explicit Congestion Notification in Windows", "TechNet Wiki, 20204"),
    ),
}
"""The parameters that an advice sets."""
GLOBALS = '"%USERPROFILE%\\tcp-global.txt"'
"""The file with all global parameters before the change."""


def _saved(value: str) -> str:
    return f'"%USERPROFILE%\\{value}.txt"'


@dataclass(frozen=True, slots=True)
class SetRegistry:
    """`reg add KEY /v VALUE /t REG_DWORD /d NUMBER /f`."""

    value: str
    number: int

    def text(self) -> str:
        return f"reg add {REGISTRY[self.value].key} /v {self.value} /t REG_DWORD /d {self.number} /f"


@dataclass(frozen=True, slots=True)
class DeleteRegistry:
    """`reg delete KEY /v VALUE /f`."""

    value: str

    def text(self) -> str:
        return f"reg delete {REGISTRY[self.value].key} /v {self.value} /f"


@dataclass(frozen=True, slots=True)
class SaveRegistry:
    """`reg query KEY /v VALUE > FILE`: a file without REG_DWORD if there is none."""

    value: str

    def text(self) -> str:
        return f"reg query {REGISTRY[self.value].key} /v {self.value} > {_saved(self.value)}"


@dataclass(frozen=True, slots=True)
class RestoreRegistry:
    """`for /f .. in ('find "REG_DWORD" ^< FILE') do reg add ..`: adds the value that was there;
    nothing if there was none.
    """

    value: str

    def text(self) -> str:
        return (
            f"""for /f "tokens=3" %v in ('find "REG_DWORD" ^< {_saved(self.value)}') do """
            f"reg add {REGISTRY[self.value].key} /v {self.value} /t REG_DWORD /d %v /f"
        )


@dataclass(frozen=True, slots=True)
class SetNetsh:
    """`netsh interface tcp set global OPTION=VALUE`."""

    option: str
    value: str

    def text(self) -> str:
        return f"netsh interface tcp set global {self.option}={self.value}"


@dataclass(frozen=True, slots=True)
class SaveNetsh:
    """`netsh interface tcp show global > FILE`: all global parameters."""

    def text(self) -> str:
        return f"netsh interface tcp show global > {GLOBALS}"


@dataclass(frozen=True, slots=True)
class RestoreNetsh:
    """`for /f .. in ('find "LABEL" ^< FILE') do netsh interface tcp set global OPTION=%v`."""

    option: str

    def text(self) -> str:
        one = NETSH[self.option]
        return (
            f"""for /f "tokens={one.place} delims=: " %v in ('find "{one.label}" ^< {GLOBALS}') do """
            f"netsh interface tcp set global {self.option}=%v"
        )


@dataclass(frozen=True, slots=True)
class Remark:
    """`rem TEXT`: the page that has the next command."""

    words: str

    def text(self) -> str:
        return f"rem {self.words}"


@dataclass(frozen=True, slots=True)
class WindowsSocketOption:
    """`rem in the program: NAME = VALUE` (setsockopt), `rem in the program: no NAME`."""

    name: str
    value: str | None
    flow: str = ""

    def text(self) -> str:
        start = f"rem in the program of {self.flow}: " if self.flow else "rem in the program: "
        return start + (f"no {self.name}" if self.value is None else f"{self.name} = {self.value}")


WindowsCommand = (
    SetRegistry
    | DeleteRegistry
    | SaveRegistry
    | RestoreRegistry
    | SetNetsh
    | SaveNetsh
    | RestoreNetsh
    | Remark
    | WindowsSocketOption
)
