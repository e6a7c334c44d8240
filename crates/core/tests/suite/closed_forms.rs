//! TCP over a path with random loss and no queue, against the closed forms in their range of
//! validity.

use ackclock_core::app::{AnyApp, BulkSource, Sink};
use ackclock_core::element::Port;
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::impairment::{Delay, Loss, LossConfig};
use ackclock_core::network::{EndpointId, Network, NetworkBuilder, Route};
use ackclock_core::rng::Rng;
use ackclock_core::tcp::{DelayedAck, RecoveryKind, TcpConfig, TcpEndpoint, Variant};
use ackclock_core::throughput_models::{LossyPath, cubic_response, mathis, padhye_approx, padhye_full};
use ackclock_core::units::{Span, Time};

const RTT: Span = Span::from_ms(100);
const SEGMENT: u32 = 1000;

fn path(config: &TcpConfig, loss: f64, rtt: Span) -> (Network, EndpointId) {
    let mut b: NetworkBuilder = Network::builder();
    let one_way = Span(rtt.0 / 2);
    let rng = Rng::for_element(1, "loss");
    let lossy = b.element(Loss::new(&LossConfig::Bernoulli { mean: loss }, rng.clone(), rng));
    let (down, up) = (b.element(Delay::new(one_way)), b.element(Delay::new(one_way)));
    let source = AnyApp::BulkSource(BulkSource::new(u64::MAX, Time::NEVER));
    let client = TcpEndpoint::client(config.clone(), source, Time::ZERO);
    let server = TcpEndpoint::server(config.clone(), AnyApp::Sink(Sink::new(None)));
    let client = b.endpoint(AnyEndpoint::Tcp(Box::new(client)), 0, Route::Node(lossy, Port(0)));
    let server = b.endpoint(AnyEndpoint::Tcp(Box::new(server)), 0, Route::Node(up, Port(0)));
    b.connect(lossy, Port(0), Route::Node(down, Port(0)));
    b.connect(down, Port(0), Route::Endpoint(server));
    b.connect(up, Port(0), Route::Endpoint(client));
    (b.build(), client)
}

/// Segments per second without the first tenth of the run, and window reductions per segment.
fn rate(config: &TcpConfig, loss: f64, rtt: Span) -> (f64, f64) {
    let (mut network, client) = path(config, loss, rtt);
    let seconds = 600;
    let mut sent_by = |s: u64| {
        network.run_until(Time::ZERO + Span::from_secs(s), &mut ());
        let AnyEndpoint::Tcp(endpoint) = network.endpoint(client) else { panic!("a TCP endpoint") };
        let stats = endpoint.sender_stats(network.now());
        (stats.segments_sent, stats.window_cuts)
    };
    let (before, after) = (sent_by(seconds / 10), sent_by(seconds));
    let segments = (after.0 - before.0) as f64;
    (segments / (0.9 * seconds as f64), (after.1 - before.1) as f64 / segments)
}

fn reno(recovery: RecoveryKind, delayed: bool) -> TcpConfig {
    let delayed_ack = delayed.then_some(DelayedAck::new(2, Span::from_ms(40)));
    let sack = matches!(recovery, RecoveryKind::Sack | RecoveryKind::RateHalving);
    TcpConfig {
        recovery,
        sack,
        segment: SEGMENT,
        receive_buffer: 100_000_000,
        delayed_ack,
        limited_transmit: true,
        ..TcpConfig::default()
    }
}

fn model(loss: f64, delayed: bool) -> LossyPath {
    // The minimum RTO, since the RTT hardly varies.
    LossyPath { loss, rtt: RTT.as_secs(), rto: 0.2, per_ack: if delayed { 2.0 } else { 1.0 }, max_window: f64::INFINITY }
}

fn within(what: &str, got: f64, expected: f64, tolerance: f64) {
    println!("{what}: {got:.2} segments/s, {expected:.2} expected, {:+.1} %", 100.0 * (got / expected - 1.0));
    assert!((got / expected - 1.0).abs() <= tolerance, "{what}: {got} segments/s, not {expected}");
}

#[test]
fn reno_and_newreno_follow_the_mathis_formula_at_low_loss() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::RateHalving] {
        for delayed in [false, true] {
            for loss in [1e-3, 3e-3, 1e-2] {
                let (got, _) = rate(&reno(recovery, delayed), loss, RTT);
                within(&format!("mathis {recovery:?} {loss} delayed {delayed}"), got, mathis(&model(loss, delayed)), 0.15);
            }
        }
    }
}

/// Padhye's p counts loss events: one per window, whatever the number of losses in it.
#[test]
fn reno_and_newreno_follow_padhyes_models_up_to_three_percent() {
    for recovery in [RecoveryKind::Classic, RecoveryKind::NewReno, RecoveryKind::Sack] {
        for delayed in [false, true] {
            for loss in [1e-3, 1e-2, 3e-2] {
                let (got, indications) = rate(&reno(recovery, delayed), loss, RTT);
                let path = model(indications, delayed);
                within(&format!("full {recovery:?} {loss} delayed {delayed}"), got, padhye_full(&path), 0.15);
                within(&format!("approximate {recovery:?} {loss} delayed {delayed}"), got, padhye_approx(&path), 0.15);
            }
        }
    }
}

#[test]
fn cubic_follows_its_response_function_above_reno() {
    let config = TcpConfig { variant: Variant::Cubic, ..reno(RecoveryKind::Sack, false) };
    for loss in [1e-4, 3e-4] {
        let rtt = Span::from_ms(200);
        let (got, _) = rate(&config, loss, rtt);
        within(&format!("cubic {loss}"), got, cubic_response(0.4, 0.7, rtt.as_secs(), loss) / rtt.as_secs(), 0.15);
    }
}

// finding("N2")
#[test]
fn network_executes_events_before_the_end_only() {
    let (mut network, client) = path(&reno(RecoveryKind::Sack, true), 0.0, RTT);
    network.run_until(Time::ZERO, &mut ());
    let sent = |network: &Network| {
        let AnyEndpoint::Tcp(endpoint) = network.endpoint(client) else { panic!("a TCP endpoint") };
        endpoint.sender_stats(network.now()).segments_sent
    };
    assert_eq!(sent(&network), 0, "the SYN is due at 0 and waits for a later end");
    network.run_until(Time::ZERO + RTT + RTT + RTT, &mut ());
    assert_eq!(network.now(), Time::ZERO + RTT + RTT + RTT);
    let before = sent(&network);
    assert!(before > 0);
    network.run_until(Time::ZERO, &mut ());
    assert_eq!((network.now(), sent(&network)), (Time::ZERO + RTT + RTT + RTT, before), "an end in the past changes nothing");
}
