"""The jobs of `make digest`, and the canonical form of their results.

A job runs commands of one tree's `ackclock`. Each file that a command writes is an item, and so is
its standard output. Jobs use the command line only, so that they are the same for every commit,
whatever modules it has.

kind     files                           what is compared
json     *.json, standard output         keys, numbers, booleans, null, strings that are data
toml     scenario.toml (as resolved)     the same
parquet  *.parquet                       column names in order, types, number of rows, values
pcap     *.pcap, *.pcapng                bytes
xplot    *.xpl                           all lines but titles and axis labels
status                                   the exit status

Not compared: HTML, plots, standard error, and the fields in PROSE and PROVENANCE below. All other
strings are data: names, labels, enumerations, quantities with units, the papers' claims. A string
of PROSE counts as equal to any other that is not empty.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

PROSE = {
    "message": "an error's or warning's sentence",
    "hint": "an error's remedy",
    "error.allowed": "what an option or key accepts",
    "why": "the reason of a rank or of a claim's verdict",
    "evidence": "a finding's or verdict's sentence with its figures; the figures have fields of their own",
    "advice": "a finding's remedy",
    "sentence": "what of a finding can be forwarded to its owner",
    "notes": "remarks on a comparison",
    "no_asymmetry": "the reason why a link has no figures of asymmetry",
    "asymmetry.implies": "what the ratio of both directions means",
    "clock.assumption": "what the clock offset rests on",
    "source": "where a link, host or model has its values from",
    "title": "the heading of a link, paper, host, queue, variant or figure",
    "figures.reading": "what to see in a figure",
    "figures.x": "an axis label",
    "figures.y": "an axis label",
}
"""Fields whose strings are prose: `key`, or `parent.key` where the key is data elsewhere. A Parquet
column of strings is prose when its name is `key` or ends with `_key`."""

PROVENANCE = {
    "folder": "the run folder's path",
    "cell": "the name of a cell's folder, a hash over the engine's binary",
    "shown": "the runs that a comparison's report shows: numbers, or names of folders",
    "digest": "the digest of a dataset, over its runs' numbers and values",
}
"""Fields and columns that depend on where a result was made.

Of `environment.json` nothing is compared.
"""

PROSE_TEXT = "(prose)"
LONG_DURATION = re.compile(r'^(duration\s*=\s*)"\d+ h"', re.MULTILINE)
QUIET = ("--json", "--quiet", "--no-report", "--workers", "1")
ENVIRONMENT = {"POLARS_MAX_THREADS": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "100", "NO_COLOR": "1"}
CAPTURE = re.compile(r"\.(pcap|pcapng|dmp)(\.gz)?$")

BULK = '[[flow]]\nname = "{name}"\ndirection = "{direction}"\nstart = "{start}"\nworkload = {{ kind = "bulk" }}\n'
BOTH = BULK.format(name="download", direction="down", start="0 s") + BULK.format(
    name="upload", direction="up", start="3 s"
)
LINE = """
[[hop]]
name  = "line"
rate  = { down = "8 Mb/s", up = "1 Mb/s" }
delay = "20 ms"
queue = { kind = "droptail", packets = 40 }
loss.down = { kind = "bernoulli", mean = 1e-3 }
"""
TRANSFERS = """
[[flow]]
name     = "transfer"
workload = { kind = "transfer", size = "300 kB" }
repeat   = { every = "5 s", times = 3 }
"""
RECORDED = """
[[hop]]
name  = "core"
delay = "20 ms"

