//! A sender's packet numbers in the IP header: what they tell of packets that the capture has not seen.

use super::half::Half;
use super::view::View;
use crate::cause::{Cause, Verdict};
use crate::decode::{Flags, Segment};

/// A larger step of the packet number says nothing: another host behind the address, or a new start.
const MOST_UNSEEN: u16 = 2048;

impl Half {
    /// Learns whether this sender counts its packets in the IP header, and how many of them have not been seen.
    #[inline]
    pub(super) fn watch_ids(&mut self, s: &Segment<'_>) {
        let Some(id) = s.ip_id else { return };
        // A SYN with ACK often carries zero; it says nothing about the rest.
        if s.flags.has(Flags::SYN) {
            return;
        }
        let step = id.wrapping_sub(self.last_id);
        let consumed = if s.payload > self.mss { self.segments_in(s.payload, s.header_len) as u16 } else { 1 };
        self.ids_seen += 1;
        self.ids_up += u32::from((1..=64).contains(&step));
        if self.trouble.as_ref().is_none_or(|t| t.is_calm(self.una)) {
            self.ids_calm += 1;
            self.ids_by_one += u32::from(step == 1);
        }
        if self.ids_seen == 1 || (1..=MOST_UNSEEN).contains(&step) {
            if self.ids_seen > 1 && step > 1 {
                self.unseen += i32::from(step - 1);
                if self.trouble.as_ref().is_some_and(|t| t.loss_point.is_some()) {
                    self.unseen_after_timeout += u32::from(step - 1);
                }
            }
            self.last_id = id.wrapping_add(consumed - 1);
        } else if step.wrapping_neg() > MOST_UNSEEN {
            self.last_id = id.wrapping_add(consumed - 1);
        } else if s.payload == 0 {
            // An acknowledgement that was overtaken is not missing any more. Data is settled by its hole.
            self.unseen -= 1;
        }
        if self.ids_seen >= 1 << 20 {
            (self.ids_seen, self.ids_up) = (self.ids_seen / 2, self.ids_up / 2);
            (self.ids_calm, self.ids_by_one) = (self.ids_calm / 2, self.ids_by_one / 2);
        }
    }

    /// The sender's packet numbers tell of packets that never came by. New data settles the account: what the hole before it
    /// does not explain was sent again and lost. Pure ACKs are numbered too, so a sender of many of them says nothing.
    #[inline]
    pub(super) fn settle_unseen(&mut self, missing: u32, other: &Half) {
        self.unseen = self.unseen.saturating_sub(missing.min(1 << 20) as i32);
        if self.unseen <= 0 || !self.numbers_alone() || self.counts.pure_acks * 10 > self.counts.segments {
            return;
        }
        if self.at_sender(&View::of(self, other)) {
            return;
        }
        let lost = self.unseen as u32;
        let behind = lost.min(self.unseen_after_timeout);
        (self.unseen, self.unseen_after_timeout) = (0, 0);
        self.counts.retransmitted += u64::from(lost);
        let trouble = self.trouble_mut();
        trouble.tally.add(Verdict::new(Cause::GoBackN, 0.6), behind);
        trouble.tally.add(Verdict::new(Cause::Fast, 0.6), lost - behind);
        trouble.unseen_again += lost;
    }
}
