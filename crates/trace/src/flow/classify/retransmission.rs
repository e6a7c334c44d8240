//! Classification of a retransmission by what the sender had received when it sent: ACKs, SACK
//! blocks, and the time since.

use super::super::rules::{RULES, is_below_share, share_of};
use super::{Classification, SegmentKind};

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

/// Classifies a retransmission. At the sender no timer explains what an ACK explains that has just
/// arrived.
pub fn classify_retransmission(r: &RetransmissionEvidence) -> Classification {
    let likely = classify_by_sender(r);
    let needs_timer = match likely.kind {
        SegmentKind::Timeout | SegmentKind::Unexplained => true,
        SegmentKind::GoBackN => r.uses_rack && !r.after_timeout,
        _ => false,
    };
    match needs_timer && is_ack_clocked(r) {
        true => {
            let triggered = if r.is_first_retransmission { SegmentKind::Fast } else { SegmentKind::Rack };
            Classification::new(if r.after_timeout { SegmentKind::GoBackN } else { triggered }, ACK_CLOCKED)
        }
        false => likely,
    }
}

/// Confidence that an ACK triggered what looks like a timer's otherwise.
const ACK_CLOCKED: f32 = 0.7;

/// An ACK that can trigger the segment has just reached the sender: it advances, reports new data by
/// SACK, or is the third duplicate.
fn is_ack_clocked(r: &RetransmissionEvidence) -> bool {
    let third = r.is_lowest_unacked && r.dupacks == RULES.dupthresh;
    !r.is_remote && r.silence < RULES.max_ack_delay && (r.follows_advance || r.follows_sack || third)
}

