//! A sender's packet numbers in the IP header: what they tell of packets that the capture has not seen.

use super::half::Half;
use super::sending::Ids;
use super::view::View;
use crate::decode::{Flags, Segment};
use crate::flow::classify::{Classification, SegmentKind};

/// A larger step of the packet number says nothing: another host behind the address, or a new start.
const MOST_UNSEEN: u16 = 2048;

impl Half {
    /// By how much the last packet's number was above the highest before it; one if nothing is known of it.
    #[inline]
    pub(super) fn id_step(&self) -> i16 {
        self.sending.as_ref().map_or(1, |sending| sending.ids.step)
    }

    /// Learns whether this sender counts its packets in the IP header, and how many of them have not been seen.
    #[inline]
    pub(super) fn watch_ids(&mut self, s: &Segment<'_>) {
        let Some(id) = s.ip_id else { return };
        // A SYN with ACK often carries zero; it says nothing about the rest.
        if s.flags.has(Flags::SYN) {
            return;
        }
        let consumed = if s.payload > u32::from(self.mss) { self.segments_in(s.payload, s.header_len) as u16 } else { 1 };
        let Some(sending) = self.sending.as_deref_mut() else { return };
        let ids = &mut sending.ids;
        let step = id.wrapping_sub(ids.last);
        ids.step = if ids.seen > 0 { step as i16 } else { 1 };
        ids.seen += 1;
        ids.up += u16::from((1..=64).contains(&step));
        if self.trouble.as_ref().is_none_or(|t| t.is_calm(self.una)) {
            ids.calm += 1;
            ids.by_one += u16::from(step == 1);
        }
        if ids.seen == 1 || (1..=MOST_UNSEEN).contains(&step) {
            if ids.seen > 1 && step > 1 {
                ids.unseen += i32::from(step - 1);
                if self.trouble.as_ref().is_some_and(|t| t.episode().loss_point.is_some()) {
                    ids.unseen_after_timeout += u32::from(step - 1);
                }
            }
            ids.last = id.wrapping_add(consumed - 1);
        } else if step.wrapping_neg() > MOST_UNSEEN {
            ids.last = id.wrapping_add(consumed - 1);
        } else if s.payload == 0 {
            // An acknowledgement that was overtaken is not missing any more. Data is settled by its hole.
            ids.unseen -= 1;
        }
        if ids.seen >= 1 << 15 {
            (ids.seen, ids.up) = (ids.seen / 2, ids.up / 2);
            (ids.calm, ids.by_one) = (ids.calm / 2, ids.by_one / 2);
        }
    }

    /// The sender's packet numbers tell of packets that never came by. New data settles the account: what the hole before it
    /// does not explain was sent again and lost. Pure ACKs are numbered too, so a sender of many of them says nothing.
    #[inline]
    pub(super) fn settle_unseen(&mut self, missing: u32, other: &Half) {
        if missing == 0 && self.sending.as_ref().is_some_and(|sending| sending.ids.unseen <= 0) {
            return;
        }
        self.settle_some_unseen(missing, other);
    }

    #[inline(never)]
    fn settle_some_unseen(&mut self, missing: u32, other: &Half) {
        let many_acks = u64::from(self.counts.pure_acks) * 10;
        let pending = self.trouble.as_ref().is_some_and(|t| t.episode().is_resumed(self.next));
        let sending = self.sending_mut();
        let ids = &mut sending.ids;
        ids.unseen = ids.unseen.saturating_sub(missing.min(1 << 20) as i32);
        // The account stays open while what was lost with its first copy comes again.
        if pending || ids.unseen <= 0 || !ids.number_alone() || many_acks > u64::from(sending.amounts.segments) {
            return;
        }
        self.book_unseen(other);
    }

    #[cold]
    fn book_unseen(&mut self, other: &Half) {
        if self.at_sender(&View::of(self, other)) {
            return;
        }
        let ids = &mut self.sending_mut().ids;
        let lost = ids.unseen as u32;
        let behind = lost.min(ids.unseen_after_timeout);
        (ids.unseen, ids.unseen_after_timeout) = (0, 0);
        self.counts.retransmitted = self.counts.retransmitted.saturating_add(lost);
        let trouble = self.trouble_mut();
        trouble.tally.add(Classification::new(SegmentKind::GoBackN, 0.6), behind);
        trouble.tally.add(Classification::new(SegmentKind::Fast, 0.6), lost - behind);
        trouble.oddities_mut().unseen_again += lost;
    }

    /// Gaps in the numbers are missing data: they count this connection's packets, and hardly any of those are pure ACKs.
    pub(super) fn numbers_data(&self) -> bool {
        let acks = u64::from(self.counts.pure_acks) * 10;
        self.sending.as_ref().is_some_and(|s| s.ids.number_alone() && acks <= u64::from(s.amounts.segments))
    }

    /// This sender numbers its packets upwards.
    pub(super) fn counts_ids(&self) -> bool {
        self.sending.as_ref().is_some_and(|s| s.ids.seen >= 8 && u32::from(s.ids.up) * 10 >= u32::from(s.ids.seen) * 8)
    }
}

impl Ids {
    /// This connection's packets have a numbering of their own, without gaps while nothing is lost. A host that numbers all its packets
    /// in one sequence has gaps whenever it talks to somebody else.
    #[inline]
    pub(super) fn number_alone(&self) -> bool {
        self.calm >= 64 && u32::from(self.by_one) * 10 >= u32::from(self.calm) * 9
    }
}
