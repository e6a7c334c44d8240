//! An ACK in the draft's terms (section 2.3).

use super::super::Ack;
use crate::units::{Span, Time};

/// Amounts are in segments, rates in segments per second.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub now: Time,
    /// RS.delivery_rate; 0 without a valid sample.
    pub rate: f64,
    /// RS.delivered: delivered since the segment was sent.
    pub delivered: f64,
    /// P.delivered: delivered when it was sent.
    pub prior_delivered: u64,
    /// C.delivered: delivered since the connection began.
    pub total: u64,
    /// RS.lost: lost since it was sent.
    pub lost: f64,
    /// RS.tx_in_flight: in flight when it was sent.
    pub tx_in_flight: f64,
    pub app_limited: bool,
    /// RS.newly_acked and RS.newly_lost.
    pub newly_acked: f64,
    pub newly_lost: f64,
    /// C.inflight, after this ACK.
    pub in_flight: f64,
    pub rtt: Option<Span>,
}

impl Sample {
    /// None for an ACK without a measurement.
    pub fn of(ack: &Ack) -> Option<Sample> {
        let rate = ack.rate?;
        Some(Sample {
            now: ack.now,
            rate: rate.rate(ack.min_rtt).unwrap_or(0.0),
            delivered: rate.delivered as f64,
            prior_delivered: rate.prior_delivered,
            total: rate.total,
            lost: rate.lost as f64,
            tx_in_flight: f64::from(rate.tx_in_flight),
            app_limited: rate.app_limited,
            newly_acked: f64::from(ack.delivered),
            newly_lost: f64::from(ack.lost),
            in_flight: f64::from(ack.in_flight),
            rtt: ack.rtt,
        })
    }
}
