"""An advice in words, as tables for the terminal, and as a report."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal

from rich.table import Table

from ackclock.format import count, joined, milliseconds, percent, range_text, rate, three
from ackclock.goals import APP_GOALS
from ackclock.limitations import facts_named, named
from ackclock.report.page import Block, Cell, Chart, Column, Facts, Listing, Page, Section
from ackclock.report.page import Table as PageTable
from ackclock.simulation.goals import TARGET_MET, targets_of_goal
from ackclock.simulation.household import NEVER, TARGETS
from ackclock.terminal import SCREEN, TextBelow, ToType, first_that_fits, text_table

if TYPE_CHECKING:
    from ackclock.documents.advise import Advice, AdviceStep, Advised, Effect, OfLoad, UnjudgedAdvice
    from ackclock.simulation.household import Target

AS_IT_IS = "as it is"
"""The label of the situation without a change."""
LOAD_TEXTS = {"down": "download alone", "up": "upload alone", "both": "both at once", "household": "a household"}
"""The loads of a link in a table."""
FROM_NOTHING = 1000
"""A ratio above it has no meaning but that there was next to nothing before."""
MAX_ROWS = 8
"""Rows of what gains nothing on the terminal; the JSON document and the report have all."""


def gain_text(value: float | None) -> str:
    """A ratio of scores as a gain: "+12 %"; from next to nothing, "> 1000 x"."""
    if value is None:
        return "-"
    if value > FROM_NOTHING:
        return f"> {FROM_NOTHING} x"
    percent = 100.0 * (value - 1.0)
    return f"{percent:+.0f} %" if abs(percent) >= 99.5 else f"{percent:+.3g} %"


def gain_range(lo: float | None, hi: float | None) -> str:
    """An interval of a ratio of scores as one of a gain."""
    return gain_text(lo) if lo is not None and lo > FROM_NOTHING else range_text(gain_text(lo), gain_text(hi))


def verdict(document: UnjudgedAdvice) -> str:
    """The advice in a sentence or two, or that there is none."""
    if not document["advice"]:
        return _without_advice(document)
    first = document["advice"][0]
    fair = document["goal"] == "fairness"
    if is_of_apps(document):
        who = joined(first["who"].split(","))
        before, after = (_targets_met(first["effect"], at, document["goal"]) for at in (0, 1))
        met = f"{after} of {len(targets_of_goal(document['goal']))} targets met, {before} as it is"
        return f"Change ({who}): {first['label']}: {felt_text(first['effect'])}; {met}."
    if loads := first.get("loads"):
        parts = [f"{LOAD_TEXTS[name]}: {_effect_text(of['effect'], fair)}" for name, of in loads.items()]
        effects = "; ".join(parts)
    else:
        effects = _effect_text(first["effect"], fair)
    who = joined(first["who"].split(","))
    text = f"Change ({who}): {first['label']}: {effects}."
    if one := first["gain"].get("one_run"):
        text += f" The score of one run changes by {gain_range(one['lo'], one['hi']).replace(' .. ', ' to ')}."
    return text


def is_of_apps(document: UnjudgedAdvice) -> bool:
    """Whether an advice was judged by a goal of applications."""
    return document["goal"] in APP_GOALS


def felt_text(changes: Mapping[str, Effect]) -> str:
    """What people feel without and with a change, then the goodputs."""
    parts = [target.clause(*_felt(target, changes)) for target in TARGETS]
    for name, side in (("download", "down"), ("upload", "up")):
        if goodput := changes.get(f"goodput_{side}_bps"):
            parts.append(f"{name} {rate(goodput['baseline'])}, now {rate(goodput['advised'])}")
    return "; ".join(parts)


def _targets_met(changes: Mapping[str, Effect], at: int, goal: str) -> int:
    """The number of targets that the means without (0) or with a change (1) meet."""
    figures = ((target, _value(changes.get(target.metric), at)) for target in targets_of_goal(goal))
    return sum(figure is not None and target.is_met(figure) for target, figure in figures)


def _felt(target: Target, changes: Mapping[str, Effect]) -> tuple[str, str]:
    """What people feel of an application without and with a change."""
    effect = changes.get(target.felt)
    sides = (effect["baseline"], effect["advised"]) if effect else (None, None)
    before, after = (NEVER if value is None else target.plain(value) for value in sides)
    return before, after


def _effect_text(changes: Mapping[str, Effect], fair: bool) -> str:
    """The goodput and the delay without and with a change, and Jain's index for fairness."""
    parts = []
    if "goodput_down_bps" in changes and "goodput_up_bps" in changes:
        parts.append(f"goodput {_both(changes, 'baseline')} to {_both(changes, 'advised')}")
    elif goodput := changes.get("goodput_bps"):
        parts.append(f"goodput {rate(goodput['baseline'])} to {rate(goodput['advised'])}")
    if sparse := changes.get("sparse_rtt_p95_ms"):
        before, after = milliseconds(sparse["baseline"]), milliseconds(sparse["advised"])
        parts.append(f"p95 RTT of a sparse flow {before} to {after}")
        if lost := _lost_text(changes):
            parts.append(lost)
    if fair and (jain := changes.get("jain")):
        both = (three(math.nan if of is None else of) for of in (jain["baseline"], jain["advised"]))
        parts.append(f"Jain's index {' to '.join(both)}")
    return ", ".join(parts)


