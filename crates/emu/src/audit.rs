//! The audit of an emulation: release error, input lateness, and packets lost outside the network's
//! elements. It decides whether the results are valid.

use ackclock_core::statistics::{Histogram, SummaryStats};
use ackclock_core::{Span, Time};

/// Maximum share of packets that may miss the deadline in a valid run.
const MAX_MISS_SHARE: f64 = 1e-3;

#[derive(Debug, Clone, Default)]
pub struct Audit {
    deadline: Span,
    release: Histogram,
    input: Histogram,
    misses: u64,
    /// Packets dropped between hosts and network: by the kernel or by a full RX ring.
    unintended: u64,
    /// Packets longer than the MTU.
    oversized: u64,
}

impl Audit {
    pub fn new(deadline: Span) -> Audit {
        Audit { deadline, ..Audit::default() }
    }

    /// Counts a packet with planned release time `planned` that was sent at `actual`.
    pub fn released(&mut self, planned: Time, actual: Time) {
        let error = actual - planned;
        self.release.add(error);
        self.misses += u64::from(error > self.deadline);
    }

    /// Counts a packet received at `received` that entered the network at network time `entered`.
    pub fn injected(&mut self, received: Time, entered: Time) {
        self.input.add(entered - received);
    }

    /// Adds the counts of another audit.
    pub fn merge(&mut self, other: &Audit) {
        self.release.merge(&other.release);
        self.input.merge(&other.input);
        self.misses += other.misses;
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

    pub fn misses(&self) -> u64 {
        self.misses
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

    /// Why the run is invalid, one sentence per fault; empty if it is valid.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let released = self.release.count();
        if self.misses as f64 > MAX_MISS_SHARE * released as f64 {
            faults.push(format!(
                "{} of {released} packets left more than {:.0} us late: this machine, not the link, set their time",
                self.misses,
                self.deadline.as_millis() * 1e3
            ));
        }
        if self.unintended > 0 {
            faults.push(format!("{} packets were lost between the hosts and the link", self.unintended));
        }
        if self.oversized > 0 {
            faults.push(format!("{} of them were longer than 1500 B: the hosts' offloads are on", self.oversized));
        }
        faults
    }
}

/// An audit per live client, and one for faults that concern all clients.
#[derive(Debug)]
pub struct Audits {
    clients: Vec<Audit>,
    common: Audit,
}

impl Audits {
    pub fn new(clients: usize, deadline: Span) -> Audits {
        Audits { clients: vec![Audit::new(deadline); clients], common: Audit::new(deadline) }
    }

    #[inline]
    pub fn of_client(&mut self, client: u32) -> &mut Audit {
        self.clients.get_mut(client as usize).unwrap_or(&mut self.common)
    }

    pub fn common(&mut self) -> &mut Audit {
        &mut self.common
    }

    /// Each client's audit with the common faults.
    pub fn each(&self) -> impl Iterator<Item = Audit> + '_ {
        self.clients.iter().map(|client| {
            let mut audit = client.clone();
            audit.merge(&self.common);
            audit
        })
    }

    /// The sum of all audits.
    pub fn total(&self) -> Audit {
        let mut total = self.common.clone();
        self.clients.iter().for_each(|client| total.merge(client));
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_is_invalid_when_more_than_one_packet_in_a_thousand_is_late() {
        let mut audit = Audit::new(Span::from_ms(1));
        for _ in 0..999 {
            audit.released(Time::ZERO, Time::ZERO + Span::from_us(10));
        }
        audit.released(Time::ZERO, Time::ZERO + Span::from_ms(2));
        assert!(audit.faults().is_empty());
        audit.released(Time::ZERO, Time::ZERO + Span::from_ms(2));
        assert_eq!(audit.faults().len(), 1);
    }

    #[test]
    fn run_is_invalid_when_a_packet_is_lost() {
        let mut audit = Audit::new(Span::from_ms(1));
        audit.lost(1);
        assert!(audit.faults()[0].contains("1 packets were lost"));
    }
}
