"""OpenWrt's /etc/config/sqm, as a file, as `uci export` or `uci show` print it, or as `uci set`
lines: the package sqm-scripts, by openwrt.org's page "SQM configuration /etc/config/sqm" and the
defaults of its src/defaults.sh (a limit of 1001 packets, ECN in both directions).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ackclock.link_import.cake_framing import cake_framing
from ackclock.link_import.path_setup import ETHERNET_HEADER, Bucket, Framing, PathSetup, Side, Stage
from ackclock.link_import.tc_path import WITHOUT_HEADER
from ackclock.link_import.tc_queue import QueueReader
from ackclock.link_import.tc_state import Qdisc

OPTIONS = (
    *("enabled", "interface", "download", "upload", "qdisc", "script", "linklayer", "overhead", "linklayer_advanced"),
    *("linklayer_adaptation_mechanism", "qdisc_advanced", "qdisc_really_really_advanced", "iqdisc_opts", "eqdisc_opts"),
    *("squash_dscp", "squash_ingress", "ingress_ecn", "egress_ecn", "ilimit", "elimit", "itarget", "etarget"),
    *("tcMTU", "tcTSIZE", "tcMPU", "debug_logging", "verbosity", "shaper_burst", "shaper_burst_dur_us"),
    *("use_mq",),
)
SIMPLE = {"simple.qos": 3, "simplest.qos": 1, "simplest_tbf.qos": 1}
"""Scripts with htb or tbf and a queue discipline in each of their classes."""
SQM_LIMIT = 1001
"""Packets of a queue where simple.qos has no limit from its options (LIMIT)."""
SLOW_BPS = 4_000_000
"""Below this rate 1.5 full packets take longer than CoDel's target of 5 ms."""
LAYERS = ("ethernet", "atm", "adsl")
"""Values of linklayer that SQM hands to tc."""
CAKE_TINS = {"piece_of_cake.qos": "besteffort", "layer_cake.qos": "diffserv3"}


@dataclass
class Section:
    """A `queue` section: its options and where they stand."""

    name: str
    line: int
    options: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def flag(self, option: str) -> bool:
        return self.options.get(option, "0").lower() in ("1", "yes", "on", "true", "enabled")


def sections(text: str, setup: PathSetup) -> list[Section]:
    """The queues of a configuration."""
    found: dict[str, Section] = {}
    current: Section | None = None
    for number, line in enumerate(text.split("\n"), 1):
        words = _words(line)
        if not words:
            continue
        if words[0] == "config":
            current = Section(words[2] if words[2:] else f"queue{number}", number)
            if words[1:2] == ["queue"]:
                found[current.name] = current
            else:
                setup.misunderstand(number, line, "no section of SQM")
        elif words[0] in ("option", "list") and len(words) >= 3 and current is not None:
            current.options[words[1]] = words[2]
            current.lines[words[1]] = number
        elif assignment := _assignment(words):
            name, option, value = assignment
            section = found.setdefault(name, Section(name, number))
            if option:
                section.options[option] = value
                section.lines[option] = number
        elif words[0] not in ("package", "uci", "/etc/init.d/sqm", "service"):
            setup.misunderstand(number, line, "no line of SQM's configuration")
    for section in found.values():
        for option in section.options.keys() - set(OPTIONS):
            setup.misunderstand(section.lines[option], f"option {option}", "no option of SQM that import reads")
    return list(found.values())


def _words(line: str) -> list[str]:
    text = re.sub(r"^\s*(?:\S{1,60}@\S{1,60}[:~ ][^#$]{0,80}[#$]\s+)?", "", line)
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _assignment(words: list[str]) -> tuple[str, str, str] | None:
    """``sqm.NAME.OPTION=VALUE`` of `uci show` and `uci set`."""
    places = {("uci", "set"): 2, ("set",): 1}
    place = next((n for start, n in places.items() if tuple(words[: len(start)]) == start and words[n:]), 0)
    word = words[place]
    match = re.fullmatch(r"sqm\.([\w@\[\]-]+)(?:\.(\w+))?=(.*)", word, re.DOTALL)
    return (match[1], match[2] or "", match[3].strip("'\"")) if match else None


