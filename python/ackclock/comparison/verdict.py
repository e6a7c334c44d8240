"""The verdict of a comparison: the recommendation, its reason and its prices in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ackclock.comparison import household_answer
from ackclock.comparison.ack_path import HOST
from ackclock.comparison.configuration import buffers_in_words
from ackclock.comparison.loads import ASKED
from ackclock.comparison.prices import REFERENCE
from ackclock.comparison.reasons import RANKED
from ackclock.comparison.socket_buffers import needed
from ackclock.comparison.transports import STACK, TCP
from ackclock.format import joined, milliseconds, percent, rate, three
from ackclock.input.link.bottleneck import AS_IS
from ackclock.input.variant_groups import shown
from ackclock.simulation.harm import MEASURED_S, MIN_MEASURED_S, SEEDS, SETTLE_S
from ackclock.statistics import SAME_WITHIN

if TYPE_CHECKING:
    from ackclock.documents.compare import Comparison, Configuration, Price, Rank, ScoredChoice
    from ackclock.documents.parts import Estimate, Metrics, Ratio

Factor = Literal["variant", "receive_buffer", "delayed_ack", "queue", "ack_policy", "ack_technique", "transport"]
_FACTORS: tuple[tuple[str, Factor], ...] = (
    ("variant", "variant"),
    ("buffers", "receive_buffer"),
    ("delayed ACK", "delayed_ack"),
    ("queue", "queue"),
    ("ACK policy", "ack_policy"),
    ("hosts' ACK technique", "ack_technique"),
    ("transport", "transport"),
)


def verdict(document: Comparison) -> str:
    """The recommendation, its reason, its ties and its prices, from the ``cells``, the ``ranking``,
    the ``judgement`` choices and the ``prices`` of a comparison.
    """
    return " ".join(paragraphs(document))


def paragraphs(document: Comparison) -> list[str]:
    """The parts of the verdict, each of whole sentences."""
    if household_answer.is_of_apps(document):
        return household_answer.paragraphs(document)
    metrics = {cell["label"]: cell["metrics"] for cell in document["cells"]}
    return [recommendation(document, metrics), *reasons(document, metrics)]


def reasons(document: Comparison, metrics: Mapping[str, Metrics]) -> list[str]:
    """The reason for the recommendation, its score, its ties, its prices, the fastest choice with
    its price, and the choice for low latency, each of whole sentences.
    """
    recommended = recommended_label(document)
    parts = []
    if recommended:
        best = next(ranked for ranked in document["ranking"] if ranked["label"] == recommended)
        parts.append(f"{best['why']} {settings(best)}".strip())
        parts.append(by_goal(document, recommended))
        parts += otherwise(document)
        if best["rank"] == 1:
            parts.append(ties(document, metrics))
        parts.append(price(document, recommended))
    parts += [*harmed(document, metrics), first_look(document)]
    if (quick := document.get("quick")) and quick != recommended and is_within_bound(document, quick):
        parts.append(f"{low_latency(document, metrics, quick)} {price(document, quick)}".strip())
    return list(filter(None, parts))


def settings(ranked: Rank) -> str:
    """What the buffers of a choice need of the hosts, as a sentence; empty without any."""
    return f"These buffers need {lines}." if (lines := needed(ranked.get("settings", ()))) else ""


def recommended_label(document: Comparison) -> str | None:
    """The label of the recommended choice; None without one. A comparison of an earlier version
    recommended the first of the ranking.
    """
    return document.get("recommended", document["ranking"][0]["label"])


def recommendation(document: Comparison, metrics: Mapping[str, Metrics]) -> str:
    """What to use, with its goodput and p95 RTT, as a sentence.

    `metrics` are those of the cells, by label.
    """
    if not any("goodput_bps" in of and (of["goodput_bps"]["mean"] or 0.0) > 0.0 for of in metrics.values()):
        return "No configuration delivered data."
    label = recommended_label(document)
    if label is None:
        return f"Keep {REFERENCE}: none of these choices is better by the goal {document['goal']} without harm."
    of = metrics[label]
    params = next(ranked["params"] for ranked in document["ranking"] if ranked["label"] == label)
    sockets = buffers_in_words(params["send_buffer"], params["receive_buffer"])
    acks = "delayed ACKs" if params["delayed_ack"] else "an ACK for every segment"
    hosts = f" with {sockets} and {acks}" if params.get("transport", TCP) == TCP else ""
    rtt = f" at a p95 RTT of {three(of['rtt_p95_ms']['mean'] or math.nan)} ms" if "rtt_p95_ms" in of else ""
    return f"Use {shown(params['variant'])}{hosts}{_on_path(params)}: {_goodput(of['goodput_bps'])}{rtt}."


def _choice(document: Comparison, label: str) -> ScoredChoice | None:
    """A choice under the loads; None of those that did not run under them."""
    judgement = document.get("judgement")
    choices = judgement["choices"] if judgement else []
    return next((choice for choice in choices if choice["label"] == label), None)


def is_within_bound(document: Comparison, label: str) -> bool:
    """Whether a choice may be named beside the recommended one: it is within the bound of harm, or
    the bound was not asked.
    """
    judgement = document.get("judgement")
    of = _choice(document, label)
    return judgement is None or judgement["may_harm"] or (of is not None and of["harm"] == [])


def by_goal(document: Comparison, label: str) -> str:
    """The score of the recommended choice beside that of the host's defaults, as a sentence."""
    judgement = document.get("judgement")
    if "goal" not in document:
        return ""
    if judgement is None:
        return f"By the goal {document['goal']}, from its own flows alone: without runs beside other flows."
    of = _choice(document, label)
    over = "as asked" if list(_loads(document, label)) == [ASKED] else "a download, an upload and both at once"
    goal = f"By the goal {judgement['goal']}, {over},"
    if label == judgement["defaults"]:
        return f"{goal} no choice within the bound of harm is better: these are {REFERENCE}."
    gain = (of["gain"]["value"] or math.nan) - 1.0 if of and of["gain"] else 0.0
    if abs(gain) < SAME_WITHIN:
        return f"{goal} it is as good as {REFERENCE}."
    unsure = "" if of and of["gain"] and _excludes_1(of["gain"]) else f" (not certain by {judgement['seeds']} seeds)"
    return f"{goal} it is {percent(abs(gain))} {'better' if gain > 0.0 else 'worse'} than {REFERENCE}{unsure}."


