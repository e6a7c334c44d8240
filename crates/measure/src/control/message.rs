//! What the two ends say to each other, as JSON within authenticated frames. Unknown words and fields are errors.

use crate::quotas::Quotas;
use crate::test_spec::TestSpec;
use serde::{Deserialize, Serialize};

/// Longest message of a client: a test's words, no more.
pub const MAX_REQUEST: usize = 4096;
/// Longest frame of a server: a piece of a table.
pub const MAX_REPLY: usize = 65_536;
/// Connections that one reply says something of: 400 bytes each at most.
pub const MAX_FLOWS: usize = 150;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Prepare a test; the client numbers its tests from 0, each number once.
    Start { test: u32, spec: TestSpec },
    /// Begin to send.
    Go { test: u32 },
    /// End a test once nothing has come in for so long, and report.
    Stop { test: u32, quiet_ns: i64 },
    /// Keep this session's packets' headers from now on, so many bytes at most.
    Capture { bytes: u64 },
    /// Keep no more, and send what there is.
    Captured {},
    /// Keepalive: no request, and the session is not idle.
    KeepAlive {},
    /// The session is over.
    Quit {},
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reply {
    Welcome(Welcome),
    /// A test is prepared; its connections go to this port if it is not the usual one.
    Ready {
        test: u32,
        port: Option<u16>,
    },
    /// The client's UDP address is proven.
    Open {
        test: u32,
    },
    /// A test is not to be had.
    Refused {
        test: u32,
        reason: String,
        /// The limit, where `reason` names a value above one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowed: Option<String>,
    },
    /// The last of a test's connections, where there are more than one reply holds.
    Flows {
        test: u32,
        flows: Vec<FlowOutcome>,
    },
    /// A test is over; its tables have been sent.
    Done {
        test: u32,
        outcome: TestOutcome,
    },
    /// A capture has begun, or why it has not.
    Capturing {
        refused: Option<String>,
    },
    /// All packets have been sent; so many came that there was no room for.
    Captured {
        dropped: u64,
    },
    /// The session ends, and why.
    Bye {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Welcome {
    /// The far end's ackclock.
    pub version: String,
    pub system: String,
    #[serde(rename = "caps")]
    pub quotas: Quotas,
    /// What its kernel can do.
    pub congestion: Vec<String>,
    pub clock: ClockState,
}

/// How good a clock says it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockState {
    /// Steered by NTP, PTP or PPS, as the kernel has it.
    pub synchronised: bool,
    /// A pulse per second comes in.
    pub pps: bool,
    /// The kernel's bound for the error against true time, nanoseconds.
    #[serde(rename = "most_error_ns")]
    pub max_error_ns: i64,
}

/// What the server saw of a test besides tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestOutcome {
    /// Datagrams that sendto rejected, or that were still unsent at the end of the test.
    pub unsent: u64,
    /// Datagrams delayed by the shared rate.
    pub held: u64,
    /// Connections, as the server had them.
    pub flows: Vec<FlowOutcome>,
    /// Something ended the test early.
    pub cut_short: Option<String>,
}

/// One end's view of a connection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowOutcome {
    pub flow: u16,
    /// This end sent.
    pub sends: bool,
    /// What the kernel says it uses.
    pub congestion: String,
    pub send_buffer: u32,
    pub receive_buffer: u32,
    pub mss: u32,
    /// Payload written to or read from the socket.
    pub bytes: u64,
    /// From the client's first SYN, by this end's clock, to the last byte counted; nanoseconds.
    pub elapsed_ns: i64,
    pub retransmitted: u64,
    pub segments_sent: u64,
    pub why_failed: Option<String>,
}

/// A table's name on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TableId {
    /// Datagrams sent: number, time.
    Sent = 0,
    /// Datagrams received: number, time.
    Received = 1,
    /// Samples of connections: see `net::sample`.
    Samples = 2,
}

impl TableId {
    pub fn from_byte(byte: u8) -> Option<TableId> {
        [TableId::Sent, TableId::Received, TableId::Samples].into_iter().find(|n| *n as u8 == byte)
    }
}
