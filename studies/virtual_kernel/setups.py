"""The rows: a path and transfers over it, once as commands for the virtual machine and once as a
link file and flows.

A queue's rate is HTB with no burst, which takes a packet when the line is free and never looks
ahead (TBF does, and then CoDel sees a sojourn that is one serialisation too short). HTB lets a
packet go when its serialisation begins; the netem behind it, of a rate 0.5 % higher, adds the
serialisation. `stab overhead -14` and netem's overhead of -14 count bytes of IP.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from studies.virtual_kernel.build import HZ

SECONDS = 60.0
GAP_S = 0.1
"""Time between the starts of a row's flows."""
PHASE_MS = 0.37
"""Each further run of a row that draws no random numbers has so much more delay up.

It is a third of a serialisation at 10 Mb/s, and moves the phase of queue and ACKs, on which the
number of drops at each overflow depends.
"""
FIRST_PORT = 5001
TCPDUMP = (
    *(
        f"in_ {host} tcpdump -i {device} -w {name}.pcap -s 96 -U --immediate-mode -Z root tcp 2>/dev/null &"
        for host, device, name in (("S", "s0", "server"), ("C", "c0", "client"))
    ),
    "sleep 1",
)
"""Captures of both ends, in the row's folder."""
KERNEL_NAMES = {"westwood+": "westwood"}
"""Names of TCP_CONGESTION that differ from the variant's."""
CLIENTS_CONTROL = "cubic"
"""Control of the clients' sockets, the kernel's default: their ACKs set ECE until CWR (RFC 3168),
also when the sender is dctcp."""

SEEDED = ("bbr",)
"""Variants that draw random numbers: bbr its first phase of PROBE_BW (bbr_reset_probe_bw_mode)."""
CONTROLS = ("reno", "cubic", "bbr", "vegas", "veno", "westwood+", "bic")
FURTHER = ("htcp", "highspeed", "hybla", "scalable", "lp", "yeah", "illinois")
MAIN = ("reno", "cubic", "bbr")


@dataclass(frozen=True)
class LossModel:
    """A loss of netem's, as keys of `guest netem`; its draws for each seed are in losses.csv."""

    name: str
    keys: str


LOSSES = {
    model.name: model
    for model in (
        LossModel("0.1 %", "loss=0.001"),
        LossModel("1 %", "loss=0.01"),
        LossModel("2 %", "loss=0.02"),
        # A mean of 1 % in bursts of 3 packets: r = 1/3, p = r / 99.
        LossModel("1 % in bursts", "p=0.0033670 r=0.3333333"),
        # A mean of 2 %: p = r / 49.
        LossModel("2 % in bursts", "p=0.0068027 r=0.3333333"),
    )
}


@dataclass(frozen=True)
class Path:
    """`guest` are lines of bash (tca and tcb are tc on the first and the second router); `link` is
    the text of the hops. `@20 ms@` in both is the delay up, to which a run's phase is added.

    `loss` names the model whose draws both sides share; `seeded` is whether the path draws numbers
    of its own; `missing` is why `simulate` cannot have it.
    """

    name: str
    title: str
    guest: str
    link: str
    loss: str | None = None
    seeded: bool = False
    ip: int = 4
    ecn: bool = False
    missing: str | None = None


@dataclass(frozen=True)
class Flow:
    """A transfer of `bytes`, or an unlimited one; `client` is C or D (further away)."""

    variant: str
    client: str = "C"
    bytes: int | None = None

    @property
    def control(self) -> str:
        return KERNEL_NAMES.get(self.variant, self.variant)


