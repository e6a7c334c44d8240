"""Captures of a measurement's packets, at either end."""

from __future__ import annotations

import ipaddress
import socket
import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from ackclock.errors import InputError

SNAPLEN = 128
"""Captured bytes of each packet: headers and options."""
ROOM = 8 << 20
ALL = 0x0003  # ETH_P_ALL
V4, V6 = 0x0800, 0x86DD
RAW_IP = 101  # LINKTYPE_RAW
NANOSECONDS = 0xA1B23C4D
"""Magic number of a pcap with nanoseconds."""
TIMESTAMPNS = 35  # SO_TIMESTAMPNS (asm-generic/socket.h)
PACKET_STATISTICS = 6


NEAR, FAR, BOTH = "capture.pcap", "capture-far.pcap", "analysis"
"""Files of a run folder: the client's capture, the server's, and the analysis of both."""


def header() -> bytes:
    """The file header of a pcap with nanoseconds and raw IP packets."""
    return struct.pack("<IHHiIII", NANOSECONDS, 2, 4, 0, 0, SNAPLEN, RAW_IP)


def join(folder: Path, pps: Sequence[Path] = ()) -> None:
    """Analyze both captures of a run folder into its folder `analysis`.

    ``pps`` has the pulse files of both ends, or none. Raises InputError for invalid ones.
    """
    from ackclock.analysis import analyze

    analyze(folder / NEAR, folder / FAR, pps=pps, out=folder / BOTH)


class Capture:
    """A capture as a context manager. Raises InputError without CAP_NET_RAW.

    ``dropped`` counts packets dropped by the kernel; ``broken`` is the reason of an early end.
    """

    def __init__(self, path: Path, address: str) -> None:
        host = address.rsplit(":", 1)[0].strip("[]").split("%")[0]
        self._peer = ipaddress.ip_address(host).packed
        self._path = path
        self._done = threading.Event()
        self.dropped = 0
        self.broken: str | None = None
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL))
        except OSError as error:
            why = f"--capture requires CAP_NET_RAW ({error.strerror})"
            raise InputError.problem(why, "run it as root, or leave --capture out", option="--capture") from None
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
        self._socket.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
        self._socket.settimeout(0.2)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Capture:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(0.1)  # for packets in transit to the socket
        self._done.set()
        self._thread.join()
        statistics = self._socket.getsockopt(263, PACKET_STATISTICS, 8)  # SOL_PACKET
        self.dropped = struct.unpack("=II", statistics)[1]
        self._socket.close()

    def _run(self) -> None:
        try:
            self._capture()
        except OSError as error:  # such as a full disk, which does not end the measurement
            self.broken = error.strerror

    def _capture(self) -> None:
        with self._path.open("wb") as file:
            file.write(header())
            while not self._done.is_set():
                try:
                    data, ancillary, _, address = self._socket.recvmsg(65536, socket.CMSG_SPACE(16))
                except TimeoutError:
                    continue
                self._write(file, data, ancillary, address)

    def _write(
        self, file: BinaryIO, data: bytes, ancillary: list[tuple[int, int, bytes]], address: tuple[str, int, int]
    ) -> None:
        protocol, kind = address[1], address[2]
        ends = (data[12:16], data[16:20]) if protocol == V4 else (data[8:24], data[24:40])
        # Loopback delivers every packet twice, outgoing and incoming.
        is_duplicate = address[0] == "lo" and kind == socket.PACKET_OUTGOING
        if protocol not in (V4, V6) or self._peer not in ends or is_duplicate:
            return
        timestamp = next(
            (payload for level, name, payload in ancillary if (level, name) == (socket.SOL_SOCKET, TIMESTAMPNS)), None
        )
        seconds, part = struct.unpack("=qq", timestamp[:16]) if timestamp else divmod(time.time_ns(), 10**9)
        file.write(struct.pack("<IIII", seconds, part, min(len(data), SNAPLEN), len(data)) + data[:SNAPLEN])
