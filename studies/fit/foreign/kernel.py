"""`python -m studies.fit.foreign.kernel FOLDER [NUMBER..]`: captures of downloads by the running
kernel through its own token buckets, for links of `links.KERNEL`, in namespaces of their own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from studies.analyzer.host_captures import HostCase, capture
from studies.analyzer.host_namespaces import enter_user_namespace
from studies.fit.foreign.links import KERNEL, KERNEL_S, VARIANTS, Captures

REPEATS = 2
"""Downloads of each variant; the first one of cubic is the input."""


def captures_of(folder: Path, number: int, variant: str, repeat: int) -> Captures:
    """The captures of a download."""
    stem = f"{number}-{variant}-{repeat}"
    return folder / f"{stem}.server.pcap", folder / f"{stem}.client.pcap"


def main() -> int:
    folder, numbers = Path(sys.argv[1]).resolve(), [int(text) for text in sys.argv[2:]] or range(len(KERNEL))
    folder.mkdir(parents=True, exist_ok=True)
    outside = enter_user_namespace(["studies.fit.foreign.kernel", str(folder), *map(str, numbers)])
    if outside is not None:
        return outside
    for number in numbers:
        link = KERNEL[number]
        # The input is one repetition more.
        for variant, repeats in zip(VARIANTS, (REPEATS + 1, REPEATS), strict=True):
            for repeat in range(repeats):
                title = f"{link.name}, {variant}"
                case = HostCase(title, link.path(variant, repeat + 1), arguments=("-R", "-t", str(KERNEL_S)))
                capture(f"{number}-{variant}-{repeat}", case, folder)
                print(f"{title}, {repeat + 1}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
