//! QUIC of a flow's hosts; the variant and its slow start are those of their TCP.

use super::nullable;
use serde::Deserialize;

/// Whose congestion control a connection has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuicControl {
    /// The variant of the flow's TCP.
    Variant,
    Cubic,
    NewReno,
    Bbr3,
}

impl QuicControl {
    /// The name of one of the stack's own, as in a flow table.
    pub fn name(self) -> Option<&'static str> {
        match self {
            QuicControl::Variant => None,
            QuicControl::Cubic => Some("noq-cubic"),
            QuicControl::NewReno => Some("noq-newreno"),
            QuicControl::Bbr3 => Some("noq-bbr3"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuicHost {
    pub control: QuicControl,
    /// Packets without an ACK that the sender asks for.
    #[serde(deserialize_with = "nullable")]
    pub ack_frequency: Option<u32>,
    #[serde(deserialize_with = "nullable")]
    pub max_ack_delay_ps: Option<u64>,
    /// Bytes.
    #[serde(deserialize_with = "nullable")]
    pub initial_window: Option<u64>,
    pub packet_threshold: u32,
    /// The largest UDP payload that is tried, bytes.
    #[serde(deserialize_with = "nullable")]
    pub mtu_discovery: Option<u16>,
    pub receive_window: u64,
    pub send_burst: u8,
    pub zero_rtt: bool,
    pub certificate: u16,
    pub streams: u16,
    pub spin: bool,
}
