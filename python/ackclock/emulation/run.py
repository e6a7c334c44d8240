"""The run folder of an emulation: document, log, captures, and the analysis of the captures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ackclock.emulation.config import emulation_scenario
from ackclock.errors import AckclockError, InputError, describe_path
from ackclock.input.objects import Link, Time, plain, time_seconds, time_text
from ackclock.input.scenario.draft import read_draft
from ackclock.input.scenario.model import Scenario
from ackclock.input.scenario.resolution import scenario_hash
from ackclock.json_text import json_value
from ackclock.result import Result
from ackclock.simulation import run_files
from ackclock.storage import atomic_files, run_kind, temporary_files
from ackclock.storage.run_folder import RUNS, Identity, RunFolder
from ackclock.storage.stored_files import read_json, read_table

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.emulate import EmulationAudit
    from ackclock.plot.figure import Plot
    from ackclock.report.page import Page

DOCUMENT = run_kind.EMULATE.document
TABLES = ("fates", "hops", "series")
PS_PER_S = 1e12
RESERVED_BYTES, RESERVED_BYTES_PER_CLIENT = 1 << 15, 1 << 10
"""Disk space reserved for emulation.json and environment.json."""


@dataclass(frozen=True, repr=False)
class Emulation(Result):
    """The result of an emulation: its document (as of ``ackclock emulate --json``) and tables.

    `flows` has a row per TCP connection in the captures (columns as of `analyze`, with the client's
    number), `hops` one per hop, direction, station and sample, `fates` one per packet, `series` one
    per simulated TCP flow and sample. They are empty without a log. `folder` is the run folder,
    None if no folder was written.
    """

    document: EmulationAudit
    flows: pl.DataFrame
    hops: pl.DataFrame
    fates: pl.DataFrame
    series: pl.DataFrame
    folder: Path | None = None

    @property
    def grade(self) -> str:
        """Exact: at most 0.1 % of the packets were late. "usable": a replay bounds the error at 2 %
        of goodput and 5 % of p95 RTT; `document["bound"]` has the bounds. Else "invalid"."""
        return str(self.document["grade"])

    @property
    def valid(self) -> bool:
        """Whether the grade is not "invalid"."""
        return bool(self.document["valid"])

    @property
    def captures(self) -> list[Path]:
        """The server's capture, then the clients'; none without a run folder."""
        return captures_in(self.folder) if self.folder else []

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`flows`, `hops`, `fates` and `series`."""
        return {"flows": self.flows, "hops": self.hops, "fates": self.fates, "series": self.series}

    def plot(self) -> Plot:
        """The queues over time, and simulated flows where there are any."""
        from ackclock.plot.figure import Plot
        from ackclock.plot.time_series import Frames, panels_of_run

        return Plot(panels_of_run(Frames(self.series, self.hops)), str(self.document["link"]))

    def _page(self) -> Page:
        if self.folder is None:
            raise ValueError("the report is made from the run folder; pass out= to the call that makes this result")
        from ackclock.emulation.report_page import folder_page

        return folder_page(self.folder)

    def _title(self) -> str:
        command = " ".join(self.document["command"]["argv"]) or "no command"
        return f"{self.document['link']}, {self.document['seconds']:.1f} s, {command}"

    def _tables(self) -> list[Table]:
        from ackclock.emulation.terminal_tables import emulation_tables

        return emulation_tables(self.document)

    def screen(self) -> tuple[list[Table], list[str]]:
        from ackclock.emulation.terminal_tables import screen_lines, screen_tables

        return screen_tables(self.document), screen_lines(self.document)


def captures_in(folder: Path) -> list[Path]:
    """The captures of a run folder: the server's, then the clients' in order."""
    return sorted((folder / "captures").glob("*.pcapng"), key=lambda path: (path.stem != "server", _number(path)))


def _number(path: Path) -> int:
    digits = path.stem.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0


def default_folder(scenario: Scenario) -> Path:
    """`runs/<hash>-<time>-<process>`: real traffic is not reproducible, so each emulation has its
    own folder."""
    import time

    return RUNS / f"{scenario_hash(scenario)}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"


