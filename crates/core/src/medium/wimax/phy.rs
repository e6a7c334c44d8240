//! PHY numerology: from the channel bandwidth to symbol times (IEEE 802.16-2004, 8.3.2;
//! 802.16e-2005, 8.4.2).

use super::mcs::{Mcs, OFDM, OFDMA};
use crate::config_check::{Checked, ensure};
use crate::units::{PS_PER_S, Span};

/// Multiple access technique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Technique {
    /// One station uses all 192 data carriers of a symbol (256-point FFT). The unit of allocation
    /// is a symbol.
    Ofdm,
    /// Stations share a symbol by subchannel (PUSC). The unit of allocation is a slot of 48
    /// carriers.
    Ofdma { fft: u32 },
}

/// PHY configuration of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    pub technique: Technique,
    pub width_hz: u64,
    /// The cyclic prefix is 1/`prefix` of the useful symbol: 4, 8, 16 or 32.
    pub prefix: u32,
    /// Bytes of a slot that carry no data. The standard has one a burst, NIST's module one a symbol.
    pub tail_bytes: u32,
}

/// Sampling factor by the bandwidth's divisor; the first match applies.
const OFDM_FACTORS: [(u64, (u64, u64)); 5] =
    [(1_750_000, (8, 7)), (1_500_000, (86, 75)), (1_250_000, (144, 125)), (2_750_000, (316, 275)), (2_000_000, (57, 50))];
const OFDMA_FACTORS: [(u64, (u64, u64)); 5] =
    [(1_750_000, (8, 7)), (1_250_000, (28, 25)), (1_500_000, (28, 25)), (2_000_000, (28, 25)), (2_750_000, (28, 25))];
/// The sampling frequency is rounded down to a multiple of this.
const SAMPLING_STEP_HZ: u64 = 8_000;

/// Subchannels of downlink and uplink with PUSC, by FFT size (802.16e-2005, 8.4.6.1.2 and
/// 8.4.6.2.1).
const PUSC: [(u32, (u32, u32)); 4] = [(128, (3, 4)), (512, (15, 17)), (1024, (30, 35)), (2048, (60, 70))];

impl Technique {
    /// The technique of an FFT size, or the error.
    pub fn of_fft(fft: u32) -> Result<Technique, String> {
        match fft {
            256 => Ok(Technique::Ofdm),
            128 | 512 | 1024 | 2048 => Ok(Technique::Ofdma { fft }),
            fft => Err(format!("an FFT of {fft}: 256 is OFDM; 128, 512, 1024 and 2048 are OFDMA")),
        }
    }
}

impl Channel {
    /// Returns the error in the configuration, if any.
    pub(super) fn check(self) -> Checked {
        ensure((1_000_000..=100_000_000).contains(&self.width_hz), || {
            format!("a channel of {} Hz: 1 to 100 MHz are possible", self.width_hz)
        })?;
        ensure([4, 8, 16, 32].contains(&self.prefix), || {
            format!("a cyclic prefix of 1/{}: 1/4, 1/8, 1/16 and 1/32 are possible", self.prefix)
        })
    }

    /// Index of the MCS of this name in the set, or the error.
    pub fn mcs(self, name: &str) -> Result<u8, String> {
        let index = self.set().iter().position(|mcs| mcs.name == name);
        index.map(|index| index as u8).ok_or_else(|| format!("no modulation '{name}' in this channel's set"))
    }

    fn factor(self) -> (u64, u64) {
        let factors = if self.technique == Technique::Ofdm { OFDM_FACTORS } else { OFDMA_FACTORS };
        factors.iter().find(|(step, _)| self.width_hz.is_multiple_of(*step)).map_or((8, 7), |&(_, factor)| factor)
    }

    /// Fs = floor(n*BW/8000)*8000.
    pub fn sampling_hz(self) -> u64 {
        let (over, under) = self.factor();
        self.width_hz.saturating_mul(over) / under / SAMPLING_STEP_HZ * SAMPLING_STEP_HZ
    }

