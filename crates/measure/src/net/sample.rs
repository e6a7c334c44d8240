//! Samples of TCP_INFO, as rows of the table `Samples`.

use super::tcp_info::TcpInfo;
use crate::Nanos;
use crate::record::SAMPLE_COLUMNS;

/// TCP_INFINITE_SSTHRESH (linux/tcp.h).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Time, identity and byte count of a sampled connection.
#[derive(Debug, Clone, Copy)]
pub struct SampledFlow {
    pub at: Nanos,
    pub flow: u16,
    pub sends: bool,
    pub bytes: u64,
}

pub fn sample_row(flow: &SampledFlow, info: &TcpInfo) -> [i64; SAMPLE_COLUMNS.len()] {
    let bytes = |segments: u32| i64::from(segments) * i64::from(info.mss);
    let rate = |bytes: u64| if bytes == u64::MAX { -1 } else { i64::try_from(bytes.saturating_mul(8)).unwrap_or(-1) };
    let count = |value: u64| i64::try_from(value).unwrap_or(-1);
    [
        flow.at,
        i64::from(flow.flow),
        i64::from(flow.sends),
        count(flow.bytes),
        bytes(info.cwnd),
        if info.ssthresh >= INFINITE_SSTHRESH { -1 } else { bytes(info.ssthresh) },
        i64::from(info.rtt_us),
        i64::from(info.rttvar_us),
        if info.min_rtt_us == u32::MAX { -1 } else { i64::from(info.min_rtt_us) },
        bytes(info.unacked),
        count(info.bytes_acked),
        i64::from(info.total_retrans),
        rate(info.delivery_rate),
        rate(info.pacing_rate),
        i64::from(info.notsent),
        count(info.busy_us),
        count(info.rwnd_limited_us),
        count(info.sndbuf_limited_us),
    ]
}