def identity(scenario: Scenario, seed: int | None, command: Sequence[str], server: Sequence[str]) -> Identity:
    """The identity of an emulation: the link with its seed, and the commands at both ends."""
    resolved = [scenario_hash(scenario), scenario.seeds[0] if seed is None else seed, list(command), list(server)]
    return Identity.of("emulate", resolved, once=True, any_engine=True)


class EmulationLog:
    """Context manager for the run folder of a running emulation.

    `growing` is the folder of its log, or None.

    Disk space for emulation.json is reserved: it is written even if the log has filled the disk.
    """

    def __init__(self, run: RunFolder, scenario: Scenario, *, log: bool) -> None:
        self._run = run
        self._scenario = scenario
        self._reserve = temporary_files.beside(run.path / "reserve")
        self.growing = temporary_files.beside(run.path / "live") if log else None

    def __enter__(self) -> Self:
        run_files.keep_traces(self._run.path, self._scenario)
        run_files.write_scenario(self._run.path, self._scenario)
        with self._reserve.open("wb") as file:
            file.write(bytes(RESERVED_BYTES + RESERVED_BYTES_PER_CLIENT * self._scenario.clients))
        if self.growing:
            self.growing.mkdir(mode=0o700)
        return self

    def __exit__(self, *_: object) -> None:
        for path in (self._reserve, self.growing):
            if path:
                temporary_files.remove(path)

    def finish(self, document: EmulationAudit, report: Callable[[str], None]) -> EmulationAudit:
        """Write all files of the run folder, emulation.json first.

        Return the document with the folder.

        A full disk raises no error: missing files are passed to `report`, and the log stays as CSV.
        """
        import polars as pl

        folder = self._run.path
        complete: EmulationAudit = {**document, "folder": str(folder)}
        self._reserve.unlink()
        try:
            atomic_files.write_json(folder / DOCUMENT, complete)
        except OSError as error:
            report(f"the run folder {folder} has no {DOCUMENT} ({error.strerror})")
            return complete
        if self.growing:
            (self.growing / "captures").rename(folder / "captures")
            try:
                _write_tables(folder, self.growing, self._scenario)
                flows = _flows(captures_in(folder))
                if not flows.is_empty():
                    atomic_files.write_parquet(folder / "flows.parquet", flows)
            except (OSError, AckclockError, pl.exceptions.PolarsError) as error:
                why = getattr(error, "strerror", None) or str(error)
                remaining = [path.rename(folder / path.name).name for path in sorted(self.growing.glob("*.csv"))]
                report(f"tables are missing in {folder} ({why}); kept as logged: {', '.join(['captures', *remaining])}")
        try:
            self._run.finish()
        except OSError as error:
            report(f"the run folder {folder} is not marked as finished ({error.strerror})")
        return complete


def open_emulation(folder: Path, *, keep: bool = True) -> Emulation:
    """Read the run folder of an emulation.

    With ``keep`` false the result does not refer to the folder.
    """
    import polars as pl

    if not (folder / DOCUMENT).is_file():
        raise InputError(describe_path(folder), "a run folder of emulate", file=str(folder))
    document: EmulationAudit = read_json(folder / DOCUMENT)
    if not keep:
        document.pop("folder", None)

    def table(name: str) -> pl.DataFrame:
        path = folder / f"{name}.parquet"
        if path.is_file():
            return read_table(path)
        logged = folder / f"{name}.csv"
        if not logged.is_file() or not logged.stat().st_size:
            return pl.DataFrame()
        return _table(name, folder, read_draft(folder / "scenario.toml").check()).collect()

    frames = {name: table(name) for name in ("flows", *TABLES)}
    return Emulation(
        document,
        **frames,
        folder=folder if keep else None,
    )


