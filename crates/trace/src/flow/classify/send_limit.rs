//! What limits a sender, by the state of its window and its last segment: of the application, a tail
//! loss probe with new data is the exception.

use super::super::rules::RULES;

/// What a sender waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendLimit {
    /// Nothing is outstanding: the window has no room for a segment.
    ZeroWindow,
    /// Nothing is outstanding: the sender has nothing to send.
    Idle,
    Recovery,
    /// The advertised window has no room for another segment.
    Window,
    /// The last segment was not full although there was room.
    Application,
    /// The congestion window, pacing, the send buffer or a queue.
    Path,
}

/// Evidence about the time since the previous packet. Sizes in bytes, times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct SpanEvidence {
    pub span: i64,
    /// All that was sent is acknowledged.
    pub is_all_acked: bool,
    /// From SND.UNA to SND.NXT.
    pub outstanding: u32,
    pub full_segment: u32,
    /// The advertised window; none before the first ACK.
    pub window: Option<u32>,
    /// The sender has probed a zero window before.
    pub has_probed: bool,
    pub is_recovering: bool,
    /// The last new segment was not full, and was pushed.
    pub is_app_limited: bool,
}

/// Before a zero window nothing is outstanding, whether data waits or not. A sender with data probes
/// the window after an RTO; without a probe by then no data is waiting.
#[inline]
pub fn classify_span(e: &SpanEvidence) -> SendLimit {
    if e.is_all_acked {
        let is_closed = e.window.is_some_and(|window| window < e.full_segment);
        let may_wait = e.span <= RULES.max_first_window_probe || e.has_probed;
        return if is_closed && may_wait { SendLimit::ZeroWindow } else { SendLimit::Idle };
    }
    if e.is_recovering {
        SendLimit::Recovery
    } else if e.window.is_some_and(|window| e.outstanding + e.full_segment + window / RULES.full_window_parts > window) {
        SendLimit::Window
    } else if e.is_app_limited {
        SendLimit::Application
    } else {
        SendLimit::Path
    }
}

/// Evidence about a new segment after a silence, with the capture at the sender. Times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct ProbeEvidence {
    /// Time since the sender's last packet or received ACK.
    pub silence: i64,
    /// Time since the sender's last packet or the last advancing ACK, which arm the timer.
    pub armed: i64,
    /// One segment is outstanding.
    pub is_single: bool,
    pub srtt: i64,
    pub rttvar: i64,
    /// A timer has fired since the last advancing ACK, or a recovery is under way.
    pub is_recovering: bool,
}

/// True for what may be a tail loss probe with new data (RFC 8985, section 7.3): one segment out of a
/// silence of the probe timeout. An application that writes now and then has its earlier data
/// acknowledged by then.
pub fn is_new_data_probe(e: &ProbeEvidence) -> bool {
    // The probe timeout is 2 SRTT, with the delay of an ACK for a single segment, and never after the
    // RTO (RFC 8985, section 7.2).
    let (part, whole) = RULES.probe_timeout_share;
    let delayed_ack = if e.is_single { RULES.max_delayed_ack } else { 0 };
    let due = (2 * e.srtt + delayed_ack).min(e.srtt + (4 * e.rttvar).max(RULES.common_rto_min)) * part / whole;
    !e.is_recovering && e.silence >= e.srtt / 4 && e.armed >= due
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn span_is_idle_when_a_zero_window_is_not_probed_for_longer_than_any_first_rto() {
        let closed = SpanEvidence {
            span: 3000 * MS,
            is_all_acked: true,
            outstanding: 0,
            full_segment: 1448,
            window: Some(0),
            has_probed: false,
            is_recovering: false,
            is_app_limited: false,
        };
        assert_eq!(classify_span(&closed), SendLimit::ZeroWindow);
        assert_eq!(classify_span(&SpanEvidence { span: 3001 * MS, ..closed }), SendLimit::Idle);
        assert_eq!(classify_span(&SpanEvidence { span: 3001 * MS, has_probed: true, ..closed }), SendLimit::ZeroWindow);
        assert_eq!(classify_span(&SpanEvidence { window: Some(1448), ..closed }), SendLimit::Idle);
        let open = SpanEvidence { is_all_acked: false, outstanding: 10_000, window: Some(16_000), ..closed };
        assert_eq!(classify_span(&open), SendLimit::Path);
        assert_eq!(classify_span(&SpanEvidence { outstanding: 13_000, ..open }), SendLimit::Window);
        assert_eq!(classify_span(&SpanEvidence { is_app_limited: true, ..open }), SendLimit::Application);
        assert_eq!(classify_span(&SpanEvidence { is_recovering: true, outstanding: 13_000, ..open }), SendLimit::Recovery);
    }

    #[test]
    fn new_data_probe_needs_the_probe_timeout_since_it_was_armed() {
        let probe = ProbeEvidence {
            silence: 90 * MS,
            armed: 160 * MS,
            is_single: false,
            srtt: 100 * MS,
            rttvar: 10 * MS,
            is_recovering: false,
        };
        assert!(is_new_data_probe(&probe));
        assert!(!is_new_data_probe(&ProbeEvidence { armed: 159 * MS, ..probe }));
        // The receiver may delay the ACK of a single segment; the RTO is due sooner.
        assert!(!is_new_data_probe(&ProbeEvidence { is_single: true, armed: 239 * MS, ..probe }));
        assert!(is_new_data_probe(&ProbeEvidence { is_single: true, armed: 240 * MS, ..probe }));
        // RFC 6298, section 2.3: the RTO has four times RTTVAR.
        let varying = |rttvar, armed| is_new_data_probe(&ProbeEvidence { is_single: true, rttvar, armed, ..probe });
        assert!(!varying(60 * MS, 271 * MS) && varying(60 * MS, 272 * MS));
        assert!(!varying(80 * MS, 319 * MS) && varying(80 * MS, 320 * MS));
        assert!(is_new_data_probe(&ProbeEvidence { silence: 25 * MS, ..probe }));
        assert!(!is_new_data_probe(&ProbeEvidence { silence: 24 * MS, ..probe }));
        assert!(!is_new_data_probe(&ProbeEvidence { is_recovering: true, ..probe }));
    }
}
