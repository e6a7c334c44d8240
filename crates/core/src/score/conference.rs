//! The score of a conference from the frames that a receiver rendered: bitrate, delay, freezes and late frames.

use crate::statistics::quantile_of_sorted;
use crate::units::{Span, Time};
use ackclock_contract::Document;
use serde::{Deserialize, Serialize};

/// A frame that is rendered later than this after its capture is late: ITU-T G.114 permits no longer one-way
/// delay for a conversation.
pub const LATE_AFTER: Span = Span::from_ms(400);
/// webrtc-stats, `freezeCount`: the mean is over this many frames, and the two terms of the bound.
const FREEZE_FRAMES: usize = 30;
const FREEZE_FACTOR: u64 = 3;
const FREEZE_EXTRA: Span = Span::from_ms(150);

/// A frame at its receiver.
#[derive(Debug, Clone, Copy)]
struct Frame {
    captured: Time,
    /// IP bytes of its packets, each once.
    bytes: u64,
    rendered: Option<Time>,
}

/// The frames of one direction by number.
#[derive(Debug, Clone, Default)]
pub struct FrameRecord {
    frames: Vec<Frame>,
}

impl FrameRecord {
    /// The sender captures the next frame.
    pub fn capture(&mut self, now: Time, bytes: u64) {
        self.frames.push(Frame { captured: now, bytes, rendered: None });
    }

    /// The receiver renders a frame.
    pub fn render(&mut self, now: Time, number: u64) {
        if let Some(frame) = usize::try_from(number).ok().and_then(|number| self.frames.get_mut(number)) {
            frame.rendered.get_or_insert(now);
        }
    }

    /// The score of this direction over a window. Frames that may still be in time at its end do not count.
    pub fn score(&self, (from, to): (Time, Time)) -> ConferenceScore {
        let mut score = ConferenceScore::default();
        let span = (to.max(from) - from).as_secs();
        let decided = |frame: &&Frame| frame.captured >= from && frame.captured + LATE_AFTER <= to;
        let delays = self.frames.iter().filter(decided).filter_map(|frame| Some(frame.rendered? - frame.captured));
        let mut delays: Vec<f64> = delays.map(Span::as_millis).collect();
        delays.sort_unstable_by(f64::total_cmp);
        let frames = self.frames.iter().filter(decided).count();
        if frames > 0 {
            let in_time = delays.iter().filter(|ms| **ms <= LATE_AFTER.as_millis()).count();
            score.late_share = Some((frames - in_time) as f64 / frames as f64);
        }
        score.delay_p95_ms = quantile_of_sorted(&delays, 0.95);
        let rendered = self.frames.iter().filter(|frame| frame.rendered.is_some_and(|at| at >= from && at < to));
        score.bitrate_bps = (span > 0.0).then(|| rendered.map(|frame| frame.bytes as f64 * 8.0).sum::<f64>() / span);
        (score.freezes, score.freeze_s) = self.freezes(from, to);
        score
    }

    /// Freezes that end in the window or last at its end, and their time.
    fn freezes(&self, from: Time, to: Time) -> (u64, f64) {
        let times: Vec<Time> = self.frames.iter().filter_map(|frame| frame.rendered).filter(|at| *at <= to).collect();
        let (mut count, mut seconds) = (0, 0.0);
        let ends = times.iter().copied().skip(1).chain([to]);
        for (number, (&begin, end)) in times.iter().zip(ends).enumerate() {
            let first = number.saturating_sub(FREEZE_FRAMES);
            let frames = (number - first) as u64;
            // Of a single frame there is no duration to compare with.
            if frames == 0 || end <= from {
                continue;
            }
            let mean = Span((begin - times[first]).0 / frames);
            if end - begin >= mean.saturating_mul(FREEZE_FACTOR).max(mean + FREEZE_EXTRA) {
                count += 1;
                seconds += (end - begin.max(from)).as_secs();
            }
        }
        (count, seconds)
    }
}

