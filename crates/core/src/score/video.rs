//! The score of a video from the segments that arrived: when it starts, where it stalls, and how good
//! its picture is.
//!
//! The playback is a function of the arrivals. A segment is played when all of it is there; the player
//! starts with `start_threshold` in its buffer, stalls when the buffer is empty, and goes on with
//! `resume_threshold` in it.

use crate::units::{Span, Time};
use ackclock_contract::Document;
use serde::{Deserialize, Serialize};

/// One encoding of a video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LadderStep {
    /// Bitrate in bit/s.
    pub bps: u64,
    /// Lines of its picture.
    pub lines: u32,
}

/// The times of a player that decide its playback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaybackConfig {
    /// Length of a segment.
    pub segment: Span,
    pub start_threshold: Span,
    pub resume_threshold: Span,
}

/// A spell of playing without a stall.
#[derive(Debug, Clone, Copy)]
struct Spell {
    begin: Time,
    /// Media time at its begin.
    position: Span,
    /// When the buffer was empty; none while it is not.
    end: Option<Time>,
}

/// What a player received and played.
#[derive(Debug, Clone)]
pub struct VideoRecord {
    config: PlaybackConfig,
    start: Time,
    /// The step of the ladder of each segment.
    steps: Vec<u8>,
    spells: Vec<Spell>,
}

impl VideoRecord {
    /// A video that a person asks for at `start`.
    pub fn new(config: PlaybackConfig, start: Time) -> VideoRecord {
        VideoRecord { config, start, steps: Vec::new(), spells: Vec::new() }
    }

    /// Media time that has arrived.
    fn arrived(&self) -> Span {
        self.config.segment.saturating_mul(self.steps.len() as u64)
    }

    /// When the buffer is empty, if nothing arrives; none while nothing is played.
    fn empty_at(&self) -> Option<Time> {
        let spell = self.spells.last().filter(|spell| spell.end.is_none())?;
        Some(spell.begin + (self.arrived() - spell.position))
    }

    /// The next segment has arrived, in this step of the ladder.
    pub fn arrive(&mut self, now: Time, step: usize) {
        let empty = self.empty_at();
        let stalled_at = empty.filter(|&empty| empty < now);
        let position = self.arrived();
        if let (Some(at), Some(spell)) = (stalled_at, self.spells.last_mut()) {
            spell.end = Some(at);
        }
        self.steps.push(u8::try_from(step).unwrap_or(u8::MAX));
        if empty.is_some() && stalled_at.is_none() {
            return;
        }
        let (from, threshold) = match self.spells.last() {
            None => (Span::ZERO, self.config.start_threshold),
            Some(spell) => (spell.position + (spell.end.unwrap_or(now) - spell.begin), self.config.resume_threshold),
        };
        debug_assert!(from <= position);
        if self.arrived() - from >= threshold {
            self.spells.push(Spell { begin: now, position: from, end: None });
        }
    }

    /// Media time that waits in the buffer.
    pub fn buffered(&self, now: Time) -> Span {
        match self.spells.last() {
            None => self.arrived(),
            Some(Spell { begin, position, end }) => {
                let played = end.unwrap_or(now).max(*begin) - *begin;
                let position = *position + played;
                if position < self.arrived() { self.arrived() - position } else { Span::ZERO }
            }
        }
    }

    /// When the buffer has room for another segment below `limit`: now, or later; [`Time::NEVER`] if it
    /// is full and nothing is played.
    pub fn room_at(&self, now: Time, limit: Span) -> Time {
        let needed = self.buffered(now) + self.config.segment;
        if needed <= limit {
            return now;
        }
        if self.empty_at().is_some() { now + (needed - limit) } else { Time::NEVER }
    }

    /// The score over a window. `ladder` has the steps.
    pub fn score(&self, ladder: &[LadderStep], (from, to): (Time, Time)) -> VideoScore {
        let clip = |time: Time| time.max(from).min(to);
        let stall_until = |begin: Time, end: Time, score: &mut VideoScore| {
            let (begin, end) = (clip(begin), clip(end));
            if begin < end {
                score.stalls += 1;
                score.stall_s += (end - begin).as_secs();
            }
        };
        let mut score = VideoScore {
            start_s: self.spells.first().map(|first| (first.begin - self.start).as_secs()),
            ..VideoScore::default()
        };
        let mut played = vec![0.0; ladder.len()];
        let mut stopped = None;
        for spell in &self.spells {
            if let Some(stopped) = stopped {
                stall_until(stopped, spell.begin, &mut score);
            }
            let end = spell.end.or(self.empty_at()).unwrap_or(to);
            stopped = Some(end);
            let (begin, end) = (clip(spell.begin), clip(end));
            if begin < end {
                let at = |time: Time| spell.position + (time - spell.begin);
                self.add_played(at(begin), at(end), &mut played, &mut score.switches);
            }
        }
        if let Some(stopped) = stopped {
            stall_until(stopped, to, &mut score);
        }
        score.played_s = played.iter().sum();
        if score.played_s > 0.0 {
            let weighted = |figure: &dyn Fn(&LadderStep) -> f64| {
                ladder.iter().zip(&played).map(|(step, s)| figure(step) * s).sum::<f64>() / score.played_s
            };
            score.bitrate_bps = Some(weighted(&|step| step.bps as f64));
            score.top_share = played.last().map(|top| top / score.played_s);
            let longest = (0..).zip(&played).max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(step, _): (usize, _)| step);
            score.lines = longest.map(|step| ladder[step].lines);
        }
        score
    }

    /// Adds media time from `begin` to `end`.
    fn add_played(&self, begin: Span, end: Span, played: &mut [f64], switches: &mut u64) {
        let segment = self.config.segment.0.max(1);
        let mut position = begin;
        while position < end {
            let number = position.0 / segment;
            let [before, step] = [number.checked_sub(1), Some(number)]
                .map(|number| number.and_then(|number| self.steps.get(usize::try_from(number).ok()?).copied()));
            if position.0.is_multiple_of(segment) && before.is_some() && before != step {
                *switches += 1;
            }
            let until = end.min(Span((number + 1) * segment));
            if let Some(seconds) = step.and_then(|step| played.get_mut(usize::from(step))) {
                *seconds += (until - position).as_secs();
            }
            position = until;
        }
    }
}

