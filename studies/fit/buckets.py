"""`python -m studies.fit.buckets [FILE]`: fits to links with a policer or a shaper, and to links
that look like one, as Markdown. `make fit-buckets` writes it to docs.

`--links N` and `--seed N` select other links.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ackclock

Keys = dict[str, Any]
NEITHER = (
    "droptail",
    "short droptail",
    "codel",
    "fq-codel",
    "pie",
    "random loss",
    "bursts of losses",
    "rate that falls",
    "slow reader",
    "receive window",
    "cross traffic",
    "jitter",
    "grants",
)
"""Links without a bucket."""
BUCKETS = ("policer", "shaper")
SECONDS = 20
BULK: Keys = {"name": "download", "workload": {"kind": "bulk"}}
IDENTIFIED = "identified"


@dataclass(frozen=True)
class BucketLink:
    """A link with its flows; `truth` has the rate and the burst of its bucket by path."""

    kind: str
    hop: Keys
    flows: list[Keys] = field(default_factory=lambda: [BULK])
    tcp: Keys = field(default_factory=dict)
    truth: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The rows of buckets in a fit, by path."""

    link: BucketLink
    found: dict[str, Keys]

    @property
    def is_found(self) -> bool:
        return any(path.startswith(f"{self.link.kind}.") for path in self.found)

    @property
    def is_identified(self) -> bool:
        return self.is_found and all(self.found[path]["status"] == IDENTIFIED for path in self.link.truth)

    def error(self, path: str) -> float:
        """Of an identified value, relative."""
        return float(self.found[path]["value"] / self.link.truth[path] - 1)

    def covers(self, path: str) -> bool:
        row = self.found[path]
        return bool(row["lo"] <= self.link.truth[path] <= row["hi"])


def links(kind: str, count: int, seed: int) -> Iterator[BucketLink]:
    """`count` links of a kind: 1 to 80 Mb/s, one-way delays of 3 to 80 ms."""
    for number in range(count):
        yield _drawn(kind, random.Random(f"buckets {seed} {kind} {number}"))


def _log(draw: random.Random, low: float, high: float) -> float:
    return 10 ** draw.uniform(math.log10(low), math.log10(high))


def _drawn(kind: str, draw: random.Random) -> BucketLink:
    rate, tcp = round(_log(draw, 1e6, 80e6)), {"variant": draw.choice(("cubic", "cubic", "reno", "bbr"))}
    delay_ms = round(_log(draw, 3, 80), 2)
    hop: Keys = {"name": "access", "delay": f"{delay_ms} ms"}
    if kind not in BUCKETS:
        return _without_bucket(kind, draw, rate, delay_ms, hop, tcp)
    is_policer = kind == "policer"
    burst = round(
        max(6000, rate / 8 * _log(draw, 0.005, 0.3)) if is_policer else max(12000, rate / 8 * _log(draw, 0.01, 0.5))
    )
    line = rate * draw.choice((1.3, 2, 5, 20))
    bucket = {"rate": f"{rate} b/s", "burst": f"{burst} B"}
    if is_policer:
        hop |= {
            "policer": {"down": bucket},
            "queue": {"kind": "droptail", "bytes": f"{max(15000, round(line / 80))} B"},
        }
    else:
        size = f"{max(4500, round(rate / 8 * draw.uniform(0.03, 0.3)))} B"
        hop["shaper"] = {
            "down": {**bucket, "queue": draw.choice(({"kind": "droptail", "bytes": size}, {"kind": "fq-codel"}))}
        }
    beside = draw.random()
    if beside < 0.2:
        hop["loss"] = {"down": round(_log(draw, 1e-5, 6e-4), 6)}
    elif beside < 0.4:
        hop["jitter"] = {"down": {"kind": "exponential", "mean": f"{draw.uniform(0.1, 1):.2f} ms"}}
    truth = {f"{kind}.down.rate": float(rate), f"{kind}.down.burst": float(burst)}
    return BucketLink(kind, hop | {"rate": f"{round(line)} b/s"}, [BULK], tcp, truth)


