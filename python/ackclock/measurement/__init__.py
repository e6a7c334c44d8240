"""Active measurement of a path: the client `measure` and the server `serve`
(docs/reference/measure.md).
"""

from ackclock.measurement.result import Measurement
from ackclock.measurement.run import measure
from ackclock.measurement.server import serve

__all__ = ["Measurement", "measure", "serve"]
