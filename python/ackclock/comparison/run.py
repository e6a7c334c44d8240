"""``compare``: every variant, socket buffer and delayed-ACK setting over one link, on all cores,
ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ackclock._native import LimitFacts
from ackclock.arguments import check, with_arguments
from ackclock.arguments.compare import HOUSEHOLD_QUEUES, HOUSEHOLD_VARIANTS, CompareArguments
from ackclock.comparison.ack_path import UNMARKED, unmarked
from ackclock.comparison.asymmetry import asymmetry, why_no_asymmetry
from ackclock.comparison.conditions import conditions
from ackclock.comparison.configuration import Configuration, configurations
from ackclock.comparison.judgement_runs import HOUSEHOLD_CPU_S, JudgementRuns, max_runs, stored_below
from ackclock.comparison.link_events import AUTO, MIN_PS, auto_duration, lengthened, missed_events
from ackclock.comparison.measurement_rows import beside, read_measured
from ackclock.comparison.ranking import check_rank_by, ranking, short_run_notes
from ackclock.comparison.result import Comparison
from ackclock.comparison.socket_buffers import HostBuffers, with_settings
from ackclock.comparison.transports import FLOW, QUIC, STACK, TCP
from ackclock.congestion_control import with_names
from ackclock.errors import InputError
from ackclock.goals import APP_GOALS
from ackclock.input import variant_groups
from ackclock.input.link.bottleneck import AS_IS, bottlenecks, slowest_hop
from ackclock.input.link.frame_grid import locked
from ackclock.input.link.hop import DIRECTIONS, Hop
from ackclock.input.objects import Bulk, Flow, Link, plain, time_text
from ackclock.input.scenario import draft_of
from ackclock.input.scenario.draft import Point
from ackclock.input.scenario.hosts import DEFAULT_HOST, READ_KEYS, resolve
from ackclock.input.scenario.link_draws import IN_RUN, LinkDraws
from ackclock.input.scenario.resolution import resolved
from ackclock.input.units import show_time
from ackclock.simulation import household, run_files
from ackclock.simulation.chunk_runner import run_missing
from ackclock.simulation.dataset import Dataset
from ackclock.simulation.limits import FlowLimit, connection_facts, decide
from ackclock.simulation.metrics import of_flows
from ackclock.simulation.plan import Plan, build_plan
from ackclock.simulation.run_list import RunList, estimated_cpu_s
from ackclock.storage import atomic_files, dataset_files, run_kind
from ackclock.storage.remote_folder import local
from ackclock.storage.run_folder import Identity, opened

if TYPE_CHECKING:
    from ackclock._native import Scenario
    from ackclock.documents.simulate import ExplainedRun
    from ackclock.input.scenario.draft import Draft
    from ackclock.report.run_input import ScenarioTables

OPPOSITE = "opposite"
"""The base name of the flows in the opposite direction."""
DOCUMENT = run_kind.COMPARE.document
"""The run folder's file with the JSON document and what the report needs besides."""
SPLIT = "RTTs are those of the part of the connection between the last proxy and the receiver."
"""The note about links with a proxy."""
FAST_VARIANTS = ("cubic", "bbr")
"""The variants of a household over a link on which its shortest runs take long."""
ALONE_S, ALONE_CPU_S = 10, 4.0
"""Duration in s of the transfers alone beside a household, and the estimated CPU time of all."""
PRICES = "prices"
"""The folder of the dataset of the runs for prices in the run folder."""