def _both(changes: Mapping[str, Effect], key: Literal["baseline", "advised"]) -> str:
    """The goodputs of a download and an upload."""
    return " down and ".join(rate(changes[f"goodput_{side}_bps"][key]) for side in ("down", "up")) + " up"


def _without_advice(document: UnjudgedAdvice) -> str:
    """Why nothing is advised: nothing gains, or the fit does not support what does."""
    rest, fit = document["nothing_to_gain"], document.get("fit")
    more = f" Capture next: {'; '.join(fit['capture_next'])}." if fit and fit.get("capture_next") else ""
    if fit and fit.get("good_for") == "nothing":
        return f"No advice: the fit of the link is not good enough to choose by.{more}"
    tried = [row for row in rest if row["lo"] is not None]
    unsupported = next((row for row in tried if not row.get("supported", True)), None)
    if unsupported:
        text = f"No advice: the fit of the link supports none of the {len(rest)} changes tried."
    else:
        harmful = sum(bool(row.get("harm")) for row in rest)
        does = "does" if harmful == 1 else "do"
        but = f", and does no harm to others ({harmful} {does})" if harmful else ""
        text, more = f"Leave it as it is: none of the {len(rest)} changes tried gains 3 % beyond chance{but}.", ""
    if is_of_apps(document):
        text = f"{text} {_felt_as_it_is(document)}"
    if tried:
        best = unsupported or tried[0]
        interval = gain_range(best["lo"], best["hi"])
        gain = app_gain_text(best["gain"]) if is_of_apps(document) else f"{gain_text(best['gain'])} ({interval})"
        text += f" The best of them, {best['label']}: {gain}, {best['why']}."
    return text + more


def _felt_as_it_is(document: UnjudgedAdvice) -> str:
    """What people feel without a change, as a sentence."""
    metrics = document["baseline"]["metrics"]
    parts = []
    for target in TARGETS:
        found = metrics[target.felt]["mean"] if target.felt in metrics else None
        parts.append(target.clause(NEVER if found is None else target.plain(found), None))
    return f"As it is: {'; '.join(parts)}."


def _lost_text(effect: Mapping[str, Effect]) -> str:
    """The share of the sparse flow's round trips that lose a packet, where it has timeouts."""
    loss = effect.get("sparse_loss_rate")
    before, after = (loss["baseline"] or 0.0, loss["advised"] or 0.0) if loss else (0.0, 0.0)
    return (
        f"of its round trips {percent(before)} to {percent(after)} lose a packet" if max(before, after) > 0.05 else ""
    )


