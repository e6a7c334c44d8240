//! The rules that give a segment its kind, by name, so that a report can say which one decided. A rule's
//! condition is a function of `retransmission`, `gap_fill`, or of the module that knows the segment:
//! `loss_history`, `sent_data` and `ledger::revise`.

/// Declares the rules with the name that reports give them, the source, and the text of `ackclock
/// explain`.
macro_rules! kind_rules {
    ($($(#[doc = $text:literal])+ $rule:ident = $name:literal, $source:literal;)*) => {
        /// A rule that gives a segment its kind.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum KindRule {
            $($(#[doc = $text])+ $rule,)*
        }

        impl KindRule {
            pub const ALL: &'static [KindRule] = &[$(KindRule::$rule,)*];

            /// Name in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(KindRule::$rule => $name,)*
                }
            }

            /// The standard that the rule applies; empty if it is about the capture only.
            pub fn source(self) -> &'static str {
                match self {
                    $(KindRule::$rule => $source,)*
                }
            }

            /// The kind that it gives, and when.
            pub fn text(self) -> &'static str {
                match self {
                    $(KindRule::$rule => concat!($($text),+).trim_start(),)*
                }
            }
        }
    };
}

kind_rules! {
    // Retransmissions: `retransmission`, in the order in which they are applied.

    /// `fast`: the third duplicate ACK for the lowest outstanding segment has just reached the sender.
    ThirdDupack = "third_dupack", "RFC 5681, section 3.2";
    /// `fast`: in a recovery an ACK that advances and does not end it has just reached the sender, which
    /// retransmits the next lowest segment.
    PartialAck = "partial_ack", "RFC 6582, section 3.2";
    /// `fast`, or `rack` for a further copy: after a silence in a recovery the sender retransmits a segment
    /// above the lowest, and data sent later was acknowledged. The reordering timer has marked it lost.
    ReorderingTimer = "reordering_timer", "RFC 8985, section 6.3";
    /// `tail_probe`: after a silence the sender retransmits the last of several outstanding segments.
    ProbeTimeout = "probe_timeout", "RFC 8985, section 7.3";
    /// `go_back_n`: after a silence the sender retransmits a segment that is neither the lowest nor the last
    /// one, which no timer sends. An RTO before it was not captured.
    SilenceAboveUna = "silence_above_una", "RFC 5681, section 3.1";
    /// `tail_probe`: after a silence the sender retransmits the only outstanding segment for the first time,
    /// and its stack has tail loss probes.
    LoneSegmentProbe = "lone_segment_probe", "RFC 8985, section 7.3";
    /// `timeout`: after a silence, or in the absence of any trigger for most of an RTO, the sender
    /// retransmits the lowest outstanding segment.
    RtoSilence = "rto_silence", "RFC 6298, section 5.4";
    /// `timeout`: the sender retransmits the lowest outstanding segment before feedback about its last copy
    /// can have arrived, or without an ACK for anything sent after it.
    RtoBeforeFeedback = "rto_before_feedback", "RFC 6298, section 5.4";
    /// `timeout`: in the repair after an RTO the sender retransmits the lowest outstanding segment again
    /// without feedback, and no ACK has advanced for an RTO: the timer was not restarted.
    ImpatientRto = "impatient_rto", "RFC 6582, section 4";
    /// `go_back_n`: the sender retransmits a segment before feedback about its last copy can have arrived,
    /// or without an ACK for anything sent after it. An RTO has marked all outstanding data lost.
    RepairBeforeFeedback = "repair_before_feedback", "RFC 5681, section 3.1";
    /// `timeout`: the lowest outstanding segment is retransmitted again after a silence that is longer than
    /// the reordering window, and no ACK triggers it: the RTO timer ran on during the recovery.
    RtoInRecovery = "rto_in_recovery", "RFC 6582, section 4";
    /// `timeout`: the lowest outstanding segment is retransmitted when its RTO is due, between ACKs that do
    /// not advance and leave no silence.
    RtoDue = "rto_due", "RFC 6298, section 5";
    /// `go_back_n`: no ACK that the capture has on its way to the sender can trigger the retransmission of
    /// the lowest segment, and it comes too soon for an RTO. It follows one that was not captured.
    UntriggeredTooSoon = "untriggered_too_soon", "RFC 6298, section 5";
    /// `timeout`: no ACK that the capture has on its way to the sender can trigger the retransmission of the
    /// lowest segment.
    UntriggeredRto = "untriggered_rto", "RFC 5681, section 3.2";
    /// `go_back_n`: data that was outstanding at the last RTO is not yet acknowledged. The sender
    /// retransmits it in order, or with SACK the gaps only.
    RepairAfterRto = "repair_after_rto", "RFC 5681, section 3.1";
    /// `go_back_n`: the segment was SACKed, and only an RTO makes a sender discard SACK information.
    SackedAgain = "sacked_again", "RFC 2018, section 8";
    /// `timeout`: without SACK only a timer retransmits the lowest outstanding segment twice.
    SecondWithoutSack = "second_without_sack", "RFC 6582, section 3.2";
    /// `go_back_n`, or `timeout` for the lowest segment: a remote stack older than RACK retransmits nothing
    /// twice in a recovery, unless after an RTO. That RTO was not captured, or this is it.
    SecondBeforeRack = "second_before_rack", "RFC 6675, section 5";
    /// `rack`: in a recovery, or below a SACK block, a segment is retransmitted again: its retransmission is
    /// lost, and newer data that arrived shows it.
    LostRetransmission = "lost_retransmission", "RFC 8985, section 6.2";
    /// `go_back_n`: in a recovery a stack older than RACK retransmits a segment above the highest SACK block,
    /// which is not marked lost unless all outstanding data is: an RTO came before.
    AboveHighestSack = "above_highest_sack", "RFC 6675, section 4";
    /// `fast`: the sender has received three duplicate ACKs.
    Dupthresh = "dupthresh", "RFC 5681, section 3.2";
    /// `fast`: the sender is in a recovery.
    InRecovery = "in_recovery", "RFC 6675, section 5";
    /// `fast`: data above the segment was SACKed, with fewer than three duplicate ACKs: blocks of three
    /// segments, or the reordering window has passed.
    SackedAbove = "sacked_above", "RFC 6675, section 4; RFC 8985, section 6.2";
    /// `fast`: one or two duplicate ACKs for the lowest outstanding segment: the sender has few segments
    /// outstanding, or an ACK was not captured.
    FewDupacks = "few_dupacks", "RFC 5827, section 2";
    /// `fast`, or `rack` for a further copy: data that was sent later was acknowledged.
    LaterDataAcked = "later_data_acked", "RFC 8985, section 6.2";
    /// `timeout`: the capture is remote from the sender, the lowest outstanding segment was captured before,
    /// and no trigger was.
    RemoteLowest = "remote_lowest", "RFC 6298, section 5.4";
    /// `fast`, `rack` for a further copy, or `go_back_n` in the repair after an RTO: another rule infers a
    /// timer, or finds nothing, and an ACK that can trigger the segment reached the sender within a
    /// millisecond before it.
    AckClocked = "ack_clocked", "RFC 5681, section 3.2; RFC 6675, section 5";
    /// `unexplained`: no rule finds the cause of the retransmission.
    Unexplained = "unexplained", "";

    // Segments that fill a gap: `gap_fill`.

    /// `reordered`: the host counts its packets in the IP identification, and the segment that fills a gap
    /// has a lower one than the segment after the gap.
    LowerIpId = "lower_ip_id", "RFC 6864, section 3";
    /// `reordered`: the segment that fills a gap has an older TSval than the segment after the gap.
    OlderTsval = "older_tsval", "RFC 7323, section 3.2";
    /// `reordered`: the segment fills a gap sooner than a duplicate ACK can have brought it.
    FilledWithinRtt = "filled_within_rtt", "RFC 5681, section 3.2";
    /// `reordered`: the segment fills a gap within 3 ms, and the RTT is not known.
    FilledSoon = "filled_soon", "";

    // Segments that were lost before the capture point, or not captured: `loss_history`.

    /// `fast`: the segment fills a gap and is no reordered one, and no other rule finds why it was
    /// retransmitted. It was missing.
    MissingSegment = "missing_segment", "RFC 5681, section 3.2";
    /// `timeout`: only IP identifications show that the segment was sent before, and it follows a silence of
    /// an RTO.
    UnseenSilence = "unseen_silence", "RFC 6298, section 5.4";
    /// `fast`: only IP identifications show that the segment was sent before, and no silence precedes it.
    UnseenRetransmission = "unseen_retransmission", "RFC 5681, section 3.2";

    // Segments that were captured before: `loss_history`.

    /// `reordered`: the first copy of a segment that was retransmitted meanwhile: it was overtaken, not lost.
    LateOriginal = "late_original", "RFC 7323, section 3.2; RFC 6864, section 3";
    /// `network_duplicate`: the same packet again, by its IP identification and TSval, or sooner than
    /// anything can trigger it.
    SamePacket = "same_packet", "RFC 7323, section 3.2; RFC 6864, section 3";
    /// `handshake`: a SYN or SYN-ACK again.
    RepeatedSyn = "repeated_syn", "RFC 6298, section 2.1";
    /// `fast`: the data was acknowledged, and a third duplicate ACK asked for it while that ACK was in
    /// transit from the capture point to the sender.
    TriggerInTransit = "trigger_in_transit", "RFC 5681, section 3.2";
    /// `go_back_n`: an RTO was shown to be spurious, and the sender goes on with its repair nevertheless.
    RepairAfterUndo = "repair_after_undo", "RFC 4015, section 3.2";

    // Probes: `sent_data`.

    /// `zero_window_probe`: a byte before a closed window.
    WindowProbe = "window_probe", "RFC 9293, section 3.8.6.1";
    /// `keep_alive`: a byte below SND.UNA, or none, of a sender that has nothing outstanding.
    KeepAlive = "keep_alive", "RFC 9293, section 3.8.4";

    // What later packets show of an earlier one: `ledger::revise`.

    /// `handshake`: a second SYN-ACK comes sooner than any RTO: the first one that was captured was a
    /// retransmission as well.
    EarlySynAck = "early_syn_ack", "RFC 6298, section 2.1";
    /// `go_back_n`: without SACK two segments are retransmitted within an RTT, which a fast recovery does not
    /// do: this is slow start after an RTO.
    SlowStart = "slow_start", "RFC 6582, section 3.2; RFC 5681, section 3.1";
    /// `timeout`: slow start follows, and this is its first segment.
    RtoBeforeSlowStart = "rto_before_slow_start", "RFC 5681, section 3.1";
    /// `fast`: an ACK that triggers it was captured within microseconds after it. The capture has swapped
    /// their order.
    SwappedAck = "swapped_ack", "";
    /// `fast`, or `go_back_n` in the repair after an RTO: other data follows what looked like an RTO within
    /// an RTT, and an RTO leaves a window of one segment.
    RevertedRto = "reverted_rto", "RFC 5681, section 3.1";
    /// `timeout`: go-back-N follows without an RTO before it, and this was the last retransmission of the
    /// lowest segment that was due by RTO.
    MissedRto = "missed_rto", "RFC 6298, section 5";
    /// `go_back_n`: the segment was retransmitted after an RTO that was recognized by what follows only.
    RepairAfterMissedRto = "repair_after_missed_rto", "RFC 5681, section 3.1";
    /// `timeout`: the sender leaves at least eight ACKs unanswered after it. A recovery answers every other.
    UnansweredAcks = "unanswered_acks", "RFC 6675, section 5; RFC 6937, section 3";
}

#[cfg(test)]
mod tests {
    use super::super::SegmentKind;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rule_has_a_name_of_its_own_and_a_text_that_begins_with_a_kind() {
        let names: BTreeSet<&str> = KindRule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), KindRule::ALL.len());
        let kinds: Vec<&str> = SegmentKind::ALL.iter().map(|kind| kind.name()).collect();
        for rule in KindRule::ALL {
            let (text, name) = (rule.text(), rule.name());
            let kind = text.strip_prefix('`').and_then(|rest| rest.split('`').next()).unwrap_or_default();
            assert!(kinds.contains(&kind) && text.ends_with('.') && !text.contains("  "), "{name}: {text}");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
            assert!(rule.source().is_empty() || rule.source().starts_with("RFC "), "{name}");
        }
    }
}