[[hop]]
name      = "air"
rate.down = {{ trace = "data/{name}.down.gz" }}
rate.up   = {{ trace = "data/{name}.up.gz" }}
queue     = {{ kind = "droptail", packets = 250 }}
"""


@dataclass(frozen=True)
class Tree:
    """A tree with a built environment, and the folders of shared captures and recorded links (None:
    absent).
    """

    root: Path
    oracles: Path | None
    data: Path | None

    def run(self, folder: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """`ackclock ARGUMENTS` in `folder`, with `examples`, `oracles` and `data` of this tree
        linked there.
        """
        for name, target in (("examples", self.root / "examples"), ("oracles", self.oracles), ("data", self.data)):
            if target and not (folder / name).exists():
                (folder / name).symlink_to(target.resolve())
        path = str(self.root / "examples")
        return subprocess.run(
            [self.root / ".venv" / "bin" / "ackclock", *arguments],
            cwd=folder,
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    def names(self, kind: str, folder: Path) -> list[str]:
        """Links, variants, hosts or papers by name."""
        done = self.run(folder, ["list", kind, "--json"])
        if done.returncode:
            raise RuntimeError(f"ackclock list {kind}: {done.stderr.strip()}")
        return [row["name"] for row in json.loads(done.stdout)[kind]]


@dataclass(frozen=True)
class Job:
    """Commands in a folder of their own that has `files`. The results of command NAME are NAME.json
    (standard output) and the folder NAME (`--out NAME`). With `refusal` exit status 2 is a result,
    too."""

    name: str
    commands: Mapping[str, Sequence[str]]
    files: Mapping[str, str] = field(default_factory=dict)
    refusal: bool = False


@dataclass(frozen=True)
class Item:
    """One result: the SHA-256 of its canonical form, its kind, and the content that differences are
    named from: a document compressed, a Parquet file as it is, nothing of captures."""

    sha256: str
    kind: str
    kept: bytes | None = None


def jobs(tree: Tree, scratch: Path) -> list[Job]:
    """All jobs of a tree, those that take longest first."""
    return [
        *papers(tree, scratch),
        *examples(tree),
        *comparisons(tree),
        *(
            Job(f"list/{kind}", {"list": ("list", kind, "--json")})
            for kind in ("links", "variants", "hosts", "queues", "papers")
        ),
        *(
            simulation(f"link/{name}", f'link = "{name}"\nduration = "10 s"\n' + BOTH)
            for name in tree.names("links", scratch)
        ),
        *(variant(name) for name in tree.names("variants", scratch)),
        *(host(name) for name in tree.names("hosts", scratch)),
        *recorded(tree),
        *captures(tree),
    ]


def papers(tree: Tree, scratch: Path) -> Iterator[Job]:
    """`reproduce --quick`, in reverse order of their names, as wimax-simulated takes longest."""
    for name in sorted(tree.names("papers", scratch), reverse=True):
        arguments = ("reproduce", name, "--quick", "--json", "--quiet", "--workers", "1", "--out", "reproduce")
        yield Job(f"paper/{name}", {"reproduce": arguments})


def examples(tree: Tree) -> Iterator[Job]:
    """Each scenario file: simulated, its sweep for one seed, and its captures for one seed (of its
    first 30 s where it takes hours). A file without flows is a link, and compared."""
    for path in sorted((tree.root / "examples").glob("*.toml")):
        text = path.read_text("utf-8")
        document = tomllib.loads(text)
        given, name = f"examples/{path.name}", f"example/{path.stem}"
        if "flow" not in document:
            yield Job(name, {"compare": ("compare", given, "--quick", *QUIET, "--out", "compare")}, refusal=True)
            continue
        short = LONG_DURATION.sub(r'\1"30 s"', text)
        commands = {
            "simulate": ("simulate", given, *QUIET, "--out", "simulate"),
            "captures": ("simulate", "short.toml", "--pcap", "--seed", "1", *QUIET, "--out", "captures"),
        }
        if "sweep" in document:
            commands["sweep"] = ("sweep", given, "--seed", "1", *QUIET, "--out", "sweep")
        yield Job(name, commands, {"short.toml": short})
    if (tree.root / "examples" / "own_control.py").exists():
        own = "reno,python:own_control.Reno,python:own_control.TwoInQueue"
        yield comparison("example/own_control", "cable-dialup", "--variants", own, "--delayed-ack", "on")


def comparisons(tree: Tree) -> Iterator[Job]:
    """`compare` on its axes, with few variants: sockets, queues, ACK policies, ACK techniques, both
    directions.
    """
    variants = ("--variants", "reno,cubic,bbr")
    one = ("--variants", "cubic", "--buffers", "auto", "--delayed-ack", "on", "--duration", "10 s", "--seeds", "1")
    yield comparison("compare/sockets", "dsl-16m", *variants, "--rank-by", "rtt")
    yield comparison("compare/satellite", "geo-100m-pep", *variants, "--buffers", "auto", "--delayed-ack", "on")
    yield comparison("compare/queues", "dsl-16m", *one, "--queue", "link,droptail,red,codel,fq-codel,cake,pie,dualpi2")
    policies = "link,none,safe,p1,cake,cake-aggressive,acks-first,drop-front,red,codel,fq-codel"
    yield comparison("compare/ack-policies", "dsl-16m", *one, "--ack-policy", policies, "--opposite", "1")
    yield comparison(
        "compare/ack-techniques", "cable-dialup", *one, "--ack", "none,acc,adapt,acc+adapt", "--direction", "down"
    )
    yield comparison("compare/shared", "wimax-nist", *one, "--flows", "3", "--direction", "up", "--rank-by", "jain")


def comparison(name: str, link: str, *arguments: str) -> Job:
    quick = () if "--duration" in arguments else ("--quick",)
    return Job(name, {"compare": ("compare", link, *arguments, *quick, *QUIET, "--out", "compare")})


def variant(name: str) -> Job:
    return simulation(f"variant/{name}", f'duration = "15 s"\n[tcp]\nvariant = "{name}"\n' + LINE + BOTH)


def host(name: str) -> Job:
    return simulation(f"host/{name}", f'duration = "15 s"\n[tcp]\nhost = "{name}"\n' + LINE + BOTH + TRANSFERS)


def simulation(name: str, scenario: str, form: str = "pcap") -> Job:
    arguments = ("simulate", "scenario.toml", "--pcap", "--pcap-format", form, *QUIET, "--out", "simulate")
    return Job(name, {"simulate": arguments}, {"scenario.toml": scenario})


def recorded(tree: Tree) -> Iterator[Job]:
    """Recorded rates, where they are present."""
    for path in sorted(tree.data.glob("cellular/*.down.gz")) if tree.data else ():
        name = path.name.removesuffix(".down.gz")
        scenario = 'duration = "10 s"\n' + RECORDED.format(name=f"cellular/{name}") + BOTH
        yield simulation(f"recorded/{name}", scenario)


def captures(tree: Tree) -> Iterator[Job]:
    """`analyze` of captures: of a simulation, at each end, joined, and as pcapng; and of the shared
    ones, where present.
    """
    run = (
        "simulate",
        "examples/upload-hurts-download.toml",
        "--pcap",
        "--pcap-format",
        "pcapng",
        *QUIET,
        "--out",
        "simulate",
    )
    if (tree.root / run[1]).exists():
        server, client = (f"simulate/captures/download-1.{end}.pcapng" for end in ("server", "client"))
        analyses = {"server": (server,), "client": (client,), "joined": (server, client)}
        yield Job(
            "analyze/simulated", {"simulate": run, **{name: analysis(name, *given) for name, given in analyses.items()}}
        )
    if tree.oracles is None:
        return
    for folder in sorted(tree.oracles.glob("captures*")):
        found = sorted(path.name for path in folder.iterdir() if CAPTURE.search(path.name))
        for file in found:
            given, name = f"oracles/{folder.name}/{file}", f"analyze/{folder.name}/{file}"
            commands = {"analyze": analysis("analyze", given)}
            client = file.replace(".server.", ".client.")
            if client != file and client in found:
                commands["joined"] = analysis("joined", given, f"oracles/{folder.name}/{client}")
            yield Job(name, commands)


def analysis(name: str, *given: str) -> tuple[str, ...]:
    return ("analyze", *given, "--json", "--quiet", "--no-report", "--out", name)


def collect(tree: Tree, chosen: Sequence[Job], scratch: Path, workers: int) -> tuple[dict[str, Item], list[str]]:
    """The items of jobs, `workers` at a time, and a line for each job that failed."""
    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(lambda job: run(tree, job, scratch), chosen))
    items = {
        f"{job.name}:{name}": item for job, (found, _) in zip(chosen, done, strict=True) for name, item in found.items()
    }
    return items, [line for _, failed in done for line in failed]


def run(tree: Tree, job: Job, scratch: Path) -> tuple[dict[str, Item], list[str]]:
    """A job's items by name, and a line for each command that failed."""
    folder = scratch / job.name.replace("/", "~")
    folder.mkdir(parents=True)
    for name, text in job.files.items():
        (folder / name).write_text(text, "utf-8")
    items: dict[str, Item] = {}
    failed = []
    for name, arguments in job.commands.items():
        done = tree.run(folder, arguments)
        items[f"{name}.status"] = item("status", done.returncode)
        allowed = [0, 2] if job.refusal else [0]
        try:
            items[f"{name}.json"] = item("json", json.loads(done.stdout))
        except ValueError:
            allowed = []
        if done.returncode not in allowed:
            failed.append(
                f"{job.name}: ackclock {' '.join(arguments)}: exit status {done.returncode}: "
                f"{done.stderr.strip()[-300:]}"
            )
    for name in job.commands:
        items |= {f"{name}/{relative}": found for relative, found in files(folder / name)}
    shutil.rmtree(folder)
    return items, failed


