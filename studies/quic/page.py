"""`python -m studies.quic.page [--kept FILE] [--minutes N] [--sockets] [FILE]`: QUIC beside TCP as
Markdown; `make quic-accuracy` writes it.

A kept run of the same case by the same engine is not repeated.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.errors import RunFailed
from ackclock.statistics import Interval, interval
from studies.outcome_files import begun_within, keep, kept, write_page
from studies.quic.runs import (
    ACK_SEEDS,
    DURATION_S,
    LINKS,
    QUIC,
    RETURNS,
    SEEDS,
    TCP,
    TECHNIQUES,
    VARIANTS,
    Case,
    ack_cases,
    control_cases,
)
from studies.quic.sockets import CONTROL, SECONDS, SIMULATED, SocketCase, peer, socket_cases, sockets_table
from studies.quic.sockets import SEEDS as SOCKET_SEEDS
from tests.support.namespaces import namespaces

TOLERANCE = 0.05
WIDTH = 118
TOP = f"""# QUIC beside TCP

Written by `make quic-accuracy`. QUIC is the stack [noq 1.4](../models/host-noq-1.4.md) in virtual time, TCP is
`host = "linux-6"`. Downloads of {DURATION_S} s; goodput in Mb/s.

## The same congestion control over both

ackclock's controls through the stack's interface, each over {len(LINKS)} packaged links, {len(SEEDS)} seeds. TCP has
`pacing = true`, as noq always paces, no buffer that limits it, and the controls that noq's interface calls:
`linux_rules` without `integer-controls`, and no `first_climb`. Cells: goodput over QUIC relative to TCP's, in
percent; beyond {100 * TOLERANCE:.0f} % in bold. `lp`, `dctcp` and `prague` are refused. A cell
with - was not run yet.

"""
READINGS = """
Why cells differ, as far as runs show it:

- **ended**: noq holds 1,024 parts of a stream that are out of order. A slow start that overflows a buffer of thousands
  of packets loses more at once; noq then ends the connection with "too many gaps in stream buffer". TCP goes on.
- **Packets that are lost together**: when slow start overflows a deep buffer, `westwood+` leaves a window of 8 to 60
  packets and 800 to 1,900 lost ones. TCP's recovery lasts until all are repaired, which takes 6 s on `lte-fixed-10m`,
  8 s on `wibro-wave2` and 19 s on `geo-satellite`, and its window does not grow meanwhile. QUIC's ends with the first
  ACK of a packet that was sent in it (RFC 9002, section 7.3.2), and the window grows while the rest is repaired.
- **Pacing** is what separates `vegas` over noq from `vegas` over TCP. noq sends 1.25 windows in a round trip, Linux 2
  in slow start and 1.2 afterwards: on `geo-satellite` TCP's finds its own queue at a window of 1,600 packets and goes
  on with 480, noq's finds none before the buffer overflows, and goes on with 1,677. On `wimax-nist` a paced round has
  no segment that finds the queue empty, so that the minimum RTT has the queue in it. On `wibro-wave2` the radio's
  jitter ends slow start at some 20 packets in both.
