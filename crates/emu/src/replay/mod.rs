//! A replay of the release times on the link's own timeline: what goodput and RTT would have been,
//! had each packet been released at its due time. It bounds the error of a usable run.
//!
//! The network computes due times from the packets' RX timestamps, whatever the machine does, so
//! the due times are the simulator's for the packets that the hosts sent. What remains is what the
//! hosts would have sent. Two replays bracket it, and the bound is the larger difference:
//!
//! - Open loop: the hosts send at the same times. A packet arrives earlier by its own lateness.
//! - Closed loop: the hosts send earlier by as much as the last packet to them, of the same flow,
//!   was late. The shift of a packet passes through the link, and adds up from one round trip to
//!   the next, as the time of a transfer does that waits for its window. A bottleneck that never
//!   was idle absorbs it: it could not have sent earlier. A link without a fixed rate absorbs
//!   nothing, so the bound holds there and is loose.
//!
//! Assumptions: queues are FIFO for each flow; hosts react to the packet that arrived last, as fast
//! as they did; no retransmission timer expired (`MAX_USABLE_LATENESS`); the congestion control
//! would have decided the same. Memory does not depend on the length of the emulation.

mod flow_key;
mod paired_sample;
#[cfg(test)]
mod tests;

pub use flow_key::FlowKey;

use crate::grade::Bound;
use crate::link_delay::LinkDelay;
use ackclock_core::{Span, Time};
use flow_key::PROTOCOLS;
use paired_sample::PairedSample;
use std::collections::{HashMap, VecDeque};

/// Packets in flight that are remembered, a power of two.
const IN_FLIGHT: usize = 1 << 15;
/// Packets of one flow that have arrived and are not answered.
const MAX_UNANSWERED: usize = 64;
/// Flows that are remembered. Beyond that the figures of idle ones are added up and the flows
/// forgotten.
const MAX_FLOWS: usize = 2048;
const IDLE: Span = Span::from_secs(10);
/// Round trips in a sample, for few clients and for many.
const SAMPLE: usize = 8192;
const MANY_CLIENTS: usize = 8;
/// A quantile of fewer round trips is taken together with those of the client's other flows.
const MIN_ROUND_TRIPS: u64 = 20;
/// Each direction has a receiver: the client (downlink) and the server.
const DIRECTIONS: usize = 2;

/// A packet of a host that enters the network.
#[derive(Debug, Clone, Copy)]
pub struct EnteredPacket {
    pub id: u64,
    /// The kernel's RX timestamp.
    pub at: Time,
    /// From `at` to the entry.
    pub lateness: Span,
    pub client: u32,
    pub from_server: bool,
    pub flow: FlowKey,
}

/// A packet that was released to a host.
#[derive(Debug, Clone, Copy)]
pub struct ReleasedPacket {
    pub id: u64,
    pub due: Time,
    pub actual: Time,
    pub bytes: u32,
}

#[derive(Debug)]
pub struct ReleaseReplay {
    clients: Vec<ClientReplay>,
    flows: HashMap<(u32, FlowKey), Flow>,
    /// By packet number modulo its length.
    in_flight: Vec<InFlightPacket>,
    /// Of all clients' bottleneck where it is shared.
    shared: [BottleneckIdle; DIRECTIONS],
}

#[derive(Debug)]
struct ClientReplay {
    path: [LinkDelay; DIRECTIONS],
    own: [BottleneckIdle; DIRECTIONS],
    /// The smallest delay but for serialisation at the bottleneck: that without a queue.
    unqueued: [Span; DIRECTIONS],
    goodput: [WeightedMean; DIRECTIONS],
    /// By the end that sent the first of both packets, and by protocol.
    round_trips: [[PairedSample; PROTOCOLS]; DIRECTIONS],
    one_way: [PairedSample; DIRECTIONS],
}

/// For how long the bottleneck of a direction was idle, by the spacing of the packets that left.
#[derive(Debug, Clone, Copy, Default)]
struct BottleneckIdle {
    last_due: Time,
    idle: Span,
}

