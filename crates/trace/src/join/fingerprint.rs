//! What is kept of each packet to find it again in the other capture: 40 bytes a packet, only while two captures are joined.

use crate::analyze::PacketObserver;
use crate::decode::{Flags, Segment};
use crate::flow::{Flow, Passed, Side};

/// One segment as it was on the wire: what hosts and cards joined (TSO, GRO) is taken apart again.
#[derive(Debug, Clone, Copy)]
pub struct PacketFingerprint {
    /// Of what no address translation changes: numbers, length, flags, time stamps, SACK blocks.
    pub hash: u64,
    /// Nanoseconds by this capture's clock.
    pub at: i64,
    pub seq: u32,
    pub ack: u32,
    pub payload: u32,
    pub ip_len: u32,
    /// Zero where there is none.
    pub ip_id: u16,
    /// SYN, FIN, RST and ACK; and `PacketFingerprint::CE`.
    pub flags: Flags,
}

impl PacketFingerprint {
    /// The IP header said congestion experienced (RFC 3168). In TCP's flags this bit is URG, which is not kept.
    pub const CE: u8 = 0x20;
}

/// By flow number, then by the side that sends.
#[derive(Debug, Default)]
pub struct FingerprintRecorder {
    pub flows: Vec<[Vec<PacketFingerprint>; 2]>,
}

/// More parts than the largest super-segment has (512 KB of IPv6): a length that cannot be is one part.
const MOST_PARTS: u32 = 1024;
const KEPT_FLAGS: u8 = Flags::SYN | Flags::FIN | Flags::RST | Flags::ACK;

impl PacketObserver for FingerprintRecorder {
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, s: &Segment<'_>, passed: &Passed) {
        let number = number as usize;
        if self.flows.len() <= number {
            self.flows.resize_with(number + 1, Default::default);
        }
        let list = &mut self.flows[number][passed.from as usize];
        let unit = unit(flow, s);
        let ce = if s.ecn == 3 { PacketFingerprint::CE } else { 0 };
        let headers = s.ip_len.saturating_sub(s.payload);
        let (mut from, mut part) = (0, 0u16);
        loop {
            let payload = (s.payload - from).min(unit);
            let last = from + payload == s.payload;
            let flags = Flags(if last { s.flags.0 & KEPT_FLAGS } else { s.flags.0 & KEPT_FLAGS & !(Flags::FIN | Flags::RST) });
            let seq = s.seq.wrapping_add(from);
            list.push(PacketFingerprint {
                hash: fingerprint_hash(s, seq, payload, flags),
                at,
                seq,
                ack: s.ack,
                payload,
                ip_len: headers.saturating_add(payload),
                ip_id: s.ip_id.map_or(0, |id| id.wrapping_add(part)),
                flags: Flags(flags.0 | ce),
            });
            if last {
                return;
            }
            (from, part) = (from + payload, part.wrapping_add(1));
        }
    }
}

/// Payload of one segment on the wire, at least one byte. The agreed size includes options (RFC 6691), but some stacks let them ride for nothing:
/// what is no longer than it went as it is.
fn unit(flow: &Flow, s: &Segment<'_>) -> u32 {
    let agreed = [Side::Low, Side::High].into_iter().filter_map(|side| flow.half(side).choices.mss).min();
    let options = u32::from(s.header_len).saturating_sub(20);
    let cut = agreed.map(u32::from).filter(|&mss| s.payload > mss);
    let unit = cut.map_or(s.payload, |mss| mss.saturating_sub(options)).max(1);
    if s.payload / unit > MOST_PARTS { s.payload } else { unit }
}

/// FNV-1a's steps over words, with a fold: any well-spread 64 bits will do, as equal prints are told apart by packet numbers and order.
fn fingerprint_hash(s: &Segment<'_>, seq: u32, payload: u32, flags: Flags) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let ack = if flags.has(Flags::ACK) { s.ack } else { 0 };
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |word: u64| {
        sum = (sum ^ word).wrapping_mul(PRIME).wrapping_add(ODD);
        sum = (sum ^ sum >> 29).wrapping_mul(ODD);
    };
    add(u64::from(seq) << 32 | u64::from(ack));
    add(u64::from(payload) << 8 | u64::from(flags.0));
    if let Some(stamps) = s.options.timestamps {
        add(u64::from(stamps.value) << 32 | u64::from(stamps.echo));
    }
    for &(left, right) in s.options.sack().iter() {
        add(u64::from(left) << 32 | u64::from(right));
    }
    sum ^ sum >> 32
}

/// The middle one of the lengths of IP packets, bytes; none without any.
pub fn usual_len(sent: &[PacketFingerprint]) -> Option<u32> {
    let mut all: Vec<u32> = sent.iter().map(|m| m.ip_len).collect();
    let middle = all.len() / 2;
    (!all.is_empty()).then(|| *all.select_nth_unstable(middle).1)
}
