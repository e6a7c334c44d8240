"""qlog files of simulated flows: segments or packets at the data's sender and its congestion state.

The files have the form of draft-ietf-quic-qlog-main-schema-14 (`QlogFile`, JSON). There is no
standard schema of TCP events; ours is :data:`EVENT_SCHEMA` with the namespace ``tcp``, and takes
the field names of QUIC's ``recovery_metrics_updated`` for the same quantities
(docs/reference/qlog.md). A flow over QUIC has :data:`QUIC_SCHEMA`, its packets and those lost.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import RunFailed
from ackclock.simulation.quic_packets import LossDetection, packets

if TYPE_CHECKING:
    import polars as pl

EVENT_SCHEMA = "urn:x-ackclock:qlog:events:tcp"
QUIC_SCHEMA = "urn:ietf:params:qlog:events:quic"
FOLDER = "qlog"
SENDER = {"down": "server", "up": "client"}
_MAGIC = {0xA1B2C3D4: 10**3, 0xA1B23C4D: 1}
"""Magic number of a pcap file to nanoseconds of a fraction of its timestamps."""
_EPOCH_S = 946_684_800
"""The start of a simulation in its captures: 2000-01-01."""
_FLAGS = "FSRPAUEC"
"""Flags of a TCP header, lowest bit first: FIN SYN RST PSH ACK URG ECE CWR."""
_ETHERNET, _TCP, _UDP = 14, 6, 17
_UDP_HEADER = 8
Event = dict[str, Any]


def write_qlog(
    folder: Path,
    flows: pl.DataFrame,
    series: pl.DataFrame,
    title: str,
    quic: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Path]:
    """Write ``qlog/FLOW.qlog`` for each TCP and QUIC flow of a run folder with captures of the form
    pcap (``seedN-FLOW.qlog`` with several seeds); return the paths. `quic`: by flow the plan's
    table of its stack.

    Raises:
        RunFailed: the run has no capture of a flow's sender.
    """
    import polars as pl

    from ackclock.storage.atomic_files import atomic_write

    target = folder / FOLDER
    target.mkdir(exist_ok=True)
    written = []
    seeds = flows["seed"].n_unique()
    for row in flows.select("seed", "flow", "variant", "direction").iter_rows(named=True):
        if row["variant"] == "udp":
            continue
        name = row["flow"] if seeds == 1 else f"seed{row['seed']}-{row['flow']}"
        capture = folder / "captures" / f"{name}.{SENDER[row['direction']]}.pcap"
        if not capture.is_file():
            raise RunFailed(f"qlog requires {capture.name}", "run `ackclock simulate --qlog` into a new folder")
        samples = series.filter((pl.col("seed") == row["seed"]) & (pl.col("flow") == row["flow"]))
        is_quic = _is_quic(capture)
        document = qlog(
            row,
            datagrams(capture, row["direction"], (quic or {}).get(row["flow"]))
            if is_quic
            else segments(capture, row["direction"]),
            metrics(samples.iter_rows(named=True), "quic" if is_quic else "tcp"),
            title=title,
            schema=QUIC_SCHEMA if is_quic else EVENT_SCHEMA,
        )
        path = target / f"{name}.qlog"
        atomic_write(path, json.dumps(document, separators=(",", ":"), allow_nan=False).encode())
        written.append(path)
    return written


def _is_quic(capture: Path) -> bool:
    """Whether the flow's packets are datagrams."""
    return any(frame[_ETHERNET + 9] == _UDP for _, frame in islice(_records(capture), 1))


def qlog(
    flow: Mapping[str, Any],
    *sources: Iterator[Event] | Sequence[Event],
    title: str = "",
    schema: str = EVENT_SCHEMA,
) -> Event:
    """The document of one flow, with the events of all sources in order of time."""
    events = sorted((event for source in sources for event in source), key=lambda event: float(event["time"]))
    return {
        "file_schema": "urn:ietf:params:qlog:file:contained",
        "serialization_format": "application/qlog+json",
        "title": title or str(flow["flow"]),
        "traces": [
            {
                "title": f"{flow['flow']}, {flow['variant']}, seed {flow['seed']}",
                "common_fields": {
                    "group_id": str(flow["flow"]),
                    "time_format": "relative_to_epoch",
                    "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
                },
                "vantage_point": {"name": "data sender", "type": SENDER[flow["direction"]]},
                "event_schemas": [schema],
                "events": events,
            }
        ],
    }


