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


FILTERED = """
server = listen(backlog=64)
drop(server, "127.0.0.2")
for source in ("127.0.0.1", "127.0.0.2", "127.0.0.1"):
    client = socket.socket()
    client.bind((source, 0))
    client.settimeout(2.5)
    try:
        client.connect(("127.0.0.1", 8080))
    except TimeoutError:
        pass
"""


@pytest.mark.finding("C25")
def test_accept_queue_is_not_full_when_only_one_address_has_no_answer(tmp_path):
    found = findings(captured(tmp_path / "a.pcap", FILTERED))
    assert "connection_unanswered" in found
    assert "accept_queue" not in found


IDLE = """
server = listen()
client = socket.create_connection(("127.0.0.1", 8080))
client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 3)):
    client.setsockopt(socket.IPPROTO_TCP, option, value)
connection, _ = server.accept()
connection.sendall(bytes(1000))
assert receive(client, 1000)
"""


@pytest.mark.slow
@pytest.mark.finding("C29")
def test_keepalives_are_unanswered_only_when_the_peer_drops_them(tmp_path):
    found = findings(captured(tmp_path / "silent.pcap", IDLE + "drop(connection)\ntime.sleep(5.5)"))
    assert "3 keep-alive probes" in found["keepalive_unanswered"]
    assert not {"reset_abort", "reset_gave_up", "peer_gone"} & set(found), found
    document = analyze(captured(tmp_path / "answered.pcap", IDLE + "time.sleep(3.5)")).document
    (flow,) = document["flows"]
    assert flow["a2b"]["keep_alives"] >= 2
    assert not any(one["finding"] == "keepalive_unanswered" for one in flow["diagnosis"])


@pytest.mark.finding("C30")
@pytest.mark.parametrize(
    ("program", "injected"),
    [
        ("inject_reset(client, 46)\nconnection.sendall(bytes(500))\nassert receive(client, 500)", True),
        # The program aborts: a linger time of 0.
        (
            "connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\nconnection.close()",
            False,
        ),
    ],
    ids=["with another TTL", "by the program"],
)
def test_reset_is_injected_only_when_its_end_goes_on(program, injected, tmp_path):
    found = findings(captured(tmp_path / "a.pcap", IDLE + program))
    assert ("reset_injected" in found) == injected, found
    assert ("reset_abort" in found or "reset_unread_data" in found) != injected, found


SLOW_READER = """
server = listen()
def fill():
    connection, _ = server.accept()
    connection.sendall(bytes(400_000))
    connection.close()
threading.Thread(target=fill, daemon=True).start()
client = socket.socket()
client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
client.connect(("127.0.0.1", 8080))
for _ in range(5):
    time.sleep(0.5)
    receive(client, 40_000)
while client.recv(1 << 16):
    pass
"""


@pytest.mark.finding("C34")
def test_reader_is_slow_when_its_kernel_announces_the_window(tmp_path):
    found = findings(captured(tmp_path / "a.pcap", SLOW_READER))
    assert "reads more slowly" in found["zero_window_stall"]
    assert "sends no window updates" not in str(found)
