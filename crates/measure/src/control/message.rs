//! Messages of the control connection: JSON in encrypted frames. Unknown variants and fields
//! are errors.

use super::frame::MAX_PAYLOAD;
use crate::quotas::Quotas;
use crate::test_spec::TestSpec;
use ackclock_contract::Document;
use serde::{Deserialize, Serialize};

/// Maximum payload of a client's frame.
pub const MAX_REQUEST: usize = 4096;
/// Maximum payload of a server's frame.
pub const MAX_REPLY: usize = MAX_PAYLOAD;
/// Maximum number of connections in one reply: at most 400 bytes each.
pub const MAX_FLOWS: usize = 150;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClientRequest {
    /// Prepare a test. The client numbers its tests from 0, each number once.
    Start { test: u32, spec: TestSpec },
    /// Start sending.
    Go { test: u32 },
    /// End a test after no data has arrived for `quiet_ns`, and report.
    Stop { test: u32, quiet_ns: i64 },
    /// Start a capture of this session's packet headers, of at most `bytes`.
    Capture { bytes: u64 },
    /// End the capture and send it.
    Captured {},
    /// Keepalive: resets the idle timeout.
    KeepAlive {},
    /// End the session.
    Quit {},
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ServerReply {
    Welcome(Welcome),
    /// The test is prepared. Its connections go to this port if it differs from the control port.
    Ready {
        test: u32,
        port: Option<u16>,
    },
    /// The client's UDP address is validated.
    Open {
        test: u32,
    },
    /// The test is refused.
    Refused {
        test: u32,
        reason: String,
        /// The limit, if `reason` names a value above it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowed: Option<String>,
    },
    /// The last of a test's connections, if one reply cannot hold all of them.
    Flows {
        test: u32,
        flows: Vec<FlowOutcome>,
    },
    /// The test has ended; its tables were sent before.
    Done {
        test: u32,
        outcome: TestOutcome,
    },
    /// The capture has started, or the reason why it has not.
    Capturing {
        refused: Option<String>,
    },
    /// All captured packets were sent; `dropped` counts the others.
    Captured {
        dropped: u64,
    },
    /// The session ends.
    Bye {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Document)]
#[serde(deny_unknown_fields)]
pub struct Welcome {
    /// Version of the far end's ackclock.
    pub version: String,
    pub system: String,
    #[serde(rename = "caps")]
    pub quotas: Quotas,
    /// Congestion controls that the far end offers.
    pub congestion: Vec<String>,
    pub clock: ClockState,
}

/// Clock quality by adjtimex(2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Document)]
#[serde(deny_unknown_fields)]
pub struct ClockState {
    /// Synchronised by NTP, PTP or PPS.
    pub synchronised: bool,
    /// The kernel has a PPS signal.
    pub pps: bool,
    /// The kernel's maximum error against true time, nanoseconds.
    #[serde(rename = "most_error_ns")]
    pub max_error_ns: i64,
}

/// The server's results of a test, without the tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Document)]
#[serde(deny_unknown_fields)]
pub struct TestOutcome {
    /// Datagrams that sendto rejected, or that were still unsent at the end of the test.
    pub unsent: u64,
    /// Datagrams delayed by the shared rate budget.
    pub held: u64,
    /// Datagrams that the server's kernel dropped during the test, as its socket's buffer was full
    /// (SO_RXQ_OVFL): of all sessions, as they share the socket.
    pub overrun: u64,
    /// Connections at the server.
    pub flows: Vec<FlowOutcome>,
    /// Why the test ended early.
    pub cut_short: Option<String>,
}

/// Results of a connection at one end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Document)]
#[serde(deny_unknown_fields)]
pub struct FlowOutcome {
    pub flow: u16,
    /// This end sends the data.
    pub sends: bool,
    /// The congestion control in use.
    pub congestion: String,
    pub send_buffer: u32,
    pub receive_buffer: u32,
    pub mss: u32,
    /// Payload written to or read from the socket.
    pub bytes: u64,
    /// Time from the client's SYN to the last byte counted, by this end's clock, nanoseconds.
    pub elapsed_ns: i64,
    pub retransmitted: u64,
    pub segments_sent: u64,
    pub why_failed: Option<String>,
}

/// Identifier of a table on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TableId {
    /// Datagrams sent: sequence number, time.
    Sent = 0,
    /// Datagrams received: sequence number, time.
    Received = 1,
    /// Samples of connections: `record::SAMPLE_COLUMNS`.
    Samples = 2,
}

impl TableId {
    pub fn from_byte(byte: u8) -> Option<TableId> {
        [TableId::Sent, TableId::Received, TableId::Samples].into_iter().find(|n| *n as u8 == byte)
    }
}
