//! Clusters of losses that only a queue overflow explains. A sender in slow start sends at twice
//! the link's rate, so that for some time every second packet is dropped, with arrivals between the
//! losses. A link loses single packets, or many consecutive ones.

use super::bottleneck_schedule::Transit;
use super::fate::Fate;
use super::loss_bursts::BIN;

/// Minimum share of a bin's packets that is lost.
const MIN_SHARE: f64 = 0.2;
/// Minimum number of separate runs of losses in a bin.
const MIN_RUNS: usize = 4;

/// For each packet whether it was lost in a cluster. `packets` are in order of departure.
pub fn in_loss_cluster(packets: &[Transit]) -> Vec<bool> {
    let mut in_cluster = vec![false; packets.len()];
    let mut from = 0;
    while from < packets.len() {
        let bin = packets[from].at.div_euclid(BIN);
        let count = packets[from..].iter().take_while(|p| p.at.div_euclid(BIN) == bin).count();
        let part = &packets[from..from + count];
        let is_lost = |p: &Transit| p.fate == Fate::Lost;
        let lost = part.iter().filter(|p| is_lost(p)).count();
        let runs = part.windows(2).filter(|w| is_lost(&w[0]) && !is_lost(&w[1])).count();
        if runs >= MIN_RUNS && lost as f64 >= MIN_SHARE * count as f64 {
            (from..from + count).for_each(|i| in_cluster[i] = is_lost(&packets[i]));
        }
        from += count;
    }
    in_cluster
}
