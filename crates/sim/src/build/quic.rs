//! The ends of a QUIC connection.

use crate::plan::{QuicControl, QuicHost};
use ackclock_core::app::AnyApp;
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::rng::Rng;
use ackclock_core::tcp::TcpConfig;
use ackclock_core::{Span, Time};
use ackclock_quic::{AckFrequency, Control, Handshake, QuicConfig, QuicEndpoint, StackControl};

/// Packets out of order from which on a receiver acknowledges at once, as without ACK frequency.
const REORDERING_THRESHOLD: u32 = 1;

fn config(host: &QuicHost, tcp: &TcpConfig) -> QuicConfig {
    QuicConfig {
        control: match host.control {
            QuicControl::Variant => Control::Ours(tcp.variant),
            QuicControl::Cubic => Control::Stack(StackControl::Cubic),
            QuicControl::NewReno => Control::Stack(StackControl::NewReno),
            QuicControl::Bbr3 => Control::Stack(StackControl::Bbr3),
        },
        slow_start: tcp.slow_start,
        initial_window: host.initial_window,
        packet_threshold: host.packet_threshold,
        ack_frequency: host.ack_frequency.map(|threshold| AckFrequency {
            threshold,
            max_ack_delay: host.max_ack_delay_ps.map(Span),
            reordering_threshold: REORDERING_THRESHOLD,
        }),
        mtu_discovery: host.mtu_discovery,
        receive_window: host.receive_window,
        stream_receive_window: host.receive_window,
        send_burst: host.send_burst,
        handshake: if host.zero_rtt { Handshake::ZeroRtt } else { Handshake::OneRtt },
        certificate: host.certificate,
        streams: host.streams,
        spin: host.spin,
        ..QuicConfig::default()
    }
}

/// Which end opens the connection, and when.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    pub by_client: bool,
    pub start: Time,
}

/// Server and client.
pub fn ends(
    (seed, name): (u64, &str),
    host: &QuicHost,
    tcp: [&TcpConfig; 2],
    opening: Opening,
    apps: (AnyApp, AnyApp),
) -> (AnyEndpoint, AnyEndpoint) {
    let rng = |end: &str| Rng::for_element(seed, &format!("flow.{name}.quic.{end}"));
    let [of_server, of_client] = tcp.map(|tcp| config(host, tcp));
    let (server, client) = if opening.by_client {
        let server = QuicEndpoint::server(&of_server, apps.0, rng("server"));
        (server, QuicEndpoint::client(&of_client, apps.1, rng("client"), opening.start))
    } else {
        let server = QuicEndpoint::client(&of_server, apps.0, rng("server"), opening.start);
        (server, QuicEndpoint::server(&of_client, apps.1, rng("client")))
    };
    (AnyEndpoint::Other(Box::new(server)), AnyEndpoint::Other(Box::new(client)))
}
