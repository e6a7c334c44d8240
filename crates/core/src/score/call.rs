//! The score of a call from what its receivers played: R of ITU-T G.107 for each 10 s, and the mean
//! opinion scores.

use super::e_model::{Codec, Losses, mean_opinion_score, rating, satisfaction};
use super::{MeanAndWorst, Playout};
use crate::units::{Span, Time};
use ackclock_contract::Document;
use serde::{Deserialize, Serialize};

/// Length of a window: G.107 rates a call of constant quality, and 10 s are long enough for 500
/// packets and short enough for an upload to begin in another window.
pub const CALL_WINDOW: Span = Span::from_secs(10);

/// What one receiver played, by packet number.
#[derive(Clone, Debug, Default)]
pub struct CallRecord {
    playout: Playout,
    /// From sending to playing, of each packet that was played.
    played: Vec<Option<Span>>,
    arrived: u64,
}

impl CallRecord {
    /// Packet `number`, sent at `sent`, arrives. Duplicates count once.
    pub fn arrive(&mut self, now: Time, number: u64, sent: Time) {
        let Ok(number) = usize::try_from(number) else { return };
        if self.played.len() <= number {
            self.played.resize(number + 1, None);
        }
        self.arrived += 1;
        let played = self.playout.arrive(now, now - sent);
        if self.played[number].is_none() {
            self.played[number] = played;
        }
    }

    /// Delay from sending to playing at the moment; none before the first packet.
    pub fn playout_delay(&self) -> Option<Span> {
        self.playout.delay()
    }

    /// Packets that arrived, late ones and duplicates included.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Packets from `first` up to `end` (exclusive), of which all that were not played count as lost.
    pub fn window(&self, first: u64, end: u64) -> CallWindow {
        let mut window = CallWindow { sent: end.saturating_sub(first), ..CallWindow::default() };
        let mut in_burst = false;
        let mut sum = 0.0;
        for number in first..end {
            match usize::try_from(number).ok().and_then(|number| self.played.get(number).copied().flatten()) {
                Some(span) => {
                    window.played += 1;
                    sum += span.as_millis();
                    in_burst = false;
                }
                None => {
                    window.bursts += u64::from(!in_burst);
                    in_burst = true;
                }
            }
        }
        window.network_and_playout_ms = (window.played > 0).then(|| sum / window.played as f64);
        window
    }
}

/// One direction of a call over some seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallWindow {
    pub sent: u64,
    pub played: u64,
    /// Runs of packets that were not played.
    pub bursts: u64,
    /// Mean time from sending to playing; none if nothing was played.
    pub network_and_playout_ms: Option<f64>,
}

impl CallWindow {
    /// The share of packets that were not played, and how much their bursts are longer than those of
    /// independent losses, whose mean length is 1 / (1 - share). None without packets.
    pub fn losses(&self) -> Option<Losses> {
        let lost = self.sent - self.played;
        let share = (self.sent > 0).then(|| lost as f64 / self.sent as f64)?;
        let mean_burst = if self.bursts > 0 { lost as f64 / self.bursts as f64 } else { 1.0 };
        Some(Losses { share, burst_ratio: (mean_burst * (1.0 - share)).max(1.0) })
    }

    /// R of this window, in which a packet has speech of `packet` time. 0 if nothing was played: no codec
    /// conceals that. None without packets.
    pub fn rating(&self, codec: Codec, packet: Span) -> Option<f64> {
        let losses = self.losses()?;
        Some(self.mouth_to_ear_ms(packet).map_or(0.0, |delay| rating(codec, losses, delay)))
    }

    /// Ta: a packet of speech is filled, travels and waits to be played. G.711 codes sample by sample.
    pub fn mouth_to_ear_ms(&self, packet: Span) -> Option<f64> {
        self.network_and_playout_ms.map(|delay| packet.as_millis() + delay)
    }
}

/// What people feel of a call. Each window has the lower rating of its two directions: a call in which
/// one end receives nothing has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Document)]
pub struct CallScore {
    /// Mean opinion score of G.107, 1 (bad) to 4.5.
    pub mos: MeanAndWorst,
    /// Transmission rating R of G.107, 0 to 93.2.
    pub rating: MeanAndWorst,
    /// Windows of 10 s that were rated.
    pub windows: u64,
    /// Mean delay from mouth to ear in the direction where it is longer.
    pub mouth_to_ear_ms: Option<f64>,
    /// Share of packets that did not arrive, or too late to be played, in the direction where it is
    /// larger.
    pub unplayed_share: Option<f64>,
}

