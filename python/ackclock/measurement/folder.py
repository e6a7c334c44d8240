"""What a measurement leaves on disk: a run folder like the others."""

from __future__ import annotations

from pathlib import Path

from ackclock.input.document import Document
from ackclock.input.toml_writer import to_toml
from ackclock.measurement.plan import plan_of
from ackclock.measurement.result import Measurement
from ackclock.storage import run_kind
from ackclock.storage.atomic_files import atomic_write, write_json, write_parquet
from ackclock.storage.stored_files import read_json, read_table, read_toml

DOCUMENT = run_kind.MEASURE.document


def write_folder(folder: Path, measurement: Measurement) -> None:
    """Write the resolved plan, the document and its tables into an entered run folder."""
    host, port = measurement.document["host"], measurement.document["port"]
    plan = {"host": host, "port": port, **measurement.plan.written}
    atomic_write(folder / "scenario.toml", to_toml({"measure": plan}).encode())
    for name, frame in (
        ("flows", measurement.flows),
        ("series", measurement.series),
        ("delays", measurement.delays),
        ("probes", measurement.probes),
    ):
        if frame is not None:
            write_parquet(folder / f"{name}.parquet", frame)
    # Last: every file that it names exists.
    write_json(folder / DOCUMENT, measurement.document)


def is_complete(folder: Path) -> bool:
    """Whether all tests of the plan are finished."""
    path = folder / DOCUMENT
    return path.is_file() and not read_json(path).get("unfinished")


def read_folder(folder: Path) -> Measurement:
    """Read a measurement that `write_folder` wrote."""
    series, delays = (read_table(folder / f"{name}.parquet") for name in ("series", "delays"))
    probes = folder / "probes.parquet"
    plan = read_toml(folder / "scenario.toml")["measure"]
    data = {key: value for key, value in plan.items() if key not in ("host", "port")}
    document = read_json(folder / DOCUMENT)
    return Measurement(
        document,
        plan_of(Document(data)),
        series,
        delays,
        read_table(probes) if probes.exists() else None,
        folder,
    )
