//! Clusters of losses that only a queue overflow explains. A sender in slow start sends at twice
//! the link's rate, so that for some time every second packet is dropped, with arrivals between the
//! losses. A link loses single packets, or many consecutive ones.

use super::fate::Fate;
use super::fingerprint::PacketFingerprint;
use super::loss_bursts::BIN;

/// Minimum share of a bin's packets that is lost.
const MIN_SHARE: f64 = 0.2;
/// Minimum number of separate runs of losses in a bin.
const MIN_RUNS: usize = 4;

/// For each packet whether it was lost in a cluster.
pub fn in_loss_cluster(sent: &[PacketFingerprint], fates: &[Fate]) -> Vec<bool> {
    let mut in_cluster = vec![false; sent.len()];
    let mut from = 0;
    while from < sent.len() {
        let bin = sent[from].at.div_euclid(BIN);
        let count = sent[from..].iter().take_while(|p| p.at.div_euclid(BIN) == bin).count();
        let part = &fates[from..from + count];
        let lost = part.iter().filter(|f| **f == Fate::Lost).count();
        let runs = part.windows(2).filter(|w| w[0] == Fate::Lost && w[1] != Fate::Lost).count();
        if runs >= MIN_RUNS && lost as f64 >= MIN_SHARE * count as f64 {
            (from..from + count).for_each(|i| in_cluster[i] = fates[i] == Fate::Lost);
        }
        from += count;
    }
    in_cluster
}
