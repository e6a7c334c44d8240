//! Modulation and coding schemes (MCS): the sets, their capacity and their quality thresholds.

/// A modulation with a code rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mcs {
    pub name: &'static str,
    /// Coded bits per subcarrier and symbol.
    pub bits: u32,
    /// Code rate, as numerator and denominator.
    pub rate: (u32, u32),
    /// Quality threshold (CINR in dB).
    pub from_db: f64,
}

impl Mcs {
    /// Payload bytes on `carriers` subcarriers of one symbol: carriers * bits * rate / 8.
    pub fn bytes(&self, carriers: u32) -> u32 {
        carriers * self.bits * self.rate.0 / (8 * self.rate.1)
    }
}

const fn mcs(name: &'static str, bits: u32, rate: (u32, u32), from_db: f64) -> Mcs {
    Mcs { name, bits, rate, from_db }
}

/// WirelessMAN-OFDM, lowest first: IEEE 802.16-2004, Table 215; receiver SNR as in its Table 266
/// with the correction of 802.16e-2005.
pub const OFDM: [Mcs; 7] = [
    mcs("bpsk-1/2", 1, (1, 2), 3.0),
    mcs("qpsk-1/2", 2, (1, 2), 6.0),
    mcs("qpsk-3/4", 2, (3, 4), 8.5),
    mcs("16qam-1/2", 4, (1, 2), 11.5),
    mcs("16qam-3/4", 4, (3, 4), 15.0),
    mcs("64qam-2/3", 6, (2, 3), 19.0),
    mcs("64qam-3/4", 6, (3, 4), 21.0),
];

/// WirelessMAN-OFDMA with convolutional turbo codes, lowest first: IEEE 802.16e-2005, 8.4.9.2;
/// receiver SNR as in 8.4.13; the last two are extrapolated with the same step.
pub const OFDMA: [Mcs; 8] = [
    mcs("qpsk-1/2", 2, (1, 2), 5.0),
    mcs("qpsk-3/4", 2, (3, 4), 8.0),
    mcs("16qam-1/2", 4, (1, 2), 10.5),
    mcs("16qam-3/4", 4, (3, 4), 14.0),
    mcs("64qam-1/2", 6, (1, 2), 16.0),
    mcs("64qam-2/3", 6, (2, 3), 18.0),
    mcs("64qam-3/4", 6, (3, 4), 20.0),
    mcs("64qam-5/6", 6, (5, 6), 22.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ofdm_symbol_bytes_match_the_standard() {
        let uncoded_blocks = OFDM.map(|m| m.bytes(192));
        assert_eq!(uncoded_blocks, [12, 24, 36, 48, 72, 96, 108]);
    }

    #[test]
    fn ofdma_slot_carries_whole_bytes() {
        assert_eq!(OFDMA.map(|m| m.bytes(48)), [6, 9, 12, 18, 18, 24, 27, 30]);
    }

    #[test]
    fn mcs_sets_are_sorted_by_rate_and_threshold() {
        for set in [&OFDM[..], &OFDMA[..]] {
            assert!(set.windows(2).all(|p| p[0].bytes(48) <= p[1].bytes(48) && p[0].from_db < p[1].from_db));
        }
    }
}
