"""The functions of `import ackclock`. Quantities are strings with units, as in files: "10 Mb/s", "45 ms", "64 KiB"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.input import catalogue
from ackclock.input.link.catalog import packaged_links

if TYPE_CHECKING:
    from ackclock.input.scenario.draft import Draft
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


def simulate(
    link: str | Path | Mapping[str, Any],
    flows: Sequence[Mapping[str, Any]] | None = None,
    duration: str | None = None,
    seed: Seeds | None = None,
    *,
    tcp: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    captures: str | None = None,
    workers: int | None = None,
    **keys: Any,
) -> Simulation:
    """Simulate flows over a link.

    Args:
        link: with `flows`: the name of a packaged link, a link file, or a dict with `hop` (the contents of a link file).
            Without `flows`: a scenario file or a dict with its contents.
        flows: [[flow]] tables as dicts, such as ``{"workload": {"kind": "bulk"}, "count": 2}``.
        duration: simulated time, such as ``"60 s"``; required unless the scenario has it.
        seed: one seed or several, integers from 0; default: the scenario's, else 1.
        tcp: the [tcp] table, such as ``{"host": "ns2", "variant": "reno"}``.
        out: the run folder; nothing is written without it. Results of the same call in it are reused.
        force: rename another run in `out` (to `out`.1) instead of raising InputError.
        captures: "pcap" or "pcapng" captures of every flow at both ends, in ``out/captures``; needs `out`.
        workers: threads for several seeds; default: all cores.
        **keys: other top-level keys of a scenario: ``clients``, ``sample``, ``measure``, ``phase_jitter``.

    Returns:
        A Simulation: `summaries` (dicts), `flows`, `series`, `hops` (Polars frames; rates in bits/s, RTT in ms,
        times in s), `plot()`, `report()`.

    Raises:
        InputError: bad input, with file, line and key if known; or another run in `out`, which is not changed.
        RunFailed: a run failed in the engine.
    """
    from ackclock.simulation.run import simulate_scenario

    if captures is not None and captures not in ("pcap", "pcapng"):
        raise ValueError('captures is "pcap" or "pcapng"')
    if captures and out is None:
        raise ValueError("captures need a run folder: pass out=")
    scenario = _draft(link, flows, duration, seed, tcp, keys).check()
    name = str(link) if isinstance(link, str | Path) else ""
    folder = Path(out) if out is not None else None
    return simulate_scenario(scenario, name=name, folder=folder, force=force, captures=captures, workers=workers)


def sweep(
    link: str | Path | Mapping[str, Any],
    flows: Sequence[Mapping[str, Any]] | None = None,
    duration: str | None = None,
    seed: Seeds | None = None,
    *,
    over: Mapping[str, Sequence[Any]] | None = None,
    tcp: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    workers: int | None = None,
    dask: str | None = None,
    **keys: Any,
) -> Sweep:
    """Simulate every combination of values. Arguments as for `simulate`, and:

    Args:
        over: values by dotted path, such as ``{"tcp.variant": ["reno", "cubic"], "hop.air.loss.down.mean": [0, 1e-3]}``;
            replaces the scenario's [sweep].
        out: the run folder. It stores every finished run, so an interrupted sweep continues.
        dask: address of a Dask scheduler to run on instead of this machine's cores.

    Returns:
        A Sweep: `points` (params, metrics with 95 % intervals, runs), `metrics` and `flows` (Polars frames).
    """
    from ackclock.errors import InputError
    from ackclock.simulation.sweep import sweep_draft

    if over is not None:
        keys["sweep"] = {path: list(values) for path, values in over.items()}
    draft = _draft(link, flows, duration, seed, tcp, keys)
    if not draft.document.data.get("sweep"):
        raise InputError("nothing to sweep", 'over={"tcp.variant": ["reno", "cubic"]}, or a [sweep] in the scenario')
    folder = Path(out) if out is not None else None
    return sweep_draft(draft, folder=folder, force=force, workers=workers, dask=dask)


def _draft(
    link: str | Path | Mapping[str, Any],
    flows: Sequence[Mapping[str, Any]] | None,
    duration: str | None,
    seed: Seeds | None,
    tcp: Mapping[str, Any] | None,
    keys: Mapping[str, Any],
) -> Draft:
    """The scenario of the arguments: a link with flows, or a scenario with some keys replaced."""
    from ackclock.congestion_control import with_names
    from ackclock.input.scenario.draft import draft_of, read_draft

    overrides: dict[str, Any] = with_names(dict(keys))
    if flows is not None:
        overrides["flow"] = with_names([dict(flow) for flow in flows])
    if duration is not None:
        overrides["duration"] = duration
    if seed is not None:
        overrides["seeds"] = [seed] if isinstance(seed, int) else list(seed)
    if tcp is not None:
        overrides["tcp"] = with_names(dict(tcp))
    if isinstance(link, Mapping):
        return draft_of({**with_names(link), **overrides})
    if flows is not None:
        return draft_of({"link": str(link), **overrides})
    return read_draft(Path(link)).replaced(overrides)


def list_links() -> dict[str, str]:
    """Packaged links: name -> title."""
    return packaged_links()


def list_variants() -> dict[str, str]:
    """TCP variants (congestion controls): name -> summary and source."""
    return {entry["name"]: f"{entry['summary']}. Source: {entry['source']}" for entry in catalogue.entries("variants")}


def list_hosts() -> dict[str, str]:
    """Host stacks: name -> title and source."""
    return catalogue.hosts()


def list_papers() -> dict[str, str]:
    """Papers with claims for `reproduce`: name -> subject."""
    return dict(_PAPERS)


def list_queues() -> dict[str, str]:
    """Queues: kind -> summary."""
    return {entry["name"]: entry["summary"] for entry in catalogue.entries("queues")}
