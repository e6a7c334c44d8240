"""The answer of a comparison by a goal of applications: what people feel as the link is and with
the recommended choice, in words, as tables for a terminal, and as sections of the report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from ackclock.format import joined, rate, rate_range, sentence
from ackclock.goals import APP_GOALS
from ackclock.input.link.bottleneck import AS_IS
from ackclock.plot import vega
from ackclock.report.cells import metric_cell
from ackclock.report.page import Cell, Chart, Column, Section
from ackclock.report.page import Table as PageTable
from ackclock.simulation.goals import formula, targets_of_goal
from ackclock.simulation.household import NEVER, TARGETS, Target
from ackclock.simulation.loads import HOUSEHOLD
from ackclock.statistics import NEAR_THE_BEST

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.documents.compare import Comparison, Judgement, ScoredChoice
    from ackclock.documents.parts import Estimate, Metrics
    from ackclock.documents.simulate import HouseholdTarget

FEWEST = "; within 5 % the fewest changes"
"""What decides between choices that are as good (`HouseholdJudge.is_as_good`)."""
MUCH_NEARER = 0.15
"""Another choice is named for an application whose figure is nearer to its target by this."""
MAX_NAMED = 2
"""Maximum number of choices that are named as good."""
BULK = (("a download", "down_goodput_bps"), ("an upload", "up_goodput_bps"))
"""The rates beside the applications."""
_TARGETS = {target.app: target for target in TARGETS}


def is_of_apps(document: Comparison) -> bool:
    """Whether a comparison was judged by a goal of applications."""
    return document.get("goal") in APP_GOALS and bool(document.get("judgement"))


def paragraphs(document: Comparison) -> list[str]:
    """The parts of the verdict, each of whole sentences."""
    return [answer(document), *reasons(document)]


def answer(document: Comparison) -> str:
    """What to use and what people feel before and after; that nothing is to be gained; that nothing
    works.
    """
    before, after = _before_and_after(document)
    if after is None:
        return f"Keep the link as it is: {_feels(before, None)}. {_met_text(document, before)}"
    return f"Use {_change(document, after)}: {_feels(before, after)}. {_met_text(document, before, after)}"


def reasons(document: Comparison) -> list[str]:
    """The rule, how far the best other choices are, and those that are refused for their harm."""
    judgement = _judgement(document)
    before, after = _before_and_after(document)
    refused = [choice for choice in judgement["choices"] if choice["harm"]]
    parts = [formula(judgement["goal"], FEWEST) + _bound(judgement)]
    if after is None:
        parts.append(_none_better(judgement))
    else:
        parts += filter(None, [_queue_alone(document, after), _as_good(document, after)])
    parts += _better_for_one(document, after or before)
    parts += [_refused(document, choice) for choice in refused[:2]]
    if after is not None:
        variant, queue = _params(document, after)
        who = ["the queue is that of the device before the bottleneck"] if queue != AS_IS else []
        who += ["each sender has its own congestion control"] if variant != _usual(document) else []
        parts.append(f"{sentence('; '.join(who))}. `ackclock advise` has what to type.")
    return parts


def _none_better(judgement: Judgement) -> str:
    others = len(judgement["choices"]) - 1
    without_harm = " without harm" if any(choice["harm"] for choice in judgement["choices"]) else ""
    return f"None of the {others} other choices does better by this rule{without_harm}."


def _refused(document: Comparison, choice: ScoredChoice) -> str:
    """Why a choice is not recommended."""
    harm = "; ".join(one["text"] for one in choice["harm"] or ())
    return f"{_in_words(document, choice)} is not recommended: {harm}."


def _bound(judgement: Judgement) -> str:
    if judgement["goal"] != HOUSEHOLD:
        return ""
    return " A choice that meets no more of them must not make an application worse that misses its target."


def _judgement(document: Comparison) -> Judgement:
    judgement = document.get("judgement")
    assert judgement is not None
    return judgement


def _before_and_after(document: Comparison) -> tuple[ScoredChoice, ScoredChoice | None]:
    """The host's defaults over the link as it is, and what is recommended; None if it is them."""
    judgement = _judgement(document)
    by_label = {choice["label"]: choice for choice in judgement["choices"]}
    recommended = judgement["recommended"]
    before = by_label[judgement["defaults"]]
    return before, None if recommended in (None, judgement["defaults"]) else by_label[recommended]


