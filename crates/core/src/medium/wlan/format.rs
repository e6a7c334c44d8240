//! Air time of a frame in a PHY format: preamble, then the frame's bytes at a rate.

use crate::config_check::{Checked, check_span, ensure};
use crate::units::{PS_PER_S, Rate, Span};
use serde::{Deserialize, Serialize};

/// DSSS and CCK (IEEE 802.11-2012, clauses 16 and 17) signal a frame's duration in whole
/// microseconds. OFDM, HT and VHT (clauses 18 to 20; 802.11ac, clause 22) use whole symbols, which
/// also carry 16 service and 6 tail bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    #[serde(rename = "bps")]
    pub rate: Rate,
    /// Preamble and PHY header.
    #[serde(rename = "preamble_ps")]
    pub preamble: Span,
    /// Symbol duration; zero is DSSS.
    #[serde(rename = "symbol_ps")]
    pub symbol: Span,
    /// Signal extension: silence counted as part of the frame, 6 us for OFDM at 2.4 GHz (clause
    /// 19.3.2.4).
    #[serde(rename = "extension_ps")]
    pub extension: Span,
}

const SERVICE_AND_TAIL_BITS: u64 = 22;

impl Format {
    /// Returns the error in the format of this name, if any.
    pub(super) fn check(&self, name: &str) -> Checked {
        ensure(self.rate.time_to_send(1) > Span::ZERO, || {
            format!("{name}.bps is {}: a byte takes less than a picosecond", self.rate.bps())
        })?;
        for (key, span) in [("preamble_ps", self.preamble), ("symbol_ps", self.symbol), ("extension_ps", self.extension)] {
            check_span(key, span)?;
        }
        Ok(())
    }

    /// Air time of a frame of `bytes`, from its MAC header to its FCS.
    pub fn air(&self, bytes: u32) -> Span {
        self.air_of(self.body(bytes))
    }

    /// Air time of a frame whose bytes take `body`.
    pub fn air_of(&self, body: Span) -> Span {
        self.preamble + body + self.extension
    }

    /// The same format at a share of the rate.
    pub fn at_speed(&self, share: f64) -> Format {
        match share {
            1.0 => *self,
            share => Format { rate: Rate::from_bps(((self.rate.bps() as f64 * share) as u64).max(1)), ..*self },
        }
    }

    /// Air time of a frame's bytes, without preamble and signal extension.
    pub fn body(&self, bytes: u32) -> Span {
        if self.symbol == Span::ZERO {
            return self.rate.time_to_send(bytes).round_up_to(Span::from_us(1));
        }
        let bits = SERVICE_AND_TAIL_BITS + 8 * u64::from(bytes);
        self.symbol.saturating_mul(bits.div_ceil(self.bits_per_symbol()))
    }

    /// N_DBPS.
    fn bits_per_symbol(&self) -> u64 {
        let half = u128::from(PS_PER_S / 2);
        let bits = (u128::from(self.rate.bps()) * u128::from(self.symbol.0) + half) / u128::from(PS_PER_S);
        (bits as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(mbps: u64, preamble_us: u64, symbol_us: u64, extension_us: u64) -> Format {
        Format {
            rate: Rate::from_bps(mbps * 1_000_000),
            preamble: Span::from_us(preamble_us),
            symbol: Span::from_us(symbol_us),
            extension: Span::from_us(extension_us),
        }
    }

    #[test]
    fn ack_air_time_matches_dsss_and_ofdm_examples() {
        assert_eq!(format(1, 192, 0, 0).air(14), Span::from_us(192 + 112));
        assert_eq!(format(24, 20, 4, 0).air(14), Span::from_us(28));
        assert_eq!(format(24, 20, 4, 6).air(14), Span::from_us(34));
    }

    #[test]
    fn air_time_is_rounded_up_to_microseconds_or_symbols() {
        // 1536 * 8 / 11 = 1117.09 us; (22 + 8 * 1536) / 216 = 56.99 symbols.
        assert_eq!(format(11, 192, 0, 0).air(1536), Span::from_us(192 + 1118));
        assert_eq!(format(54, 20, 4, 6).air(1536), Span::from_us(20 + 57 * 4 + 6));
    }
}
