"""Captures of sockets of the running kernel on loopback, in a network namespace of their own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.namespaces import namespaces

AVAILABLE = namespaces() and all(shutil.which(program) for program in ("tcpdump", "ip", "unshare"))

_BEFORE = """
import socket, struct, subprocess, sys, threading, time
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
_dump = subprocess.Popen(
    ["tcpdump", "-i", "lo", "-U", "-s", "128", "-w", sys.argv[1], "tcp"], stderr=subprocess.PIPE, text=True
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
