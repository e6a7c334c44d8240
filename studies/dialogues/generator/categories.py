"""What a seed draws in each category: peer, link, application and the host's sysctls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from studies.dialogues.generator.path import PathConfig
from studies.dialogues.generator.peer import PeerConfig
from studies.dialogues.generator.record import Open, Plan, Send
from studies.dialogues.generator.script import Call, Setup

Draw = Callable[[Random, str, int], Plan]


def plan(category: str, seed: int) -> Plan:
    """The dialogue of a category that a seed means.

    Raises:
        KeyError: there is no such category.
    """
    return CATEGORIES[category](Random(f"{category}-{seed}"), category, seed)


def _path(rng: Random, low: float = 20, high: float = 120) -> PathConfig:
    """No ACKs 2 ms apart: HyStart's ACK train lasts as long as none is more than 2 ms behind the
    one before, which microseconds would decide (hystart_update()).
    """
    rtt = rng.choice([value for value in (20, 30, 40, 50, 60, 80, 100, 120) if low <= value <= high])
    service = rng.choice([3.0, 3.0, 4.0, 5.0])
    return PathConfig(rtt / 4, rtt * 3 / 4 - service, service)


def _setup(rng: Random, control: str, **sysctls: int) -> Setup:
    del rng
    return Setup(control, {"tcp_slow_start_after_idle": "0", **{name: str(value) for name, value in sysctls.items()}})


def _write(at: float, size: int) -> Call:
    return Call(at, "write", size, size)


def _losses(rng: Random, path: PathConfig) -> PathConfig:
    """Independent losses, a burst, or a list; retransmissions and ACKs may be lost, too."""
    kind = rng.choice(["independent", "burst", "list"])
    if kind == "independent":
        path = replace(path, loss=rng.choice([0.02, 0.04, 0.08]))
    elif kind == "burst":
        first, length = rng.randint(2, 25), rng.randint(2, 7)
        path = replace(path, lost=frozenset(range(first, first + length)))
    else:
        path = replace(path, lost=frozenset(rng.randint(0, 30) for _ in range(rng.randint(1, 5))))
    if rng.random() < 0.3:
        path = replace(path, lost_again=rng.choice([0.2, 0.5]))
    if rng.random() < 0.3:
        path = replace(path, ack_loss=rng.choice([0.05, 0.15]))
    return path


def _sender(rng: Random, category: str, seed: int, control: str, *, sack: bool = True) -> Plan:
    """The host sends a bulk of data."""
    peer = PeerConfig(
        sack=sack,
        timestamps=rng.random() < 0.15,
        ack_every=rng.choice([1, 1, 1, 2]),
        dsack=rng.random() < 0.8,
    )
    size = rng.choice([8_000, 20_000, 40_000, 60_000, 120_000])
    return Plan(
        category,
        seed,
        _setup(rng, control),
        peer,
        _path(rng),
        (_write(2, size),),
        inbound=rng.randint(14, 42),
        tail_ms=rng.choice([25.0, 25.0, 60.0, 250.0]),
    )


def _loss(control: str) -> Draw:
    def draw(rng: Random, category: str, seed: int) -> Plan:
        made = _sender(rng, category, seed, control)
        return replace(made, path=_losses(rng, made.path))

    return draw


def _reorder(rng: Random, category: str, seed: int) -> Plan:
    made = _sender(rng, category, seed, rng.choice(["reno", "cubic"]))
    path = replace(made.path, overtaken=rng.choice([0.05, 0.1, 0.25]), places=rng.randint(1, 8))
    if rng.random() < 0.3:
        path = replace(path, twice=0.05)
    if rng.random() < 0.3:
        path = replace(path, loss=0.03)
    return replace(made, path=path)


def _no_sack(rng: Random, category: str, seed: int) -> Plan:
    made = _sender(rng, category, seed, rng.choice(["reno", "cubic"]), sack=False)
    if rng.random() < 0.35:
        path = replace(made.path, overtaken=rng.choice([0.05, 0.15]), places=rng.randint(1, 5))
        return replace(made, path=path)
    return replace(made, path=_losses(rng, made.path))


def _timeout(rng: Random, category: str, seed: int) -> Plan:
    made = _sender(rng, category, seed, rng.choice(["reno", "cubic"]), sack=rng.random() < 0.75)
    made = replace(
        made,
        peer=replace(made.peer, timestamps=rng.random() < 0.5),
        calls=(_write(2, rng.choice([5_000, 9_000, 14_000, 30_000])),),
        inbound=rng.randint(8, 26),
        duration_ms=3500,
        tail_ms=rng.choice([60.0, 300.0]),
    )
    path, established = made.path, 20 + made.rtt_ms
    size = (made.calls[0].result + 999) // 1000
    match rng.choice(["tail", "blackout", "spike", "late acks", "again"]):
        case "tail":
            last = min(size, 10)
            path = replace(path, lost=frozenset(range(last - rng.randint(1, min(4, last)), last)))
        case "blackout":
            start = established + rng.choice([1.0, made.rtt_ms + 2, made.rtt_ms + 9])
            path = replace(path, blackouts=((start, start + rng.choice([40.0, 200.0, 450.0, 900.0])),))
        case "spike":
            start = established + made.rtt_ms * rng.choice([0.3, 1.3])
            path = replace(path, stalls=((start, start + rng.choice([250.0, 400.0, 700.0])),))
        case "late acks":
            start = established + made.rtt_ms * rng.choice([0.8, 1.2])
            path = replace(path, ack_stalls=((start, start + rng.choice([250.0, 400.0, 700.0])),))
        case _:
            path = replace(path, lost=frozenset(rng.sample(range(min(size, 12)), 2)), lost_again=0.7)
    return replace(made, path=path)


def _ecn(rng: Random, category: str, seed: int) -> Plan:
    made = _sender(rng, category, seed, rng.choice(["reno", "cubic"]))
    path = made.path
    match rng.choice(["one", "some", "run"]):
        case "one":
            path = replace(path, marks=frozenset([rng.randint(0, 25)]))
        case "some":
            path = replace(path, mark=rng.choice([0.05, 0.15]))
        case _:
            first = rng.randint(0, 20)
            path = replace(path, marks=frozenset(range(first, first + rng.randint(2, 12))))
    if rng.random() < 0.3:
        path = replace(path, loss=0.04)
    setup = _setup(rng, made.setup.congestion_control, tcp_ecn=1)
    return replace(made, setup=setup, path=path, peer=replace(made.peer, ecn=True, timestamps=False))


def _window(rng: Random, category: str, seed: int) -> Plan:
    made = _sender(rng, category, seed, rng.choice(["reno", "cubic"]))
    peer = replace(
        made.peer,
        wscale=2,
        buffer=rng.choice([4_500, rng.randrange(3_000, 9_000, 250), rng.randrange(3_000, 20_001, 500)]),
        read_ms=rng.choice([10.0, 30.0, 80.0, 310.0, 600.0]),
        read_bytes=rng.choice([500, 1000, 1500, 2500, 6000]),
        timestamps=False,
    )
    calls: tuple[Call, ...] = (_write(2, rng.choice([20_000, 60_000])),)
    if rng.random() < 0.25:
        calls = tuple(_write(2 + 14 * number, rng.choice([300, 700, 1500])) for number in range(12))
    return replace(made, peer=peer, calls=calls, inbound=rng.randint(10, 30), duration_ms=2600)


def _applimited(rng: Random, category: str, seed: int) -> Plan:
    made = _sender(rng, category, seed, rng.choice(["reno", "cubic"]))
    at, calls = 2.0, []
    for _ in range(rng.randint(3, 9)):
        calls.append(_write(at, rng.choice([100, 400, 1000, 2500, 5000, 12_000])))
        at += rng.choice([2, 7, 33, 111, 333, 777])
    setup = replace(
        made.setup,
        sysctls={"tcp_slow_start_after_idle": str(rng.randint(0, 1))},
        options=(("TCP_NODELAY", 1),) if rng.random() < 0.5 else (),
    )
    return replace(made, setup=setup, calls=tuple(calls), inbound=rng.randint(12, 34), duration_ms=at + 700)


def _receiver_sends(rng: Random, payload: int) -> tuple[tuple[Send, ...], float]:
    """Data of the peer: in order, with gaps, overtaking, and repeated; with pauses."""
    count, at, sequence = rng.randint(8, 26), 3.0, 1
    sends: list[Send] = []
    for _ in range(count):
        size = payload if rng.random() < 0.85 else rng.choice([1, 100, 500])
        sends.append(Send(at, sequence, size, "P." if rng.random() < 0.15 else "."))
        sequence += size
        at += rng.choice([2, 2, 2, 2, 5, 12, 47, 230]) if rng.random() < 0.6 else 2
    match rng.choice(["plain", "gaps", "overtaking", "twice"]):
        case "gaps":
            for at_place in sorted(rng.sample(range(1, count - 1), min(3, count - 2))):
                send = sends[at_place]
                sends[at_place] = replace(send, after_ms=send.after_ms + rng.choice([15, 60, 140]))
        case "overtaking":
            for at_place in range(0, count - 1, rng.randint(2, 5)):
                one, other = sends[at_place], sends[at_place + 1]
                sends[at_place] = replace(one, after_ms=other.after_ms)
                sends[at_place + 1] = replace(other, after_ms=one.after_ms)
        case "twice":
            again = rng.sample(sends, 3)
            sends += [replace(send, after_ms=send.after_ms + rng.choice([3, 9, 31])) for send in again]
    sends.sort(key=lambda send: send.after_ms)
    return tuple(sends), at


def _receiver(rng: Random, category: str, seed: int) -> Plan:
    peer = PeerConfig(sack=rng.random() < 0.85, timestamps=rng.random() < 0.5, window=65_408)
    sends, end = _receiver_sends(rng, peer.payload)
    calls = []
    match rng.choice(["early", "late", "answers"]):
        case "early":
            calls = [Call(send.after_ms + 1, "recv", rng.choice([1000, 4000, 60_000])) for send in sends]
        case "late":
            calls = [Call(end * share, "recv", 60_000) for share in (0.5, 0.9)]
        case _:
            for send in sends[:: rng.randint(2, 5)]:
                calls += [Call(send.after_ms + 1, "recv", 60_000), _write(send.after_ms + 2, rng.choice([100, 1000]))]
    return Plan(
        category,
        seed,
        _setup(rng, "reno"),
        peer,
        PathConfig(8, 20, 2),
        tuple(sorted(calls, key=lambda call: call.at_ms)),
        sends,
        inbound=60,
        duration_ms=end + 250,
        tail_ms=120,
        info="none",
        window=category == "m_recvwindow",
    )


def _closing(rng: Random, category: str, seed: int) -> Plan:
    peer = PeerConfig(sack=rng.random() < 0.8, window=65_408)
    at, calls, sends, sequence = 3.0, [], [], 1
    closed = fin = False
    for _ in range(rng.randint(3, 8)):
        at += rng.choice([2, 4, 9, 25, 60])
        step = rng.choice(["data", "data", "fin", "fin", "write", "recv", "close", "shut", "again", "rst"])
        if step == "data" and not fin:
            size = rng.choice([100, 1000])
            sends.append(Send(at, sequence, size, rng.choice([".", "P."])))
            sequence += size
        elif step == "fin":
            size = 0 if fin else rng.choice([0, 0, 500])
            sends.append(Send(at, sequence, size, "F."))
            sequence += 0 if fin else size
            fin = True
        elif step == "again" and sends:
            sends.append(replace(sends[-1], after_ms=at))
        elif step == "rst" and rng.random() < 0.4:
            sends.append(Send(at, sequence + fin, 0, rng.choice(["R.", "R"])))
        elif step == "recv" and not closed:
            calls.append(Call(at, "recv", rng.choice([500, 60_000])))
        elif step == "write" and not closed:
            calls.append(_write(at, rng.choice([200, 1000, 3000])))
        elif step == "shut" and not closed:
            calls.append(Call(at, "shutdown", rng.choice(["SHUT_WR", "SHUT_RD", "SHUT_RDWR"])))
            closed = True
        elif step == "close" and not any(call.name == "close" for call in calls):
            calls.append(Call(at, "close"))
            closed = True
    return Plan(
        category,
        seed,
        _setup(rng, rng.choice(["reno", "cubic"])),
        peer,
        PathConfig(8, rng.choice([10, 22]), 2),
        tuple(calls),
        tuple(sends),
        inbound=40,
        duration_ms=at + 500,
        tail_ms=60,
        info="none",
    )


def _hystart(rng: Random, category: str, seed: int) -> Plan:
    made = _sender(rng, category, seed, "cubic")
    path = _path(rng, 40, 100)
    path = replace(path, growth_ms=rng.choice([0.0, 0.0, 0.2, 0.5]))
    peer = replace(made.peer, timestamps=False, ack_every=rng.choice([1, 2]))
    return replace(made, path=path, peer=peer, calls=(_write(2, 200_000),), inbound=rng.randint(30, 60), tail_ms=25.0)


def _bbr(rng: Random, category: str, seed: int) -> Plan:
    made = _sender(rng, category, seed, "bbr")
    path = _path(rng, 30, 100)
    if rng.random() < 0.3:
        path = replace(path, loss=0.02)
    size = rng.choice([40_000, 100_000, 200_000])
    return replace(
        made,
        path=path,
        peer=replace(made.peer, ack_every=1, timestamps=False),
        calls=(_write(2, size),),
        inbound=200,
        duration_ms=rng.choice([1000.0, 1500.0]),
        info="cwnd",
        paced=True,
    )


def _active_open(rng: Random, category: str, seed: int) -> Plan:
    """The host connects; the first SYN may be lost or refused, data goes in both directions."""
    peer = PeerConfig(
        sack=rng.random() < 0.8, timestamps=rng.random() < 0.5, wscale=rng.choice([None, 7]), window=60_000
    )
    opening = Open(
        syns_lost=rng.choice([0, 0, 0, 1]),
        refused=rng.random() < 0.1,
    )
    calls, sends, at, sequence = [], [], 2.0, 1
    for _ in range(rng.randint(1, 3)):
        calls.append(_write(at, rng.choice([200, 1000, 6000])))
        at += rng.choice([90, 180])
        size = rng.choice([100, 1000])
        sends.append(Send(at, sequence, size, "P."))
        sequence += size
        calls.append(Call(at + 3, "recv", 60_000))
        at += rng.choice([6, 60])
    if rng.random() < 0.4:
        calls.append(Call(at + 10, "close"))
    return Plan(
        category,
        seed,
        replace(_setup(rng, "cubic", tcp_ecn=0), opens="connect"),
        peer,
        _path(rng, 20, 80),
        tuple(calls),
        tuple(sends),
        opening,
        inbound=30,
        duration_ms=at + (1400 if opening.syns_lost else 300),
        tail_ms=60,
    )


def _simultaneous(rng: Random, category: str, seed: int) -> Plan:
    made = _active_open(rng, category, seed)
    return replace(made, opening=Open(simultaneous=True), path=_path(rng, 40, 100))


def _keepalive(rng: Random, category: str, seed: int) -> Plan:
    """Keep-alive after a second; the peer answers, or is gone."""
    made = _sender(rng, category, seed, "cubic")
    gone = rng.random() < 0.4
    options = (("SO_KEEPALIVE", 1), ("TCP_KEEPIDLE", 1), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", rng.choice([1, 2])))
    path = replace(made.path, blackouts=((600.0, 1e9),) if gone else ())
    sends = (Send(40, 1, 500, "P."), *((Send(1777, 501, 300, "P."),) if rng.random() < 0.5 and not gone else ()))
    return replace(
        made,
        setup=replace(made.setup, options=options),
        path=path,
        calls=(_write(2, rng.choice([300, 2000])), Call(45, "recv", 60_000)),
        sends=sends,
        inbound=20,
        duration_ms=4300,
        patient=True,
    )


def _tso(rng: Random, category: str, seed: int) -> Plan:
    """Super-segments of the host; few losses."""
    made = _sender(rng, category, seed, rng.choice(["reno", "cubic"]))
    path = made.path if rng.random() < 0.5 else _losses(rng, made.path)
    return replace(made, setup=replace(made.setup, tso=True), path=path)


def _ipv6(rng: Random, category: str, seed: int) -> Plan:
    made = _loss(rng.choice(["reno", "cubic"]))(rng, category, seed)
    return replace(made, setup=replace(made.setup, ipv6=True))


CATEGORIES: dict[str, Draw] = {
    "a_loss_sack_cubic": _loss("cubic"),
    "b_loss_sack_reno": _loss("reno"),
    "c_reorder": _reorder,
    "d_nosack": _no_sack,
    "e_timeout": _timeout,
    "f_ecn": _ecn,
    "g_window": _window,
    "h_applimited": _applimited,
    "i_receiver": _receiver,
    "j_closing": _closing,
    "k_hystart": _hystart,
    "l_bbr": _bbr,
    "m_recvwindow": _receiver,
    "n_active_open": _active_open,
    "o_simultaneous_open": _simultaneous,
    "p_keepalive": _keepalive,
    "q_tso": _tso,
    "r_ipv6": _ipv6,
}
"""By name; a to m are those of `ACKCLOCK_ORACLES/kernel-dialogues`."""