/// The order of the rules follows a sender's own code.
fn classify_by_sender(r: &RetransmissionEvidence) -> Classification {
    let srtt = r.rtt.map_or(RULES.common_rto_min, |(smoothed, _)| smoothed);
    if follows_trigger(r) {
        return Classification::new(SegmentKind::Fast, 0.95);
    }
    let paced = is_paced(r, srtt);
    let spaced = share_of(r.previous_gap.min(i64::MAX / 4), RULES.timer_silence_gap);
    let by_timer = match r.is_tracked {
        // Pauses in the sender's incoming ACKs are not captured, and a slow link spaces its
        // packets.
        true => {
            r.is_lowest_unacked
                && !r.loss_shown
                && r.silence >= RULES.min_timer_silence.max(spaced)
                && r.since_advance >= min_timer_wait(r, srtt)
        }
        false => {
            r.silence >= RULES.min_timer_silence.max(share_of(srtt, RULES.timer_silence_srtt))
                && r.timer_age >= share_of(srtt, RULES.min_timer_age)
        }
    };
    // D-SACKs and other ACKs that do not advance interrupt the silence without triggering a
    // retransmission.
    let no_trigger = !r.sacked_above && r.dupacks < RULES.dupthresh && !r.in_recovery && !r.after_timeout;
    let by_timer = by_timer || no_trigger && r.timer_age >= share_of(rto(r, srtt), RULES.untriggered_rto);
    if by_timer && !paced {
        return classify_timer(r, srtt);
    }
    // No feedback about the last copy can have arrived yet, or nothing sent after the last
    // retransmission was acknowledged: an RTO has marked all outstanding data lost.
    let precedes_feedback =
        r.since_last_copy.zip(r.min_feedback_time).is_some_and(|(since, min)| is_below_share(since, min, RULES.min_feedback));
    let precedes_feedback = precedes_feedback && r.later_data_acked != Some(true);
    if precedes_feedback || !r.is_first_retransmission && r.later_data_acked == Some(false) {
        // The RTO timer may run since the start of recovery (RFC 6582, section 4, impatient
        // variant).
        return match r.is_lowest_unacked && (!r.after_timeout || r.since_advance >= share_of(rto(r, srtt), RULES.impatient_rto)) {
            true => Classification::new(SegmentKind::Timeout, 0.9),
            false => Classification::new(SegmentKind::GoBackN, if r.after_timeout { 0.95 } else { 0.7 }),
        };
    }
    // The loss was detectable, and the RTO cannot expire now.
    let shown_before_rto = r.loss_shown && !r.is_remote && !can_expire(r, srtt);
    // The lowest outstanding segment is retransmitted a second time without an ACK that triggers
    // it: an RTO during recovery (RFC 6582, section 4, impatient variant). RACK's reordering timer
    // waits for a quarter of the minimum RTT.
    if !r.is_first_retransmission
        && r.is_lowest_unacked
        && !paced
        && !shown_before_rto
        && (!r.is_tracked || r.since_advance >= min_timer_wait(r, srtt))
        && r.silence > RULES.min_timer_silence.max(share_of(srtt, RULES.reordering_window))
    {
        return Classification::new(SegmentKind::Timeout, 0.7);
    }
    // Duplicate ACKs may still arrive when the RTO expires, and leave little silence. A
    // retransmission that they trigger is sent with the first of them.
    let many = r.dupacks >= RULES.many_dupacks;
    // Silence of a sender that does not pace implies a timer, with either definition of the minimum
    // RTO.
    let due = if r.silence >= RULES.max_ack_delay && !r.is_paced && !r.is_remote { min_rto(r, srtt) } else { rto(r, srtt) };
    let no_trigger = r.silence >= RULES.max_ack_delay || many && r.since_advance < share_of(rto(r, srtt), RULES.overdue_rto);
    // A triggered retransmission that is sent late was paced, unless the RTO is due at that time.
    let triggered = r.loss_shown
        && (r.is_tracked
            || r.silence < RULES.max_ack_delay
            || r.since_last_copy.is_none_or(|since| share_of(due, RULES.paced_beyond_rto) < r.since_advance.min(since)));
    let timer_run = if r.uses_rack { r.since_advance.min(r.since_last_copy.unwrap_or(i64::MAX)) } else { r.since_advance };
    if r.is_lowest_unacked
        && !triggered
        && !shown_before_rto
        && timer_run >= share_of(due, if r.is_tracked { RULES.remote_due_rto } else { RULES.due_rto })
        && no_trigger
        && (many || !r.is_first_retransmission || r.uses_rack && r.after_timeout)
    {
        return Classification::new(SegmentKind::Timeout, 0.8);
    }
    // Every ACK that can have reached the sender has passed the capture: without SACK a fast
    // retransmission takes three duplicate ACKs.
    let has_trigger = r.sack || r.in_recovery || r.dupacks.max(r.dupacks_at_capture) >= RULES.dupthresh;
    // No RTO is shorter than the common minimum.
    let too_soon = r.is_tracked && r.since_advance < share_of(RULES.common_rto_min, RULES.remote_rto_min);
    if r.is_tracked && r.is_lowest_unacked && !r.after_timeout && !has_trigger && !(too_soon && r.dupacks_at_capture > 1) {
        // Too soon for an RTO it follows one that was not captured.
        return match too_soon {
            true => Classification::new(SegmentKind::GoBackN, 0.7),
            false => Classification::new(SegmentKind::Timeout, 0.8),
        };
    }
    if r.after_timeout || r.was_sacked {
        // Only an RTO makes a sender discard SACK information (RFC 2018, section 8). After it all
        // outstanding data is retransmitted in order, or with SACK only the gaps.
        return Classification::new(SegmentKind::GoBackN, if r.in_recovery { 0.7 } else { 0.95 });
    }
    // Without SACK only a timer retransmits the lowest outstanding segment twice (RFC 6582, section
    // 3.2).
    if !r.sack && !r.is_first_retransmission && r.is_lowest_unacked && !too_soon {
        return Classification::new(SegmentKind::Timeout, 0.8);
    }
    // Nothing is retransmitted again in such a recovery (RFC 6675, section 5): an RTO had been sent, and
    // was lost before the capture, or this is the RTO.
    if r.is_remote && r.sack && r.predates_rack && !r.is_first_retransmission && r.in_recovery {
        let kind = if r.follows_advance || !r.is_lowest_unacked { SegmentKind::GoBackN } else { SegmentKind::Timeout };
        return Classification::new(kind, 0.7);
    }
    if !r.is_first_retransmission && (r.sacked_above || r.in_recovery) {
        return Classification::new(SegmentKind::Rack, 0.85);
    }
    // Segments above the highest SACK block are retransmitted only if all outstanding data is
    // marked lost. RACK retransmits them also when a retransmission was delivered that was sent later.
    if !r.is_remote
        && r.sack
        && r.predates_rack
        && r.in_recovery
        && !r.sacked_above
        && r.later_data_acked == Some(false)
        && !r.is_lowest_unacked
        && !r.is_highest_sent
    {
        return Classification::new(SegmentKind::GoBackN, 0.7);
    }
    if r.dupacks >= RULES.dupthresh || r.in_recovery {
        return Classification::new(SegmentKind::Fast, if r.sacked_above { 0.99 } else { 0.95 });
    }
    if r.sacked_above {
        // Fewer than three duplicate ACKs, but SACK blocks: of three segments, or by time (RACK).
        return Classification::new(SegmentKind::Fast, 0.9);
    }
    if r.dupacks > 0 && r.is_lowest_unacked {
        return Classification::new(SegmentKind::Fast, 0.6);
    }
    if r.sack && r.later_data_acked == Some(true) {
        // Data sent later was delivered (RACK); it may have been a retransmission itself.
        return Classification::new(if r.is_first_retransmission { SegmentKind::Fast } else { SegmentKind::Rack }, 0.8);
    }
    if r.is_remote && r.is_lowest_unacked && r.was_captured {
        return Classification::new(SegmentKind::Timeout, 0.6);
    }
    Classification::new(SegmentKind::Unexplained, 0.5)
}

