//! The sender's reading of ECN feedback.

use super::{EcnMode, FIRST_CE_PACKETS, ace};
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
}

impl EcnFeedback {
    pub fn new(agreed: EcnMode) -> EcnFeedback {
        EcnFeedback { accurate: agreed == EcnMode::Accurate, ce_packets: FIRST_CE_PACKETS, ce_bytes: 0, reported: 0.0 }
    }

    /// Processes the feedback of an ACK that newly acknowledges `delivered` segments of `size`
    /// bytes.
    pub fn on_ack(&mut self, segment: &Segment, delivered: u32, size: u32) -> MarkReport {
        if self.accurate {
            return self.on_accecn_ack(segment, delivered, size);
        }
        let seen = segment.flags.has(Flags::ECE);
        MarkReport { seen, segments: if seen { f64::from(delivered) } else { 0.0 } }
    }

    fn on_accecn_ack(&mut self, segment: &Segment, delivered: u32, size: u32) -> MarkReport {
        let by_field = u32::from(ace(segment.flags).wrapping_sub((self.ce_packets % 8) as u8) % 8);
        self.ce_packets += u64::from(by_field);
        let size = f64::from(size);
        let by_bytes = match segment.rare_option {
            RareOption::AccEcn(option) => {
                self.ce_bytes += u64::from(option.ce.ahead_of(self.ce_bytes));
                (self.ce_bytes as f64 - self.reported).max(0.0)
            }
            _ => f64::from(wrapped_marks(by_field, delivered)) * size,
        };
        self.reported += by_bytes;
        MarkReport { seen: by_field > 0 || by_bytes > 0.0, segments: by_bytes / size }
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
        assert_eq!(feedback.on_ack(&ack(5, None), 2, 1000), MarkReport::default());
        assert_eq!(feedback.on_ack(&ack(7, None), 2, 1000).segments, 2.0);
        assert_eq!(feedback.on_ack(&ack(1, None), 2, 1000).segments, 2.0);
    }

    #[test]
    fn option_bytes_exclude_marks_counted_by_the_ace_field() {
        let mut feedback = EcnFeedback::new(EcnMode::Accurate);
        assert_eq!(feedback.on_ack(&ack(6, None), 1, 1000).segments, 1.0);
        assert_eq!(feedback.on_ack(&ack(0, Some(3000)), 2, 1000).segments, 2.0);
        assert_eq!(feedback.on_ack(&ack(0, Some(3000)), 1, 1000), MarkReport::default());
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
