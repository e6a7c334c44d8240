"""Active tests of a live path: `measure` asks, `serve` is the far end (docs/measure.md)."""

from ackclock.measurement.result import Measurement
from ackclock.measurement.run import measure
from ackclock.measurement.server import serve

__all__ = ["Measurement", "measure", "serve"]
