//! What happens from the instant at which somebody begins to send until the medium is idle again: a frame and its answer, or a collision.

use super::aggregate::Load;
use super::contender::Pending;
use super::{Format, Wlan};
use crate::element::{Cause, Out};
use crate::medium::Stream;
use crate::units::Time;

/// Who sends, and until when.
#[derive(Clone, Debug)]
pub struct Exchange {
    senders: Vec<Sender>,
    /// The end of the data frame, until then; its receiver answers if it can.
    arrives: Option<Time>,
    /// The medium is idle again.
    pub ends: Time,
}

#[derive(Clone, Copy, Debug)]
struct Sender {
    contender: usize,
    stream: Stream,
    load: Load,
    asks: bool,
    /// The end of what it sends by itself: an RTS, or a frame without one.
    ends: Time,
}

impl Exchange {
    pub fn due(&self) -> Time {
        self.arrives.unwrap_or(self.ends)
    }

    /// Whether this contender is one of its senders.
    pub fn has(&self, contender: usize) -> bool {
        self.senders.iter().any(|sender| sender.contender == contender)
    }
}

impl Wlan {
    /// Back-offs of one or several contenders end now.
    pub(super) fn begin(&mut self, now: Time, out: &mut Out<'_>) {
        let mut senders = Vec::with_capacity(1);
        for place in 0..self.active.len() {
            let number = self.active[place];
            let contender = &mut self.contenders[number];
            let sends = contender.sends_at(&self.terms) <= now;
            contender.backoff.freeze(now, self.terms.slot);
            if sends && let Some(stream) = contender.current {
                senders.push(self.prepare(number, stream, now, out));
            }
        }
        let contenders = &self.contenders;
        self.active.retain(|&number| contenders[number].is_active());
        let mut exchange = Exchange { arrives: None, ends: now, senders };
        exchange.ends = exchange.senders.iter().map(|sender| sender.ends).max().unwrap_or(now);
        if let [sender] = exchange.senders[..] {
            let start = if sender.asks { now + self.terms.asking() } else { now };
            exchange.arrives = Some(start + self.format(sender.stream).air(sender.load.bytes));
            // The RTS, its CTS and the answer.
            self.streams.of(sender.stream).count_control(if sender.asks { 2 } else { 0 });
        }
        self.exchange = Some(exchange);
    }

    /// How the frames of a stream are sent.
    fn format(&self, stream: Stream) -> Format {
        self.terms.data.at_speed(self.streams.speed(stream.station))
    }

    /// Fills the frame and says how long it takes.
    fn prepare(&mut self, contender: usize, stream: Stream, now: Time, out: &mut Out<'_>) -> Sender {
        let format = self.format(stream);
        let window = &mut self.windows[stream.index()];
        while window.has_room(&self.terms, &format) {
            let Some(packet) = self.streams.dequeue(now, stream, out) else { break };
            window.push(packet);
        }
        self.streams.of(stream).set_sending(now, true);
        let load = window.load(&self.terms, &format);
        let asks = self.terms.asks(load.bytes);
        let air = if asks { self.terms.rts() } else { format.air(load.bytes) };
        Sender { contender, stream, load, asks, ends: now + air }
    }

    /// The exchange's due time has come.
    pub(super) fn proceed(&mut self, out: &mut Out<'_>) {
        let Some(mut exchange) = self.exchange.take() else { return };
        let Some(now) = exchange.arrives.take() else {
            let lone = exchange.senders.len() == 1;
            return self.settle(&exchange, lone, out);
        };
        let sender = exchange.senders[0];
        let share = self.terms.frame_error[sender.stream.direction as usize];
        let errors = &mut self.errors;
        let window = &mut self.windows[sender.stream.index()];
        let answered = window.receive(sender.load, || share <= 0.0 || !errors.chance(share));
        self.deliver(sender.stream, out);
        if answered {
            self.streams.of(sender.stream).count_control(1);
            exchange.ends = now + self.terms.sifs + self.terms.answer();
            self.exchange = Some(exchange);
        } else {
            exchange.ends = now;
            self.settle(&exchange, false, out);
        }
    }

    fn deliver(&mut self, stream: Stream, out: &mut Out<'_>) {
        while let Some(packet) = self.windows[stream.index()].deliver() {
            self.streams.of(stream).forward(stream, packet, out);
        }
    }

    /// The medium is idle again: senders draw new back-offs, and everybody counts on after an interframe space.
    fn settle(&mut self, exchange: &Exchange, answered: bool, out: &mut Out<'_>) {
        let (now, lone) = (exchange.ends, exchange.senders.len() == 1);
        self.idle_from = now + if answered { self.terms.difs } else { self.terms.eifs };
        for &number in &self.active {
            self.contenders[number].backoff.resume(self.idle_from);
        }
        for &sender in &exchange.senders {
            self.streams.of(sender.stream).set_sending(now, false);
            let from = if answered {
                self.idle_from
            } else {
                let sent = if lone { now } else { sender.ends };
                // Without an answer to its RTS; else to its data.
                let asked = sender.asks && !lone;
                (sent + self.terms.timeout(asked)).max(now) + self.terms.difs
            };
            self.conclude(sender, answered, lone, now, out);
            self.contenders[sender.contender].backoff.resume(from);
        }
    }

    /// What the end of the exchange means for one of its senders.
    fn conclude(&mut self, sender: Sender, answered: bool, lone: bool, now: Time, out: &mut Out<'_>) {
        let contender = &mut self.contenders[sender.contender];
        let window = &mut self.windows[sender.stream.index()];
        if answered {
            contender.succeed(&self.terms, &mut self.backoffs);
        }
        let mut given_up = false;
        let mut lost = Vec::new();
        if sender.asks && !lone {
            contender.unanswered += 1;
            if contender.unanswered >= self.terms.short_retries {
                lost.extend(window.give_up_first());
            }
        } else {
            if !lone {
                window.lose(sender.load);
            }
            while let Some(packet) = window.give_up(self.terms.tries(sender.load.bytes)) {
                lost.push(packet);
            }
        }
        for packet in lost {
            given_up = true;
            self.streams.of(sender.stream).drop(packet, Cause::Retries, out);
        }
        if !answered {
            contender.fail(&self.terms, &mut self.backoffs, given_up);
        }
        self.deliver(sender.stream, out);
        let mut pending = Pending { streams: &mut self.streams, windows: &mut self.windows };
        let contender = &mut self.contenders[sender.contender];
        contender.load(sender.contender, now, &mut pending, out);
        if !self.active.contains(&sender.contender) {
            self.active.push(sender.contender);
        }
    }
}