def _params(document: Comparison, choice: ScoredChoice) -> tuple[str, str]:
    """The variant and the queue of a choice."""
    of = (ranked["params"] for ranked in document["ranking"] if ranked["label"] == choice["label"])
    params = next(of, None)
    return (str(params["variant"]), str(params["queue"])) if params else (choice["label"], AS_IS)


def _usual(document: Comparison) -> str:
    """The host's own variant."""
    return _params(document, _before_and_after(document)[0])[0]


def _change(document: Comparison, choice: ScoredChoice) -> str:
    """What a choice changes: "a cake queue in both directions and bbr"."""
    usual = _usual(document)
    variant, queue = _params(document, choice)
    parts = [f"{_article(queue)} {queue} queue in both directions"] if queue != AS_IS else []
    parts += [variant] if variant != usual or not parts else []
    rest = choice["label"].partition(", ")[2].removeprefix("auto buffers").removeprefix(", delayed ACK")
    extra = [part for part in rest.split(", ") if part and part != f"{queue} queue"]
    return joined([*parts, *extra])


def _short(document: Comparison, choice: ScoredChoice) -> str:
    """The queue, if it is another one, and the variant, if it is."""
    return _change(document, choice).removeprefix("an ").removeprefix("a ").replace(" queue in both directions", "")


def _in_words(document: Comparison, choice: ScoredChoice) -> str:
    variant, queue = _params(document, choice)
    return f"{variant} with {f'{_article(queue)} {queue} queue' if queue != AS_IS else 'the queues as they are'}"


def _article(queue: str) -> str:
    return "an" if queue.startswith("fq") else "a"


def _feels(before: ScoredChoice, after: ScoredChoice | None) -> str:
    """What people feel before and after, an application each, then the rates."""
    parts = []
    for at, target in enumerate(before["targets"]):
        now = after["targets"][at]["felt_text"] if after else None
        parts.append(_TARGETS[target["app"]].clause(target["felt_text"], now))
    return "; ".join(parts)


def _met_text(document: Comparison, before: ScoredChoice, after: ScoredChoice | None = None) -> str:
    """How many of the goal's targets are met, and the rates."""
    text, rates = _count_text(document, before, after), _rates(document, before)
    if after is None:
        return f"{text}; {', '.join(f'{name} gets {rate(bps)}' for name, bps in rates.items())}."
    others = _rates(document, after)
    changes = ", ".join(f"{name} gets {rate(bps)}, now {rate(others[name])}" for name, bps in rates.items())
    return f"{text}; {changes}."


def _count_text(document: Comparison, before: ScoredChoice, after: ScoredChoice | None) -> str:
    """How many of the goal's targets are met, and which are not."""
    goal = _judgement(document)["goal"]
    was, of = _met(goal, before), len(targets_of_goal(goal))
    if after is None:
        return f"{was} of {of} {'target is' if of == 1 else 'targets are'} met"
    counted = {target.app for target in targets_of_goal(goal)}
    missed = [target["app"] for target in after["targets"] if not target["met"] and target["app"] in counted]
    but = f" (all but {joined(missed)})" if 0 < len(missed) < of else ""
    return f"{_met(goal, after)} of {of} {'target is' if of == 1 else 'targets are'} met{but}, {was} as it is"


def _met(goal: str, choice: ScoredChoice) -> int:
    counted = {target.app for target in targets_of_goal(goal)}
    return sum(target["met"] for target in choice["targets"] if target["app"] in counted)


def _of_household(document: Comparison, choice: ScoredChoice) -> Metrics:
    """The figures of a choice with the household; empty of defaults that are not compared."""
    loads = (cell.get("loads", {}) for cell in document["cells"] if cell["label"] == choice["label"])
    return next(loads, {}).get(HOUSEHOLD, {})


def _rates(document: Comparison, choice: ScoredChoice) -> dict[str, float]:
    metrics = _of_household(document, choice)
    return {name: bps for name, metric in BULK if metric in metrics and (bps := metrics[metric]["mean"]) is not None}


