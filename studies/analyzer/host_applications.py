"""Small applications for captures of hosts: `python host_applications.py APPLICATION ROLE ADDRESS`.

They read and write a fixed number of bytes with fixed seeds and end by themselves; a server runs
until it is ended.
"""

from __future__ import annotations

import random
import socket
import sys
import threading
import time
from collections.abc import Callable

PORTS = {"http": 80, "typing": 22, "slow-reader": 7000, "short": 7001}
REFUSED_PORT = 9
HTTP_REQUESTS, HTTP_SIZES, SERVER_THINK_S, CLIENT_THINK_S = 24, (500, 5_000, 60_000, 300_000), 0.15, 0.1
TYPING_S, KEYSTROKE_MEAN_S, KEYSTROKE_BYTES = 9.0, 0.08, 36
PAUSES_S = (0.9, 0.9, 2.6, 0.9, 0.9)
READ_BETWEEN_PAUSES = 120_000
SHORT_CONNECTIONS, SHORT_EVERY_S, CONNECT_TIMEOUT_S = 160, 0.03, 4.5

Handler = Callable[[socket.socket], None]


def main(application: str, role: str, address: str, unanswered: str = "") -> None:
    """Run one end of an application."""
    port = PORTS[application]
    if role == "server":
        serve(address, port, {"http": _http, "typing": _echo, "slow-reader": _source, "short": _sized}[application])
    elif application == "http":
        _http_client(_connect(address, port))
    elif application == "typing":
        _typing_client(_connect(address, port))
    elif application == "slow-reader":
        _slow_reader(address, port)
    else:
        _short_connections(address, port, unanswered)


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def serve(address: str, port: int, handler: Handler) -> None:
    """Handle each connection to a port in a thread of its own, for ever."""
    with socket.create_server((address, port), family=_family(address), backlog=512) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_handle, args=(handler, connection), daemon=True).start()


def _handle(handler: Handler, connection: socket.socket) -> None:
    with connection:
        try:
            handler(connection)
        except OSError as error:
            print(error, file=sys.stderr)


def _connect(address: str, port: int) -> socket.socket:
    return socket.create_connection((address, port), timeout=30)


def _http(connection: socket.socket) -> None:
    """Answer `GET /BYTES` after the server's think time."""
    while True:
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            part = connection.recv(4096)
            if not part:
                return
            request += part
        size = int(request.split()[1][1:])
        time.sleep(SERVER_THINK_S)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"h" * size)


def _http_client(connection: socket.socket) -> None:
    rng = random.Random(1)
    with connection:
        for _ in range(HTTP_REQUESTS):
            size = rng.choice(HTTP_SIZES)
            connection.sendall(b"GET /%d HTTP/1.1\r\nHost: server\r\n\r\n" % size)
            answer = b""
            while b"\r\n\r\n" not in answer:
                answer += connection.recv(65536)
            received = len(answer) - answer.index(b"\r\n\r\n") - 4
            while received < size:
                received += len(connection.recv(65536))
            time.sleep(CLIENT_THINK_S)


def _echo(connection: socket.socket) -> None:
    """Echo each keystroke; a newline runs a command with output."""
    rng = random.Random(2)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := connection.recv(4096):
        connection.sendall(data)
        if data[:1] == b"\n":
            time.sleep(0.05)
            connection.sendall(bytes(rng.randint(200, 4000)))


def _typing_client(connection: socket.socket) -> None:
    rng = random.Random(3)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=drain, args=(connection,), daemon=True).start()
    end, count = time.monotonic() + TYPING_S, 0
    while time.monotonic() < end:
        count += 1
        key = b"\n" if count % 15 == 0 else b"a"
        connection.sendall(key.ljust(KEYSTROKE_BYTES, b"\0"))
        time.sleep(rng.expovariate(1 / KEYSTROKE_MEAN_S))
    connection.shutdown(socket.SHUT_WR)
    time.sleep(0.5)


def drain(connection: socket.socket) -> None:
    """Read to the end."""
    while connection.recv(65536):
        pass


def _source(connection: socket.socket) -> None:
    while True:
        connection.sendall(bytes(16384))


def _slow_reader(address: str, port: int) -> None:
    """Read with pauses, through a small receive buffer."""
    connection = socket.socket(_family(address))
    with connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        connection.connect((address, port))
        for pause in PAUSES_S:
            received = 0
            while received < READ_BETWEEN_PAUSES:
                received += len(connection.recv(4096))
            time.sleep(pause)


def _sized(connection: socket.socket) -> None:
    """Send as many bytes as the request asks for."""
    size = int(connection.recv(64).split()[0])
    connection.sendall(bytes(size))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(10)


def _short_connections(address: str, port: int, unanswered: str) -> None:
    """Many transfers of some kB; 1 in 10 connections is refused, 1 in 20 gets no answer."""
    rng = random.Random(5)
    threads = []
    for count in range(SHORT_CONNECTIONS):
        size = int(min(200_000, 400 * rng.paretovariate(0.9)))
        if count % 20 == 7:
            target = (unanswered, port)
        elif count % 10 == 3:
            target = (address, REFUSED_PORT)
        else:
            target = (address, port)
        threads.append(threading.Thread(target=_fetch, args=(target, size)))
        threads[-1].start()
        time.sleep(SHORT_EVERY_S)
    for thread in threads:
        thread.join(30)


def _fetch(target: tuple[str, int], size: int) -> None:
    try:
        with socket.create_connection(target, timeout=CONNECT_TIMEOUT_S) as connection:
            connection.settimeout(20)
            connection.sendall(b"%d\n" % size)
            drain(connection)
    except OSError as error:
        print(f"{target[0]}:{target[1]}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
