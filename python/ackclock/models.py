"""Throughput of long transfers in closed form.

Times are in seconds, windows in segments, rates in segments a second (times 8 and the segment's
bytes: bits/s). The models assume random losses, an RTT that does not depend on the load, and no
slow start; `loss` counts loss events (the losses of one window are one event).

>>> from ackclock import models
>>> segments_s = models.padhye_full(0.018, rtt=0.134, rto=0.334, max_window=65536 / 1448)
>>> round(segments_s * 1448 * 8 / 1e6, 3)    # Mb/s
0.495
"""

from __future__ import annotations

import math

from ackclock import _native

__all__ = ["cubic_response", "mathis", "padhye_approx", "padhye_full", "window_over_rtt"]


def window_over_rtt(window: float, rtt: float) -> float:
    """0.75*W/RTT: the mean rate of a sawtooth between W/2 and W. A constant window has the rate
    W/RTT.

    Args:
        window: the maximum window W, above 0, in any unit (bytes, segments).
        rtt: round-trip time, above 0.

    Returns:
        The rate in that unit a second.

    Raises:
        ValueError: an argument is out of range. The other functions raise it, too.
    """
    _above_zero(window=window, rtt=rtt)
    return _native.window_over_rtt(window, rtt)


def mathis(loss: float, rtt: float, per_ack: float = 1.0) -> float:
    """C/(RTT*sqrt(p)) with C = sqrt(3/(2*b)): Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997,
    equation (3).

    Reno's sawtooth without timeouts, so for small p (below about 1 %).

    Args:
        loss: loss events a segment, p, between 0 and 1.
        rtt: round-trip time, above 0.
        per_ack: segments an ACK covers, b: 1, or 2 with delayed ACKs.

    Returns:
        Segments a second.
    """
    _path(loss, rtt=rtt, per_ack=per_ack)
    return _native.mathis(loss, rtt, per_ack)


def padhye_full(loss: float, rtt: float, rto: float, per_ack: float = 2.0, max_window: float = math.inf) -> float:
    """Reno's send rate with timeouts and a maximum window: Padhye, Firoiu, Towsley and Kurose,
    SIGCOMM 1998, the full model of section 2.3.

    Args:
        loss: loss events a segment, p, between 0 and 1.
        rtt: round-trip time, above 0.
        rto: the first retransmission timeout, T0, above 0.
        per_ack: segments an ACK covers, b.
        max_window: the receiver's window W_m, in segments; infinity for none.

    Returns:
        Segments a second, retransmissions included.
    """
    _path(loss, rtt=rtt, rto=rto, per_ack=per_ack, max_window=max_window)
    return _native.padhye_full(loss, rtt, rto, per_ack, max_window)


def padhye_approx(loss: float, rtt: float, rto: float, per_ack: float = 2.0, max_window: float = math.inf) -> float:
    """The approximate model of the same paper, whose second branch is RFC 5348's equation (section
    3.1). Arguments as for `padhye_full`.

    Returns:
        Segments a second, retransmissions included.
    """
    _path(loss, rtt=rtt, rto=rto, per_ack=per_ack, max_window=max_window)
    return _native.padhye_approx(loss, rtt, rto, per_ack, max_window)


def cubic_response(loss: float, rtt: float, c: float = 0.4, beta: float = 0.7) -> float:
    """CUBIC's mean window where it is not Reno-friendly, 1.054*(RTT/p)^0.75 with RFC 9438's
    constants (section 5.1). Divided by the RTT it is a rate.

    Args:
        loss: loss events a segment, p, between 0 and 1.
        rtt: round-trip time, above 0.
        c: C, in segments a second cubed, above 0.
        beta: the factor of a window reduction, between 0 and 1.

    Returns:
        Segments.
    """
    _path(loss, rtt=rtt, c=c)
    _share(beta=beta)
    return _native.cubic_response(loss, rtt, c, beta)


def _path(loss: float, **above_zero: float) -> None:
    _share(loss=loss)
    _above_zero(**above_zero)


def _share(**named: float) -> None:
    for name, value in named.items():
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} is between 0 and 1, not {value}")


def _above_zero(**named: float) -> None:
    for name, value in named.items():
        if not value > 0.0:
            raise ValueError(f"{name} is above 0, not {value}")
