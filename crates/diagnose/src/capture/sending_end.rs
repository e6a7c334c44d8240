//! The ends of a connection, as senders of its directions.

use ackclock_trace::report::{DirectionReport, FlowReport, VantagePoint};

/// The end that sends a direction: the client sends `a2b`, the server `b2a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendingEnd {
    Client,
    Server,
}

impl SendingEnd {
    pub const BOTH: [SendingEnd; 2] = [SendingEnd::Client, SendingEnd::Server];

    pub fn peer(self) -> SendingEnd {
        match self {
            SendingEnd::Client => SendingEnd::Server,
            SendingEnd::Server => SendingEnd::Client,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            SendingEnd::Client => "client",
            SendingEnd::Server => "server",
        }
    }

    /// The direction's name in documents.
    pub fn direction(self) -> &'static str {
        match self {
            SendingEnd::Client => "a2b",
            SendingEnd::Server => "b2a",
        }
    }

    /// The vantage point at this end.
    pub fn place(self) -> VantagePoint {
        match self {
            SendingEnd::Client => VantagePoint::Client,
            SendingEnd::Server => VantagePoint::Server,
        }
    }

    pub fn direction_of(self, flow: &FlowReport) -> &DirectionReport {
        match self {
            SendingEnd::Client => &flow.a2b,
            SendingEnd::Server => &flow.b2a,
        }
    }
}
