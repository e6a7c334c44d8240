"""Analytical results of papers and standards, each as a function named after its equation.

Section numbers are those of Balakrishnan, Padmanabhan and Katz, "The Effects of Asymmetry on TCP
Performance" (``asymmetry``). Rates are in bit/s, sizes in bytes, times in seconds unless a name
says otherwise. Bad input raises ZeroDivisionError.
"""

from __future__ import annotations

import math


def raw_bandwidth_ratio(forward_bps: float, reverse_bps: float) -> float:
    """Forward over reverse bandwidth (asymmetry, section 4.2.1)."""
    return forward_bps / reverse_bps


def packet_size_ratio(data_bytes: float, ack_bytes: float) -> float:
    """Data packet size over ACK size (asymmetry, section 4.2.1)."""
    return data_bytes / ack_bytes


def normalized_bandwidth_ratio(forward_bps: float, reverse_bps: float, data_bytes: float, ack_bytes: float) -> float:
    """k = (forward_bps / reverse_bps) / (data_bytes / ack_bytes) (asymmetry, section 4.2.1;
    Lakshman, Madhow and Suter 1997).

    With one ACK per packet and k > 1 the reverse link saturates before the forward one.
    """
    return raw_bandwidth_ratio(forward_bps, reverse_bps) / packet_size_ratio(data_bytes, ack_bytes)


def ack_limited_throughput(forward_bps: float, k: float, packets_per_ack: float) -> float:
    """forward_bps * d / k: the rate allowed by the ACKs that the reverse link carries, in bit/s
    (asymmetry, section 4.2.1).

    ``packets_per_ack`` is d, the data packets per ACK. The result is at most the forward bandwidth.
    """
    return min(forward_bps, forward_bps * packets_per_ack / k)


def transmission_time(size_bytes: float, rate_bps: float) -> float:
    """Transmission time of ``size_bytes`` on a link of ``rate_bps``, in seconds (asymmetry, section
    4.2.2).
    """
    return size_bytes * 8.0 / rate_bps


def window_limited_throughput(window_bytes: float, rtt_s: float) -> float:
    """One window per RTT, in bit/s (asymmetry, section 4.4.3: the maximum with acks-first
    scheduling).
    """
    return window_bytes * 8.0 / rtt_s


def bandwidth_delay_product(rate_bps: float, rtt_s: float) -> float:
    """Bytes in flight that fill a path (asymmetry, section 4.4.3)."""
    return rate_bps * rtt_s / 8.0


def ofdm_symbol_s(channel_hz: float, cyclic_prefix: float) -> float:
    """T_S = 256/Fs * (1 + G), Fs = floor(n*BW/8000)*8000, n = 8/7 for a multiple of 1.75 MHz (IEEE
    802.16-2004, 8.3.2), in s.
    """
    sampling = (channel_hz * 8.0 / 7.0) // 8000.0 * 8000.0
    return 256.0 / sampling * (1.0 + cyclic_prefix)


def ofdm_symbols(frame_s: float, symbol_s: float, gaps_s: float) -> int:
    """Whole symbols in a frame without its two gaps (IEEE 802.16-2004, 8.3.5)."""
    return int((frame_s - gaps_s) / symbol_s + 1e-9)


def ofdm_symbol_bytes(bits: int, rate: float) -> float:
    """192 data carriers of ``bits`` coded bits, ``rate`` of them data, in bytes (IEEE 802.16-2004,
    8.3.3.2).
    """
    return 192.0 * bits * rate / 8.0


def downlink_fraction(down: float, up: float) -> float:
    """The downlink's share of a frame's symbols for a split down:up."""
    return down / (down + up)


def contention_symbols(opportunities: int, symbol_bytes: float) -> int:
    """Uplink symbols of ranging and requests: preambles of two and one, payloads of 19 and 6 bytes,
    a gap after each.
    """
    packed = [
        preamble * opportunities + math.ceil(opportunities * size / symbol_bytes)
        for preamble, size in ((2, 19), (1, 6))
    ]
    return sum(packed) + 2
