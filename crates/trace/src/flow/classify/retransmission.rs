//! Classification of a retransmission by what the sender had received when it sent: ACKs, SACK
//! blocks, and the time since. A table of rules; the first one that applies classifies.

use super::super::rules::{RULES, is_below_share, share_of};
use super::{Classification, KindRule, SegmentKind};

/// Evidence about a retransmission. Times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct RetransmissionEvidence {
    /// Time since the sender's last packet; with the capture at the sender, also since its last
    /// received packet.
    pub silence: i64,
    /// Time since the RTO timer was last started at the earliest: the last advancing ACK, or the
    /// segment's last transmission.
    pub timer_age: i64,
    /// Time since the last advancing ACK, with the capture at the sender. A retransmission does not
    /// restart a running timer (RFC 6298, section 5.1).
    pub since_advance: i64,
    /// SRTT and RTTVAR between sender and receiver; none before the first sample.
    pub rtt: Option<(i64, i64)>,
    /// The segment starts at SND.UNA.
    pub is_lowest_unacked: bool,
    /// The segment ends at SND.NXT.
    pub is_highest_sent: bool,
    /// The segment was SACKed, and the sender has received that SACK.
    pub was_sacked: bool,
    /// The segment was sent once before.
    pub is_first_retransmission: bool,
    /// Data above the segment was SACKed.
    pub sacked_above: bool,
    /// Duplicate ACKs that the sender received since the last advancing ACK.
    pub dupacks: u32,
    /// Duplicate ACKs that passed the capture since the last advancing ACK.
    pub dupacks_at_capture: u32,
    /// Time since the segment's previous copy; none if no copy was captured.
    pub since_last_copy: Option<i64>,
    /// Minimum time in which the sender can receive feedback about a segment.
    pub min_feedback_time: Option<i64>,
    /// The sender paces.
    pub is_paced: bool,
    /// Time between the two previous data packets.
    pub previous_gap: i64,
    /// Data sent after the segment's last copy was acknowledged (RFC 8985, section 6.2); none if
    /// the order of transmission is not known.
    pub later_data_acked: Option<bool>,
    /// The loss became detectable after the sender's last packet; with a remote capture: the
    /// segment was sent on receipt of an ACK.
    pub loss_shown: bool,
    /// The segment was sent on receipt of an advancing ACK.
    pub follows_advance: bool,
    /// The segment was sent on receipt of a SACK that reported new data, with the capture at the sender.
    pub follows_sack: bool,
    /// Data outstanding at the last RTO is not yet acknowledged.
    pub after_timeout: bool,
    /// The sender is in fast recovery.
    pub in_recovery: bool,
    /// The capture point is remote from the sender.
    pub is_remote: bool,
    /// A copy of the segment was captured before.
    pub was_captured: bool,
    /// The capture is remote, and what the sender had received is inferred from TSecr.
    pub is_tracked: bool,
    /// A timer has fired since the last advancing ACK.
    pub timer_fired: bool,
    /// Whether the sender uses tail loss probes; none if not known.
    pub uses_tlp: Option<bool>,
    /// The initial window was that of RFC 6928, or TSvals count milliseconds or less: the stack is not
    /// older than tail loss probes.
    pub is_modern: bool,
    /// SACK was negotiated, which tail loss probes require.
    pub sack: bool,
    /// The sender detects losses by time (RACK), as far as known: it is a modern one, in which the
    /// transmission of the lowest segment restarts the timer and SRTT adds to the minimum RTO.
    pub uses_rack: bool,
    /// The sender's stack is older than RACK: with SACK it retransmits nothing twice in a recovery but by
    /// newer data that arrived.
    pub predates_rack: bool,
}

/// A kind and its confidence, if the rule applies.
type Verdict = Option<(SegmentKind, f32)>;

/// A rule's name and the rule.
type Named = (KindRule, fn(&RetransmissionEvidence) -> Verdict);

