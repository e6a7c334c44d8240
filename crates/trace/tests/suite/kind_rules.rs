//! Each rule that gives a segment its kind, with evidence or a script to which it applies, and the nearest
//! one to which another rule applies. RTT 100 ms, RTTVAR 10 ms: the RTO is 300 ms with the common minimum
//! of 200 ms in the variance term (Linux), and 200 ms with the minimum of the sum (RFC 6298, section 2).

use crate::packet_builder::Tcp;
use crate::packet_script::Packet::{Ack, Data, LateData, Sack, Syn, SynAck};
use crate::packet_script::{FIRST_ID, Packet, datagrams, rules};
use crate::{capture_order, receiver_end, revisions};
use ackclock_trace::flow::SegmentKind::{self, Fast, GoBackN, Rack, TailProbe, Timeout};
use ackclock_trace::flow::classify::{GapFill, GapFiller, RetransmissionEvidence, classify_gap_fill, classify_retransmission};
use ackclock_trace::flow::{Classification, KindRule};
use std::collections::BTreeSet;

const MS: i64 = 1_000_000;

type Change = fn(&mut RetransmissionEvidence);

/// What `evidence` changes of [`plain`], which then has this rule, kind and confidence; and what each of
/// `others` changes of that, with the rule that applies then.
struct EvidenceCase {
    evidence: Change,
    is: (KindRule, SegmentKind, f32),
    others: Vec<(Change, KindRule)>,
}

/// At the sender, by SACK, of a segment in the middle of the window, without any sign of a trigger or a
/// timer.
fn plain() -> RetransmissionEvidence {
    RetransmissionEvidence {
        silence: 0,
        timer_age: 50 * MS,
        since_advance: 50 * MS,
        rtt: Some((100 * MS, 10 * MS)),
        is_lowest_unacked: false,
        is_highest_sent: false,
        was_sacked: false,
        is_first_retransmission: true,
        sacked_above: false,
        dupacks: 0,
        dupacks_at_capture: 0,
        since_last_copy: Some(100 * MS),
        min_feedback_time: Some(100 * MS),
        is_paced: false,
        previous_gap: 0,
        later_data_acked: None,
        loss_shown: false,
        follows_advance: false,
        follows_sack: false,
        after_timeout: false,
        in_recovery: false,
        is_remote: false,
        was_captured: true,
        is_tracked: false,
        timer_fired: false,
        uses_tlp: None,
        is_modern: false,
        sack: true,
        uses_rack: false,
        predates_rack: false,
    }
}

/// After a silence of half an RTT, in which a timer ran.
fn silent(r: &mut RetransmissionEvidence) {
    (r.silence, r.timer_age) = (50 * MS, 90 * MS);
}

/// The lowest outstanding segment, from a remote capture that follows ACKs to the sender.
fn tracked(r: &mut RetransmissionEvidence) {
    (r.is_remote, r.is_tracked, r.is_lowest_unacked) = (true, true, true);
}

/// The lowest outstanding segment again.
fn second(r: &mut RetransmissionEvidence) {
    (r.is_lowest_unacked, r.is_first_retransmission) = (true, false);
}

fn case(is: (KindRule, SegmentKind, f32), evidence: Change, others: &[(Change, KindRule)]) -> EvidenceCase {
    EvidenceCase { evidence, is, others: others.to_vec() }
}

