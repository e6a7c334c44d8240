//! Split TCP: every byte that enters the proxy leaves it, with any paths on both sides, and the
//! proxy buffers at most its limit.

use ackclock_core::app::{AnyApp, BulkSource, ControlledApp, Requester, Responder, Sink};
use ackclock_core::element::Port;
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::impairment::{Delay, Loss, LossConfig};
use ackclock_core::link::{Framing, FusedLink};
use ackclock_core::network::{EndpointId, Network, NetworkBuilder, Route};
use ackclock_core::queue::Limit;
use ackclock_core::rng::Rng;
use ackclock_core::tcp::{RecoveryKind, TcpConfig, TcpEndpoint, Variant};
use ackclock_core::units::{Rate, Span, Time};
use proptest::prelude::*;
use proptest::sample::select;

/// One side of the proxy.
#[derive(Clone, Copy, Debug)]
struct Side {
    bps: u64,
    delay: Span,
    loss: f64,
    packets: u64,
}

const FAST: Side = Side { bps: 100_000_000, delay: Span::from_ms(10), loss: 0.0, packets: 1000 };
const SLOW: Side = Side { bps: 2_000_000, delay: Span::from_ms(300), loss: 0.0, packets: 1000 };

struct Split {
    network: Network,
    server: EndpointId,
    /// The proxy's endpoints: towards the server, and towards the client.
    near: EndpointId,
    far: EndpointId,
    client: EndpointId,
}

#[derive(Clone)]
struct Setup {
    sides: [Side; 2],
    buffer: u64,
    through: bool,
    config: TcpConfig,
    /// At the server and at the client, which connects.
    apps: (AnyApp, AnyApp),
    seed: u64,
}

impl Setup {
    fn transfer(sides: [Side; 2], bytes: u64) -> Setup {
        let apps = (AnyApp::BulkSource(BulkSource::new(bytes, Time::NEVER)), AnyApp::Sink(Sink::new(None)));
        Setup { sides, buffer: 100_000, through: false, config: config(1_000_000), apps, seed: 1 }
    }

    fn build(self) -> Split {
        let mut b: NetworkBuilder = Network::builder();
        let relay = || AnyApp::ControlledApp(ControlledApp::default());
        let listener = TcpEndpoint::server(self.config.clone(), relay());
        let far = if self.through { listener.defer_syn_ack() } else { listener };
        let ends = [
            TcpEndpoint::server(self.config.clone(), self.apps.0),
            TcpEndpoint::deferred_client(self.config.clone(), relay()),
            far,
            TcpEndpoint::client(self.config, self.apps.1, Time::ZERO),
        ];
        let ids: Vec<EndpointId> = (0..4).map(EndpointId).collect();
        for ((end, id), side) in ends.into_iter().zip(&ids).zip([0, 0, 1, 1]) {
            let peer = EndpointId(id.0 ^ 1);
            let path = self.sides[side];
            let rng = Rng::for_element(self.seed, &format!("loss {id:?}"));
            let link = b.element(FusedLink::new(
                Some(Rate::from_bps(path.bps)),
                Span::ZERO,
                Limit::packets(path.packets),
                Framing::None,
            ));
            let loss = b.element(Loss::new(&LossConfig::Bernoulli { mean: path.loss }, rng.clone(), rng));
            let delay = b.element(Delay::new(path.delay));
            b.connect(link, Port(0), Route::Node(loss, Port(0)));
            b.connect(loss, Port(0), Route::Node(delay, Port(0)));
            b.connect(delay, Port(0), Route::Endpoint(peer));
            assert_eq!(b.endpoint(AnyEndpoint::Tcp(Box::new(end)), side as u32, Route::Node(link, Port(0))), *id);
        }
        b.proxy([ids[1], ids[2]], self.buffer);
        Split { network: b.build(), server: ids[0], near: ids[1], far: ids[2], client: ids[3] }
    }
}

fn config(receive_buffer: u32) -> TcpConfig {
    TcpConfig { receive_buffer, window_scaling: true, sack: true, recovery: RecoveryKind::Sack, ..TcpConfig::default() }
}

impl Split {
    fn run(&mut self, ms: u64) {
        self.network.run_until(Time::ZERO + Span::from_ms(ms), &mut ());
    }

    fn tcp(&self, id: EndpointId) -> &TcpEndpoint {
        let AnyEndpoint::Tcp(endpoint) = self.network.endpoint(id) else { panic!("a TCP endpoint") };
        endpoint
    }

    fn arrived(&self, id: EndpointId) -> u64 {
        self.tcp(id).receiver_stats().in_order_bytes
    }
}

