//! The two ends of a train. The sender schedules the datagrams and logs when each was sent; the
//! receiver logs each arrival.

use super::packet::{DatagramHeader, HEADER_BYTES, filler};
use crate::control::table::IntTable;
use crate::test_spec::{IPV4_UDP_HEADERS, Train};
use crate::{MS, Nanos, SECOND};

/// Maximum delay that a late sender catches up. A longer catch-up overflows queues that the
/// requested rate never fills.
const MAX_CATCH_UP_NS: Nanos = 10_000_000;
/// A train ends, with unsent datagrams, after its duration and an overrun: half the duration plus
/// this, up to the maximum.
const OVERRUN_NS: Nanos = SECOND;
const MAX_OVERRUN_NS: Nanos = 20 * SECOND;
/// Delays below this are attributed to the machine, not to the rate budget.
const MIN_HELD_NS: Nanos = MS;
/// Columns of both logs: sequence number, time.
const COLUMNS: usize = 2;

pub struct TrainSender {
    train: Train,
    tag: u64,
    start: Option<Nanos>,
    /// End of the train, with or without unsent datagrams.
    end: Nanos,
    next: u32,
    last: Nanos,
    datagram: Vec<u8>,
    pub sent: IntTable,
    /// Datagrams that sendto rejected, or that were unsent at the end.
    pub unsent: u64,
    /// The due datagram waits for the rate budget.
    is_held: bool,
    /// Datagrams delayed by the rate budget.
    pub held: u64,
}

impl TrainSender {
    pub fn new(train: Train, tag: u64) -> TrainSender {
        let datagram = filler((train.payload as usize).max(HEADER_BYTES));
        TrainSender {
            train,
            tag,
            start: None,
            end: Nanos::MAX,
            next: 0,
            last: Nanos::MIN,
            datagram,
            sent: IntTable::new(COLUMNS),
            unsent: 0,
            is_held: false,
            held: 0,
        }
    }

    pub fn start(&mut self, now: Nanos) {
        if self.start.is_none() {
            let overrun = (OVERRUN_NS + self.train.duration() / 2).min(MAX_OVERRUN_NS);
            (self.start, self.end) = (Some(now), now.saturating_add(self.train.duration()).saturating_add(overrun));
        }
    }

    /// Bytes of IP of the next datagram.
    pub fn wire_bytes(&self) -> u64 {
        u64::from(self.train.payload + IPV4_UDP_HEADERS)
    }

    /// Marks the due datagram as delayed by the rate budget.
    pub fn mark_held(&mut self) {
        self.is_held = true;
    }

    /// Counts the remaining datagrams as unsent after the end.
    pub fn tick(&mut self, now: Nanos) {
        if now >= self.end && !self.is_done() {
            self.unsent += u64::from(self.train.count - self.next);
            self.next = self.train.count;
        }
    }

    fn planned(&self) -> Option<Nanos> {
        self.start.map(|start| start.saturating_add(self.train.gap_ns.saturating_mul(i64::from(self.next))))
    }

    /// Time of the next datagram; none before the start and after the last. A late sender catches
    /// up at twice the rate at most: a burst would measure the burst.
    pub fn due(&self) -> Option<Nanos> {
        let planned = self.planned()?;
        (!self.is_done()).then(|| planned.max(self.last.saturating_add(self.train.gap_ns / 2)).min(self.end))
    }

    pub fn is_done(&self) -> bool {
        self.next >= self.train.count
    }

    /// The next datagram, with its sending time.
    pub fn datagram(&mut self, now: Nanos) -> &[u8] {
        DatagramHeader { tag: self.tag, number: self.next, at: now }.write(&mut self.datagram);
        &self.datagram
    }

    /// Logs the datagram, or counts it as unsent if sendto rejected it.
    pub fn on_sent(&mut self, now: Nanos, taken: bool) {
        if taken {
            self.sent.push(&[i64::from(self.next), now]);
        } else {
            self.unsent += 1;
        }
        let late = self.planned().map_or(0, |planned| now.saturating_sub(planned));
        self.held += u64::from(std::mem::take(&mut self.is_held) && late >= MIN_HELD_NS);
        if let Some(start) = &mut self.start {
            *start += (late - MAX_CATCH_UP_NS).max(0);
        }
        self.next += 1;
        self.last = now;
    }
}

