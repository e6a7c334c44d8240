//! ACK filtering (`asymmetry`, section on ACK filtering; RFC 3449, section 5.2.1): an arriving ACK
//! removes older ACKs of its connection that it makes redundant.
//!
//! The configuration defines which ACKs are redundant. The rule of the paper, `p1`, removes every
//! ACK with a lower number. The default keeps each ACK whose loss would have an effect: one that
//! changes the window, brings SACK blocks, echoes congestion, or is a duplicate. SYN, FIN, RST and
//! data are never removed.

use super::last_ack::{AckDelta, LastAckTable, ecn_bits, within};
use crate::element::{DropReason, Output};
use crate::packet::{Packet, SackBlocks};
use crate::queue::{Fifo, QueuedPacket};
use crate::rng::Rng;
use crate::view::{TcpEdit, TcpView, after};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AckFilterConfig {
    /// ACKs of a connection that stay queued, including the arriving one.
    pub keep: u32,
    /// No ACK is removed while fewer packets are queued.
    pub occupancy: u64,
    /// Probability that a redundant ACK is removed.
    pub probability: f64,
    pub survivor: Survivor,
    /// Keep ACKs whose window differs from that of the previous ACK or of the survivor.
    pub window: bool,
    pub sack: SackGuard,
    /// Keep ACKs whose congestion echo differs from that of the previous ACK or of the survivor,
    /// and ACKs with unknown options.
    #[serde(rename = "signs")]
    pub ecn_bits: bool,
    pub duplicates: Duplicates,
}

/// Position of the arriving ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Survivor {
    Tail,
    /// In the position of the oldest ACK that it removes.
    Head,
}

/// Which ACKs with SACK blocks are redundant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SackGuard {
    /// All.
    Off,
    /// Those whose blocks the survivor reports or acknowledges.
    Covered,
    /// Of those, only ACKs that reported no new data on arrival.
    New,
}

/// Which duplicate ACKs are redundant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// None: neither duplicates of the survivor, nor ACKs that were duplicates on arrival.
    Keep,
    /// ACKs with a lower number, duplicates included.
    Below,
    /// As `Below`, and ACKs with the same number if the survivor reports more by SACK (as in CAKE).
    Sacked,
    /// Lower and equal numbers. After three equal ones the survivor is marked (`asymmetry`, sender
    /// adaptation).
    Mark,
}

/// dupthresh: duplicate ACKs that trigger a fast retransmit (RFC 5681, section 3.2).
const THRESHOLD: u32 = 3;

impl AckFilterConfig {
    /// Removes only ACKs whose loss has no effect.
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
    /// The rule of the paper.
    pub const P1: AckFilterConfig = AckFilterConfig {
        window: false,
        sack: SackGuard::Off,
        ecn_bits: false,
        duplicates: Duplicates::Below,
        ..AckFilterConfig::SAFE
    };
    /// CAKE's conservative rule: two redundant ACKs always stay (Høiland-Jørgensen, Täht and Morton
    /// 2018, section III.D).
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

    /// Records an arriving ACK. True if it must be kept whatever follows.
    pub fn record(&mut self, view: &TcpView) -> bool {
        let s = &self.config;
        if !s.window && !s.ecn_bits && s.sack != SackGuard::New && matches!(s.duplicates, Duplicates::Below) {
            // The filter of the paper keeps no per-connection state.
            return false;
        }
        let AckDelta { window, sack, duplicate, ecn_bits } = self.last_acks.update(view);
        (s.window && window)
            || (s.sack == SackGuard::New && sack)
            || (s.ecn_bits && (ecn_bits || view.other_options))
            || (s.duplicates == Duplicates::Keep && duplicate)
    }

    /// Removes the ACKs that `newest` makes redundant, oldest first, if `waiting` packets are at
    /// least the configured occupancy. Returns the index of the oldest removed one.
    pub fn purge(&mut self, waiting: u64, newest: &TcpView, fifo: &mut Fifo, out: &mut Output<'_>) -> Option<usize> {
        if waiting < self.config.occupancy || !newest.is_pure_ack() {
            return None;
        }
        let mut of_connection = 1;
        let mut redundant = Vec::new();
        for (index, old) in fifo.acks() {
            let Some(view) = out.arena.tcp(&old.packet).filter(|view| view.connection == newest.connection) else { continue };
            of_connection += 1;
            if self.is_redundant(old, &view, newest)
                && (self.config.probability >= 1.0 || self.rng.chance(self.config.probability))
            {
                redundant.push((index, view.ack == newest.ack));
            }
        }
        redundant.truncate((of_connection as usize).saturating_sub(self.config.keep.max(1) as usize));
        // In reverse order, so that the remaining indices stay valid.
        for &(index, equal) in redundant.iter().rev() {
            let Some(packet) = fifo.remove_ack(index) else { continue };
            out.drop(packet, DropReason::AckFilter);
            if let Some(last) = self.last_acks.last(&newest.connection).filter(|_| equal) {
                last.filtered += 1;
            }
        }
        redundant.first().map(|&(index, _)| index)
    }

    fn is_redundant(&self, old: &QueuedPacket, view: &TcpView, newest: &TcpView) -> bool {
        let s = &self.config;
        let lower = match s.duplicates {
            Duplicates::Keep | Duplicates::Below => after(newest.ack, view.ack),
            Duplicates::Sacked => after(newest.ack, view.ack) || newest.ack == view.ack && reports_more(&newest.sack, &view.sack),
            Duplicates::Mark => !after(view.ack, newest.ack),
        };
        lower
            && !old.guarded
            && view.is_pure_ack()
            && (!s.window || view.window == newest.window)
            && (!s.ecn_bits || (ecn_bits(view) == ecn_bits(newest) && !view.other_options))
            && (s.sack == SackGuard::Off || covered(view, newest))
    }

    /// Marks the survivor once dupthresh duplicates have been removed.
    pub fn mark_duplicates(&mut self, view: &TcpView, packet: &mut Packet, out: &mut Output<'_>) {
        if self.config.duplicates != Duplicates::Mark {
            return;
        }
        if self.last_acks.last(&view.connection).is_some_and(|last| last.filtered >= THRESHOLD) {
            out.edit(packet, &TcpEdit { dupacks_seen: true, ..TcpEdit::NOTHING });
        }
    }
}

/// True if the newer ACK reports or acknowledges all that the older one reports by SACK. A D-SACK
/// (RFC 2883) is below the ACK or inside the second block, so only a block of the newer ACK can
/// repeat it.
fn covered(old: &TcpView, new: &TcpView) -> bool {
    let blocks = old.sack.raw();
    blocks.iter().enumerate().all(|(i, &(start, end))| {
        let inside_second = i == 0 && blocks.get(1).is_some_and(|&(from, to)| !after(from, start) && !after(end, to));
        let twice = i == 0 && (after(old.ack, start) || inside_second);
        within((start, end), &new.sack) || (!twice && !after(end, new.ack))
    })
}

/// True if the newer ACK's blocks cover the older one's and add to them.
fn reports_more(new: &SackBlocks, old: &SackBlocks) -> bool {
    old.raw().iter().all(|&block| within(block, new)) && new.raw().iter().any(|&block| !within(block, old))
}
