"""`make pictures`: the reports as pictures. Exit status 1 if one says something on the console,
requests something, is wider than its window, or cuts off a chart.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ackclock.errors import AckclockError
from studies.pictures.chromium import Chromium, Seen
from studies.pictures.runs import KINDS, NotHere

WIDTHS = (390, 1280, 2560)
SCHEMES = ("light", "dark")


def main() -> int:
    """Make the pictures and print a line for each kind."""
    parser = argparse.ArgumentParser(description="Pictures of every kind of report.")
    parser.add_argument("folder", type=Path, help="where the runs and the pictures go")
    parser.add_argument("--only", default="", help=f"kinds, with commas between: {', '.join(KINDS)}")
    chosen = parser.parse_args()
    kinds = [kind for kind in chosen.only.split(",") if kind] or list(KINDS)
    failed = 0
    print(f"{'kind':10} {'kB':>6} {'report s':>9} {'drawn s':>8}")
    with Chromium() as browser:
        for kind in kinds:
            folder = chosen.folder / kind
            folder.parent.mkdir(parents=True, exist_ok=True)
            try:
                KINDS[kind](folder)
                began = time.monotonic()
                page = KINDS[kind](folder)
            except (NotHere, AckclockError) as why:
                print(f"{kind:10} not made here: {why}")
                continue
            made_s = time.monotonic() - began
            seen = rendered(browser, page, chosen.folder / "pictures", kind)
            slowest = max(one.drawn_ms for one in seen.values()) / 1e3
            print(f"{kind:10} {page.stat().st_size / 1e3:6.0f} {made_s:9.2f} {slowest:8.2f}")
            for name, one in seen.items():
                for fault in one.faults:
                    print(f"  {name}: {fault}")
                    failed += 1
    print(f"{failed} faults; pictures in {chosen.folder / 'pictures'}")
    return 1 if failed else 0


def rendered(browser: Chromium, page: Path, folder: Path, kind: str) -> dict[str, Seen]:
    """A page in each width and scheme, and printed: what was seen, by the picture's name."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for width in WIDTHS:
        for scheme in SCHEMES:
            name = f"{kind}-{width}-{scheme}"
            with browser.open(page, width, dark=scheme == "dark") as tab:
                found[name] = tab.seen()
                tab.picture(folder / f"{name}.png")
                if width == WIDTHS[1] and scheme == "dark":
                    tab.pdf(folder / f"{kind}.pdf")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