def files(folder: Path) -> Iterator[tuple[str, Item]]:
    """The items of a run folder. The runs of a sweep or a comparison are two items, whether they
    are a dataset or, as in earlier versions, a folder each in `cells`.
    """
    several = any((folder / name).is_file() for name in ("sweep.json", "compare.json"))
    own = {path: found for path in sorted(folder.rglob("*")) if (found := file_item(path)) is not None}
    cells: dict[Path, list[tuple[str, Item]]] = defaultdict(list)
    for path, found in own.items():
        if several and path.relative_to(folder).parts[0] in OF_RUNS:
            continue
        if path.parent.parent == folder / "cells":
            cells[path.parent].append((path.name, found))
        else:
            yield str(path.relative_to(folder)), found
    for place, cell in enumerate(sorted(cells.values(), key=scenario_first)):
        yield from ((f"cells/{place:03}/{name}", found) for name, found in cell)
    if several:
        yield "flows.parquet", flows_item(folder)
        yield "summaries.json", item("json", summaries(folder))


OF_RUNS = ("cells", "runs", "flows", "series", "hops", "summaries", "flows.parquet", "dataset.json", "points.json")
"""The files and folders of a sweep's or comparison's runs, in all layouts."""


def flows_item(folder: Path) -> Item:
    """The item of the table of a row for each run and flow, with its columns by name."""
    files_of_table = sorted((folder / "flows").glob("*.parquet")) or [folder / "flows.parquet"]
    frame = pl.concat([pl.read_parquet(path, glob=False) for path in files_of_table])
    frame = frame.select(sorted(set(frame.columns) - {"run"})).cast({pl.UInt64: pl.Int64})
    content = io.BytesIO()
    frame.write_parquet(content)
    return parquet_item(content.getvalue())


