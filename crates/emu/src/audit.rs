//! The audit of an emulation: release error, input lateness, and packets lost outside the network's
//! elements. It and the bound of a replay decide the grade.

use crate::grade::{self, Bound, Evidence};
use crate::link_delay::LinkDelay;
use crate::replay::{EnteredPacket, ReleaseReplay, ReleasedPacket};
use ackclock_core::Span;
use ackclock_core::statistics::{Histogram, SummaryStats};

#[derive(Debug, Clone, Default)]
pub struct Audit {
    release: Histogram,
    input: Histogram,
    late: u64,
    /// Packets dropped between hosts and network: by the kernel or by a full RX ring.
    unintended: u64,
    /// Packets longer than the MTU.
    oversized: u64,
}

impl Audit {
    /// Counts a packet that was released `error` after its due time, and may be late by `tolerance`.
    fn released(&mut self, error: Span, tolerance: Span) {
        self.release.add(error);
        self.late += u64::from(error > tolerance);
    }

    /// Adds the counts of another audit.
    pub fn merge(&mut self, other: &Audit) {
        self.release.merge(&other.release);
        self.input.merge(&other.input);
        self.late += other.late;
        self.unintended += other.unintended;
        self.oversized += other.oversized;
    }

    pub fn lost(&mut self, packets: u64) {
        self.unintended += packets;
    }

    pub fn oversized(&mut self) {
        self.oversized += 1;
        self.unintended += 1;
    }

    pub fn late(&self) -> u64 {
        self.late
    }
    pub fn unintended(&self) -> u64 {
        self.unintended
    }
    /// In microseconds.
    pub fn release_error(&self) -> SummaryStats {
        self.release.summary_ms().scaled(1e3)
    }
    /// In microseconds.
    pub fn input_lateness(&self) -> SummaryStats {
        self.input.summary_ms().scaled(1e3)
    }

    /// What the grade follows from, with the bound of a replay.
    pub fn evidence(&self, bound: Bound) -> Evidence {
        let [release, input] = [&self.release, &self.input].map(|histogram| histogram.max().unwrap_or(Span::ZERO));
        Evidence {
            released: self.release.count(),
            late: self.late,
            unintended_drops: self.unintended,
            oversized: self.oversized,
            max_lateness: release.max(input),
            bound,
        }
    }
}

/// When a packet is late.
#[derive(Debug, Clone, Copy)]
pub enum LateAfter {
    /// A fixed time after its due time.
    Deadline(Span),
    /// By the link, and the 99th percentile of the machine's timer error.
    Link { timer_p99: Span },
}

/// An audit per live client with a replay of its packets, and one for faults that concern all
/// clients.
#[derive(Debug)]
pub struct Audits {
    clients: Vec<Audit>,
    common: Audit,
    late_after: LateAfter,
    replay: ReleaseReplay,
}

impl Audits {
    /// `paths`: of each client, to the client and to the server.
    pub fn new(paths: Vec<[LinkDelay; 2]>, late_after: LateAfter) -> Audits {
        let clients = vec![Audit::default(); paths.len()];
        Audits { clients, common: Audit::default(), late_after, replay: ReleaseReplay::new(paths) }
    }

    /// The audit of a client; the common one for none.
    #[inline]
    pub fn of(&mut self, client: Option<u32>) -> &mut Audit {
        client.and_then(|client| self.clients.get_mut(client as usize)).unwrap_or(&mut self.common)
    }

    pub fn common(&mut self) -> &mut Audit {
        &mut self.common
    }

    /// Counts a packet that has entered the network.
    #[inline]
    pub fn entered(&mut self, packet: &EnteredPacket) {
        self.of(Some(packet.client)).input.add(packet.lateness);
        self.replay.entered(packet);
    }

    /// Counts a packet that was released to the client, or from it to the server.
    #[inline]
    pub fn released(&mut self, packet: &ReleasedPacket, client: u32, to_client: bool) {
        let tolerance = match self.late_after {
            LateAfter::Deadline(deadline) => deadline,
            LateAfter::Link { timer_p99 } => {
                grade::tolerance(self.replay.added_by_link(client, to_client, packet.bytes), timer_p99)
            }
        };
        self.of(Some(client)).released(packet.actual - packet.due, tolerance);
        self.replay.released(packet);
    }

    /// Each client's audit with the common faults, and its bound.
    pub fn each(&self) -> impl Iterator<Item = (Audit, Bound)> + '_ {
        self.clients.iter().zip(self.replay.bounds()).map(|(client, bound)| {
            let mut audit = client.clone();
            audit.merge(&self.common);
            (audit, bound)
        })
    }

    /// The sum of all audits, and the largest bound.
    pub fn total(&self) -> (Audit, Bound) {
        let mut total = self.common.clone();
        self.clients.iter().for_each(|client| total.merge(client));
        (total, self.replay.bounds().into_iter().fold(Bound::default(), Bound::or_larger))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::Grade;
    use ackclock_core::Time;

    fn audits(late_after: LateAfter) -> Audits {
        Audits::new(vec![[LinkDelay::default(); 2]], late_after)
    }

    fn release(audits: &mut Audits, lateness: Span, packets: u64) {
        let due = Time::ZERO + Span::from_ms(1);
        let packet = ReleasedPacket { id: 0, due, actual: due + lateness, bytes: 1500 };
        (0..packets).for_each(|_| audits.released(&packet, 0, true));
    }

    fn grade(audits: &Audits) -> Grade {
        let (audit, bound) = audits.total();
        audit.evidence(bound).grade()
    }

    // finding("L9")
    #[test]
    fn packet_is_late_by_the_timers_error_when_the_link_adds_nothing() {
        let mut audits = audits(LateAfter::Link { timer_p99: Span::from_us(60) });
        release(&mut audits, Span::from_us(60), 999);
        assert_eq!(audits.total().0.late(), 0);
        release(&mut audits, Span::from_us(61), 1);
        assert_eq!((audits.total().0.late(), grade(&audits)), (1, Grade::Exact));
        release(&mut audits, Span::from_us(61), 1);
        assert_eq!(grade(&audits), Grade::Usable);
    }

    #[test]
    fn packet_is_late_after_the_deadline_when_there_is_one() {
        let mut audits = audits(LateAfter::Deadline(Span::from_us(10)));
        release(&mut audits, Span::from_us(11), 1);
        assert_eq!(audits.total().0.late(), 1);
    }

    #[test]
    fn run_is_invalid_for_every_client_when_a_packet_is_lost_in_common() {
        let mut audits = audits(LateAfter::Deadline(Span::from_ms(1)));
        audits.common().lost(1);
        let (audit, bound) = audits.each().next().unwrap();
        assert_eq!(audit.evidence(bound).grade(), Grade::Invalid);
        assert!(audit.evidence(bound).why().contains("1 packets were lost"));
        audits.common().oversized();
        let (audit, bound) = audits.total();
        assert!(audit.evidence(bound).why().contains("1 of them were longer than 1500 B"));
    }
}
