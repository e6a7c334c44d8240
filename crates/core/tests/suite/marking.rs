//! Flows over a queue that marks: 10 Mb/s, 40 ms, the threshold in packets (RFC 8257, section 3.1).

use ackclock_core::app::{AnyApp, BulkSource, Sink};
use ackclock_core::element::Port;
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::impairment::Delay;
use ackclock_core::link::{Framing, RateLink};
use ackclock_core::network::{EndpointId, Network, NetworkBuilder, Route};
use ackclock_core::queue::{AnyQueue, DropTail, DropTailConfig, Limit, Threshold};
use ackclock_core::tcp::{DelayedAck, EcnMode, RecoveryKind, TcpConfig, TcpEndpoint, Variant};
use ackclock_core::units::{Rate, Span, Time};

const RATE: u64 = 10_000_000;
/// IP bytes of a full segment; the path holds 33 of them.
const PACKET: u32 = 1500;

fn config(variant: Variant, recovery: RecoveryKind, ecn: EcnMode) -> TcpConfig {
    TcpConfig {
        variant,
        recovery,
        ecn,
        sack: recovery.uses_sack(),
        segment: PACKET - 40,
        receive_buffer: 10_000_000,
        initial_window: 10.0,
        byte_counting: 2,
        delayed_ack: Some(DelayedAck::new(2, Span::from_ms(40))),
        limited_transmit: true,
        ..TcpConfig::default()
    }
}

/// One upload by the client over a queue of 100 packets.
fn path(config: &TcpConfig, threshold: u64) -> (Network, EndpointId, EndpointId) {
    let mut b: NetworkBuilder = Network::builder();
    let queue =
        DropTail::new(DropTailConfig { mark: Some(Threshold::Packets { packets: threshold }), ..Limit::packets(100).into() });
    let link = b.element(RateLink::new(Rate::from_bps(RATE), Framing::None, AnyQueue::DropTail(queue)));
    let (down, up) = (b.element(Delay::new(Span::from_ms(20))), b.element(Delay::new(Span::from_ms(20))));
    let source = AnyApp::BulkSource(BulkSource::new(u64::MAX, Time::NEVER));
    let client = TcpEndpoint::client(config.clone(), source, Time::ZERO);
    let server = TcpEndpoint::server(config.clone(), AnyApp::Sink(Sink::new(None)));
    let client = b.endpoint(AnyEndpoint::Tcp(Box::new(client)), 0, Route::Node(link, Port(0)));
    let server = b.endpoint(AnyEndpoint::Tcp(Box::new(server)), 0, Route::Node(up, Port(0)));
    b.connect(link, Port(0), Route::Node(down, Port(0)));
    b.connect(down, Port(0), Route::Endpoint(server));
    b.connect(up, Port(0), Route::Endpoint(client));
    (b.build(), client, server)
}

#[derive(Debug)]
struct Outcome {
    /// Utilization of the link, without the first third of the run.
    utilization: f64,
    rtt_ms: f64,
    ecn_cuts: u64,
    window_cuts: u64,
    marked: u64,
    retransmitted: u64,
}

fn run(config: &TcpConfig, threshold: u64, seconds: u64) -> Outcome {
    let (mut network, client, server) = path(config, threshold);
    let mut at = |s: u64| {
        network.run_until(Time::ZERO + Span::from_secs(s), &mut ());
        let now = network.now();
        let AnyEndpoint::Tcp(receiver) = network.endpoint(server) else { panic!("a TCP endpoint") };
        let received = receiver.receiver_stats();
        let AnyEndpoint::Tcp(sender) = network.endpoint_mut(client) else { panic!("a TCP endpoint") };
        let stats = sender.sender_stats(now);
        sender.restart_meters(now);
        (received, stats)
    };
    let (before, after) = (at(seconds / 3), at(seconds));
    Outcome {
        utilization: (after.0.unique_ip_bytes - before.0.unique_ip_bytes) as f64 * 8.0
            / ((seconds - seconds / 3) as f64 * RATE as f64),
        rtt_ms: after.1.rtt.mean().unwrap_or(0.0) * 1e3,
        ecn_cuts: after.1.ecn_cuts,
        window_cuts: after.1.window_cuts,
        marked: after.0.marked_segments,
        retransmitted: after.1.retransmitted_segments - before.1.retransmitted_segments,
    }
}

/// RFC 8257, section 4.1 requires a threshold above (C*RTT)/7: 5 packets here.
#[test]
fn dctcp_and_prague_use_the_link_with_a_short_queue() {
    for (variant, ecn) in
        [(Variant::Dctcp, EcnMode::Classic), (Variant::Dctcp, EcnMode::Accurate), (Variant::Prague, EcnMode::Accurate)]
    {
        for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
            let got = run(&config(variant, recovery, ecn), 8, 30);
            let what = format!("{} {ecn:?} {recovery:?}: {got:?}", variant.name());
            assert!(got.utilization >= 0.95, "{what}");
            assert!(got.ecn_cuts > 10 && got.retransmitted == 0, "{what}");
            // 40 ms, plus the threshold and one window increase.
            assert!(got.rtt_ms < 40.0 + 16.0, "{what}");
        }
    }
}

/// A sender that treats a mark as a loss keeps the queue below its limit without losses, whatever
/// its window reduction is.
#[test]
fn every_variant_responds_to_marks_without_loss() {
    for &variant in Variant::ALL {
        for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::RateHalving, RecoveryKind::Rack] {
            let ecn = if variant == Variant::Prague { EcnMode::Accurate } else { EcnMode::Classic };
            let got = run(&config(variant, recovery, ecn), 35, 12);
            let what = format!("{} {recovery:?}: {got:?}", variant.name());
            // LP takes the wait for a delayed ACK for queueing delay once its window is one
            // segment.
            assert!(got.utilization > 0.8 || variant == Variant::Lp, "{what}");
            if got.marked > 0 && variant.name() != "bbr" {
                assert!(got.ecn_cuts > 0 && got.ecn_cuts <= got.window_cuts.min(got.marked) && got.retransmitted == 0, "{what}");
            }
        }
    }
}