def metrics(samples: Iterator[Mapping[str, Any]], namespace: str = "tcp") -> Iterator[Event]:
    """``tcp:recovery_metrics_updated`` for each sample of a flow's series, or that of ``quic``. A
    quantity without a value, such as an unlimited ssthresh, is absent.

    >>> next(metrics(iter([{"time_s": 0.1, "cwnd_bytes": 14480.0, "srtt_ms": None}])))["data"]
    {'congestion_window': 14480}
    """
    for sample in samples:
        values = {
            "smoothed_rtt": sample.get("srtt_ms"),
            "congestion_window": _whole(sample.get("cwnd_bytes")),
            "ssthresh": _whole(sample.get("ssthresh_bytes")),
            "bytes_in_flight": _whole(sample.get("flight_bytes")),
        }
        if namespace == "tcp":
            values["retransmitted_segments"] = _whole(sample.get("retransmitted_segments"))
        data = {name: value for name, value in values.items() if value is not None}
        yield {"time": float(sample["time_s"]) * 1e3, "name": f"{namespace}:recovery_metrics_updated", "data": data}


def _whole(value: float | None) -> int | None:
    return None if value is None or not math.isfinite(value) else round(value)


def segments(capture: Path, direction: str) -> Iterator[Event]:
    """``tcp:packet_sent`` and ``tcp:packet_received`` at the sender of the data, from its capture.

    Raises:
        RunFailed: the file is no capture that `simulate` wrote.
    """
    highest: int | None = None
    client: bytes | None = None
    for time_ns, frame in _records(capture):
        ip = frame[_ETHERNET:]
        header = (ip[0] & 15) * 4
        if ip[0] >> 4 != 4 or ip[9] != _TCP or len(ip) < header + 20:
            continue
        tcp = ip[header:]
        seq, ack = struct.unpack_from(">II", tcp, 4)
        flags = "".join(name for bit, name in enumerate(_FLAGS) if tcp[13] >> bit & 1)
        client = ip[12:16] if client is None else client  # the first packet is the SYN
        sent = (ip[12:16] == client) == (direction == "up")
        length = int.from_bytes(ip[2:4], "big")
        payload = length - header - (tcp[12] >> 4) * 4
        fields: Event = {"seq": seq, "flags": flags, "window": int.from_bytes(tcp[14:16], "big")}
        if "A" in flags:
            fields["ack"] = ack
        data: Event = {"header": fields, "raw": {"length": length, "payload_length": payload}}
        if sent and payload:
            end = (seq + payload) % 2**32
            if highest is not None and (highest - end) % 2**32 < 2**31:
                data["is_retransmission"] = True
            else:
                highest = end
        name = "tcp:packet_sent" if sent else "tcp:packet_received"
        yield {"time": time_ns / 1e6, "name": name, "data": data}


def datagrams(capture: Path, direction: str, quic: Mapping[str, Any] | None = None) -> Iterator[Event]:
    """``quic:packet_sent``, ``quic:packet_received`` and ``quic:packet_lost`` at the sender of the
    data, from its capture. `quic`: the plan's table of the flow.

    Raises:
        RunFailed: the file is no capture that `simulate` wrote.
    """
    losses = LossDetection(quic)
    client: bytes | None = None
    expected = {True: [0, 0, 0], False: [0, 0, 0]}
    largest = 0
    for time_ns, frame in _records(capture):
        ip = frame[_ETHERNET:]
        if ip[0] >> 4 != 4 or ip[9] != _UDP:
            continue
        header = (ip[0] & 15) * 4
        client = ip[12:16] if client is None else client  # the first packet is the client's
        sent = (ip[12:16] == client) == (direction == "up")
        length = int.from_bytes(ip[2:4], "big") - header - _UDP_HEADER
        yield from losses.before(time_ns)
        for packet in packets(ip[header + _UDP_HEADER :], length, expected[sent]):
            data: Event = {
                "header": {"packet_type": packet.kind, "packet_number": packet.number},
                "raw": {"length": packet.length, "payload_length": packet.payload_length},
                "frames": packet.frames,
            }
            if sent:
                kinds = {one["frame_type"] for one in packet.frames}
                is_probe = packet.kind == "1RTT" and length > largest and kinds <= {"ping", "padding", "unknown"}
                if is_probe:
                    data["is_mtu_probe_packet"] = True
                else:
                    largest = max(largest, length)
                losses.on_sent(time_ns, packet, is_probe)
            name = "quic:packet_sent" if sent else "quic:packet_received"
            yield {"time": time_ns / 1e6, "name": name, "data": data}
            if not sent:
                yield from losses.on_acks(time_ns, packet)


def _records(capture: Path) -> Iterator[tuple[int, bytes]]:
    """Time since the start of the run in nanoseconds and frame of each record of a pcap file."""
    content = capture.read_bytes()
    magic = content[:4] if len(content) >= 24 else bytes(4)
    order = next((one for one in "<>" if struct.unpack(f"{one}I", magic)[0] in _MAGIC), None)
    if order is None:
        raise RunFailed("qlog requires captures of the form pcap", "leave out --pcap-format", file=str(capture))
    unit = _MAGIC[struct.unpack(f"{order}I", magic)[0]]
    place = 24
    while place + 16 <= len(content):
        seconds, fraction, size, _ = struct.unpack_from(f"{order}IIII", content, place)
        yield (seconds - _EPOCH_S) * 10**9 + fraction * unit, content[place + 16 : place + 16 + size]
        place += 16 + size