def summaries(folder: Path) -> list[Any]:
    """The different summaries of the runs of a sweep or a comparison, in an order of their own: by
    the seed and by what each flow sent. Earlier versions kept runs with equal plans once.
    """
    if (folder / "summaries").is_dir():
        texts = [pl.read_parquet(path)["summary"].to_list() for path in sorted((folder / "summaries").iterdir())]
        documents = [json.loads(text) for part in texts for text in part]
    else:
        documents = [json.loads(path.read_text("utf-8")) for path in folder.glob("cells/*/summary.json")]
    different = {json.dumps(document, sort_keys=True): document for document in documents}
    return sorted(different.values(), key=_by_run)


def _by_run(summary: Mapping[str, Any]) -> str:
    fields = ("flow", "variant", "goodput_bps", "throughput_bps", "segments_sent", "retransmitted_segments")
    flows = [[flow.get(name) for name in fields] for flow in summary.get("flows", [])]
    return json.dumps([summary.get("seed"), flows, summary.get("engine"), summary])


def scenario_first(cell: Sequence[tuple[str, Item]]) -> list[str]:
    """The order of cells: by the text of the scenario, then by the results."""
    scenario = [unpacked(found) for name, found in cell if name == "scenario.toml"]
    return [*scenario, *(found.sha256 for _, found in cell)]


