"""``import``: the set-up of a link as people have it becomes a link file."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import InputError, InvalidValue, choices, format_value, not_readable
from ackclock.input.scenario.draft import draft_of
from ackclock.input.toml_writer import to_toml
from ackclock.input.units import rate_bps, time_ps
from ackclock.link_import import link_table, lints, shell_script, tc_show
from ackclock.link_import.dummynet import dummynet_path
from ackclock.link_import.lints import LineRates
from ackclock.link_import.mahimahi import mahimahi_path
from ackclock.link_import.openwrt_sqm import sqm_path
from ackclock.link_import.path_setup import SIDES, PathSetup, Side
from ackclock.link_import.result import LinkImport
from ackclock.link_import.tc import script_path, shown_path

if TYPE_CHECKING:
    from ackclock.documents.import_ import ImportedLink

MAX_BYTES = 1 << 20
COMMENT_COLUMNS = 100
STDIN = "-"
PLACEHOLDER = {"name": "any", "workload": {"kind": "live"}}


@dataclass(frozen=True)
class ImportOptions:
    """What the input does not say.

    Attributes:
        format: one of FORMATS; None: recognised.
        egress: the direction of what the one interface of the input sends.
        rtt: the RTT of the rest of the path, in ps.
        line_rates: the rates of the line, which lints compare.
        variables: shell variables without a value in the input.
    """

    format: str | None = None
    egress: Side | None = None
    rtt: int | None = None
    line_rates: LineRates = field(default_factory=LineRates)
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Input:
    name: str
    text: str
    folder: Path

    def commands(self, options: ImportOptions) -> Iterable[shell_script.Command]:
        return shell_script.commands(self.text, options.variables, str(self.folder.absolute()))


def _tc(given: _Input, setup: PathSetup, options: ImportOptions) -> None:
    script_path(given.commands(options), setup, options.egress)


def _netem(given: _Input, setup: PathSetup, options: ImportOptions) -> None:
    """netem's arguments alone, as many tools take them."""
    text = "\n".join(
        re.sub(r"^\s*(?:netem\s+)?(?=[a-z])", "tc qdisc replace dev netem root netem ", line)
        for line in given.text.split("\n")
    )
    script_path(shell_script.commands(text, options.variables), setup, options.egress or "down")
    setup.assume(None, "netem's arguments without a command: one direction, down; --egress up is the other")


def _tc_show(given: _Input, setup: PathSetup, options: ImportOptions) -> None:
    shown_path(given.text, setup, options.egress)


def _sqm(given: _Input, setup: PathSetup, _options: ImportOptions) -> None:
    sqm_path(given.text, setup)


def _mahimahi(given: _Input, setup: PathSetup, options: ImportOptions) -> None:
    mahimahi_path(given.commands(options), given.folder, setup)


def _dummynet(given: _Input, setup: PathSetup, options: ImportOptions) -> None:
    dummynet_path(given.commands(options), setup, options.egress)


FORMATS: Mapping[str, Callable[[_Input, PathSetup, ImportOptions], None]] = {
    "tc": _tc,
    "tc-show": _tc_show,
    "sqm": _sqm,
    "mahimahi": _mahimahi,
    "dummynet": _dummynet,
    "netem": _netem,
}
"""The formats of inputs, by name."""
SIGNS: Mapping[str, re.Pattern[str]] = {
    "tc": re.compile(
        r"^[^#\n]*\btc\b.{0,40}\b(?:q\w*|cl\w*|f\w*)\s+(?:a\w*|r\w*|c\w*|d\w*)\s"
        r"|^[^#\n]*\b(?:qdisc|class|filter)\s+(?:add|replace|change|del\w*)\s",
        re.MULTILINE,
    ),
    "tc-show": re.compile(tc_show.SHOWN.pattern, re.MULTILINE),
    "sqm": re.compile(
        r"^\s*config\s+queue\b|\bsqm\.[\w@\[\]-]+(?:\.\w+)?=|^\s*option\s+(?:download|upload|interface)\b", re.MULTILINE
    ),
    "mahimahi": re.compile(r"\bmm-(?:delay|link|loss|onoff)\b"),
    "dummynet": re.compile(r"\b(?:ipfw|dnctl)\b.{0,80}\bpipe\b"),
    "netem": re.compile(r"^\s*(?:netem\s+\w|(?:delay|loss|rate|limit)\s+\S*\d)", re.MULTILINE),
}
"""A line that each format has; the format with the greatest number of lines is taken."""
TITLES = {
    "tc": "a tc script",
    "tc-show": "the output of tc qdisc show",
    "sqm": "OpenWrt's SQM",
    "mahimahi": "mahimahi shells",
    "dummynet": "dummynet pipes",
    "netem": "netem's arguments",
}
LINE_KINDS = ("pppoe", "vdsl", "adsl", "docsis", "dsl")
"""Words that say which line this is; the first in this order counts."""


