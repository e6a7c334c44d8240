//! IP datagrams that came in pieces, put together again as far as TCP's numbers need it: the front with the TCP header is kept, of the rest only
//! which bytes came. A datagram counts when its last missing piece passes, as it does for the receiver.

use crate::decode::{Flags, Ip, Place, Segment, whole};
use std::collections::VecDeque;

/// Datagrams under way at most, and pieces apart from each other of one; the oldest are given up.
const MOST: usize = 256;
const MOST_RANGES: usize = 64;
/// Incomplete ones are given up after this, as Linux does (`ipfrag_time`).
const PATIENCE: i64 = 30_000_000_000;
/// The longest TCP header.
const HEAD: usize = 60;

/// What became of pieces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pieces {
    pub pieces: u64,
    /// Datagrams put together.
    pub reassembled: u64,
    /// Datagrams given up, and pieces that were in them.
    pub incomplete: u64,
    pub unused: u64,
}

#[derive(Debug, Default)]
pub struct Fragments {
    pending: VecDeque<Datagram>,
    /// A capture filter that asks for ports takes first pieces only. Until another one is seen they count as they are.
    later_seen: bool,
    pieces: Pieces,
}

#[derive(Debug)]
struct Datagram {
    /// Of its first piece once that has passed.
    ip: Ip,
    head: Vec<u8>,
    id: u32,
    since: i64,
    pieces: u32,
    /// Its whole length, once the last piece has passed.
    len: Option<u32>,
    /// Bytes that have passed, in order and apart.
    ranges: Vec<(u32, u32)>,
    /// The first piece has already counted so many times, with so many bytes of TCP.
    times: u32,
    counted: u32,
}

/// A segment to count: all of a datagram, or what of it has not counted yet.
#[derive(Debug, Clone)]
pub struct Whole {
    ip: Ip,
    head: Vec<u8>,
    counted: u32,
}

impl Whole {
    /// The segment; none if the TCP header is not sound.
    pub fn segment(&self) -> Option<Segment<'_>> {
        let all = whole(&self.ip, &self.head).ok()?;
        let header = u32::from(all.header_len);
        if self.counted == 0 {
            return Some(all);
        }
        let before = self.counted.saturating_sub(header);
        let syn = u32::from(all.flags.has(Flags::SYN));
        Some(Segment {
            seq: all.seq.wrapping_add(before + syn),
            payload: all.payload.saturating_sub(before),
            ip_len: all.ip_len.saturating_sub(self.counted),
            flags: Flags(all.flags.0 & !Flags::SYN),
            ..all
        })
    }
}

impl Fragments {
    /// A piece passes; what counts with it.
    pub fn add(&mut self, at: i64, ip: &Ip, place: Place, bytes: &[u8]) -> Option<Whole> {
        self.pieces.pieces += 1;
        self.later_seen |= place.offset > 0;
        while self.pending.front().is_some_and(|d| at.saturating_sub(d.since) > PATIENCE) || self.pending.len() > MOST {
            self.give_up(0);
        }
        let same = |d: &Datagram| d.id == place.id && d.ip.source == ip.source && d.ip.destination == ip.destination;
        let known = self.pending.iter().position(same);
        // Another front under the same number: a fast sender came round to it.
        let known = match known {
            Some(i) if place.offset == 0 && !self.pending[i].may_begin(bytes) => {
                self.give_up(i);
                None
            }
            known => known,
        };
        let number = known.unwrap_or_else(|| {
            let fresh = Datagram {
                ip: *ip,
                head: Vec::new(),
                id: place.id,
                since: at,
                pieces: 0,
                len: None,
                ranges: Vec::new(),
                times: 0,
                counted: 0,
            };
            self.pending.push_back(fresh);
            self.pending.len() - 1
        });
        let datagram = &mut self.pending[number];
        datagram.take(ip, place, bytes);
        if datagram.is_whole() {
            let done = self.pending.remove(number)?;
            self.pieces.reassembled += 1;
            return Some(done.whole());
        }
        if place.offset == 0 && !self.later_seen {
            (datagram.times, datagram.counted) = (datagram.times + 1, ip.tcp_len);
            return Some(Whole { ip: *ip, head: datagram.head.clone(), counted: 0 });
        }
        None
    }

    fn give_up(&mut self, i: usize) {
        if let Some(gone) = self.pending.remove(i) {
            self.pieces.incomplete += 1;
            self.pieces.unused += u64::from(gone.unused());
        }
    }

    /// What became of all pieces so far; datagrams under way count as incomplete.
    pub fn pieces(&self) -> Pieces {
        let mut all = self.pieces;
        all.incomplete += self.pending.len() as u64;
        all.unused += self.pending.iter().map(|d| u64::from(d.unused())).sum::<u64>();
        all
    }
}

impl Datagram {
    fn take(&mut self, ip: &Ip, place: Place, bytes: &[u8]) {
        self.pieces += 1;
        if place.offset == 0 {
            self.ip = *ip;
            self.head = bytes[..bytes.len().min(HEAD)].to_vec();
        }
        let end = place.offset.saturating_add(ip.tcp_len);
        if !place.more {
            self.len = Some(end);
        }
        self.cover(place.offset, end);
    }

    fn may_begin(&self, bytes: &[u8]) -> bool {
        self.head.is_empty() || self.head == bytes[..bytes.len().min(HEAD)]
    }

    fn cover(&mut self, from: u32, to: u32) {
        let (mut from, mut to) = (from, to);
        self.ranges.retain(|&(a, b)| {
            let apart = b < from || to < a;
            if !apart {
                (from, to) = (from.min(a), to.max(b));
            }
            apart
        });
        if self.ranges.len() < MOST_RANGES {
            self.ranges.push((from, to));
        }
    }

    fn is_whole(&self) -> bool {
        !self.head.is_empty() && self.len.is_some_and(|len| self.ranges.iter().any(|&(from, to)| from == 0 && to >= len))
    }

    /// Pieces that have not counted.
    fn unused(&self) -> u32 {
        self.pieces - self.times
    }

    fn whole(self) -> Whole {
        let tcp_len = self.len.unwrap_or(self.ip.tcp_len);
        let total_len = (self.ip.total_len - self.ip.tcp_len).saturating_add(tcp_len);
        Whole { ip: Ip { tcp_len, total_len, piece: None, ..self.ip }, head: self.head, counted: self.counted }
    }
}
