"""measure: active tests of the path to a measurement server, once or on a schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ackclock.arguments import option_names
from ackclock.arguments.measure import MeasureArguments
from ackclock.cli.options import Json, Quiet, Report, time_above_zero, typed, with_options

if TYPE_CHECKING:
    from ackclock.measurement import Measurement
    from ackclock.measurement.schedule import Schedule

TIMES = 24
"""The measurements of a schedule without --times: a day of hours."""


@with_options(MeasureArguments, after={"quick": "offset", "report": "token_file", "quiet": "force"})
def measure(
    given: dict[str, Any],
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: delay, capacity, tcp and latency, 3 s each.")
    ] = False,
    every: Annotated[
        str | None,
        typer.Option(help="Repeat the measurement at this interval, such as 1 h; with --times and --out."),
    ] = None,
    times: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of measurements with --every (default: 24); the same command continues an "
            "interrupted schedule.",
        ),
    ] = None,
    stamp: Annotated[
        bool,
        typer.Option("--stamp", help="Probe a STAMP reflector (RFC 8762) instead, of ackclock or of another program."),
    ] = False,
    stamp_port: Annotated[int, typer.Option(min=1, max=65535, help="The reflector's UDP port.")] = 862,
    stamp_key_file: Annotated[
        Path | None, typer.Option("--stamp-key-file", help="The key of STAMP's authenticated mode.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Print the table of each test, not one screen.")] = False,
    report: Report = True,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The path to a far end by active tests: delays, capacity, buffers, TCP, latency under load;
    with an HTML report.

    The token comes from --token-file or the environment's ACKCLOCK_TOKEN.
    """
    from ackclock.cli.output import deliver, remark
    from ackclock.cli.progress import progress
    from ackclock.errors import InputError
    from ackclock.format import size as size_text
    from ackclock.input.units import PS_PER_S
    from ackclock.measurement.path import seconds as walk_seconds
    from ackclock.measurement.plan import KEYS, asked_plan, estimate
    from ackclock.measurement.result import MeasurementFailed
    from ackclock.measurement.run import measure as run
    from ackclock.measurement.schedule import Schedule
    from ackclock.measurement.terminal_tables import measurement_tables

    arguments = MeasureArguments(**given)
    if every is not None and arguments.out is None:
        raise InputError.problem(
            "--every requires --out", "add --out DIR, in which the schedule is kept", option="--every"
        )
    if times is not None and every is None:
        raise InputError.problem(
            "--times requires --every", "add --every TIME, such as --every '1 h'", option="--times"
        )
    if arguments.pps and not (arguments.capture and (arguments.capture_far or len(arguments.pps) == 1)):
        needed = "--capture" if len(arguments.pps) == 1 else "--capture and --capture-far"
        raise InputError.problem(
            f"--pps requires {needed}", f"add {needed}, whose timestamps the pulses convert", option="--pps"
        )
    if stamp:
        return _stamp(arguments.host, stamp_port, stamp_key_file, json=json)
    options = option_names(MeasureArguments)
    with typed({name: options[name] for name in given}, over_file=True):
        plan = asked_plan(arguments, quick=quick)
    unbounded = replace(plan, max_bytes=1 << 62)
    seconds, each = (estimate(unbounded, rates) for rates in ({}, dict.fromkeys(plan.directions, 1e6)))
    size = f"{(each[1] - seconds[1]) / 1e6:.3g} MB for each Mb/s that the path carries"
    bound = f"at most {size_text(plan.max_bytes)} in all (--max-bytes)"
    slow = f" ({walk_seconds(plan):.0f} s more where routers answer once a second)" if "path" in plan.tests else ""
    remark(f"measure: about {seconds[0]:.0f} s{slow}, {seconds[1] / 1e6:.2g} MB and {size}, {bound}", quiet=quiet)
    asked = plan.written
    further = {name: value for name, value in given.items() if name not in KEYS}

    def once(folder: Path, *, force: bool = arguments.force) -> Measurement:
        with typed(options), progress("measure", quiet=quiet) as update:
            return run(**{**further, "plan": asked, "out": folder, "force": force, "progress": update})

    def show(done: Measurement) -> None:
        screen = cache(done.screen)
        deliver(
            lambda: done.document,
            lambda: measurement_tables(done.document) if all_ else screen()[0],
            done.folder,
            report=report,
            json=json,
            quiet=quiet,
            lines=lambda: () if all_ else screen()[1],
        )

    if every is not None:
        schedule = Schedule(time_above_zero(every, "--every") / PS_PER_S, times or TIMES)
        return _scheduled(arguments, asked, schedule, once, json=json, quiet=quiet)
    try:
        done = once(Path(arguments.out) if arguments.out else folder_of(arguments.host, arguments.port))
    except MeasurementFailed as failed:
        if not json:
            show(failed.measurement)
        raise
    return show(done)


def _stamp(host: str, port: int, key_file: Path | None, *, json: bool) -> None:
    from ackclock.cli.output import print_json, print_tables
    from ackclock.measurement.stamp import stamp
    from ackclock.measurement.terminal_tables import stamp_table

    document = stamp(host, port, key_file=key_file)
    if json:
        print_json(document)
    else:
        print_tables([stamp_table(document)])


def _scheduled(
    arguments: MeasureArguments,
    plan: dict[str, Any],
    schedule: Schedule,
    once: Callable[..., Measurement],
    *,
    json: bool,
    quiet: bool,
) -> None:
    from ackclock.cli.output import print_json, remark
    from ackclock.measurement.schedule import keep, overview

    folder = Path(str(arguments.out))
    state = keep(
        folder,
        schedule,
        arguments.identified(plan),
        lambda folder: once(folder, force=True),  # what a killed one has left is kept beside it
        report=lambda text: remark(text, quiet=quiet),
        force=arguments.force,
    )
    rows = overview(folder, state)
    if json:
        print_json({"every_s": schedule.every_s, "times": schedule.times, "folder": str(folder), "runs": rows})
        return
    for row in rows:
        print(f"{row['number']:5d}  {row['began'] or '-'}  {row['failed'] or 'done'}")


def folder_of(host: str, port: int) -> Path:
    """A measurement cannot be made twice, so its folder is named after its time."""
    from datetime import UTC, datetime

    from ackclock.storage.run_folder import RUNS

    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in host)
    return RUNS / f"measure-{name}-{port}-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}Z"