def import_link(
    file: str | Path,
    *,
    format: str | None = None,
    egress: Side | None = None,
    rtt: str | None = None,
    line_down: str | None = None,
    line_up: str | None = None,
    variables: Mapping[str, str] | None = None,
    out: Path | None = None,
) -> LinkImport:
    """Read a set-up as people have it: a tc script, the output of `tc qdisc show`, OpenWrt's SQM, a
    mahimahi command, dummynet pipes. Nothing is run.

    Args:
        file: the file; "-" is standard input.
        format: "tc", "tc-show", "sqm", "mahimahi", "dummynet" or "netem"; None: recognised.
        egress: the direction of what the one interface of the set-up sends: "down" or "up"; None:
            by its name.
        rtt: the RTT of the rest of the path, such as "30 ms", which becomes a hop of its own.
        line_down, line_up: the rates of the line, such as "50 Mb/s", which lints compare.
        variables: values of shell variables that the file does not set.
        out: where the link file will be: it names traces relative to its folder. Default: the
            working folder.

    Returns:
        A LinkImport: `link` (a dict that `ackclock.simulate` takes), `toml`, `document` with the
        lints and with what is not expressed, not understood or assumed.

    Raises:
        InputError: the file cannot be read, or is no set-up that import knows.

    >>> import ackclock
    >>> imported = ackclock.import_link("slow.sh")  # doctest: +SKIP
    >>> [lint["code"] for lint in imported.document["lints"]]  # doctest: +SKIP
    """
    if egress is not None and egress not in SIDES:
        raise InputError(format_value(egress), choices(SIDES, egress), key="egress")
    with keys_named("rtt"):
        rest = None if rtt is None else time_ps(rtt)
        if rest is not None and rest <= 0:
            raise InvalidValue(format_value(rtt), "a time above zero")
    rates = []
    for key, text in (("line_down", line_down), ("line_up", line_up)):
        with keys_named(key):
            rates.append(None if text is None else rate_bps(text))
    options = ImportOptions(format, egress, rest, LineRates(*rates), dict(variables or {}))
    return imported(file, options, out)


@contextmanager
def keys_named(key: str) -> Iterator[None]:
    """Name the argument of an invalid value."""
    try:
        yield
    except InvalidValue as invalid:
        raise InputError.of(invalid, key=key) from None


def imported(source: str | Path, options: ImportOptions, out: Path | None) -> LinkImport:
    """Read a set-up; see `import_link`."""
    given = _read(str(source))
    setup = _path_setup(given, options)
    kind = setup.format
    folder = (out.parent if out is not None else Path()).absolute()
    tables = link_table.hops(setup, lambda path: os.path.relpath(path.absolute(), folder), options.rtt)
    if not any(setup.stages[side] for side in SIDES) or not tables:
        raise _nothing(given, setup)
    if options.rtt is None:
        _assume_rtt(setup)
    name = "standard input" if given.name == STDIN else Path(given.name).name
    link = {"title": f"Imported from {name}", "source": f"{TITLES[kind]}, {name}", "hop": tables}
    _check(link, folder, given)
    text = f"{_comments(setup, name)}{to_toml(link)}"
    document: ImportedLink = {
        "input": given.name,
        "format": kind,
        "link": link,
        "toml": text,
        "lints": [{"code": one.code, "line": one.line, "text": one.text} for one in setup.lints],
        "not_expressed": [{"line": one.line, "text": one.text} for one in setup.differs],
        "not_understood": [{"line": one.line, "text": one.text, "why": one.why} for one in setup.misread],
        "assumed": [{"line": one.line, "text": one.text} for one in setup.assumed],
    }
    return LinkImport(document)


def read_path(source: str | Path, options: ImportOptions) -> PathSetup:
    """The path of a set-up, with its lints. Raises InputError."""
    return _path_setup(_read(str(source)), options)


def _path_setup(given: _Input, options: ImportOptions) -> PathSetup:
    kind = options.format or _recognised(given)
    if kind not in FORMATS:
        raise InputError(format_value(kind), choices(FORMATS, kind), key="format")
    setup = PathSetup(kind)
    named = (word for word in LINE_KINDS if re.search(rf"(?<![a-z]){word}", given.text, re.IGNORECASE))
    setup.line_kind = next(named, "")
    FORMATS[kind](given, setup, options)
    for side in SIDES:
        setup.stages[side] = [stage for stage in setup.stages[side] if stage.has_effect]
        _rate_of_line(setup, side, options.line_rates)
    lints.lint(setup, options.line_rates)
    for lint in setup.lints:
        if lint.code == "netem-limit":
            setup.differ(lint.line, f"what {lint.text.partition(':')[0]}: here nothing is dropped for that")
    return setup