def unpacked(document: Item) -> str:
    """A JSON or TOML item in canonical form."""
    return gzip.decompress(document.kept or b"").decode()


def file_item(path: Path) -> Item | None:
    """The item of a file; None where its kind is not compared."""
    if not path.is_file() or path.name == "environment.json":
        return None
    match path.suffix:
        case ".json":
            return item("json", json.loads(path.read_text("utf-8")))
        case ".toml":
            return item("toml", tomllib.loads(path.read_text("utf-8")))
        case ".parquet":
            return parquet_item(path.read_bytes())
        case ".pcap" | ".pcapng":
            with path.open("rb") as file:
                return Item(hashlib.file_digest(file, "sha256").hexdigest(), "pcap")
        case ".xpl":
            return Item(hashlib.sha256("\n".join(xplot(path.read_text("utf-8"))).encode()).hexdigest(), "xplot")
        case _:
            return None


def xplot(text: str) -> Iterator[str]:
    """The lines of an xplot graph without the text of titles and axis labels."""
    labelled = False
    for line in text.splitlines():
        if not labelled:
            yield line
        labelled = line in ("title", "xlabel", "ylabel")


def item(kind: str, document: Any) -> Item:
    """The item of a JSON-like document."""
    text = json.dumps(
        canonical(document), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str
    ).encode()
    return Item(hashlib.sha256(text).hexdigest(), kind, gzip.compress(text, 6, mtime=0))


def canonical(document: Any, key: str = "", parent: str = "") -> Any:
    """A document without provenance, and with one text for all prose.

    A list's elements have the list's key.
    """
    if isinstance(document, dict):
        kept = {name: value for name, value in document.items() if name not in PROVENANCE}
        return {name: canonical(value, name, key) for name, value in kept.items()}
    if isinstance(document, list):
        return [canonical(value, key, parent) for value in document]
    prose = key in PROSE or f"{parent}.{key}" in PROSE
    return PROSE_TEXT if prose and isinstance(document, str) and document else document


def parquet_item(data: bytes) -> Item:
    """The item of a table: its columns in order, each with its type and a hash of its values."""
    columns = table(data)
    lines = [f"{columns.height} rows"]
    lines += [
        f"{column.name} {column.dtype} {hashlib.sha256(content(column)).hexdigest()}"
        for column in columns.iter_columns()
    ]
    return Item(hashlib.sha256("\n".join(lines).encode()).hexdigest(), "parquet", data)


def table(data: bytes) -> pl.DataFrame:
    """A Parquet file without provenance, and with one text for all prose."""
    frame = pl.read_parquet(io.BytesIO(data), hive_partitioning=False)
    frame = frame.drop([name for name in frame.columns if name in PROVENANCE])
    prose = [name for name, dtype in frame.schema.items() if dtype == pl.String and prose_column(name)]
    return frame.with_columns(
        pl.when(pl.col(name).str.len_bytes() > 0).then(pl.lit(PROSE_TEXT)).otherwise(pl.col(name)).alias(name)
        for name in prose
    )


def prose_column(name: str) -> bool:
    return any(name == key or name.endswith(f"_{key}") for key in PROSE if "." not in key)


def content(column: pl.Series) -> bytes:
    """The values of a column: numbers by their bits (every NaN by the same), other types as
    JSON.
    """
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        values = column.fill_nan(float("nan")) if column.dtype.is_float() else column
        zero = False if column.dtype == pl.Boolean else 0
        return column.is_null().to_numpy().tobytes() + values.fill_null(zero).to_numpy().tobytes()
    return json.dumps(column.to_list(), default=str).encode()