/// The rules in the order of a sender's own code. The first one that applies classifies, so that each
/// may assume that those before it do not.
const RULES_IN_ORDER: [Named; 26] = [
    (KindRule::ThirdDupack, third_dupack),
    (KindRule::PartialAck, partial_ack),
    (KindRule::ReorderingTimer, reordering_timer),
    (KindRule::ProbeTimeout, probe_timeout),
    (KindRule::SilenceAboveUna, silence_above_una),
    (KindRule::LoneSegmentProbe, lone_segment_probe),
    (KindRule::RtoSilence, rto_silence),
    (KindRule::RtoBeforeFeedback, rto_before_feedback),
    (KindRule::ImpatientRto, impatient_rto),
    (KindRule::RepairBeforeFeedback, repair_before_feedback),
    (KindRule::RtoInRecovery, rto_in_recovery),
    (KindRule::RtoDue, rto_due),
    (KindRule::UntriggeredTooSoon, untriggered_too_soon),
    (KindRule::UntriggeredRto, untriggered_rto),
    (KindRule::RepairAfterRto, repair_after_rto),
    (KindRule::SackedAgain, sacked_again),
    (KindRule::SecondWithoutSack, second_without_sack),
    (KindRule::SecondBeforeRack, second_before_rack),
    (KindRule::LostRetransmission, lost_retransmission),
    (KindRule::AboveHighestSack, above_highest_sack),
    (KindRule::Dupthresh, dupthresh),
    (KindRule::InRecovery, in_recovery),
    (KindRule::SackedAbove, sacked_above),
    (KindRule::FewDupacks, few_dupacks),
    (KindRule::LaterDataAcked, later_data_acked),
    (KindRule::RemoteLowest, remote_lowest),
];

/// Confidence that an ACK triggered what looks like a timer's otherwise.
const ACK_CLOCKED: f32 = 0.7;
const UNEXPLAINED: f32 = 0.5;

/// Classifies a retransmission. At the sender no timer explains what an ACK explains that has just
/// arrived.
pub fn classify_retransmission(r: &RetransmissionEvidence) -> Classification {
    let first = RULES_IN_ORDER.iter().find_map(|(rule, apply)| {
        let (kind, confidence) = apply(r)?;
        Some(Classification::new(kind, confidence, *rule))
    });
    let likely = first.unwrap_or(Classification::new(SegmentKind::Unexplained, UNEXPLAINED, KindRule::Unexplained));
    let needs_timer = match likely.kind {
        SegmentKind::Timeout | SegmentKind::Unexplained => true,
        SegmentKind::GoBackN => r.uses_rack && !r.after_timeout,
        _ => false,
    };
    if needs_timer && r.is_ack_clocked() {
        let kind = if r.after_timeout { SegmentKind::GoBackN } else { r.triggered_kind() };
        return Classification::new(kind, ACK_CLOCKED, KindRule::AckClocked);
    }
    likely
}

// The rules. `KindRule` has what each concludes, and its source.

fn third_dupack(r: &RetransmissionEvidence) -> Verdict {
    let has_arrived = r.dupacks == RULES.dupthresh && !r.is_remote && r.silence < RULES.max_ack_delay;
    (r.is_lowest_unacked && !r.after_timeout && has_arrived).then_some((SegmentKind::Fast, 0.95))
}

fn partial_ack(r: &RetransmissionEvidence) -> Verdict {
    let has_arrived = r.in_recovery && r.follows_advance && !r.is_second_before_rack();
    (r.is_lowest_unacked && !r.after_timeout && has_arrived).then_some((SegmentKind::Fast, 0.95))
}

fn reordering_timer(r: &RetransmissionEvidence) -> Verdict {
    let marks_any = !r.is_remote && r.sack && r.in_recovery && r.later_data_acked == Some(true);
    (r.is_timer_driven() && !r.is_lowest_unacked && marks_any).then_some((r.triggered_kind(), 0.8))
}

fn probe_timeout(r: &RetransmissionEvidence) -> Verdict {
    let is_last = r.is_timer_driven() && !r.is_lowest_unacked && r.is_highest_sent;
    (is_last && r.is_probe_allowed()).then_some((SegmentKind::TailProbe, 0.97))
}

fn silence_above_una(r: &RetransmissionEvidence) -> Verdict {
    (r.is_timer_driven() && !r.is_lowest_unacked).then_some((SegmentKind::GoBackN, 0.5))
}

/// The only outstanding segment is both the first and the last: probe and RTO look alike.
fn lone_segment_probe(r: &RetransmissionEvidence) -> Verdict {
    let may_probe = r.sack && r.is_first_retransmission && r.uses_tlp.unwrap_or(r.is_modern) && r.is_probe_allowed();
    let confidence = if r.uses_tlp == Some(true) { 0.9 } else { 0.7 };
    (r.is_timer_driven() && r.is_highest_sent && may_probe).then_some((SegmentKind::TailProbe, confidence))
}

fn rto_silence(r: &RetransmissionEvidence) -> Verdict {
    let confidence = if r.timer_age >= share_of(r.rto(), RULES.certain_rto) { 0.97 } else { 0.8 };
    r.is_timer_driven().then_some((SegmentKind::Timeout, confidence))
}

