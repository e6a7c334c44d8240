//! Plain ranges in five or six bytes each: a queue of differences. Most ranges begin where the
//! previous one ended, are as long, and have the next IP identification and the same TSval.

use super::super::seq::{seq_diff, seq_lt};
use super::{SackMark, SentRange};
use crate::compact::{Compact, Reader, Writer, compact};

/// A FIFO queue: only the first and the last range can be read.
#[derive(Debug, Default)]
pub struct DeltaQueue {
    /// The ranges after the first, each as the difference to its predecessor; from `head` to `tail`.
    bytes: Box<[u8]>,
    head: u32,
    tail: u32,
    count: u32,
    /// Acknowledged bytes of the first range.
    acked_prefix: u32,
    first: Entry,
    last: Entry,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    start: u32,
    len: u32,
    at: i64,
    tsval: u32,
    ip_id: u16,
}

compact!(Entry { start, len, at, tsval, ip_id });

/// A control byte, then the fields that it announces: time, length, IP identification, TSval.
const LONGEST: usize = 1 + 4 + 4 + 2 + 4;
const STEP: usize = 48;

/// The control byte: the bytes of the time less one, then two bits for each of the other fields.
const TIME: u8 = 3;
const LEN_SAME: u8 = 0;
const LEN_SHORT: u8 = 1 << 2;
const LEN_LONG: u8 = 2 << 2;
const LEN: u8 = 3 << 2;
const ID_NEXT: u8 = 0;
const ID_SAME: u8 = 1 << 4;
const ID_OTHER: u8 = 2 << 4;
const ID: u8 = 3 << 4;
const TSVAL_SAME: u8 = 0;
const TSVAL_NEXT: u8 = 1 << 6;
const TSVAL_NEAR: u8 = 2 << 6;
const TSVAL_OTHER: u8 = 3 << 6;
const TSVAL: u8 = 3 << 6;

impl Compact for DeltaQueue {
    fn encode(&self, to: &mut Writer) {
        self.count.encode(to);
        if self.count > 0 {
            (self.acked_prefix, self.first).encode(to);
            (self.last, self.tail - self.head).encode(to);
            to.bytes(&self.bytes[self.head as usize..self.tail as usize]);
        }
    }

    fn decode(from: &mut Reader<'_>) -> DeltaQueue {
        let count = u32::decode(from);
        if count == 0 {
            return DeltaQueue::default();
        }
        let (acked_prefix, first) = <(u32, Entry)>::decode(from);
        let (last, tail) = <(Entry, u32)>::decode(from);
        let mut bytes = vec![0; tail as usize + LONGEST].into_boxed_slice();
        bytes[..tail as usize].copy_from_slice(from.bytes(tail as usize));
        DeltaQueue { bytes, head: 0, tail, count, acked_prefix, first, last }
    }
}

impl Entry {
    fn of(range: &SentRange) -> Entry {
        Entry { start: range.start, len: range.len, at: range.first_at, tsval: range.tsval, ip_id: range.ip_id }
    }
}

impl DeltaQueue {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    pub fn first(&self) -> Option<SentRange> {
        (self.count > 0).then(|| self.front())
    }

    #[inline]
    fn front(&self) -> SentRange {
        let e = &self.first;
        SentRange {
            start: e.start.wrapping_add(self.acked_prefix),
            len: e.len - self.acked_prefix,
            first_at: e.at,
            last_at: e.at,
            tsval: e.tsval,
            ip_id: e.ip_id,
            transmissions: 1,
            sacked: SackMark::No,
        }
    }

    /// Appends a range; false if it does not begin where the last one ends or is sent more than four
    /// seconds later.
    #[inline]
    pub fn push(&mut self, range: &SentRange) -> bool {
        let entry = Entry::of(range);
        if self.count == 0 {
            (self.first, self.last, self.count) = (entry, entry, 1);
            (self.head, self.tail, self.acked_prefix) = (0, 0, 0);
            return true;
        }
        let Ok(after) = u32::try_from(entry.at - self.last.at) else { return false };
        if entry.start != self.last.start.wrapping_add(self.last.len) {
            return false;
        }
        if self.bytes.len() < self.tail as usize + LONGEST {
            self.grow();
        }
        self.write(&entry, after);
        (self.last, self.count) = (entry, self.count + 1);
        true
    }

