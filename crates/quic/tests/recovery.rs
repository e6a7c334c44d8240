//! RFC 9002's loss detection and congestion control (its appendices A and B) as dialogues: which packet is lost, and
//! what the sender then does and when. The path has a delay and no rate, so that every time is the stack's.

use ackclock_core::app::{AnyApp, BulkSource, Sink};
use ackclock_core::endpoint::{Endpoint, OtherEndpoint, TransportView};
use ackclock_core::packet::{Arena, Body, Ecn};
use ackclock_core::rng::Rng;
use ackclock_core::tcp::cc::Variant;
use ackclock_core::units::{Span, Time};
use ackclock_quic::{Control, QuicConfig, QuicEndpoint};
use std::collections::VecDeque;

/// Arrival, bytes, ECN.
type Flying = (Time, Box<[u8]>, Ecn);

const SERVER: usize = 0;
const CLIENT: usize = 1;
const ONE_WAY_MS: u64 = 50;
const RTT_MS: f64 = 100.0;
/// The receiver's max_ack_delay (RFC 9000, section 18.2).
const MAX_ACK_DELAY_MS: f64 = 25.0;

/// What becomes of a packet on the path.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    Lost,
    /// Arrives so much later.
    Late(Span),
    Marked,
}

struct Dialogue {
    ends: [QuicEndpoint; 2],
    arena: Arena,
    flying: [VecDeque<Flying>; 2],
    /// Datagrams by end: time in ms and bytes.
    sent: [Vec<(f64, usize)>; 2],
    now: Time,
}

impl Dialogue {
    fn new(config: &QuicConfig, bytes: u64) -> Dialogue {
        let source = AnyApp::BulkSource(BulkSource::new(bytes, Time::NEVER));
        let server = QuicEndpoint::server(config, source, Rng::for_element(1, "server"));
        let sink = AnyApp::Sink(Sink::new(None));
        let client = QuicEndpoint::client(config, sink, Rng::for_element(1, "client"), Time::ZERO);
        let flying = [VecDeque::new(), VecDeque::new()];
        Dialogue { ends: [server, client], arena: Arena::default(), flying, sent: [Vec::new(), Vec::new()], now: Time::ZERO }
    }

    fn run(&mut self, until_ms: u64, fate: impl Fn(usize, usize, f64) -> Fate) -> &mut Dialogue {
        let until = Time::ZERO + Span::from_ms(until_ms);
        loop {
            let due = self.ends.iter().map(Endpoint::due);
            let arrivals = self.flying.iter().flat_map(|flying| flying.iter().map(|packet| packet.0));
            let now = due.chain(arrivals).min().unwrap();
            if now > until {
                return self;
            }
            self.now = now;
            for end in [SERVER, CLIENT] {
                self.flying[end].make_contiguous().sort_by_key(|packet| packet.0);
                while self.flying[end].front().is_some_and(|packet| packet.0 <= now) {
                    let (_, bytes, ecn) = self.flying[end].pop_front().unwrap();
                    self.ends[end].receive(now, &Body::Udp(bytes), ecn);
                }
                self.ends[end].on_timer(now);
                while let Some(out) = self.ends[end].poll(now, &mut self.arena) {
                    let Body::Udp(bytes) = self.arena.get(out.body).clone() else { panic!("a datagram") };
                    self.arena.release(out.body);
                    let ms = now.as_secs() * 1e3;
                    let number = self.sent[end].len();
                    self.sent[end].push((ms, bytes.len()));
                    let arrival = now + Span::from_ms(ONE_WAY_MS);
                    match fate(end, number, ms) {
                        Fate::Lost => {}
                        Fate::Arrives => self.flying[1 - end].push_back((arrival, bytes, out.ecn)),
                        Fate::Late(by) => self.flying[1 - end].push_back((arrival + by, bytes, out.ecn)),
                        Fate::Marked => self.flying[1 - end].push_back((arrival, bytes, Ecn::Ce)),
                    }
                }
            }
        }
    }

    fn sender(&self) -> TransportView {
        self.ends[SERVER].transport()
    }

    fn received(&self) -> u64 {
        self.ends[CLIENT].transport().received
    }
}

/// Without probes of the MTU, so that each packet is data.
fn config() -> QuicConfig {
    QuicConfig { control: Control::Ours(Variant::Reno), mtu_discovery: None, ..QuicConfig::default() }
}

