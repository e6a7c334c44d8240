//! What one ACK says, in the draft's terms (section 2.3).

use super::super::Ack;
use crate::units::{Span, Time};

/// Amounts in segments, rates in segments a second.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub now: Time,
    /// RS.delivery_rate; 0 if there is none to be trusted.
    pub rate: f64,
    /// RS.delivered: arrived since the newest of the arrived segments left.
    pub delivered: f64,
    /// P.delivered: had arrived when it left.
    pub prior_delivered: u64,
    /// C.delivered: arrived in all.
    pub total: u64,
    /// RS.lost: lost since it left.
    pub lost: f64,
    /// RS.tx_in_flight: in flight when it left.
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
    /// None if the ACK brought nothing that could be measured.
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
