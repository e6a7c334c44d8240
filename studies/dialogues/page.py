"""`python -m studies.dialogues.page [FILE] [--folder FOLDER]`: dialogues with a kernel.

`make dialogues` writes docs/evidence/dialogues.md from `ACKCLOCK_ORACLES/kernel-dialogues`. With
`--list`, or for another folder without FILE, a row for each script that fails goes to the terminal.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from studies.dialogues.play import FOLDER, HOST, NOT_TRACED, Causes, Row, by_category, play_all, renew, scripts
from studies.outcome_files import write_page

CATEGORIES = {
    "a_loss_sack_cubic": "losses with SACK, cubic",
    "b_loss_sack_reno": "losses with SACK, reno",
    "c_reorder": "reordering",
    "d_nosack": "losses and reordering without SACK",
    "e_timeout": "timeouts, probes, F-RTO, undo",
    "f_ecn": "ECN (RFC 3168)",
    "g_window": "receive windows, window probes",
    "h_applimited": "short writes and pauses",
    "i_receiver": "the host receives",
    "j_closing": "closing and resets",
    "k_hystart": "slow start, HyStart",
    "l_bbr": "bbr",
    "m_recvwindow": "advertised windows",
    "n_active_open": "the host connects",
    "o_simultaneous_open": "simultaneous open",
    "p_keepalive": "keep-alive",
    "q_tso": "TSO on: super-segments",
    "r_ipv6": "IPv6",
}
"""What each category is about."""
RECORDING = """## Record others

`make dialogues-record OUT=FOLDER SEEDS=1-20 CATEGORY=c_reorder KEPT=10 MINUTES=5` records dialogues
with the running kernel ([generator](../../studies/dialogues/generator/command.py)); without `CATEGORY`
those of all categories in turn. `make dialogues DIALOGUES=FOLDER` plays them. A later call with the
same folder continues. It needs root or user namespaces, and `/dev/net/tun`; elsewhere it is skipped
with a line.

- A process has a network namespace of its own with a TUN device in it. It writes sysctls in that
  namespace only; the machine's are compared before and after.
- The peer and the link are models: a receiver with SACK, D-SACK, timestamps, ECN, delayed ACKs and
  a window that its application reads; delays, a service time for each segment, losses, overtaking,
  duplicates, marks, stalls. They answer in real time what the kernel really sends. A seed decides
  all that they do ([categories.py](../../studies/dialogues/generator/categories.py)).
- Inbound packets and calls are at whole milliseconds, two apart at least, ACKs three: 2 ms decide
  whether HyStart's ACK train goes on. What the kernel sends
  within 0.45 ms is the answer, and has the event's time. What a timer sends has a range of times, of
  20 ms below 250 ms, 76 ms below 2 s, otherwise 0.5 s (ticks, and slots of the timer wheel), and more
  where it counts from another timer. A dialogue with an event within 5 ms of what a timer sent is given up.
- `getsockopt(TCP_INFO)` half a millisecond after an inbound packet gives an assertion: `snd_cwnd`,
  `snd_ssthresh`, `ca_state`, `unacked`, `sacked`, `lost`, `retrans`; the last has `rtt` and `rttvar`
  within 1.5 ms and `rto` within 6 ms, too. In state Open three of four that say nothing new are left out.
- A recording begins 3.3 ms after a tick, and is replayed 0.25, 1.6 and 2.9 ms after one: its inbound
  packets and calls at their times, whatever the kernel sends. It is kept if the kernel sends the
  same each time. `PACKETDRILL=PATH` names a packetdrill binary that plays it in addition.
- A process that is scheduled more than 0.35 ms late repeats the recording or the replay, four times
  at most; after that its outcome is `late`, and a later call tries again. `outcomes.jsonl` has every
  outcome, `index.csv` the scripts kept.

The first line of a script names the kernel and its ticks a second. Another version, another number
of ticks or another driver may answer otherwise.
"""


def page(rows: Sequence[Row], causes: Causes, today: str) -> str:
    """The page."""
    return f"""# Dialogues with a running kernel

Written by `make dialogues` ([play.py](../../studies/dialogues/play.py)) on {today}: {len(rows)}
packetdrill scripts recorded from a running Linux, played against `{HOST}`
([packetdrill.md](../reference/packetdrill.md)). In each, a model of a peer and of a link answered what the
kernel sent; the script has every segment of both sides with its time, and what the kernel's
`struct tcp_info` said after inbound segments. A script passes if the host sends the same segments
within 4 ms and has the same values.