/// The rules about an ACK that has just arrived, and about timers.
fn triggers_and_timers() -> Vec<EvidenceCase> {
    use KindRule::*;
    vec![
        case(
            (ThirdDupack, Fast, 0.95),
            |r| (r.is_lowest_unacked, r.dupacks) = (true, 3),
            &[
                (|r| r.silence = MS, Dupthresh),
                (|r| r.dupacks = 4, Dupthresh),
                (|r| r.is_remote = true, Dupthresh),
                (|r| r.is_lowest_unacked = false, Dupthresh),
                (|r| r.after_timeout = true, RepairAfterRto),
            ],
        ),
        case(
            (PartialAck, Fast, 0.95),
            |r| (r.is_lowest_unacked, r.in_recovery, r.follows_advance) = (true, true, true),
            &[
                (|r| r.in_recovery = false, AckClocked),
                (|r| r.follows_advance = false, InRecovery),
                (|r| r.is_lowest_unacked = false, InRecovery),
                (|r| r.after_timeout = true, RepairAfterRto),
                (|r| (r.is_remote, r.predates_rack, r.is_first_retransmission) = (true, true, false), SecondBeforeRack),
            ],
        ),
        case(
            (ReorderingTimer, Fast, 0.8),
            |r| {
                silent(r);
                (r.in_recovery, r.later_data_acked) = (true, Some(true));
            },
            &[
                (|r| r.later_data_acked = Some(false), SilenceAboveUna),
                (|r| r.in_recovery = false, SilenceAboveUna),
                (|r| r.sack = false, SilenceAboveUna),
                (|r| r.is_remote = true, SilenceAboveUna),
                (|r| r.is_lowest_unacked = true, RtoSilence),
                // RACK's timer takes SRTT at most, of which the capture knows four fifths for certain.
                (|r| r.sacked_above = true, InRecovery),
                (|r| (r.sacked_above, r.silence, r.timer_age) = (true, 125 * MS, 125 * MS), InRecovery),
            ],
        ),
        case(
            (ReorderingTimer, Rack, 0.8),
            |r| {
                (r.silence, r.timer_age) = (125 * MS + 1, 126 * MS);
                (r.in_recovery, r.later_data_acked, r.sacked_above) = (true, Some(true), true);
                r.is_first_retransmission = false;
            },
            &[(|r| r.silence = 125 * MS, LostRetransmission)],
        ),
        case(
            (ProbeTimeout, TailProbe, 0.97),
            |r| {
                silent(r);
                r.is_highest_sent = true;
            },
            &[
                (|r| r.timer_fired = true, SilenceAboveUna),
                (|r| r.after_timeout = true, SilenceAboveUna),
                (|r| r.is_highest_sent = false, SilenceAboveUna),
                (|r| r.is_lowest_unacked = true, RtoSilence),
            ],
        ),
        case(
            (SilenceAboveUna, GoBackN, 0.5),
            silent,
            &[
                (|r| r.silence = 50 * MS - 1, Unexplained),
                (|r| r.timer_age = 90 * MS - 1, Unexplained),
                // Half of a shorter RTT: less than 10 ms is no silence.
                (|r| (r.silence, r.rtt) = (10 * MS - 1, Some((8 * MS, MS))), Unexplained),
            ],
        ),
        case(
            (LoneSegmentProbe, TailProbe, 0.7),
            |r| {
                silent(r);
                (r.is_lowest_unacked, r.is_highest_sent, r.is_modern) = (true, true, true);
            },
            &[
                (|r| r.sack = false, RtoSilence),
                (|r| r.is_first_retransmission = false, RtoSilence),
                (|r| r.is_modern = false, RtoSilence),
                (|r| r.uses_tlp = Some(false), RtoSilence),
                (|r| r.timer_fired = true, RtoSilence),
                (|r| r.after_timeout = true, RtoSilence),
                (|r| r.is_highest_sent = false, RtoSilence),
            ],
        ),
        case(
            (LoneSegmentProbe, TailProbe, 0.9),
            |r| {
                silent(r);
                (r.is_lowest_unacked, r.is_highest_sent, r.uses_tlp) = (true, true, Some(true));
            },
            &[],
        ),
        case(
            (RtoSilence, Timeout, 0.8),
            |r| {
                silent(r);
                (r.is_lowest_unacked, r.timer_age) = (true, 270 * MS - 1);
            },
            &[
                (|r| (r.silence, r.timer_age) = (50 * MS - 1, 90 * MS), Unexplained),
                // The loss was shown, and the sender paces.
                (|r| r.loss_shown = true, Unexplained),
                (|r| (r.loss_shown, r.since_advance, r.since_last_copy) = (true, 180 * MS - 1, None), Unexplained),
            ],
        ),
        case(
            (RtoSilence, Timeout, 0.97),
            |r| {
                silent(r);
                (r.is_lowest_unacked, r.timer_age) = (true, 270 * MS);
                // As late as this nothing was paced: the RTO is due.
                (r.loss_shown, r.since_advance, r.since_last_copy) = (true, 180 * MS, None);
            },
            &[],
        ),
        // D-SACKs interrupt the silence.
        case(
            (RtoSilence, Timeout, 0.8),
            |r| (r.is_lowest_unacked, r.silence, r.timer_age) = (true, 2 * MS, 225 * MS),
            &[
                (|r| r.timer_age = 225 * MS - 1, Unexplained),
                (|r| r.sacked_above = true, SackedAbove),
                (|r| r.dupacks = 3, Dupthresh),
                (|r| r.in_recovery = true, InRecovery),
                (|r| r.after_timeout = true, RepairAfterRto),
            ],
        ),
        // A slow link spaces the packets, and the RTO is known to eight in a hundred.
        case(
            (RtoSilence, Timeout, 0.8),
            |r| {
                tracked(r);
                (r.silence, r.previous_gap, r.since_advance) = (60 * MS, 40 * MS, 276 * MS);
            },
            &[
                (|r| r.silence = 60 * MS - 1, RemoteLowest),
                (|r| r.since_advance = 276 * MS - 1, RemoteLowest),
                (|r| r.loss_shown = true, RemoteLowest),
                (|r| r.is_lowest_unacked = false, Unexplained),
            ],
        ),
        // The queues of a sender that was silent for SRTT have drained: three times the minimum RTT, and nine
        // tenths of the common minimum.
        case(
            (RtoSilence, Timeout, 0.8),
            |r| {
                tracked(r);
                (r.silence, r.since_advance, r.min_feedback_time) = (100 * MS, 210 * MS, Some(70 * MS));
            },
            &[
                (|r| r.since_advance = 210 * MS - 1, RemoteLowest),
                (|r| r.silence = 100 * MS - 1, RemoteLowest),
                (|r| (r.since_advance, r.min_feedback_time) = (180 * MS - 1, Some(50 * MS)), RemoteLowest),
            ],
        ),
    ]
}