def _queue_alone(document: Comparison, after: ScoredChoice) -> str:
    """What the best queue does with the host's own variant, where the recommended choice has
    another variant: who sets the queue is not who sends.
    """
    judgement, usual = _judgement(document), _usual(document)
    if _params(document, after)[0] == usual or _params(document, after)[1] == AS_IS:
        return ""
    own = (one for one in judgement["choices"] if _params(document, one)[0] == usual and not one["harm"])
    best = next((one for one in own if _params(document, one)[1] != AS_IS), None)
    if best is None:
        return ""
    goal = judgement["goal"]
    met = f"{_met(goal, best)} of {len(targets_of_goal(goal))} targets"
    rates = " and ".join(f"{name} {rate(bps)}" for name, bps in _rates(document, best).items())
    return f"The queue alone, {_in_words(document, best)}: {met}, {rates}."


def _is_worse(target: HouseholdTarget, than: HouseholdTarget) -> bool:
    """Whether an application misses its target and is worse than with another choice."""
    known = _TARGETS[target["app"]]
    worst = -math.inf if known.is_minimum else math.inf
    figure, other = (worst if one["found"] is None else one["found"] for one in (target, than))
    return not target["met"] and figure != other and known.worse(figure, other)


def _better_for_one(document: Comparison, answer: ScoredChoice) -> list[str]:
    """The applications that miss their target and are much better with another choice, a sentence
    for each: the targets do not weigh them against the rates.
    """
    judgement, found = _judgement(document), []
    others = [choice for choice in judgement["choices"] if choice is not answer and not choice["harm"]]
    for at, target in enumerate(answer["targets"]):
        known = _TARGETS[target["app"]]

        def nearness(choice: ScoredChoice, at: int = at, known: Target = known) -> float:
            figure = choice["targets"][at]["found"]
            return 0.0 if figure is None else known.nearness({known.metric: figure})

        best = max(others, key=nearness, default=answer)
        if target["met"] or nearness(best) < nearness(answer) + MUCH_NEARER:
            continue
        rates = " and ".join(f"{name} {rate(bps)}" for name, bps in _rates(document, best).items())
        found.append(
            f"Better for {target['app']} is {_in_words(document, best)}: {best['targets'][at]['shown']}, {rates} "
            f"(`--goal {known.goal}`)."
        )
    return found


def _as_good(document: Comparison, after: ScoredChoice) -> str:
    """The choices that meet as many targets and are at most 5 % worse than the recommended one."""
    judgement = _judgement(document)
    goal, best = judgement["goal"], after["score"]["mean"] or math.nan
    equal = [
        choice
        for choice in judgement["choices"]
        if choice is not after
        and _met(goal, choice) == _met(goal, after)
        and (choice["score"]["mean"] or math.nan) / best >= 1.0 - NEAR_THE_BEST
        and not choice["harm"]
        and not any(_is_worse(*both) for both in zip(choice["targets"], after["targets"], strict=True))
    ]
    if not equal:
        return ""
    variant = _params(document, after)[0]
    equal.sort(key=lambda choice: _params(document, choice)[0] != variant)
    named = [_in_words(document, choice) for choice in equal[:MAX_NAMED]]
    more = [f"{left} other{'s' if left > 1 else ''}"] if (left := len(equal) - len(named)) else []
    untested = "" if all(choice["harm"] is not None for choice in equal) else ", not tested beside other flows"
    return f"As good{untested}: {joined([*named, *more])}."


# Tables


def tables(document: Comparison) -> list[Table]:
    """What people feel, a line for each application; then all choices."""
    from ackclock.terminal import text_table

    before, after = _before_and_after(document)
    seeds = _judgement(document)["seeds"]
    heads = [AS_IT_IS, *([f"with {_short(document, after)}"] if after else []), "wanted"]
    link = document["title"] or (document["link"] if document["link"] != "inline" else "this link")
    felt = text_table(f"A household on {link}. {answer(document)}", ["", *heads], [])
    for row in _felt_rows(document, before, after):
        felt.add_row(*row)
    if seeds > 1:
        felt.caption = f"Medians over {seeds} seeds, in parentheses their range."
        felt.caption_justify = "left"
    every = _choices_table(document, "All choices", _judgement(document)["choices"])
    every.caption = "\n".join(reasons(document))
    every.caption_justify = "left"
    return [felt, every]