fn rto_before_feedback(r: &RetransmissionEvidence) -> Verdict {
    (r.has_no_feedback() && r.is_lowest_unacked && !r.after_timeout).then_some((SegmentKind::Timeout, 0.9))
}

fn impatient_rto(r: &RetransmissionEvidence) -> Verdict {
    let is_due = r.since_advance >= share_of(r.rto(), RULES.impatient_rto);
    (r.has_no_feedback() && r.is_lowest_unacked && is_due).then_some((SegmentKind::Timeout, 0.9))
}

fn repair_before_feedback(r: &RetransmissionEvidence) -> Verdict {
    r.has_no_feedback().then_some((SegmentKind::GoBackN, if r.after_timeout { 0.95 } else { 0.7 }))
}

/// RACK's reordering timer waits for a quarter of the minimum RTT.
fn rto_in_recovery(r: &RetransmissionEvidence) -> Verdict {
    let is_second = !r.is_first_retransmission && r.is_lowest_unacked;
    let is_silent = r.silence > RULES.min_timer_silence.max(share_of(r.srtt(), RULES.reordering_window));
    let has_waited = !r.is_tracked || r.since_advance >= r.min_timer_wait();
    let has_trigger = r.is_triggered_late() || r.is_shown_before_rto();
    (is_second && !has_trigger && has_waited && is_silent).then_some((SegmentKind::Timeout, 0.7))
}

/// Duplicate ACKs may still arrive when the RTO expires, and leave little silence. A retransmission that
/// they trigger is sent with the first of them.
fn rto_due(r: &RetransmissionEvidence) -> Verdict {
    let many = r.dupacks >= RULES.many_dupacks;
    let has_pause = r.silence >= RULES.max_ack_delay;
    // Silence of a sender that does not pace implies a timer, with either definition of the minimum
    // RTO.
    let due = if has_pause && !r.is_paced && !r.is_remote { r.min_rto() } else { r.rto() };
    // A triggered retransmission that is sent late was paced, unless the RTO is due at that time.
    let is_triggered = r.loss_shown
        && (r.is_tracked
            || !has_pause
            || r.since_last_copy.is_none_or(|since| share_of(due, RULES.paced_beyond_rto) < r.since_advance.min(since)));
    let run = if r.uses_rack { r.since_advance.min(r.since_last_copy.unwrap_or(i64::MAX)) } else { r.since_advance };
    let is_due = run >= share_of(due, if r.is_tracked { RULES.remote_due_rto } else { RULES.due_rto });
    let has_no_trigger = has_pause || many && r.since_advance < share_of(r.rto(), RULES.overdue_rto);
    let is_possible = many || !r.is_first_retransmission || r.uses_rack && r.after_timeout;
    (r.is_lowest_unacked && !is_triggered && !r.is_shown_before_rto() && is_due && has_no_trigger && is_possible)
        .then_some((SegmentKind::Timeout, 0.8))
}

fn untriggered_too_soon(r: &RetransmissionEvidence) -> Verdict {
    let is_too_soon = r.is_too_soon_for_rto() && r.dupacks_at_capture <= 1;
    (r.is_lowest_untriggered() && is_too_soon).then_some((SegmentKind::GoBackN, 0.7))
}

fn untriggered_rto(r: &RetransmissionEvidence) -> Verdict {
    (r.is_lowest_untriggered() && !r.is_too_soon_for_rto()).then_some((SegmentKind::Timeout, 0.8))
}

fn repair_after_rto(r: &RetransmissionEvidence) -> Verdict {
    r.after_timeout.then_some((SegmentKind::GoBackN, if r.in_recovery { 0.7 } else { 0.95 }))
}

fn sacked_again(r: &RetransmissionEvidence) -> Verdict {
    r.was_sacked.then_some((SegmentKind::GoBackN, if r.in_recovery { 0.7 } else { 0.95 }))
}

fn second_without_sack(r: &RetransmissionEvidence) -> Verdict {
    let is_second = !r.is_first_retransmission && r.is_lowest_unacked;
    (!r.sack && is_second && !r.is_too_soon_for_rto()).then_some((SegmentKind::Timeout, 0.8))
}

fn second_before_rack(r: &RetransmissionEvidence) -> Verdict {
    let kind = if r.follows_advance || !r.is_lowest_unacked { SegmentKind::GoBackN } else { SegmentKind::Timeout };
    (r.is_second_before_rack() && r.in_recovery).then_some((kind, 0.7))
}

fn lost_retransmission(r: &RetransmissionEvidence) -> Verdict {
    (!r.is_first_retransmission && (r.sacked_above || r.in_recovery)).then_some((SegmentKind::Rack, 0.85))
}