/// Classifies a timer-driven retransmission: a tail loss probe sends the last segment, an RTO the
/// first.
fn classify_timer(r: &RetransmissionEvidence, srtt: i64) -> Classification {
    if !r.is_lowest_unacked {
        // No probe is due before the repair after an RTO is complete (RFC 8985, section 7.2).
        let probe = r.is_highest_sent && !r.timer_fired && !r.after_timeout;
        // RACK's reordering timer marks any segment lost.
        let by_reordering_timer = !r.is_remote && r.sack && r.in_recovery && r.later_data_acked == Some(true);
        return if by_reordering_timer {
            Classification::new(if r.is_first_retransmission { SegmentKind::Fast } else { SegmentKind::Rack }, 0.8)
        } else if probe {
            Classification::new(SegmentKind::TailProbe, 0.97)
        } else {
            Classification::new(SegmentKind::GoBackN, 0.5)
        };
    }
    if r.is_highest_sent
        && r.sack
        && !r.timer_fired
        && r.is_first_retransmission
        && r.uses_tlp.unwrap_or(r.is_modern)
        && !r.after_timeout
    {
        // The first outstanding segment is also the last: probe and RTO look alike.
        let confidence = if r.uses_tlp == Some(true) { 0.9 } else { 0.7 };
        return Classification::new(SegmentKind::TailProbe, confidence);
    }
    Classification::new(SegmentKind::Timeout, if r.timer_age >= share_of(rto(r, srtt), RULES.certain_rto) { 0.97 } else { 0.8 })
}

/// True if the trigger has just arrived: the third duplicate ACK (RFC 5681, section 3.2), or in
/// recovery a partial ACK (RFC 6582, section 3.2).
fn follows_trigger(r: &RetransmissionEvidence) -> bool {
    let third = r.dupacks == RULES.dupthresh && !r.is_remote && r.silence < RULES.max_ack_delay;
    let partial = r.in_recovery && r.follows_advance && !(r.is_remote && r.sack && r.predates_rack && !r.is_first_retransmission);
    r.is_lowest_unacked && !r.after_timeout && (third || partial)
}

/// With the capture at the sender: the loss was detectable and the RTO is not due yet, so the
/// segment was sent late because of pacing or RACK's reordering timer, which takes SRTT at most.
fn is_paced(r: &RetransmissionEvidence, srtt: i64) -> bool {
    let max_window = share_of(srtt, RULES.max_reordering_window);
    let by_reordering_timer = r.sack && r.sacked_above && r.later_data_acked == Some(true) && r.silence <= max_window;
    !r.is_remote
        && (r.loss_shown || by_reordering_timer)
        && r.since_advance.min(r.since_last_copy.unwrap_or(i64::MAX)) < share_of(min_rto(r, srtt), RULES.paced_rto)
}

/// The retransmission timer can expire now: it runs since the last advancing ACK, or since the
/// segment's last copy, which restarts it in Linux.
fn can_expire(r: &RetransmissionEvidence, srtt: i64) -> bool {
    let min = share_of(min_rto(r, srtt), RULES.due_rto);
    r.since_last_copy.is_none_or(|since| since >= min)
        || !r.uses_rack && (min..=share_of(rto(r, srtt), RULES.overdue_rto)).contains(&r.since_advance)
}

/// With a remote capture: minimum time without an advancing ACK that implies an RTO. Three RTTs
/// imply a timer however its minimum is defined. SRTT at the capture has the queues of the last packets;
/// those of the sender have drained when it was silent for an SRTT, so that the minimum RTT counts.
fn min_timer_wait(r: &RetransmissionEvidence, srtt: i64) -> i64 {
    let drained = r.min_feedback_time.filter(|_| r.silence >= srtt).unwrap_or(srtt);
    share_of(rto(r, srtt), RULES.remote_rto)
        .min(share_of(RULES.common_rto_min, RULES.remote_rto_min).max(RULES.remote_rto_srtts * drained))
}

/// RTO by RFC 6298, section 2, with the common minimum applied to the sum.
fn min_rto(r: &RetransmissionEvidence, srtt: i64) -> i64 {
    if r.uses_rack {
        return rto(r, srtt);
    }
    (srtt + r.rtt.map_or(0, |(_, deviation)| 4 * deviation)).max(RULES.common_rto_min)
}

/// RTO by RFC 6298, section 2, with the common minimum applied to the variance term, as in Linux.
fn rto(r: &RetransmissionEvidence, srtt: i64) -> i64 {
    srtt + r.rtt.map_or(0, |(_, deviation)| 4 * deviation).max(RULES.common_rto_min)
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