def emulate(
    link: str | Path | Link | Mapping[str, Any],
    command: Sequence[str],
    *,
    server: Sequence[str] = (),
    server_ready: str | int = "any",
    seconds: Time | None = None,
    clients: int = 1,
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    log: bool = True,
    deadline: Time | None = None,
    retry: int = 0,
    require: str | None = None,
    hostnames: Sequence[str] = (),
) -> Emulation:
    """Run a command behind a link, in real time. The command's output goes to standard error.

    Args:
        link: a packaged link's name, a link file, a scenario file, or one of the latter two as a
            dict.
        command: runs at the client's end, as a list of words. ``server`` and $ACKCLOCK_SERVER are
            the server's name and address.
        server: runs at the server's end. The command starts when it listens on a port, at the
            latest after 5 s.
        server_ready: "none" starts the command at once. A port number waits for that port; the
            emulation fails after 30 s.
        seconds: send the command SIGTERM after this time: seconds as a number, text such as ``"1
            min"``, or a timedelta (exit status 143).
        clients: number of clients with a namespace; the command runs in the first.
        seed: of the link's random numbers; default: the scenario's, else drawn. `document["seed"]`
            has it.
        out: run folder to write; default: none.
        force: moves another run in ``out`` aside (to ``out.1``) instead of refusing to write there.
        log: writes fates, queue samples and captures.
        deadline: a packet released later than this after its due time is late: ``"5 ms"``,
            seconds as a number, or a timedelta. Default: a tenth of what the link adds to it, or
            the machine's timer error (at most 200 us).
        retry: emulate again, at most so many times, while the grade is less than ``require``, or
            "invalid" if that is None.
        require: "exact" or "usable", for ``retry``; a lesser grade raises no error.
        hostnames: further names of the server, such as ``"shop.example"``.

    Returns:
        An Emulation: `document`, `valid`, `flows`, `hops`, `fates`, `series` (Polars frames),
        `captures`, `plot()`, `report()`. The command's exit status is
        `document["command"]["exit"]`: 128 + n if signal n killed it.

    Raises:
        InputError: bad input, or another run in ``out``.
        RunFailed: the machine refused the emulation, it failed, or the command could not be run.
    """
    import subprocess
    import sys
    import tempfile

    from ackclock.errors import RunFailed, from_document
    from ackclock.input.toml_writer import to_toml
    from ackclock.linux import require_linux

    require_linux("emulate", "network namespaces and TUN devices")

    with tempfile.TemporaryDirectory() as scratch:
        if isinstance(link, Link | Mapping):
            path = Path(scratch) / "link.toml"
            path.write_text(to_toml(plain(link)), "utf-8")
            link = path
        scenario = emulation_scenario(str(link), clients)  # raises InputError before the child process starts
        folder = Path(out) if out is not None else Path(scratch) / "run"
        RunFolder(folder, identity(scenario, seed, command, server), force=force).check()
        options = {
            "--server": shlex.join(server),
            "--server-ready": server_ready,
            "--seconds": None if seconds is None else time_seconds(seconds, "seconds"),
            "--clients": clients,
            "--seed": seed,
            "--out": folder,
            "--deadline": None if deadline is None else time_text(deadline),
            "--retry": retry,
            "--require": require,
        }
        arguments = [
            word for option, value in options.items() if value not in (None, "") for word in (option, str(value))
        ]
        arguments += [word for name in hostnames for word in ("--hostname", name)]
        arguments += ["--force"] * force + [
            "--json",
            "--no-report",
            "--log" if log else "--no-log",
        ]
        # A child process: an emulation requires a process with one thread, and moves it into
        # namespaces.
        argv = [sys.executable, "-m", "ackclock", "emulate", str(link), *arguments, "--", *command]
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
        if not done.stdout:
            raise RunFailed(f"the emulation ended with exit status {done.returncode}", "see standard error")
        document = json_value(done.stdout)
        if "error" in document:
            raise from_document(document)
        if document["command"]["not_run"] is not None:
            raise RunFailed(f"{command[0]}: {document['why']}")
        return open_emulation(folder, keep=out is not None)


def _write_tables(folder: Path, growing: Path, scenario: Scenario) -> None:
    """Convert the log to Parquet, one table at a time: it may be larger than memory or the free
    disk space."""
    import polars as pl

    # The smallest first: most tables are converted before the disk is full.
    for name in sorted(TABLES, key=lambda name: (growing / f"{name}.csv").stat().st_size):
        if not (growing / f"{name}.csv").stat().st_size:  # the disk was full before the first row
            continue
        beside = growing / f"{name}.parquet"
        try:
            _table(name, growing, scenario).sink_parquet(beside, compression="zstd", compression_level=3)
            pl.read_parquet_schema(beside)
            beside.replace(folder / f"{name}.parquet")
        except (OSError, pl.exceptions.PolarsError):
            with beside.open("ab") as file:  # raises the operating system's error, which Polars hides
                file.write(bytes(1 << 16))
            raise
        finally:
            beside.unlink(missing_ok=True)
        (growing / f"{name}.csv").unlink()