/// RACK retransmits such a segment also when a retransmission was delivered that was sent later.
fn above_highest_sack(r: &RetransmissionEvidence) -> Verdict {
    let is_above = !r.sacked_above && !r.is_lowest_unacked && !r.is_highest_sent;
    let is_old = !r.is_remote && r.sack && r.predates_rack;
    (is_old && r.in_recovery && is_above && r.later_data_acked == Some(false)).then_some((SegmentKind::GoBackN, 0.7))
}

fn dupthresh(r: &RetransmissionEvidence) -> Verdict {
    (r.dupacks >= RULES.dupthresh).then_some((SegmentKind::Fast, if r.sacked_above { 0.99 } else { 0.95 }))
}

fn in_recovery(r: &RetransmissionEvidence) -> Verdict {
    r.in_recovery.then_some((SegmentKind::Fast, if r.sacked_above { 0.99 } else { 0.95 }))
}

fn sacked_above(r: &RetransmissionEvidence) -> Verdict {
    r.sacked_above.then_some((SegmentKind::Fast, 0.9))
}

fn few_dupacks(r: &RetransmissionEvidence) -> Verdict {
    (r.dupacks > 0 && r.is_lowest_unacked).then_some((SegmentKind::Fast, 0.6))
}

/// The data that was sent later may have been a retransmission itself.
fn later_data_acked(r: &RetransmissionEvidence) -> Verdict {
    (r.sack && r.later_data_acked == Some(true)).then_some((r.triggered_kind(), 0.8))
}

fn remote_lowest(r: &RetransmissionEvidence) -> Verdict {
    (r.is_remote && r.is_lowest_unacked && r.was_captured).then_some((SegmentKind::Timeout, 0.6))
}

/// Quantities and conditions that several rules share.
impl RetransmissionEvidence {
    fn srtt(&self) -> i64 {
        self.rtt.map_or(RULES.common_rto_min, |(smoothed, _)| smoothed)
    }

    /// RTO by RFC 6298, section 2, with the common minimum applied to the variance term, as in Linux.
    fn rto(&self) -> i64 {
        self.srtt() + self.rtt.map_or(0, |(_, deviation)| 4 * deviation).max(RULES.common_rto_min)
    }

    /// RTO by RFC 6298, section 2, with the common minimum applied to the sum.
    fn min_rto(&self) -> i64 {
        if self.uses_rack {
            return self.rto();
        }
        (self.srtt() + self.rtt.map_or(0, |(_, deviation)| 4 * deviation)).max(RULES.common_rto_min)
    }

    /// With a remote capture: minimum time without an advancing ACK that implies an RTO. Three RTTs
    /// imply a timer however its minimum is defined. SRTT at the capture has the queues of the last packets;
    /// those of the sender have drained when it was silent for an SRTT, so that the minimum RTT counts.
    fn min_timer_wait(&self) -> i64 {
        let drained = self.min_feedback_time.filter(|_| self.silence >= self.srtt()).unwrap_or(self.srtt());
        share_of(self.rto(), RULES.remote_rto)
            .min(share_of(RULES.common_rto_min, RULES.remote_rto_min).max(RULES.remote_rto_srtts * drained))
    }

    /// Kind of a retransmission that ACKs trigger.
    fn triggered_kind(&self) -> SegmentKind {
        if self.is_first_retransmission { SegmentKind::Fast } else { SegmentKind::Rack }
    }

    /// An ACK that can trigger the segment has just reached the sender: it advances, reports new data by
    /// SACK, or is the third duplicate.
    fn is_ack_clocked(&self) -> bool {
        let third = self.is_lowest_unacked && self.dupacks == RULES.dupthresh;
        !self.is_remote && self.silence < RULES.max_ack_delay && (self.follows_advance || self.follows_sack || third)
    }

    /// A timer drives the retransmission: a silence precedes it, or nothing can have triggered it for most
    /// of an RTO. D-SACKs and other ACKs that do not advance interrupt the silence without triggering a
    /// retransmission.
    fn is_timer_driven(&self) -> bool {
        let no_trigger = !self.sacked_above && self.dupacks < RULES.dupthresh && !self.in_recovery && !self.after_timeout;
        let is_due = no_trigger && self.timer_age >= share_of(self.rto(), RULES.untriggered_rto);
        (is_due || self.follows_silence()) && !self.is_triggered_late()
    }