#[test]
fn proxy_acknowledges_the_server_at_its_own_rtt() {
    let mut split = Setup::transfer([FAST, SLOW], 50_000).build();
    split.run(60_000);
    assert_eq!(split.arrived(split.client), 50_000);
    assert!(split.tcp(split.server).finished() && split.tcp(split.far).finished(), "the FIN has arrived at the client");
    assert!(split.tcp(split.client).finished() && split.tcp(split.near).finished(), "and back");
    let rtt = |id: EndpointId| split.tcp(id).sender_stats(split.network.now()).rtt.max().unwrap().as_millis();
    assert!(rtt(split.server) < 70.0, "{}", rtt(split.server));
    assert!(rtt(split.far) >= 600.0, "{}", rtt(split.far));
}

#[test]
fn full_proxy_buffer_closes_the_servers_window() {
    let mut setup = Setup::transfer([FAST, SLOW], u64::MAX);
    setup.config = config(64_000);
    setup.buffer = 20_000;
    let mut split = setup.build();
    split.run(20_000);
    let (server, client) = (split.tcp(split.server).sample().delivered_bytes, split.arrived(split.client));
    assert!(server > client && server <= client + 20_000 + 64_000, "{server} at the proxy, {client} through it");
    assert!(split.network.max_proxied(split.near).unwrap()[0] <= 20_000);
    // One buffer per RTT of the far connection passes: 20 kB in 600 ms.
    assert!((0.7..1.01).contains(&(client as f64 / (20_000.0 * 20.0 / 0.6))), "{client}");
}

#[test]
fn proxy_handshake_takes_one_rtt_or_both() {
    for (through, ms) in [(false, 600.0), (true, 620.0)] {
        let mut setup = Setup::transfer([FAST, SLOW], 1000);
        setup.through = through;
        let mut split = setup.build();
        let opened = (0..2000).find(|&ms| {
            split.run(ms);
            split.tcp(split.client).is_established()
        });
        let opened = f64::from(u32::try_from(opened.unwrap()).unwrap());
        assert!((opened - ms).abs() < 3.0, "through {through}: {opened} ms");
    }
}

#[test]
fn requests_and_responses_pass_the_proxy() {
    let requester = Requester::new(500, 20_000, 3, (Span::ZERO, Span::ZERO), Rng::for_element(1, "think"));
    let mut setup = Setup::transfer([FAST, SLOW], 0);
    setup.apps = (AnyApp::Responder(Responder::new(500, 20_000)), AnyApp::Requester(Box::new(requester)));
    let mut split = setup.build();
    split.run(60_000);
    assert_eq!((split.arrived(split.server), split.arrived(split.client)), (1500, 60_000));
    assert!(split.tcp(split.client).finished() && split.tcp(split.server).finished());
}

fn side() -> impl Strategy<Value = Side> {
    (select(vec![100_000u64, 2_000_000, 50_000_000]), select(vec![0u64, 5, 300]), select(vec![0.0, 0.02, 0.2]), 2u64..50)
        .prop_map(|(bps, delay, loss, packets)| Side { bps, delay: Span::from_ms(delay), loss, packets })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_crosses_once_and_the_buffer_never_holds_more_than_it_may(
        sides in (side(), side()),
        bytes in 0u64..200_000,
        (buffer, receive_buffer) in (select(vec![1u64, 1000, 5000, 100_000]), select(vec![3000u32, 20_000, 1_000_000])),
        variant in select(vec![Variant::Reno, Variant::Cubic, Variant::Bbr3]),
        (through, seed) in (any::<bool>(), any::<u64>()),
    ) {
        // A buffer of one byte passes one byte per RTT.
        let bytes = if buffer == 1 { bytes % 20 } else { bytes.min(20 * buffer) };
        let apps = (AnyApp::BulkSource(BulkSource::new(bytes, Time::NEVER)), AnyApp::Sink(Sink::new(None)));
        let config = TcpConfig { variant, ..config(receive_buffer) };
        let mut split = Setup { sides: [sides.0, sides.1], buffer, through, config, apps, seed }.build();
        for hour in 1..=24 {
            split.run(hour * 3_600_000);
            let held = split.network.max_proxied(split.near).unwrap();
            prop_assert!(held[0] <= buffer && held[1] == 0, "{held:?} of {buffer}");
            if split.tcp(split.far).finished() && split.tcp(split.near).finished() {
                break;
            }
        }
        prop_assert_eq!(split.arrived(split.near), bytes, "all of it has reached the proxy");
        prop_assert_eq!(split.arrived(split.client), bytes, "and the client");
        prop_assert!(split.tcp(split.client).finished() && split.tcp(split.server).finished(), "both ends have closed");
        prop_assert_eq!(split.network.conserved(), Ok(()));
    }
}
