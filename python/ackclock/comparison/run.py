"""``compare``: every variant, socket buffer and delayed-ACK setting over one link, on all cores,
ranked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ackclock.comparison.ack_path import AS_IS, HOST, UNMARKED, Bottlenecks, bottlenecks, unmarked
from ackclock.comparison.asymmetry import asymmetry, why_no_asymmetry
from ackclock.comparison.configuration import DEFAULT_BUFFERS, Buffer, Configuration, configurations
from ackclock.comparison.judgement_runs import JudgementRuns, check_goal, max_runs, stored_below
from ackclock.comparison.link_events import missed_events
from ackclock.comparison.measurement_rows import beside, read_measured
from ackclock.comparison.ranking import check_rank_by, ranking, short_run_notes
from ackclock.comparison.result import Comparison
from ackclock.comparison.socket_buffers import HostBuffers, with_settings
from ackclock.congestion_control import CongestionControl, with_names
from ackclock.input import variant_groups
from ackclock.input.objects import Hop, Link, Time, plain, time_text
from ackclock.input.scenario import draft_of
from ackclock.input.scenario.hosts import DEFAULT_HOST, host_file
from ackclock.input.scenario.link_draws import IN_RUN, LinkDraws
from ackclock.input.scenario.resolution import resolved
from ackclock.notebook import Progress
from ackclock.simulation import run_files
from ackclock.simulation.chunk_runner import run_missing
from ackclock.simulation.dataset import Dataset
from ackclock.simulation.limits import LimitFacts, connection_facts, mean_facts
from ackclock.simulation.metrics import of_flows
from ackclock.simulation.plan import Plan, build_plan
from ackclock.simulation.run_list import RunList
from ackclock.storage import atomic_files, dataset_files, run_kind
from ackclock.storage.remote_folder import local
from ackclock.storage.run_folder import Identity, opened

FLOW, OPPOSITE = "flow", "opposite"
"""Base names of the compared flows, and of those in the opposite direction."""
DOCUMENT = run_kind.COMPARE.document
"""The run folder's file with the JSON document and what the report needs besides."""
SPLIT = "RTTs are those of the part of the connection between the last proxy and the receiver."
"""The note about links with a proxy."""
PRICES = "prices"
"""The folder of the dataset of the runs for prices in the run folder."""