    fn follows_silence(&self) -> bool {
        if self.is_tracked {
            // Pauses in the sender's incoming ACKs are not captured, and a slow link spaces its
            // packets.
            let spaced = share_of(self.previous_gap.min(i64::MAX / 4), RULES.timer_silence_gap);
            return self.is_lowest_unacked
                && !self.loss_shown
                && self.silence >= RULES.min_timer_silence.max(spaced)
                && self.since_advance >= self.min_timer_wait();
        }
        self.silence >= RULES.min_timer_silence.max(share_of(self.srtt(), RULES.timer_silence_srtt))
            && self.timer_age >= share_of(self.srtt(), RULES.min_timer_age)
    }

    /// No probe is due before the repair after an RTO is complete, nor twice (RFC 8985, section 7.2).
    fn is_probe_allowed(&self) -> bool {
        !self.timer_fired && !self.after_timeout
    }

    /// No feedback about the last copy can have arrived yet, or nothing sent after the last
    /// retransmission was acknowledged.
    fn has_no_feedback(&self) -> bool {
        let times = self.since_last_copy.zip(self.min_feedback_time);
        let precedes = times.is_some_and(|(since, min)| is_below_share(since, min, RULES.min_feedback));
        precedes && self.later_data_acked != Some(true) || !self.is_first_retransmission && self.later_data_acked == Some(false)
    }

    /// With the capture at the sender: the loss was detectable and the RTO is not due yet, so the
    /// segment was sent late because of pacing or RACK's reordering timer, which takes SRTT at most.
    fn is_triggered_late(&self) -> bool {
        let max_window = share_of(self.srtt(), RULES.max_reordering_window);
        let by_reordering_timer =
            self.sack && self.sacked_above && self.later_data_acked == Some(true) && self.silence <= max_window;
        let run = self.since_advance.min(self.since_last_copy.unwrap_or(i64::MAX));
        !self.is_remote && (self.loss_shown || by_reordering_timer) && run < share_of(self.min_rto(), RULES.paced_rto)
    }

    /// The loss was detectable, and the RTO cannot expire now.
    fn is_shown_before_rto(&self) -> bool {
        self.loss_shown && !self.is_remote && !self.can_expire()
    }

    /// The retransmission timer can expire now: it runs since the last advancing ACK, or since the
    /// segment's last copy, which restarts it in Linux.
    fn can_expire(&self) -> bool {
        let min = share_of(self.min_rto(), RULES.due_rto);
        self.since_last_copy.is_none_or(|since| since >= min)
            || !self.uses_rack && (min..=share_of(self.rto(), RULES.overdue_rto)).contains(&self.since_advance)
    }

    /// Every ACK that can have reached the sender has passed the capture: without SACK a fast
    /// retransmission takes three duplicate ACKs.
    fn is_lowest_untriggered(&self) -> bool {
        let has_dupacks = self.dupacks.max(self.dupacks_at_capture) >= RULES.dupthresh;
        self.is_tracked && self.is_lowest_unacked && !self.after_timeout && !self.sack && !self.in_recovery && !has_dupacks
    }

    /// No RTO is shorter than the common minimum.
    fn is_too_soon_for_rto(&self) -> bool {
        self.is_tracked && self.since_advance < share_of(RULES.common_rto_min, RULES.remote_rto_min)
    }

    /// A further copy from a remote stack that retransmits nothing twice in a recovery.
    fn is_second_before_rack(&self) -> bool {
        self.is_remote && self.sack && self.predates_rack && !self.is_first_retransmission
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classify_retransmission_does_not_overflow_when_times_are_maximal() {
        // The first packet of a capture: no earlier packet of the sender.
        let first = RetransmissionEvidence {
            silence: i64::MAX,
            timer_age: i64::MAX,
            since_advance: i64::MAX,
            rtt: None,
            is_lowest_unacked: true,
            is_highest_sent: false,
            was_sacked: false,
            is_first_retransmission: true,
            sacked_above: false,
            dupacks: 0,
            dupacks_at_capture: 0,
            since_last_copy: None,
            min_feedback_time: None,
            is_paced: false,
            previous_gap: i64::MAX,
            later_data_acked: None,
            loss_shown: false,
            follows_advance: false,
            follows_sack: false,
            after_timeout: false,
            in_recovery: false,
            is_remote: true,
            was_captured: false,
            is_tracked: true,
            timer_fired: false,
            uses_tlp: None,
            is_modern: false,
            sack: true,
            uses_rack: false,
            predates_rack: false,
        };
        assert_eq!(classify_retransmission(&first).kind, SegmentKind::Timeout);
        assert_eq!(
            classify_retransmission(&RetransmissionEvidence { is_lowest_unacked: false, is_highest_sent: true, ..first }).kind,
            SegmentKind::TailProbe
        );
    }
}