/// A packet in flight. `id` is `u64::MAX` for none.
#[derive(Debug, Clone, Copy)]
struct InFlightPacket {
    id: u64,
    sent: Time,
    input_lateness: Span,
    shift: Span,
    flow: FlowKey,
    client: u32,
    from_server: bool,
    asked: Option<AskedPacket>,
}

/// A packet that has arrived, and that the next packet of its receiver answers.
#[derive(Debug, Clone, Copy)]
struct AskedPacket {
    sent: Time,
    lateness: Span,
    shift: Span,
}

/// What one flow delivered in one direction.
#[derive(Debug, Clone, Default)]
struct Receiver {
    bytes: u64,
    /// Release of the last packet.
    last: Time,
    /// Packets of the last transmission that are not answered.
    unanswered: VecDeque<AskedPacket>,
    /// The last transmission.
    transmission: Option<Transmission>,
    /// By how much the packets of the transmission before were shifted.
    shift_before: Span,
    /// The last packet that left the bottleneck, and its shift.
    departed: Option<(Departure, Span)>,
    max_shift: Span,
}

/// A packet leaves the bottleneck. All times are as at the end of the path.
#[derive(Debug, Clone, Copy)]
struct Departure {
    due: Time,
    /// Idle time of the bottleneck until then.
    idle: Span,
    arrival: Time,
}

/// Packets of one flow that were released together.
#[derive(Debug, Clone, Copy)]
struct Transmission {
    actual: Time,
    /// Due time of the first packet, and in the closed loop.
    due: Time,
    shifted_due: Time,
}

#[derive(Debug, Clone)]
struct Flow {
    start: Time,
    last: Time,
    /// By direction of the data: 0 to the client, 1 to the server.
    receivers: [Receiver; DIRECTIONS],
}

/// Mean of relative errors, weighted by bytes.
#[derive(Debug, Clone, Copy, Default)]
struct WeightedMean {
    sum: f64,
    weight: f64,
}

impl ReleaseReplay {
    /// `paths`: of each client, to the client and to the server.
    pub fn new(paths: Vec<[LinkDelay; DIRECTIONS]>) -> ReleaseReplay {
        let capacity = SAMPLE / paths.len().div_ceil(MANY_CLIENTS).max(1);
        let client = |path| ClientReplay {
            path,
            own: Default::default(),
            unqueued: [Span::MAX; DIRECTIONS],
            goodput: Default::default(),
            round_trips: std::array::from_fn(|_| std::array::from_fn(|_| PairedSample::new(capacity))),
            one_way: std::array::from_fn(|_| PairedSample::new(capacity)),
        };
        ReleaseReplay {
            clients: paths.into_iter().map(client).collect(),
            flows: HashMap::new(),
            in_flight: vec![InFlightPacket::NONE; IN_FLIGHT],
            shared: Default::default(),
        }
    }

    /// What the link adds to a packet of `bytes` to the client, or from it.
    #[inline]
    pub fn added_by_link(&self, client: u32, to_client: bool, bytes: u32) -> Span {
        self.clients.get(client as usize).map_or(Span::ZERO, |client| client.path[usize::from(!to_client)].added(bytes))
    }

    /// A host's packet enters the network.
    pub fn entered(&mut self, packet: &EnteredPacket) {
        let EnteredPacket { id, at, lateness, client, from_server, flow: key } = *packet;
        if self.flows.len() >= MAX_FLOWS {
            self.forget_idle_flows(at);
        }
        let flow = self.flows.entry((client, key)).or_insert_with(|| Flow::new(at));
        flow.last = flow.last.max(at);
        // What the sender has received.
        let received = &mut flow.receivers[usize::from(from_server)];
        let (shift, asked) = (received.shift_at(at), received.unanswered.pop_front());
        let entry = InFlightPacket { id, sent: at, input_lateness: lateness, shift, flow: key, client, from_server, asked };
        self.in_flight[id as usize % IN_FLIGHT] = entry;
    }

