//! The record of a finished test, as the estimators read it. Plain data: this module has no sockets and no clock.

use crate::Nanos;
use crate::control::message::{FlowOutcome, TableId, TestOutcome};
use crate::control::table::IntTable;
use crate::test_spec::TestSpec;
use std::collections::BTreeMap;

/// In order. Times in nanoseconds of the end that looks, rates in bits a second; bytes are payload. -1 is none.
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

/// What both ends have of a test that is over. Times are each end's own.
#[derive(Debug, Clone)]
pub struct TestRecord {
    pub spec: TestSpec,
    /// Bytes of IP and UDP.
    pub headers: u32,
    /// When it began here.
    pub began: Nanos,
    /// Logs of datagrams and samples of connections: here, and at the far end.
    pub near: BTreeMap<TableId, IntTable>,
    pub far: BTreeMap<TableId, IntTable>,
    pub flows: Vec<FlowOutcome>,
    /// Of transfers: began, connected, first byte, last byte; here.
    pub times: Vec<[Option<Nanos>; 4]>,
    pub unsent: u64,
    pub outcome: TestOutcome,
}