/// The rules about feedback that cannot have arrived, and about an RTO between ACKs.
fn feedback_and_rtos() -> Vec<EvidenceCase> {
    use KindRule::*;
    vec![
        case(
            (RtoBeforeFeedback, Timeout, 0.9),
            |r| (r.is_lowest_unacked, r.since_last_copy) = (true, Some(90 * MS - 1)),
            &[
                (|r| r.since_last_copy = Some(90 * MS), Unexplained),
                (|r| r.later_data_acked = Some(true), LaterDataAcked),
                (|r| r.is_lowest_unacked = false, RepairBeforeFeedback),
                (|r| r.after_timeout = true, RepairBeforeFeedback),
            ],
        ),
        // Nothing sent after the last retransmission was acknowledged.
        case(
            (RtoBeforeFeedback, Timeout, 0.9),
            |r| {
                second(r);
                r.later_data_acked = Some(false);
            },
            &[(|r| r.is_first_retransmission = true, Unexplained), (|r| r.later_data_acked = None, Unexplained)],
        ),
        case(
            (ImpatientRto, Timeout, 0.9),
            |r| {
                (r.is_lowest_unacked, r.after_timeout, r.since_last_copy) = (true, true, Some(80 * MS));
                r.since_advance = 240 * MS;
            },
            &[
                (|r| r.since_advance = 240 * MS - 1, RepairBeforeFeedback),
                (|r| r.is_lowest_unacked = false, RepairBeforeFeedback),
                (|r| r.since_last_copy = Some(90 * MS), RepairAfterRto),
            ],
        ),
        case(
            (RepairBeforeFeedback, GoBackN, 0.95),
            |r| (r.after_timeout, r.since_last_copy) = (true, Some(80 * MS)),
            &[(|r| r.min_feedback_time = None, RepairAfterRto)],
        ),
        case(
            (RepairBeforeFeedback, GoBackN, 0.7),
            |r| r.since_last_copy = Some(80 * MS),
            &[(|r| r.since_last_copy = Some(90 * MS), Unexplained), (|r| r.is_lowest_unacked = true, RtoBeforeFeedback)],
        ),
        // More than RACK's reordering window, a quarter of the RTT.
        case(
            (RtoInRecovery, Timeout, 0.7),
            |r| {
                second(r);
                (r.in_recovery, r.silence) = (true, 25 * MS + 1);
            },
            &[
                (|r| r.silence = 25 * MS, LostRetransmission),
                (|r| r.is_first_retransmission = true, InRecovery),
                (|r| r.is_lowest_unacked = false, LostRetransmission),
                (|r| r.loss_shown = true, LostRetransmission),
                (|r| (r.rtt, r.silence, r.timer_age) = (Some((20 * MS, 2 * MS)), 10 * MS, 0), LostRetransmission),
                // The loss was detectable, and the RTO cannot expire now: it was due before.
                (
                    |r| (r.loss_shown, r.since_last_copy, r.since_advance) = (true, Some(190 * MS - 1), 330 * MS + 1),
                    LostRetransmission,
                ),
            ],
        ),
        // It can expire: since the last copy, or since the last advancing ACK.
        case(
            (RtoInRecovery, Timeout, 0.7),
            |r| {
                second(r);
                (r.in_recovery, r.silence, r.loss_shown) = (true, 26 * MS, true);
                (r.since_last_copy, r.since_advance) = (Some(190 * MS), 330 * MS + 1);
            },
            &[(|r| r.since_last_copy = Some(190 * MS - 1), LostRetransmission)],
        ),
        case(
            (RtoInRecovery, Timeout, 0.7),
            |r| {
                second(r);
                (r.in_recovery, r.silence, r.loss_shown) = (true, 26 * MS, true);
                (r.since_last_copy, r.since_advance) = (Some(185 * MS), 190 * MS);
            },
            &[(|r| r.since_advance = 190 * MS - 1, LostRetransmission), (|r| r.uses_rack = true, LostRetransmission)],
        ),
        case(
            (RtoInRecovery, Timeout, 0.7),
            |r| {
                tracked(r);
                second(r);
                (r.in_recovery, r.silence, r.loss_shown, r.since_advance) = (true, 26 * MS, true, 276 * MS);
            },
            &[(|r| (r.since_advance, r.silence) = (276 * MS - 1, 0), LostRetransmission)],
        ),
        // Of an adaptive threshold, with either definition of the minimum RTO.
        case(
            (RtoDue, Timeout, 0.8),
            |r| (r.is_lowest_unacked, r.dupacks, r.since_advance) = (true, 16, 285 * MS),
            &[
                (|r| r.since_advance = 285 * MS - 1, Dupthresh),
                (|r| r.since_advance = 330 * MS, Dupthresh),
                (|r| r.dupacks = 15, Dupthresh),
                (|r| r.loss_shown = true, Dupthresh),
                (|r| r.is_lowest_unacked = false, Dupthresh),
                (|r| r.follows_sack = true, AckClocked),
            ],
        ),
        case(
            (RtoDue, Timeout, 0.8),
            |r| {
                second(r);
                (r.silence, r.since_advance) = (MS, 190 * MS);
            },
            &[
                (|r| r.since_advance = 190 * MS - 1, Unexplained),
                (|r| r.silence = MS - 1, Unexplained),
                (|r| (r.rtt, r.since_advance) = (Some((100 * MS, 30 * MS)), 209 * MS), RtoDue),
                (|r| (r.rtt, r.since_advance) = (Some((100 * MS, 30 * MS)), 209 * MS - 1), Unexplained),
                (|r| r.is_paced = true, Unexplained),
                (|r| r.is_first_retransmission = true, Unexplained),
                (|r| r.is_remote = true, RemoteLowest),
                // A transmission of the lowest segment restarts the timer of RACK's sender.
                (|r| (r.uses_rack, r.since_advance) = (true, 285 * MS), Unexplained),
            ],
        ),
        case(
            (RtoDue, Timeout, 0.8),
            |r| {
                (r.is_lowest_unacked, r.uses_rack, r.after_timeout, r.silence) = (true, true, true, MS);
                (r.since_advance, r.since_last_copy) = (285 * MS, Some(285 * MS));
            },
            &[
                (|r| r.since_last_copy = Some(285 * MS - 1), RepairAfterRto),
                (|r| r.uses_rack = false, RepairAfterRto),
                (|r| r.after_timeout = false, Unexplained),
            ],
        ),
        // What was shown to be lost is sent late by a sender that paces, unless its RTO is due.
        case(
            (RtoDue, Timeout, 0.8),
            |r| {
                second(r);
                (r.silence, r.loss_shown, r.since_advance, r.since_last_copy) = (MS, true, 210 * MS, Some(210 * MS));
            },
            &[
                (|r| (r.since_advance, r.since_last_copy) = (210 * MS + 1, Some(210 * MS + 1)), Unexplained),
                (|r| r.since_last_copy = None, Unexplained),
            ],
        ),
        case(
            (RtoDue, Timeout, 0.8),
            |r| {
                tracked(r);
                second(r);
                (r.silence, r.since_advance) = (MS, 270 * MS);
            },
            &[(|r| r.since_advance = 270 * MS - 1, RemoteLowest), (|r| r.loss_shown = true, RemoteLowest)],
        ),
        case(
            (UntriggeredTooSoon, GoBackN, 0.7),
            |r| {
                tracked(r);
                (r.sack, r.since_advance, r.dupacks_at_capture) = (false, 180 * MS - 1, 1);
            },
            &[
                (|r| r.dupacks_at_capture = 2, RemoteLowest),
                (|r| r.since_advance = 180 * MS, UntriggeredRto),
                (|r| r.sack = true, RemoteLowest),
            ],
        ),
        case(
            (UntriggeredRto, Timeout, 0.8),
            |r| {
                tracked(r);
                (r.sack, r.since_advance, r.dupacks_at_capture) = (false, 180 * MS, 2);
            },
            &[
                (|r| r.dupacks_at_capture = 3, RemoteLowest),
                (|r| r.dupacks = 3, Dupthresh),
                (|r| r.sack = true, RemoteLowest),
                (|r| r.in_recovery = true, InRecovery),
                (|r| r.after_timeout = true, RepairAfterRto),
                (|r| r.is_lowest_unacked = false, Unexplained),
                (|r| r.is_tracked = false, RemoteLowest),
            ],
        ),
    ]
}