def otherwise(document: Comparison) -> list[str]:
    """The conditions under which another choice would be recommended, a sentence for each."""
    judgement = document.get("judgement")
    found: dict[str, str] = {}
    for one in judgement.get("conditions", ()) if judgement else ():
        if one["flips"]:
            better = 1.0 / (one["gain"]["value"] or math.nan) - 1.0
            found.setdefault(
                one["condition"], f"Not so where {one['condition']}: {one['than']} is {percent(better)} better there."
            )
    return list(found.values())


def _loads(document: Comparison, label: str) -> Mapping[str, Metrics]:
    return next((cell.get("loads", {}) for cell in document["cells"] if cell["label"] == label), {})


def _excludes_1(ratio: Ratio) -> bool:
    return ratio["lo"] is not None and ratio["hi"] is not None and not ratio["lo"] <= 1.0 <= ratio["hi"]


def harmed(document: Comparison, metrics: Mapping[str, Metrics]) -> list[str]:
    """The fastest choice with its price where it is not the recommended one, and the choice with
    the best score that takes too much from others, as sentences.
    """
    judgement, recommended = document.get("judgement"), recommended_label(document)
    if judgement is None:
        return []
    found = []
    fastest = judgement["fastest"]
    if not recommended or _goodput_of(metrics, recommended) < (1.0 - SAME_WITHIN) * _goodput_of(metrics, fastest):
        of = _choice(document, fastest)
        text = f"The fastest is {fastest}: {_goodput(metrics[fastest]['goodput_bps'])}."
        if of and of["harm"] and not judgement["may_harm"]:
            found.append(f"{text} It is not recommended: {_harms(of)}.")
        else:
            if of and of["gain"] and abs(gain := (of["gain"]["value"] or math.nan) - 1.0) >= SAME_WITHIN:
                better = "better" if gain > 0.0 else "worse"
                text += f" By the goal {judgement['goal']} it is {percent(abs(gain))} {better} than {REFERENCE}."
            found.append(f"{text} {price(document, fastest)}".strip())
    best = judgement["choices"][0]
    if best["label"] == recommended and best["harm"]:
        found.append(f"It takes more than the bound of harm allows: {_harms(best)}.")
    elif best["harm"] and best["label"] != fastest:
        found.append(f"The best by the goal alone is {best['label']}, but {_harms(best)}.")
    return found