def _assume_rtt(setup: PathSetup) -> None:
    """What follows from a set-up without a delay."""
    stages = [stage for side in SIDES for stage in setup.stages[side]]
    if any(stage.delay for stage in stages):
        return
    if not any(stage.rate or stage.policer for stage in stages):
        setup.assume(
            None, "the input has neither a delay nor a rate, which a run needs: --rtt adds the rest of the path"
        )
    elif not any(stage.jitter or stage.reorder for stage in stages):
        setup.assume(
            None, "the input has no delay: the RTT without a queue is 0; --rtt adds that of the rest of the path"
        )


def _rate_of_line(setup: PathSetup, side: Side, line_rates: LineRates) -> None:
    """A queue without a shaper waits for the interface's own rate: that of the line."""
    stages = setup.stages[side]
    if not stages or stages[-1].queue is None or any(stage.rate or stage.policer for stage in stages):
        return
    last = stages[-1]
    if line_rates.of(side) is None:
        setup.assume(
            last.line, f"{last.device}: {last.kind} waits for the interface's own rate: --line-{side} gives it"
        )
    stages[-1] = replace(last, rate=line_rates.of(side))


def _read(name: str) -> _Input:
    try:
        if name == STDIN:
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise InputError(f"more than {MAX_BYTES} bytes", "the text of a set-up", file=name)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise not_readable(error, name, "the text of a set-up") from None
    except ValueError:
        raise InputError(format_value(name), "the name of a file", key="FILE") from None
    if "\0" in text:
        raise InputError("bytes that are no text", "the text of a set-up", file=name)
    return _Input(name, text, Path() if name == STDIN else Path(name).parent)


def _recognised(given: _Input) -> str:
    counts = {kind: len(sign.findall(given.text)) for kind, sign in SIGNS.items()}
    kind = max(counts, key=lambda one: counts[one])
    if not counts[kind]:
        raise InputError(
            "an empty file" if not given.text.strip() else "no line of a set-up that import reads",
            f"{', '.join(TITLES.values())}",
            file=given.name,
        )
    return kind


def _nothing(given: _Input, setup: PathSetup) -> InputError:
    first = setup.misread[0] if setup.misread else None
    found = f"{TITLES[setup.format]} that leaves no rate, delay, loss or queue"
    if first is not None:
        found += f" ({first.why})"
    return InputError(found, "a set-up with one", file=given.name, line=first.line if first else None)


def _check(link: Mapping[str, Any], folder: Path, given: _Input) -> None:
    """Raise InputError unless the link file is valid."""
    hops = [{**hop, **({"rate": _absolute(hop["rate"], folder)} if "rate" in hop else {})} for hop in link["hop"]]
    try:
        draft_of({"hop": hops, "flow": [PLACEHOLDER], "duration": "1 s"}).check()
    except InputError as error:
        raise InputError(error.found, error.allowed, file=given.name, key=error.key) from None


def _absolute(rate: Any, folder: Path) -> Any:
    if isinstance(rate, dict):
        return {key: str(folder / value) if key == "trace" else _absolute(value, folder) for key, value in rate.items()}
    return rate


def _comments(setup: PathSetup, name: str) -> str:
    """What the link file cannot say, as comments."""
    parts: list[tuple[str, list[str]]] = [
        ("Lints", [f"{one.code}{_at(one.line)}: {one.text}" for one in setup.lints]),
        ("Replaced or not expressed", [f"{one.text}{_at(one.line)}" for one in setup.differs]),
        ("Not understood", [f"{one.text}{_at(one.line)}: {one.why}" for one in setup.misread]),
        ("Assumed", [f"{one.text}{_at(one.line)}" for one in setup.assumed]),
    ]
    lines = [f"# Made by `ackclock import` from {_plain(name)}: {TITLES[setup.format]}."]
    for title, entries in parts:
        if entries:
            lines += ["#", f"# {title}:"]
        for entry in entries:
            lines += textwrap.wrap(
                _plain(entry), COMMENT_COLUMNS, initial_indent="# - ", subsequent_indent="#   ", break_on_hyphens=False
            )
    return "\n".join(lines) + "\n"


def _at(line: int | None) -> str:
    return "" if line is None else f" (line {line})"


def _plain(text: str) -> str:
    """Text without the characters that a comment may not have."""
    return "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))
