//! Whether the figures can be believed: how exactly packets were released, how late they were taken in, and what was lost that no link
//! asked to lose.

use ackclock_core::statistics::{Histogram, SummaryStats};
use ackclock_core::{Span, Time};

/// At most this share of releases may miss the deadline.
const MISSES_ALLOWED: f64 = 1e-3;

#[derive(Debug, Clone, Default)]
pub struct Audit {
    deadline: Span,
    release: Histogram,
    input: Histogram,
    misses: u64,
    /// Packets that the kernel or a full ring dropped on their way in or out.
    unintended: u64,
    /// Longer than any packet that the interfaces carry.
    oversized: u64,
}

impl Audit {
    pub fn new(deadline: Span) -> Audit {
        Audit { deadline, ..Audit::default() }
    }

    /// A packet planned for `planned` left at `actual`.
    pub fn released(&mut self, planned: Time, actual: Time) {
        let error = actual - planned;
        self.release.add(error);
        self.misses += u64::from(error > self.deadline);
    }

    /// A packet that arrived at `arrived` could only be taken in when the network was already at `network`.
    pub fn taken_in(&mut self, arrived: Time, network: Time) {
        self.input.add(network - arrived);
    }

    /// Takes another's counts in.
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

    pub fn too_long(&mut self) {
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

    /// Why this run is no measurement of its link; empty when it is one.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let released = self.release.count();
        if self.misses as f64 > MISSES_ALLOWED * released as f64 {
            faults.push(format!(
                "{} of {released} packets left more than {:.0} us late: this machine, not the link, set their time",
                self.misses,
                self.deadline.as_millis() * 1e3
            ));
        }
        if self.unintended > 0 {
            faults.push(format!("{} packets were lost between the hosts and the link, which no link asked for", self.unintended));
        }
        if self.oversized > 0 {
            faults.push(format!("{} of them were longer than 1500 B: the hosts' offloads are on", self.oversized));
        }
        faults
    }
}

/// An audit for each live client, and one for what concerns them all.
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

    /// Each client's with what concerns all.
    pub fn each(&self) -> impl Iterator<Item = Audit> + '_ {
        self.clients.iter().map(|own| {
            let mut audit = own.clone();
            audit.merge(&self.common);
            audit
        })
    }

    /// All together.
    pub fn whole(&self) -> Audit {
        let mut whole = self.common.clone();
        self.clients.iter().for_each(|client| whole.merge(client));
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_late_packet_in_a_thousand_is_forgiven_and_two_are_not() {
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
    fn a_lost_packet_makes_a_run_invalid() {
        let mut audit = Audit::new(Span::from_ms(1));
        audit.lost(1);
        assert!(audit.faults()[0].contains("1 packets were lost"));
    }
}
