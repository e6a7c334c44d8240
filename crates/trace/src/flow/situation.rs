//! What the rules of [`crate::flow::classify::classify_retransmission`] ask about: what the sender knew when it sent this, as far as the capture can tell.

use super::episode::{AT_ONCE, CALM};
use super::half::Half;
use super::outstanding::SentRange;
use super::seq::seq_lt;
use super::trouble::Trouble;
use super::view::View;
use crate::decode::Segment;
use crate::flow::classify::RetransmissionEvidence;

impl Half {
    /// What the rules of [`classify_retransmission`] ask about.
    pub(super) fn situation(&self, now: i64, s: &Segment<'_>, view: &View, seen: Option<&SentRange>) -> RetransmissionEvidence {
        let end = s.seq.wrapping_add(s.seq_len());
        let heard = if self.at_sender(view) { self.last_heard_at } else { i64::MIN };
        let last_of_it = seen.map_or(i64::MIN, |e| e.last_at);
        // Queues before the capture even out the sender's pauses; its own stamps keep them.
        let pause = now - self.last_sent_at.max(heard);
        let quiet = if self.at_sender(view) { pause } else { self.stamp_pause().unwrap_or(pause) };
        let age = if self.at_sender(view) { now - self.last_news_at.max(last_of_it) } else { quiet };
        let whole = |(smoothed, deviation): (i64, i64)| {
            if self.at_sender(view) {
                (smoothed, deviation)
            } else {
                // The receiver's own delays are not those of the path.
                (self.rtt.min().unwrap_or(0) + view.turn_now.or(view.turn).unwrap_or(0), 0)
            }
        };
        let trouble = self.trouble.as_deref();
        let episode = trouble.map_or(&CALM, Trouble::episode);
        let told = episode.told.as_deref().and_then(|told| told.known().zip(Some(told)));
        let (una, duplicates, sack_high, stalled) = match told {
            Some((word, told)) => {
                let tick = self.sending.as_ref().map_or(0, |sending| sending.stamp_clock.tick());
                let stalled = told.stalled(now, s.options.timestamps.map(|t| t.value), tick);
                // It would have sent something at once.
                let stalled = if told.is_news() { stalled.min(quiet) } else { stalled };
                (word.una, word.duplicates, word.sack_high, stalled)
            }
            None => {
                let stalled = if self.at_sender(view) { now - self.last_news_at } else { quiet };
                (self.una, self.duplicates, episode.sack_high, stalled)
            }
        };
        let open = |point: Option<u32>| point.is_some_and(|p| seq_lt(una, p));
        RetransmissionEvidence {
            silence: quiet,
            timer_age: if told.is_some() { stalled } else { age },
            since_advance: stalled,
            rtt: self.rtt.smoothed().map(whole),
            is_lowest_unacked: !seq_lt(una, s.seq),
            is_highest_sent: !seq_lt(end, self.next),
            was_sacked: seen.is_some_and(|e| e.sacked && (self.at_sender(view) || now - e.last_at > self.surely_told(view))),
            is_first_retransmission: match seen {
                Some(e) => e.transmissions == 1,
                None => !trouble.is_some_and(|t| t.repairs.iter().any(|r| r.start == s.seq)),
            },
            sacked_above: sack_high.is_some_and(|high| seq_lt(s.seq, high) && seq_lt(una, high)),
            dupacks: duplicates,
            dupacks_at_capture: self.duplicates,
            since_last_copy: seen.map(|e| now - e.last_at),
            min_feedback_time: if self.at_sender(view) { self.rtt.min() } else { view.turn },
            loss_shown: match told {
                Some((_, told)) => told.is_prompt(),
                None => trouble.zip(seen).is_some_and(|(t, e)| {
                    self.at_sender(view) && t.delivered.asks_for(e, &episode.acted_on, self.last_sent_at, self.patience(t))
                }),
            },
            follows_advance: match told {
                Some((_, told)) => told.is_news() && told.is_prompt(),
                None => self.at_sender(view) && now - self.last_news_at < AT_ONCE,
            },
            is_paced: episode.spaced > 3,
            previous_gap: if self.stamp_pause().is_none() { episode.gap } else { 0 },
            later_data_acked: trouble.zip(seen).filter(|_| self.at_sender(view)).map(|(t, e)| t.delivered.overtook(e)),
            after_timeout: open(episode.loss_point) || self.not_yet_heard(now, s.seq, view),
            in_recovery: open(episode.recovery_point),
            is_remote: !self.at_sender(view),
            was_captured: true,
            is_tracked: told.is_some(),
            timer_fired: trouble.is_some_and(|t| t.timer_fired),
            uses_tlp: trouble.and_then(|t| t.probes),
            small_initial_window: self.at_sender(view) && self.sending.as_ref().is_some_and(|sending| sending.small_start),
            sack: view.sack,
        }
    }

    /// What has passed on its way to the sender longer ago than this is no news to it, nanoseconds.
    fn surely_told(&self, view: &View) -> i64 {
        (view.longest_turn() * 2).saturating_add(100_000_000)
    }

    /// How long the sender had sent nothing before this, by its own clock.
    fn stamp_pause(&self) -> Option<i64> {
        self.sending.as_ref().and_then(|sending| sending.stamp_clock.pause())
    }

    /// How long a sender that goes by time waits for what was overtaken: a quarter of the least RTT, once more for each report that it was too
    /// hasty, at most an RTT (RFC 8985, section 6.2, step 4).
    fn patience(&self, trouble: &Trouble) -> i64 {
        let (least, (smoothed, _)) = (self.rtt.min().unwrap_or(0), self.rtt.smoothed().unwrap_or((0, 0)));
        (least / 4).saturating_mul(1 + i64::from(trouble.oddities().spurious.by_dsack)).min(smoothed)
    }

    /// The sender goes on behind its timeout for as long as the ACK that ended the repair is on its way to it.
    fn not_yet_heard(&self, now: i64, seq: u32, view: &View) -> bool {
        let Some((point, at)) = self.trouble.as_ref().and_then(|t| t.episode().repaired) else { return false };
        seq_lt(seq, point) && !self.at_sender(view) && now - at <= view.longest_turn() * 3 / 2
    }
}