The scripts are not part of ackclock: `ACKCLOCK_ORACLES/{FOLDER}` holds them, or a folder that
`make dialogues DIALOGUES=FOLDER` names.
[Record others](#record-others) has how they are made.

## Verdicts

*Passes* compares everything. *Packets only* passes over PSH, windows, `tcp_info` and times: it
compares sequence numbers, payload, acknowledgments, SACK blocks, other flags and the order of
segments between two inbound ones.

{totals(rows)}

## First differences

The kind of the first step that differs, of the scripts that fail. `info:` names fields of
`struct tcp_info`; `silent`: the host sent nothing where the kernel sent a segment; `call`: a socket
call returned another value; the others are fields of a segment.

{kinds(rows)}

## Causes

What Linux does and the engine does not, and the scripts whose first difference it is, from
[causes.toml](../../studies/dialogues/causes.toml). What lies behind a first difference is not seen.

{by_cause(rows, causes)}

{RECORDING}"""


def totals(rows: Sequence[Row]) -> str:
    """Pass rates by category, and of all."""
    lines = ["| category | about | scripts | passes | packets only | unsupported |", "|---|---|--:|--:|--:|--:|"]
    for name, of in by_category(rows).items():
        lines.append(_total(name, CATEGORIES.get(name, ""), of))
    return "\n".join([*lines, _total("**all**", "", rows)])


def _total(name: str, about: str, rows: Sequence[Row]) -> str:
    counts = Counter(row.verdict for row in rows)
    packets = sum(row.packets == "passes" for row in rows)
    others = counts["unsupported"] + counts["unreadable"]
    return f"| {name} | {about} | {len(rows)} | {_share(counts['passes'], rows)} | {_share(packets, rows)} | {others} |"


def _share(part: int, rows: Sequence[Row]) -> str:
    return f"{part} ({part / len(rows):.0%})" if rows else "-"


def kinds(rows: Sequence[Row]) -> str:
    """How often each kind of first difference occurs, in full and by packets."""
    full = Counter(row.kind for row in rows if row.verdict != "passes")
    packets = Counter(row.packets_kind for row in rows if row.packets != "passes")
    lines = ["| first difference | scripts | packets only |", "|---|--:|--:|"]
    for name, count in sorted((full | packets).items(), key=lambda item: (-full[item[0]], -item[1], item[0])):
        del count
        lines.append(f"| {name.replace('|', chr(92) + '|')} | {full[name]} | {packets[name] or ''} |")
    return "\n".join(lines)


def by_cause(rows: Sequence[Row], causes: Causes) -> str:
    """The scripts that fail by cause, the most frequent first."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.verdict != "passes":
            found.setdefault(causes.of(row), []).append(row)
    lines = ["| cause | scripts | where |", "|---|--:|---|"]
    for cause, of in sorted(found.items(), key=lambda item: (item[0] == NOT_TRACED, -len(item[1]), item[0])):
        places = ", ".join(f"{row.name}:{row.traced_line}" for row in of[:6])
        more = f" and {len(of) - 6} more" if len(of) > 6 else ""
        lines.append(f"| {causes.text(cause)} | {len(of)} | {places}{more} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--folder", type=Path, help=f"scripts in folders (default: ACKCLOCK_ORACLES/{FOLDER})")
    parser.add_argument("--workers", type=int, help="processes (default: all cores)")
    parser.add_argument("--list", action="store_true", help="print a row for each script that fails")
    parser.add_argument("--renew", action="store_true", help="raise floors.toml, list what fails in causes.toml")
    asked = parser.parse_args()
    named = os.environ.get("ACKCLOCK_ORACLES", "")
    folder = asked.folder or (Path(named) / FOLDER if named else None)
    if folder is None or not folder.is_dir():
        print(f"skipped: ACKCLOCK_ORACLES has no folder {FOLDER}, and --folder names none", file=sys.stderr)
        return
    began = time.monotonic()
    rows = play_all(scripts(folder), asked.workers)
    causes = Causes.read() if asked.folder is None else Causes({}, {})
    for row in rows:
        if row.verdict == "passes" and row.name in causes.names():
            print(f"{row.name} passes: remove it from causes.toml", file=sys.stderr)
    if asked.list:
        for row in rows:
            if row.verdict != "passes":
                print(f"{row.verdict:<12}{row.name}:{row.line}  {row.kind}  packets: {row.packets}  {causes.of(row)}")
    if asked.renew:
        renew(rows)
        causes = Causes.read()
    print(f"{len(rows)} scripts in {time.monotonic() - began:.1f} s", file=sys.stderr)
    if asked.file:
        write_page(asked.file, page(rows, causes, time.strftime("%Y-%m-%d")))
    else:
        print(totals(rows))


if __name__ == "__main__":
    main()