def _without_bucket(kind: str, draw: random.Random, rate: int, delay_ms: float, hop: Keys, tcp: Keys) -> BucketLink:
    queue = {"kind": "droptail", "bytes": f"{max(4500, round(rate / 8 * _log(draw, 0.01, 0.3)))} B"}
    hop, flows = {**hop, "rate": f"{rate} b/s", "queue": queue}, [BULK]
    if kind in ("codel", "fq-codel", "pie"):
        hop["queue"] = {"kind": kind}
    elif kind == "short droptail":
        hop["queue"] = {"kind": "droptail", "packets": draw.randint(3, 12)}
    elif kind == "random loss":
        hop["loss"] = {"down": round(_log(draw, 2e-4, 2e-2), 6)}
    elif kind == "bursts of losses":
        sojourn = f"{draw.uniform(2, 30):.1f} ms"
        hop["loss"] = {
            "down": {"kind": "gilbert-elliott", "mean": round(_log(draw, 1e-3, 2e-2), 5), "bad_sojourn": sojourn}
        }
    elif kind == "rate that falls":
        later = f"{round(rate * draw.choice((0.2, 0.4, 0.6)))} b/s"
        hop["rate"] = {"schedule": [["0 s", f"{rate} b/s"], [f"{draw.uniform(1.5, 10):.1f} s", later]]}
    elif kind == "slow reader":
        flows = [{"name": "download", "workload": {"kind": "bulk", "read_rate": f"{round(rate * 0.6)} b/s"}}]
    elif kind == "receive window":
        window = rate / 4 * delay_ms / 1000 * draw.choice((0.4, 0.8, 1.5))
        tcp = {**tcp, "receive_buffer": f"{max(8000, round(window))} B"}
    elif kind == "cross traffic":
        cross = {"kind": "onoff", "rate": f"{rate // 2} b/s", "on": "300 ms", "off": "400 ms", "packet": "1000 B"}
        flows = [BULK, {"name": "cross", "workload": cross, "direction": "down"}]
    elif kind == "jitter":
        hop["jitter"] = {"down": {"kind": "exponential", "mean": f"{draw.uniform(0.5, 4):.2f} ms"}}
    elif kind == "grants":
        rates = {"down": f"{rate} b/s", "up": "8 Mb/s"}
        medium = {"kind": "grants", "standard": draw.choice(("lte", "docsis-3.1")), "rate": rates}
        hop = {"name": "access", "delay": hop["delay"], "queue": queue, "medium": medium}
    return BucketLink(kind, hop, flows, tcp)


def fitted(link: BucketLink, folder: Path) -> Outcome:
    """The simulated download, and the fit to the captures of both ends."""
    ackclock.simulate({"hop": [link.hop]}, link.flows, f"{SECONDS} s", 1, tcp=link.tcp, out=folder, captures="pcap")
    ends = [folder / "captures" / f"download.{end}.pcap" for end in ("server", "client")]
    rows = {
        row["path"].removeprefix("hop.access."): dict(row)
        for row in ackclock.fit(*ends, score=False).document["parameters"]
    }
    return Outcome(link, {path: row for path, row in rows.items() if path.startswith(BUCKETS)})


def page(done: Sequence[Outcome], seconds: float) -> str:
    """The tables."""
    lines = [
        "# Fits to policers and shapers",
        "",
        f"Written by `make fit-buckets` ([buckets.py](../../studies/fit/buckets.py)), {seconds:.0f} s. Links drawn by seed:",
        "1 to 80 Mb/s, one-way delays of 3 to 80 ms, a line 1.3 to 20 times as fast as the bucket; two in five with",
        "random losses or jitter beside it. One download of cubic, reno or bbr each, captured at both ends.",
        "",
        "| bucket | links | found | identified | rate within 2 % | burst within 1500 B or 2 % | intervals with the rate | with the burst |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for kind in BUCKETS:
        of = [one for one in done if one.link.kind == kind]
        found, exact = [one for one in of if one.is_found], [one for one in of if one.is_identified]
        rate, burst = f"{kind}.down.rate", f"{kind}.down.burst"
        near = [
            max(1500.0, 0.02 * one.link.truth[burst]) >= abs(one.error(burst)) * one.link.truth[burst] for one in exact
        ]
        counts = (
            len(of),
            len(found),
            len(exact),
            sum(abs(one.error(rate)) <= 0.02 for one in exact),
            sum(near),
            sum(one.covers(rate) for one in found),
            sum(one.covers(burst) for one in found),
        )
        lines.append(f"| {kind} | {' | '.join(map(str, counts))} |")
    lines += ["", "| link without a bucket | links | policer found | shaper found |", "|---|--:|--:|--:|"]
    for kind in NEITHER:
        of = [one for one in done if one.link.kind == kind]
        wrong = [sum(any(path.startswith(bucket) for path in one.found) for one in of) for bucket in BUCKETS]
        lines.append(f"| {kind} | {len(of)} | {wrong[0]} | {wrong[1]} |")
    missed = [one for one in done if one.link.truth and not one.is_found]
    lines += [
        "",
        "## Not found",
        "",
        *(f"- {one.link.kind}, {one.link.tcp['variant']}: `{one.link.hop}`" for one in missed),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Fits to policers, shapers, and links without them.")
    parser.add_argument("file", nargs="?", help="Markdown; else it is printed")
    parser.add_argument("--links", type=int, default=60, help="of each bucket, and without one")
    parser.add_argument("--seed", type=int, default=784)
    options = parser.parse_args()
    begun, done = time.monotonic(), []
    each = dict.fromkeys(BUCKETS, options.links) | {kind: math.ceil(options.links / len(NEITHER)) for kind in NEITHER}
    for kind, count in each.items():
        for link in links(kind, count, options.seed):
            with tempfile.TemporaryDirectory() as folder:
                done.append(fitted(link, Path(folder) / "run"))
                sys.stderr.write(f"{kind}: {done[-1].found.keys()}\n")
    text = page(done, time.monotonic() - begun)
    if options.file:
        Path(options.file).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
