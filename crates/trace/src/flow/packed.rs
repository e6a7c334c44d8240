//! Segments in flight in five or six bytes each: a queue of differences. Most segments start where the one before ended, are as long, carry the
//! next packet number and the same time stamp, and leave within milliseconds.

use super::sent::Sent;
use super::seq::{ahead, before};
use crate::compact::{Compact, Reader, Writer, compact};

/// First in, first out; only the ends are at hand.
#[derive(Debug, Default)]
pub struct Packed {
    /// Entries behind the first, each as its difference to the one before; from `head` to `tail`.
    bytes: Box<[u8]>,
    head: u32,
    tail: u32,
    count: u32,
    /// Acknowledged bytes of the first.
    cut: u32,
    first: Entry,
    last: Entry,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    start: u32,
    len: u32,
    at: i64,
    stamp: u32,
    ip_id: u16,
}

compact!(Entry { start, len, at, stamp, ip_id });

/// A control byte, then time, length, number and stamp as it says, each at most four bytes.
const LONGEST: usize = 1 + 4 + 4 + 2 + 4;
const STEP: usize = 48;

/// The control byte: how many bytes the time takes, less one; then two bits for each of the others.
const TIME: u8 = 3;
const LEN_SAME: u8 = 0;
const LEN_SHORT: u8 = 1 << 2;
const LEN_LONG: u8 = 2 << 2;
const LEN: u8 = 3 << 2;
const ID_NEXT: u8 = 0;
const ID_SAME: u8 = 1 << 4;
const ID_OTHER: u8 = 2 << 4;
const ID: u8 = 3 << 4;
const STAMP_SAME: u8 = 0;
const STAMP_NEXT: u8 = 1 << 6;
const STAMP_NEAR: u8 = 2 << 6;
const STAMP_OTHER: u8 = 3 << 6;
const STAMP: u8 = 3 << 6;

impl Compact for Packed {
    fn encode(&self, to: &mut Writer) {
        self.count.encode(to);
        if self.count > 0 {
            (self.cut, self.first).encode(to);
            (self.last, self.tail - self.head).encode(to);
            to.bytes(&self.bytes[self.head as usize..self.tail as usize]);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Packed {
        let count = u32::decode(from);
        if count == 0 {
            return Packed::default();
        }
        let (cut, first) = <(u32, Entry)>::decode(from);
        let (last, tail) = <(Entry, u32)>::decode(from);
        let mut bytes = vec![0; tail as usize + LONGEST].into_boxed_slice();
        bytes[..tail as usize].copy_from_slice(from.bytes(tail as usize));
        Packed { bytes, head: 0, tail, count, cut, first, last }
    }
}

impl Entry {
    fn of(sent: &Sent) -> Entry {
        Entry { start: sent.start, len: sent.len, at: sent.first_at, stamp: sent.stamp, ip_id: sent.ip_id }
    }
}

impl Packed {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    pub fn first(&self) -> Option<Sent> {
        (self.count > 0).then(|| self.front())
    }

    #[inline]
    fn front(&self) -> Sent {
        let e = &self.first;
        Sent {
            start: e.start.wrapping_add(self.cut),
            len: e.len - self.cut,
            first_at: e.at,
            last_at: e.at,
            stamp: e.stamp,
            ip_id: e.ip_id,
            times: 1,
            sacked: false,
        }
    }

    /// False if this cannot be packed: it does not follow the last one, or not within four seconds.
    #[inline]
    pub fn push(&mut self, sent: &Sent) -> bool {
        let entry = Entry::of(sent);
        if self.count == 0 {
            (self.first, self.last, self.count) = (entry, entry, 1);
            (self.head, self.tail, self.cut) = (0, 0, 0);
            return true;
        }
        let Ok(after) = u32::try_from(entry.at - self.last.at) else { return false };
        if entry.start != self.last.start.wrapping_add(self.last.len) {
            return false;
        }
        if self.bytes.len() < self.tail as usize + LONGEST {
            self.make_room();
        }
        self.write(&entry, after);
        (self.last, self.count) = (entry, self.count + 1);
        true
    }

    #[inline]
    fn write(&mut self, entry: &Entry, after: u32) {
        let last = &self.last;
        let Some(room) = self.bytes.get_mut(self.tail as usize..).and_then(|b| b.first_chunk_mut::<LONGEST>()) else { return };
        let time_bytes = (4 - after.leading_zeros() as usize / 8).max(1);
        room[1..5].copy_from_slice(&after.to_le_bytes());
        let (mut control, mut n) = (time_bytes as u8 - 1, 1 + time_bytes);
        if entry.len != last.len {
            if let Ok(short) = u16::try_from(entry.len) {
                room[n..n + 2].copy_from_slice(&short.to_le_bytes());
                (control, n) = (control | LEN_SHORT, n + 2);
            } else {
                room[n..n + 4].copy_from_slice(&entry.len.to_le_bytes());
                (control, n) = (control | LEN_LONG, n + 4);
            }
        }
        if entry.ip_id == last.ip_id {
            control |= ID_SAME;
        } else if entry.ip_id != last.ip_id.wrapping_add(1) {
            room[n..n + 2].copy_from_slice(&entry.ip_id.to_le_bytes());
            (control, n) = (control | ID_OTHER, n + 2);
        }
        match entry.stamp.wrapping_sub(last.stamp) {
            0 => {}
            1 => control |= STAMP_NEXT,
            near @ 2..=255 => {
                room[n] = near as u8;
                (control, n) = (control | STAMP_NEAR, n + 1);
            }
            _ => {
                room[n..n + 4].copy_from_slice(&entry.stamp.to_le_bytes());
                (control, n) = (control | STAMP_OTHER, n + 4);
            }
        }
        room[0] = control;
        self.tail += n as u32;
    }

    /// Takes the first one off.
    #[inline]
    pub fn pop(&mut self) -> Option<Sent> {
        let sent = self.first()?;
        self.count -= 1;
        self.cut = 0;
        if self.count > 0 {
            self.read();
        }
        Some(sent)
    }

    /// The next entry becomes the first.
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
        match control & STAMP {
            STAMP_SAME => {}
            STAMP_NEXT => e.stamp = e.stamp.wrapping_add(1),
            STAMP_NEAR => (e.stamp, n) = (e.stamp.wrapping_add(u32::from(b[n])), n + 1),
            _ => (e.stamp, n) = (word(n), n + 4),
        }
        self.head += n as u32;
    }

    /// Takes the first one off, if `ack` covers all of it; cuts it if it covers a part.
    #[inline]
    pub fn acknowledged(&mut self, ack: u32) -> Option<Sent> {
        if self.count == 0 {
            return None;
        }
        if !before(ack, self.first.start.wrapping_add(self.first.len)) {
            return self.pop();
        }
        self.cut = self.cut.max(ahead(self.first.start, ack).max(0) as u32);
        None
    }

    /// Moves what there is to the front; a quarter more where that does not free a quarter.
    #[cold]
    fn make_room(&mut self) {
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

    /// Gives memory back when all is acknowledged.
    #[inline]
    pub fn shrink(&mut self) {
        if self.count == 0 && self.bytes.len() > 2 * STEP {
            self.bytes = Box::default();
        }
    }

    /// Bytes held beside itself.
    pub fn memory(&self) -> usize {
        self.bytes.len()
    }
}
