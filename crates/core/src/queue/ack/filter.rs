//! ACK filtering (`asymmetry`, section on ACK filtering; RFC 3449, section 5.2.1): an ACK that comes takes older ones of its
//! connection out of the queue, as it says all that they say.
//!
//! Which of them it may take is the filter's rule. The paper's is `p1`: all with a lower number. The default keeps every ACK whose loss could
//! be felt: one that says another window, brings SACK blocks, echoes congestion, or is a duplicate. SYN, FIN, RST and data are never taken.

use super::last_ack::{AckDelta, LastAckTable, ecn_bits, within};
use crate::element::{DropReason, Output};
use crate::packet::{Packet, SackBlocks};
use crate::queue::{Fifo, QueuedPacket};
use crate::rng::Rng;
use crate::view::{TcpEdit, TcpView, after};

#[derive(Clone, Copy, Debug)]
pub struct AckFilterConfig {
    /// ACKs of a connection that stay, the one that comes included.
    pub keep: u32,
    /// Nothing is taken out while fewer packets wait.
    pub occupancy: u64,
    /// The chance of each that may go to go.
    pub probability: f64,
    pub survivor: Survivor,
    /// Keeps ACKs that announce another window than the one before them or the survivor.
    pub window: bool,
    pub sack: SackGuard,
    /// Keeps ACKs whose echoes of congestion differ from the survivor's or from those before them, and ones with options that nobody here knows.
    pub ecn_bits: bool,
    pub duplicates: Duplicates,
}

/// Where the ACK that comes is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survivor {
    Tail,
    /// In the place of the oldest that it takes out.
    Head,
}

/// Which ACKs with SACK blocks may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackGuard {
    /// All.
    Off,
    /// Those whose blocks the survivor reports or acknowledges.
    Covered,
    /// Of those, the ones that brought nothing new when they came.
    New,
}

/// Which duplicates may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// None: neither of the survivor's own number, nor those that were duplicates when they came.
    Keep,
    /// What has a lower number goes, whatever it was when it came.
    Below,
    /// That, and what has the same number where the survivor reports more by SACK (as CAKE does).
    Sacked,
    /// Both lower and equal numbers; after three equal ones the survivor is marked (`asymmetry`, sender adaptation).
    Mark,
}

/// Duplicates that call for a fast retransmit (RFC 5681, section 3.2).
const THRESHOLD: u32 = 3;

impl AckFilterConfig {
    /// Takes out all that nobody can miss.
    pub const SAFE: AckFilterConfig = AckFilterConfig {
        keep: 1,
        occupancy: 0,
        probability: 1.0,
        survivor: Survivor::Tail,
        window: true,
        sack: SackGuard::New,
        ecn_bits: true,
        duplicates: Duplicates::Keep,
    };
    /// The paper's rule.
    pub const P1: AckFilterConfig = AckFilterConfig {
        window: false,
        sack: SackGuard::Off,
        ecn_bits: false,
        duplicates: Duplicates::Below,
        ..AckFilterConfig::SAFE
    };
    /// CAKE's conservative rule: of redundant ACKs two always stay (Høiland-Jørgensen, Täht and Morton 2018, section III.D).
    pub const CAKE: AckFilterConfig = AckFilterConfig {
        keep: 2,
        window: false,
        sack: SackGuard::Covered,
        duplicates: Duplicates::Sacked,
        ..AckFilterConfig::SAFE
    };
    /// CAKE's aggressive rule: one stays.
    pub const CAKE_AGGRESSIVE: AckFilterConfig = AckFilterConfig { keep: 1, ..AckFilterConfig::CAKE };
}

#[derive(Debug)]
pub struct AckFilter {
    config: AckFilterConfig,
    last_acks: LastAckTable,
    rng: Rng,
}

impl AckFilter {
    pub fn new(config: AckFilterConfig, rng: Rng) -> AckFilter {
        AckFilter { config, last_acks: LastAckTable::default(), rng }
    }

    pub fn survivor(&self) -> Survivor {
        self.config.survivor
    }

