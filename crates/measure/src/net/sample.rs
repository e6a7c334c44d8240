//! A look at a connection: the columns of the table `Samples`.

use super::tcp_info::TcpInfo;
use crate::Nanos;

/// In order. Times in nanoseconds of the end that looks, rates in bits a second; bytes are payload. -1 is none.
pub const COLUMNS: [&str; 18] = [
    "time_ns",
    "flow",
    "sends",
    "bytes",
    "cwnd_bytes",
    "ssthresh_bytes",
    "srtt_us",
    "rttvar_us",
    "min_rtt_us",
    "flight_bytes",
    "delivered_bytes",
    "retransmitted_segments",
    "delivery_rate_bps",
    "pacing_rate_bps",
    "not_sent_bytes",
    "busy_us",
    "rwnd_limited_us",
    "sndbuf_limited_us",
];

/// The kernel's word for "no threshold yet" and "no pacing".
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Which connection is looked at, and what went through it.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub at: Nanos,
    pub flow: u16,
    pub sends: bool,
    pub bytes: u64,
}

pub fn row(seen: &Seen, info: &TcpInfo) -> [i64; COLUMNS.len()] {
    let bytes = |segments: u32| i64::from(segments) * i64::from(info.mss);
    let rate = |bytes: u64| if bytes == u64::MAX { -1 } else { i64::try_from(bytes.saturating_mul(8)).unwrap_or(-1) };
    let whole = |value: u64| i64::try_from(value).unwrap_or(-1);
    [
        seen.at,
        i64::from(seen.flow),
        i64::from(seen.sends),
        whole(seen.bytes),
        bytes(info.cwnd),
        if info.ssthresh >= INFINITE_SSTHRESH { -1 } else { bytes(info.ssthresh) },
        i64::from(info.rtt_us),
        i64::from(info.rttvar_us),
        if info.min_rtt_us == u32::MAX { -1 } else { i64::from(info.min_rtt_us) },
        bytes(info.unacked),
        whole(info.bytes_acked),
        i64::from(info.total_retrans),
        rate(info.delivery_rate),
        rate(info.pacing_rate),
        i64::from(info.notsent),
        whole(info.busy_us),
        whole(info.rwnd_limited_us),
        whole(info.sndbuf_limited_us),
    ]
}
