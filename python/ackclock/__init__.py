"""ackclock: a laboratory for TCP over access links.

>>> import ackclock
>>> run = ackclock.simulate("cable-dialup", [{"workload": {"kind": "bulk"}}], duration="50 s")
>>> run.flows["goodput_bps"]        # bits/s; one row per seed and flow, a Polars frame

Everything is imported when first used, so importing ackclock costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from ackclock._native import Ack, Congestion, Loss, RateSample
    from ackclock.advice import Advice
    from ackclock.advisor import advise
    from ackclock.analysis import Analysis, analyze
    from ackclock.api import (
        list_groups,
        list_hosts,
        list_links,
        list_linux_rules,
        list_metrics,
        list_papers,
        list_queues,
        list_variants,
        list_workloads,
        simulate,
        sweep,
    )
    from ackclock.api import open_run as open
    from ackclock.comparison import Comparison, compare
    from ackclock.congestion_control import CongestionControl
    from ackclock.difference import Diff, diff
    from ackclock.emulation.run import Emulation, emulate
    from ackclock.errors import InputError, RunFailed
    from ackclock.fitting import Fit, fit
    from ackclock.hunting import Hunt, hunt
    from ackclock.input.objects import (
        Bulk,
        Call,
        Conference,
        ConstantRate,
        Flow,
        Game,
        Hop,
        Link,
        OnOff,
        Page,
        Probe,
        Quic,
        Tcp,
        Transfer,
        Video,
        Web,
    )
    from ackclock.link_import import LinkImport, import_link
    from ackclock.measurement import Measurement, measure, serve
    from ackclock.papers.on_link.run import PutOnLink, reproduce_on
    from ackclock.papers.reproduce import Reproduction, reproduce
    from ackclock.rate_controller import RateController
    from ackclock.result import Result
    from ackclock.result_folder import FolderResult
    from ackclock.simulation.run import Simulation
    from ackclock.simulation.sweep import Sweep

_HOME = {
    "Advice": "advice",
    "advise": "advisor",
    "Analysis": "analysis",
    "analyze": "analysis",
    "Ack": "_native",
    "Congestion": "_native",
    "Loss": "_native",
    "Comparison": "comparison",
    "CongestionControl": "congestion_control",
    "RateController": "rate_controller",
    "RateSample": "_native",
    "compare": "comparison",
    "Diff": "difference",
    "diff": "difference",
    "Measurement": "measurement",
    "measure": "measurement",
    "serve": "measurement",
    "Emulation": "emulation.run",
    "emulate": "emulation.run",
    "Fit": "fitting",
    "fit": "fitting",
    "Hunt": "hunting.result",
    "hunt": "hunting",
    "import_link": "link_import",
    "LinkImport": "link_import",
    "list_papers": "api",
    "reproduce": "papers.reproduce",
    "Reproduction": "papers.reproduce",
    "reproduce_on": "papers.on_link.run",
    "PutOnLink": "papers.on_link.run",
    "InputError": "errors",
    "RunFailed": "errors",
    "Simulation": "simulation.run",
    "Sweep": "simulation.sweep",
    "list_groups": "api",
    "list_hosts": "api",
    "list_linux_rules": "api",
    "list_links": "api",
    "list_metrics": "api",
    "list_queues": "api",
    "list_variants": "api",
    "list_workloads": "api",
    "simulate": "api",
    "sweep": "api",
    "open": "api:open_run",
    "Result": "result",
    "FolderResult": "result_folder",
    **dict.fromkeys(
        (
            "Link",
            "Hop",
            "Flow",
            "Tcp",
            "Quic",
            "Bulk",
            "Transfer",
            "ConstantRate",
            "OnOff",
            "Web",
            "Page",
            "Video",
            "Call",
            "Conference",
            "Game",
            "Probe",
        ),
        "input.objects",
    ),
}

__all__ = [
    "Ack",
    "Advice",
    "Analysis",
    "Bulk",
    "Call",
    "Comparison",
    "Conference",
    "Congestion",
    "CongestionControl",
    "ConstantRate",
    "Diff",
    "Emulation",
    "Fit",
    "Flow",
    "FolderResult",
    "Game",
    "Hop",
    "Hunt",
    "InputError",
    "Link",
    "LinkImport",
    "Loss",
    "Measurement",
    "OnOff",
    "Page",
    "Probe",
    "PutOnLink",
    "Quic",
    "RateController",
    "RateSample",
    "Reproduction",
    "Result",
    "RunFailed",
    "Simulation",
    "Sweep",
    "Tcp",
    "Transfer",
    "Video",
    "Web",
    "advise",
    "analyze",
    "compare",
    "diff",
    "emulate",
    "fit",
    "hunt",
    "import_link",
    "list_groups",
    "list_hosts",
    "list_links",
    "list_linux_rules",
    "list_metrics",
    "list_papers",
    "list_queues",
    "list_variants",
    "list_workloads",
    "measure",
    "open",
    "reproduce",
    "reproduce_on",
    "serve",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("ackclock")
    if name not in _HOME:
        raise AttributeError(f"module 'ackclock' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _HOME[name].partition(":")
    return getattr(import_module(f"ackclock.{module}"), attribute or name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