    /// Takes note of an ACK. Says whether it is to be kept, whatever comes after it.
    pub fn hear(&mut self, view: &TcpView) -> bool {
        let s = &self.config;
        if !s.window && !s.ecn_bits && s.sack != SackGuard::New && matches!(s.duplicates, Duplicates::Below) {
            // The paper's filter keeps no state of connections.
            return false;
        }
        let AckDelta { window, sack, duplicate, ecn_bits } = self.last_acks.note(view);
        (s.window && window)
            || (s.sack == SackGuard::New && sack)
            || (s.ecn_bits && (ecn_bits || view.other_options))
            || (s.duplicates == Duplicates::Keep && duplicate)
    }

    /// Takes out what `newest` makes needless, the oldest first; says where the oldest one was. `waiting` packets are in the whole queue.
    pub fn purge(&mut self, waiting: u64, newest: &TcpView, fifo: &mut Fifo, out: &mut Output<'_>) -> Option<usize> {
        if waiting < self.config.occupancy || !newest.is_pure_ack() {
            return None;
        }
        let mut of_connection = 1;
        let mut needless = Vec::new();
        for (place, old) in fifo.acks() {
            let Some(view) = out.arena.tcp(&old.packet).filter(|view| view.connection == newest.connection) else { continue };
            of_connection += 1;
            if self.may_go(old, &view, newest) && (self.config.probability >= 1.0 || self.rng.chance(self.config.probability)) {
                needless.push((place, view.ack == newest.ack));
            }
        }
        needless.truncate((of_connection as usize).saturating_sub(self.config.keep.max(1) as usize));
        // From behind, so that places stay what they are.
        for &(place, equal) in needless.iter().rev() {
            let Some(packet) = fifo.take_ack(place) else { continue };
            out.drop(packet, DropReason::AckFilter);
            if let Some(last) = self.last_acks.last(&newest.connection).filter(|_| equal) {
                last.taken_out += 1;
            }
        }
        needless.first().map(|&(place, _)| place)
    }

    fn may_go(&self, old: &QueuedPacket, view: &TcpView, newest: &TcpView) -> bool {
        let s = &self.config;
        let lower = match s.duplicates {
            Duplicates::Keep | Duplicates::Below => after(newest.ack, view.ack),
            Duplicates::Sacked => after(newest.ack, view.ack) || newest.ack == view.ack && says_more(&newest.sack, &view.sack),
            Duplicates::Mark => !after(view.ack, newest.ack),
        };
        lower
            && !old.guarded
            && view.is_pure_ack()
            && (!s.window || view.window == newest.window)
            && (!s.ecn_bits || (ecn_bits(view) == ecn_bits(newest) && !view.other_options))
            && (s.sack == SackGuard::Off || covered(view, newest))
    }

    /// Once enough duplicates have been taken out, what survives says so.
    pub fn mark_duplicates(&mut self, view: &TcpView, packet: &mut Packet, out: &mut Output<'_>) {
        if self.config.duplicates != Duplicates::Mark {
            return;
        }
        if self.last_acks.last(&view.connection).is_some_and(|last| last.taken_out >= THRESHOLD) {
            out.edit(packet, &TcpEdit { dupacks_seen: true, ..TcpEdit::NOTHING });
        }
    }
}

/// Everything that the older ACK reports by SACK the newer one reports, or acknowledges. A D-SACK (RFC 2883) lies below the ACK or inside the second
/// block, so only a block of the newer one can repeat it.
fn covered(old: &TcpView, new: &TcpView) -> bool {
    let blocks = old.sack.raw();
    blocks.iter().enumerate().all(|(i, &(start, end))| {
        let inside_second = i == 0 && blocks.get(1).is_some_and(|&(from, to)| !after(from, start) && !after(end, to));
        let twice = i == 0 && (after(old.ack, start) || inside_second);
        within((start, end), &new.sack) || (!twice && !after(end, new.ack))
    })
}

/// The newer one's blocks cover the older one's and are not the same.
fn says_more(new: &SackBlocks, old: &SackBlocks) -> bool {
    old.raw().iter().all(|&block| within(block, new)) && new.raw().iter().any(|&block| !within(block, old))
}