def tables(document: Advice) -> list[Table]:
    """The advised changes, and the first of the others."""
    found = []
    of_apps = is_of_apps(document)
    if document["advice"] and of_apps:
        found.append(_felt_table(document))
    elif document["advice"]:
        found.append(_transfers_table(document))
        if document.get("loads"):
            found.append(_loads_table(document))
    rest = _advice_table("Not advised", ["who"], ["gain", "seeds"])
    shown = document["nothing_to_gain"][:MAX_ROWS]
    for other in shown:
        who, what = other["who"].replace(",", ", "), f"{other['label']}: {other['why']}"
        text = app_gain_text(other["gain"]) if of_apps else gain_text(other["gain"])
        rest.add_row(who, text, str(other["n"]), what)
    if (left := len(document["nothing_to_gain"]) - len(shown)) > 0:
        rest.caption = f"{left} further change{'s' if left > 1 else ''}: --json, or the report."
    return [*found, rest]


KEEP = re.compile(r"[A-Z_]+=|\[ |if ")
"""Lines of a recipe that keep what was there before."""
UNDO_BY_ITSELF = "(trap"
"""What the line that undoes a change after 5 minutes begins with."""
CANCEL = "kill $UNDO"
"""What ends that."""
_RESTORE = re.compile(r'; \[ -z "\$(OLD\w*)" \] \|\| [^;)]*\$\1')
"""Of an undo: the part that brings back what was kept."""


def screen(document: Advice) -> tuple[list[Table], list[str]]:
    """The first advice in a screen: what people feel or how transfers fare, what to type, its undo,
    and the verdict last. Of the lines that guard the change as many are there as the screen has
    room for: those that keep what was there before and an undo by itself, that undo alone, or none.
    """
    if not document["advice"]:
        limits = named(document.get("limitations", ()))
        return [], ["`--all` prints what was tried.", *limits, str(document["verdict"])]
    first = document["advice"][0]
    of_apps = is_of_apps(document)
    brief: Advice = {**document, "advice": [first], "loads": []}
    table = _brief_felt_table(first) if of_apps else _transfers_table(brief)
    more = len(document["advice"]) - 1
    others = f", and {more} other choice{'s' * (more > 1)}" if more else ""
    device = [f"  if {text}" for text in first["preconditions"] if "DEV" in text][:1]
    unless = [f"Not if {first['unless'][0]}."] if first["unless"] else []
    limits = named(document.get("limitations", ()), with_command=not unless)
    # In one line: the guards of the change need the room.
    last = [*([" ".join([*unless, *limits])] if unless or limits else []), _brief_verdict(document)]
    guarded = (
        [*to_type(first["steps"], keeps=keeps, by_itself=by_itself), *device, f"`--all` has {beyond}{others}.", *last]
        for (keeps, by_itself), beyond in _GUARDS.items()
    )
    choices = chain(guarded, [[f"`--all` has the commands{others}.", *last]])
    return first_that_fits((([table], lines) for lines in choices), SCREEN[1])


_GUARDS = {
    (True, True): "costs and conditions",
    (False, True): "lines that also restore what was set before",
    (False, False): "lines with an undo by itself after 5 minutes",
}
"""Which guards are printed, whether those that keep what was before and whether the undo by itself,
and what `--all` has beyond that. The first that fits is taken.
"""


def to_type(steps: Sequence[AdviceStep], *, keeps: bool, by_itself: bool) -> list[str]:
    """What to type, by whom, and the undo: with what keeps the state before, and with an undo by
    itself, or without.
    """

    def is_typed(text: str) -> bool:
        if text.startswith("#") or text == CANCEL:
            return False
        return by_itself if text.startswith(UNDO_BY_ITSELF) else keeps or not KEEP.match(text)

    found: list[str] = []
    for who in dict.fromkeys(step["who"] for step in steps):
        own = [step["command"] for step in steps if step["who"] == who and is_typed(step["command"])]
        undo = [text for other, text in _undo(steps) if other == who and is_typed(text)]
        found += [f"To type on the {who}:"]
        found += [ToType(f"  {text if keeps else _RESTORE.sub('', text)}") for text in own]
        if any(text.startswith(UNDO_BY_ITSELF) for text in own):
            found.append(ToType(f"  {CANCEL}  # within 5 minutes, if the connection works"))
        found += [ToType(f"  undo: {'; '.join(undo)}")] if undo else []
    return found


