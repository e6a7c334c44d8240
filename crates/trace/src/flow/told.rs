//! What a sender has been told when it sends, for a capture that its ACKs pass before they reach it. They are on their way for a turn; which of
//! them has arrived shows in the time stamp that the sender echoes (RFC 7323, section 4.3), and without stamps in the time that a turn takes.

use super::seq::{seq_diff, seq_lt};
use crate::compact::compact;
use crate::decode::Timestamps;
use std::collections::VecDeque;

/// What an ACK says.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    pub at: i64,
    /// The first of those that it stands for.
    pub first: i64,
    /// Of the ACK's own clock, on that first one.
    pub stamp: Option<u32>,
    pub una: u32,
    pub duplicates: u32,
    pub sack_high: Option<u32>,
}

compact!(Word { at, first, stamp, una, duplicates, sack_high });

/// ACKs on their way to the sender; the first has arrived.
#[derive(Debug, Default)]
pub struct Told {
    words: VecDeque<Word>,
    /// Since when the sender shows that it knows the lowest number not acknowledged that it knows: the first packet after that, by the
    /// capture's clock and by its stamp.
    since: i64,
    /// How long before it can have been.
    since_at_most: i64,
    since_stamp: Option<u32>,
    /// The last packet was the first after that.
    news: bool,
    /// It left as soon as an ACK reached its sender that it had not had before.
    prompt: bool,
    /// The sender has had something since this began.
    heard: bool,
    /// When the third duplicate in a row passed.
    third: i64,
    turn: i64,
}

compact!(Told { words, since, since_at_most, since_stamp, news, prompt, heard, third, turn });

/// Duplicates that cause a retransmission (RFC 5681, section 3.2), and how much later than a turn it may come.
const THIRD: u32 = 3;
const LEEWAY: i64 = 10_000_000;
/// ACKs kept at most.
const MOST: usize = 256;
/// ACKs within this share of a turn are one, and within this time.
const PARTS: i64 = 100;
const TOGETHER: i64 = 1_000_000;
/// What leaves later than this share of a turn, and this, after an ACK's arrival was not caused by it.
const PROMPT: i64 = 10;
const PROMPTLY: i64 = 2_000_000;
/// An answer may take this share of a turn less than the least that was seen: packets differ in size.
const LESS: i64 = 20;

impl Told {
    /// Begins when the capture notices that something is missing; until the sender has heard, a turn passes.
    pub fn new(word: Word, turn: i64) -> Told {
        Told {
            since: word.at.saturating_add(turn),
            since_at_most: 0,
            since_stamp: None,
            news: false,
            prompt: false,
            heard: false,
            third: i64::MIN,
            turn,
            words: VecDeque::from([word]),
        }
    }

    /// Begins when the sender shows by what it sends that this is all it knows.
    pub fn shown(word: Word, turn: i64) -> Told {
        Told { since: word.at, heard: true, ..Told::new(word, turn) }
    }

    /// An ACK passes.
    pub fn passes(&mut self, word: Word) {
        if word.duplicates == THIRD {
            self.third = word.at;
        }
        let (known, close) = (self.words.len() == 1, TOGETHER.max(self.turn / PARTS));
        match self.words.back_mut().filter(|_| !known) {
            Some(last) if word.at.saturating_sub(last.first) < close => {
                *last = Word { first: last.first, stamp: last.stamp, ..word }
            }
            _ => {
                if self.words.len() == MOST {
                    self.words.pop_front();
                }
                self.words.push_back(word);
            }
        }
    }

