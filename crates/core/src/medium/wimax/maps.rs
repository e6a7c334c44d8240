//! Size of the DL-MAP and UL-MAP, the broadcast lists of bursts and grants (IEEE 802.16-2004,
//! 6.3.2.3.2 and .4).

use super::phy::{Channel, Technique};

/// Transmission of the maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maps {
    /// Index into the channel's MCS set.
    pub mcs: u8,
    /// Repetitions of each slot (OFDMA).
    pub repetition: u32,
    /// Bytes of both maps, whatever is in them; `None`: by their elements.
    pub bytes: Option<u32>,
}

/// Generic header and CRC of each message.
const AROUND: u32 = 10;
/// DL-MAP before its elements: type, frame duration and number, DCD count, base station.
const DOWN_FIXED: u32 = 12;
/// UL-MAP before its elements: type, channel, UCD count, start of the allocations.
const UP_FIXED: u32 = 7;
/// One downlink and one uplink element. OFDM: 802.16-2004, Tables 235 and 245; OFDMA with one
/// connection each: 802.16e-2005, 8.4.5.3 and 8.4.5.4.
const OFDM_ELEMENTS: (u32, u32) = (4, 6);
const OFDMA_ELEMENTS: (u32, u32) = (8, 4);

impl Maps {
    /// Bytes of both maps; each list ends with an end element.
    pub fn bytes(&self, channel: Channel, bursts: u32, elements_up: u32) -> u32 {
        if let Some(bytes) = self.bytes {
            return bytes;
        }
        let (down, up) = if channel.technique == Technique::Ofdm { OFDM_ELEMENTS } else { OFDMA_ELEMENTS };
        2 * AROUND + DOWN_FIXED + UP_FIXED + down * (bursts + 1) + up * (elements_up + 1)
    }

    pub fn slots(&self, channel: Channel, bursts: u32, elements_up: u32) -> u32 {
        let set = channel.set();
        let mcs = &set[usize::from(self.mcs).min(set.len() - 1)];
        self.bytes(channel, bursts, elements_up).div_ceil(channel.slot_bytes(mcs).max(1)) * self.repetition.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_for_1_and_6_stations_take_2_symbols_of_16qam() {
        let channel = Channel { technique: Technique::Ofdm, width_hz: 7_000_000, prefix: 16, tail_bytes: 0 };
        let maps = Maps { mcs: 3, repetition: 1, bytes: None };
        assert_eq!(maps.bytes(channel, 1, 1), 20 + 12 + 7 + 2 * 4 + 2 * 6);
        assert_eq!([maps.slots(channel, 1, 2), maps.slots(channel, 1, 7)], [2, 2]);
        assert_eq!(Maps { mcs: 0, repetition: 1, bytes: None }.slots(channel, 1, 1), 5, "at BPSK 1/2 they take five");
    }
}
