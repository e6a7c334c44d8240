//! Adaptive modulation: which modulation and coding a station gets, and how often what it is sent breaks.

use super::mcs::Mcs;
use crate::medium::Direction;
use crate::medium::radio_channel::{Fading, LossCurve};
use std::collections::VecDeque;

/// How the base station chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmcConfig {
    /// A stronger modulation is taken only when the quality is this far above where it is first used, in dB.
    pub hysteresis_db: f64,
    /// Frames after which the base station knows a quality.
    pub delay: u64,
    /// The quality up is that of down plus this.
    pub up_offset_db: f64,
    /// The probability of a broken burst (ARQ: block) falls to a tenth for so many dB above where the modulation is first used.
    pub decade_db: f64,
}

/// One station's radio.
#[derive(Clone, Debug)]
pub struct StationRadio {
    /// Down and up, as indices into the set.
    mcs: [u8; 2],
    /// The strongest that it may get.
    max_mcs: [u8; 2],
    /// Of a burst (ARQ: a block), at the quality from which its modulation is used; on a channel that does not change, always.
    error: [f64; 2],
    channel: Option<Box<ChannelState>>,
}

#[derive(Clone, Debug)]
struct ChannelState {
    config: AmcConfig,
    fading: Fading,
    /// What the base station will hear of, oldest first.
    reports: VecDeque<f64>,
    now_db: f64,
    frame: u64,
    /// What is lost above all repair, down and up.
    loss: [Option<LossCurve>; 2],
}

impl StationRadio {
    /// A channel that does not change.
    pub fn constant(mcs: [u8; 2], error: [f64; 2]) -> StationRadio {
        StationRadio { mcs, max_mcs: mcs, error, channel: None }
    }

    /// A channel that changes; no modulation stronger than `max_mcs` is taken.
    pub fn varying(max_mcs: [u8; 2], error: [f64; 2], config: AmcConfig, fading: Fading) -> StationRadio {
        let channel = ChannelState { config, fading, reports: VecDeque::new(), now_db: 0.0, frame: 0, loss: [None, None] };
        StationRadio { mcs: max_mcs, max_mcs, error, channel: Some(Box::new(channel)) }
    }

    /// The same, and above all repair it loses by these curves.
    pub fn with_residual_loss(mut self, loss: [Option<LossCurve>; 2]) -> StationRadio {
        if let Some(channel) = &mut self.channel {
            channel.loss = loss;
        }
        self
    }

    pub fn mcs(&self, direction: Direction) -> u8 {
        self.mcs[direction as usize]
    }

    /// Comes to `frame`.
    pub fn advance(&mut self, frame: u64, set: &[Mcs]) {
        let Some(channel) = &mut self.channel else { return };
        // What lies further back than the delay can no longer be reported_db of.
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

    /// The probability that a burst (ARQ: a block) breaks in the frame come to.
    pub fn error(&self, direction: Direction, set: &[Mcs]) -> f64 {
        let direction = direction as usize;
        let Some(channel) = &self.channel else { return self.error[direction] };
        let margin = channel.now_db + channel.offset(direction) - set[usize::from(self.mcs[direction])].from_db;
        (self.error[direction] * libm::pow(10.0, -margin / channel.config.decade_db)).min(1.0)
    }

    /// The share of packets that is lost above all repair in the frame come to.
    pub fn residual_loss(&self, direction: Direction) -> f64 {
        let Some(channel) = &self.channel else { return 0.0 };
        let curve = channel.loss[direction as usize].as_ref();
        curve.map_or(0.0, |curve| curve.at(channel.now_db + channel.offset(direction as usize)))
    }

    /// Whether anything can ever break.
    pub fn can_err(&self, direction: Direction) -> bool {
        self.error[direction as usize] > 0.0
    }
}

impl ChannelState {
    fn offset(&self, direction: usize) -> f64 {
        if direction == Direction::Up as usize { self.config.up_offset_db } else { 0.0 }
    }
}

/// The strongest modulation whose quality is reached; to rise above `present` takes `hysteresis` more.
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
    use crate::medium::radio_channel::{Level, Process};
    use crate::rng::Rng;
    use crate::units::Span;

    #[test]
    fn the_modulation_follows_the_quality_with_hysteresis_upwards() {
        let steps = [(30.0, 6), (20.0, 5), (21.5, 5), (22.0, 6), (3.5, 0), (-10.0, 0), (6.5, 0), (7.0, 1)];
        let mut present = 0;
        for (db, expected) in steps {
            present = choose(&OFDM, present, 6, db, 1.0);
            assert_eq!(present, expected, "at {db} dB");
        }
        assert_eq!(choose(&OFDM, 0, 3, 30.0, 1.0), 3, "not above the strongest allowed");
    }

    #[test]
    fn the_base_station_hears_of_a_change_late_and_errors_tell_meanwhile() {
        let level = |db| Level { db, stay: Span::from_ms(200) };
        let process = Process::Markov { levels: vec![level(25.0), level(12.0)] };
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
    fn errors_fall_tenfold_with_each_decade() {
        let level = Level { db: 25.0, stay: Span::from_secs(1) };
        let fading = Fading::new(Process::Markov { levels: vec![level] }, Span::from_ms(5), Rng::for_element(2, "f"));
        let config = AmcConfig { hysteresis_db: 0.0, delay: 0, up_offset_db: -4.0, decade_db: 2.0 };
        let mut radio = StationRadio::varying([6, 6], [0.1, 0.1], config, fading);
        radio.advance(1, &OFDM);
        // 25 dB down is 4 dB above 64-QAM 3/4; 21 dB up is just that.
        let errors = [Direction::Down, Direction::Up].map(|d| radio.error(d, &OFDM));
        assert!((errors[0] - 0.001).abs() < 1e-9 && (errors[1] - 0.1).abs() < 1e-9, "{errors:?}");
    }
}