def screen_tables(document: Comparison, rows: int) -> list[Table]:
    """What people feel without its ranges; then the best choice with each queue, of at most `rows`
    queues, or the best choices where there is one queue.
    """
    from ackclock.terminal import text_table

    before, after = _before_and_after(document)
    seeds = _judgement(document)["seeds"]
    heads = [AS_IT_IS, *([f"with {_short(document, after)}"] if after else []), "wanted"]
    found = [text_table(f"A household on {_called(document)}", ["", *heads], [])]
    for row in _felt_rows(document, before, after, ranges=False):
        found[0].add_row(*row)
    choices = _judgement(document)["choices"]
    best = _best_of_each_queue(document, after or before)
    title = "The best choice with each queue"
    if len(best) == 1:
        title, best = "The best choices", [choice for choice in choices if not choice["harm"]]
    if rows > 1 and len(choices) > 2:
        found.append(_choices_table(document, title, best[:rows]))
    medians = f"Medians over {seeds} seeds. " if seeds > 1 else ""
    found[-1].caption = f"{medians}`--all` prints all {len(choices)} choices, the ranges and the rule."
    found[-1].caption_justify = "left"
    return found


def _called(document: Comparison) -> str:
    """The link as a word: its name, or the title of one without."""
    name = document["link"]
    return (document["title"] or "this link") if name == "inline" else PurePath(name).name


def _best_of_each_queue(document: Comparison, answer: ScoredChoice) -> list[ScoredChoice]:
    """The best choice with each queue that is not refused, best first; `answer` with its own."""
    found = {_params(document, answer)[1]: answer}
    choices = _judgement(document)["choices"]
    for choice in choices:
        if not choice["harm"]:
            found.setdefault(_params(document, choice)[1], choice)
    return [choice for choice in choices if choice in found.values()]


def screen_sentences(document: Comparison) -> list[str]:
    """What is to be known beside the verdict, the most important first."""
    before, after = _before_and_after(document)
    refused = [choice for choice in _judgement(document)["choices"] if choice["harm"]]
    found = [*_better_for_one(document, after or before), *(_refused(document, choice) for choice in refused[:1])]
    if after is not None:
        found += filter(None, [_queue_alone(document, after), _as_good(document, after)])
    return found


def screen_verdict(document: Comparison) -> str:
    """The answer without the figures that the table of what people feel has."""
    before, after = _before_and_after(document)
    count = _count_text(document, before, after)
    if after is None:
        return f"Keep the link as it is: {count}. {_none_better(_judgement(document))}"
    return f"Use {_change(document, after)}: {count}. `ackclock advise` has what to type."


def _choices_table(document: Comparison, title: str, choices: Sequence[ScoredChoice]) -> Table:
    from ackclock.terminal import text_table

    table = text_table(title, ["queue", "variant"], [head for head, _ in _COLUMNS])
    for choice in choices:
        variant, queue = _params(document, choice)
        table.add_row(AS_IT_IS if queue == AS_IS else queue, variant, *_cells(document, choice))
    return table


AS_IT_IS = "as it is"
_COLUMNS: Sequence[tuple[str, str]] = (
    ("targets\nmet", ""),
    *((f"{target.goal}", target.app) for target in TARGETS),
    ("download", "down_goodput_bps"),
    ("upload", "up_goodput_bps"),
)


def _cells(document: Comparison, choice: ScoredChoice) -> list[str]:
    goal, metrics = _judgement(document)["goal"], _of_household(document, choice)
    met = f"{_met(goal, choice)} of {len(targets_of_goal(goal))}"
    felt = [target["shown"].partition(", ")[0] for target in choice["targets"]]
    rates = [rate(metrics[name]["mean"]) if name in metrics else "-" for _, name in BULK]
    return [met, *felt, *rates]