- **`cable-ricochet`**: an ACK of noq has 79 B, TCP's 54 B, on a return of some 15 kb/s. The minimum RTT that noq sees
  is 150 to 170 ms, TCP's is 64 to 74 ms: `vegas`, `bbr` and `bbr3`, which take it for the path's, send less. ACKs come
  half as often, so that slow start overshoots by more (618 packets at the first loss, TCP's 486): `reno` and `veno`
  are reduced twice, to 153 packets where TCP's goes on with 241, and 30 s do not make up for it. The controls that
  TCP's own overshoot costs many packets, `bic` and `biad`, have more over QUIC. `htcp`, `hybla`, `illinois`
  and `scalable` were not traced.
- **`biad`** takes the rate of ACKs in a burst for bandwidth, over TCP, too: ssthresh is 7 to 60 times the BDP on
  `wimax-nist`, and 39 % of TCP's segments and 57 % of noq's packets are lost. What remains is the difference of the
  two recoveries, of which TCP's has PRR.
- **An upload on `docsis-3.1`** (CUBIC, 30 s, 5 seeds) has 16.7 Mb/s over QUIC, 15.2 over TCP with pacing and 18.0
  without. What differs is the time after slow start, which reaches 250 packets where the path holds 40. PIE then drops
  or marks until the window is 6 packets for TCP, 10 for noq and 13 for TCP without pacing, with 270, 124 and 63 drops
  in the first seed; CUBIC has grown back after 10, 7 and 4 s, and from then on all three have 18 to 19 Mb/s. PIE's
  probability falls that slowly because a packet on this medium waits 4 ms or more for its grant, which is below PIE's
  target of 10 ms but never zero, as the exponential decay of RFC 8033 (section 4.2) requires. With a droptail queue QUIC
  and TCP have 18.9 and 19.1 Mb/s, with PIE before a fixed rate 19.1 and 19.3. ECN, which noq has, is not the reason:
  TCP with it has 15.2.

Linux's integers change more than QUIC does in some cells: with them (`host = "linux-6"` as it is) TCP's `vegas` leaves
slow start with ssthresh at its window instead of 2 and has 1.7 to 1.8 times the goodput on `wibro-wave2` and
`geo-satellite`, and `westwood+` estimates once more at the end of a recovery.
"""
ACKS = f"""
## Does ACK_FREQUENCY do what ACK techniques did?

The links of `asymmetry`, with CUBIC, {len(ACK_SEEDS)} seeds: means with 95 % intervals. ACKs are packets that arrived
at the sender, by the sender's capture, with IP headers, before header compression; kb/s over the whole run. The
filter is the paper's (`p1`); ACC has RED with ECN before the return and sender adaptation.

"""
SOCKETS = f"""## The same stack by real sockets

noq 1.4.0 with rustls over UDP sockets (crates/quic-peer, `make quic-peer`) in `ackclock emulate`, {len(SOCKET_SEEDS)} runs of
{SECONDS} s with the stack's own CUBIC (`control = "{CONTROL}"`) and without segmentation offload, beside {len(SIMULATED)} seeds of the
simulator: means, with the range of the runs in brackets. The RTT is the sender's smoothed one, each 10 ms. The
tolerances are 5 % of goodput, 10 % of the RTT, and 1.5 times or three of the packets declared lost; bold is a miss.

"""
Outcomes = Mapping[str, Mapping[str, Any]]


def goodputs(cases: Sequence[Case], found: Outcomes) -> list[float]:
    return [float(found[case.key]["goodput_bps"]) for case in cases if case.key in found]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    marks = ["---"] * left + ["---:"] * (len(head) - left)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, marks, *rows))


def controls(found: Outcomes) -> str:
    """Goodput over QUIC beside TCP's, a row for each control."""
    cases = control_cases()

    def mean(link: str, variant: str, transport: str) -> float:
        of = [c for c in cases if (c.link, c.name, c.keys["transport"]) == (link, variant, transport)]
        known = goodputs(of, found)
        return math.fsum(known) / len(known) if len(known) == len(SEEDS) else math.nan

    rows, within, ended, beyond = [], 0, 0, []
    for variant in VARIANTS:
        cells = [f"`{variant}`"]
        for link in LINKS:
            of_quic = [c for c in cases if (c.link, c.name, c.keys["transport"]) == (link, variant, QUIC)]
            if any(found.get(c.key, {}).get("closed_by") for c in of_quic):
                cells.append("ended")
                ended += 1
                continue
            ratio = mean(link, variant, QUIC) / mean(link, variant, TCP) - 1 if found else math.nan
            if math.isnan(ratio):
                cells.append("-")
                continue
            holds = abs(ratio) <= TOLERANCE
            within += holds
            text = f"{100 * ratio:+.1f}"
            cells.append(text if holds else f"**{text}**")
            if not holds:
                beyond.append(f"{variant} on {link}")
        rows.append(cells)
    cubic = [mean(link, "cubic", TCP) / 1e6 for link in LINKS]
    base = ["TCP, CUBIC, Mb/s", *("-" if math.isnan(rate) else f"{rate:.2f}" for rate in cubic)]
    total = within + len(beyond) + ended
    summary = f"{within} of {total} are within {100 * TOLERANCE:.0f} %; in {ended} noq ended a connection (see below)."
    return f"{summary}\n\n{table(['', *(f'`{link}`' for link in LINKS)], [*rows, base])}"


def acks(found: Outcomes) -> str:
    """Goodput and ACKs of each technique, a table for each link."""
    cases = ack_cases()
    parts = []
    for link in RETURNS:
        rows = []
        for name, _, _ in TECHNIQUES:
            runs = [found[c.key] for c in cases if (c.link, c.name) == (link, name) and c.key in found]
            if not runs:
                continue
            rows.append(
                [
                    name,
                    shown(interval(run["goodput_bps"] / 1e6 for run in runs), "{:.2f}"),
                    shown(interval(run["ack_packets"] / max(run["segments"], 1) for run in runs), "{:.3f}"),
                    shown(interval(run["ack_bytes"] / max(run["ack_packets"], 1) for run in runs), "{:.0f}"),
                    shown(interval(run["ack_bytes"] * 8e-3 / DURATION_S for run in runs), "{:.1f}"),
                ]
            )
        head = ["", "goodput, Mb/s", "ACKs a data packet", "bytes of an ACK", "ACKs, kb/s"]
        parts.append(f"`{link}`:\n\n{table(head, rows)}")
    return "\n".join(parts)


def shown(of: Interval, form: str) -> str:
    text = form.format
    return f"{text(of.mean)} ({text(of.lo)} to {text(of.hi)})" if of.n > 1 else text(of.mean)


def page(found: Outcomes) -> str:
    return f"{TOP}{controls(found)}{READINGS}{ACKS}{acks(found)}\n{sockets(found)}"


def sockets(found: Outcomes) -> str:
    """Real sockets beside the simulator; nothing without runs of them."""
    rows, held, links = sockets_table(found)
    if not rows:
        return ""
    head = ["link"]
    for figure in ("goodput, Mb/s", "RTT, ms", "lost packets"):
        head += [f"{figure}, sockets", "simulator", ""]
    return f"{SOCKETS}{held} of {links} hold.\n\n{table([*head, 'runs'], rows)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--kept", type=Path, help="a file of JSON lines that keeps outcomes: a later call continues")
    parser.add_argument("--minutes", type=float, help="no run is begun after this time")
    parser.add_argument("--sockets", action="store_true", help="run only real sockets, which want a quiet machine")
    args = parser.parse_args()
    found: dict[str, Mapping[str, Any]] = {outcome["key"]: outcome for outcome in kept(args.kept)}
    started = time.monotonic()
    program = peer()
    of_sockets = socket_cases() if program and namespaces() else []
    every: list[Case | SocketCase] = [*ack_cases(), *control_cases(), *of_sockets]
    chosen = of_sockets if args.sockets else every
    missing = [case for case in chosen if case.key not in found]
    for case in begun_within(args.minutes, missing, started):
        if isinstance(case, SocketCase):
            try:
                outcome = {"key": case.key, "link": case.link, "seed": case.seed, **case.run(program or "")}
            except RunFailed as failed:
                sys.stderr.write(f"{failed}\n")
                continue
        else:
            outcome = {"key": case.key, "link": case.link, "name": case.name, "seed": case.seed, **case.run()}
        keep(args.kept, outcome)
        found[case.key] = outcome
    write_page(args.file, page(found))
    return 0 if all(case.key in found for case in every) else 1


if __name__ == "__main__":
    raise SystemExit(main())