/// Datagrams of the server's handshake, before its data.
fn handshake_packets() -> usize {
    let mut dialogue = Dialogue::new(&config(), 0);
    dialogue.run(1_000, |_, _, _| Fate::Arrives);
    dialogue.sent[SERVER].iter().filter(|(ms, _)| *ms < 3.0 * ONE_WAY_MS as f64).count()
}

/// When datagrams with more than an ACK were sent, from the server's `first` one on.
fn data_times(dialogue: &Dialogue, first: usize) -> Vec<f64> {
    dialogue.sent[SERVER][first..].iter().filter(|(_, bytes)| *bytes > 100).map(|(ms, _)| *ms).collect()
}

#[test]
fn packet_is_lost_when_a_packet_three_later_is_acknowledged() {
    // RFC 9002, section 6.1.1: kPacketThreshold = 3.
    let lost = handshake_packets() + 4;
    let mut dialogue = Dialogue::new(&config(), 300_000);
    dialogue.run(5_000, |end, number, _| if end == SERVER && number == lost { Fate::Lost } else { Fate::Arrives });
    assert_eq!((dialogue.received(), dialogue.sender().lost_packets, dialogue.sender().window_cuts), (300_000, 1, 1));
    assert_eq!(dialogue.sender().spurious_cuts, 0);
    // By the ACK of the third later packet, and not by a timer: at an RTT and the delay of an ACK.
    let sent_ms = dialogue.sent[SERVER][lost].0;
    let lost_by = |until_ms: f64| {
        let mut dialogue = Dialogue::new(&config(), 300_000);
        dialogue.run(until_ms as u64, |end, number, _| if end == SERVER && number == lost { Fate::Lost } else { Fate::Arrives });
        dialogue.sender().lost_packets
    };
    assert_eq!((lost_by(sent_ms + RTT_MS), lost_by(sent_ms + RTT_MS + MAX_ACK_DELAY_MS + 10.0)), (0, 1));
}

#[test]
fn packet_that_two_later_ones_overtake_is_not_lost() {
    let late = handshake_packets() + 4;
    let delay = Span::from_ms(4);
    let run = |threshold| {
        let mut dialogue = Dialogue::new(&QuicConfig { packet_threshold: threshold, ..config() }, 300_000);
        dialogue.run(5_000, |end, number, _| if end == SERVER && number == late { Fate::Late(delay) } else { Fate::Arrives });
        (dialogue.received(), dialogue.sender().lost_packets)
    };
    // Below 9/8 of an RTT, and by fewer packets than the threshold.
    assert_eq!(run(100), (300_000, 0));
}

#[test]
fn last_packet_but_one_is_lost_after_nine_eighths_of_an_rtt() {
    // RFC 9002, section 6.1.2: with two packets the packet threshold cannot see it.
    let first = handshake_packets();
    let mut dialogue = Dialogue::new(&config(), 2_000);
    dialogue.run(5_000, |end, number, _| if end == SERVER && number == first { Fate::Lost } else { Fate::Arrives });
    let data: Vec<f64> = dialogue.sent[SERVER][first..].iter().map(|(ms, _)| *ms).collect();
    assert_eq!(dialogue.received(), 2_000);
    let repair = data.iter().find(|ms| **ms > data[0] + 50.0).unwrap() - data[0];
    // The ACK of the second packet comes after an RTT and at most the delay of an ACK; then 9/8 of the RTT have not
    // passed.
    assert!((9.0 / 8.0 * RTT_MS - 1.0..9.0 / 8.0 * (RTT_MS + MAX_ACK_DELAY_MS) + 15.0).contains(&repair), "{repair}");
    assert_eq!(dialogue.sender().lost_packets, 1);
}

#[test]
fn last_packet_is_probed_after_the_pto_which_is_no_congestion() {
    // RFC 9002, section 6.2: smoothed_rtt + max(4 * rttvar, 1 ms) + max_ack_delay; section 6.2.4: a PTO reduces
    // nothing. The ACK of the probe then shows the loss.
    let last = handshake_packets();
    let run = |until_ms| {
        let mut dialogue = Dialogue::new(&config(), 1_000);
        dialogue.run(until_ms, |end, number, _| if end == SERVER && number == last { Fate::Lost } else { Fate::Arrives });
        dialogue
    };
    let whole = run(5_000);
    let times = data_times(&whole, last);
    let wait = times[1] - times[0];
    // Three equal samples of the RTT: rttvar is 9/32 of it.
    let pto = RTT_MS + 4.0 * 9.0 / 32.0 * RTT_MS + MAX_ACK_DELAY_MS;
    assert!((wait - pto).abs() < 0.1, "{wait} {pto}");
    assert_eq!((whole.received(), whole.sender().lost_packets, whole.sender().window_cuts), (1_000, 1, 1));
    let probed = run(times[1] as u64 + 50).sender();
    assert_eq!((probed.lost_packets, probed.window_cuts), (0, 0));
}

