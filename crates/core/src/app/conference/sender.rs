//! The sending half: encoder, pacer, probes, retransmissions, and the congestion control that sets the rate.

use super::encoder::Encoder;
use super::{MAX_MEDIA_PAYLOAD, MEDIA_HEADERS, MediaConfig, MediaPacket, SharedLog};
use crate::gcc::{Gcc, PacketResult, ProbeCluster};
use crate::units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// libwebrtc paces at this multiple of the target rate.
const PACING_FACTOR: f64 = 2.5;
/// The encoder leaves out frames while the pacer has more than this time of the target rate in its queue.
const MAX_QUEUE: Span = Span::from_ms(500);

/// libwebrtc forgets a packet after this time, or after three RTTs.
const MIN_HISTORY: Span = Span::from_ms(1000);
const HISTORY_RTTS: u64 = 3;

/// The last retransmission of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    Queued,
    Sent(Time),
}

#[derive(Debug, Clone)]
pub(super) struct MediaSender {
    log: SharedLog,
    encoder: Encoder,
    gcc: Gcc,
    /// The cluster that is being sent.
    probe: Option<ProbeCluster>,
    /// In order; retransmissions at the front.
    queue: VecDeque<MediaPacket>,
    queued_bytes: u64,
    /// By frame and place in it.
    repairs: BTreeMap<(u64, u16), Repair>,
    rtt: Span,
    next_send: Time,
    sent: u64,
    frames: u64,
}

impl MediaSender {
    pub(super) fn new(config: MediaConfig, log: SharedLog, start: Time, stop: Time) -> MediaSender {
        MediaSender {
            log,
            encoder: Encoder::new(config.frame_rate, start, stop),
            gcc: Gcc::new(config.rates),
            probe: None,
            queue: VecDeque::new(),
            queued_bytes: 0,
            repairs: BTreeMap::new(),
            rtt: Span::ZERO,
            next_send: start,
            sent: 0,
            frames: 0,
        }
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn due(&self) -> Time {
        let is_idle = self.queue.is_empty() && self.probe.is_none();
        let pacer = if is_idle { Time::NEVER } else { self.next_send };
        pacer.min(self.encoder.due())
    }

    /// The next packet of media, by its number and its IP length.
    pub(super) fn poll(&mut self, now: Time) -> Option<(u64, u16)> {
        self.encode(now);
        self.begin_probe(now);
        if self.next_send > now {
            return None;
        }
        let packet = MediaPacket { sent: now, cluster: self.probe.map(|probe| probe.number), ..self.next_packet()? };
        let rate = self.probe.map_or(PACING_FACTOR * self.gcc.target_bps(), |probe| probe.bps);
        self.next_send = now + Span::from_secs_f64(f64::from(packet.bytes) * 8.0 / rate);
        if self.probe.as_mut().is_some_and(|probe| probe.on_sent(packet.bytes)) {
            self.probe = None;
        }
        if let Some(repair) = self.repairs.get_mut(&(packet.frame, packet.index)) {
            *repair = Repair::Sent(now);
        }
        self.log.lock().packets.push(packet);
        self.sent += 1;
        Some((self.sent - 1, packet.bytes))
    }

    /// A cluster begins with a packet of media, and does not wait for the pacer.
    fn begin_probe(&mut self, now: Time) {
        if self.probe.is_none() && !self.queue.is_empty() {
            self.probe = self.gcc.next_probe(now);
            if self.probe.is_some() {
                self.next_send = now;
            }
        }
    }

    /// The next packet of the queue; when it is empty, a cluster goes on with copies of the last one.
    fn next_packet(&mut self) -> Option<MediaPacket> {
        let Some(packet) = self.queue.pop_front() else {
            self.probe?;
            return self.log.lock().packets.last().copied();
        };
        self.queued_bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Queues the frames that are due.
    fn encode(&mut self, now: Time) {
        let target = self.gcc.target_bps();
        let is_behind = self.queued_bytes as f64 * 8.0 > target * MAX_QUEUE.as_secs();
        if is_behind && self.encoder.skip(now) {
            return;
        }
        while let Some((bytes, is_key)) = self.encoder.frame(now, target) {
            let full = u64::from(MAX_MEDIA_PAYLOAD + MEDIA_HEADERS);
            let count = u16::try_from(bytes.div_ceil(full)).unwrap_or(u16::MAX).max(1);
            let mut left = bytes.max(u64::from(count) * u64::from(MEDIA_HEADERS + 1));
            self.log.lock().frames.capture(now, left);
            for index in 0..count {
                let share = left.div_ceil(u64::from(count - index));
                left -= share;
                let bytes = u16::try_from(share).unwrap_or(u16::MAX);
                self.queue.push_back(MediaPacket { frame: self.frames, index, count, is_key, bytes, sent: now, cluster: None });
                self.queued_bytes += share;
            }
            self.frames += 1;
        }
    }

    /// Feedback arrives.
    pub(super) fn on_report(&mut self, now: Time, number: u64) {
        let (results, missed, needs_key, rtt) = {
            let log = self.log.lock();
            let Some(report) = usize::try_from(number).ok().and_then(|number| log.reports.get(number)) else { return };
            let packets = usize::try_from(report.first).ok().and_then(|first| log.packets.get(first..)).unwrap_or_default();
            let results: Vec<PacketResult> = packets
                .iter()
                .zip(&report.arrivals)
                .map(|(packet, &arrived)| PacketResult {
                    sent: packet.sent,
                    bytes: packet.bytes.into(),
                    arrived,
                    cluster: packet.cluster,
                })
                .collect();
            // The receiver held the report back since the last arrival.
            let last = results.iter().rev().find_map(|result| Some((result.sent, result.arrived?)));
            let rtt = last.map(|(sent, arrived)| Span((now - sent).0.saturating_sub((report.sent - arrived).0)));
            let missed: Vec<MediaPacket> =
                report.missed.iter().filter_map(|&number| log.packets.get(usize::try_from(number).ok()?).copied()).collect();
            (results, missed, report.needs_key, rtt)
        };
        if let Some(rtt) = rtt {
            self.rtt = rtt;
            self.gcc.on_feedback(now, &results, rtt);
        }
        self.retransmit(now, &missed);
        if needs_key {
            self.encoder.request_key();
        }
    }

    /// Queues packets that were missed before all others: each at most once in an RTT, and none that is too old.
    fn retransmit(&mut self, now: Time, missed: &[MediaPacket]) {
        let oldest = MIN_HISTORY.max(self.rtt.saturating_mul(HISTORY_RTTS));
        for packet in missed.iter().rev().filter(|packet| now - packet.sent <= oldest) {
            let place = (packet.frame, packet.index);
            let waits = match self.repairs.get(&place) {
                None => false,
                Some(Repair::Queued) => true,
                Some(Repair::Sent(at)) => now - *at < self.rtt,
            };
            if !waits {
                self.repairs.insert(place, Repair::Queued);
                self.queued_bytes += u64::from(packet.bytes);
                self.queue.push_front(*packet);
            }
        }
        self.repairs.retain(|_, repair| !matches!(repair, Repair::Sent(at) if now - *at > oldest));
    }
}