@dataclass(frozen=True)
class Row:
    """A path and its flows, which start GAP_S after each other."""

    path: Path
    flows: tuple[Flow, ...]
    seconds: float = SECONDS
    seeds: tuple[int, ...] = field(default=(1,))

    @property
    def name(self) -> str:
        first = self.flows[0]
        size = "" if first.bytes is None else f" {first.bytes // 1000} kB"
        return f"{self.path.name}/{'+'.join(flow.variant for flow in self.flows)}{size}"

    @property
    def draws_numbers(self) -> bool:
        return self.path.seeded or self.path.loss is not None or any(flow.variant in SEEDED for flow in self.flows)

    def _phased(self, text: str, seed: int) -> str:
        """The text with the delay up of the run with this seed."""
        more = 0.0 if self.draws_numbers else PHASE_MS * (seed - 1)
        return re.sub(r"@(\d+(?:\.\d+)?)( ?)ms@", lambda found: f"{float(found[1]) + more:g}{found[2]}ms", text)

    def script(self, seed: int, netem_seed: int | None = None, *, captures: bool = False) -> str:
        """row.sh of init.sh for the run with this seed; `netem_seed` is that of the path's loss;
        `captures`: server.pcap and client.pcap at the interfaces of S and C.
        """
        ports = range(FIRST_PORT, FIRST_PORT + len(self.flows))
        link = self._phased(self.path.guest, seed)
        if self.path.loss is not None:
            link = link.format(loss=f"{LOSSES[self.path.loss].keys} seed={netem_seed}")
        flows = [
            " ".join(map(str, ("flow", port, flow.client, flow.control, *([flow.bytes] if flow.bytes else []))))
            for port, flow in zip(ports, self.flows, strict=True)
        ]
        ecn = [f"    set_ {host} ipv4.tcp_ecn=1" for host in "SCD"] if self.path.ecn else []
        return "\n".join(
            [
                f"IP={self.path.ip} SECONDS_={self.seconds:g} PORTS='{' '.join(map(str, ports))}'",
                *("link() {", *ecn, *(f"    {line}" for line in link.strip().splitlines())),
                *((f"    {line}" for line in TCPDUMP) if captures else ()),
                "}",
                *("flows() {", *(f"    {line}" for line in flows), "}", ""),
            ]
        )

    def link(self, seed: int, lost: list[int] | None = None) -> str:
        """Text of the link file for this seed; `lost` are the numbers of the lost data packets."""
        text = self._phased(self.path.link, seed)
        if self.path.loss is not None:
            text = text.replace("LOSS", f'{{ kind = "list", packets = {lost} }}')
        return f'title = "{self.path.title}"\nsource = "studies/virtual_kernel"\n{text}'

    def scenario(self, seed: int) -> tuple[list[dict[str, Any]], str]:
        """Flows and duration for `simulate`, without phase jitter, of the run with this seed.

        The simulator's bbr draws its first phase from the instant, so that each seed has its start.
        """
        # HZ is the guest's 1000, not the host's 250. The guest's CPU is free in virtual time, so
        # its hosts process a packet when it arrives. receive_growth stays that of 6.16: "lead",
        # that of 6.12, runs without the rule receive-memory, and acknowledges 16 segments one by
        # one at the start where 6.12 has 24 and linux-6 22.
        tcp: dict[str, Any] = {"host": "linux-6", "rto_tick": f"{1000 / HZ:g} ms", "processing_jitter": False}
        if self.path.ecn:
            tcp["ecn"] = True
        if self.path.ip == 6:
            tcp |= {"header": "60 B", "segment": "1428 B"}
        flows = []
        first_s = PHASE_MS * (seed - 1) / 1e3 if self.draws_numbers else 0.0
        for number, flow in enumerate(self.flows):
            start = first_s + number * GAP_S
            own: dict[str, Any] = {"variant": flow.variant, "start": f"{start:g} s"}
            if flow.bytes is None:
                own |= {"workload": {"kind": "bulk"}, "stop": f"{start + self.seconds:g} s"}
            else:
                own["workload"] = {"kind": "transfer", "size": f"{flow.bytes} B"}
            own["client"] = {"variant": CLIENTS_CONTROL}
            if any(other.client == "D" for other in self.flows):
                own["over"] = ["line", "far"] if flow.client == "D" else ["line"]
            flows.append({**own, **tcp})
        return flows, f"{first_s + self.seconds + GAP_S * (len(self.flows) - 1):g} s"


def shaped(rate: str, child: str) -> str:
    """The line from A to B: a rate, and the queueing discipline in front of it."""
    return (
        "tca qdisc add dev a1 root handle 1: stab overhead -14 linklayer ethernet htb default 1\n"
        f"tca class add dev a1 parent 1: classid 1:1 htb rate {rate} burst 1 cburst 1 quantum 1514\n"
        f"tca qdisc add dev a1 parent 1:1 handle 10: {child}\n"
    )


