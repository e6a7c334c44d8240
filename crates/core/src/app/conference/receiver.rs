//! The receiving half: frames from packets, what is missed, and feedback.

use super::{MediaPacket, Report, SharedLog};
use crate::units::{Span, Time};
use std::collections::BTreeMap;

/// libwebrtc sends feedback each 100 ms, and faster or slower only by the rate.
const REPORT_INTERVAL: Span = Span::from_ms(100);
/// A missed packet is asked for again after this time, so many times in all (libwebrtc: the RTT that it assumes,
/// and its number of retries).
const RETRY_INTERVAL: Span = Span::from_ms(100);
const MAX_REQUESTS: u32 = 10;
/// A key frame is asked for at most this often (libwebrtc, `kMinKeyFrameRequestIntervalMs`).
const KEY_REQUEST_INTERVAL: Span = Span::from_ms(300);
/// A picture that is waited for so long needs a key frame.
const MAX_WAIT: Span = Span::from_ms(1000);
/// IP, UDP and RTCP headers of a report with its fixed fields (RFC 3550, transport-wide feedback), and bytes for each
/// packet in it.
const REPORT_HEADERS: u64 = 20 + 8 + 20;
const BYTES_PER_PACKET: u64 = 2;
const MAX_REPORTED: u64 = 600;

#[derive(Debug, Clone, Copy)]
struct Missed {
    requested: Option<Time>,
    requests: u32,
}

#[derive(Debug, Clone)]
struct PartialFrame {
    is_key: bool,
    missing: u16,
    has: Vec<bool>,
}

#[derive(Debug, Clone)]
pub(super) struct MediaReceiver {
    log: SharedLog,
    /// Arrivals from the first number that was not reported on.
    first: u64,
    arrivals: Vec<Option<Time>>,
    missed: BTreeMap<u64, Missed>,
    frames: BTreeMap<u64, PartialFrame>,
    /// The next frame to be rendered, if no key frame comes behind it.
    next_frame: u64,
    rendered: Option<Time>,
    next_report: Time,
    /// Something is missed for the first time.
    is_urgent: bool,
    needs_key: bool,
    key_requested: Option<Time>,
    received_bytes: u64,
    received_packets: u64,
}

impl MediaReceiver {
    pub(super) fn new(log: SharedLog) -> MediaReceiver {
        MediaReceiver {
            log,
            first: 0,
            arrivals: Vec::new(),
            missed: BTreeMap::new(),
            frames: BTreeMap::new(),
            next_frame: 0,
            rendered: None,
            next_report: Time::NEVER,
            is_urgent: false,
            needs_key: false,
            key_requested: None,
            received_bytes: 0,
            received_packets: 0,
        }
    }

    pub(super) fn log(&self) -> &SharedLog {
        &self.log
    }

    pub(super) fn received(&self) -> (u64, u64) {
        (self.received_bytes, self.received_packets)
    }

    pub(super) fn due(&self) -> Time {
        self.next_report
    }

    /// A packet of media arrives.
    pub(super) fn receive(&mut self, now: Time, number: u64) {
        let packet = usize::try_from(number).ok().and_then(|number| self.log.lock().packets.get(number).copied());
        let Some(packet) = packet else { return };
        self.received_bytes += u64::from(packet.bytes);
        self.received_packets += 1;
        if self.next_report == Time::NEVER {
            self.next_report = now + REPORT_INTERVAL;
        }
        self.note_arrival(now, number);
        self.missed.remove(&number);
        self.add_to_frame(&packet);
        self.render(now);
        if self.is_urgent {
            self.next_report = now;
        }
    }

    fn note_arrival(&mut self, now: Time, number: u64) {
        // One that was reported as lost arrives late: the report stands.
        let Some(place) = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok()) else { return };
        while self.arrivals.len() < place {
            self.missed.insert(self.first + self.arrivals.len() as u64, Missed { requested: None, requests: 0 });
            self.arrivals.push(None);
            self.is_urgent = true;
        }
        if place == self.arrivals.len() {
            self.arrivals.push(Some(now));
        } else {
            self.arrivals[place].get_or_insert(now);
        }
    }

    fn add_to_frame(&mut self, packet: &MediaPacket) {
        if packet.frame < self.next_frame {
            return;
        }
        let new = || PartialFrame { is_key: packet.is_key, missing: packet.count, has: vec![false; packet.count.into()] };
        let frame = self.frames.entry(packet.frame).or_insert_with(new);
        if let Some(has) = frame.has.get_mut(usize::from(packet.index))
            && !std::mem::replace(has, true)
        {
            frame.missing -= 1;
        }
    }

    /// Renders what is complete: the next frame, or a later key frame, which needs none before it.
    fn render(&mut self, now: Time) {
        loop {
            let is_complete =
                |number: &u64, frame: &PartialFrame| frame.missing == 0 && (*number == self.next_frame || frame.is_key);
            let Some(number) = self.frames.iter().find(|(number, frame)| is_complete(number, frame)).map(|(number, _)| *number)
            else {
                break;
            };
            self.log.lock().frames.render(now, number);
            self.next_frame = number + 1;
            self.frames = self.frames.split_off(&self.next_frame);
            self.rendered = Some(now);
            self.needs_key = false;
        }
    }

    /// A report, if one is due: its number and its IP length.
    pub(super) fn poll(&mut self, now: Time) -> Option<(u64, u16)> {
        if self.next_report > now {
            return None;
        }
        self.next_report = now + REPORT_INTERVAL;
        self.is_urgent = false;
        let missed = self.requests(now);
        self.needs_key |= self.rendered.is_some_and(|rendered| now - rendered > MAX_WAIT) && !self.frames.is_empty();
        let asks = self.needs_key && self.key_requested.is_none_or(|asked| now - asked >= KEY_REQUEST_INTERVAL);
        if asks {
            self.key_requested = Some(now);
        }
        if self.arrivals.is_empty() && missed.is_empty() && !asks {
            // Nothing arrives: the next packet begins again.
            if self.missed.is_empty() && self.frames.is_empty() {
                self.next_report = Time::NEVER;
            }
            return None;
        }
        let arrivals = std::mem::take(&mut self.arrivals);
        let packets = (arrivals.len() + missed.len()) as u64;
        let first = self.first;
        self.first += arrivals.len() as u64;
        let mut log = self.log.lock();
        log.reports.push(Report { first, arrivals, sent: now, missed, needs_key: asks });
        let len = REPORT_HEADERS + BYTES_PER_PACKET * packets.min(MAX_REPORTED);
        Some((log.reports.len() as u64 - 1, u16::try_from(len).unwrap_or(u16::MAX)))
    }

    /// The missed packets that are asked for now. One that is asked for too often is given up: then only a key
    /// frame helps.
    fn requests(&mut self, now: Time) -> Vec<u64> {
        let mut asked = Vec::new();
        let mut lost = false;
        let (log, next_frame) = (self.log.lock(), self.next_frame);
        self.missed.retain(|&number, missed| {
            let frame = usize::try_from(number).ok().and_then(|number| log.packets.get(number)).map(|packet| packet.frame);
            if frame.is_none_or(|frame| frame < next_frame) {
                return false;
            }
            if missed.requested.is_some_and(|at| now - at < RETRY_INTERVAL) {
                return true;
            }
            if missed.requests >= MAX_REQUESTS {
                lost = true;
                return false;
            }
            (missed.requested, missed.requests) = (Some(now), missed.requests + 1);
            asked.push(number);
            true
        });
        self.needs_key |= lost;
        asked
    }
}
