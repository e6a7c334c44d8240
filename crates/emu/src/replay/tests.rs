//! The bound beside the true error, in a small world of two hosts and a link: the world runs with
//! the machine's lateness and without it, and the replay knows only the run with it.

use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const PACKET: u32 = 1500;
const ACK: u32 = 52;

/// A transfer with a window, or a stream at an even rate that the receiver echoes, over a link.
#[derive(Clone, Copy)]
struct World {
    bps: u64,
    /// One way.
    delay: Span,
    /// Packets in flight at most; for an even rate none.
    window: Option<u32>,
    /// Spacing of an even rate.
    spacing: Span,
    packets: u32,
    /// How late packet number n of all packets is released.
    lateness: fn(u64) -> Span,
}

/// What the hosts measure.
struct Measured {
    goodput_bps: f64,
    rtt_p95_s: f64,
}

/// In order of time: the release of data at the receiver, or of an ACK at the sender.
type Event = Reverse<(Time, u64, bool)>;

struct Run<'a> {
    world: World,
    replay: &'a mut ReleaseReplay,
    is_late: bool,
    events: BinaryHeap<Event>,
    /// By packet number: when it was sent, and due.
    packets: Vec<(Time, Time)>,
    /// The bottleneck is free again, in either direction.
    free: [Time; 2],
    released: [Time; 2],
}

impl Run<'_> {
    fn send(&mut self, now: Time, from_server: bool, bytes: u32) {
        let id = self.packets.len() as u64;
        let flow = FlowKey::of(&[0x45]);
        let entered = EnteredPacket { id, at: now, lateness: Span::ZERO, client: 0, from_server, flow };
        self.replay.entered(&entered);
        let direction = usize::from(!from_server);
        let serialisation = Span(8 * u64::from(bytes) * 1_000_000_000_000 / self.world.bps);
        self.free[direction] = self.free[direction].max(now) + serialisation;
        let due = self.free[direction] + self.world.delay;
        let lateness = if self.is_late { (self.world.lateness)(id) } else { Span::ZERO };
        // In order, as the emulator sends.
        let actual = self.released[direction].max(due + lateness);
        self.released[direction] = actual;
        self.packets.push((now, due));
        self.events.push(Reverse((actual, id, from_server)));
    }

    fn go(mut self) -> Measured {
        let World { window, spacing, packets, .. } = self.world;
        let (mut sent, mut rtts, mut end) = (0, Vec::new(), Time::ZERO);
        // The data packet that an ACK answers.
        let mut answered = HashMap::new();
        while sent < window.unwrap_or(packets) {
            let at = Time::ZERO + Span(u64::from(sent) * spacing.0);
            // An even rate does not wait for ACKs.
            self.run_until(at, &mut answered, &mut rtts, &mut end, &mut sent);
            self.send(at, true, PACKET);
            sent += 1;
        }
        self.run_until(Time::NEVER, &mut answered, &mut rtts, &mut end, &mut sent);
        rtts.sort_unstable();
        let rtt_p95_s = ackclock_core::statistics::quantile_of_sorted(&rtts, 0.95).unwrap().as_secs();
        Measured { goodput_bps: 8.0 * f64::from(PACKET * packets) / end.as_secs(), rtt_p95_s }
    }

    fn run_until(&mut self, until: Time, answered: &mut HashMap<u64, u64>, rtts: &mut Vec<Span>, end: &mut Time, sent: &mut u32) {
        while let Some(&Reverse((now, id, to_client))) = self.events.peek().filter(|event| event.0.0 <= until) {
            self.events.pop();
            let (_, due) = self.packets[id as usize];
            let bytes = if to_client { PACKET } else { ACK };
            self.replay.released(&ReleasedPacket { id, due, actual: now, bytes });
            if to_client {
                *end = now;
                answered.insert(self.packets.len() as u64, id);
                self.send(now, false, ACK);
            } else {
                rtts.push(now - self.packets[answered[&id] as usize].0);
                if self.world.window.is_some() && *sent < self.world.packets {
                    *sent += 1;
                    self.send(now, true, PACKET);
                }
            }
        }
    }
}

impl World {
    fn path(&self) -> LinkDelay {
        LinkDelay { bottleneck_ps_per_byte: Some(8e12 / self.bps as f64), ..LinkDelay::default() }
    }

    fn run(self, is_late: bool) -> (Measured, Bound) {
        let mut replay = ReleaseReplay::new(vec![[self.path(); 2]]);
        let run = Run {
            world: self,
            replay: &mut replay,
            is_late,
            events: BinaryHeap::new(),
            packets: Vec::new(),
            free: [Time::ZERO; 2],
            released: [Time::ZERO; 2],
        };
        let measured = run.go();
        (measured, replay.bounds()[0])
    }

    /// The true error, and the bound.
    fn errors(self) -> (Bound, Bound) {
        let (exact, none) = self.run(false);
        assert_eq!(none, Bound::default(), "nothing was late");
        let (late, bound) = self.run(true);
        let goodput = (late.goodput_bps / exact.goodput_bps - 1.0).abs();
        let rtt_p95 = (late.rtt_p95_s / exact.rtt_p95_s - 1.0).abs();
        (Bound { goodput, rtt_p95 }, bound)
    }
}

