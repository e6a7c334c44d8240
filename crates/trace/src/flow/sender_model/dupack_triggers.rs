//! Third duplicate ACKs on their way to a remote sender. They trigger a retransmission even if the
//! gap is filled meanwhile.

use super::super::rules::{RULES, share_of};
use super::super::seq::seq_lt;
use crate::compact::{Compact, Reader, Writer, compact};

/// A third duplicate ACK: the segment that it asks for, and when it passed.
#[derive(Debug, Clone, Copy)]
struct Trigger {
    seq: u32,
    /// An `i64` would be aligned to eight bytes, and a trigger would take 16.
    at: [u8; 8],
}

const _: () = assert!(size_of::<Trigger>() == 12);

impl Trigger {
    fn new(seq: u32, at: i64) -> Trigger {
        Trigger { seq, at: at.to_ne_bytes() }
    }

    fn at(&self) -> i64 {
        i64::from_ne_bytes(self.at)
    }
}

impl Compact for Trigger {
    fn encode(&self, to: &mut Writer) {
        self.seq.encode(to);
        self.at().encode(to);
    }

    fn decode(from: &mut Reader<'_>) -> Trigger {
        let seq = u32::decode(from);
        Trigger::new(seq, i64::decode(from))
    }
}

/// The last triggers, in the order of time.
#[derive(Debug, Default)]
pub struct DupackTriggers {
    triggers: Vec<Trigger>,
    /// A trigger was answered: what is retransmitted below `recovery_high` until `recovery_until`
    /// belongs to the same recovery.
    recovery_high: u32,
    recovery_until: i64,
}

compact!(DupackTriggers { triggers, recovery_high, recovery_until });

/// Maximum number of triggers: as many as reordering causes in an RTT.
const MAX_TRIGGERS: usize = 16;

impl DupackTriggers {
    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.triggers.capacity() * size_of::<Trigger>()
    }

    pub fn add(&mut self, seq: u32, at: i64) {
        if self.triggers.len() == MAX_TRIGGERS {
            self.triggers.remove(0);
        }
        if self.triggers.len() == self.triggers.capacity() {
            let more = 1 + self.triggers.len() / 2;
            self.triggers.reserve_exact(more.min(MAX_TRIGGERS - self.triggers.len()));
        }
        self.triggers.push(Trigger::new(seq, at));
    }

    /// A third duplicate ACK asked for the segment at `seq`.
    pub fn asks_for(&self, seq: u32) -> bool {
        self.triggers.iter().any(|trigger| trigger.seq == seq)
    }

    /// The segment at `seq` passes at `now` as the answer to a trigger, or in the recovery that the
    /// answer began. Remote RTTs are the minimum and the maximum.
    pub fn explains(&self, seq: u32, now: i64, (min_rtt, max_rtt): (i64, i64)) -> bool {
        let answers = |trigger: &Trigger| {
            trigger.seq == seq
                && now - trigger.at() >= share_of(min_rtt, RULES.trigger_window.0)
                && now - trigger.at() <= max_rtt * RULES.late_trigger_rtts + RULES.queue_slack
        };
        now < self.recovery_until && seq_lt(seq, self.recovery_high) || self.triggers.iter().any(answers)
    }

    /// A trigger was answered.
    pub fn begin_recovery(&mut self, high: u32, now: i64, max_rtt: i64) {
        (self.recovery_high, self.recovery_until) = (high, now + max_rtt * RULES.late_recovery_rtts + RULES.queue_slack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn trigger_explains_a_retransmission_when_it_passes_a_remote_rtt_later() {
        let mut triggers = DupackTriggers::default();
        triggers.add(1000, 0);
        let rtts = (50 * MS, 80 * MS);
        assert!(!triggers.explains(1000, 44 * MS, rtts));
        assert!(triggers.explains(1000, 45 * MS, rtts) && triggers.explains(1000, 340 * MS, rtts));
        assert!(!triggers.explains(1000, 341 * MS, rtts) && !triggers.explains(2000, 45 * MS, rtts));
        triggers.begin_recovery(5000, 45 * MS, 80 * MS);
        assert!(triggers.explains(2000, 304 * MS, rtts) && !triggers.explains(5000, 304 * MS, rtts));
        assert!(!triggers.explains(2000, 305 * MS, rtts));
    }
}
