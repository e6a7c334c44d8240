//! Fates so close together that only a full queue explains them: a sender in slow start sends twice what the link carries, so that of a time every
//! second packet finds no room, one loss after the other with arrivals between them. Fates of a link come alone, or many at once.

use super::fate::Fate;
use super::fingerprint::PacketFingerprint;
use super::loss_bursts::BIN;

/// Of the packets of a bin so large a share is lost, in so many pieces.
const SHARE: f64 = 0.2;
const PIECES: usize = 4;

/// For each packet whether it was lost in such company.
pub fn in_loss_cluster(sent: &[PacketFingerprint], fates: &[Fate]) -> Vec<bool> {
    let mut found = vec![false; sent.len()];
    let mut from = 0;
    while from < sent.len() {
        let bin = sent[from].at.div_euclid(BIN);
        let count = sent[from..].iter().take_while(|m| m.at.div_euclid(BIN) == bin).count();
        let part = &fates[from..from + count];
        let lost = part.iter().filter(|f| **f == Fate::Lost).count();
        let pieces = part.windows(2).filter(|w| w[0] == Fate::Lost && w[1] != Fate::Lost).count();
        if pieces >= PIECES && lost as f64 >= SHARE * count as f64 {
            (from..from + count).for_each(|i| found[i] = fates[i] == Fate::Lost);
        }
        from += count;
    }
    found
}
