//! Copies of packets in a capture: of a mirror port that copies one or both directions of a link, of
//! several interfaces that a packet passes, of several ports that copy to one. They are left out.
//!
//! A copy has the bytes of a packet captured microseconds before it, TTL and checksums aside. A host
//! sends nothing twice so soon but ACKs without an identification of their own, which are equal, too:
//! they are copies only if nearly every packet at the front of the capture has as many.

use crate::decode::{Decoded, Layers, Segment, Skip, decode, decode_fast};
use ackclock_pcap::read::{LinkType, Record};

/// Number of packets at the front by which a capture is judged.
const PROBED: u64 = 256;
/// Fewer TCP packets show nothing.
const MIN_PACKETS: u64 = 4;
/// Minimum share of the TCP packets at the front that have a copy: numerator and denominator.
const MIN_SHARE: (u64, u64) = (9, 10);
/// Maximum time between a packet and its copy, nanoseconds, if nearly every packet has one, or if the
/// copy has passed a router: a mirror port takes microseconds, a router less than this.
const MAX_DELAY: i64 = 5_000_000;
/// Maximum time between a packet and a copy with the same TTL, where not every packet has one: less
/// than a retransmission takes.
const MAX_SINGLE_DELAY: i64 = 50_000;
/// Minimum share of the TCP packets at the front that are copies: fewer are the network's duplicates.
const MIN_COPIES: (u64, u64) = (1, 20);
/// Maximum number of copies that nearly every packet may have.
const MAX_COPIES: u8 = 7;
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
            let mut layers = Layers::default();
            let decoded = decode_fast(&record).map_or_else(|| decode(&record, &mut layers), |s| Ok(Decoded::Segment(s)));
            DecodedPacket { record, decoded, layers }
        };
        self.held.iter().map(of).collect()
    }
}

/// A packet at the front, with its headers.
#[derive(Debug)]
pub struct DecodedPacket<'a> {
    pub record: Record<'a>,
    pub decoded: Result<Decoded<'a>, Skip>,
    pub layers: Layers,
}

/// What leaves out the copies, by the packets at the front; none if these have no more than a network
/// duplicates.
pub fn filter_of(all: &[DecodedPacket<'_>]) -> Option<MirrorFilter> {
    let tcp = || all.iter().filter_map(|packet| Some((packet.record.at, segment_of(packet)?)));
    let packets = tcp().count() as u64;
    let copies = |mut filter: MirrorFilter| {
        for (at, segment) in tcp() {
            filter.is_copy(at, segment);
        }
        filter.copies
    };
    let (part, whole) = MIN_COPIES;
    let is_enough = |copies: u64| packets >= MIN_PACKETS && copies * whole >= packets * part;
    // The most copies that any filter finds: mostly there are none.
    if !is_enough(copies(MirrorFilter::of_each(MAX_COPIES))) {
        return None;
    }
    let has_each = |each: &u8| {
        let ((part, whole), number) = (MIN_SHARE, u64::from(*each));
        copies(MirrorFilter::of_each(*each)) * (1 + number) * whole >= packets * number * part
    };
    let of_each = (1..=MAX_COPIES).find(has_each).map(MirrorFilter::of_each);
    of_each.or_else(|| is_enough(copies(MirrorFilter::default())).then(MirrorFilter::default))
}

fn segment_of<'a>(packet: &'a DecodedPacket<'_>) -> Option<&'a Segment<'a>> {
    if let Ok(Decoded::Segment(segment)) = &packet.decoded { Some(segment) } else { None }
}

/// Recognizes the copies of packets.
#[derive(Debug)]
pub struct MirrorFilter {
    /// The last packet that may still have copies, by its signature.
    recent: Box<[Remembered]>,
    /// Time of the newest packet. What is much older belongs to another section of the file, which may
    /// hold the same packets.
    newest: i64,
    copies: u64,
    /// Copies of nearly every packet; none if they are found packet by packet.
    each: Option<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Remembered {
    at: i64,
    signature: u64,
    ttl: u8,
    copies: u8,
}

/// No packet has this signature.
const FORGOTTEN: Remembered = Remembered { at: i64::MIN, signature: 0, ttl: 0, copies: 0 };

impl Default for MirrorFilter {
    /// Finds copies packet by packet.
    fn default() -> MirrorFilter {
        MirrorFilter { recent: vec![FORGOTTEN; REMEMBERED].into(), newest: i64::MIN, copies: 0, each: None }
    }
}

impl MirrorFilter {
    /// Of a capture in which nearly every packet has this number of copies.
    pub fn of_each(copies: u8) -> MirrorFilter {
        MirrorFilter { each: Some(copies), ..MirrorFilter::default() }
    }

    /// Number of copies so far.
    pub fn copies(&self) -> u64 {
        self.copies
    }

    /// True if the packet is a copy of one before it.
    #[inline]
    pub fn is_copy(&mut self, at: i64, s: &Segment<'_>) -> bool {
        let signature = signature(s);
        self.newest = self.newest.max(at);
        let recent = &mut self.recent[signature as usize & (REMEMBERED - 1)];
        if recent.signature != signature {
            *recent = Remembered { at, signature, ttl: s.ttl, copies: 0 };
            return false;
        }
        let delay = at.saturating_sub(recent.at).unsigned_abs();
        let is_copy = self.newest.saturating_sub(at) <= MAX_STEP_BACK
            && match self.each {
                Some(_) => delay <= MAX_DELAY as u64,
                None if recent.ttl.abs_diff(s.ttl) == 1 => delay <= MAX_DELAY as u64,
                None => delay <= MAX_SINGLE_DELAY as u64 && (s.seq_len() > 0 || s.ip_id.is_some_and(|id| id > 0)),
            };
        if !is_copy {
            *recent = Remembered { at, signature, ttl: s.ttl, copies: 0 };
            return false;
        }
        recent.copies = recent.copies.saturating_add(1);
        if self.each.is_some_and(|each| recent.copies >= each) {
            *recent = FORGOTTEN;
        }
        self.copies += 1;
        true
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