def _brief_verdict(document: Advice) -> str:
    """The advice without the figures that the table has: of transfers the effect under the last
    load, which is both directions at once.
    """
    first = document["advice"][0]
    who = joined(first["who"].split(","))
    if not is_of_apps(document):
        effect, load = first["effect"], ""
        if loads := first.get("loads"):
            name, of = list(loads.items())[-1]
            effect, load = of["effect"], f"{LOAD_TEXTS[name]}: "
        return f"Change ({who}): {first['label']}: {load}{_effect_text(effect, document['goal'] == 'fairness')}."
    before, after = (_targets_met(first["effect"], at, document["goal"]) for at in (0, 1))
    met = f"{after} of {len(targets_of_goal(document['goal']))} targets met, {before} as it is"
    return f"Change ({who}): {first['label']}: {met}."


def _transfers_table(document: Advice) -> Table:
    """The gain of each advised change, and the goodput and a sparse flow's delay with it."""
    table = _advice_table("Advice", ["rank", "who"], ["gain", "95 % interval", "goodput", "sparse p95 RTT"])
    for row in document["advice"]:
        tie = "=" if row["tied_with"] else ""
        gain, changes = row["gain"], row["effect"]
        table.add_row(
            f"{row['rank']}{tie}",
            row["who"].replace(",", ", "),
            gain_text(gain["ratio"]),
            gain_range(gain["lo"], gain["hi"]),
            rate(changes["goodput_bps"]["advised"]),
            milliseconds(_sparse(changes)["advised"]),
            row["label"],
        )
    return table


_FELT_HEADS = [*(target.goal for target in TARGETS), "download", "upload"]


def _felt_table(document: Advice) -> Table:
    """What people feel as it is and with each advised change, a line for each."""
    table = _advice_table("What people feel", ["rank", "who"], _FELT_HEADS)
    table.add_row("", "", *_felt_cells(document["advice"][0]["effect"], "baseline"), AS_IT_IS)
    for row in document["advice"]:
        tie = "=" if row["tied_with"] else ""
        who = row["who"].replace(",", ", ")
        table.add_row(f"{row['rank']}{tie}", who, *_felt_cells(row["effect"], "advised"), row["label"])
    return table


def _brief_felt_table(first: Advised) -> Table:
    """What people feel as it is and with one change, which the verdict names."""
    table = text_table("What people feel", [""], _FELT_HEADS)
    table.add_row(AS_IT_IS, *_felt_cells(first["effect"], "baseline"))
    table.add_row("with the change", *_felt_cells(first["effect"], "advised"))
    return table


def _felt_cells(effect: Mapping[str, Effect], side: Literal["baseline", "advised"]) -> list[str]:
    felt = [_felt(target, effect)[side == "advised"] for target in TARGETS]
    goodputs = (effect.get(f"goodput_{one}_bps") for one in ("down", "up"))
    return [*felt, *("-" if goodput is None else rate(goodput[side]) for goodput in goodputs)]


def app_gain_text(value: float | None) -> str:
    """A ratio of scores of a goal of applications, whose targets count before all else."""
    if value is None or TARGET_MET**-0.5 < value < TARGET_MET**0.5:
        return gain_text(value)
    return "more targets" if value > 1.0 else "fewer targets"


def _loads_table(document: Advice) -> Table:
    """The gain of each advised change under each load of a link, side by side, and what the first
    one changes there.
    """
    loads = document["loads"]
    title = "Gain under each load"
    table = Table(title=title, title_justify="left", caption_justify="left", box=None, pad_edge=False)
    table.add_column("rank", no_wrap=True)
    for load in loads:
        table.add_column(LOAD_TEXTS[load], justify="right")
    for row in document["advice"]:
        table.add_row(str(row["rank"]), *(gain_text(_of_load(row, load)["gain"]["ratio"]) for load in loads))
    first = document["advice"][0]
    for words, text in (("goodput", _goodput_change), ("sparse p95", _delay_change)):
        table.add_row(f"1: {words}", *(text(_of_load(first, load)["effect"]) for load in loads))
    return table


def _of_load(row: Advised, load: str) -> OfLoad:
    """What a change of a link does under a load."""
    assert row["loads"] is not None
    return row["loads"][load]


