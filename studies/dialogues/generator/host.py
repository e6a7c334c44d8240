"""The running kernel as the host of a dialogue: a network namespace, a TUN device, a socket.

A process calls `enter` once, before it makes a `Host`. Sysctls are written inside the namespace
only. `machine_sysctls` reads those of the calling process, to compare before and after.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

CLOCK_MONOTONIC_COARSE = 6
"""clock_gettime(2): the monotonic clock at the last tick; the module `time` does not name it."""
_SYSCTLS = Path("/proc/sys/net/ipv4")
_TUNSETIFF, _TUNSETOFFLOAD, _TUNSETVNETHDRSZ = 0x400454CA, 0x400454D0, 0x400454D8
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
_TUN_F_CSUM, _TUN_F_TSO4, _TUN_F_TSO6 = 1, 2, 4
_VNET_HEADER = 10
_SIOCETHTOOL, _ETHTOOL_STSO, _ETHTOOL_SGSO = 0x8946, 0x1F, 0x24
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000

HOST_V4, PEER_V4, PREFIX_V4 = "192.168.0.1", "192.0.2.1", "192.0.2.0/24"
HOST_V6, PEER_V6, PREFIX_V6 = "fd3d:fa7b:d17d::1", "fd3d:fa7b:d17d:1::1", "fd3d:fa7b:d17d:1::/64"


class NotPossible(Exception):
    """Namespaces or TUN devices are not permitted here; the text is the reason."""


def kernel() -> str:
    """The kernel's version and its ticks a second, as `6.18.44, HZ 250`."""
    return f"{platform.release().split('-')[0]}, HZ {ticks()}"


def ticks() -> int:
    """Ticks a second of the running kernel: the resolution of its coarse clock."""
    return round(1 / time.clock_getres(CLOCK_MONOTONIC_COARSE))


def machine_sysctls() -> dict[str, str]:
    """The sysctls below net.ipv4 and net.core that this process may read, by name."""
    found = {}
    for folder in (_SYSCTLS, Path("/proc/sys/net/core")):
        for file in sorted(folder.rglob("*")):
            with contextlib.suppress(OSError):
                if file.is_file():
                    found[str(file)] = file.read_text("utf-8", "replace")
    return found


def enter() -> None:
    """Move this process into a network namespace of its own, in a user namespace unless it is root.

    Raises:
        NotPossible: the kernel does not permit it, or has no TUN device.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    if not Path("/dev/net/tun").exists():
        raise NotPossible("there is no /dev/net/tun")
    if libc.unshare(_CLONE_NEWNET) == 0:
        pass
    elif libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0:
        with contextlib.suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    else:
        raise NotPossible(f"no network namespace ({os.strerror(ctypes.get_errno())})")


class Host:
    """The TUN device `tun0` and the sysctls of this process's namespace.

    `tso`: the device takes super-segments.
    """

    def __init__(self, sysctls: Mapping[str, str], *, tso: bool = False) -> None:
        self._tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        try:
            request = struct.pack("16sH14x", b"tun0", _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR)
            fcntl.ioctl(self._tun, _TUNSETIFF, request)
            fcntl.ioctl(self._tun, _TUNSETVNETHDRSZ, struct.pack("i", _VNET_HEADER))
            fcntl.ioctl(self._tun, _TUNSETOFFLOAD, _TUN_F_CSUM | _TUN_F_TSO4 | _TUN_F_TSO6)
            for command in (
                "link set lo up",
                f"addr add {HOST_V4}/16 dev tun0",
                "link set tun0 up",
                f"route add {PREFIX_V4} dev tun0",
                f"-6 addr add {HOST_V6}/64 dev tun0 nodad",
                f"-6 route add {PREFIX_V6} dev tun0",
            ):
                subprocess.run(["ip", *command.split()], check=not command.startswith("-6"), capture_output=True)
            if not tso:
                self._switch_off(_ETHTOOL_STSO)
                self._switch_off(_ETHTOOL_SGSO)
            for name, value in sysctls.items():
                (_SYSCTLS / name).write_text(value)
        except BaseException:
            os.close(self._tun)
            raise

    def _switch_off(self, command: int) -> None:
        """What `ethtool -K tun0 tso off gso off` does."""
        value = struct.pack("II", command, 0)
        buffer = ctypes.create_string_buffer(value)
        request = struct.pack("16sP8x", b"tun0", ctypes.addressof(buffer))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            fcntl.ioctl(control.fileno(), _SIOCETHTOOL, request)

    def fileno(self) -> int:
        """The device's descriptor, to wait for packets."""
        return self._tun

    def inject(self, data: bytes) -> None:
        """A packet arrives at the host. Its TCP has answered when this returns."""
        os.write(self._tun, bytes(_VNET_HEADER) + data)

    def packets(self) -> list[bytes]:
        """The packets that the host has sent since the last call, without waiting."""
        found: list[bytes] = []
        while True:
            try:
                data = os.read(self._tun, 70_000)
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.EINTR):
                    return found
                raise
            found.append(data[_VNET_HEADER:])

    def close(self) -> None:
        """Remove the device."""
        os.close(self._tun)


def open_socket(congestion_control: str, *, ipv6: bool = False) -> socket.socket:
    """A TCP socket with this congestion control, not blocking."""
    made = socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
    made.setblocking(False)
    return made


_INFO = {
    "snd_mss": 16,
    "rto": 8,
    "unacked": 24,
    "sacked": 28,
    "lost": 32,
    "retrans": 36,
    "rtt": 68,
    "rttvar": 72,
    "snd_ssthresh": 76,
    "snd_cwnd": 80,
    "reordering": 88,
    "total_retrans": 100,
}
"""Offsets in `struct tcp_info` (linux/tcp.h)."""


def tcp_info(of: socket.socket) -> dict[str, int]:
    """What getsockopt(TCP_INFO) says of a connection: the fields of the scripts' assertions."""
    data = of.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    found = {name: struct.unpack_from("=I", data, at)[0] for name, at in _INFO.items()}
    return found | {"state": data[0], "ca_state": data[1], "backoff": data[4]}
