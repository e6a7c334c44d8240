//! TCP_INFO: `struct tcp_info` (linux/tcp.h). Older kernels fill a part of it.

use std::os::fd::{AsFd, AsRawFd};

const BYTES: usize = 232;

#[derive(Debug, Clone, Copy, Default)]
pub struct TcpInfo {
    pub mss: u32,
    pub unacked: u32,
    pub lost: u32,
    pub rtt_us: u32,
    pub rttvar_us: u32,
    /// In segments.
    pub ssthresh: u32,
    pub cwnd: u32,
    pub total_retrans: u32,
    /// In bytes per second; all ones: no pacing.
    pub pacing_rate: u64,
    pub bytes_acked: u64,
    pub notsent: u32,
    pub min_rtt_us: u32,
    pub data_segs_out: u32,
    /// In bytes per second.
    pub delivery_rate: u64,
    /// Microseconds with data to send, limited by the peer's window, and limited by the send
    /// buffer.
    pub busy_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
}

impl TcpInfo {
    /// None if the kernel refuses.
    pub fn of(socket: impl AsFd) -> Option<TcpInfo> {
        let mut raw = [0u8; BYTES];
        let mut length = BYTES as libc::socklen_t;
        // SAFETY: the buffer outlives the call, which writes at most `length` bytes to it.
        let done = unsafe {
            let to = raw.as_mut_ptr().cast();
            libc::getsockopt(socket.as_fd().as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length)
        };
        (done == 0).then(|| TcpInfo::parse(&raw))
    }

    fn parse(raw: &[u8; BYTES]) -> TcpInfo {
        let word = |at: usize| u32::from_ne_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]);
        let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| raw[at + i]));
        TcpInfo {
            mss: word(16),
            unacked: word(24),
            lost: word(32),
            rtt_us: word(68),
            rttvar_us: word(72),
            ssthresh: word(76),
            cwnd: word(80),
            total_retrans: word(100),
            pacing_rate: long(104),
            bytes_acked: long(120),
            notsent: word(144),
            min_rtt_us: word(148),
            data_segs_out: word(156),
            delivery_rate: long(160),
            busy_us: long(168),
            rwnd_limited_us: long(176),
            sndbuf_limited_us: long(184),
        }
    }
}