def _goodput_change(changes: Mapping[str, Effect]) -> str:
    """The goodput with a change, and below it that without."""
    sides = [changes[key] for key in ("goodput_down_bps", "goodput_up_bps") if key in changes] or [
        changes["goodput_bps"]
    ]
    return "\n".join(f"{rate(of['baseline'])} to {rate(of['advised'])}" for of in sides)


def _delay_change(changes: Mapping[str, Effect]) -> str:
    """The delay of a sparse flow without and with a change."""
    of = _sparse(changes)
    return f"{milliseconds(of['baseline'])} to {milliseconds(of['advised'])}"


def _sparse(changes: Mapping[str, Effect]) -> Effect:
    """The delay of a sparse flow without and with a change; nulls without one."""
    return changes.get("sparse_rtt_p95_ms", {"baseline": None, "advised": None, "lo": None, "hi": None})


def _advice_table(title: str, text: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table whose last column, the change, stands below each row."""
    table = TextBelow(title=title, title_justify="left", caption_justify="left", box=None, pad_edge=False)
    for column in (*text, *numbers):
        table.add_column(column, justify="right" if column in numbers else "left", no_wrap=True)
    table.add_column("change")
    return table


def lines(document: Advice, *, every: bool = False) -> list[str]:
    """What stands below the tables: what to type for the first advice, or for `every` one, how to
    undo it, costs and conditions.
    """
    found = [str(document["verdict"])]
    shown = document["advice"] if every else document["advice"][:1]
    for row in shown:
        if row["rank"] > 1:
            found += ["", f"Rank {row['rank']}: {row['label']}"]
        found += [ToType(f"  {step['who']}: {step['command']}") for step in row["steps"]]
        found += [f"  if {text}" for text in row["preconditions"]]
        if row["undo"]:
            found += ["Undo:", *(ToType(f"  {who}: {text}") for who, text in _undo(row["steps"]))]
        for other in row["alternatives"]:
            found.append(f"{other['system']}, in place of the lines of the {other['who']}:")
            found += [ToType(f"  {text}") for text in other["commands"]]
            found.append(f"Undo ({other['system']}):")
            found += [ToType(f"  {text}") for text in other["undo"]]
        found += [f"Benefit: {benefit['text']}." for benefit in row.get("benefits") or ()]
        for cost in row["costs"] or ():
            certain = "" if cost["certain"] else " (not certain)"
            found.append(f"Cost, paid by {cost['who_pays']}: {cost['text']}{certain}.")
        if row["unless"]:
            found.append(f"Not if {' or '.join(row['unless'])}.")
        elif row["unless"] is not None:
            found.append(
                f"It gains, or is the same, under all {len(row['conditions'] or ())} neighbouring conditions tried."
            )
    for row in document["advice"][len(shown) :]:
        gain = (app_gain_text if is_of_apps(document) else gain_text)(row["gain"]["ratio"])
        found.append(f"Rank {row['rank']} ({row['who']}): {gain}, {row['label']}")
    if len(shown) < len(document["advice"]):
        found.append("With --all, what to type for these, too.")
    return [*found, *document["notes"]]


def _undo(steps: Sequence[AdviceStep]) -> list[tuple[str, str]]:
    """The undo of an advice, the last step's first, each line with who types it."""
    return list(dict.fromkeys((step["who"], text) for step in reversed(steps) for text in step["undo"]))


def page(document: Advice) -> Page:
    """The report: an advice to hand on. What to type, its price and how to undo it stand first,
    then what it gains, then what else was tried.
    """
    sections = []
    if document["advice"]:
        sections += [_to_type(document["advice"][0])]
    if is_of_apps(document):
        sections = [*_felt_page(document), *sections]
    else:
        sections.append(Section("Goodput and delay of all changes", [_pareto(document)]))
    if document["advice"]:
        if not is_of_apps(document):
            sections.append(Section("Advice", [_advised(document)]))
        if document.get("loads") and not is_of_apps(document):
            sections.append(Section("Under each load", [_loads_page(document)]))
        if document["advice"][0]["conditions"]:
            sections.append(Section("Under other conditions", [_conditions(document["advice"][0])]))
    rest = [
        [
            Cell(row["label"]),
            Cell(row["who"].replace(",", ", ")),
            Cell((app_gain_text if is_of_apps(document) else gain_text)(row["gain"]), note=count(row["n"], "seed")),
            Cell(row["why"]),
        ]
        for row in document["nothing_to_gain"]
    ]
    wanted = [Column("Change", room="wide"), Column("Who"), Column("Gain", numeric=True), Column("Why", room="medium")]
    sections.append(Section("Not advised", [PageTable(wanted, rest)]))
    runs = document["runs"]["count"]
    return Page(
        title=f"Advice for {document['title'] or document['what']}",
        subtitle=f"goal: {document['goal']}; {joined(document['may'])} may act; {runs} simulated runs",
        answer=str(document["verdict"]),
        because="",
        sections=sections,
        notes=document["notes"],
        kind="advise",
        facts=facts_named(document.get("limitations", ())),
    )


def _felt_page(document: Advice) -> list[Section]:
    """The picture of what people feel without and with the first advice, and all advices."""
    from ackclock.plot.vega import FeltRow, before_and_after

    if not document["advice"]:
        return []
    first = document["advice"][0]["effect"]
    parts = []
    for target in TARGETS:
        rows: list[FeltRow] = []
        for at, name in enumerate(("As it is", "With the advice")):
            met_by, felt = (_value(first.get(metric), at) for metric in (target.metric, target.felt))
            text = f"{name}: {NEVER if felt is None else target.shown(felt)}"
            rows.append(
                {"side": name, "value": felt, "text": text, "met": met_by is not None and target.is_met(met_by)}
            )
        parts.append((*target.scale, rows))
    rule = "; ".join(f"{target.app}: {target.text}" for target in TARGETS)
    reading = (
        f"Beside a download and an upload, means over the seeds. Green: as people want it ({rule}). Orange: not so."
    )
    chart = Chart("What people feel on this link", reading, before_and_after(parts))
    heads = [Column(target.goal.capitalize(), numeric=True) for target in TARGETS]
    columns = [Column("Change", room="wide"), Column("Rank", numeric=True), Column("Who"), *heads]
    columns += [Column("Download", numeric=True), Column("Upload", numeric=True)]
    table = []
    for row in document["advice"]:
        effect = row["effect"]
        goodputs = [effect[f"goodput_{side}_bps"] for side in ("down", "up")]
        felt_cells = [Cell(after, note=f"from {before}") for before, after in (_felt(one, effect) for one in TARGETS)]
        table.append(
            [
                Cell(row["label"]),
                Cell(str(row["rank"]), note="tied" if row["tied_with"] else ""),
                Cell(row["who"].replace(",", ", ")),
                *felt_cells,
                *(Cell(rate(one["advised"]), note=f"from {rate(one['baseline'])}") for one in goodputs),
            ]
        )
    best = ["best" if row["rank"] == 1 else "" for row in document["advice"]]
    return [Section("What people feel", [chart]), Section("Advice", [PageTable(columns, table, "", best)])]


def _value(effect: Effect | None, at: int) -> float | None:
    """A figure without (0) or with a change (1)."""
    return effect and (effect["baseline"], effect["advised"])[at]


def _to_type(first: Advised) -> Section:
    """What to type for an advice, by whom, its conditions and costs, and how to undo it."""
    by_who: dict[str, list[str]] = {}
    for step in first["steps"]:
        by_who.setdefault(step["who"], []).append(step["command"])
    blocks: list[Block] = [
        Listing(f"To type: the {who}", "\n".join(commands), open=True) for who, commands in by_who.items()
    ]
    facts = [("If", text) for text in first["preconditions"]]
    facts += [("Benefit", benefit["text"]) for benefit in first.get("benefits") or ()]
    facts += [
        (f"Cost, paid by {cost['who_pays']}", cost["text"] + ("" if cost["certain"] else " (not certain)"))
        for cost in first["costs"] or ()
    ]
    if first["unless"]:
        facts.append(("Not if", " or ".join(first["unless"])))
    elif first["unless"] is not None:
        facts.append(
            ("Neighbouring conditions", f"a gain, or the same, under all {len(first['conditions'] or ())} tried")
        )
    if facts:
        blocks.append(Facts(facts))
    if first["undo"]:
        undo: dict[str, list[str]] = {}
        for who, text in _undo(first["steps"]):
            undo.setdefault(who, []).append(text)
        blocks += [Listing(f"To undo it: the {who}", "\n".join(texts), open=True) for who, texts in undo.items()]
    for other in first["alternatives"]:
        what = f"{other['system']}, in place of the lines of the {other['who']}"
        blocks.append(Listing(f"To type: {what}", "\n".join(other["commands"])))
        blocks.append(Listing(f"To undo it: {what}", "\n".join(other["undo"])))
    return Section("What to type", blocks)


def _advised(document: Advice) -> PageTable:
    columns = [Column("Change", room="wide"), Column("Rank", numeric=True), Column("Who"), Column("Gain", numeric=True)]
    columns += [Column("Goodput", numeric=True), Column("Sparse p95 RTT", numeric=True)]
    rows = []
    for row in document["advice"]:
        gain, changes = row["gain"], row["effect"]
        interval = gain_range(gain["lo"], gain["hi"])
        goodput, sparse = changes["goodput_bps"], _sparse(changes)
        rows.append(
            [
                Cell(row["label"]),
                Cell(str(row["rank"]), note="tied" if row["tied_with"] else ""),
                Cell(row["who"].replace(",", ", ")),
                Cell(gain_text(gain["ratio"]), note=interval),
                Cell(rate(goodput["advised"]), note=f"from {rate(goodput['baseline'])}"),
                Cell(milliseconds(sparse["advised"]), note=f"from {milliseconds(sparse['baseline'])}"),
            ]
        )
    reading = (
        "The gain is the ratio of the goal's scores with its 95 % interval; the other figures are means of the runs."
    )
    return PageTable(columns, rows, reading, ["best" if row["rank"] == 1 else "" for row in document["advice"]])


def _loads_page(document: Advice) -> PageTable:
    """What each advised change does under each load of a link, side by side."""
    columns = [Column("Change", room="wide"), *(Column(LOAD_TEXTS[load], room="medium") for load in document["loads"])]
    rows = []
    for row in document["advice"]:
        cells = [Cell(row["label"])]
        for load in document["loads"]:
            of = _of_load(row, load)
            note = f"{_goodput_change(of['effect'])}; {_delay_change(of['effect'])}".replace("\n", ", ")
            cells.append(Cell(gain_text(of["gain"]["ratio"]), note=note))
        rows.append(cells)
    reading = (
        "The gain of the goal's score under each load; the gain of a change is their mean. Below it goodput and p95 "
        "RTT of a sparse flow, without and with the change."
    )
    return PageTable(columns, rows, reading)


def _conditions(row: Advised) -> PageTable:
    rows = [
        [
            Cell(one["condition"]),
            Cell(gain_text(one["gain"]), note=f"{gain_text(one['lo'])} .. {gain_text(one['hi'])}"),
            Cell("flips" if one["flips"] else "", tone="bad" if one["flips"] else ""),
        ]
        for one in row["conditions"] or ()
    ]
    return PageTable([Column("Condition", room="wide"), Column("Gain", numeric=True), Column("Verdict")], rows)


def _pareto(document: Advice) -> Chart:
    """Goodput over the p95 RTT of a sparse flow, a point for each change."""
    from ackclock.plot.vega import ChangePoint, pareto

    advised = [row["label"] for row in document["advice"]]
    rows: list[ChangePoint] = [
        {
            "change": point["label"],
            "role": AS_IT_IS if point["label"] == AS_IT_IS else "advised" if point["label"] in advised else "tried",
            "name": AS_IT_IS if point["label"] == AS_IT_IS else "first advice" if point["label"] in advised[:1] else "",
            "goodput": point["goodput_bps"] / 1e6,
            "rtt": point["sparse_rtt_p95_ms"],
        }
        for point in document["points"]
    ]
    reading = (
        "A point for each change: means of its runs. Up and to the left is better; the dashed line joins the changes "
        "that no other surpasses in both. The pointer over a point shows the change."
    )
    return Chart("Goodput and delay of all changes", reading, pareto(rows))
