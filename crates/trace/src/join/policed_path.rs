//! A policer between two captures, for all flows of a direction: they share its bucket.

use super::MatchedDirection;
use super::backlog;
use super::bottleneck_schedule::Transit;
use super::fate::Fate;
use super::policer::{self, PolicedPacket, PolicedRun, PolicerEstimate};

/// Packets of a path, from the first on, that show its policer.
const MAX_PACKETS: usize = 1 << 17;

/// What a policer dropped of a path's packets.
#[derive(Debug, Default)]
pub struct PolicedPath {
    pub policer: Option<PolicerEstimate>,
    /// By direction and packet: lost at an empty bucket. Empty without a policer.
    drops: Vec<Vec<bool>>,
}

impl PolicedPath {
    /// Of the directions that share a path.
    pub fn of<'a>(directions: impl Iterator<Item = &'a MatchedDirection<'a>> + Clone) -> PolicedPath {
        let lost = |matched: &MatchedDirection<'_>| matched.fates.fates.iter().filter(|fate| **fate == Fate::Lost).count();
        if directions.clone().map(lost).sum::<usize>() < policer::MIN_DROPS {
            return PolicedPath::default();
        }
        let mut transits = Vec::new();
        let mut drops = Vec::new();
        for (direction, matched) in directions.enumerate() {
            drops.push(vec![false; matched.sent.len()]);
            for (index, (packet, fate)) in matched.sent.iter().zip(&matched.fates.fates).enumerate() {
                transits.push(Transit { at: packet.at, ip_len: packet.ip_len, fate: *fate, direction, index });
            }
        }
        transits.sort_by_key(|transit| transit.at);
        let floor = backlog::base_delay(&transits).unwrap_or(0);
        let run = |part: &[Transit]| {
            let packet = |transit: &Transit| PolicedPacket { at: transit.at, len: transit.ip_len, fate: transit.fate };
            PolicedRun::new(part.iter().map(packet).collect(), floor)
        };
        let first = run(&transits[..transits.len().min(MAX_PACKETS)]);
        let Some(found) = policer::find(std::slice::from_ref(&first)) else { return PolicedPath::default() };
        let all = if transits.len() > MAX_PACKETS { run(&transits) } else { first };
        for (transit, is_drop) in transits.iter().zip(all.drops(found.rate_bps, found.burst_bytes)) {
            drops[transit.direction][transit.index] = is_drop;
        }
        PolicedPath { policer: Some(found), drops }
    }

    /// Whether the policer dropped this packet.
    pub fn is_drop(&self, direction: usize, index: usize) -> bool {
        self.drops.get(direction).and_then(|all| all.get(index)).copied().unwrap_or(false)
    }
}