@with_arguments(CompareArguments)
def compare(arguments: CompareArguments) -> Comparison:
    """Rank TCP variants, socket buffers and ACK policies on a link, with reasons.

    Ties: in the order of the means, all configurations tie with the best until the first whose
    ratio to it over shared seeds differs from 1, at 5 % after Holm's correction and by more than 1
    %; that one leads the next tie. Within a tie the lower p95 RTT is first.

    Raises:
        InputError: an invalid link, choice or quantity, or another run in ``out``; nothing is
            written.
        RunFailed: a run failed in the engine.
    """
    check(arguments)
    is_household = arguments.goal in APP_GOALS
    if is_household and not arguments.with_prices:
        raise InputError.problem(
            f"{arguments.goal} is judged by runs with a household", "ask with prices, or for another goal", key="goal"
        )
    check_rank_by(arguments.rank_by, arguments.flows)
    beside_it = read_measured(arguments.measured) if arguments.measured is not None else None
    named = with_names(list(arguments.variants)) if arguments.variants is not None else [variant_groups.DEFAULT_GROUP]
    known = variant_groups.expanded(named)
    ranked_flows = _flows(arguments)
    link = arguments.link
    if not isinstance(link, str | Path | Link):
        link = Link(link)
    is_auto = arguments.duration == AUTO
    draft = draft_of(
        {
            **(link.to_dict() if isinstance(link, Link) else {"link": str(link)}),
            "duration": show_time(MIN_PS) if is_auto else time_text(arguments.duration),
            "seeds": arguments.seeds if isinstance(arguments.seeds, int) else list(arguments.seeds),
            "tcp": {"host": arguments.host} if arguments.host is not None else {},
            "flow": plain(ranked_flows),
        }
    )
    checked = draft.check()
    hops = checked.hop
    queues = _household_queues(hops) if arguments.queue is HOUSEHOLD_QUEUES else arguments.queue
    if is_household:
        known = _household_variants(arguments, draft, known, len(queues))
    if is_auto and is_household:
        draft = draft.replaced({"duration": _alone(draft, len(known) * len(queues) * len(checked.seeds))})
    elif is_auto:
        draft = draft.replaced({"duration": show_time(auto_duration(hops, len(checked.seeds)))})
    host_buffers = HostBuffers.of(arguments.host or DEFAULT_HOST)
    sockets = host_buffers.for_path(arguments.buffers, hops, arguments.direction)
    choices = configurations(
        known, sockets, arguments.delayed_ack, queues, arguments.ack_policy, arguments.ack, arguments.transports
    )
    path = bottlenecks(hops, arguments.direction, both=is_household) if _varies_path(choices) else None
    scenarios = {choice: draft.check(choice.point(path)) for choice in choices}
    base = scenarios[choices[0]]
    draws = LinkDraws.beside(arguments.link) if isinstance(arguments.link, str | Path) else None
    runs = RunList(
        [choice.params for choice in choices],
        list(scenarios.values()),
        base.seeds,
        of_compared,
        arguments.series,
        of_seed=draws.scenario if draws else None,
    )
    plans = [build_plan(scenario, base.seeds[0]) for scenario in scenarios.values()]
    resolved_points = [[dict(params), plan.digest] for params, plan in zip(runs.params, plans, strict=True)]
    tried = conditions(arguments.link, base.hop) if arguments.with_prices else []
    for condition in tried:
        draft.check(condition.point)
    of_link = [*([draws.digest] if draws else []), *([[dict(one.point) for one in tried]] if tried else [])]
    identity = Identity.of("compare", [*arguments.identified(beside_it), list(base.seeds), resolved_points, *of_link])
    folder = (
        local(arguments.out) if arguments.out is not None else identity.default_folder() if arguments.keep else None
    )
    with opened(folder, identity, seeds=base.seeds, force=arguments.force) as run:
        data = Dataset(runs, folder)
        stored = stored_below(folder / PRICES) if arguments.with_prices and folder else 0
        later = (
            max_runs(len(choices), len(runs.seeds), str(arguments.goal), arguments.opposite, len(tried))
            if arguments.with_prices and not stored
            else 0
        )
        run_missing(data, workers=arguments.workers, progress=arguments.progress, before=stored, later=later)
        metrics = {
            choice: dict(zip(runs.seeds, of_choice, strict=True))
            for choice, of_choice in zip(choices, data.metrics(), strict=True)
        }
        ranked = ranking(
            metrics,
            arguments.rank_by,
            usual=resolve(READ_KEYS({"host": arguments.host or DEFAULT_HOST})).keys["variant"],
            limits=_limits(data, dict(zip(choices, plans, strict=True))),
        )
        ranked = with_settings(ranked, host_buffers, arguments.rank_by)
        comparison = Comparison(
            link=str(arguments.link) if isinstance(arguments.link, str | Path) else "inline",
            title=base.title,
            scenario=cast("ScenarioTables", resolved(base, lambda path: path.name)),
            rank_by=arguments.rank_by,
            goal=str(arguments.goal),
            ranking=ranked,
            data=data,
            asymmetry=asymmetry(plans[0]),
            folder=folder,
            no_asymmetry=why_no_asymmetry(plans[0]),
            configurations=choices,
            notes=[
                *variant_groups.remarks(named, known),
                *_unpaced(base, choices),
                *_ended(data, choices),
                *([SPLIT] if any(hop.pep for hop in hops) else []),
                *(household.bounds(hops) if is_household else short_run_notes(ranked, base.duration / 1e12)),
                *(lengthened(base.hop, base.duration, len(base.seeds)) if is_auto and not is_household else []),
                *([] if is_household else missed_events(base.hop, base.duration, len(base.seeds))),
                *locked(base.hop),
                *(
                    [UNMARKED]
                    if any(unmarked(c.ack_technique, s.hop, arguments.direction) for c, s in scenarios.items())
                    else []
                ),
                *([draws.note] if draws else []),
            ],
        )
        if beside_it is not None:
            rows = beside(beside_it, comparison.document["cells"], arguments.direction)
            comparison = replace(comparison, measured=rows)
        if arguments.with_prices and comparison.best.delivers:
            judgement_runs = JudgementRuns(
                arguments,
                draft=draft,
                flows=ranked_flows,
                path=path,
                seeds=base.seeds,
                folder=folder / PRICES if folder else None,
                draws=draws,
                before=len(runs),
                planned=len(runs) + (stored or later),
                cells_cpu_s=sum(map(runs.point_cpu_s, range(len(choices)))) * len(runs.seeds),
                reopen=run.reopen if run and run.finished else None,
                conditions=tried,
            )
            judgement, prices = judgement_runs.results(ranked, metrics, comparison.low_latency_choice)
            notes = [*comparison.notes, *judgement_runs.notes]
            comparison = replace(comparison, judgement=judgement, prices=prices, notes=notes)
        if run:
            _write(comparison, [choice.point(path) for choice in choices], run.path)
            if draws:
                atomic_files.atomic_write(run.path / IN_RUN, draws.path.read_bytes())
            run.finish()
            data.clear()
            for further in comparison.further:
                further.clear()
    return comparison


