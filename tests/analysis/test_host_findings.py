"""Findings about hosts and programs in captures of the running kernel's sockets."""

from __future__ import annotations

import json

import pytest

from ackclock import analyze
from tests.support.kernel_sockets import AVAILABLE, captured

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(not AVAILABLE, reason="this machine has no network namespaces, or no tcpdump"),
]


def findings(path) -> dict[str, str]:
    """The findings of all flows with their texts."""
    document = analyze(path).document
    return {one["finding"]: json.dumps(one) for flow in document["flows"] for one in flow["diagnosis"]}


PARTS = "lambda connection: (connection.sendall(bytes(120)), connection.sendall(bytes(400)))"
SLOW = "lambda connection: (connection.sendall(bytes(120)), time.sleep(0.045), connection.sendall(bytes(400)))"
WHOLE = "lambda connection: connection.sendall(bytes(520))"


@pytest.mark.finding("C18")
@pytest.mark.parametrize(
    ("program", "waits"),
    [
        (f"exchanges(25, {PARTS})", True),
        (f"exchanges(25, {PARTS}, nodelay=True)", False),
        (f"exchanges(25, {WHOLE})", False),
        # The program writes the second part 45 ms later, the client thinks for 45 ms.
        (f"exchanges(25, {SLOW}, nodelay=True)", False),
        (f"exchanges(25, {WHOLE}, think=0.045)", False),
    ],
    ids=["two writes", "two writes, TCP_NODELAY", "one write", "a slow program", "a client that thinks"],
)
def test_small_segments_wait_for_delayed_acks_only_when_nagle_holds_them(program, waits, tmp_path):
    found = findings(captured(tmp_path / "a.pcap", program))
    assert ("nagle_delayed_ack" in found) == waits, found
    assert "delayed_ack_stall" not in found
    assert "ack_compression" not in found
    assert not waits or (
        "TCP_NODELAY" in found["nagle_delayed_ack"] and "would make this flow faster" not in str(found)
    )


BACKLOG = """
server = listen(backlog=1)
clients = []
def dial():
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", 8080))
    clients.append(client)
for _ in range(8):
    dial()
    time.sleep(0.1)
"""
ACCEPTS = "server.settimeout(0.2)\naccepted = []\nfor _ in range(9):\n    try:\n        accepted.append(server.accept())\n    except TimeoutError:\n        break\n"


@pytest.mark.finding("C25")
def test_accept_queue_is_full_only_when_the_server_leaves_syns_unanswered(tmp_path):
    full = findings(captured(tmp_path / "full.pcap", BACKLOG + "time.sleep(3)"))
    assert "accept_queue" in full
    assert "Capture at the server" not in str(full)
    roomy = findings(captured(tmp_path / "roomy.pcap", BACKLOG.replace("backlog=1", "backlog=64") + ACCEPTS))
    assert not {"accept_queue", "connection_unanswered", "handshake_loss"} & set(roomy), roomy


SEND_BUFFER = """
server = listen()
def serve():
    connection, _ = server.accept()
    while connection.recv(1 << 16):
        pass
threading.Thread(target=serve, daemon=True).start()
client = socket.create_connection(("127.0.0.1", 8080))
"""
