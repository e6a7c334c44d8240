//! Drives a cell directly: packets in at given times, packets out, and conservation checked after
//! every call.

use ackclock_core::element::{Element, Handoff, Output, PacketCounts};
use ackclock_core::medium::radio_channel::FadingConfig;
use ackclock_core::medium::wimax::amc::AmcConfig;
use ackclock_core::medium::wimax::contention::{BackoffConfig, Region, RegionLayout};
use ackclock_core::medium::wimax::frame::{FrameConfig, Split};
use ackclock_core::medium::wimax::maps::Maps;
use ackclock_core::medium::wimax::pdu::{MIN_FRAGMENT, Pdu};
use ackclock_core::medium::wimax::phy::{Channel, Technique};
use ackclock_core::medium::wimax::qos_class::ServiceFlow;
use ackclock_core::medium::wimax::retransmission::RetransmissionMode;
use ackclock_core::medium::wimax::{RequestRule, StationConfig, UplinkConfig, Wimax, WimaxConfig};
use ackclock_core::medium::{Direction, Stream};
use ackclock_core::packet::{Arena, Body, Datagram, Ecn, Kind, Packet};
use ackclock_core::queue::{AnyQueue, DropTail, Limit};
use ackclock_core::rng::Rng;
use ackclock_core::units::{Span, Time};
use std::collections::BTreeMap;

pub const FRAME: Span = Span::from_ms(5);

/// Channel of the NIST paper: 7 MHz, prefix 1/16, 5 ms, contention size 5, one class.
pub fn nist(down: u32, up: u32, mcs: u8) -> WimaxConfig {
    let channel = Channel { technique: Technique::Ofdm, width_hz: 7_000_000, prefix: 16, tail_bytes: 0 };
    let frame = FrameConfig {
        channel,
        length: FRAME,
        ttg: channel.physical_slots(10),
        rtg: channel.physical_slots(10),
        split: Split::Ratio { down, up },
        preamble: 3,
        maps: Maps { mcs: 3, repetition: 1, bytes: None },
        burst_gap: 1,
        uplink_preamble: 0,
        region: Region { opportunities: 5, layout: RegionLayout::RequestOnly },
    };
    WimaxConfig {
        frame,
        pdu: Pdu { overhead_bytes: 10, min_fragment: MIN_FRAGMENT },
        uplink: UplinkConfig {
            grant_frames: 2,
            request_timeout: 20,
            backoff: BackoffConfig { start: 2, end: 6, tries: 16 },
            piggyback: true,
            min_grant: 0,
            bundling: true,
            rule: RequestRule::Standard,
        },
        repair: [RetransmissionMode::None; 2],
        stations: vec![station(mcs)],
        connections: Vec::new(),
    }
}

pub fn station(mcs: u8) -> StationConfig {
    StationConfig {
        service: ServiceFlow::BEST_EFFORT,
        mcs: [mcs, mcs],
        error: [0.0, 0.0],
        channel: None,
        loss: [None, None],
        rate_limits: [Vec::new(), Vec::new()],
    }
}

/// A channel whose quality varies by some dB around a mean.
pub fn wandering(mcs: u8, mean_db: f64, sd_db: f64) -> StationConfig {
    let process = FadingConfig::Ar1 { mean_db, sd_db, correlation: Span::from_ms(100) };
    let amc = AmcConfig { hysteresis_db: 1.0, delay: 2, up_offset_db: 0.0, decade_db: 2.0 };
    StationConfig { channel: Some((process, amc)), ..station(mcs) }
}

pub fn down(station: u32) -> Stream {
    Stream::new(station, Direction::Down)
}
pub fn up(station: u32) -> Stream {
    Stream::new(station, Direction::Up)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    pub at: Time,
    pub stream: Stream,
    pub id: u64,
    pub entered: Time,
    pub len: u16,
}

pub struct Drive {
    pub cell: Wimax,
    pub now: Time,
    pub left: Vec<Left>,
    pub counts: PacketCounts,
    /// Arrival time of each packet.
    entered: BTreeMap<u64, Time>,
    arena: Arena,
    next_id: u64,
}