def sqm_path(text: str, setup: PathSetup) -> None:
    """The path that SQM makes: up is what its interface sends."""
    queues = [section for section in sections(text, setup) if section.options]
    for section in queues:
        interface = section.options.get("interface", "")
        if not section.flag("enabled"):
            setup.lint(
                "sqm-disabled",
                section.lines.get("enabled", section.line),
                f"{section.name}: enabled is not 1: SQM does not run",
            )
        for side, stage in _stages(section, setup):
            if any(other.device == stage.device for other in setup.stages[side]):
                setup.misunderstand(section.line, section.name, f"a second queue of {interface}")
            elif setup.stages[side]:
                setup.differ(
                    section.line, f"{section.name}: a second interface: one is imported, {setup.stages[side][0].device}"
                )
            else:
                setup.stages[side].append(stage)
        if WITHOUT_HEADER.match(interface):
            setup.line_kind = setup.line_kind or "pppoe"


def _stages(section: Section, setup: PathSetup) -> Iterator[tuple[Side, Stage]]:
    options = section.options
    interface = options.get("interface", section.name)
    script, kind = options.get("script", "piece_of_cake.qos"), options.get("qdisc", "cake")
    if "script" not in options or "qdisc" not in options:
        setup.assume(section.line, f"{section.name}: without script or qdisc, taken for {script} with {kind}")
    sides: tuple[tuple[Side, str, str, str], ...] = (
        ("down", "download", "iqdisc_opts", "i"),
        ("up", "upload", "eqdisc_opts", "e"),
    )
    line_words = _cake_words(section, setup)
    counted = (Framing(), False) if line_words else _framing(section, setup)
    for side, option, further, prefix in sides:
        line = section.lines.get(option, section.line)
        text = options.get(option, "0")
        if not re.fullmatch(r"\d{1,9}", text):
            setup.misunderstand(line, f"{option} {text}", "no whole number of kbit/s")
            continue
        if int(text) == 0:
            setup.differ(line, f"{section.name}: {option} 0: SQM does not shape this direction")
            continue
        rate = int(text) * 1000
        advanced = section.flag("qdisc_advanced")
        words = options.get(further, "").split() if advanced and section.flag("qdisc_really_really_advanced") else []
        framing, is_typed = counted
        stage = Stage(
            "sqm",
            f"{interface.replace('.', '-').replace('/', '-')}-sqm",
            line,
            interface,
            bucket=Bucket(rate),
            rate=rate,
        )
        reader = QueueReader(setup, interface)
        if script in CAKE_TINS or kind == "cake":
            own, rest = cake_framing([*line_words, *words])
            queue, typed, _ = reader.cake(
                Qdisc(interface, "cake", "", "root", line, tuple(words)), [CAKE_TINS.get(script, "diffserv3"), *rest]
            )
            framing, is_typed = (own, True) if own else (framing, is_typed)
            yield (
                side,
                replace(stage, queue=queue, typed=typed, queue_kind="cake", framing=framing, is_framing_typed=is_typed),
            )
            continue
        if SIMPLE.get(script, 3) > 1:
            setup.differ(
                section.line,
                f"{section.name}: {script} has classes by DSCP: one class here, as for traffic without DSCP",
            )
        if script not in SIMPLE:
            setup.assume(section.line, f"{section.name}: {script} is taken for simple.qos, htb with {kind}")
        arguments = _queue_words(section, kind, prefix, words)
        if kind in ("fq_codel", "codel") and "target" not in arguments and rate < SLOW_BPS:
            setup.differ(line, f"{section.name}: SQM raises {kind}'s target on a slow line")
        qdisc = Qdisc(interface, kind, "", "root", line, tuple(arguments))
        queue, typed = (
            reader.read(qdisc)
            if hasattr(reader, f"_{kind}") or kind == "fq_pie"
            else ({"kind": "droptail", "packets": 1000}, {})
        )
        if kind not in ("fq_codel", "codel", "pie", "sfq", "red", "fq_pie", "pfifo", "bfifo"):
            setup.misunderstand(section.lines.get("qdisc", section.line), f"qdisc {kind}", "no qdisc that import reads")
        yield (
            side,
            replace(stage, queue=queue, typed=typed, queue_kind=kind, framing=framing, is_framing_typed=is_typed),
        )