impl CallScore {
    /// The score of a call from its windows, each with both directions.
    pub fn of(windows: &[[CallWindow; 2]], codec: Codec, packet: Span) -> CallScore {
        let lower = |pair: &[CallWindow; 2]| pair.iter().filter_map(|one| one.rating(codec, packet)).min_by(f64::total_cmp);
        let ratings: Vec<f64> = windows.iter().filter_map(lower).collect();
        let larger = |figure: &dyn Fn(&CallWindow) -> Option<f64>| {
            let of_side = |side: usize| {
                let values: Vec<f64> = windows.iter().filter_map(|pair| figure(&pair[side])).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            };
            [0, 1].into_iter().filter_map(of_side).max_by(f64::total_cmp)
        };
        CallScore {
            mos: MeanAndWorst::of(ratings.iter().copied().map(mean_opinion_score)),
            rating: MeanAndWorst::of(ratings.iter().copied()),
            windows: ratings.len() as u64,
            mouth_to_ear_ms: larger(&|window| window.mouth_to_ear_ms(packet)),
            unplayed_share: larger(&|window| window.losses().map(|losses| losses.share)),
        }
    }

    /// How users take the mean rating (ITU-T G.109); none without one.
    pub fn grade(&self) -> Option<&'static str> {
        self.rating.mean.map(satisfaction)
    }
}

#[cfg(test)]
mod tests {
    use super::super::e_model::DEFAULT_R;
    use super::*;

    const PACKET: Span = Span::from_ms(20);
    const CODEC: Codec = Codec::G711_CONCEALED;

    /// Packets each 20 ms with 30 ms of delay, but those of `lost`.
    fn record(packets: u64, lost: impl Fn(u64) -> bool) -> CallRecord {
        let mut record = CallRecord::default();
        for number in (0..packets).filter(|&number| !lost(number)) {
            let sent = Time::ZERO + Span::from_ms(20 * number);
            record.arrive(sent + Span::from_ms(30), number, sent);
        }
        record
    }

    #[test]
    fn idle_call_is_rated_by_its_delay_alone() {
        let window = record(500, |_| false).window(0, 500);
        assert_eq!(window.mouth_to_ear_ms(PACKET), Some(70.0), "20 ms of speech, 30 on the path, 20 in the buffer");
        let score = CallScore::of(&[[window; 2]], CODEC, PACKET);
        assert_eq!(
            (score.rating.mean, score.unplayed_share, score.grade()),
            (Some(DEFAULT_R), Some(0.0), Some("very satisfied"))
        );
    }

    #[test]
    fn call_is_rated_0_when_one_direction_is_lost() {
        let good = record(500, |_| false).window(0, 500);
        let silent = record(500, |_| true).window(0, 500);
        let score = CallScore::of(&[[good, silent]], CODEC, PACKET);
        assert_eq!((score.rating.mean, score.mos.mean), (Some(0.0), Some(1.0)));
        assert_eq!(score.unplayed_share, Some(1.0));
    }

    #[test]
    fn losses_in_bursts_are_worse_than_independent_ones() {
        // 5 %: every 20th packet, and ten of two hundred at once.
        let [single, bursts] = [record(500, |n| n % 20 == 7), record(600, |n| n % 200 < 10)];
        let [single, bursts] = [single.window(0, 500), bursts.window(0, 600)];
        let losses = bursts.losses().unwrap();
        assert_eq!(single.losses(), Some(Losses { share: 0.05, burst_ratio: 1.0 }), "shorter bursts than by chance count as 1");
        assert_eq!((losses.share, (losses.burst_ratio * 100.0).round()), (0.05, 950.0));
        assert!(bursts.rating(CODEC, PACKET) < single.rating(CODEC, PACKET));
        assert!((single.rating(CODEC, PACKET).unwrap() - (DEFAULT_R - 15.78)).abs() < 0.005);
    }

    #[test]
    fn duplicate_counts_once_and_an_empty_call_has_no_score() {
        let mut record = record(2, |_| false);
        record.arrive(Time::ZERO + Span::from_ms(40), 0, Time::ZERO);
        assert_eq!((record.window(0, 2).played, record.arrived()), (2, 3));
        assert_eq!(CallScore::of(&[], CODEC, PACKET), CallScore::default());
        assert_eq!(record.window(0, 0).losses(), None);
    }
}
