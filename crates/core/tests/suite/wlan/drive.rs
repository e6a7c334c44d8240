//! Drives a wireless LAN directly: packets in, packets out, and conservation checked after every
//! call.

use ackclock_core::element::{Element, Handoff, Output, PacketCounts};
use ackclock_core::medium::wlan::{AmpduConfig, Format, Wlan, WlanConfig};
use ackclock_core::medium::{Direction, Stream};
use ackclock_core::packet::{Arena, Body, Datagram, Ecn, Kind, Packet};
use ackclock_core::queue::{AnyQueue, DropTail, Limit};
use ackclock_core::rng::Rng;
use ackclock_core::units::{Rate, Span, Time};

pub fn us(us: u64) -> Span {
    Span::from_us(us)
}

fn format(kbps: u64, preamble_us: u64, symbol_us: u64, extension_us: u64) -> Format {
    Format { rate: Rate::from_bps(kbps * 1000), preamble: us(preamble_us), symbol: us(symbol_us), extension: us(extension_us) }
}

/// 802.11b with the long preamble, 1 Mb/s for control frames, MAC and LLC headers of 36 bytes.
pub fn b() -> WlanConfig {
    WlanConfig {
        slot: us(20),
        sifs: us(10),
        difs: us(50),
        eifs: us(10 + 304 + 50),
        cw: [31, 1023],
        data: format(11_000, 192, 0, 0),
        control: format(1000, 192, 0, 0),
        header: 36,
        rts_threshold: None,
        short_retries: 7,
        long_retries: 4,
        shared_queue: false,
        aggregate: None,
        frame_error: [0.0, 0.0],
    }
}

/// 802.11n, 20 MHz at 5 GHz, 65 Mb/s, best-effort access category, A-MPDUs.
pub fn n() -> WlanConfig {
    WlanConfig {
        slot: us(9),
        sifs: us(16),
        difs: us(43),
        eifs: us(16 + 32 + 43),
        cw: [15, 1023],
        data: format(65_000, 36, 4, 0),
        control: format(24_000, 20, 4, 0),
        header: 38,
        aggregate: Some(AmpduConfig { frames: 64, bytes: 65_535, air: us(5484) }),
        ..b()
    }
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
}

pub struct Drive {
    pub wlan: Wlan,
    pub now: Time,
    pub left: Vec<Left>,
    pub counts: PacketCounts,
    arena: Arena,
    next_id: u64,
}

impl Drive {
    pub fn new(config: WlanConfig, stations: u32, seed: u64) -> Drive {
        Drive::limited(config, stations, seed, 1000)
    }

    /// With a limit of `packets` per queue.
    pub fn limited(config: WlanConfig, stations: u32, seed: u64, packets: u64) -> Drive {
        let queues = (0..2 * stations).map(|_| AnyQueue::DropTail(DropTail::new(Limit::packets(packets))));
        let wlan = Wlan::new(config, queues, Rng::for_element(seed, "wlan")).unwrap();
        Drive { wlan, now: Time::ZERO, left: Vec::new(), counts: PacketCounts::default(), arena: Arena::default(), next_id: 1 }
    }

    fn call(&mut self, act: impl FnOnce(&mut Wlan, Time, &mut Output<'_>)) {
        let mut handoffs: Vec<Handoff> = Vec::new();
        let mut out = Output::new(&mut self.arena, &mut self.counts, &mut handoffs, &mut self.next_id);
        act(&mut self.wlan, self.now, &mut out);
        for Handoff { port, packet, .. } in handoffs {
            self.left.push(Left { at: self.now, stream: Stream::from_index(usize::from(port.0 ^ 1)), id: packet.id });
            self.arena.release(packet.body);
        }
        let PacketCounts { pushed, forwarded, .. } = self.counts;
        assert_eq!(pushed, forwarded + self.counts.drops() + self.wlan.occupancy(), "conservation at {:?}", self.now);
    }

    /// Control frames sent for a stream.
    pub fn wlan_control(&mut self, stream: Stream) -> u64 {
        self.wlan.meter(self.now, stream.queue_id()).map_or(0, |meter| meter.control_packets)
    }

    pub fn wake(&mut self) {
        self.now = self.wlan.due();
        self.call(|wlan, now, out| wlan.wake(now, out));
    }

    /// Executes everything due up to `at`.
    pub fn run_to(&mut self, at: Time) {
        while self.wlan.due() <= at {
            self.wake();
        }
        self.now = at;
    }

    /// Pushes a packet now.
    pub fn push(&mut self, stream: Stream, len: u16) {
        let id = self.next_id;
        self.next_id += 1;
        self.counts.pushed += 1;
        let body = self.arena.insert(Body::Datagram(Datagram { number: id, ..Datagram::default() }));
        let kind = Kind::DATA;
        let packet = Packet { id, body, flow: stream.station, len, wire_len: len, ecn: Ecn::NotEct, class: 0, kind };
        self.call(|wlan, now, out| wlan.push(now, stream.entry(), packet, out));
    }

    /// Keeps `depth` packets queued in these streams until `end`. Returns the packets delivered per
    /// second.
    pub fn saturate(&mut self, streams: &[Stream], len: u16, depth: u64, end: Time) -> f64 {
        let from = self.left.len();
        for &stream in streams {
            self.fill(stream, len, depth);
        }
        while self.wlan.due() <= end {
            self.wake();
            for &stream in streams {
                self.fill(stream, len, depth);
            }
        }
        (self.left.len() - from) as f64 / end.as_secs()
    }

    fn fill(&mut self, stream: Stream, len: u16, depth: u64) {
        while self.wlan.sample(self.now, stream.queue_id()).is_some_and(|queue| queue.packets < depth) {
            self.push(stream, len);
        }
    }
}
