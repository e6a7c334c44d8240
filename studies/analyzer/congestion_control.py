"""`python -m studies.analyzer.congestion_control FILE`: which congestion control a sender uses, as
`analyze` states it from a capture at either end, beside the one that it does use. A Markdown page.

Downloads of every variant of the simulator over drawn links (`drawn_senders.py`), and with
`--kernel FOLDER` captures of the running kernel (`kernel_senders.py`). Outcomes are kept in a file
of JSON lines (`--kept`), and a later call takes them up.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ackclock import _native, analyze
from studies.analyzer.captures import run
from studies.analyzer.drawn_senders import DrawnSender, drawn_senders
from studies.outcome_files import begun_within, keep, kept, page_parser, write_page

ENDS = {"sender": "server", "receiver": "client"}
"""The capture of each end of a download."""
TARGETS = {"sender": (0.90, 0.02), "receiver": (0.80, 0.05)}
"""Minimum share stated, and maximum share wrong of those."""
SEED, COUNT = 107, 108
"""The first of two seeds, and the downloads of each."""
LEADS = {
    "kernel": (
        "The paths of 3, 50 and 15 Mb/s were recorded after the rules, but for the last one (Vegas at the",
        "receiver), which leaves one more unknown there; the others were in view. The kernel's vegas, veno,",
        "westwood+, bic and biad are ours (`ackclock kernel-cc`).",
        "",
    )
}
"""What is said of a source before its table."""
UNKNOWN = "unknown"
NOT_EXAMINED = "not examined"
Outcome = dict[str, Any]


def stated(capture: Path) -> str:
    """The family of the download's sender; NOT_EXAMINED without candidates."""
    flows = analyze(capture).document["flows"]
    flow = max(flows, key=lambda flow: flow["b2a"]["payload_bytes"])
    found = flow["b2a"]["congestion_control"]
    return str(found["family"]) if found and found["candidates"] else NOT_EXAMINED


def simulated(drawn: DrawnSender, seed: int, folder: Path) -> Outcome:
    """Simulate a download, and analyze both captures."""
    run(drawn.case, folder)
    ends = {end: stated(folder / f"{place}.pcap") for end, place in ENDS.items()}
    return {
        "seed": seed,
        "number": drawn.number,
        "from": "simulator",
        "variant": drawn.variant,
        "limit": drawn.other_limit,
        "name": drawn.name,
        **ends,
    }


def of_kernel(folder: Path) -> Iterator[Outcome]:
    """The captures of `kernel_senders.py`."""
    for truth in sorted(folder.glob("*.truth.json")):
        name = truth.name.removesuffix(".truth.json")
        ends = {end: stated(folder / f"{name}.{place}.pcap") for end, place in ENDS.items()}
        title = json.loads(truth.read_text("utf-8"))["title"]
        yield {"from": "kernel", "variant": name.partition(".")[0], "limit": "", "name": title, **ends}


def page(outcomes: Sequence[Outcome], seeds: Sequence[int]) -> str:
    """The page of all outcomes."""
    lines = [
        "# Which congestion control a sender uses",
        "",
        "Written by `make congestion-control`. `analyze` states the family of a sender's congestion",
        "control ([analyze.md](../reference/analyze.md)); here it is compared with the one in use.",
        f"The simulator's downloads are drawn with seeds {' and '.join(map(str, seeds))}, by which nothing in the analyzer",
        "was chosen: links of 1 to 100 Mb/s and RTTs of 10 to 160 ms, droptail queues of 0.2 to 2.5 BDP or a",
        "managed queue, with random loss or none; all variants equally often, as no network has them. Of",
        "each six one is limited by its application, a window or a buffer, or lasts 3 s, and none of these",
        "may be stated. `directions` are those that `analyze` examines.",
        "",
    ]
    for source in dict.fromkeys(str(outcome["from"]) for outcome in outcomes):
        of_source = [outcome for outcome in outcomes if outcome["from"] == source]
        lines += [f"## Senders of the {source}", "", *LEADS.get(source, ()), *_shares(of_source), ""]
        if wrong := _wrong(of_source):
            lines += ["Wrong:", "", *wrong, ""]
        for end in ENDS:
            lines += [f"Captured at the {end}:", "", *_confusion(of_source, end), ""]
    return "\n".join(lines)


