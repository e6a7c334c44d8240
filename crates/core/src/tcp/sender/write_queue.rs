//! What waits to be sent, in the packets that Linux makes of it (`tcp_sendmsg_locked()`): their ends
//! say where a burst may end and which segments carry PSH.

use std::collections::VecDeque;

/// Longer writes are divided as they are sent, this many bytes ahead of the next segment.
const DIVIDED_AHEAD: u64 = 1 << 18;
const DIVIDED_AT_ONCE: u64 = 1 << 20;

/// A packet that waits. It begins where the one before it ends, or at snd.nxt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WaitingPacket {
    end: u64,
    /// Its last byte carries PSH.
    push: bool,
}

/// How an application's data is divided.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// Maximum of bytes in a packet: whole segments.
    pub size_goal: u64,
    /// After more than this many bytes without PSH a packet carries it: half of the largest window.
    pub push_after: u64,
    /// The write had MSG_MORE.
    pub more: bool,
}

/// What is sent while the application's data is being divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushes {
    /// Nothing: packets before it wait.
    Nothing,
    /// The packet that is full, one burst of it (`tcp_push_one()`).
    One,
    /// Everything, whatever Nagle's algorithm says: much has been written without PSH.
    Forced,
    /// Everything that waits (`__tcp_push_pending_frames()`).
    All,
}

/// The packet that is sent next, as far as windows and host allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextPacket {
    pub end: u64,
    pub push: bool,
    /// No other packet waits behind it.
    pub last: bool,
}

/// The packet that is being sent, segment by segment at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstPlan {
    pub end: u64,
    /// PSH of its last segment, and whether the application's write set it.
    pub push: bool,
    pub written_push: bool,
    pub fin: bool,
    /// Payload of its full segments.
    pub segment: u32,
}

#[derive(Clone, Debug)]
pub struct WriteQueue {
    waiting: VecDeque<WaitingPacket>,
    write_seq: u64,
    /// `write_seq` at the last PSH.
    pushed_seq: u64,
    pub burst: BurstPlan,
    /// A write is divided in part.
    mid_write: bool,
    /// What the division so far lets go.
    pub pushes: Pushes,
    /// The last write had MSG_MORE, and nothing has happened since.
    pub holds_more: bool,
}

impl WriteQueue {
    /// `start` is the first sequence number of the stream.
    pub fn new(start: u64) -> WriteQueue {
        WriteQueue {
            waiting: VecDeque::new(),
            write_seq: start,
            pushed_seq: start,
            burst: BurstPlan { end: start, ..BurstPlan::default() },
            mid_write: false,
            pushes: Pushes::All,
            holds_more: false,
        }
    }

    /// The application's data up to `written` needs dividing; `next` is snd.nxt.
    #[inline]
    pub fn is_behind(&self, written: u64, next: u64) -> bool {
        written > self.write_seq && (self.write_seq < next + DIVIDED_AHEAD || written - self.write_seq <= DIVIDED_AT_ONCE)
    }

    /// All data up to `written` is divided, or sent.
    #[inline]
    pub fn holds_all(&self, written: u64) -> bool {
        written <= self.write_seq
    }

    /// Divides the data up to `written` as far as the end of the next full packet
    /// (`tcp_sendmsg_locked()`, `forced_push()`, `tcp_push()`).
    pub fn divide(&mut self, written: u64, next: u64, division: Division) {
        self.drop_sent(next);
        let goal = division.size_goal.max(1);
        let start = self.waiting.len().checked_sub(2).and_then(|at| self.waiting.get(at)).map_or(next, |before| before.end);
        let room = self.waiting.back().map_or(0, |last| goal.saturating_sub(last.end - start));
        let start = if room == 0 { self.write_seq } else { start };
        let end = written.min(start + goal);
        let continues = std::mem::replace(&mut self.mid_write, end < written);
        if room == 0 {
            self.waiting.push_back(WaitingPacket { end, push: false });
        } else if let Some(last) = self.waiting.back_mut().filter(|_| !continues) {
            // Another write goes on with the last packet, which then is not the end of what is written.
            last.push = false;
        }
        self.write_seq = end;
        let forced = end > self.pushed_seq + division.push_after;
        let ends = end == written;
        self.pushes = match self.waiting.len() {
            _ if ends => Pushes::All,
            _ if forced => Pushes::Forced,
            1 => Pushes::One,
            _ => Pushes::Nothing,
        };
        let push = forced || (ends && !division.more);
        if push {
            self.pushed_seq = end;
        }
        if let Some(last) = self.waiting.back_mut() {
            last.end = end;
            last.push |= push;
        }
        self.holds_more = ends && division.more;
    }

    /// Everything below `next` has been sent.
    #[inline]
    pub fn drop_sent(&mut self, next: u64) {
        while self.waiting.front().is_some_and(|packet| packet.end <= next) {
            self.waiting.pop_front();
        }
    }

    /// End of the first packet that waits.
    pub fn first_end(&self, next: u64) -> Option<u64> {
        self.waiting.iter().map(|packet| packet.end).find(|&end| end > next)
    }

    /// The first packet from `next` on.
    #[inline]
    pub fn next_packet(&self, next: u64) -> Option<NextPacket> {
        let mut waiting = self.waiting.iter().skip_while(|packet| packet.end <= next);
        let WaitingPacket { end, push } = *waiting.next()?;
        Some(NextPacket { end, push, last: waiting.next().is_none() })
    }

    /// The first packet takes data of the second, up to `wanted` bytes (`tcp_grow_skb()`).
    #[inline]
    pub fn grow_first(&mut self, next: u64, wanted: u64) {
        self.drop_sent(next);
        let mut waiting = self.waiting.iter_mut();
        let (Some(first), Some(second)) = (waiting.next(), waiting.next()) else { return };
        let missing = wanted.saturating_sub(first.end - next);
        if missing == 0 {
            return;
        }
        first.end += missing.min(second.end - first.end);
        if first.end == second.end {
            first.push |= second.push;
            self.waiting.remove(1);
        }
    }

    /// A probe sends the first bytes of the first packet, which counts as pushed
    /// (`tcp_write_wakeup()`).
    pub fn begin_probe(&mut self, next: u64, burst: BurstPlan) {
        self.pushed_seq = self.pushed_seq.max(self.first_end(next).unwrap_or(0));
        self.drop_sent(next);
        self.burst = burst;
    }

    /// A burst of the first packet begins.
    #[inline]
    pub fn begin(&mut self, next: u64, burst: BurstPlan) {
        self.drop_sent(next);
        self.burst = burst;
    }
}