    pub fn fft(self) -> u32 {
        match self.technique {
            Technique::Ofdm => 256,
            Technique::Ofdma { fft } => fft,
        }
    }

    /// Useful symbol and cyclic prefix: N_FFT/Fs*(1 + G), to the nearest picosecond.
    pub fn symbol(self) -> Span {
        let samples = u128::from(self.fft()) * u128::from(self.prefix + 1) * u128::from(PS_PER_S);
        let per = u128::from(self.prefix) * u128::from(self.sampling_hz().max(1));
        Span(u64::try_from((samples + per / 2) / per).unwrap_or(u64::MAX))
    }

    /// A physical slot is 4/Fs, the unit of the gaps in OFDM.
    pub fn physical_slots(self, n: u64) -> Span {
        Span((u128::from(4 * n) * u128::from(PS_PER_S) / u128::from(self.sampling_hz().max(1))) as u64)
    }

    /// The MCS set.
    pub fn set(self) -> &'static [Mcs] {
        match self.technique {
            Technique::Ofdm => &OFDM,
            Technique::Ofdma { .. } => &OFDMA,
        }
    }

    /// Payload bytes per slot.
    pub fn slot_bytes(self, mcs: &Mcs) -> u32 {
        let bytes = mcs.bytes(match self.technique {
            Technique::Ofdm => 192,
            Technique::Ofdma { .. } => 48,
        });
        bytes.saturating_sub(self.tail_bytes)
    }

    /// Parallel slots, downlink and uplink.
    pub fn rows(self) -> (u32, u32) {
        match self.technique {
            Technique::Ofdm => (1, 1),
            Technique::Ofdma { fft } => PUSC.iter().find(|&&(n, _)| n == fft).map_or((1, 1), |&(_, rows)| rows),
        }
    }

    /// Symbols per slot, downlink and uplink.
    pub fn slot_symbols(self) -> (u32, u32) {
        match self.technique {
            Technique::Ofdm => (1, 1),
            Technique::Ofdma { .. } => (2, 3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ofdm(width_hz: u64, prefix: u32) -> Channel {
        Channel { technique: Technique::Ofdm, width_hz, prefix, tail_bytes: 0 }
    }

    #[test]
    fn symbol_is_34_us_at_7_mhz_with_prefix_1_16() {
        let channel = ofdm(7_000_000, 16);
        assert_eq!((channel.sampling_hz(), channel.symbol()), (8_000_000, Span::from_us(34)));
        assert_eq!(channel.physical_slots(10), Span::from_us(5));
    }

    #[test]
    fn wibro_symbol_is_115_2_us() {
        let wibro = Channel { technique: Technique::Ofdma { fft: 1024 }, width_hz: 8_750_000, prefix: 8, tail_bytes: 0 };
        assert_eq!((wibro.sampling_hz(), wibro.symbol()), (10_000_000, Span::from_ns(115_200)));
    }

    #[test]
    fn mobile_profiles_have_the_symbol_times_of_the_wimax_forum() {
        for (fft, mhz_x100, ns) in [(512, 500, 102_857), (1024, 1000, 102_857), (1024, 700, 144_000)] {
            let channel = Channel { technique: Technique::Ofdma { fft }, width_hz: mhz_x100 * 10_000, prefix: 8, tail_bytes: 0 };
            assert_eq!(channel.symbol().0 / 1000, ns, "{fft} at {mhz_x100}");
        }
    }

    #[test]
    fn fixed_profiles_have_the_symbol_times_of_the_standard() {
        // 3.5 MHz: 64 us and a quarter; 10 MHz is a multiple of 1.25 MHz: 11.52 MHz; 6 MHz of 1.5
        // MHz: 6.88 MHz.
        assert_eq!(ofdm(3_500_000, 4).symbol(), Span::from_us(80));
        assert_eq!(ofdm(10_000_000, 8).sampling_hz(), 11_520_000);
        assert_eq!(ofdm(6_000_000, 8).sampling_hz(), 6_880_000);
    }
}