impl Drive {
    pub fn new(config: WimaxConfig, stations: u32, seed: u64) -> Drive {
        Drive::limited(config, stations, seed, Limit::packets(50))
    }

    pub fn limited(config: WimaxConfig, stations: u32, seed: u64, limit: Limit) -> Drive {
        let queues = (0..2 * stations).map(|_| AnyQueue::DropTail(DropTail::new(limit))).collect();
        let cell = Wimax::new(config, queues, Rng::for_element(seed, "cell")).unwrap();
        Drive {
            cell,
            now: Time::ZERO,
            left: Vec::new(),
            counts: PacketCounts::default(),
            entered: BTreeMap::new(),
            arena: Arena::default(),
            next_id: 1,
        }
    }

    fn call(&mut self, act: impl FnOnce(&mut Wimax, Time, &mut Output<'_>)) {
        let mut handoffs: Vec<Handoff> = Vec::new();
        let mut out = Output::new(&mut self.arena, &mut self.counts, &mut handoffs, &mut self.next_id);
        act(&mut self.cell, self.now, &mut out);
        for Handoff { port, packet, .. } in handoffs {
            let stream = Stream::from_index(usize::from(port.0 ^ 1));
            self.left.push(Left { at: self.now, stream, id: packet.id, entered: self.entered[&packet.id], len: packet.len });
            self.arena.release(packet.body);
        }
        let PacketCounts { pushed, forwarded, .. } = self.counts;
        assert_eq!(pushed, forwarded + self.counts.drops() + self.cell.occupancy(), "conservation at {:?}", self.now);
    }

    /// Executes everything due up to `at`.
    pub fn run_to(&mut self, at: Time) {
        while self.cell.due() <= at {
            self.now = self.cell.due();
            self.call(|cell, now, out| cell.wake(now, out));
            assert!(self.cell.due() > self.now, "woken in time, and due again at the same instant {:?}", self.now);
        }
        self.now = at;
    }

    /// Wakes the cell now, due or not.
    pub fn wake_early(&mut self) {
        let before = (self.cell.due(), self.left.len(), self.counts);
        self.call(|cell, now, out| cell.wake(now, out));
        assert_eq!((self.cell.due(), self.left.len(), self.counts), before, "too early is nothing");
    }

    /// Pushes a packet and returns its id.
    pub fn push(&mut self, at: Time, stream: Stream, len: u16, kind: Kind) -> u64 {
        self.run_to(at);
        let id = self.next_id;
        self.next_id += 1;
        self.counts.pushed += 1;
        let body = self.arena.insert(Body::Datagram(Datagram { number: id, ..Datagram::default() }));
        self.entered.insert(id, at);
        let packet = Packet { id, body, flow: 0, len, wire_len: len, ecn: Ecn::NotEct, class: 0, kind };
        self.call(|cell, now, out| cell.push(now, stream.entry(), packet, out));
        id
    }

    /// Keeps the queues of these streams full until `end`: up to a megabyte per second each, every
    /// millisecond.
    pub fn saturate(&mut self, streams: &[Stream], len: u16, end: Time) {
        let each = Span::from_us(250);
        let mut at = self.now;
        while at < end {
            for &stream in streams {
                self.push(at, stream, len, Kind::DATA);
            }
            at += each;
        }
        self.run_to(end);
    }

    /// Bit rate of IP packets that left `stream` after `from`.
    pub fn rate(&self, stream: Stream, from: Time) -> f64 {
        let bytes: u64 = self.left.iter().filter(|l| l.stream == stream && l.at > from).map(|l| u64::from(l.len)).sum();
        bytes as f64 * 8.0 / (self.now - from).as_secs()
    }

    /// Requests that a station sent in frames of their own.
    pub fn cell_control(&mut self, station: u32) -> u64 {
        let now = self.now;
        self.cell.meter(now, up(station).queue_id()).unwrap().control_packets
    }

    pub fn of(&self, stream: Stream) -> impl Iterator<Item = &Left> {
        self.left.iter().filter(move |l| l.stream == stream)
    }
}
