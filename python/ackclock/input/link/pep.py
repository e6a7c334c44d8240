"""A performance-enhancing proxy that splits connections (RFC 3135, section 2.4).
docs/models/pep.md.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.input.quantity_fields import SomeBytes
from ackclock.input.schema import Table, choice_field


def _tcp(value: Any) -> Any:
    from ackclock.input.scenario.tcp import TcpKeys

    return TcpKeys.model_validate(value)


class TcpTable:
    """Marks a table of TCP keys, whose model imports this package."""


class Pep(Table):
    """It stands where the hop begins, seen from the server. TCP connections end there and go on as
    others.

    At most `buffer` bytes are stored in each direction. `handshake`: it answers a caller at once
    (`local`), or when it has itself been answered (`through`). `tcp` are the proxy's own keys, over
    those of the flow.
    """

    buffer: SomeBytes = 4 * 1024 * 1024
    handshake: Annotated[str, choice_field("local", "through")] = "local"
    tcp: Annotated[Any, BeforeValidator(_tcp), TcpTable()] = None

    def written(self) -> dict[str, Any]:
        """The table in a link file."""
        out = self.model_dump(exclude={"tcp"})
        if self.tcp is None:
            return out
        tcp = type(self.tcp).model_construct(None, **self.tcp.explicit_keys()).model_dump(exclude_none=True)
        return {**out, "tcp": tcp} if tcp else out
