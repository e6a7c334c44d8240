//! Checks of the handling of ACKs.

use super::super::Acks;
use ackclock_core::config_check::{Checked, check_fraction, check_span, ensure};
use ackclock_core::queue::QueueConfig;
use ackclock_core::queue::ack::AckReconstructorConfig;

pub fn check_acks(acks: &Acks, queue: Option<QueueConfig>) -> Checked {
    ensure(!(acks.first && matches!(queue, Some(QueueConfig::DualPi2(_)))), || {
        "acks.first with a dualpi2 queue: only one of them is possible".into()
    })?;
    let Some(filter) = acks.filter else { return Ok(()) };
    ensure(filter.keep > 0, || "acks.filter.keep is 0: it must be at least 1".into())?;
    check_fraction("acks.filter.probability", filter.probability)
}

pub fn check_reconstruction(reconstruction: &AckReconstructorConfig) -> Checked {
    ensure(reconstruction.every > 0, || "reconstruct.every is 0 bytes".into())?;
    check_span("reconstruct.within_ps", reconstruction.within)
}