def other_transport(document: Comparison, metrics: Mapping[str, Metrics]) -> str:
    """The first choice over another transport than the recommended one's, as a sentence; empty
    where all have one transport, or another sentence names it.
    """
    first = first_of_other_transport(document)
    if first is None or any(first["label"] in sentence for sentence in harmed(document, metrics)[:1]):
        return ""
    over = "TCP" if first["params"].get("transport", TCP) == TCP else STACK
    of = metrics[first["label"]]
    rtt = f" at a p95 RTT of {three(of['rtt_p95_ms']['mean'] or math.nan)} ms" if "rtt_p95_ms" in of else ""
    variant = shown(first["params"]["variant"])
    return f"The fastest over {over} is {variant}: {_goodput(of['goodput_bps'])}{rtt}. {first['why']}"


def first_of_other_transport(document: Comparison) -> Rank | None:
    """The first choice over another transport than the recommended one's, TCP without one."""
    transports = {ranked["label"]: ranked["params"].get("transport", TCP) for ranked in document["ranking"]}
    own = transports.get(recommended_label(document) or "", TCP)
    return next((ranked for ranked in document["ranking"] if transports[ranked["label"]] != own), None)


def _goodput_of(metrics: Mapping[str, Metrics], label: str) -> float:
    return metrics[label]["goodput_bps"]["mean"] or 0.0


def _harms(choice: ScoredChoice) -> str:
    return "; ".join(harm["text"] for harm in choice["harm"] or ())


def first_look(document: Comparison) -> str:
    """How harm was tested where that was less than the rule asks for, as a sentence."""
    judgement = document.get("judgement")
    if judgement is None or (judgement["harm_seeds"] >= SEEDS and judgement["harm_s"] >= MIN_MEASURED_S):
        return ""
    seeds = f"{judgement['harm_seeds']} seed{'s' if judgement['harm_seeds'] > 1 else ''}"
    return (
        f"Harm to others is judged by {seeds} of {three(judgement['harm_s'])} s: the rule is {SEEDS} seeds, "
        f"{MEASURED_S:.0f} s after {SETTLE_S:.0f} s."
    )


def _goodput(goodput: Estimate) -> str:
    """The goodput, as its modes or its single values where the mean describes none of them."""
    if modes := goodput.get("modes"):
        parts = [f"{rate(mode['mean'])} in {mode['n']}" for mode in modes]
        return f"two modes of goodput, {joined(parts)} of {goodput['n']} runs,"
    if values := goodput.get("values"):
        return f"{joined([rate(value) for value in values])} of goodput in {len(values)} runs"
    return f"{rate(goodput['mean'])} of goodput"


