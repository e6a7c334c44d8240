//! The sender's reading of ECN feedback.

use super::{EcnCounts, EcnMode, FIRST_CE_PACKETS, FIRST_ECT_BYTES, ace};
use crate::packet::{Flags, RareOption, Segment};

/// The marks that one ACK newly reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MarkReport {
    /// The ACK reports congestion.
    pub seen: bool,
    /// Number of marked segments.
    pub segments: f64,
}

/// Feedback received so far.
#[derive(Clone, Copy, Debug)]
pub struct EcnFeedback {
    accurate: bool,
    /// s.cep of RFC 9768, appendix A.2; ACE carries only its low three bits.
    ce_packets: u64,
    /// s.ceb.
    ce_bytes: u64,
    /// Bytes of marked payload reported so far, by the ACE field or by the option.
    reported: f64,
    /// s.e0b and s.e1b.
    ect0_bytes: u64,
    ect1_bytes: u64,
    /// Moving average of the segments that an ACK acknowledges.
    acked_average: Option<f64>,
    /// Segments reported as marked.
    marked: u64,
}

/// Linux: with more segments per ACK on average, ACKs are thinned on the path, and a wrap of the ACE
/// field is not assumed (`ACK_COMP_THRESH`); weight of an ACK in the average.
const THINNED_ACKS: f64 = 4.0;
const ACKED_WEIGHT: f64 = 1.0 / 64.0;

impl EcnFeedback {
    pub fn new(agreed: EcnMode) -> EcnFeedback {
        EcnFeedback {
            accurate: agreed == EcnMode::Accurate,
            ce_packets: FIRST_CE_PACKETS,
            ce_bytes: 0,
            reported: 0.0,
            ect0_bytes: FIRST_ECT_BYTES,
            ect1_bytes: FIRST_ECT_BYTES,
            acked_average: None,
            marked: 0,
        }
    }

    /// The first ACK of a client reports that the SYN-ACK was marked (RFC 9768, table 4).
    pub fn on_marked_syn_ack(&mut self) {
        self.ce_packets += 1;
        self.marked += 1;
    }

    /// What the peer has reported.
    pub fn delivered(&self) -> EcnCounts {
        EcnCounts {
            ce: self.marked,
            ce_bytes: self.ce_bytes,
            ect0_bytes: self.ect0_bytes - FIRST_ECT_BYTES,
            ect1_bytes: self.ect1_bytes - FIRST_ECT_BYTES,
        }
    }

    /// Processes the feedback of an ACK that newly acknowledges `delivered` segments of `size`
    /// bytes.
    /// `progress`: the ACK acknowledges something new or has a newer timestamp.
    pub fn on_ack(&mut self, segment: &Segment, delivered: u32, size: u32, progress: bool) -> MarkReport {
        if self.accurate {
            // RFC 9768, appendix A.1: an ACK without progress may be older than the last one.
            return if progress { self.on_accecn_ack(segment, delivered, size) } else { MarkReport::default() };
        }
        let seen = segment.flags.has(Flags::ECE);
        MarkReport { seen, segments: if seen { f64::from(delivered) } else { 0.0 } }
    }

    fn on_accecn_ack(&mut self, segment: &Segment, delivered: u32, size: u32) -> MarkReport {
        let by_field = u32::from(ace(segment.flags).wrapping_sub((self.ce_packets % 8) as u8) % 8);
        self.ce_packets += u64::from(by_field);
        let average = self.average_acked(delivered);
        let safe = wrapped_marks(by_field, delivered);
        let (size, thinned) = (f64::from(size), average > THINNED_ACKS);
        let by_bytes = match segment.rare_option {
            RareOption::AccEcn(option) => {
                let newly = u64::from(option.ce.ahead_of(self.ce_bytes));
                self.ce_bytes += newly;
                self.ect0_bytes += u64::from(option.ect0.ahead_of(self.ect0_bytes));
                self.ect1_bytes += u64::from(option.ect1.ahead_of(self.ect1_bytes));
                // Section A.2.1: the bytes show whether the field has wrapped.
                let wrapped = newly as f64 > f64::from(by_field) * size;
                self.marked += u64::from(if wrapped { safe } else { by_field });
                (self.ce_bytes as f64 - self.reported).max(0.0)
            }
            _ => {
                self.marked += u64::from(if thinned { by_field } else { safe });
                f64::from(safe) * size
            }
        };
        self.reported += by_bytes;
        MarkReport { seen: by_field > 0 || by_bytes > 0.0, segments: by_bytes / size }
    }
}

impl EcnFeedback {
    fn average_acked(&mut self, delivered: u32) -> f64 {
        let delivered = f64::from(delivered);
        let average = self.acked_average.map_or(delivered, |average| average + (delivered - average) * ACKED_WEIGHT);
        self.acked_average = Some(average);
        average
    }
}

/// RFC 9768, appendix A.2.1: ACE has three bits. If an ACK covers enough segments for a wrap, the
/// largest possible count is assumed.
fn wrapped_marks(field: u32, delivered: u32) -> u32 {
    if delivered <= 7 { field } else { delivered - (delivered - field) % 8 }
}

#[cfg(test)]
mod tests {
    use super::super::ace_flags;
    use super::*;
    use crate::packet::{AccEcn, U24};

    fn ack(code: u8, ce_bytes: Option<u64>) -> Segment {
        let rare_option =
            ce_bytes.map_or(RareOption::None, |n| RareOption::AccEcn(AccEcn { ce: U24::new(n), ..AccEcn::default() }));
        Segment { flags: Flags::ACK.with(ace_flags(code)), rare_option, ..Segment::default() }
    }

    #[test]
    fn ace_field_counts_packets_modulo_eight() {
        let mut feedback = EcnFeedback::new(EcnMode::Accurate);
        assert_eq!(feedback.on_ack(&ack(5, None), 2, 1000, true), MarkReport::default());
        assert_eq!(feedback.on_ack(&ack(7, None), 2, 1000, true).segments, 2.0);
        assert_eq!(feedback.on_ack(&ack(1, None), 2, 1000, true).segments, 2.0);
    }

    #[test]
    fn option_bytes_exclude_marks_counted_by_the_ace_field() {
        let mut feedback = EcnFeedback::new(EcnMode::Accurate);
        assert_eq!(feedback.on_ack(&ack(6, None), 1, 1000, true).segments, 1.0);
        assert_eq!(feedback.on_ack(&ack(0, Some(3000)), 2, 1000, true).segments, 2.0);
        assert_eq!(feedback.on_ack(&ack(0, Some(3000)), 1, 1000, true), MarkReport::default());
    }

    /// Appendix A.2.1: 9 segments acknowledged and ACE one ahead: 9 marks are possible and safe to
    /// assume.
    #[test]
    fn ace_field_counts_the_maximum_when_it_may_have_wrapped() {
        assert_eq!(wrapped_marks(1, 9), 9);
        assert_eq!(wrapped_marks(1, 8), 1);
        assert_eq!(wrapped_marks(0, 20), 16);
        assert_eq!(wrapped_marks(3, 7), 3);
    }
}
