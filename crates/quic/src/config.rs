//! What a host sets for its QUIC connections. Defaults are those of noq 1.4, or of an HTTP/3 server where it has
//! none.

use ackclock_core::tcp::cc::slow_start::ClassicSlowStart;
use ackclock_core::tcp::{SlowStart, Variant};
use ackclock_core::units::Span;

/// Which congestion control a connection has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// One of ackclock's, by way of the stack's interface.
    Ours(Variant),
    /// One of the stack's own.
    Stack(StackControl),
}

/// The stack's own congestion controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackControl {
    Cubic,
    NewReno,
    Bbr3,
}

/// What a sender asks its receiver to acknowledge (draft-ietf-quic-ack-frequency-11, section 4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AckFrequency {
    /// Packets that are received without an ACK, at most.
    pub threshold: u32,
    /// Longest delay of an ACK; the receiver's own without it.
    pub max_ack_delay: Option<Span>,
    /// Packets out of order from which on an ACK is sent at once; 0 for never.
    pub reordering_threshold: u32,
}

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Handshake {
    /// Data follows one round trip after the first packet.
    #[default]
    OneRtt,
    /// The client knows the server from before and sends data at once.
    ZeroRtt,
}

/// A host's QUIC.
#[derive(Debug, Clone, PartialEq)]
pub struct QuicConfig {
    pub control: Control,
    pub slow_start: SlowStart,
    /// The first congestion window, bytes; ten full packets of 1200 B or 14,720 B without it (RFC 9002, section 7.2).
    pub initial_window: Option<u64>,
    /// Packets by which a later one overtakes a lost one (RFC 9002, section 6.1.1).
    pub packet_threshold: u32,
    /// Round trips after which a packet is lost that a later one overtook (RFC 9002, section 6.1.2).
    pub time_threshold: f32,
    pub ack_frequency: Option<AckFrequency>,
    /// Largest UDP payload that the search for the path's MTU tries, bytes (RFC 8899); none without it.
    pub mtu_discovery: Option<u16>,
    /// What the receiver lets the sender have under way, bytes: of a connection, and of a stream.
    pub receive_window: u64,
    pub stream_receive_window: u64,
    /// What the application may write ahead of what is acknowledged, bytes.
    pub send_buffer: u64,
    /// Datagrams that leave at once when the pacer allows one (segmentation offload), 1 to 16.
    pub send_burst: u8,
    pub handshake: Handshake,
    /// Bytes of TLS's messages: the client's first flight, the server's first, and the rest of the server's with its
    /// certificates.
    pub client_hello: u16,
    pub server_hello: u16,
    pub certificate: u16,
    /// The spin bit (RFC 9000, section 17.4); one connection in eight has it off anyway.
    pub spin: bool,
    /// Packets are sent as ECT(0), and marks are a signal of congestion.
    pub ecn: bool,
    /// Streams over which the application divides its data.
    pub streams: u16,
}

impl Default for QuicConfig {
    fn default() -> QuicConfig {
        QuicConfig {
            control: Control::Ours(Variant::Cubic),
            slow_start: SlowStart::Classic(ClassicSlowStart),
            initial_window: None,
            packet_threshold: 3,
            time_threshold: 9.0 / 8.0,
            ack_frequency: None,
            mtu_discovery: Some(1452),
            receive_window: 12_500_000,
            stream_receive_window: 12_500_000,
            send_buffer: 12_500_000,
            send_burst: 1,
            handshake: Handshake::OneRtt,
            client_hello: 300,
            server_hello: 90,
            certificate: 2_000,
            spin: true,
            ecn: true,
            streams: 1,
        }
    }
}