def _household_variants(arguments: CompareArguments, draft: Draft, known: Sequence[str], queues: int) -> list[str]:
    """The default variants, over a fast link `FAST_VARIANTS` alone; those that were asked for."""
    shortest = draft.replaced(household.tables(household.MIN_DURATION_S)).check()
    runs = len(known) * queues * len(shortest.seeds)
    is_fast = runs * estimated_cpu_s(shortest) > HOUSEHOLD_CPU_S
    return list(FAST_VARIANTS if is_fast and arguments.variants is HOUSEHOLD_VARIANTS else known)


def _alone(draft: Draft, runs: int) -> str:
    """The duration of the transfers alone in a comparison by a household: 10 s, over a fast link
    less, 2 s at least.
    """
    estimated_s = runs * estimated_cpu_s(draft.replaced({"duration": f"{ALONE_S} s"}).check())
    return f"{min(ALONE_S, max(2, round(ALONE_S * ALONE_CPU_S / estimated_s)))} s"


def _household_queues(hops: Sequence[Hop]) -> tuple[str, ...]:
    """The queues of a household's comparison: none but the link's where it has no rates, and not
    the kind that both bottlenecks have already.
    """
    slowest = [(slowest_hop(hops, direction), direction) for direction in DIRECTIONS]
    if not all(hop for hop, _ in slowest):
        return (AS_IS,)
    kinds = {
        str(queue.written(given=True).get("kind", "droptail"))
        if (queue := getattr(hop, direction).queue)
        else "droptail"
        for hop, direction in slowest
    }
    return tuple(queue for queue in HOUSEHOLD_QUEUES if {queue} != kinds)


