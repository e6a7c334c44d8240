//! Rates of Reno and CUBIC by closed forms, for a direction's losses, RTT and window.

use super::transfer::{Transfer, above_zero};
use ackclock_core::statistics::SummaryStats;
use ackclock_core::throughput_models::{LossyPath, cubic_response, mathis, padhye_full};

const RTO_MIN_S: f64 = 0.2;
/// Minimum number of loss events for a loss rate.
pub const EVENTS: u32 = 3;
/// Factor by which a measured rate and a model's differ where losses explain the rate.
pub const WITHIN: f64 = 2.0;
/// CUBIC's constants (RFC 9438, sections 4.6 and 5).
const CUBIC_C: f64 = 0.4;
const CUBIC_BETA: f64 = 0.7;

/// What a sender with a direction's losses and window experiences.
#[derive(Debug, Clone, Copy)]
pub struct LossyTransfer {
    pub loss_rate: f64,
    /// Payload of a segment in bytes.
    pub segment: f64,
    /// Of an ACK, between 1 and 2 as in the models.
    pub segments_per_ack: f64,
    /// In segments.
    pub max_window: f64,
    pub rtt_ms: f64,
    /// Standard deviation of the RTT.
    pub rtt_sd_ms: f64,
}

/// Rates in bit/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelRates {
    pub mathis_bps: f64,
    pub padhye_bps: f64,
    /// Padhye's model of a sender whose window grows with acknowledged segments (Linux, RFC 3465)
    /// instead of ACKs.
    pub counted_bps: f64,
    /// At least as fast as such a Reno (RFC 9438, section 4.3).
    pub cubic_bps: f64,
}

impl LossyTransfer {
    /// None below three loss events, and without an RTT.
    pub fn of(transfer: &Transfer<'_>, rtt_ms: &SummaryStats) -> Option<LossyTransfer> {
        let mean = above_zero(rtt_ms.mean).filter(|_| transfer.loss_events() >= EVENTS)?;
        let segment = f64::from(transfer.segment());
        Some(LossyTransfer {
            loss_rate: transfer.loss_rate(),
            segment,
            segments_per_ack: segments_per_ack(transfer),
            max_window: (f64::from(transfer.figures.advertised_window_bytes.max.unwrap_or(0)) / segment).max(1.0),
            rtt_ms: mean,
            rtt_sd_ms: rtt_ms.sd.unwrap_or(0.0),
        })
    }

    /// The rates with `times` the losses.
    pub fn rates(&self, times: f64) -> ModelRates {
        let rtt = self.rtt_ms * 1e-3;
        let (loss, bits) = ((self.loss_rate * times).min(0.5), 8.0 * self.segment);
        let rto = RTO_MIN_S.max(4.0 * self.rtt_sd_ms * 1e-3) + rtt;
        let path = LossyPath { loss, rtt, rto, per_ack: self.segments_per_ack, max_window: self.max_window };
        let counted = padhye_full(&LossyPath { per_ack: 1.0, ..path });
        ModelRates {
            mathis_bps: mathis(&LossyPath { rto: 0.0, max_window: f64::INFINITY, ..path }) * bits,
            padhye_bps: padhye_full(&path) * bits,
            counted_bps: counted * bits,
            cubic_bps: counted.max(cubic_response(CUBIC_C, CUBIC_BETA, rtt, loss) / rtt) * bits,
        }
    }
}

pub fn segments_per_ack(transfer: &Transfer<'_>) -> f64 {
    above_zero(transfer.figures.ack_interarrival_ms.segments_per_ack).unwrap_or(1.0).clamp(1.0, 2.0)
}
