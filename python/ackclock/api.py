"""The functions of `import ackclock`.

Quantities are strings with units, as in files: "10 Mb/s", "45 ms", "64 KiB".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ackclock.errors import InputError
from ackclock.input import catalogue, variant_groups
from ackclock.input.link.names import packaged_links
from ackclock.input.objects import Flow, Link, Tcp, Time, plain, time_text

if TYPE_CHECKING:
    from ackclock.input.scenario.draft import Draft
    from ackclock.result import Result
    from ackclock.simulation.run import Simulation
    from ackclock.simulation.sweep import Sweep

_PAPERS = {
    "wimax-measured": "TCP over commercial fixed WiMAX (Halepovic et al.), measured",
    "asymmetry": "The effects of asymmetry on TCP (Balakrishnan, Padmanabhan and Katz), measured and simulated",
    "wimax-bursts": "TCP in a pre-WiMAX access network (Perez et al.), measured",
    "wimax-simulated": "Five TCP variants over 802.16 and 802.11b, simulated",
    "wibro": "TCP and UDP over WiBro Wave 2, measured with synchronised clocks",
}
Seeds = int | Sequence[int]
"""A count (10 means the seeds 1 to 10), or these seeds: whole numbers from 0."""
LinkLike = str | Path | Link | Mapping[str, Any]
"""A packaged link's name, a link file, a typed link, or a link file as a dict."""
FlowLike = Flow | Mapping[str, Any]


def simulate(
    link: LinkLike,
    flows: Sequence[FlowLike] | None = None,
    duration: Time | None = None,
    seeds: Seeds | None = None,
    *,
    seed: int | None = None,
    tcp: Tcp | Mapping[str, Any] | None = None,
    clients: int | None = None,
    sample: Time | None = None,
    measure: Mapping[str, str | Sequence[str]] | None = None,
    phase_jitter: bool | None = None,
    out: str | Path | None = None,
    force: bool = False,
    captures: Literal["pcap", "pcapng"] | None = None,
    offloads: bool = False,
    workers: int | None = None,
) -> Simulation:
    """Simulate flows over a link.

    Args:
        link: with `flows`: a packaged link's name, a link file, a `Link`, or a dict with `hop` (the
            link file as a dict). Without `flows`: a scenario file, or a scenario as a dict.
        flows: `Flow` objects, or [[flow]] tables as dicts, such as ``{"workload": {"kind": "bulk"},
            "count": 2}``.
        duration: simulated time: ``"60 s"``, seconds as a number, or a timedelta. Needed unless the
            scenario has it.
        seeds: how many (10 means 1 to 10), or a list of whole numbers from 0; default: those of the
            scenario, else 1.
        seed: this one seed instead.
        tcp: the [tcp] table: `Tcp`, or a dict such as ``{"host": "ns2", "variant": "reno"}``.
        clients: number of clients.
        sample: interval of the time series; 0 for none. Default 100 ms.
        measure: the [measure] table, such as ``{"window": ["5 s", "-5 s"]}``.
        phase_jitter: whether starts and sending hosts have random delays, which keep flows out of
            phase. Default true.
        out: a run folder to write; nothing is written without it. A finished or interrupted run of
            the same call there is continued.
        force: move another run that is in `out` aside (to `out`.1) instead of refusing to write
            there.
        captures: captures of every flow at both ends, in ``out/captures``; needs `out`.
        offloads: the captures have super-segments, as those of hosts with GSO, TSO and GRO:
            segments sent at one instant, or received within 50 us, are one packet of up to 64 KB.
        workers: threads for several seeds; default: all cores.

    Returns:
        A Simulation: `summaries` (dicts), `flows`, `series`, `hops` (Polars frames; rates in
        bits/s, RTT in ms, times in s), `plot()`, `report()`.

    Raises:
        InputError: bad input, with file, line and key where there are any; or another run is in
            `out`, and stays as it is.
        RunFailed: the engine gave up on a run.

    >>> import ackclock
    >>> flows = [ackclock.Flow(workload=ackclock.Bulk())]
    >>> run = ackclock.simulate("dsl-16m", flows, duration="5 s", seeds=2)
    >>> run.flows.select("seed", "flow", "timeouts").rows()
    [(1, 'flow1', 0), (2, 'flow1', 0)]
    """
    from ackclock.simulation.run import simulate_scenario

    if captures is not None and captures not in ("pcap", "pcapng"):
        raise InputError(repr(captures), '"pcap" or "pcapng"', key="captures")
    if captures and out is None:
        raise InputError.problem("captures need a run folder", "pass out=", key="captures")
    if offloads and captures is None:
        raise InputError.problem("offloads are of captures", 'pass captures="pcap"', key="offloads")
    keys = {"clients": clients, "sample": _time(sample), "measure": measure, "phase_jitter": phase_jitter, "tcp": tcp}
    scenario = _draft(link, flows, duration, _seeds(seeds, seed), **keys).check()
    name = str(link) if isinstance(link, str | Path) else ""
    folder = Path(out) if out is not None else None
    return simulate_scenario(
        scenario, name=name, folder=folder, force=force, captures=captures, offloads=offloads, workers=workers
    )