/// The rules about the state of the sender's recovery.
fn recoveries() -> Vec<EvidenceCase> {
    use KindRule::*;
    vec![
        case((RepairAfterRto, GoBackN, 0.95), |r| r.after_timeout = true, &[(|r| r.after_timeout = false, Unexplained)]),
        case((RepairAfterRto, GoBackN, 0.7), |r| (r.after_timeout, r.in_recovery) = (true, true), &[]),
        case((SackedAgain, GoBackN, 0.95), |r| r.was_sacked = true, &[(|r| r.was_sacked = false, Unexplained)]),
        case((SackedAgain, GoBackN, 0.7), |r| (r.was_sacked, r.in_recovery) = (true, true), &[]),
        case(
            (SecondWithoutSack, Timeout, 0.8),
            |r| {
                second(r);
                r.sack = false;
            },
            &[
                (|r| r.sack = true, Unexplained),
                (|r| r.is_lowest_unacked = false, Unexplained),
                (|r| r.is_first_retransmission = true, Unexplained),
                // No RTO is shorter than the common minimum.
                (
                    |r| {
                        tracked(r);
                        (r.since_advance, r.dupacks_at_capture) = (180 * MS - 1, 3);
                    },
                    RemoteLowest,
                ),
            ],
        ),
        case(
            (SecondBeforeRack, Timeout, 0.7),
            |r| {
                second(r);
                (r.is_remote, r.predates_rack, r.in_recovery) = (true, true, true);
            },
            &[
                (|r| r.predates_rack = false, LostRetransmission),
                (|r| r.is_remote = false, LostRetransmission),
                (|r| r.is_first_retransmission = true, InRecovery),
                (|r| r.in_recovery = false, RemoteLowest),
                (|r| r.sack = false, SecondWithoutSack),
            ],
        ),
        case(
            (SecondBeforeRack, GoBackN, 0.7),
            |r| {
                second(r);
                (r.is_remote, r.predates_rack, r.in_recovery, r.follows_advance) = (true, true, true, true);
            },
            &[],
        ),
        case(
            (SecondBeforeRack, GoBackN, 0.7),
            |r| {
                (r.is_first_retransmission, r.is_remote, r.predates_rack, r.in_recovery) = (false, true, true, true);
            },
            &[],
        ),
        case(
            (LostRetransmission, Rack, 0.85),
            |r| (r.is_first_retransmission, r.in_recovery) = (false, true),
            &[(|r| r.is_first_retransmission = true, InRecovery), (|r| r.in_recovery = false, Unexplained)],
        ),
        case((LostRetransmission, Rack, 0.85), |r| (r.is_first_retransmission, r.sacked_above) = (false, true), &[]),
        case(
            (AboveHighestSack, GoBackN, 0.7),
            |r| (r.predates_rack, r.in_recovery, r.later_data_acked) = (true, true, Some(false)),
            &[
                (|r| r.sacked_above = true, InRecovery),
                (|r| r.is_lowest_unacked = true, InRecovery),
                (|r| r.is_highest_sent = true, InRecovery),
                (|r| r.later_data_acked = Some(true), InRecovery),
                (|r| r.later_data_acked = None, InRecovery),
                (|r| r.predates_rack = false, InRecovery),
                (|r| r.is_remote = true, InRecovery),
                (|r| r.sack = false, InRecovery),
                (|r| r.in_recovery = false, Unexplained),
            ],
        ),
        case((Dupthresh, Fast, 0.95), |r| r.dupacks = 3, &[(|r| r.dupacks = 2, Unexplained)]),
        case((Dupthresh, Fast, 0.99), |r| (r.dupacks, r.sacked_above) = (3, true), &[(|r| r.dupacks = 2, SackedAbove)]),
        case((InRecovery, Fast, 0.95), |r| r.in_recovery = true, &[(|r| r.in_recovery = false, Unexplained)]),
        case((InRecovery, Fast, 0.99), |r| (r.in_recovery, r.sacked_above) = (true, true), &[]),
        case((SackedAbove, Fast, 0.9), |r| r.sacked_above = true, &[(|r| r.sacked_above = false, Unexplained)]),
        case(
            (FewDupacks, Fast, 0.6),
            |r| (r.dupacks, r.is_lowest_unacked) = (1, true),
            &[(|r| r.dupacks = 0, Unexplained), (|r| r.is_lowest_unacked = false, Unexplained)],
        ),
        case(
            (LaterDataAcked, Fast, 0.8),
            |r| r.later_data_acked = Some(true),
            &[(|r| r.sack = false, Unexplained), (|r| r.later_data_acked = Some(false), Unexplained)],
        ),
        case((LaterDataAcked, Rack, 0.8), |r| (r.later_data_acked, r.is_first_retransmission) = (Some(true), false), &[]),
        case(
            (RemoteLowest, Timeout, 0.6),
            |r| (r.is_remote, r.is_lowest_unacked) = (true, true),
            &[
                (|r| r.was_captured = false, Unexplained),
                (|r| r.is_remote = false, Unexplained),
                (|r| r.is_lowest_unacked = false, Unexplained),
            ],
        ),
        case(
            (AckClocked, Fast, 0.7),
            |r| r.follows_sack = true,
            &[
                (|r| r.silence = MS, KindRule::Unexplained),
                (|r| r.is_remote = true, Unexplained),
                (|r| r.follows_sack = false, Unexplained),
            ],
        ),
        case((AckClocked, Rack, 0.7), |r| (r.follows_advance, r.is_first_retransmission) = (true, false), &[]),
        // The third duplicate ACK for a segment whose last copy is too young for its feedback.
        case(
            (AckClocked, GoBackN, 0.7),
            |r| {
                (r.is_lowest_unacked, r.after_timeout, r.since_last_copy) = (true, true, Some(80 * MS));
                (r.since_advance, r.dupacks) = (240 * MS, 3);
            },
            &[(|r| r.dupacks = 4, ImpatientRto), (|r| r.since_advance = 239 * MS, RepairBeforeFeedback)],
        ),
        // An RTO that was not recognized marks all data lost, but not for RACK.
        case(
            (AckClocked, Fast, 0.7),
            |r| (r.since_last_copy, r.uses_rack, r.follows_sack) = (Some(80 * MS), true, true),
            &[
                (|r| r.uses_rack = false, RepairBeforeFeedback),
                (|r| r.after_timeout = true, RepairBeforeFeedback),
                (|r| r.silence = MS, RepairBeforeFeedback),
            ],
        ),
        case((KindRule::Unexplained, SegmentKind::Unexplained, 0.5), |_| (), &[(|r| r.sacked_above = true, SackedAbove)]),
    ]
}