def path_to(device: str, delay: str, rate: str) -> str:
    """From B to a client: the serialisation and the delay."""
    return f"tcb qdisc add dev {device} root netem delay {delay} rate {rate} -14 limit 100000\n"


def back(rate: str = "10mbit", delay: str = "20ms") -> str:
    """From B to the server: the line without a limit of its queue, and the delay."""
    return (
        f"tcb qdisc add dev b0 root netem rate {rate} -14 limit 100000\n"
        f"tca qdisc add dev a0 root netem delay @{delay}@ limit 100000\n"
    )


def hop(queue: str, more: str = "", *, rate: str = '"10 Mb/s"', down: str = "20 ms", up: str = "20 ms") -> str:
    delay = f'{{ down = "{down}", up = "@{up}@" }}'
    return f'[[hop]]\nname = "line"\nrate = {rate}\ndelay = {delay}\nqueue.down = {{ {queue} }}\n{more}'


def plain(name: str, title: str, child: str, queue: str, **keys: Any) -> Path:
    """10 Mb/s in both directions and 40 ms with a queueing discipline down."""
    guest = shaped("10mbit", child) + path_to("b1", "20ms", "10050kbit") + back()
    return Path(name, f"10 Mb/s, 40 ms, {title}", guest, hop(queue), **keys)


def droptail(name: str, title: str, size: int, **keys: Any) -> Path:
    return plain(name, title, f"bfifo limit {size}", f'kind = "droptail", bytes = "{size} B"', **keys)


def lossy(model: str) -> Path:
    guest = shaped("10mbit", "bfifo limit 100000") + back()
    guest += "in_ B ./guest netem b1 delay_ns=20000000 rate=10050000 {loss}\n"
    link = hop('kind = "droptail", bytes = "100 kB"', "loss.down = LOSS\n")
    return Path(f"loss {model}", f"10 Mb/s, 40 ms, 100 kB, {model} of the packets lost", guest, link, loss=model)


SHALLOW = droptail("shallow", "18 kB of queue (0.4 BDP)", 18_000)
ONE_BDP = droptail("1 BDP", "50 kB of queue (1 BDP)", 50_000)
FOUR_BDP = droptail("4 BDP", "200 kB of queue (4 BDP)", 200_000)
IPV6 = replace(droptail("IPv6", "100 kB of queue, IPv6", 100_000), ip=6)
FQ_CODEL = plain("fq_codel", "fq_codel", "fq_codel", 'kind = "fq-codel"')
CODEL = plain("codel", "codel", "codel", 'kind = "codel"')
CODEL_ECN = replace(plain("codel ecn", "codel that marks", "codel ecn", 'kind = "codel"'), ecn=True)
PIE = plain("pie", "pie", "pie", 'kind = "pie", ecn = false', seeded=True)
PIE_ECN = replace(plain("pie ecn", "pie that marks", "pie ecn", 'kind = "pie"', seeded=True), ecn=True)
RED_SETTINGS = "red limit 400000 min 15000 max 45000 avpkt 1500 burst 20 probability 0.1 bandwidth 10mbit"
RED_KEYS = (
    'kind = "red", bytes = "400 kB", min = "15 kB", max = "45 kB", max_p = 0.1, weight = 0.0625, mean_packet = "1500 B", '
    'draw = "signal"'
)
RED = plain("red", "red from 15 to 45 kB", RED_SETTINGS, f"{RED_KEYS}, ecn = false", seeded=True)
RED_ECN = replace(plain("red ecn", "red that marks", f"{RED_SETTINGS} ecn", RED_KEYS, seeded=True), ecn=True)
STEP = plain(
    "step ecn",
    "all marked from 30 kB on",
    "red limit 400000 min 30000 max 30001 avpkt 1500 burst 21 probability 1 bandwidth 10mbit ecn",
    'kind = "red", bytes = "400 kB", min = "30 kB", max = "30001 B", max_p = 1.0, weight = 0.25, mean_packet = "1500 B", '
    'draw = "signal"',
    ecn=True,
)
CAKE = Path(
    "cake",
    "10 Mb/s, 40 ms, cake",
    "tca qdisc add dev a1 root handle 10: cake bandwidth 10mbit besteffort overhead 0\n"
    + path_to("b1", "20ms", "10050kbit")
    + back(),
    hop('kind = "cake"'),
)


