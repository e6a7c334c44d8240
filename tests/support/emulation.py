"""A datagram echo server and a downloading client for emulations, and a wait for a condition."""

from __future__ import annotations

import time

ECHO = """
import os, socket, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", 9))
while True:
    data, sender = udp.recvfrom(2000)
    udp.sendto(data, sender)
"""


DOWNLOAD = """
import os, socket, time
while True:
    try:
        connection = socket.create_connection((os.environ["ACKCLOCK_SERVER"], 5001))
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
while connection.recv(1 << 18):
    pass
"""
"""Reads all that the server at port 5001 sends."""


def until(condition, seconds=30.0):
    """Wait until ``condition()`` is true. Return its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.05)
    return value
