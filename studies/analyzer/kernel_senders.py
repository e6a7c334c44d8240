"""`python -m studies.analyzer.kernel_senders FOLDER [NAME..]`: captures of downloads whose sender
is the running kernel, one for each congestion control that it has and each of a few paths.

Hosts, paths and files are those of `host_captures.py`; `NAME.truth.json` has the congestion
control. `ackclock kernel-cc load` loads those of the papers; a control that the kernel lacks is
left out. With `--part N/M` every Mth capture, so that several processes share the work; a capture
that exists is not made again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from studies.analyzer.host_captures import HostCase, capture
from studies.analyzer.host_namespaces import PathConfig, TokenBucket, enter_user_namespace

CONTROLS: Mapping[str, str] = {
    "reno": "reno",
    "cubic": "cubic",
    "bbr": "bbr",
    "vegas": "ackclock_vegas",
    "veno": "ackclock_veno",
    "westwood+": "ackclock_westw",
    "bic": "ackclock_bic",
    "biad": "ackclock_biad",
}
"""The kernel's name of each variant."""
SECONDS = 36
PATHS: Mapping[str, tuple[str, int, int, str]] = {
    "short-queue": ("20 ms", 10_000_000, 30_000, ""),
    "long-queue": ("15 ms", 8_000_000, 90_000, ""),
    "far": ("50 ms", 12_000_000, 100_000, ""),
    "lossy": ("15 ms", 20_000_000, 80_000, "0.002"),
    "near": ("6 ms", 20_000_000, 45_000, ""),
    "slow": ("40 ms", 3_000_000, 60_000, ""),
    "fast": ("10 ms", 50_000_000, 150_000, ""),
    "lossy-far": ("40 ms", 15_000_000, 120_000, "0.001"),
}
"""One-way delay, rate in bit/s and queue in bytes of the bucket, and share of the data lost. The
rules were chosen with the first five in view, and not with the last three."""


def cases() -> Mapping[str, HostCase]:
    """By name: the control and the path."""
    found = {}
    for path, (delay, rate, queue, loss) in PATHS.items():
        link = {"rate": '"1 Gb/s"', "delay": f'"{delay}"', **({"loss.down": loss} if loss else {})}
        for number, (variant, kernel_name) in enumerate(CONTROLS.items()):
            config = PathConfig(link, TokenBucket(rate, 5_000, queue), congestion_control=kernel_name, seed=number + 1)
            title = f"{variant}, {rate / 1e6:g} Mb/s, queue {queue} B, one-way delay {delay}, {loss or 'none'} lost"
            found[f"{variant}.{path}"] = HostCase(title, config, arguments=("-R", "-t", str(SECONDS)))
    return found


def main() -> int:
    """Make the captures that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m studies.analyzer.kernel_senders")
    parser.add_argument("folder", type=Path)
    parser.add_argument("name", nargs="*", help="VARIANT.PATH (default: all)")
    parser.add_argument("--part", default="1/1", metavar="N/M")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    again = [str(arguments.folder.resolve()), *arguments.name, "--part", arguments.part]
    outside = enter_user_namespace(["studies.analyzer.kernel_senders", *again])
    if outside is not None:
        return outside
    part, parts = map(int, arguments.part.split("/"))
    known = cases()
    for name in list(arguments.name or known)[part - 1 :: parts]:
        if (arguments.folder / f"{name}.truth.json").exists():
            continue
        began = time.monotonic()
        try:
            capture(name, known[name], arguments.folder)
        except (RuntimeError, OSError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        print(f"{name:24} {time.monotonic() - began:5.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