def asymmetric(name: str, title: str, guest: str, queue: str) -> Path:
    """10 Mb/s down and 100 kb/s up, where 52-byte ACKs of two segments each need 173 kb/s."""
    down = shaped("10mbit", "bfifo limit 100000") + path_to("b1", "20ms", "10050kbit")
    up = guest + "tca qdisc add dev a0 root netem delay @20ms@ rate 100500bit -14 limit 100000\n"
    keys = f"queue.up = {{ {queue} }}\n"
    link = hop('kind = "droptail", bytes = "100 kB"', keys, rate='{ down = "10 Mb/s", up = "100 kb/s" }')
    return Path(name, f"10 Mb/s down, 100 kb/s up, 40 ms, 100 kB down, {title} up", down + up, link)


def upward(child: str) -> str:
    return (
        "tcb qdisc add dev b0 root handle 1: stab overhead -14 linklayer ethernet htb default 1\n"
        "tcb class add dev b0 parent 1: classid 1:1 htb rate 100kbit burst 1 cburst 1 quantum 1514\n"
        f"tcb qdisc add dev b0 parent 1:1 handle 10: {child}\n"
    )


def upward_cake(keys: str) -> str:
    return f"tcb qdisc add dev b0 root handle 10: cake bandwidth 100kbit besteffort overhead 0 {keys}\n"


UP_DROPTAIL = asymmetric("slow up", "2.6 kB", upward("bfifo limit 2600"), 'kind = "droptail", bytes = "2600 B"')
UP_CAKE = asymmetric("slow up, cake", "cake", upward_cake("no-ack-filter"), 'kind = "cake"')
UP_FILTER = asymmetric(
    "slow up, ack-filter",
    "cake with ack-filter",
    upward_cake("ack-filter"),
    'kind = "cake", ack = { filter = "cake" }',
)
UP_AGGRESSIVE = asymmetric(
    "slow up, ack-filter-aggressive",
    "cake with ack-filter-aggressive",
    upward_cake("ack-filter-aggressive"),
    'kind = "cake", ack = { filter = "cake-aggressive" }',
)
REORDERING = Path(
    "reordering",
    "10 Mb/s, 40 ms, 100 kB, 3 % of the packets 6 ms late",
    # A second netem would need another router: the delay is in the direction up.
    shaped("10mbit", "bfifo limit 100000")
    + "tcb qdisc add dev b1 root netem delay 6ms reorder 97% limit 100000\n"
    + back(delay="41.2ms"),
    hop(
        'kind = "droptail", bytes = "100 kB"',
        'reorder.down = { mean = 0.03, delay = "6 ms" }\n',
        down="0 ms",
        up="40 ms",
    ),
    seeded=True,
)
FAST = path_to("b1", "20ms", "100mbit") + back("100mbit")
POLICER = Path(
    "policer",
    "100 Mb/s, 40 ms, a policer of 20 Mb/s and 40 kB",
    "tca qdisc add dev a0 clsact\n"
    "tca filter add dev a0 ingress matchall action police rate 20mbit burst 40k conform-exceed drop/pipe\n" + FAST,
    hop('kind = "droptail"', 'policer.down = { rate = "20 Mb/s", burst = "40 KiB" }\n', rate='"100 Mb/s"'),
)
FAR = Path(
    "40 and 80 ms",
    "10 Mb/s, 100 kB of queue, one client at 40 ms and one at 80 ms",
    shaped("10mbit", "bfifo limit 100000")
    + path_to("b1", "20ms", "10050kbit")
    + path_to("b2", "60ms", "10050kbit")
    + back(),
    hop('kind = "droptail", bytes = "100 kB"') + '[[hop]]\nname = "far"\ndelay.down = "40 ms"\n',
)
FAR_FQ_CODEL = Path(
    "40 and 80 ms, fq_codel",
    "10 Mb/s, fq_codel, one client at 40 ms and one at 80 ms",
    shaped("10mbit", "fq_codel") + path_to("b1", "20ms", "10050kbit") + path_to("b2", "60ms", "10050kbit") + back(),
    hop('kind = "fq-codel"') + '[[hop]]\nname = "far"\ndelay.down = "40 ms"\n',
)
NARROW = Path(
    "2 Mb/s",
    "2 Mb/s down, 256 kb/s up, 60 ms, 30 kB of queue (2 BDP)",
    shaped("2mbit", "bfifo limit 30000") + path_to("b1", "30ms", "2010kbit") + back("256kbit", "30ms"),
    hop('kind = "droptail", bytes = "30 kB"', rate='{ down = "2 Mb/s", up = "256 kb/s" }', down="30 ms", up="30 ms"),
)
LONG = Path(
    "600 ms",
    "10 Mb/s, 600 ms, 375 kB of queue (0.5 BDP)",
    shaped("10mbit", "bfifo limit 375000") + path_to("b1", "300ms", "10050kbit") + back("10mbit", "300ms"),
    hop('kind = "droptail", bytes = "375 kB"', down="300 ms", up="300 ms"),
)


