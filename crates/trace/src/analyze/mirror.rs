//! Captures that hold each packet twice: of a mirror port that copies both directions of a link, or of
//! several interfaces that a packet passes. The first packets decide; then copies are left out.

use crate::decode::{Decoded, Segment, Skip, decode, decode_fast};
use ackclock_pcap::read::{LinkType, Record};

/// Number of packets at the front by which a capture is judged.
const PROBED: u64 = 256;
/// Fewer TCP packets show nothing.
const MIN_PACKETS: u64 = 4;
/// Minimum share of the TCP packets at the front that have a copy: numerator and denominator.
const MIN_SHARE: (u64, u64) = (9, 10);
/// Maximum time between a packet and its copy, nanoseconds: a mirror port takes microseconds, a router
/// between two interfaces less than this.
const MAX_DELAY: i64 = 5_000_000;
/// Maximum by which the times of a mirrored capture step back, nanoseconds: packets are captured in
/// swapped order within microseconds.
const MAX_STEP_BACK: i64 = 100_000;
/// Packets that are remembered; a power of two.
const REMEMBERED: usize = 4096;

/// The packets at the front of a capture, which wait for the decision.
#[derive(Debug, Default)]
pub struct MirrorProbe {
    bytes: Vec<u8>,
    held: Vec<HeldRecord>,
}

#[derive(Debug)]
struct HeldRecord {
    at: i64,
    link: LinkType,
    original_len: u32,
    start: usize,
    end: usize,
}

impl MirrorProbe {
    /// Number of packets that are still needed.
    pub fn missing(&self) -> u64 {
        PROBED.saturating_sub(self.held.len() as u64)
    }

    pub fn hold(&mut self, record: &Record<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record.bytes);
        let (link, original_len, end) = (record.link, record.original_len, self.bytes.len());
        self.held.push(HeldRecord { at: record.at, link, original_len, start, end });
    }

    /// The packets, in their order.
    pub fn packets(&self) -> Vec<DecodedPacket<'_>> {
        let of = |held: &HeldRecord| {
            let bytes = &self.bytes[held.start..held.end];
            let record = Record { at: held.at, link: held.link, original_len: held.original_len, bytes };
            DecodedPacket { record, decoded: decode_fast(&record).map_or_else(|| decode(&record), |s| Ok(Decoded::Segment(s))) }
        };
        self.held.iter().map(of).collect()
    }
}

/// A packet at the front, with its headers.
#[derive(Debug)]
pub struct DecodedPacket<'a> {
    pub record: Record<'a>,
    pub decoded: Result<Decoded<'a>, Skip>,
}

/// Nearly every TCP packet has a copy.
pub fn is_mirrored(all: &[DecodedPacket<'_>]) -> bool {
    let (mut filter, mut packets) = (MirrorFilter::default(), 0u64);
    for packet in all {
        if let Ok(Decoded::Segment(segment)) = &packet.decoded {
            packets += 1;
            filter.is_copy(packet.record.at, segment);
        }
    }
    let (part, whole) = MIN_SHARE;
    packets >= MIN_PACKETS && 2 * filter.copies * whole >= packets * part
}

/// Recognizes the second of two equal packets.
#[derive(Debug)]
pub struct MirrorFilter {
    /// The last packet without a copy yet, by its signature.
    recent: Box<[Remembered]>,
    /// Time of the newest packet. What is much older belongs to another section of the file, which may
    /// hold the same packets.
    newest: i64,
    copies: u64,
}

#[derive(Debug, Clone, Copy)]
struct Remembered {
    at: i64,
    signature: u64,
}

/// No packet has this signature.
const FORGOTTEN: Remembered = Remembered { at: i64::MIN, signature: 0 };

impl Default for MirrorFilter {
    fn default() -> MirrorFilter {
        MirrorFilter { recent: vec![FORGOTTEN; REMEMBERED].into(), newest: i64::MIN, copies: 0 }
    }
}

impl MirrorFilter {
    /// Number of copies so far.
    pub fn copies(&self) -> u64 {
        self.copies
    }

    /// True if the packet is the copy of one that had none yet.
    pub fn is_copy(&mut self, at: i64, s: &Segment<'_>) -> bool {
        let signature = signature(s);
        self.newest = self.newest.max(at);
        let recent = &mut self.recent[signature as usize & (REMEMBERED - 1)];
        let is_copy = recent.signature == signature
            && at.saturating_sub(recent.at).unsigned_abs() <= MAX_DELAY as u64
            && self.newest.saturating_sub(at) <= MAX_STEP_BACK;
        *recent = if is_copy { FORGOTTEN } else { Remembered { at, signature } };
        self.copies += u64::from(is_copy);
        is_copy
    }
}

/// Hash of all that a router does not change: not of TTL and checksums.
fn signature(s: &Segment<'_>) -> u64 {
    let numbers = u64::from(s.seq) << 32 | u64::from(s.ack);
    let id = u64::from(s.ip_id.unwrap_or(0)) << 32 | u64::from(s.window) << 16 | u64::from(s.flags.0);
    let timestamps = s.options.timestamps.unwrap_or_default();
    let mut hash = mix(u64::from(s.key.hash(SEED)) << 1 | s.from as u64, numbers);
    hash = mix(hash ^ id, u64::from(s.payload) ^ SEED);
    hash = mix(hash, u64::from(timestamps.value) << 32 | u64::from(timestamps.echo));
    if !s.options.only_timestamps() {
        for &(left, right) in s.options.sack().iter() {
            hash = mix(hash, u64::from(left) << 32 | u64::from(right));
        }
    }
    hash | 1
}

const SEED: u64 = 0x2545_f491_4f6c_dd1d;

fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ SEED) * u128::from(b ^ 0x9e37_79b9_7f4a_7c15);
    product as u64 ^ (product >> 64) as u64
}
