//! Record of a finished test, the input of the estimators. The module has no sockets and no clock.

use crate::Nanos;
use crate::control::message::{FlowOutcome, TableId, TestOutcome};
use crate::control::table::IntTable;
use crate::test_spec::TestSpec;
use std::collections::BTreeMap;

/// Columns of the table `Samples`. Times are in nanoseconds of the sampling end's clock, rates in
/// b/s, bytes of payload. -1: no value.
pub const SAMPLE_COLUMNS: [&str; 18] = [
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

/// Logs and results of a finished test from both ends. Times are by the clock of the end that took
/// them.
#[derive(Debug, Clone)]
pub struct TestRecord {
    pub spec: TestSpec,
    /// Bytes of the IP and UDP headers of a datagram.
    pub headers: u32,
    /// Start of the test by the near end's clock.
    pub began: Nanos,
    /// Logs of datagrams and samples of connections, of the near and of the far end.
    pub near: BTreeMap<TableId, IntTable>,
    pub far: BTreeMap<TableId, IntTable>,
    pub flows: Vec<FlowOutcome>,
    /// Times of each transfer at the near end: start, connected, first byte, last byte.
    pub times: Vec<[Option<Nanos>; 4]>,
    pub unsent: u64,
    /// Datagrams that the near end's kernel dropped, as the socket's buffer was full.
    pub overrun: u64,
    /// Why the near end ended the test early.
    pub cut_short: Option<String>,
    pub outcome: TestOutcome,
}