def ties(document: Comparison, metrics: Mapping[str, Metrics]) -> str:
    """The choices that are as good as the best, and those that the seeds do not separate from it,
    as sentences; empty without any.
    """
    best, *tied = [ranked for ranked in document["ranking"] if ranked["rank"] == 1]
    by = document["rank_by"]
    values = {ranked["label"]: metrics[ranked["label"]][by]["mean"] or 0.0 for ranked in (best, *tied)}
    top = values[best["label"]]
    gaps = {label: abs(value - top) / abs(top) if top else 0.0 for label, value in values.items()}
    close = [ranked for ranked in tied if gaps[ranked["label"]] <= SAME_WITHIN]
    unsure = [ranked for ranked in tied if ranked not in close]
    parts = []
    if close:
        others = "1 other is" if len(close) == 1 else f"{len(close)} others are"
        parts.append(f"{others} as good in {RANKED[by]}{_spanned([ranked['params'] for ranked in (best, *close)])}.")
    if unsure:
        away = max(gaps[ranked["label"]] for ranked in unsure)
        further = " more" if close else ""
        means = "whose mean is" if len(unsure) == 1 else "whose means are up to"
        parts.append(
            f"{len(unsure)}{further}, {means} {percent(away)} away, cannot be separated from the best by "
            f"{document['cells'][0]['n']} seeds: use more seeds."
        )
    return " ".join(parts)


def _spanned(tied: Sequence[Configuration]) -> str:
    """The variants, buffers, queues and ACK techniques of these choices."""
    parts = []
    for name, key in _FACTORS:
        values = list(dict.fromkeys(_word(params[key]) for params in tied if key in params))
        if len(values) > 1:
            parts.append(f"{name} {' or '.join([', '.join(values[:-1]), values[-1]])}")
    return f": {'; '.join(parts)}" if parts else ""


def _word(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def price(document: Comparison, label: str) -> str:
    """The named prices of a choice, a sentence for each alternative, or that there is none; empty
    without runs beside other flows.
    """
    prices = document.get("prices")
    choices = prices["choices"] if prices else []
    of = next((choice for choice in choices if choice["label"] == label), None)
    if of is None:
        return ""
    if not of["named"]:
        tied = len(of["alternatives"])
        against = f"{tied} choice{'s' if tied > 1 else ''} tied with it and " if tied else ""
        return f"Price: none of 10 %, 10 ms or 1 point of retransmissions, against {against}{REFERENCE}."
    by_alternative: dict[str, list[Price]] = {}
    for one in of["named"]:
        by_alternative.setdefault(one["than"], []).append(one)
    return " ".join(_price(than, named) for than, named in by_alternative.items())


def _price(than: str, named: Sequence[Price]) -> str:
    unsure = " (not certain)"
    clauses = "; ".join(one["text"] + ("" if one["certain"] else unsure) for one in named)
    return f"Price, against {than}: {clauses}."


def low_latency(document: Comparison, metrics: Mapping[str, Metrics], label: str) -> str:
    """The choice for low delay at the cost of up to a tenth of the goodput."""
    of, best = metrics[label], metrics[document["ranking"][0]["label"]]
    loss = 1.0 - (of["goodput_bps"]["mean"] or 0.0) / (best["goodput_bps"]["mean"] or math.nan)
    cost = f"for {percent(loss)} less goodput" if loss >= 0.001 else "for the same goodput"
    return (
        f"If delay matters, use {label}: a p95 RTT of {milliseconds(of['rtt_p95_ms']['mean'])} instead of "
        f"{milliseconds(best['rtt_p95_ms']['mean'])}, {cost}."
    )


def tie_mark(ranked: Rank) -> str:
    """The mark behind a rank: "=" for a tie, "?" for one in which the means are more than 5 % from
    the best.
    """
    return "?" if ranked["undecided"] and ranked["rank"] == 1 else "=" if ranked["tied_with"] else ""


def _on_path(params: Configuration) -> str:
    """The choice's changes of the bottlenecks' queues and of the hosts."""
    parts = []
    if (queue := params.get("queue", AS_IS)) != AS_IS:
        parts.append(f"a {queue} queue before the bottleneck")
    if (policy := params.get("ack_policy", AS_IS)) != AS_IS:
        parts.append("no ACK policy" if policy == "none" else f"ACK policy {policy} on the reverse path")
    if (technique := params.get("ack_technique", HOST)) != HOST:
        parts.append(f"{technique} in the hosts")
    if params.get("transport", TCP) != TCP:
        return "".join((f" over {STACK}", *(f", {one}" for one in parts)))
    return "".join(f", {one}" for one in parts)
