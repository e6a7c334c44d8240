//! The cases: bulk flows over one bottleneck, with windows and buffers that never overflow.
//!
//!     sender i --10 Gb/s, 1 ms-- RATE, 18 ms, droptail --10 Gb/s, 1 ms-- receiver i
//!
//! The first three are those of `benches/peers/speed.tcl` for ns-2.

use ackclock_core::Span;
use ackclock_core::impairment::{ListedPackets, LossConfig};
use ackclock_core::link::Framing;
use ackclock_core::queue::{Limit, QueueConfig};
use ackclock_core::tcp::{TcpConfig, Variant};
use ackclock_sim::plan::{Direction, Flow, Hop, HopDirection, Measure, Plan, RatePlan, UniformTime, WorkloadConfig};

/// Payload of a segment in bytes; its header is 40.
pub const SEGMENT: u32 = 1024;
const PACKET_BITS: f64 = 8.0 * (SEGMENT + 40) as f64;
const RTT_S: f64 = 0.040;
const MS: u64 = 1_000_000_000;
const PS_PER_S: f64 = 1e12;
/// Window over the flow's share of the path's capacity, so that the bottleneck is never idle.
const OVERSIZE: f64 = 1.3;

pub const NAMES: [&str; 8] =
    ["one-1g", "hundred-1g", "one-10m", "flows-10", "flows-1000", "flows-10000", "noloss-6000", "loss-6000"];

pub struct Case {
    flows: u32,
    rate_bps: f64,
    /// In segments.
    window: u32,
    lost: Vec<u64>,
    /// A congestion control of the catalogue.
    pub variant: Variant,
    pub seconds: f64,
    pub repetitions: u32,
}

impl Case {
    pub fn from_name(name: &str) -> Option<Case> {
        Some(match NAMES.into_iter().find(|n| *n == name)? {
            "one-1g" => Case::speed(1, 1e9, 20.0),
            "hundred-1g" => Case::speed(100, 1e9, 20.0),
            "one-10m" => Case::speed(1, 10e6, 1000.0),
            "flows-10" => Case::scaled(10, 200.0),
            "flows-1000" => Case::scaled(1000, 3.0),
            "flows-10000" => Case::scaled(10_000, 1.5),
            // Short and repeated: the window is full most of the time, and every repetition loses
            // a third of it.
            "noloss-6000" => Case { window: 6000, repetitions: 10, ..Case::speed(1, 1e9, 2.0) },
            _ => Case {
                window: 6000,
                lost: (0..2000).map(|i| 30_000 + 3 * i).collect(),
                repetitions: 10,
                ..Case::speed(1, 1e9, 2.0)
            },
        })
    }

    /// A case of `speed.tcl`.
    fn speed(flows: u32, rate_bps: f64, seconds: f64) -> Case {
        let window = (OVERSIZE * capacity(rate_bps) as f64 / f64::from(flows)).ceil() as u32;
        Case { flows, rate_bps, window, lost: Vec::new(), variant: Variant::Reno, seconds, repetitions: 1 }
    }

    /// The link grows with the flows: each keeps a window of 40 segments.
    fn scaled(flows: u32, seconds: f64) -> Case {
        let rate = f64::from(flows) * 40.0 / OVERSIZE * PACKET_BITS / RTT_S;
        Case { window: 40, ..Case::speed(flows, rate, seconds) }
    }

    pub fn plan(&self) -> Plan {
        let buffer = 2 * capacity(self.rate_bps) + 10 * u64::from(self.flows);
        let access = || hop_direction(10e9, 1, None);
        let loss = (!self.lost.is_empty()).then(|| LossConfig::List { packets: self.lost.clone(), of: ListedPackets::Data });
        let down = HopDirection { loss, ..hop_direction(self.rate_bps, 18, Some(buffer)) };
        Plan {
            variants: Vec::new(),
            controllers: Vec::new(),
            seed: 1,
            duration_ps: (self.seconds * PS_PER_S) as u64,
            sample_ps: 0,
            pages: Vec::new(),
            clients: self.flows,
            measure: Measure::All {},
            hops: vec![
                hop("sender", true, access(), access()),
                hop("bottleneck", false, down, hop_direction(self.rate_bps, 18, Some(buffer))),
                hop("receiver", true, access(), access()),
            ],
            flows: (0..self.flows).map(|i| self.flow(i)).collect(),
            captures: Vec::new(),
            proxies: Vec::new(),
            tunnels: Vec::new(),
        }
    }

    fn flow(&self, number: u32) -> Flow {
        // Starts are 1 ms apart, or closer to be all within 1 s.
        let start = u64::from(number) * MS.min(1000 * MS / u64::from(self.flows));
        Flow {
            name: number.to_string(),
            client: number,
            device: 0,
            quic: None,
            direction: Direction::Down,
            hops: vec![0, 1, 2],
            start: UniformTime { low_ps: start, high_ps: start },
            stop_ps: None,
            overhead_ps: 0,
            overhead_alone_ps: None,
            workload: WorkloadConfig::Bulk { read_bps: None },
            tcp: Some(TcpConfig { variant: self.variant, ..tcp(self.window * SEGMENT) }),
            tcp_client: None,
            after: Vec::new(),
            job: None,
        }
    }
}

/// Packets that the path holds without a queue.
fn capacity(rate_bps: f64) -> u64 {
    (rate_bps * RTT_S / PACKET_BITS) as u64
}

fn hop(name: &str, per_client: bool, down: HopDirection, up: HopDirection) -> Hop {
    Hop { name: name.to_owned(), per_client, medium: None, roaming: None, down: Some(down), up: Some(up) }
}

fn hop_direction(bps: f64, delay_ms: u64, buffer: Option<u64>) -> HopDirection {
    HopDirection {
        mtu: None,
        policer: None,
        shaper: None,
        queue: buffer.map(|packets| QueueConfig::DropTail(Limit::packets(packets).into())),
        rate: Some(RatePlan::Fixed { bps: bps as u64 }),
        acks: None,
        framing: Framing::None,
        outage: Vec::new(),
        loss: None,
        duplicate: None,
        delay: Span::from_ms(delay_ms),
        delay_schedule: None,
        jitter: None,
        reorder: None,
        handover: None,
        reconstruct: None,
    }
}

/// ns-2's TCP over a SACK sink: an ACK for each segment, options that cost no bytes.
fn tcp(receive_buffer: u32) -> TcpConfig {
    TcpConfig { segment: SEGMENT, receive_buffer, ..TcpConfig::default() }
}
