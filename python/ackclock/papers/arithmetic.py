"""The papers' pencil-and-paper results, each as a function named after its equation.

Section numbers are those of Balakrishnan, Padmanabhan and Katz, "The Effects of Asymmetry on TCP Performance"
(``asymmetry``). Rates are in bit/s, sizes in bytes, times in seconds unless a name says otherwise. Bad input raises
ZeroDivisionError.
"""

from __future__ import annotations


def raw_bandwidth_ratio(forward_bps: float, reverse_bps: float) -> float:
    """Forward over reverse bandwidth (asymmetry, section 4.2.1)."""
    return forward_bps / reverse_bps


def packet_size_ratio(data_bytes: float, ack_bytes: float) -> float:
    """Data packet size over ACK size (asymmetry, section 4.2.1)."""
    return data_bytes / ack_bytes


def normalized_bandwidth_ratio(forward_bps: float, reverse_bps: float, data_bytes: float, ack_bytes: float) -> float:
    """k = (forward_bps / reverse_bps) / (data_bytes / ack_bytes) (asymmetry, section 4.2.1; Lakshman, Madhow and
    Suter 1997).

    With one ACK per packet and k > 1 the reverse link saturates before the forward one.
    """
    return raw_bandwidth_ratio(forward_bps, reverse_bps) / packet_size_ratio(data_bytes, ack_bytes)


def ack_limited_throughput(forward_bps: float, k: float, packets_per_ack: float) -> float:
    """forward_bps * d / k: what the reverse link's ACK rate lets through, in bit/s (asymmetry, section 4.2.1).

    ``packets_per_ack`` is d, the data packets one ACK covers. Never more than the forward bandwidth.
    """
    return min(forward_bps, forward_bps * packets_per_ack / k)


def transmission_time(size_bytes: float, rate_bps: float) -> float:
    """Seconds to put ``size_bytes`` on a link of ``rate_bps`` (asymmetry, section 4.2.2)."""
    return size_bytes * 8.0 / rate_bps


def window_limited_throughput(window_bytes: float, rtt_s: float) -> float:
    """One window per round-trip time, in bit/s (asymmetry, section 4.4.3: the ceiling with acks-first scheduling)."""
    return window_bytes * 8.0 / rtt_s


def bandwidth_delay_product(rate_bps: float, rtt_s: float) -> float:
    """Bytes in flight that fill a path (asymmetry, section 4.4.3)."""
    return rate_bps * rtt_s / 8.0
