//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation-02) of packets that are acknowledged one by one
//! by their numbers, for the controls that use them. Amounts are in segments.

use ackclock_core::tcp::delivery_rate::{LossSample, RateSample};
use ackclock_core::units::Time;
use std::collections::VecDeque;

/// A packet in flight and what had been delivered when it was sent.
#[derive(Debug, Clone, Copy)]
pub struct SentPacket {
    pub number: u64,
    pub bytes: u64,
    pub sent: Time,
    delivered: f64,
    delivered_at: Time,
    first_sent: Time,
    lost: f64,
    in_flight: f64,
    app_limited: bool,
}

/// What is in flight, and the rate at which it is delivered.
#[derive(Debug, Clone, Default)]
pub struct DeliveryRate {
    /// In the order of sending.
    packets: VecDeque<SentPacket>,
    pub bytes_in_flight: u64,
    pub segment: f64,
    pub delivered: f64,
    pub lost: f64,
    delivered_at: Time,
    first_sent: Time,
    /// Samples are application-limited while `delivered` is at most this.
    app_limited_until: f64,
}

impl DeliveryRate {
    /// `segment`: bytes of a full packet.
    pub fn new(segment: f64) -> DeliveryRate {
        DeliveryRate { segment, ..DeliveryRate::default() }
    }

    pub fn on_sent(&mut self, now: Time, number: u64, bytes: u64) {
        if self.bytes_in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        self.bytes_in_flight += bytes;
        self.packets.push_back(SentPacket {
            number,
            bytes,
            sent: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            lost: self.lost,
            in_flight: self.bytes_in_flight as f64 / self.segment,
            app_limited: self.app_limited_until > 0.0,
        });
    }

    pub fn on_app_limited(&mut self) {
        self.app_limited_until = (self.delivered + self.bytes_in_flight as f64 / self.segment).max(1.0);
    }

    /// The packet is not in flight any more.
    fn take(&mut self, number: u64, sent: Option<Time>) -> Option<SentPacket> {
        let is_it = |packet: &SentPacket| packet.number == number && sent.is_none_or(|sent| packet.sent == sent);
        let at = self.packets.iter().position(is_it)?;
        let packet = self.packets.remove(at)?;
        self.bytes_in_flight -= packet.bytes;
        Some(packet)
    }

    /// A packet was acknowledged. Packet numbers of the handshake's levels are the same; `sent` distinguishes them.
    pub fn on_acked(&mut self, now: Time, number: u64, sent: Time) -> Option<SentPacket> {
        let packet = self.take(number, Some(sent))?;
        self.delivered += packet.bytes as f64 / self.segment;
        self.delivered_at = now;
        if self.app_limited_until > 0.0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0.0;
        }
        Some(packet)
    }

    /// The sample of the packet that was sent last among those that an ACK newly acknowledges.
    pub fn sample(&mut self, newest: &SentPacket) -> RateSample {
        self.first_sent = newest.sent;
        let send = newest.sent.since(newest.first_sent);
        let acked = self.delivered_at.since(newest.delivered_at);
        RateSample {
            delivered: (self.delivered - newest.delivered).round() as u64,
            interval: send.max(acked),
            prior_delivered: newest.delivered as u64,
            total: self.delivered as u64,
            lost: (self.lost - newest.lost).round() as u64,
            tx_in_flight: newest.in_flight.round() as u32,
            app_limited: newest.app_limited,
        }
    }

    pub fn on_lost(&mut self, number: u64) -> Option<LossSample> {
        let packet = self.take(number, None)?;
        self.lost += packet.bytes as f64 / self.segment;
        Some(LossSample {
            segment: number,
            tx_in_flight: packet.in_flight.round() as u32,
            lost: (self.lost - packet.lost).round() as u64,
            total: self.delivered as u64,
            app_limited: packet.app_limited,
        })
    }
}