    #[inline]
    fn write(&mut self, entry: &Entry, after: u32) {
        let last = &self.last;
        let Some(free) = self.bytes.get_mut(self.tail as usize..).and_then(|b| b.first_chunk_mut::<LONGEST>()) else { return };
        let time_bytes = (4 - after.leading_zeros() as usize / 8).max(1);
        free[1..5].copy_from_slice(&after.to_le_bytes());
        let (mut control, mut n) = (time_bytes as u8 - 1, 1 + time_bytes);
        if entry.len != last.len {
            if let Ok(short) = u16::try_from(entry.len) {
                free[n..n + 2].copy_from_slice(&short.to_le_bytes());
                (control, n) = (control | LEN_SHORT, n + 2);
            } else {
                free[n..n + 4].copy_from_slice(&entry.len.to_le_bytes());
                (control, n) = (control | LEN_LONG, n + 4);
            }
        }
        if entry.ip_id == last.ip_id {
            control |= ID_SAME;
        } else if entry.ip_id != last.ip_id.wrapping_add(1) {
            free[n..n + 2].copy_from_slice(&entry.ip_id.to_le_bytes());
            (control, n) = (control | ID_OTHER, n + 2);
        }
        match entry.tsval.wrapping_sub(last.tsval) {
            0 => {}
            1 => control |= TSVAL_NEXT,
            near @ 2..=255 => {
                free[n] = near as u8;
                (control, n) = (control | TSVAL_NEAR, n + 1);
            }
            _ => {
                free[n..n + 4].copy_from_slice(&entry.tsval.to_le_bytes());
                (control, n) = (control | TSVAL_OTHER, n + 4);
            }
        }
        free[0] = control;
        self.tail += n as u32;
    }

    /// Removes the first range.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<SentRange> {
        let range = self.first()?;
        self.count -= 1;
        self.acked_prefix = 0;
        if self.count > 0 {
            self.read();
        }
        Some(range)
    }

    /// Decodes the next entry into `first`.
    #[inline]
    fn read(&mut self) {
        let Some(b) = self.bytes.get(self.head as usize..).and_then(|b| b.first_chunk::<LONGEST>()) else { return };
        let word = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let half = |at: usize| u16::from_le_bytes([b[at], b[at + 1]]);
        let (e, control) = (&mut self.first, b[0]);
        let time_bytes = usize::from(control & TIME) + 1;
        e.start = e.start.wrapping_add(e.len);
        e.at += i64::from(word(1) & (u32::MAX >> (32 - 8 * time_bytes)));
        let mut n = 1 + time_bytes;
        match control & LEN {
            LEN_SAME => {}
            LEN_SHORT => (e.len, n) = (u32::from(half(n)), n + 2),
            _ => (e.len, n) = (word(n), n + 4),
        }
        match control & ID {
            ID_NEXT => e.ip_id = e.ip_id.wrapping_add(1),
            ID_SAME => {}
            _ => (e.ip_id, n) = (half(n), n + 2),
        }
        match control & TSVAL {
            TSVAL_SAME => {}
            TSVAL_NEXT => e.tsval = e.tsval.wrapping_add(1),
            TSVAL_NEAR => (e.tsval, n) = (e.tsval.wrapping_add(u32::from(b[n])), n + 1),
            _ => (e.tsval, n) = (word(n), n + 4),
        }
        self.head += n as u32;
    }

    /// Removes the first range if it lies below `ack`; otherwise removes its part below `ack`.
    #[inline(always)]
    pub fn pop_acked(&mut self, ack: u32) -> Option<SentRange> {
        if self.count == 0 {
            return None;
        }
        if !seq_lt(ack, self.first.start.wrapping_add(self.first.len)) {
            return self.pop();
        }
        self.acked_prefix = self.acked_prefix.max(seq_diff(self.first.start, ack).max(0) as u32);
        None
    }

    /// Moves the entries to the front; allocates a quarter more if that does not free a quarter.
    #[cold]
    fn grow(&mut self) {
        let (head, tail) = (self.head as usize, self.tail as usize);
        let live = tail - head;
        if live + LONGEST + self.bytes.len() / 4 > self.bytes.len() {
            let mut larger = vec![0; (live + LONGEST + live / 4).next_multiple_of(STEP)].into_boxed_slice();
            larger[..live].copy_from_slice(&self.bytes[head..tail]);
            self.bytes = larger;
        } else {
            self.bytes.copy_within(head..tail, 0);
        }
        (self.head, self.tail) = (0, live as u32);
    }

    /// Frees memory if the queue is empty.
    #[inline]
    pub fn shrink(&mut self) {
        if self.count == 0 && self.bytes.len() > 2 * STEP {
            self.bytes = Box::default();
        }
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.bytes.len()
    }
}