#[test]
fn probes_are_sent_with_doubled_intervals() {
    // RFC 9002, section 6.2.1: the PTO doubles with each one that expires.
    let last = handshake_packets();
    let mut dialogue = Dialogue::new(&config(), 1_000);
    dialogue.run(20_000, |end, number, _| if end == SERVER && number >= last { Fate::Lost } else { Fate::Arrives });
    let times: Vec<f64> = data_times(&dialogue, last);
    let waits: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|wait| *wait > 10.0).collect();
    assert!(waits.len() >= 5, "{waits:?}");
    for pair in waits.windows(2).take(4) {
        assert!((pair[1] / pair[0] - 2.0).abs() < 0.01, "{waits:?}");
    }
}

#[test]
fn persistent_congestion_collapses_the_window_and_a_shorter_gap_does_not() {
    // RFC 9002, section 7.6: all packets of more than three PTOs lost, between two that are acknowledged.
    let cwnd_after = |gap_ms: f64| {
        let mut dialogue = Dialogue::new(&config(), u64::MAX);
        let fate = move |end, _, ms| {
            if end == SERVER && (1_000.0..1_000.0 + gap_ms).contains(&ms) { Fate::Lost } else { Fate::Arrives }
        };
        dialogue.run(1_000 + gap_ms as u64, fate);
        let mut min_cwnd = u64::MAX;
        for step in 1..200 {
            dialogue.run(1_000 + gap_ms as u64 + step * 50, fate);
            min_cwnd = min_cwnd.min(dialogue.sender().cwnd);
        }
        (min_cwnd, dialogue.sender().mtu)
    };
    let (long, mtu) = cwnd_after(2_500.0);
    assert_eq!(long, 2 * u64::from(mtu), "the minimum window (section 7.2)");
    let (short, mtu) = cwnd_after(20.0);
    assert!(short > 4 * u64::from(mtu), "{short}");
}

#[test]
fn losses_of_one_round_trip_reduce_the_window_once() {
    // RFC 9002, appendix B.6: a reduction counts for all packets that were sent before it.
    let first = handshake_packets() + 30;
    let mut dialogue = Dialogue::new(&config(), 500_000);
    let fate = |end, number: usize, _| {
        if end == SERVER && (first..first + 6).contains(&number) { Fate::Lost } else { Fate::Arrives }
    };
    dialogue.run(5_000, fate);
    assert_eq!((dialogue.received(), dialogue.sender().lost_packets, dialogue.sender().window_cuts), (500_000, 6, 1));
}

#[test]
fn marks_reduce_the_window_once_a_round_trip_and_retransmit_nothing() {
    let first = handshake_packets() + 30;
    let mut dialogue = Dialogue::new(&config(), 500_000);
    let fate = |end, number: usize, _| {
        if end == SERVER && (first..first + 4).contains(&number) { Fate::Marked } else { Fate::Arrives }
    };
    dialogue.run(5_000, fate);
    assert_eq!((dialogue.received(), dialogue.sender().lost_packets, dialogue.sender().window_cuts), (500_000, 0, 1));
}

#[test]
fn server_sends_three_times_what_came_before_the_client_is_known() {
    // RFC 9000, section 8.1, with a long chain of certificates and every answer of the client lost.
    let mut dialogue = Dialogue::new(&QuicConfig { certificate: 12_000, ..config() }, 1_000);
    dialogue.run(10_000, |end, number, _| if end == CLIENT && number > 0 { Fate::Lost } else { Fate::Arrives });
    let bytes: usize = dialogue.sent[SERVER].iter().map(|(_, bytes)| bytes).sum();
    assert!(bytes <= 3 * dialogue.sent[CLIENT][0].1, "{bytes}");
    let mut whole = Dialogue::new(&QuicConfig { certificate: 12_000, ..config() }, 1_000);
    whole.run(10_000, |_, _, _| Fate::Arrives);
    assert_eq!(whole.received(), 1_000);
}
