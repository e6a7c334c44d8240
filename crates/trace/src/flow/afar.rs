//! What the sender knows, for a capture that is not at its end: listened to from the first trouble until all is well.

use super::half::Half;
use super::told::{Told, Word};
use super::trouble::Trouble;
use super::view::View;
use crate::decode::Segment;

impl Half {
    /// From here on it matters what the sender knows when.
    pub(super) fn listen_afar(&mut self, now: i64, view: &View) {
        if self.at_sender(view) || self.trouble.as_ref().is_some_and(|t| t.episode().told.is_some()) {
            return;
        }
        let word = Word { at: now, first: now, stamp: None, una: self.una, duplicates: self.duplicates, sack_high: None };
        let turn = view.turn.unwrap_or(0);
        self.trouble_mut().episode_mut().told = Some(Box::new(Told::new(word, turn)));
    }

    /// A duplicate passes on its way to the sender, the first sign of a loss behind the capture: until it is there, the sender knows what the
    /// last news told.
    pub(super) fn overhears(&mut self, now: i64, s: &Segment<'_>, other: &Half) {
        let view = View::of(self, other);
        if self.at_sender(&view) || view.turn.is_none() || self.trouble.as_ref().is_some_and(|t| t.episode().told.is_some()) {
            return;
        }
        let at = self.last_news_at;
        let duplicates = self.duplicates.saturating_sub(1);
        let word = Word { at, first: at, stamp: None, una: self.una, duplicates, sack_high: None };
        let told = Told::new(word, view.turn.unwrap_or(0));
        self.trouble_mut().episode_mut().told = Some(Box::new(told));
        self.passes_on(now, s);
    }

    /// A packet of the sender shows what it has been told.
    pub(super) fn hear_afar(&mut self, now: i64, s: &Segment<'_>, other: &Half) {
        let turn = View::of(self, other).turn.unwrap_or(0);
        let Some(episode) = self.trouble.as_deref_mut().and_then(Trouble::open_episode) else { return };
        let Some(told) = &mut episode.told else { return };
        told.sent(now, s.options.timestamps, turn);
        let (known, over) = (told.known(), told.is_up_to_date());
        if let Some(known) = known {
            episode.reached(now, known.una);
        }
        // A duplicate is the beginning of something.
        let calm = known.is_none_or(|word| word.duplicates == 0);
        if over && calm && episode.holes.is_empty() && episode.loss_point.is_none() && episode.recovery_point.is_none() {
            episode.told = None;
        }
    }
}
