"""Flows: workload, direction, path, start and end, which Rust reads (crates/scenario/src/flow).
Times are in ps, sizes in bytes.
"""

from __future__ import annotations

from ackclock import _native
from ackclock.input.checked_table import CheckedTable

Flow = CheckedTable
"""A [[flow]], with any key of [tcp]. Beside its keys it has `instances` (single flows),
`connections` (of all of them), `sending_end` (of the data), `is_udp`, `is_live` (real hosts send
and receive it), `is_spread` (web with a connection for each request and answer), and `data_bytes`
(IP size of a data packet, where the workload defines it).
"""


def instance_names(flow: Flow, base: str) -> list[str]:
    """Names of the single flows: `base` for one, else `base-1`, `base-2`, .."""
    return _native.flow_instances(flow, base)