/// What people feel of a video.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Document)]
pub struct VideoScore {
    /// From the first SYN to the first picture; none if there was none.
    pub start_s: Option<f64>,
    /// Stalls after the start that last into the window.
    pub stalls: u64,
    /// Time of these stalls in the window.
    pub stall_s: f64,
    /// Time in the window in which the video played.
    pub played_s: f64,
    /// Mean bitrate of what was played.
    pub bitrate_bps: Option<f64>,
    /// Lines of the picture that was played for the longest time.
    pub lines: Option<u32>,
    /// Changes of the bitrate between two segments that were played.
    pub switches: u64,
    /// Share of the played time at the highest bitrate of the ladder.
    pub top_share: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: [LadderStep; 3] =
        [LadderStep { bps: 1000, lines: 240 }, LadderStep { bps: 2000, lines: 480 }, LadderStep { bps: 4000, lines: 720 }];

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn record(start_threshold_s: u64, resume_threshold_s: u64) -> VideoRecord {
        let seconds = Span::from_secs;
        let config = PlaybackConfig {
            segment: seconds(4),
            start_threshold: seconds(start_threshold_s),
            resume_threshold: seconds(resume_threshold_s),
        };
        VideoRecord::new(config, at(500))
    }

    #[test]
    fn playback_starts_and_resumes_at_its_thresholds() {
        let mut video = record(8, 4);
        video.arrive(at(1000), 0);
        assert_eq!((video.score(&LADDER, (at(0), at(2000))).start_s, video.buffered(at(2000))), (None, Span::from_secs(4)));
        video.arrive(at(2000), 1);
        // 8 s of media from 2 s on: empty at 10 s, the next segment at 13 s.
        assert_eq!(video.buffered(at(5000)), Span::from_secs(5));
        video.arrive(at(13_000), 1);
        video.arrive(at(14_000), 2);
        let score = video.score(&LADDER, (at(0), at(17_500)));
        assert_eq!((score.start_s, score.stalls, score.stall_s, score.played_s), (Some(1.5), 1, 3.0, 12.5));
        // 4 s of the first step, 8 s of the second, 0.5 s of the third.
        assert_eq!((score.switches, score.lines, score.top_share), (2, Some(480), Some(0.04)));
        assert_eq!(score.bitrate_bps, Some((4.0 * 1000.0 + 8.0 * 2000.0 + 0.5 * 4000.0) / 12.5));
    }

    #[test]
    fn segment_that_arrives_when_the_buffer_is_empty_is_in_time() {
        let mut video = record(4, 4);
        video.arrive(at(1000), 0);
        video.arrive(at(5000), 0);
        let score = video.score(&LADDER, (at(0), at(9000)));
        assert_eq!((score.stalls, score.switches, score.played_s), (0, 0, 8.0));
        video.arrive(at(9001), 0);
        assert_eq!(video.score(&LADDER, (at(0), at(10_000))).stalls, 1);
    }

    #[test]
    fn stall_and_playback_are_those_of_the_window() {
        let mut video = record(4, 4);
        video.arrive(at(1000), 0);
        video.arrive(at(10_000), 2);
        // Plays from 1 to 5 s, stalls to 10 s, plays to 14 s, and stalls without end.
        let score = video.score(&LADDER, (at(8000), at(12_000)));
        assert_eq!((score.stalls, score.stall_s, score.played_s, score.top_share), (1, 2.0, 2.0, Some(1.0)));
        assert_eq!(score.switches, 1, "the first picture behind the stall");
        let end = video.score(&LADDER, (at(12_000), at(20_000)));
        assert_eq!((end.stalls, end.stall_s, end.switches), (1, 6.0, 0));
        assert_eq!(video.score(&LADDER, (at(15_000), at(15_000))), VideoScore { start_s: Some(0.5), ..VideoScore::default() });
    }

    #[test]
    fn buffer_has_room_once_a_segment_fits_below_its_limit() {
        let mut video = record(8, 4);
        let limit = Span::from_secs(10);
        assert_eq!(video.room_at(at(500), limit), at(500));
        video.arrive(at(1000), 0);
        assert_eq!(video.room_at(at(1000), limit), at(1000));
        assert_eq!(video.room_at(at(1000), Span::from_secs(7)), Time::NEVER, "nothing is played");
        video.arrive(at(2000), 0);
        assert_eq!(video.room_at(at(2000), limit), at(4000), "8 s and 4 s are 2 s too much");
        assert_eq!(video.room_at(at(5000), limit), at(5000));
    }
}