    /// A packet was released to a host. Packets of the network's own are ignored.
    pub fn released(&mut self, packet: &ReleasedPacket) {
        let ReleasedPacket { id, due, actual, bytes } = *packet;
        let sent = std::mem::replace(&mut self.in_flight[id as usize % IN_FLIGHT], InFlightPacket::NONE);
        let Some(client) = self.clients.get_mut(sent.client as usize).filter(|_| sent.id == id) else { return };
        let Some(flow) = self.flows.get_mut(&(sent.client, sent.flow)) else { return };
        let direction = usize::from(!sent.from_server);
        let entered = sent.sent + sent.input_lateness;
        let departure = client.path[direction].bottleneck_ps_per_byte.map(|ps_per_byte| {
            let serialisation = Span((ps_per_byte * f64::from(bytes)) as u64);
            let bottlenecks = if client.path[direction].per_client { &mut client.own } else { &mut self.shared };
            let unqueued = &mut client.unqueued[direction];
            *unqueued = (*unqueued).min(due - entered - serialisation);
            Departure {
                due,
                idle: bottlenecks[direction].packet(due, serialisation),
                // Without another packet before it, the departure is due an unqueued delay later.
                arrival: entered + *unqueued,
            }
        });
        let lateness = actual - due + sent.input_lateness;
        let shift = flow.receivers[direction].network_shift(sent.shift, departure);
        if let Some(asked) = sent.asked {
            let rtt = actual - asked.sent;
            let open = rtt.0.saturating_sub((asked.lateness + lateness).0);
            let closed = (rtt + asked.shift).0.saturating_sub((lateness + shift).0);
            client.round_trips[direction][sent.flow.protocol() as usize].add([rtt, Span(open), Span(closed)]);
        }
        let delay = actual - sent.sent;
        client.one_way[direction].add([delay, Span(delay.0.saturating_sub(lateness.0)), delay]);
        flow.last = flow.last.max(actual);
        let asks = AskedPacket { sent: sent.sent, lateness, shift: sent.shift };
        flow.receivers[direction].receive(packet, asks, lateness, shift);
    }

    /// The bound of each client.
    pub fn bounds(&self) -> Vec<Bound> {
        let mut goodput: Vec<[WeightedMean; DIRECTIONS]> = self.clients.iter().map(|client| client.goodput).collect();
        for ((client, _), flow) in &self.flows {
            if let Some(goodput) = goodput.get_mut(*client as usize) {
                flow.add_to(goodput);
            }
        }
        let bound = |(client, goodput): (&ClientReplay, [WeightedMean; DIRECTIONS])| Bound {
            goodput: goodput.iter().map(WeightedMean::value).fold(0.0, f64::max),
            rtt_p95: client.rtt_p95(),
        };
        self.clients.iter().zip(goodput).map(bound).collect()
    }

    /// Adds up the figures of idle flows, or of all if none is idle, and forgets them.
    #[cold]
    fn forget_idle_flows(&mut self, now: Time) {
        for only_idle in [true, false] {
            let clients = &mut self.clients;
            self.flows.retain(|(client, _), flow| {
                let stays = only_idle && now - flow.last <= IDLE;
                if let Some(client) = clients.get_mut(*client as usize).filter(|_| !stays) {
                    flow.add_to(&mut client.goodput);
                }
                stays
            });
            if self.flows.len() < MAX_FLOWS / 2 {
                return;
            }
        }
    }
}

impl ClientReplay {
    fn rtt_p95(&self) -> f64 {
        let all = || self.round_trips.iter().flatten();
        let large = all().filter(|sample| sample.count() >= MIN_ROUND_TRIPS);
        let small: Vec<&PairedSample> = all().filter(|sample| (1..MIN_ROUND_TRIPS).contains(&sample.count())).collect();
        let few = PairedSample::joined(&small);
        let includes_few = few.count() >= MIN_ROUND_TRIPS || all().all(|sample| sample.count() < MIN_ROUND_TRIPS);
        let round_trips = large.chain(includes_few.then_some(&few)).map(PairedSample::p95_error).fold(0.0, f64::max);
        match all().all(|sample| sample.count() == 0) {
            true => self.one_way.iter().map(PairedSample::p95_error).fold(0.0, f64::max),
            false => round_trips,
        }
    }
}

