"""reproduce: the claims of papers, each beside the simulator's or the emulator's figure; or a
paper's design on another link.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli import complete
from ackclock.cli.options import Force, Json, Out, Quiet, Seed, Workers, packaged_name


def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            help="A paper (`ackclock list papers`); all without this argument.", autocompletion=complete.papers
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: one seed.")] = False,
    full: Annotated[bool, typer.Option("--full", help="All seeds (default).")] = False,
    every: Annotated[bool, typer.Option("--all", help="All papers.")] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Use the running kernel's TCP and probes over emulated links, beside the simulator "
            "(wibro, wimax-bursts, wimax-measured): minutes.",
        ),
    ] = False,
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="LINK",
            help="Put the paper's design on another link (a packaged link or a link file): which of its statements "
            "survive there, are smaller, gone or reversed.",
            autocompletion=complete.links,
            callback=packaged_name,
        ),
    ] = None,
    apps: Annotated[
        bool,
        typer.Option(
            "--apps",
            help="What the paper leaves for later: calls over its links, alone and beside a download or an upload "
            "(wimax-measured).",
        ),
    ] = False,
    workers: Workers = None,
    json: Json = False,
    out: Out = None,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Reproduce the claims of a paper: the paper's figure, ours, and a verdict for each."""
    from ackclock.cli.address_space import Need, check_address_space
    from ackclock.cli.output import print_json, print_tables, remark, write_report
    from ackclock.cli.progress import progress
    from ackclock.errors import InputError
    from ackclock.papers.claims import PAPERS
    from ackclock.papers.reproduce import reproduce as run_paper
    from ackclock.papers.terminal_tables import summary, summary_tables, verdict_table
    from ackclock.storage.run_folder import Identity, opened

    check_address_space(Need.STATISTICS)
    if quick and full:
        raise InputError.problem("--quick and --full exclude each other", "leave one of them out", option="--full")
    if paper and every:
        raise InputError.problem(
            f"--all and the paper {paper} exclude each other", "leave one of them out", option="--all"
        )
    if apps:
        if on is not None or live:
            raise InputError.problem(
                "--apps is on the paper's own links, by simulation", "leave out --on and --live", option="--apps"
            )
        return _reproduce_apps(paper, None if seed is None else [seed], json=json, quiet=quiet)
    if on is not None:
        if live:
            raise InputError.problem(
                "--on and --live exclude each other: a design is put on a link by simulation",
                "leave one of them out",
                option="--on",
            )
        seeds = None if seed is None else [seed]
        return _reproduce_on(paper, on, OnLinkOptions(quick, seeds, workers, out, force), json=json, quiet=quiet)
    if live:
        return _reproduce_live(paper, LiveOptions(quick, full, workers, out, force), seed, json=json, quiet=quiet)
    papers = [paper] if paper else list(PAPERS)
    reproductions = []
    seeds = None if seed is None else [seed]
    everything = Identity.of("reproduce --all", [papers, quick, seeds], any_engine=True)
    with opened(out if len(papers) > 1 else None, everything, force=force) as all_papers:
        for name in papers:
            with progress(f"reproduce {name}", quiet=quiet) as update:
                folder = out / name if out and all_papers else out
                reproduction = run_paper(
                    name, quick=quick, seeds=seeds, workers=workers, out=folder, force=force, keep=True, progress=update
                )
            reproductions.append(reproduction)
            if not json and paper:
                print_tables([verdict_table(reproduction)])
            if reproduction.folder and (page := write_report(reproduction.folder, quiet=quiet)):
                remark(f"report: {page}", quiet=quiet)
        if all_papers:
            all_papers.finish()
    documents = [reproduction.document for reproduction in reproductions]
    if json:
        print_json(documents[0] if paper else {"summary": summary(reproductions), "papers": documents})
    elif not paper:
        print_tables(summary_tables(reproductions))
    return None


def _reproduce_apps(paper: str | None, seeds: list[int] | None, *, json: bool, quiet: bool) -> None:
    from ackclock.cli.output import print_json, print_tables
    from ackclock.cli.progress import progress
    from ackclock.papers.apps import apps_tables, paper_apps

    with progress(f"reproduce {paper} --apps", quiet=quiet) as update:
        document = paper_apps(paper, seeds, update)
    if json:
        print_json(document)
    else:
        print_tables(apps_tables(document))


@dataclass(frozen=True)
class OnLinkOptions:
    """Options of a paper's design on another link: seeds, parallel runs, run folder."""

    quick: bool
    seeds: list[int] | None
    workers: int | None
    out: Path | None
    force: bool


def _reproduce_on(paper: str | None, link: str, options: OnLinkOptions, *, json: bool, quiet: bool) -> None:
    from ackclock.cli.options import typed
    from ackclock.cli.output import deliver
    from ackclock.cli.progress import progress
    from ackclock.errors import InputError
    from ackclock.papers.claims import PAPERS
    from ackclock.papers.on_link.run import reproduce_on

    if paper is None:
        raise InputError.problem("--on requires a paper", f"name one of {', '.join(PAPERS)}", option="--on")
    with progress(f"reproduce {paper} on {link}", quiet=quiet) as update, typed({"link": "--on"}):
        done = reproduce_on(
            paper,
            link,
            quick=options.quick,
            seeds=options.seeds,
            workers=options.workers,
            out=options.out,
            force=options.force,
            keep=True,
            progress=update,
        )
    deliver(lambda: done.document, done.tables, done.folder, report=True, json=json, quiet=quiet)


@dataclass(frozen=True)
class LiveOptions:
    """Options of live runs: duration, parallel runs, run folder."""

    quick: bool
    full: bool
    workers: int | None
    out: Path | None
    force: bool


def _reproduce_live(paper: str | None, options: LiveOptions, seed: int | None, *, json: bool, quiet: bool) -> None:
    from ackclock.cli.output import print_json, print_tables, remark, write_report
    from ackclock.cli.progress import progress
    from ackclock.errors import InputError
    from ackclock.linux import require_linux
    from ackclock.papers.live.reproduction import LIVE, reproduce_live
    from ackclock.papers.live.terminal_tables import live_tables

    require_linux("reproduce --live", "network namespaces and TUN devices")

    if paper is None:
        raise InputError.problem("--live requires a paper", f"name one of {', '.join(LIVE)}", option="--live")
    if seed is not None:
        raise InputError.problem(
            "--live and --seed exclude each other: real traffic has no seed", "leave --seed out", option="--seed"
        )
    with progress(f"reproduce {paper} live", quiet=quiet) as update:
        reproduction = reproduce_live(
            paper,
            quick=options.quick,
            full=options.full,
            workers=options.workers,
            out=options.out,
            force=options.force,
            progress=update,
        )
    if not json:
        print_tables(live_tables(reproduction))
    if reproduction.folder and (page := write_report(reproduction.folder, quiet=quiet)):
        remark(f"report: {page}", quiet=quiet)
    if json:
        print_json(reproduction.document)
