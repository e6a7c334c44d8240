//! A timeout that was inferred away from its sender, until the next packet bears it out or takes it back: the timer leaves a sender one segment
//! until something is acknowledged (RFC 5681, section 3.1: the loss window), so nothing else can follow sooner than a round trip.

use super::half::Half;
use super::outpaced::Amended;
use super::view::View;
use crate::compact::compact;
use crate::decode::Segment;
use crate::flow::classify::{Classification, SegmentKind};

/// What a timeout changed, should it turn out to have been none.
#[derive(Debug, Clone, Copy)]
pub struct Doubt {
    pub at: i64,
    /// Where the recovery under way was to end.
    pub recovery_point: Option<u32>,
    /// It followed a fast retransmission of the same data.
    pub pair: bool,
    pub segments: u32,
    pub confidence: f32,
}

compact!(Doubt { at, recovery_point, pair, segments, confidence });

/// The share of a round trip in which nothing can follow a timeout: paths and hosts vary.
const SOON: (i64, i64) = (3, 4);

/// So soon that nothing can have been heard of what came before, by the least round trip.
pub(super) fn is_soon(span: i64, least: i64) -> bool {
    span * SOON.1 < least * SOON.0
}

impl Half {
    /// A packet with data passes: if it left after what was taken for a timeout, and too soon, that was none.
    pub(super) fn bears_out(&mut self, now: i64, s: &Segment<'_>, other: &Half) {
        let Some(doubt) = self.trouble.as_ref().and_then(|t| t.episode().doubt) else { return };
        if !is_soon(now - doubt.at, self.least_around(&View::of(self, other))) {
            self.trouble_mut().episode_mut().doubt = None;
        } else if s.payload > 0 && self.left_later(s) {
            self.take_back(doubt);
        }
    }

    /// It left after all that have passed, by its number or stamp.
    fn left_later(&self, s: &Segment<'_>) -> bool {
        match self.counts_ids() && s.ip_id.is_some() {
            true => self.id_step() > 0,
            false => {
                s.options.timestamps.is_some() && self.sending.as_ref().is_some_and(|sending| sending.stamp_clock.step() >= 0)
            }
        }
    }

    /// Acknowledgements asked for it after all, in a recovery that goes on.
    fn take_back(&mut self, doubt: Doubt) {
        let next = self.next;
        let trouble = self.trouble_mut();
        let verdict = Classification::new(SegmentKind::Fast, 0.7);
        trouble.tally.remove(Classification::new(SegmentKind::Timeout, doubt.confidence), doubt.segments);
        trouble.tally.add(verdict, doubt.segments);
        trouble.timeouts -= 1;
        trouble.recoveries += u32::from(doubt.recovery_point.is_none());
        trouble.timer_fired = false;
        if doubt.recovery_point.is_some() {
            trouble.oddities_mut().pairs.all -= 1;
        }
        if doubt.pair {
            trouble.oddities_mut().fast_then_timeout -= 1;
        }
        if let Some(repair) = trouble.repairs.iter_mut().rev().find(|r| r.kind == SegmentKind::Timeout && r.at == doubt.at) {
            (repair.kind, repair.pair) = (SegmentKind::Fast, false);
        }
        let episode = trouble.episode_mut();
        episode.recovery_point = doubt.recovery_point.or(episode.loss_point).or(Some(next));
        (episode.loss_point, episode.doubt, episode.amended) =
            (None, None, Some(Amended { was: SegmentKind::Timeout, is: verdict, before_it: None }));
    }
}