fn evidence_cases() -> Vec<EvidenceCase> {
    [triggers_and_timers(), feedback_and_rtos(), recoveries()].into_iter().flatten().collect()
}

#[test]
fn rule_decides_for_its_evidence_and_another_one_for_the_nearest() {
    let mut wrong = Vec::new();
    for (number, EvidenceCase { evidence, is: (rule, kind, confidence), others }) in evidence_cases().into_iter().enumerate() {
        let mut own = plain();
        evidence(&mut own);
        let (is, expected) = (classify_retransmission(&own), Classification::new(kind, confidence, rule));
        if is != expected {
            wrong.push(format!("case {number}: {is:?}, not {expected:?}"));
        }
        for (place, (change, other)) in others.into_iter().enumerate() {
            let mut near = own;
            change(&mut near);
            let is = classify_retransmission(&near).rule;
            if is != other {
                wrong.push(format!("case {number}, {rule:?}, other {place}: {is:?}, not {other:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A rule and its confidence.
type RuleVerdict = (KindRule, f32);

/// Evidence about what fills a gap, the rule and its confidence, and the nearest evidence of a retransmission
/// with its confidence.
fn gap_cases() -> [(GapFill, RuleVerdict, GapFill, f32); 5] {
    let plain = GapFill { waited: 60 * MS, sender_rtt: None, tsval_diff: None, ip_id_diff: None, is_triggered_last: false };
    let known = GapFill { sender_rtt: Some(100 * MS), ..plain };
    [
        (
            GapFill { ip_id_diff: Some(-1), tsval_diff: Some(1), ..known },
            (KindRule::LowerIpId, 0.99),
            GapFill { ip_id_diff: Some(0), tsval_diff: Some(0), ..known },
            0.99,
        ),
        (
            GapFill { tsval_diff: Some(-1), ip_id_diff: Some(1), ..known },
            (KindRule::OlderTsval, 0.98),
            GapFill { tsval_diff: Some(1), waited: 0, ..known },
            0.97,
        ),
        (
            GapFill { waited: 50 * MS - 1, tsval_diff: Some(0), ..known },
            (KindRule::FilledWithinRtt, 0.9),
            GapFill { waited: 50 * MS, tsval_diff: Some(0), ..known },
            0.85,
        ),
        (
            GapFill { waited: 0, ..plain },
            (KindRule::FilledSoon, 0.6),
            GapFill { waited: 0, is_triggered_last: true, ..plain },
            0.9,
        ),
        (GapFill { waited: 3 * MS - 1, ..plain }, (KindRule::FilledSoon, 0.6), GapFill { waited: 3 * MS, ..plain }, 0.6),
    ]
}

#[test]
fn gap_is_filled_by_a_reordered_segment_when_nothing_excludes_it() {
    for (reordered, (rule, certainty), other, confidence) in gap_cases() {
        let GapFiller::Reordered(is) = classify_gap_fill(&reordered) else { panic!("{reordered:?}") };
        assert_eq!((is.kind, is.rule, is.confidence), (SegmentKind::Reordered, rule, certainty));
        assert_eq!(classify_gap_fill(&other), GapFiller::Retransmission(confidence), "{other:?}");
    }
}

type Datagrams = Vec<(u64, Vec<u8>)>;

/// A script in which the rule decides, and the nearest one in which it does not.
fn script_cases() -> Vec<(KindRule, Datagrams, Datagrams)> {
    use KindRule::*;
    let script = |rule, fires: Vec<Packet>, not: Vec<Packet>| (rule, datagrams(&fires), datagrams(&not));
    vec![
        script(MissingSegment, filled_gap(false), filled_gap(true)),
        script(UnseenSilence, skipped_before_pause(450), skipped_before_pause(430)),
        script(UnseenRetransmission, skipped(3), skipped(0)),
        script(LateOriginal, revisions::late_original(0), revisions::late_original(4)),
        script(SamePacket, copied(0), copied(1)),
        // Of a sender that may draw its identifications: within 50 us.
        (SamePacket, twice(50_000, &[]), twice(50_001, &[])),
        // With a TSval and without an RTT: within 10 ms.
        (SamePacket, twice(9_999_999, TIMESTAMPS), twice(10_000_000, TIMESTAMPS)),
        script(RepeatedSyn, vec![Syn(0), SynAck(10), SynAck(2010)], vec![Syn(0), SynAck(10)]),
        script(TriggerInTransit, overtaken(402), overtaken(380)),
        script(RepairAfterUndo, spurious_rto(510), spurious_rto(520)),
        (WindowProbe, probed(0), probed(8000)),
        (KeepAlive, probed(8000), probed(0)),
        (KeepAlive, last_byte_after(10_000), last_byte_after(9999)),
        script(
            EarlySynAck,
            vec![Syn(0), Syn(1000), SynAck(1010), SynAck(1012)],
            vec![Syn(0), Syn(1000), SynAck(1010), SynAck(2010)],
        ),
        // A stack's initial RTO is 900 ms at least.
        script(
            EarlySynAck,
            vec![Syn(0), Syn(1000), SynAck(1010), SynAck(1910)],
            vec![Syn(0), Syn(1000), SynAck(1010), SynAck(1911)],
        ),
        script(SlowStart, revisions::second_within_rtt(false), revisions::second_within_rtt(true)),
        script(RtoBeforeSlowStart, revisions::second_within_rtt(false), revisions::second_within_rtt(true)),
        script(SwappedAck, revisions::silence_before_partial_ack(400), revisions::silence_before_partial_ack(401)),
        script(RevertedRto, revisions::lost_behind(604), revisions::lost_behind(704)),
        script(RevertedRto, capture_order::sack_after(410), capture_order::sack_after(411)),
        script(MissedRto, revisions::clocked_by_sacks(560), revisions::clocked_by_sacks(350)),
        script(RepairAfterMissedRto, missed_repair(true), missed_repair(false)),
        script(UnansweredAcks, revisions::second_repair(8, 520), revisions::second_repair(7, 520)),
    ]
}

/// A capture at the client: a segment arrives 9 ms after those behind it, which the client acknowledges, or
/// whose ACKs are not captured.
fn filled_gap(is_acked: bool) -> Vec<Packet> {
    let mut all: Vec<_> = (0..8).map(|i| Data(100, 1 + i * 1000)).collect();
    all.push(Ack(100, 8001));
    for i in 1..4 {
        all.push(Data(197 + 3 * u64::from(i), 8001 + i * 1000));
        all.extend(is_acked.then_some(Sack(197 + 3 * u64::from(i), 8001, (9001, 9001 + i * 1000))));
    }
    all.push(Data(209, 8001));
    all
}

/// A capture at the client: so many packets are missing before new data, half a round trip after the data before.
fn skipped(packets: u32) -> Vec<Packet> {
    let mut all = receiver_end::in_order(20);
    all.push(LateData(255, 20_001, FIRST_ID + 22 + packets as u16));
    all
}

/// The same of three packets, of which the next one comes again at `next`, while the ACK for it is in transit.
fn skipped_before_pause(next: u64) -> Vec<Packet> {
    let mut all = skipped(3);
    all.extend([Ack(256, 20_001), Ack(next - 10, 21_001), LateData(next, 21_001, FIRST_ID + 26)]);
    all
}

/// The same packet twice, or one more with another identification.
fn copied(next: u16) -> Vec<Packet> {
    let mut all: Vec<_> = (0..8).map(|i| LateData(100, 1 + i * 1000, FIRST_ID + i as u16)).collect();
    all.extend([Ack(200, 8001), LateData(200, 8001, FIRST_ID + 8), LateData(900, 8001, FIRST_ID + 8 + next)]);
    all
}

/// A capture at the client, 100 ms from the server: three segments overtake one, which comes once more at
/// `next`.
fn overtaken(next: u64) -> Vec<Packet> {
    let id = |number: u32| FIRST_ID + number as u16;
    let mut all = receiver_end::in_order(20);
    all.extend(
        (0..3).flat_map(|i| [LateData(300, 21_001 + i * 1000, id(23 + i)), Sack(300, 20_001, (21_001, 22_001 + i * 1000))]),
    );
    all.extend([LateData(302, 20_001, id(22)), Ack(302, 24_001), LateData(next, 20_001, id(26))]);
    all
}

/// A capture at a sender with RACK: a SACK for an original transmission shows at 510 ms that the RTO was
/// spurious (F-RTO), and the sender retransmits the next segment at `next`.
fn spurious_rto(next: u64) -> Vec<Packet> {
    let mut all: Vec<_> = (0..10).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 10_001));
    all.extend((10..20).map(|i| Data(100, 1 + i * 1000)));
    all.extend([Data(500, 10_001), Sack(510, 10_001, (13_001, 14_001)), Data(next, 11_001)]);
    all
}

/// A sender of which all is acknowledged, with this window, sends no data below SND.UNA.
fn probed(window: u16) -> Datagrams {
    let server = Tcp { from_server: true, ack: 7, window: 0xffff, ..Tcp::default() };
    let ack = Tcp { seq: 7, ack: 2001, window, ..Tcp::default() };
    vec![
        (0, Tcp { seq: 1, payload: 1000, ..server }.datagram()),
        (0, Tcp { seq: 1001, payload: 1000, ..server }.datagram()),
        (100_000_000, ack.datagram()),
        (20_000_000_000, Tcp { seq: 2000, ..server }.datagram()),
    ]
}

const TIMESTAMPS: &[u8] = &[1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 9];

/// The first of two packets again, `after` nanoseconds later.
fn twice(after: u64, options: &[u8]) -> Datagrams {
    let packet = Tcp { from_server: true, seq: 1, ack: 7, payload: 1000, window: 0xffff, id: 9, options, ..Tcp::default() };
    let next = Tcp { seq: 1001, id: 10, ..packet };
    vec![(0, packet.datagram()), (0, next.datagram()), (after, packet.datagram())]
}

/// A segment of one byte, which is acknowledged, again after so many milliseconds.
fn last_byte_after(after: u64) -> Datagrams {
    let server = Tcp { from_server: true, ack: 7, window: 0xffff, ..Tcp::default() };
    let last = Tcp { seq: 1001, payload: 1, ..server };
    vec![
        (0, Tcp { seq: 1, payload: 1000, ..server }.datagram()),
        (0, last.datagram()),
        (100_000_000, Tcp { seq: 7, ack: 1002, window: 8000, ..Tcp::default() }.datagram()),
        (after * 1_000_000, last.datagram()),
    ]
}

/// [`revisions::clocked_by_sacks`] with the second segment lost as well, which is retransmitted after the RTO
/// or not.
fn missed_repair(repairs_second: bool) -> Vec<Packet> {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..34).map(|i| Data(100, 1 + i * 1000)));
    all.extend((0..3).map(|i| Sack(200 + 15 * i, 4001, (6001, 7001 + i as u32 * 1000))));
    all.push(Data(230, 4001));
    all.extend((3..=24).map(|i| Sack(200 + 15 * i, 4001, (6001, 7001 + i as u32 * 1000))));
    all.push(Data(560, 4001));
    all.extend(repairs_second.then_some(Data(561, 5001)));
    all.push(Data(562, 32_001));
    all
}

#[test]
fn rule_decides_in_its_script_and_not_in_the_nearest() {
    let wrong: Vec<String> = script_cases()
        .into_iter()
        .map(|(rule, fires, not)| (rule, rules(&fires), rules(&not)))
        .filter(|(rule, fires, not)| !fires.contains(rule) || not.contains(rule))
        .map(|(rule, fires, not)| format!("{rule:?}: {fires:?}, and not {not:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rules_without_a_case_are_none() {
    let mut tested: BTreeSet<KindRule> = evidence_cases().iter().map(|case| case.is.0).collect();
    tested.extend(gap_cases().map(|case| case.1.0));
    tested.extend(script_cases().iter().map(|case| case.0));
    let missing: Vec<_> = KindRule::ALL.iter().filter(|rule| !tested.contains(rule)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