def _felt_rows(
    document: Comparison, before: ScoredChoice, after: ScoredChoice | None, *, ranges: bool = True
) -> list[list[str]]:
    """For each application its name, what people feel as it is and with the change, and the target;
    then the rates.
    """
    rows = []
    for at, target in enumerate(before["targets"]):
        sides = [_with_range(one["targets"][at], ranges=ranges) for one in (before, after) if one]
        rows.append([target["app"], *sides, _TARGETS[target["app"]].wanted])
    for name, metric in BULK:
        sides = [_rate(_of_household(document, one).get(metric), ranges=ranges) for one in (before, after) if one]
        rows.append([name, *sides, ""])
    return rows


def _with_range(target: HouseholdTarget, *, ranges: bool) -> str:
    known, lo, hi = _TARGETS[target["app"]], target["lo"], target["hi"]
    if lo is None or hi is None or target["felt_text"] == NEVER:
        return target["shown"]
    shown = target["shown"].replace(" times its time alone", " x alone")
    ends = [known.figure(end).partition(" times")[0] for end in (lo, hi)]
    return shown if not ranges or ends[0] == ends[1] else f"{shown} ({ends[0]} to {ends[1]})"


def _rate(bps: Estimate | None, *, ranges: bool) -> str:
    if bps is None or bps["mean"] is None:
        return "-"
    if not ranges or bps["lo"] is None or bps["hi"] is None or rate(bps["lo"]) == rate(bps["hi"]):
        return rate(bps["mean"])
    return f"{rate(bps['mean'])} ({rate_range(bps['lo'], bps['hi'])})"


# Report


def sections(document: Comparison) -> list[Section]:
    """The picture of what people feel, and the table of all choices with intervals."""
    before, after = _before_and_after(document)
    rule = "; ".join(f"{target['app']}: {target['target']}" for target in before["targets"])
    reading = (
        "Beside a download and an upload that take what they get, the median over the seeds. Green: as people want it "
        f"({rule}). Orange: not so."
    )
    sides: list[tuple[str, ScoredChoice]] = [("As it is", before)]
    if after:
        sides.append((f"With {_short(document, after)}", after))
    parts = []
    for at, target in enumerate(TARGETS):
        title, lo, hi = target.scale
        rows: list[vega.FeltRow] = []
        for name, choice in sides:
            of = choice["targets"][at]
            rows.append({"side": name, "value": of["felt"], "text": f"{name}: {of['shown']}", "met": of["met"]})
        parts.append((title, lo, hi, rows))
    chart = Chart("What people feel on this link", reading, vega.before_and_after(parts))
    return [Section("What people feel", [chart]), Section("All choices", [_table(document)])]


def _table(document: Comparison) -> PageTable:
    judgement = _judgement(document)
    columns = [Column("Choice", room="medium"), Column("Targets met", numeric=True)]
    columns += [
        Column("Call: MOS", numeric=True),
        Column("Page (s)", numeric=True),
        Column("Page: times its time alone", numeric=True),
        Column("Game: late (%)", numeric=True),
        Column("Download (Mb/s)", numeric=True),
        Column("Upload (Mb/s)", numeric=True),
        Column("Harm", room="wide"),
    ]
    figures: Sequence[tuple[str, float]] = (
        ("call_mos", 1.0),
        ("page_load_s", 1.0),
        ("page_times_alone", 1.0),
        ("game_late_share", 100.0),
        ("down_goodput_bps", 1e-6),
        ("up_goodput_bps", 1e-6),
    )
    rows, emphasis = [], []
    for choice in judgement["choices"]:
        metrics: Mapping[str, Estimate] = _of_household(document, choice)
        harm = "; ".join(one["text"] for one in choice["harm"] or ())
        rows.append(
            [
                Cell(_in_words(document, choice)),
                Cell(f"{_met(judgement['goal'], choice)} of {len(targets_of_goal(judgement['goal']))}"),
                *(metric_cell(metrics.get(name), scale) for name, scale in figures),
                Cell(harm or ("none" if choice["harm"] is not None else "not tested"), tone="bad" if harm else ""),
            ]
        )
        emphasis.append("best" if choice["label"] == judgement["recommended"] else "")
    reading = (
        f"{formula(judgement['goal'], FEWEST)} Figures are means over the seeds with the 95 % interval below; targets are judged by "
        "medians. Harm: what falls below half of what the host's defaults leave to a flow beside it, or an application "
        "that gets worse."
    )
    return PageTable(columns, rows, reading, emphasis)