def ecn(path: Path, name: str) -> Path:
    """The same path with ECN at both hosts."""
    return replace(path, name=name, title=f"{path.title}, ECN", ecn=True)


SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
SEEDS = (1, 2, 3, 4, 5)
PHASES = (1, 2, 3)


def _single(path: Path, *variants: str) -> Iterator[Row]:
    for variant in variants:
        yield Row(path, (Flow(variant),))


def _beside(path: Path, first: str, second: str, client: str = "C") -> Iterator[Row]:
    yield Row(path, (Flow(first), Flow(second, client)))


def _transfers(path: Path, sizes: tuple[int, ...], *variants: str) -> Iterator[Row]:
    for size in sizes:
        for variant in variants:
            yield Row(path, (Flow(variant, bytes=size),))


def _all() -> Iterator[Row]:
    for path in (ONE_BDP, SHALLOW, FOUR_BDP):
        yield from _single(path, *CONTROLS, *FURTHER)
    yield from _single(FQ_CODEL, *CONTROLS, "htcp", "illinois", "yeah")
    yield from _single(CAKE, *MAIN, "vegas", "bic")
    yield from _single(CODEL, *MAIN)
    yield from _single(ecn(FQ_CODEL, "fq_codel ecn"), "reno", "cubic", "dctcp")
    yield from _single(ecn(CAKE, "cake ecn"), "cubic", "dctcp")
    yield from _single(CODEL_ECN, "cubic", "dctcp")
    yield from _single(STEP, "dctcp", "reno", "cubic")
    for path in (UP_DROPTAIL, UP_CAKE, UP_FILTER):
        yield from _single(path, *MAIN)
    yield from _single(UP_AGGRESSIVE, "reno", "cubic")
    for first in MAIN:
        yield from _beside(FAR, first, first, "D")
    yield from _beside(FAR_FQ_CODEL, "cubic", "cubic", "D")
    for path in (ONE_BDP, FOUR_BDP, FQ_CODEL):
        yield from _beside(path, "cubic", "bbr")
    yield from _beside(ONE_BDP, "reno", "cubic")
    yield from _single(IPV6, *MAIN)
    yield from _single(NARROW, *MAIN)
    yield from _single(LONG, "reno", "cubic", "bbr", "hybla")
    yield from _transfers(ONE_BDP, SIZES, *MAIN)
    yield from _single(POLICER, *MAIN)
    yield from _single(lossy("1 %"), *CONTROLS, *FURTHER)
    yield from _single(lossy("0.1 %"), *MAIN, "westwood+")
    yield from _single(lossy("2 %"), *MAIN, "westwood+")
    yield from _single(lossy("1 % in bursts"), *MAIN, "westwood+", "veno")
    yield from _single(lossy("2 % in bursts"), "reno", "cubic", "westwood+")
    yield from _single(REORDERING, *MAIN, "vegas", "westwood+")
    yield from _single(PIE, *MAIN)
    yield from _single(RED, *MAIN)
    yield from _single(PIE_ECN, "cubic", "dctcp")
    yield from _single(RED_ECN, "cubic", "reno")
    yield from _transfers(lossy("1 %"), (100_000, 1_000_000), "reno", "cubic")


def rows() -> list[Row]:
    """All rows; those that draw random numbers with five seeds, the others with three phases."""
    return [replace(row, seeds=SEEDS if row.draws_numbers else PHASES) for row in _all()]