def _table(name: str, folder: Path, scenario: Scenario) -> pl.LazyFrame:
    """A table of the log, with names instead of numbers of flows and hops."""
    import polars as pl

    from ackclock.simulation.plan import build_plan

    plan = build_plan(scenario, 0, live=True).document
    flows = [flow["name"] for flow in plan["flows"]]
    hops = [hop["name"] for hop in plan["hops"]]

    def named(column: str, names: list[str]) -> pl.Expr:
        return pl.col(column).replace_strict(list(range(len(names))), names, return_dtype=pl.String)

    schema = _schema(name)
    sides = [hop[side] or {} for hop in plan["hops"] for side in ("down", "up")]
    if name == "hops" and any(side.get("shaper", {}).get("autorate") for side in sides):
        schema["shaper_rate_bps"] = pl.UInt64
    logged = pl.scan_csv(folder / f"{name}.csv", schema=schema)
    if name == "hops":
        return logged.with_columns(named("hop", hops))
    if name == "series":
        return logged.with_columns(named("flow", flows))
    return logged.with_columns(
        named("flow", flows),
        named("hop", hops),
        named("marked", hops),
        pl.col("from").replace_strict([0, 1], ["server", "client"], return_dtype=pl.String),
        (pl.col("sent_ps") / PS_PER_S).alias("sent_s"),
        (pl.col("at_ps") / PS_PER_S).alias("at_s"),
    ).drop("sent_ps", "at_ps")


def _schema(table: str) -> dict[str, type[pl.DataType]]:
    import polars as pl

    count, real = pl.UInt64, pl.Float64
    if table == "fates":
        columns = {"from": pl.Int64, "bytes": pl.UInt32, "sent_ps": count, "fate": pl.String, "at_ps": count}
        return {"packet": count, "flow": pl.Int64, **columns, "hop": pl.Int64, "marked": pl.Int64}
    if table == "hops":
        counts = dict.fromkeys(("queue_packets", "queue_bytes", "drops", "marks", "delivered_bytes"), count)
        return {"hop": pl.Int64, "direction": pl.String, "station": pl.UInt32, "time_s": real, **counts}
    reals = dict.fromkeys(("time_s", "cwnd_bytes", "ssthresh_bytes", "srtt_ms"), real)
    return {
        "flow": pl.Int64,
        **reals,
        **dict.fromkeys(("flight_bytes", "delivered_bytes", "retransmitted_segments"), count),
    }


def _flows(captures: list[Path]) -> pl.DataFrame:
    """The TCP connections, by an analysis of the captures of both ends.

    The RTTs of a direction are those at the end that sends it.
    """
    import polars as pl

    from ackclock.analysis import analyze

    server, *clients = captures
    at_server = analyze(server).flows if len(clients) > 1 else None
    frames = []
    for number, client in enumerate(clients, 1):
        at_client = analyze(client).flows
        if at_server is None:
            flows = _with_rtts(analyze(server, client).flows, at_client, "a2b")
        else:
            flows = _with_rtts(at_client, at_server, "b2a")
        if not flows.is_empty():
            frames.append(flows.with_columns(pl.lit(number).alias("client_number")))
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def _with_rtts(flows: pl.DataFrame, at_sender: pl.DataFrame, direction: str) -> pl.DataFrame:
    """The connections with the RTTs of ``direction`` from another capture, null where its
    connection is not the only one between two ports."""
    rtts = [name for name in flows.columns if name.startswith(f"{direction}_rtt_ms_")]
    if flows.is_empty() or at_sender.is_empty() or not rtts:
        return flows
    ends = ["client", "server"]
    others = at_sender.unique(subset=ends, keep="none").select(*ends, *rtts)
    joined = flows.drop(rtts).join(others, on=ends, how="left", maintain_order="left")
    return joined.select(flows.columns)
