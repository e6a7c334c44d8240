//! Adaptive modulation and coding: the selection of a station's MCS, and the resulting error
//! probability.

use super::config::check_frames;
use super::mcs::Mcs;
use crate::config_check::{Checked, ensure};
use crate::medium::Direction;
use crate::medium::radio_channel::{Fading, LossCurve, check_decibels};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// MCS selection of the base station, with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AmcConfig {
    /// A higher MCS is selected only if the quality exceeds its threshold by this margin, in dB.
    pub hysteresis_db: f64,
    /// Reporting delay of the quality, in frames.
    #[serde(rename = "delay_frames")]
    pub delay: u64,
    /// Uplink quality minus downlink quality.
    pub up_offset_db: f64,
    /// Quality increase above the MCS threshold that divides the error probability of a burst (ARQ:
    /// block) by ten, in dB.
    pub decade_db: f64,
}

impl AmcConfig {
    /// Returns the error in the configuration, if any.
    pub(super) fn check(&self) -> Checked {
        check_frames("amc.delay_frames", self.delay)?;
        check_decibels(self.hysteresis_db)?;
        check_decibels(self.up_offset_db)?;
        check_decibels(self.decade_db)?;
        ensure(self.decade_db > 0.0 && self.hysteresis_db >= 0.0, || {
            "amc.decade_db must be above 0, amc.hysteresis_db at least 0".into()
        })
    }
}

/// Radio of one station.
#[derive(Clone, Debug)]
pub struct StationRadio {
    /// Selected MCS, downlink and uplink, as indices into the set.
    mcs: [u8; 2],
    /// The highest allowed MCS.
    max_mcs: [u8; 2],
    /// Error probability of a burst (ARQ: block) at the threshold of its MCS; on a constant channel
    /// always.
    error: [f64; 2],
    channel: Option<Box<ChannelState>>,
}

#[derive(Clone, Debug)]
struct ChannelState {
    config: AmcConfig,
    fading: Fading,
    /// Quality reports in transit to the base station, oldest first.
    reports: VecDeque<f64>,
    now_db: f64,
    frame: u64,
    /// Residual loss after retransmission, downlink and uplink.
    loss: [Option<LossCurve>; 2],
}

impl StationRadio {
    /// A constant channel.
    pub fn constant(mcs: [u8; 2], error: [f64; 2]) -> StationRadio {
        StationRadio { mcs, max_mcs: mcs, error, channel: None }
    }

    /// A varying channel; no MCS above `max_mcs` is selected.
    pub fn varying(max_mcs: [u8; 2], error: [f64; 2], config: AmcConfig, fading: Fading) -> StationRadio {
        let channel = ChannelState { config, fading, reports: VecDeque::new(), now_db: 0.0, frame: 0, loss: [None, None] };
        StationRadio { mcs: max_mcs, max_mcs, error, channel: Some(Box::new(channel)) }
    }

    /// Adds residual loss after retransmission by these curves.
    pub fn with_residual_loss(mut self, loss: [Option<LossCurve>; 2]) -> StationRadio {
        if let Some(channel) = &mut self.channel {
            channel.loss = loss;
        }
        self
    }

    pub fn mcs(&self, direction: Direction) -> u8 {
        self.mcs[direction as usize]
    }

    /// Advances to `frame`.
    pub fn advance(&mut self, frame: u64, set: &[Mcs]) {
        let Some(channel) = &mut self.channel else { return };
        // Qualities older than the reporting delay are not needed.
        channel.frame = channel.frame.max(frame.saturating_sub(channel.config.delay + 1));
        while channel.frame < frame || channel.reports.is_empty() {
            channel.frame = (channel.frame + 1).min(frame);
            channel.now_db = channel.fading.at(channel.frame);
            channel.reports.push_back(channel.now_db);
        }
        while channel.reports.len() as u64 > channel.config.delay + 1 {
            channel.reports.pop_front();
        }
        let reported_db = channel.reports.front().copied().unwrap_or(channel.now_db);
        for (direction, mcs) in self.mcs.iter_mut().enumerate() {
            let db = reported_db + channel.offset(direction);
            *mcs = choose(set, *mcs, self.max_mcs[direction], db, channel.config.hysteresis_db);
        }
    }

