"""measure: active tests of the path to a measurement server, once or on a schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock.cli.options import Force, Json, Out, Port, Quiet, Report, TokenFile, time_above_zero, typed

if TYPE_CHECKING:
    from ackclock.measurement import Measurement
    from ackclock.measurement.plan import Plan


def measure(
    host: Annotated[str, typer.Argument(help="Where ackclockd or `ackclock serve` runs.", show_default=False)],
    plan: Annotated[
        Path | None, typer.Option("--plan", help="A TOML file with the plan of the measurement.", show_default=False)
    ] = None,
    tests: Annotated[
        str | None,
        typer.Option(
            help="path (no far end needed), delay, capacity, steps, tcp, bidirectional, flows, "
            "latency, transfers, with commas between (default: all)."
        ),
    ] = None,
    direction: Annotated[
        str | None, typer.Option(help="down (from the far end), up, or down,up.", show_default=False)
    ] = None,
    duration: Annotated[str | None, typer.Option(help="Time of one test (default: 10 s).", show_default=False)] = None,
    congestion: Annotated[
        str | None, typer.Option(help="Congestion controls, with commas between (default: cubic).")
    ] = None,
    buffers: Annotated[str | None, typer.Option(help='Socket buffers, with commas between (default: "auto").')] = None,
    flows: Annotated[int | None, typer.Option(min=1, help="Connections of `flows` and `latency` (default: 4).")] = None,
    sizes: Annotated[str | None, typer.Option(help="Sizes of transfers (default: 10 kB,100 kB,1 MB).")] = None,
    steps: Annotated[
        str | None,
        typer.Option(
            help='Rates of `steps` instead of shares of the capacity, also above it, such as "0.5,1,2,4 Mb/s".',
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="A condition to group by, such as ssi=3; repeatable.", show_default=False),
    ] = None,
    alternate: Annotated[
        bool, typer.Option("--alternate", help="Alternate the directions of `steps` and `tcp` from run to run.")
    ] = False,
    offset: Annotated[
        str | None,
        typer.Option(
            help="`bidirectional`: start the second direction this much after the first, and end it as much before, "
            "such as 5 s.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: delay, capacity, tcp and latency, 3 s each.")
    ] = False,
    every: Annotated[
        str | None,
        typer.Option(
            help="Repeat the measurement at this interval, such as 1 h; with --times and --out.", show_default=False
        ),
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
        Path | None, typer.Option("--stamp-key-file", help="The key of STAMP's authenticated mode.", show_default=False)
    ] = None,
    capture: Annotated[
        bool,
        typer.Option(
            "--capture", help="Keep this end's packets as capture.pcap in the run folder (needs CAP_NET_RAW)."
        ),
    ] = False,
    capture_far: Annotated[
        bool,
        typer.Option(
            "--capture-far",
            help="Fetch the far end's capture of the session's headers, too, if it runs with --allow-capture; "
            "with --capture both are analyzed together.",
        ),
    ] = False,
    pps: Annotated[
        list[Path] | None,
        typer.Option(
            help="Clock values at the pulses of a second (PPS), such as /sys/class/pps/pps0/assert; given again, those "
            "of the far end. With --capture and --capture-far, delays are then in UTC.",
            show_default=False,
        ),
    ] = None,
    port: Port = 4862,
    token_file: TokenFile = None,
    report: Report = True,
    json: Json = False,
    out: Out = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """The path to a far end by active tests: delays, capacity, buffers, TCP, latency under load;
    with an HTML report.

    The token comes from --token-file or the environment's ACKCLOCK_TOKEN.
    """
    from ackclock.cli.output import deliver, remark
    from ackclock.cli.progress import progress
    from ackclock.errors import InputError
    from ackclock.input.document import Document, read_document
    from ackclock.measurement.path import seconds as walk_seconds
    from ackclock.measurement.plan import QUICK, estimate, plan_of, rates_of
    from ackclock.measurement.result import MeasurementFailed
    from ackclock.measurement.run import measure as run
    from ackclock.measurement.terminal_tables import measurement_tables

    if every is not None and out is None:
        raise InputError.problem(
            "--every requires --out", "add --out DIR, in which the schedule is kept", option="--every"
        )
    if times is not None and every is None:
        raise InputError.problem(
            "--times requires --every", "add --every TIME, such as --every '1 h'", option="--times"
        )
    if pps and not (capture and (capture_far or len(pps) == 1)):
        needed = "--capture" if len(pps) == 1 else "--capture and --capture-far"
        raise InputError.problem(
            f"--pps requires {needed}", f"add {needed}, whose timestamps the pulses convert", option="--pps"
        )
    if stamp:
        return _stamp(host, stamp_port, stamp_key_file, json=json)
    document = read_document(plan) if plan else Document({})
    listed = {"tests": tests, "directions": direction, "congestion": congestion, "buffers": buffers, "sizes": sizes}
    lists = {key: [part.strip() for part in text.split(",")] for key, text in listed.items() if text is not None}
    if steps is not None:
        lists["steps"] = rates_of(steps)
    usual = {"tests": list(QUICK), "duration": "3 s"} if quick else {}
    single: dict[str, object] = {
        key: value for key, value in (("duration", duration), ("flows", flows), ("offset", offset)) if value is not None
    }
    if alternate:
        single["alternate"] = True
    if label:
        single["labels"] = _labels(label)
    options = {key: f"--{OPTIONS.get(key, key)}" for key in (*lists, *single)}
    with typed(options, over_file=True):
        checked = plan_of(Document({**usual, **document.data, **lists, **single}, document.file, document.text))
    seconds, each = (estimate(checked, rates) for rates in ({}, dict.fromkeys(checked.directions, 1e6)))
    size = f"{(each[1] - seconds[1]) / 1e6:.3g} MB for each Mb/s that the path carries"
    slow = (
        f" ({walk_seconds(checked):.0f} s more where routers answer once a second)" if "path" in checked.tests else ""
    )
    remark(f"measure: about {seconds[0]:.0f} s{slow}, {seconds[1] / 1e6:.2g} MB and {size}", quiet=quiet)

    def once(folder: Path, *, force: bool = force) -> Measurement:
        with (
            typed({name: f"--{name}" for name in ("duration", "congestion", "port")}),
            progress("measure", quiet=quiet) as update,
        ):
            return run(
                host,
                checked,
                port=port,
                token_file=token_file,
                out=folder,
                force=force,
                capture=capture,
                capture_far=capture_far,
                pps=pps or (),
                progress=update,
            )

    if every is not None:
        return _scheduled(
            ScheduleOptions(host, port, every, times or _TIMES, out, force), checked, once, json=json, quiet=quiet
        )
    try:
        done = once(out or folder_of(host, port))
    except MeasurementFailed as failed:
        if not json:
            part = failed.measurement
            deliver(
                lambda: part.document,
                lambda: measurement_tables(part.document),
                part.folder,
                report=report,
                json=json,
                quiet=quiet,
            )
        raise
    deliver(
        lambda: done.document,
        lambda: measurement_tables(done.document),
        done.folder,
        report=report,
        json=json,
        quiet=quiet,
    )
    return None


def _labels(given: list[str]) -> dict[str, str]:
    from ackclock.errors import InputError

    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise InputError(text, "NAME=VALUE, such as ssi=3", option="--label")
        found[name] = value
    return found


def _stamp(host: str, port: int, key_file: Path | None, *, json: bool) -> None:
    from ackclock.cli.output import print_json, print_tables
    from ackclock.measurement.stamp import stamp
    from ackclock.measurement.terminal_tables import stamp_table

    found = stamp(host, port, key_file=key_file)
    if json:
        print_json(found)
    else:
        print_tables([stamp_table(found)])


OPTIONS = {"directions": "direction", "labels": "label"}
# The measurements of a schedule without --times: a day of hours.
_TIMES = 24


@dataclass(frozen=True)
class ScheduleOptions:
    """What is measured again and again, and where that is kept."""

    host: str
    port: int
    every: str
    times: int
    out: Path | None
    force: bool


def _scheduled(
    repeat: ScheduleOptions, plan: Plan, once: Callable[..., Measurement], *, json: bool, quiet: bool
) -> None:
    from ackclock.cli.output import print_json, remark
    from ackclock.errors import InputError
    from ackclock.input.units import PS_PER_S
    from ackclock.measurement.schedule import Schedule, keep, overview

    if repeat.out is None:
        raise InputError.problem(
            "--every requires --out", "add --out DIR, in which the schedule is kept", option="--every"
        )
    every_s = time_above_zero(repeat.every, "--every") / PS_PER_S
    what = {"host": repeat.host, "port": repeat.port, "plan": plan.model_dump(mode="json")}
    schedule = Schedule(every_s, repeat.times)
    state = keep(
        repeat.out,
        schedule,
        what,
        lambda folder: once(folder, force=True),  # what a killed one has left is kept beside it
        report=lambda text: remark(text, quiet=quiet),
        force=repeat.force,
    )
    rows = overview(repeat.out, state)
    if json:
        print_json({"every_s": every_s, "times": repeat.times, "folder": str(repeat.out), "runs": rows})
        return
    for row in rows:
        print(f"{row['number']:5d}  {row['began'] or '-'}  {row['failed'] or 'done'}")


def folder_of(host: str, port: int) -> Path:
    """A measurement cannot be made twice, so its folder is named after its time."""
    from datetime import UTC, datetime

    from ackclock.storage.run_folder import RUNS

    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in host)
    return RUNS / f"measure-{name}-{port}-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}Z"