/// The true errors lie within the bounds, which are at most `loose` times as large, and a tenth of a
/// percent. Samples are 32-bit numbers.
fn assert_bound(world: World, loose: f64) -> Bound {
    let (error, bound) = assert_covered(world);
    for (error, bound) in [(error.goodput, bound.goodput), (error.rtt_p95, bound.rtt_p95)] {
        assert!(bound <= loose * error + 1e-3, "{bound} is loose for {error}");
    }
    bound
}

fn assert_covered(world: World) -> (Bound, Bound) {
    let (error, bound) = world.errors();
    for (error, bound) in [(error.goodput, bound.goodput), (error.rtt_p95, bound.rtt_p95)] {
        assert!(error <= bound * (1.0 + 1e-6), "{error} beyond {bound}");
    }
    (error, bound)
}

/// 20 to 180 us, pseudo-random (multiplicative hash, Knuth).
fn jittery(number: u64) -> Span {
    Span::from_us(20 + (number.wrapping_mul(2_654_435_761) >> 16) % 160)
}

/// Now and then late by 8 ms.
fn stalled(number: u64) -> Span {
    if number % 500 > 450 { Span::from_ms(8) } else { Span::from_us(10) }
}

const LINE: World =
    World { bps: 10_000_000, delay: Span::from_ms(15), window: Some(10), spacing: Span::ZERO, packets: 3000, lateness: jittery };

// finding("L9")
#[test]
fn bound_covers_a_window_limited_transfer_and_is_not_loose() {
    let bound = assert_bound(LINE, 2.0);
    assert!(bound.goodput > 0.003, "{bound:?}");
}

// finding("L9")
#[test]
fn bound_of_goodput_is_small_when_a_standing_queue_absorbs_the_lateness() {
    // 60 packets of 1.2 ms are twice the round trip without a queue.
    let bound = assert_bound(World { window: Some(60), ..LINE }, 8.0);
    assert!(bound.goodput < 0.001, "{bound:?}");
    let stalls = assert_bound(World { window: Some(60), lateness: stalled, ..LINE }, 20.0);
    assert!(stalls.goodput < 0.005, "{stalls:?}");
}

// finding("L9")
#[test]
fn bound_covers_one_request_at_a_time() {
    assert_bound(World { window: Some(1), packets: 400, ..LINE }, 1.5);
    assert_bound(World { window: Some(1), packets: 400, lateness: stalled, ..LINE }, 2.0);
}

// finding("L9")
#[test]
fn bound_covers_a_window_limited_transfer_that_stalls() {
    assert_bound(World { lateness: stalled, ..LINE }, 3.0);
}

// finding("L9")
#[test]
fn bound_covers_an_even_stream_with_echoes() {
    let stream = World { window: None, spacing: Span::from_us(2500), packets: 1000, ..LINE };
    // The replay cannot know that the sender does not wait for the echoes.
    for (lateness, goodput) in [(jittery as fn(u64) -> Span, 0.01), (stalled, 0.05)] {
        let (error, bound) = assert_covered(World { lateness, ..stream });
        assert!(bound.rtt_p95 < 1.5 * error.rtt_p95, "{bound:?} is loose for {error:?}");
        assert!(bound.goodput < goodput, "{bound:?}");
    }
}

// finding("L9")
#[test]
fn bound_shows_that_a_short_link_does_not_bear_the_same_lateness() {
    let short = World { bps: 100_000_000, delay: Span::from_us(200), window: Some(2), ..LINE };
    let bound = assert_bound(short, 2.0);
    assert!(bound.rtt_p95 > 0.2 && bound.goodput > 0.2, "{bound:?}");
}

// finding("L9")
#[test]
fn bound_is_that_of_the_one_way_delay_when_no_packet_is_answered() {
    let mut replay = ReleaseReplay::new(vec![[LINE.path(); 2]]);
    for id in 0..1000 {
        let (at, flow) = (Time::ZERO + Span::from_ms(2 * id), FlowKey::of(&[0x45]));
        replay.entered(&EnteredPacket { id, at, lateness: Span::from_us(500), client: 0, from_server: true, flow });
        let due = at + Span::from_us(19_500);
        replay.released(&ReleasedPacket { id, due, actual: due + Span::from_us(500), bytes: PACKET });
    }
    let bound = replay.bounds()[0];
    // The lateness of its entry counts as well.
    assert!((bound.rtt_p95 - 1.0 / 19.0).abs() < 1e-5, "{bound:?}");
    assert!((bound.goodput - 0.001 / 2.017).abs() < 1e-5, "{bound:?}");
}

// finding("L9")
#[test]
fn memory_is_bounded_and_the_goodput_of_forgotten_flows_counts_when_there_are_many() {
    let mut replay = ReleaseReplay::new(vec![[LINE.path(); 2]]);
    for id in 0..20 * MAX_FLOWS as u64 {
        let at = Time::ZERO + Span::from_ms(id);
        let mut packet = [0; 24];
        (packet[0], packet[9]) = (0x45, 17);
        packet[20..24].copy_from_slice(&(id as u32).to_be_bytes());
        let flow = FlowKey::of(&packet);
        replay.entered(&EnteredPacket { id, at, lateness: Span::ZERO, client: 0, from_server: true, flow });
        let due = at + Span::from_ms(20);
        replay.released(&ReleasedPacket { id, due, actual: due + Span::from_ms(1), bytes: PACKET });
        assert!(replay.flows.len() <= MAX_FLOWS);
    }
    let bound = replay.bounds()[0];
    assert!((bound.goodput - 1.0 / 20.0).abs() < 1e-6, "{bound:?}");
}