    /// Error probability of a burst (ARQ: block) in the current frame.
    pub fn error(&self, direction: Direction, set: &[Mcs]) -> f64 {
        let direction = direction as usize;
        let Some(channel) = &self.channel else { return self.error[direction] };
        let margin = channel.now_db + channel.offset(direction) - set[usize::from(self.mcs[direction])].from_db;
        (self.error[direction] * libm::pow(10.0, -margin / channel.config.decade_db)).min(1.0)
    }

    /// Share of packets lost after retransmission in the current frame.
    pub fn residual_loss(&self, direction: Direction) -> f64 {
        let Some(channel) = &self.channel else { return 0.0 };
        let curve = channel.loss[direction as usize].as_ref();
        curve.map_or(0.0, |curve| curve.at(channel.now_db + channel.offset(direction as usize)))
    }

    /// True if errors are possible.
    pub fn can_err(&self, direction: Direction) -> bool {
        self.error[direction as usize] > 0.0
    }
}

impl ChannelState {
    fn offset(&self, direction: usize) -> f64 {
        if direction == Direction::Up as usize { self.config.up_offset_db } else { 0.0 }
    }
}

/// The highest MCS whose threshold is reached; rising above `present` requires `hysteresis` more.
fn choose(set: &[Mcs], present: u8, max_mcs: u8, db: f64, hysteresis: f64) -> u8 {
    let usable = |&i: &u8| {
        let more = if i > present { hysteresis } else { 0.0 };
        db >= set[usize::from(i)].from_db + more
    };
    (0..=max_mcs.min((set.len() - 1) as u8)).rev().find(usable).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::mcs::OFDM;
    use super::*;
    use crate::medium::radio_channel::{FadingConfig, Level};
    use crate::rng::Rng;
    use crate::units::Span;

    #[test]
    fn mcs_follows_the_quality_with_upward_hysteresis() {
        let steps = [(30.0, 6), (20.0, 5), (21.5, 5), (22.0, 6), (3.5, 0), (-10.0, 0), (6.5, 0), (7.0, 1)];
        let mut present = 0;
        for (db, expected) in steps {
            present = choose(&OFDM, present, 6, db, 1.0);
            assert_eq!(present, expected, "at {db} dB");
        }
        assert_eq!(choose(&OFDM, 0, 3, 30.0, 1.0), 3, "not above the strongest allowed");
    }

    #[test]
    fn mcs_lags_by_the_reporting_delay_and_errors_rise_meanwhile() {
        let level = |db| Level { db, stay: Span::from_ms(200) };
        let process = FadingConfig::Markov { levels: vec![level(25.0), level(12.0)] };
        let fading = Fading::new(process, Span::from_ms(5), Rng::for_element(2, "fading"));
        let config = AmcConfig { hysteresis_db: 0.0, delay: 3, up_offset_db: 0.0, decade_db: 2.0 };
        let mut radio = StationRadio::varying([6, 6], [0.01, 0.01], config, fading);
        let (mut before, mut late) = (Vec::new(), 0);
        for frame in 1..2000 {
            radio.advance(frame, &OFDM);
            before.push(radio.channel.as_ref().map(|w| w.now_db));
            if before.len() > 3 {
                let expected = if before[before.len() - 4] == Some(25.0) { 6 } else { 3 };
                assert_eq!(radio.mcs(Direction::Down), expected);
            }
            late += u32::from(radio.error(Direction::Down, &OFDM) > 0.9);
        }
        assert!(late > 10, "64-QAM at 12 dB breaks until the report arrives: {late}");
    }

    #[test]
    fn error_probability_falls_tenfold_per_decade_db() {
        let level = Level { db: 25.0, stay: Span::from_secs(1) };
        let fading = Fading::new(FadingConfig::Markov { levels: vec![level] }, Span::from_ms(5), Rng::for_element(2, "f"));
        let config = AmcConfig { hysteresis_db: 0.0, delay: 0, up_offset_db: -4.0, decade_db: 2.0 };
        let mut radio = StationRadio::varying([6, 6], [0.1, 0.1], config, fading);
        radio.advance(1, &OFDM);
        // 25 dB on the downlink is 4 dB above the threshold of 64-QAM 3/4; 21 dB on the uplink
        // equals it.
        let errors = [Direction::Down, Direction::Up].map(|d| radio.error(d, &OFDM));
        assert!((errors[0] - 0.001).abs() < 1e-9 && (errors[1] - 0.1).abs() < 1e-9, "{errors:?}");
    }
}
