//! IP reassembly, as far as TCP analysis needs it: the TCP header is kept, of the payload only
//! which bytes passed. A datagram is analyzed at the time of its last missing fragment, as at the
//! receiver.

use crate::decode::{Flags, FragmentInfo, IpHeader, Segment, reassembled};
use std::collections::VecDeque;

/// Maximum number of incomplete datagrams; the oldest is dropped.
const MAX_PENDING: usize = 256;
/// Maximum number of separate byte ranges of one datagram.
const MAX_RANGES: usize = 64;
/// Incomplete datagrams are dropped after this time, as in Linux (`ipfrag_time`).
const TIMEOUT_NS: i64 = 30_000_000_000;
/// Maximum length of a TCP header.
const MAX_HEADER: usize = 60;

/// Counts of IP fragments with TCP in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FragmentCounts {
    pub fragments: u64,
    /// Reassembled datagrams.
    pub reassembled: u64,
    /// Datagrams that were not completed.
    pub incomplete: u64,
    /// Fragments of those that were not analyzed.
    pub unused: u64,
}

#[derive(Debug, Default)]
pub struct Reassembly {
    pending: VecDeque<PendingDatagram>,
    /// A fragment other than a first one has passed. A capture filter on ports selects first
    /// fragments only: until then a first fragment is analyzed alone.
    later_seen: bool,
    counts: FragmentCounts,
}

#[derive(Debug)]
struct PendingDatagram {
    /// The first fragment's, once that has passed.
    ip: IpHeader,
    /// The first bytes of TCP; empty until the first fragment passes.
    header: Vec<u8>,
    id: u32,
    since: i64,
    fragments: u32,
    /// Total length, once the last fragment has passed.
    len: Option<u32>,
    /// Byte ranges that have passed; they do not overlap or touch.
    ranges: Vec<(u32, u32)>,
    /// Number of first fragments that were analyzed alone, and the bytes of TCP in the last of
    /// them.
    analyzed: u32,
    analyzed_len: u32,
}

/// A segment to analyze: of a complete datagram, or the part of it that was not analyzed yet.
#[derive(Debug, Clone)]
pub struct ReassembledSegment {
    ip: IpHeader,
    header: Vec<u8>,
    analyzed_len: u32,
}

impl ReassembledSegment {
    /// The segment; none if the TCP header is malformed.
    pub fn segment(&self) -> Option<Segment<'_>> {
        let segment = reassembled(&self.ip, &self.header).ok()?;
        let header_len = u32::from(segment.header_len);
        if self.analyzed_len == 0 {
            return Some(segment);
        }
        let before = self.analyzed_len.saturating_sub(header_len);
        let syn = u32::from(segment.flags.has(Flags::SYN));
        Some(Segment {
            seq: segment.seq.wrapping_add(before + syn),
            payload: segment.payload.saturating_sub(before),
            ip_len: segment.ip_len.saturating_sub(self.analyzed_len),
            flags: Flags(segment.flags.0 & !Flags::SYN),
            ..segment
        })
    }
}

impl Reassembly {
    /// Adds a fragment; returns the segment that is to be analyzed now.
    pub fn add(&mut self, at: i64, ip: &IpHeader, fragment: FragmentInfo, bytes: &[u8]) -> Option<ReassembledSegment> {
        self.counts.fragments += 1;
        self.later_seen |= fragment.offset > 0;
        let is_expired = |d: &PendingDatagram| at.saturating_sub(d.since) > TIMEOUT_NS;
        while self.pending.front().is_some_and(is_expired) || self.pending.len() > MAX_PENDING {
            self.drop_datagram(0);
        }
        let same = |d: &PendingDatagram| d.id == fragment.id && d.ip.source == ip.source && d.ip.destination == ip.destination;
        let known = self.pending.iter().position(same);
        // A different first fragment with the same identification: the sender's identification has
        // wrapped.
        let known = match known {
            Some(i) if fragment.offset == 0 && !self.pending[i].may_begin(bytes) => {
                self.drop_datagram(i);
                None
            }
            known => known,
        };
        let index = known.unwrap_or_else(|| {
            self.pending.push_back(PendingDatagram::new(at, ip, fragment.id));
            self.pending.len() - 1
        });
        let datagram = &mut self.pending[index];
        datagram.add(ip, fragment, bytes);
        if datagram.is_complete() {
            let datagram = self.pending.remove(index)?;
            self.counts.reassembled += 1;
            return Some(datagram.reassembled());
        }
        if fragment.offset == 0 && !self.later_seen {
            (datagram.analyzed, datagram.analyzed_len) = (datagram.analyzed + 1, ip.tcp_len);
            return Some(ReassembledSegment { ip: *ip, header: datagram.header.clone(), analyzed_len: 0 });
        }
        None
    }

    fn drop_datagram(&mut self, index: usize) {
        if let Some(datagram) = self.pending.remove(index) {
            self.counts.incomplete += 1;
            self.counts.unused += u64::from(datagram.unused());
        }
    }

    /// Counts of all fragments so far; pending datagrams count as incomplete.
    pub fn counts(&self) -> FragmentCounts {
        let mut counts = self.counts;
        counts.incomplete += self.pending.len() as u64;
        counts.unused += self.pending.iter().map(|d| u64::from(d.unused())).sum::<u64>();
        counts
    }
}

impl PendingDatagram {
    fn new(at: i64, ip: &IpHeader, id: u32) -> PendingDatagram {
        PendingDatagram {
            ip: *ip,
            header: Vec::new(),
            id,
            since: at,
            fragments: 0,
            len: None,
            ranges: Vec::new(),
            analyzed: 0,
            analyzed_len: 0,
        }
    }

    fn add(&mut self, ip: &IpHeader, fragment: FragmentInfo, bytes: &[u8]) {
        self.fragments += 1;
        if fragment.offset == 0 {
            self.ip = *ip;
            self.header = bytes[..bytes.len().min(MAX_HEADER)].to_vec();
        }
        let end = fragment.offset.saturating_add(ip.tcp_len);
        if !fragment.more {
            self.len = Some(end);
        }
        self.add_range(fragment.offset, end);
    }

    fn may_begin(&self, bytes: &[u8]) -> bool {
        self.header.is_empty() || self.header == bytes[..bytes.len().min(MAX_HEADER)]
    }

    fn add_range(&mut self, from: u32, to: u32) {
        let (mut from, mut to) = (from, to);
        self.ranges.retain(|&(a, b)| {
            let is_separate = b < from || to < a;
            if !is_separate {
                (from, to) = (from.min(a), to.max(b));
            }
            is_separate
        });
        if self.ranges.len() < MAX_RANGES {
            self.ranges.push((from, to));
        }
    }

    fn is_complete(&self) -> bool {
        !self.header.is_empty() && self.len.is_some_and(|len| self.ranges.iter().any(|&(from, to)| from == 0 && to >= len))
    }

    /// Fragments that were not analyzed.
    fn unused(&self) -> u32 {
        self.fragments - self.analyzed
    }

    fn reassembled(self) -> ReassembledSegment {
        let tcp_len = self.len.unwrap_or(self.ip.tcp_len);
        let total_len = (self.ip.total_len - self.ip.tcp_len).saturating_add(tcp_len);
        let ip = IpHeader { tcp_len, total_len, fragment: None, ..self.ip };
        ReassembledSegment { ip, header: self.header, analyzed_len: self.analyzed_len }
    }
}