def sweep(
    link: LinkLike,
    flows: Sequence[FlowLike] | None = None,
    duration: Time | None = None,
    seeds: Seeds | None = None,
    *,
    over: Mapping[str, Sequence[Any]] | None = None,
    seed: int | None = None,
    tcp: Tcp | Mapping[str, Any] | None = None,
    clients: int | None = None,
    sample: Time | None = None,
    measure: Mapping[str, str | Sequence[str]] | None = None,
    phase_jitter: bool | None = None,
    out: str | Path | None = None,
    force: bool = False,
    workers: int | None = None,
    dask: str | None = None,
    series: str = "sampled",
) -> Sweep:
    """Simulate every combination of values. Arguments as for `simulate`, and:

    Args:
        over: values by dotted path, such as ``{"tcp.variant": ["reno", "cubic"],
            "hop.air.loss.down.mean": [0, 1e-3]}``; it replaces the scenario's own [sweep].
        out: a folder that keeps every finished run, so that an interrupted sweep is continued
            there; or a URL of fsspec, such as "s3://bucket/study".
        dask: address of a Dask scheduler to run on, instead of this machine's cores.
        series: whose time series are kept: "none", "sampled" (one seed of each point) or "all".

    Returns:
        A Sweep: `points` (params, metrics with 95 % intervals, runs), `metrics` and `flows` (Polars
        frames).

    Raises:
        InputError: bad input, nothing to sweep, or another run in `out`.
        RunFailed: the engine gave up on a run.

    >>> import ackclock
    >>> flows = [ackclock.Flow(workload=ackclock.Bulk())]
    >>> variants = {"tcp.variant": ["reno", "cubic"]}
    >>> done = ackclock.sweep("dsl-16m", flows, duration="5 s", over=variants)
    >>> done.metrics["tcp.variant"].to_list()
    ['reno', 'cubic']
    """
    from ackclock.simulation.sweep import sweep_draft
    from ackclock.storage.remote_folder import local

    keys = {"clients": clients, "sample": _time(sample), "measure": measure, "phase_jitter": phase_jitter, "tcp": tcp}
    swept = None if over is None else {path: list(values) for path, values in over.items()}
    draft = _draft(link, flows, duration, _seeds(seeds, seed), **keys, sweep=swept)
    if not draft.document.data.get("sweep"):
        raise InputError("nothing to sweep", 'over={"tcp.variant": ["reno", "cubic"]}, or a [sweep] in the scenario')
    folder = local(out) if out is not None else None
    return sweep_draft(draft, folder=folder, force=force, workers=workers, dask=dask, series=series)


def _time(value: Time | None) -> str | None:
    return None if value is None else time_text(value)


def _seeds(seeds: Seeds | None, seed: int | None) -> int | list[int] | None:
    """What a scenario's `seeds` would be."""
    if seed is None:
        return seeds if seeds is None or isinstance(seeds, int) else list(seeds)
    if seeds is not None:
        raise InputError(
            "seed and seeds", "one of them: seed=7 is the seed 7, seeds=7 are the seeds 1 to 7", key="seed"
        )
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(repr(seed), "one whole number from 0 (several: seeds=[..])", key="seed")
    return [seed]


def _draft(
    link: LinkLike,
    flows: Sequence[FlowLike] | None,
    duration: Time | None,
    seeds: int | list[int] | None,
    **keys: object,
) -> Draft:
    """The scenario that the arguments describe: a link with flows, or a scenario with some keys
    replaced.
    """
    from ackclock.congestion_control import with_names
    from ackclock.input.scenario.draft import draft_of, read_draft

    given = {**keys, "flow": flows, "duration": _time(duration), "seeds": seeds}
    replaced = {key: with_names(plain(value)) for key, value in given.items() if value is not None}
    if isinstance(link, Link | Mapping):
        return draft_of({**with_names(plain(link)), **replaced})
    if flows is not None:
        return draft_of({"link": str(link), **replaced})
    return read_draft(Path(link)).replaced(replaced)


def open_run(folder: str | Path) -> Result:
    """The result in a run folder of any command, as the class that the command's function returns.

    A finished sweep, comparison or reproduction is a `FolderResult` with the same document, frames,
    plot and report.

    Args:
        folder: a run folder, such as ``runs/3f0c..``, or the URL of one, such as
            ``s3://bucket/study``.

    Raises:
        InputError: there is no finished run.
    """
    from ackclock.result_folder import open_folder
    from ackclock.storage.remote_folder import finished

    return open_folder(finished(folder))


def list_links() -> dict[str, str]:
    """Packaged links: name -> title."""
    return packaged_links()


def list_variants() -> dict[str, str]:
    """TCP variants (congestion controls): name -> summary and source."""
    return {entry["name"]: f"{entry['summary']}. Source: {entry['source']}" for entry in catalogue.entries("variants")}


def list_groups() -> dict[str, str]:
    """Groups of TCP variants: name -> what they are, and their variants."""
    return variant_groups.described()


def list_hosts() -> dict[str, str]:
    """Host stacks: name -> title and source."""
    return catalogue.hosts()


def list_linux_rules() -> dict[str, str]:
    """The values of `linux_rules`, rules in which a host may differ from the RFCs as Linux does:
    name -> what Linux does and the kernel's functions that decide.
    """
    return {
        entry["name"]: f"{entry['summary']}. Source: {entry['source']}" for entry in catalogue.entries("linux_rules")
    }


def list_papers() -> dict[str, str]:
    """Papers with claims for `reproduce`: name -> subject."""
    return dict(_PAPERS)


def list_queues() -> dict[str, str]:
    """Queues: kind -> summary."""
    return {entry["name"]: entry["summary"] for entry in catalogue.entries("queues")}


def list_workloads() -> dict[str, str]:
    """Workloads of flows: kind -> what it sends."""
    from ackclock.input.checked_table import described

    return described("Workload")


def list_metrics() -> dict[str, str]:
    """Metrics of a run in tables, JSON and Parquet: name -> unit and definition."""
    from ackclock.simulation.metrics import METRICS

    return dict(METRICS)