pub struct TrainReceiver {
    train: Train,
    pub received: IntTable,
    /// Last arrival.
    pub last: Option<Nanos>,
    /// Datagrams above the train's size, such as copies made by the network.
    pub unexpected: u64,
}

impl TrainReceiver {
    pub fn new(train: Train) -> TrainReceiver {
        TrainReceiver { train, received: IntTable::new(COLUMNS), last: None, unexpected: 0 }
    }

    /// Logs an arrival. False if the datagram is not part of the requested train: it is counted in
    /// `unexpected` and does not postpone the end.
    pub fn on_datagram(&mut self, head: &DatagramHeader, now: Nanos) -> bool {
        let is_planned = head.number < self.train.count && self.received.len() < self.max_rows();
        if is_planned {
            self.last = Some(now);
            self.received.push(&[i64::from(head.number), now]);
        } else {
            self.unexpected += 1;
        }
        is_planned
    }

    /// Maximum rows of the log: each datagram and one copy.
    pub fn max_rows(&self) -> usize {
        self.train.count as usize * 2
    }

    pub fn has_all(&self) -> bool {
        self.received.len() >= self.train.count as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MS;

    #[test]
    fn train_catches_up_without_a_burst_when_the_sender_was_late() {
        let mut train = TrainSender::new(Train { payload: 100, gap_ns: 10 * MS, count: 6 }, 1);
        assert_eq!(train.due(), None);
        train.start(5 * MS);
        let mut sent_ms = Vec::new();
        while let Some(due) = train.due() {
            // The sender sleeps from 15 to 40 ms.
            let now = if (16 * MS..40 * MS).contains(&due) { 40 * MS } else { due };
            assert_eq!(train.datagram(now).len(), 100);
            train.on_sent(now, true);
            sent_ms.push(now / MS);
        }
        // 15 ms late at 40 ms, of which 10 ms are caught up.
        assert_eq!(sent_ms, [5, 15, 40, 45, 50, 60]);
        assert!(train.is_done());
        assert_eq!(train.sent.len(), 6);
    }

    // finding("S1")
    #[test]
    fn train_ends_at_its_time_when_the_machine_cannot_keep_its_pace() {
        let train = Train { payload: 20, gap_ns: 1000, count: 1_900_000 };
        let mut out = TrainSender::new(train, 1);
        out.start(0);
        let mut now = 0;
        while out.due().is_some_and(|due| due <= now || !out.is_done()) {
            out.tick(now);
            if out.is_done() {
                break;
            }
            out.on_sent(now, true);
            // Each system call takes ten times the gap.
            now += 10_000;
        }
        assert!(now <= train.duration() * 3 / 2 + SECOND + 10_000, "{now} ns");
        assert_eq!(out.sent.len() as u64 + out.unsent, 1_900_000);
    }

    #[test]
    fn log_is_bounded_when_datagrams_with_the_right_tag_flood() {
        let mut incoming = TrainReceiver::new(Train { payload: 20, gap_ns: MS, count: 3 });
        for number in [0, 1, 1, 2, 2, 2, 2, 9] {
            incoming.on_datagram(&DatagramHeader { tag: 0, number, at: 0 }, 0);
        }
        assert_eq!((incoming.received.len(), incoming.unexpected), (6, 2));
    }

    // finding("S2")
    #[test]
    fn train_ends_and_is_charged_no_more_when_datagrams_beyond_its_plan_arrive() {
        let mut incoming = TrainReceiver::new(Train { payload: 20, gap_ns: MS, count: 3 });
        let charged =
            (0..1000).filter(|i| incoming.on_datagram(&DatagramHeader { tag: 0, number: i % 3, at: 0 }, i64::from(*i))).count();
        assert_eq!((charged, incoming.last), (6, Some(5)));
    }
}