def compare(
    link: str | Path | Link | Sequence[Hop | Mapping[str, Any]],
    *,
    variants: Sequence[str | type[CongestionControl]] | None = None,
    buffers: Sequence[Buffer] = DEFAULT_BUFFERS,
    delayed_ack: Sequence[bool] = (True, False),
    queue: Sequence[str] = (AS_IS,),
    ack_policy: Sequence[str] = (AS_IS,),
    ack: Sequence[str] = (HOST,),
    flows: int = 1,
    opposite: int = 0,
    direction: str = "down",
    duration: Time = "30 s",
    seeds: int | Sequence[int] = 10,
    host: str | None = None,
    goal: str = "balanced",
    may_harm: bool = False,
    rank_by: str = "goodput_bps",
    measured: str | Path | None = None,
    with_prices: bool = True,
    workers: int | None = None,
    series: str = "sampled",
    out: str | Path | None = None,
    force: bool = False,
    keep: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Rank TCP variants, socket buffers and ACK policies on a link, with reasons.

    Args:
        link: a packaged link's name, a link file, or [[hop]] tables as dicts.
        variants: congestion controls by name, groups of them ("linux", "kernel", "papers", "all";
            `ackclock list groups`), or classes; None: "linux".
        buffers: socket buffers, each one for both ends or a (send, receive) pair: a size ("64
            KiB"), "auto", "auto:24 MiB" (autotuning with this maximum), or "path": 2 BDP of the
            path, where "auto" does not reach them.
        delayed_ack: delayed-ACK settings: the host's rule (True), an ACK per segment (False).
        queue: kinds of queue ("droptail", "codel", ..) at the data's bottleneck, with that hop's
            limits; "link": the link's queue.
        ack_policy: the policy at the ACKs' bottleneck: "link", "none", a filter's rule ("safe",
            "p1", "cake", "cake-aggressive"), "acks-first", "drop-front", a kind of queue ("red"),
            or several with + between.
        ack: ACK techniques of the hosts: "none", "acc" (ACK congestion control), "adapt" (sender
            adaptation), or "acc+adapt".
        flows: bulk flows that share the link, 1 or more.
        opposite: bulk flows in the opposite direction with the same TCP, which share the queue of
            the ACKs. They are not part of the metrics; their goodput is `opposite_goodput_bps`.
        direction: "down" (server to client) or "up".
        duration: simulated time: ``"30 s"``, seconds as a number, or a timedelta; long compared
            with the link's RTT and its variations, so that the start has little weight.
        seeds: a number (10 means 1..10), or a list; every configuration runs with each seed.
        host: the host stack of all other TCP keys; "linux-6" when None.
        goal: what the recommendation is judged by, under a download, an upload and both at once:
            "balanced", "throughput", "latency" or "fairness" (docs/reference/advise.md). `rank_by`
            is the order of the table alone.
        may_harm: recommend a choice that takes more than the bound from others, too, or that has
            little beside them (docs/reference/compare.md).
        rank_by: "goodput_bps" (of the flows together), "rtt_p95_ms", "retransmission_rate" or
            "jain".
        measured: the run folder of a measurement; its bulk transfers are shown beside the simulated
            ones.
        with_prices: run the first choices under the loads and beside other flows, too
            (docs/reference/prices.md). Without, the recommendation knows neither.
        workers: threads; all cores when None.
        series: whose time series are kept: "none", "sampled" (one seed of each configuration) or
            "all".
        out: the run folder, or a URL of fsspec such as "s3://bucket/study"; finished runs in it are
            reused.
        force: rename another run in ``out`` (to ``out.1``) instead of raising InputError.
        keep: without ``out``, keep the runs in ``runs/<hash>``.
        progress: called with the number of finished runs, the number of all runs, and the label of
            the last one.

    Ties: in the order of the means, all configurations tie with the best until the first whose
    ratio to it over shared seeds differs from 1, at 5 % after Holm's correction and by more than 1
    %; that one leads the next tie. Within a tie the lower p95 RTT is first.

    Raises:
        InputError: an invalid link, choice or quantity, or another run in ``out``; nothing is
            written.
        RunFailed: a run failed in the engine.
    """
    check_rank_by(rank_by, flows)
    check_goal(goal)
    beside_it = read_measured(measured) if measured is not None else None
    asked = with_names(list(variants)) if variants is not None else [variant_groups.DEFAULT_GROUP]
    known = variant_groups.expanded(asked)
    ranked_flows = _flows(flows, opposite, direction)
    draft = draft_of(
        {
            **_path(link),
            "duration": time_text(duration),
            "seeds": seeds if isinstance(seeds, int) else list(seeds),
            "tcp": {"host": host} if host is not None else {},
            "flow": ranked_flows,
        }
    )
    hops = draft.check().hop
    host_buffers = HostBuffers.of(host or DEFAULT_HOST)
    sockets = host_buffers.for_path(buffers, hops, direction)
    choices = configurations(known, sockets, delayed_ack, queue, ack_policy, ack)
    points = _points(choices, bottlenecks(hops, direction) if _varies_path(choices) else None)
    scenarios = {choice: draft.check(point) for choice, point in points.items()}
    base = scenarios[choices[0]]
    draws = LinkDraws.beside(link) if isinstance(link, str | Path) else None
    runs = RunList(
        [choice.params for choice in choices],
        list(scenarios.values()),
        base.seeds,
        of_compared,
        series,
        of_seed=draws.scenario if draws else None,
    )
    plans = [build_plan(scenario, base.seeds[0]) for scenario in scenarios.values()]
    resolved_points = [[dict(params), plan.digest] for params, plan in zip(runs.params, plans, strict=True)]
    drawn = [draws.digest] if draws else []
    verdict_by = [goal, may_harm] if with_prices else []
    identity = Identity.of(
        "compare", [rank_by, verdict_by, beside_it, series, list(base.seeds), resolved_points, *drawn]
    )
    folder = local(out) if out is not None else identity.default_folder() if keep else None
    with opened(folder, identity, seeds=base.seeds, force=force) as run:
        data = Dataset(runs, folder)
        stored = stored_below(folder / PRICES) if with_prices and folder else 0
        later = max_runs(len(choices), len(runs.seeds), opposite) if with_prices and not stored else 0
        run_missing(data, workers=workers, progress=progress, before=stored, later=later)
        metrics = {
            choice: dict(zip(runs.seeds, of_choice, strict=True))
            for choice, of_choice in zip(choices, data.metrics(), strict=True)
        }
        ranked = ranking(
            metrics,
            rank_by,
            usual=host_file(host or DEFAULT_HOST).tcp.variant or "",
            limits=_limits(data, dict(zip(choices, plans, strict=True))),
        )
        ranked = with_settings(ranked, host_buffers, rank_by)
        comparison = Comparison(
            link=str(link) if isinstance(link, str | Path) else "inline",
            title=base.title,
            scenario=resolved(base, lambda path: path.name),
            rank_by=rank_by,
            goal=goal,
            ranking=ranked,
            data=data,
            asymmetry=asymmetry(plans[0].document),
            folder=folder,
            no_asymmetry=why_no_asymmetry(plans[0].document),
            points=points,
            notes=[
                *variant_groups.remarks(asked, known),
                *([SPLIT] if any(hop.pep for hop in hops) else []),
                *short_run_notes(ranked, base.duration / 1e12),
                *missed_events(base.hop, base.duration, len(base.seeds)),
                *([UNMARKED] if any(unmarked(c.ack_technique, s.hop, direction) for c, s in scenarios.items()) else []),
                *([draws.note] if draws else []),
            ],
        )
        if beside_it is not None:
            rows = beside(beside_it, comparison.document["cells"], direction)
            comparison = replace(comparison, measured=rows)
        if with_prices and comparison.best.delivers:
            judgement_runs = JudgementRuns(
                draft=draft,
                flows=ranked_flows,
                points=points,
                seeds=base.seeds,
                host=host,
                folder=folder / PRICES if folder else None,
                workers=workers,
                progress=progress,
                of_seed=runs.of_seed,
                series=series,
                before=len(runs),
                planned=len(runs) + (stored or later),
                cells_cpu_s=sum(map(runs.point_cpu_s, range(len(choices)))) * len(runs.seeds),
                reopen=run.reopen if run and run.finished else None,
            )
            comparison = replace(
                comparison, **judgement_runs.results(ranked, metrics, goal, may_harm, comparison.low_latency_choice)
            )
        if run:
            _write(comparison, run.path)
            if draws:
                atomic_files.atomic_write(run.path / IN_RUN, draws.path.read_bytes())
            run.finish()
            data.clear()
            for further in comparison.further:
                further.clear()
    return comparison


def _flows(flows: int, opposite: int, direction: str) -> list[dict[str, Any]]:
    bulk = {"workload": {"kind": "bulk"}}
    compared = {"name": FLOW, "direction": direction, "count": flows, **bulk}
    back = {"down": "up", "up": "down"}.get(direction, direction)
    beside = {"name": OPPOSITE, "direction": back, "count": opposite, **bulk}
    return [compared, beside] if opposite else [compared]


def _path(link: str | Path | Link | Sequence[Hop | Mapping[str, Any]]) -> dict[str, Any]:
    if isinstance(link, str | Path):
        return {"link": str(link)}
    return link.to_dict() if isinstance(link, Link) else {"hop": plain(list(link))}


def _varies_path(choices: Sequence[Configuration]) -> bool:
    return any((choice.queue, choice.ack_policy) != (AS_IS, AS_IS) for choice in choices)


def _points(choices: Sequence[Configuration], path: Bottlenecks | None) -> dict[Configuration, dict[str, Any]]:
    """Each choice as sweep parameters of the scenario."""
    of_path = {c: {**path.queue_keys(c.queue), **path.policy_keys(c.ack_policy)} if path else {} for c in choices}
    return {choice: {**choice.tcp_keys, **of_path[choice]} for choice in choices}


def of_compared(summary: Mapping[str, Any]) -> dict[str, float]:
    """The metrics of a run: of the compared flows, and the goodput of the opposite ones."""
    return of_flows(summary, OPPOSITE)


def _limits(data: Dataset, plans: Mapping[Configuration, Plan]) -> dict[Configuration, LimitFacts]:
    """What limits the compared flows of each configuration, means over the seeds.

    A configuration without data is left out.
    """
    texts = data.table("summaries")["summary"].to_list()
    each = len(data.runs.seeds)
    limits = {}
    for index, (choice, plan) in enumerate(plans.items()):
        facts: list[LimitFacts] = []
        for summary in map(json.loads, texts[index * each : (index + 1) * each]):
            connections = connection_facts(summary, plan.document)
            facts += [of for name, of in connections.items() if not name.startswith(OPPOSITE)]
        if facts:
            limits[choice] = mean_facts(facts)
    return limits


def _write(comparison: Comparison, folder: Path) -> None:
    first = next(iter(comparison.results.values()))
    points = list(comparison.points.values())
    swept = {"sweep": swept} if (swept := _sweep(points)) else {}
    scenario = first[0].spec.scenario
    run_files.write_scenario(folder, scenario, extra=swept)
    explicit = run_files.resolved_in_folder(scenario, {key for keys in points for key in keys})
    dataset_files.write_points(folder, points, comparison.data.runs.seeds, explicit)
    for of_point in comparison.data.runs.scenarios:
        run_files.keep_traces(folder, of_point)
    comparison.data.join()
    for further in comparison.further:
        further.join()
    atomic_files.write_json(folder / DOCUMENT, {**comparison.document, "shown": comparison.shown_numbers()})


def _sweep(points: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The points as axes of a sweep; none where techniques set keys that other points do not
    have.
    """
    if any(point.keys() != points[0].keys() for point in points):
        return {}
    axes: dict[str, list[Any]] = {key: [] for key in points[0]}
    for point in points:
        for key, value in point.items():
            if value not in axes[key]:
                axes[key].append(value)
    return axes