    /// Something that the sender sent passes.
    pub fn sent(&mut self, now: i64, stamps: Option<Timestamps>, turn: i64) {
        let before_it = self.words.front().copied();
        (self.turn, self.prompt) = (turn, false);
        while self.words.get(1).is_some_and(|next| has_arrived(next, now, stamps, turn)) {
            self.words.pop_front();
            self.heard = true;
            // Queues between sender and capture only make it later.
            let since = self.words.front().map_or(i64::MAX, |word| now.saturating_sub(word.at));
            self.prompt = since <= turn + turn / PROMPT + PROMPTLY;
        }
        let known = self.words.front().zip(before_it).filter(|(known, old)| {
            // With stamps nothing is known until the first echo.
            seq_lt(old.una, known.una) || old.stamp.is_none() && known.stamp.is_some()
        });
        let known = known.map(|(known, _)| known);
        self.news = known.is_some();
        if let Some(known) = known {
            self.since = now;
            self.since_at_most = now.saturating_sub(known.at.saturating_add(turn)).max(0);
            self.since_stamp = stamps.map(|s| s.value);
        }
    }

    /// The packet that passes is the first that its sender sent since it has learnt that number.
    pub fn is_news(&self) -> bool {
        self.news
    }

    /// The packet that passes left when an ACK reached its sender.
    pub fn is_prompt(&self) -> bool {
        self.prompt
    }

    /// The last word that the sender has had; none before the first.
    pub fn known(&self) -> Option<Word> {
        self.words.front().filter(|_| self.heard).copied()
    }

    /// What passes is what a third duplicate asks for: it comes a turn later.
    pub fn is_asked_for(&self, now: i64) -> bool {
        let since = now.saturating_sub(self.third);
        since >= self.turn * 9 / 10 && since <= self.turn * 13 / 10 + LEEWAY
    }

    /// Duplicates on their way to it.
    pub fn pending(&self) -> u32 {
        match (self.words.front(), self.words.back()) {
            (Some(known), Some(last)) if known.una == last.una => last.duplicates.saturating_sub(known.duplicates),
            _ => 0,
        }
    }

    /// It has had them all.
    pub fn is_up_to_date(&self) -> bool {
        self.words.len() <= 1
    }

    /// How long it has known no better number, nanoseconds, when it sends with this stamp; `tick` is one of its clock, zero if not known.
    pub fn stalled(&self, now: i64, stamp: Option<u32>, tick: i64) -> i64 {
        // Without stamps a queue on the way looks like a pause of the sender.
        if stamp.is_none() && self.is_asked_for(now) {
            return 0;
        }
        match (stamp, self.since_stamp) {
            (Some(stamp), Some(since)) if tick > 0 && !self.news => i64::from(seq_diff(since, stamp)).saturating_mul(tick),
            _ if self.news => self.since_at_most,
            _ => now.saturating_sub(self.since).max(0),
        }
    }

    pub fn memory(&self) -> usize {
        size_of::<Told>() + self.words.capacity() * size_of::<Word>()
    }
}

fn has_arrived(word: &Word, now: i64, stamps: Option<Timestamps>, turn: i64) -> bool {
    match (word.stamp, stamps) {
        (Some(stamp), Some(sender)) => !seq_lt(sender.echo, stamp),
        _ => word.first.saturating_add(turn - turn / LESS) <= now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(at: i64, stamp: u32, una: u32, duplicates: u32) -> Word {
        Word { at, first: at, stamp: Some(stamp), una, duplicates, sack_high: None }
    }

    #[test]
    fn the_echo_says_which_ack_the_sender_has_had_and_its_stamps_for_how_long() {
        let mut told = Told::new(word(0, 100, 1000, 0), 50);
        told.passes(word(10_000_000, 110, 2000, 0));
        told.passes(word(20_000_000, 120, 2000, 1));
        told.sent(60_000_000, Some(Timestamps { value: 7000, echo: 110 }), 50);
        assert_eq!(told.known().map(|w| (w.una, w.duplicates)), Some((2000, 0)));
        told.sent(70_000_000, Some(Timestamps { value: 7010, echo: 125 }), 50);
        assert_eq!(told.known().map(|w| (w.una, w.duplicates)), Some((2000, 1)));
        assert!(told.is_up_to_date());
        assert_eq!(told.stalled(99_000_000, Some(7300), 1_000_000), 300_000_000);
    }
}