def _flows(arguments: CompareArguments) -> list[Flow]:
    direction = cast("Literal['down', 'up']", arguments.direction)
    compared = Flow(name=FLOW, direction=direction, count=arguments.flows, workload=Bulk())
    back: Literal["down", "up"] = "up" if direction == "down" else "down"
    beside = Flow(name=OPPOSITE, direction=back, count=arguments.opposite, workload=Bulk())
    return [compared, beside] if arguments.opposite else [compared]


def _varies_path(choices: Sequence[Configuration]) -> bool:
    return any((choice.queue, choice.ack_policy) != (AS_IS, AS_IS) for choice in choices)


def of_compared(summary: ExplainedRun) -> dict[str, float]:
    """The metrics of a run: of the compared flows, and the goodput of the opposite ones."""
    return of_flows(summary, OPPOSITE)


def _limits(data: Dataset, plans: Mapping[Configuration, Plan]) -> dict[Configuration, FlowLimit]:
    """What limits the compared flows of each configuration, by the means over the seeds.

    A configuration without data is left out.
    """
    summaries = data.summaries(range(len(data.runs)))
    limits = {}
    for choice, plan in plans.items():
        facts: list[LimitFacts] = []
        for summary in islice(summaries, len(data.runs.seeds)):
            connections = connection_facts(summary, plan.document)
            facts += [of for name, of in connections.items() if not name.startswith(OPPOSITE)]
        if facts:
            limits[choice] = decide(LimitFacts.mean(facts))
    return limits


def _unpaced(base: Scenario, choices: Sequence[Configuration]) -> list[str]:
    """That TCP does not pace where the stack beside it does, as a sentence."""
    if {choice.transport for choice in choices} < {TCP, QUIC} or any(
        base.tcp_of(flow).keys["pacing"] for flow in base.flow
    ):
        return []
    return [f"{STACK} paces its packets. TCP paces here with bbr and bbr3 alone; fq, or `pacing = true`, paces all."]


def _ended(data: Dataset, choices: Sequence[Configuration]) -> list[str]:
    """The choices whose connections the stack has ended itself, a sentence for each."""
    seeds = len(data.runs.seeds)
    found = []
    for point, choice in enumerate(choices):
        if choice.transport != QUIC:
            continue
        of_choice = data.summaries(range(point * seeds, (point + 1) * seeds))
        flows = [next((flow["quic"] for flow in run["flows"] if flow.get("quic")), None) for run in of_choice]
        reasons = [quic["closed_by"] for quic in flows if quic and quic["closed_by"]]
        if reasons:
            found.append(
                f"{STACK} ended the connection in {len(reasons)} of {seeds} runs of {choice.label}: {reasons[0]}."
            )
    return found


def _write(comparison: Comparison, points: Sequence[Point], folder: Path) -> None:
    first = next(iter(comparison.results.values()))
    swept = {"sweep": swept} if (swept := _sweep(points)) else {}
    scenario = first[0].spec.scenario
    run_files.write_scenario(folder, scenario, extra=swept)
    explicit = run_files.resolved_in_folder(scenario, {key for keys in points for key in keys})
    dataset_files.Points(comparison.data.runs.seeds, points, explicit).write(folder)
    for of_point in comparison.data.runs.scenarios:
        run_files.keep_traces(folder, of_point)
    comparison.data.join()
    for further in comparison.further:
        further.join()
    atomic_files.write_json(folder / DOCUMENT, {**comparison.document, "shown": comparison.shown_numbers()})


def _sweep(points: Sequence[Point]) -> dict[str, list[Any]]:
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