def _shares(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [
        "| seed | capture at the | directions | stated | target | wrong of those | target | limited | stated of those |"
    ]
    rows += ["|" + "---|" * 9]
    for seed in dict.fromkeys(outcome.get("seed", "") for outcome in outcomes):
        of_seed = [outcome for outcome in outcomes if outcome.get("seed", "") == seed]
        for end, (min_stated, max_wrong) in TARGETS.items():
            others = [outcome for outcome in of_seed if outcome["limit"]]
            examined = [outcome for outcome in of_seed if not outcome["limit"] and outcome[end] != NOT_EXAMINED]
            reported = [outcome for outcome in examined if outcome[end] != UNKNOWN]
            wrong = sum(_is_wrong(outcome, end) for outcome in reported)
            false = sum(_is_stated(outcome, end) for outcome in others)
            cells = (
                seed,
                end,
                len(examined),
                f"{len(reported) / max(1, len(examined)):.0%}",
                f"{min_stated:.0%}",
                f"{wrong / max(1, len(reported)):.1%} ({wrong} of {len(reported)})",
                f"{max_wrong:.0%}",
                len(others),
                false,
            )
            rows.append("| " + " | ".join(map(str, cells)) + " |")
    return rows


def _is_stated(outcome: Outcome, end: str) -> bool:
    return outcome[end] not in (UNKNOWN, NOT_EXAMINED)


def _is_wrong(outcome: Outcome, end: str) -> bool:
    return _is_stated(outcome, end) and outcome[end] != family(outcome)


def _wrong(outcomes: Iterable[Outcome]) -> list[str]:
    """A line for each direction that is stated wrong."""
    return [
        f"- at the {end}: {outcome['name'].strip()}: {outcome[end]}"
        for outcome in outcomes
        for end in ENDS
        if not outcome["limit"] and _is_wrong(outcome, end)
    ]


def _confusion(outcomes: Iterable[Outcome], end: str) -> list[str]:
    counts = Counter(
        (family(outcome), str(outcome["variant"]), str(outcome[end])) for outcome in outcomes if not outcome["limit"]
    )
    columns = sorted({reported for *_, reported in counts} - {UNKNOWN, NOT_EXAMINED})
    rows = ["| family | variant | " + " | ".join((*columns, UNKNOWN, NOT_EXAMINED)) + " |"]
    rows += ["|" + "---|" * (4 + len(columns))]
    for of_family, variant in sorted({key[:2] for key in counts}):
        cells = (str(counts[of_family, variant, reported] or "") for reported in (*columns, UNKNOWN, NOT_EXAMINED))
        rows.append(f"| {of_family} | {variant} | " + " | ".join(cells) + " |")
    return rows


def family(outcome: Outcome) -> str:
    """The family of the outcome's variant."""
    return dict(_native.congestion_control_families())[outcome["variant"]]


def main(arguments: list[str]) -> int:
    parser = page_parser("sender", seed=SEED, count=COUNT)
    parser.add_argument("--kernel", type=Path, help="a folder of kernel_senders.py")
    options = parser.parse_args(arguments)
    variants = [name for name, _ in _native.congestion_control_families()]
    seeds = (options.seed, options.seed + 1)
    done = [outcome for outcome in kept(options.kept) if outcome["seed"] in seeds]
    known = {(outcome["seed"], outcome["number"]) for outcome in done}
    left = (
        (seed, drawn)
        for seed in seeds
        for drawn in drawn_senders(variants, options.count, seed)
        if (seed, drawn.number) not in known
    )
    with tempfile.TemporaryDirectory() as top:
        for seed, drawn in begun_within(options.minutes, left):
            done.append(outcome := simulated(drawn, seed, Path(top)))
            keep(options.kept, outcome)
    done.sort(key=lambda outcome: (outcome["seed"], outcome["number"]))
    if options.kernel:
        done += of_kernel(options.kernel)
    write_page(options.file, page(done, seeds))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