impl BottleneckIdle {
    /// A packet with this serialisation left at `due`. Returns the idle time so far.
    fn packet(&mut self, due: Time, serialisation: Span) -> Span {
        self.idle = self.idle + (due - self.last_due - serialisation);
        self.last_due = self.last_due.max(due);
        self.idle
    }
}

impl InFlightPacket {
    const NONE: InFlightPacket = InFlightPacket {
        id: u64::MAX,
        sent: Time::ZERO,
        input_lateness: Span::ZERO,
        shift: Span::ZERO,
        flow: FlowKey::NONE,
        client: 0,
        from_server: false,
        asked: None,
    };
}

impl Receiver {
    /// By how much a packet, sent at `at`, would have been sent earlier in the closed loop.
    fn shift_at(&self, at: Time) -> Span {
        match self.transmission {
            None => Span::ZERO,
            // Received before the transmission, and read after it.
            Some(transmission) if at < transmission.due => self.shift_before,
            Some(transmission) => at.min(transmission.actual) - transmission.shifted_due,
        }
    }

    /// The shift of a packet's due time, which entered the network with the shift `input`; of a link
    /// without `departure` the same. Lindley's recursion: a packet departs after its arrival and
    /// after the packet before it, so it can be earlier by its own shift and its wait behind that
    /// packet, and by that packet's shift and the idle time between both.
    fn network_shift(&mut self, input: Span, departure: Option<Departure>) -> Span {
        let Some(departure) = departure else { return input };
        let shift = match self.departed {
            None => input,
            Some((before, shift)) => {
                let wait = before.due - departure.arrival;
                (input + wait).min(shift + (departure.idle - before.idle))
            }
        };
        self.departed = Some((departure, shift));
        shift
    }

    fn receive(&mut self, packet: &ReleasedPacket, asks: AskedPacket, lateness: Span, shift: Span) {
        self.bytes += u64::from(packet.bytes);
        self.last = packet.actual;
        self.max_shift = self.max_shift.max(lateness + shift);
        let shifted_due = Time(packet.actual.0.saturating_sub((lateness + shift).0));
        match &mut self.transmission {
            Some(transmission) if transmission.actual == packet.actual => {
                transmission.shifted_due = transmission.shifted_due.min(shifted_due);
            }
            last => {
                self.shift_before = last.map_or(Span::ZERO, |last| last.actual - last.shifted_due);
                *last = Some(Transmission { actual: packet.actual, due: packet.due, shifted_due });
                self.unanswered.clear();
            }
        }
        if self.unanswered.len() < MAX_UNANSWERED {
            self.unanswered.push_back(asks);
        }
    }
}

impl Flow {
    fn new(start: Time) -> Flow {
        Flow { start, last: start, receivers: Default::default() }
    }

    /// Adds the error of the goodput in each direction.
    fn add_to(&self, goodput: &mut [WeightedMean; DIRECTIONS]) {
        for (receiver, mean) in self.receivers.iter().zip(goodput) {
            let seconds = (receiver.last - self.start).as_secs();
            let shift = receiver.max_shift.as_secs();
            if receiver.bytes > 0 && seconds > 0.0 {
                // The same bytes in a shorter time.
                let error = if shift < seconds { shift / (seconds - shift) } else { f64::INFINITY };
                mean.add(error, receiver.bytes as f64);
            }
        }
    }
}

impl WeightedMean {
    fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.weight += weight;
    }

    fn value(&self) -> f64 {
        if self.weight > 0.0 { self.sum / self.weight } else { 0.0 }
    }
}