/// What people feel of a conference. Of two directions each figure is that of the direction where it is worse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Document)]
pub struct ConferenceScore {
    /// Of the frames that were rendered, IP headers included.
    pub bitrate_bps: Option<f64>,
    /// From the capture of a frame to its rendering, without coding.
    pub delay_p95_ms: Option<f64>,
    /// Freezes as webrtc-stats counts them (`freezeCount`).
    pub freezes: u64,
    /// Their time.
    pub freeze_s: f64,
    /// Share of the frames that were rendered later than 400 ms after their capture, or never.
    pub late_share: Option<f64>,
}

impl ConferenceScore {
    /// The worse of each figure.
    pub fn worse(self, other: ConferenceScore) -> ConferenceScore {
        let by = |a: Option<f64>, b: Option<f64>, pick: fn(f64, f64) -> f64| a.zip(b).map(|(a, b)| pick(a, b)).or(a).or(b);
        ConferenceScore {
            bitrate_bps: by(self.bitrate_bps, other.bitrate_bps, f64::min),
            delay_p95_ms: by(self.delay_p95_ms, other.delay_p95_ms, f64::max),
            freezes: self.freezes.max(other.freezes),
            freeze_s: self.freeze_s.max(other.freeze_s),
            late_share: by(self.late_share, other.late_share, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// Frames of 1000 B each 40 ms, of which this is the delay; none if it is never rendered.
    fn record(frames: u64, delay: impl Fn(u64) -> Option<u64>) -> FrameRecord {
        let mut record = FrameRecord::default();
        for number in 0..frames {
            record.capture(at(40 * number), 1000);
        }
        for number in 0..frames {
            if let Some(delay) = delay(number) {
                record.render(at(40 * number + delay), number);
            }
        }
        record
    }

    #[test]
    fn steady_frames_have_their_delay_and_no_freeze() {
        let score = record(100, |_| Some(50)).score((at(0), at(4000)));
        assert_eq!((score.freezes, score.freeze_s, score.late_share, score.delay_p95_ms), (0, 0.0, Some(0.0), Some(50.0)));
        // 99 of 100 frames are rendered before the end.
        assert_eq!(score.bitrate_bps, Some(99.0 * 8000.0 / 4.0));
    }

    #[test]
    fn freeze_is_an_interval_of_the_mean_and_150_ms() {
        // Without the frames 50 to 53 there are 200 ms between two: 40 + 150 = 190 are the bound.
        let lost = |count: u64| move |number| if (50..50 + count).contains(&number) { None } else { Some(50) };
        let score = record(100, lost(4)).score((at(0), at(4000)));
        assert_eq!((score.freezes, score.freeze_s), (1, 0.2));
        assert_eq!(record(100, lost(3)).score((at(0), at(4000))).freezes, 0, "160 ms");
        let end = record(100, |number| (number < 50).then_some(50)).score((at(0), at(4000)));
        assert_eq!((end.freezes, end.freeze_s), (1, 1.99), "it lasts to the end");
    }

    #[test]
    fn freeze_and_delay_are_those_of_the_window() {
        let delay = |number| match number {
            0..60 => Some(500),
            60..75 => None,
            _ => Some(20),
        };
        let score = record(100, delay);
        assert_eq!(score.score((at(0), at(2000))).late_share, Some(1.0));
        let later = score.score((at(3000), at(4000)));
        assert_eq!((later.late_share, later.delay_p95_ms, later.freezes), (Some(0.0), Some(20.0), 0));
    }

    #[test]
    fn worse_direction_counts_for_each_figure() {
        let one =
            ConferenceScore { bitrate_bps: Some(1.0), delay_p95_ms: Some(10.0), freezes: 2, freeze_s: 1.0, late_share: None };
        let other = ConferenceScore {
            bitrate_bps: Some(2.0),
            delay_p95_ms: Some(20.0),
            freezes: 1,
            freeze_s: 3.0,
            late_share: Some(0.5),
        };
        let worse = ConferenceScore {
            bitrate_bps: Some(1.0),
            delay_p95_ms: Some(20.0),
            freezes: 2,
            freeze_s: 3.0,
            late_share: Some(0.5),
        };
        assert_eq!(one.worse(other), worse);
    }
}
