"""simulate: a scenario, every seed. Imports are late, so that --help is quick."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.options import Force, Json, Out, Quiet, Report, Seed, Workers


class CaptureFormat(StrEnum):
    pcap = "pcap"
    pcapng = "pcapng"


def simulate(
    scenario: Annotated[Path | None, typer.Argument(help="A scenario file.")] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", help="The run folder of a sweep or comparison, instead of a scenario."),
    ] = None,
    run: Annotated[int | None, typer.Option("--run", min=0, help="With --from: the number of the run.")] = None,
    household: Annotated[
        str | None,
        typer.Option(
            "--household",
            metavar="LINK",
            help="Instead of a scenario: a call, a game and pages beside a download and an upload on this link.",
        ),
    ] = None,
    pcap: Annotated[bool, typer.Option("--pcap", help="Capture every flow at both ends.")] = False,
    pcap_format: Annotated[
        CaptureFormat, typer.Option("--pcap-format", help="Format of captures.")
    ] = CaptureFormat.pcap,
    pcap_offloads: Annotated[
        bool,
        typer.Option(
            "--pcap-offloads", help="Capture super-segments, as hosts with GSO, TSO and GRO do; implies --pcap."
        ),
    ] = False,
    qlog: Annotated[
        bool,
        typer.Option("--qlog", help="Write each TCP and QUIC flow as qlog, from its sender's capture; implies --pcap."),
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Print each flow of each seed, all hops and limits, not one screen.")
    ] = False,
    workers: Workers = None,
    report: Report = True,
    json: Json = False,
    out: Out = None,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Simulate a scenario: flows, hops, time series, captures."""
    from ackclock.cli.address_space import Need, check_address_space
    from ackclock.cli.output import deliver, remark
    from ackclock.cli.progress import progress
    from ackclock.errors import UsageError
    from ackclock.input.scenario.draft import read_draft
    from ackclock.simulation.dataset_run import scenario_of_run
    from ackclock.simulation.household import household_draft
    from ackclock.simulation.qlog import write_qlog
    from ackclock.simulation.run import default_folder, simulate_scenario
    from ackclock.simulation.sweep import check_points
    from ackclock.simulation.terminal_tables import simulation_tables
    from ackclock.storage.remote_folder import finished, shown

    check_address_space(Need.RUNS)
    if household is not None and (scenario is not None or from_ is not None):
        raise UsageError.problem(
            "--household takes the place of a scenario", "leave out SCENARIO and --from", option="--household"
        )
    if from_ is not None:
        if scenario is not None or run is None:
            raise UsageError.problem(
                "--from takes the place of a scenario", "give --run NUMBER with it", option="--from"
            )
        folder = finished(from_)
        checked, name = scenario_of_run(folder, run), f"{shown(folder)} run {run}"
    elif household is not None:
        checked, name = household_draft(household).check(), f"household on {household}"
    elif run is not None:
        raise UsageError.problem("--run requires --from", "name the run folder of the run", option="--run")
    elif scenario is None:
        raise UsageError.problem(
            "simulate requires SCENARIO", "usage: ackclock simulate [OPTIONS] SCENARIO", option="SCENARIO"
        )
    else:
        draft = read_draft(scenario)
        checked, name = draft.check(), str(scenario)
        if "sweep" in draft.document.data:
            list(check_points(draft))  # report errors in the [sweep], although it is not run
            remark(f"{scenario}: its [sweep] is ignored; `ackclock sweep` runs it", quiet=quiet)
        if "vary" in (draft.hunted() or {}):
            remark(f"{scenario}: its [hunt] is ignored; `ackclock hunt` searches it", quiet=quiet)
    if qlog and (pcap_offloads or pcap_format is not CaptureFormat.pcap):
        raise UsageError.problem(
            "--qlog excludes --pcap-offloads and --pcap-format pcapng", "leave one of them out", option="--qlog"
        )
    if seed is not None:
        checked = checked.with_seeds([seed])
    with progress("simulate", quiet=quiet) as update:
        simulation = simulate_scenario(
            checked,
            name=name,
            folder=out or default_folder(checked),
            force=force,
            captures=pcap_format.value if pcap or pcap_offloads or qlog else None,
            offloads=pcap_offloads,
            workers=workers,
            progress=update,
        )
    for warning in simulation.warnings:
        remark(f"warning: {warning}", quiet=quiet)
    if qlog and simulation.folder:
        planned = checked.plan(checked.seeds[0]).document["flows"]
        quic = {flow["name"]: flow["quic"] for flow in planned if flow.get("quic")}
        files = write_qlog(simulation.folder, simulation.flows, simulation.frames["series"], name, quic)
        remark(f"qlog: {', '.join(map(str, files))}", quiet=quiet)
    screen = cache(simulation.screen)
    deliver(
        lambda: simulation.document,
        lambda: simulation_tables(simulation) if all_ else screen()[0],
        simulation.folder,
        report=report,
        json=json,
        quiet=quiet,
        lines=lambda: () if all_ else screen()[1],
    )