def _queue_words(section: Section, kind: str, prefix: str, further: list[str]) -> list[str]:
    """The arguments that simple.qos gives its queues."""
    options, advanced = section.options, section.flag("qdisc_advanced")
    words: list[str] = []
    limit = options.get(f"{prefix}limit", "") if advanced else ""
    if kind in ("fq_codel", "codel", "pie", "fq_pie", "pfifo"):
        words += ["limit", limit if limit.isdigit() and int(limit) else str(SQM_LIMIT)]
    target = options.get(f"{prefix}target", "") if advanced else ""
    if kind in ("fq_codel", "codel") and re.fullmatch(r"\d+(\.\d+)?(ms|us|s)", target):
        words += ["target", target]
    marks = (options.get(f"{'in' if prefix == 'i' else 'e'}gress_ecn") if advanced else None) or "ECN"
    if kind in ("fq_codel", "codel", "pie"):
        words.append("noecn" if marks.upper() == "NOECN" else "ecn")
    return [*words, *further]


def _framing(section: Section, setup: PathSetup) -> tuple[Framing, bool]:
    """What tc's size table or htb counts for a packet, from the Ethernet frame, and whether the
    section says so. Nothing where cake counts it (`_cake_words`).
    """
    options = section.options
    layer = options.get("linklayer", "none")
    header = 0 if WITHOUT_HEADER.match(options.get("interface", "")) else ETHERNET_HEADER
    if layer not in (*LAYERS, "ptm"):
        if layer != "none":
            setup.misunderstand(section.lines["linklayer"], f"linklayer {layer}", "none, ethernet, atm or ptm")
        return Framing("none", header), False
    overhead, mpu = _number(section, setup, "overhead"), _number(section, setup, "tcMPU")
    line = section.lines["linklayer"]
    if _mechanism(section) == "htb_private" and _is_cake(section):
        setup.lint(
            "sqm-linklayer",
            section.lines["linklayer_adaptation_mechanism"],
            f"{section.name}: cake does not use htb_private: no overhead is counted; the mechanism `cake` counts {overhead} B",
        )
        return Framing("none", header), True
    if layer == "ptm":
        setup.lint(
            "sqm-linklayer", line, f"{section.name}: tc has no linklayer ptm, and refuses the queue; only cake has ptm"
        )
        return Framing("none", header), True
    return Framing("none" if layer == "ethernet" else "atm", max(0, overhead + header), mpu), True


def _cake_words(section: Section, setup: PathSetup) -> list[str]:
    """SQM's arguments of cake about the line, before those of iqdisc_opts and eqdisc_opts; none
    where another mechanism counts, or nothing.
    """
    layer = section.options.get("linklayer", "none")
    if _mechanism(section) != "cake" or layer not in (*LAYERS, "ptm"):
        return []
    overhead, mpu = _number(section, setup, "overhead"), _number(section, setup, "tcMPU")
    if layer == "ptm":
        setup.lint(
            "sqm-linklayer",
            section.lines["linklayer"],
            f"{section.name}: SQM gives cake overhead {overhead} and no cells for linklayer ptm; `ptm` in iqdisc_opts and "
            "eqdisc_opts counts the byte with each 64",
        )
    return [*(["atm"] if layer in ("atm", "adsl") else []), "overhead", str(overhead), "mpu", str(mpu)]


def _is_cake(section: Section) -> bool:
    return section.options.get("qdisc", "cake") == "cake" or section.options.get("script", "") in CAKE_TINS


def _mechanism(section: Section) -> str:
    """What counts the overhead: cake itself, tc's size table, or htb."""
    given = section.options.get("linklayer_adaptation_mechanism") or "default"
    return given if given != "default" else "cake" if _is_cake(section) else "tc_stab"


def _number(section: Section, setup: PathSetup, option: str) -> int:
    """The bytes of an option; 0 without it."""
    text = section.options.get(option, "0")
    if re.fullmatch(r"-?\d{1,4}", text):
        return int(text)
    setup.misunderstand(section.lines[option], f"{option} {text}", "no number of bytes")
    return 0
