"""Captures of sockets of the running kernel on loopback, in a network namespace of their own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.namespaces import namespaces

AVAILABLE = namespaces() and all(shutil.which(program) for program in ("tcpdump", "ip", "unshare"))

_BEFORE = """
import ctypes, socket, struct, subprocess, sys, threading, time
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
_dump = subprocess.Popen(
    ["tcpdump", "--immediate-mode", "-i", "lo", "-U", "-s", "128", "-w", sys.argv[1], "tcp"],
    stderr=subprocess.PIPE,
    text=True,
)
while "listening on" not in _dump.stderr.readline():
    pass
time.sleep(0.2)

def listen(backlog=16):
    server = socket.create_server(("127.0.0.1", 8080), backlog=backlog)
    return server

def receive(connection, size):
    while size > 0:
        data = connection.recv(size)
        if not data:
            return False
        size -= len(data)
    return True

def drop(sock, source=None):
    \"\"\"The socket drops all that arrives, or what comes from an address (SO_ATTACH_FILTER).\"\"\"
    no, yes = (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF)
    address = struct.unpack(">I", socket.inet_aton(source))[0] if source else 0
    code = [(0x20, 0, 0, 0xFFF00000 + 12), (0x15, 0, 1, address), no, yes] if source else [no]
    steps = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in code))
    sock.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HL", len(code), ctypes.addressof(steps)))

def inject_reset(client, ttl, seq=1):
    \"\"\"A reset in the server's name with a sequence number that the client does not accept.\"\"\"
    (_, port), server = client.getsockname(), client.getpeername()
    local = socket.inet_aton("127.0.0.1")
    tcp = struct.pack(">HHIIBBHHH", server[1], port, seq, 0, 0x50, 4, 0, 0, 0)
    words = struct.unpack(">16H", local + local + struct.pack(">HH", 6, len(tcp)) + tcp)
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    tcp = tcp[:16] + struct.pack(">H", ~total & 0xFFFF) + tcp[18:]
    header = struct.pack(">BBHHHBBH", 0x45, 0, 40, 7, 0x4000, ttl, 6, 0) + local + local
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    raw.sendto(header + tcp, ("127.0.0.1", 0))

def exchanges(count, respond, think=0.0, nodelay=False):
    \"\"\"A client that asks `count` times with 80 B and reads 520 B; `respond` writes them.\"\"\"
    server = listen()
    def serve():
        connection, _ = server.accept()
        if nodelay:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while receive(connection, 80):
            respond(connection)
        connection.close()
    threading.Thread(target=serve, daemon=True).start()
    client = socket.create_connection(("127.0.0.1", 8080))
    for _ in range(count):
        client.sendall(bytes(80))
        assert receive(client, 520)
        time.sleep(think)
    client.close()
"""

_AFTER = """
time.sleep(0.4)
_dump.terminate()
_dump.wait()
"""


def captured(path: Path, program: str) -> Path:
    """Run ``program`` with the functions above while tcpdump writes ``path``; return the path."""
    command = ["unshare", "--net", sys.executable, "-c", _BEFORE + program + _AFTER, str(path)]
    subprocess.run(command, check=True, timeout=60)
    return path
