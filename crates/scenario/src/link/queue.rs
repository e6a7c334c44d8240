//! Queues. Those with active queue management signal congestion before they are full.

use super::acks::Acks;
use super::threshold::{Amount, MarkThreshold};
use crate::invalid::{Invalid, Read, format_value};
use crate::keys::Kind;
use crate::value::Value;
use crate::values::{Bytes, Count, Duration, Share, Time};
use crate::{Keys, words};
use ackclock_core::queue::{
    AqmSignal, CakeConfig, Candidates, CoDelConfig, CoDelParameters, DropFrom, DropTailConfig, DualPi2Config, FqCoDelConfig,
    Limit, Order, PieConfig, QueueConfig, QueueUnit, RedConfig, RedDraw,
};
use ackclock_core::units::Span;
use serde_json::json;

words!(RedDraw { "packet" => RedDraw::Packet, "signal" => RedDraw::Signal });
words!(Candidates { "all" => Candidates::All, "data" => Candidates::Data });

/// Any queue.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(default = "droptail")]
pub enum Queue {
    DropTail(DropTail),
    Red(Red),
    CoDel(CoDel),
    FqCoDel(FqCoDel),
    Cake(Cake),
    Pie(Pie),
    DualPi2(DualPi2),
}

/// FIFO queue that drops arrivals when full, or with `drop = "front"` the oldest packets. The
/// packet in transmission does not count. Above `mark`, ECN-capable packets are marked (RFC 8257,
/// section 3.1).
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "droptail", plan = DropTail::plan_json)]
pub struct DropTail {
    /// Packets that may wait; the packet being sent does not count.
    #[key(example = 50, unit = "packets", absent = "no limit in packets")]
    pub packets: Option<Count>,
    /// Bytes that may wait; the packet being sent does not count.
    #[key(example = "256 KiB", absent = "no limit in bytes")]
    pub bytes: Option<Bytes>,
    /// What the queue does with pure ACKs.
    #[key(example = Acks::example(), unit = "table", absent = "nothing")]
    pub ack: Option<Acks>,
    /// First in, first out; arrivals at a full queue are dropped. The default kind.
    #[key(kind, default)]
    pub kind: Kind,
    /// Threshold above which ECN-capable packets are marked: packets or bytes at a packet's
    /// arrival, time at its departure (RFC 8257, section 3.1).
    #[key(example = "20 packets", absent = "no marks")]
    pub mark: Option<MarkThreshold>,
    /// Which packet a full queue drops: the arriving one, or the oldest ones.
    #[key(default = "tail")]
    pub drop: DropFrom,
}

/// Random early detection (Floyd and Jacobson 1993). Default thresholds are those of `asymmetry`:
/// 0.15 and 0.6 of the limit (papers' B31); so are the defaults of weight and probability. The unit
/// is that of the thresholds, else of the limit.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "red", plan = Red::plan_json, check = Red::check)]
pub struct Red {
    /// Packets that may wait; the packet being sent does not count.
    #[key(example = 1000, unit = "packets", absent = "1000 where no limit is given")]
    pub packets: Option<Count>,
    /// Bytes that may wait; the packet being sent does not count.
    #[key(example = "4 MiB", absent = "no limit in bytes")]
    pub bytes: Option<Bytes>,
    /// What the queue does with pure ACKs.
    #[key(example = Acks::example(), unit = "table", absent = "nothing")]
    pub ack: Option<Acks>,
    /// ECN-capable packets are marked, others dropped; false: all are dropped.
    #[key(default = true)]
    pub ecn: bool,
    /// Random early detection: the probability of a signal rises with the average queue.
    #[key(kind)]
    pub kind: Kind,
    /// Average queue from which on signals begin, in packets or bytes; with `max`.
    #[key(example = "5 packets", absent = "0.15 of the limit")]
    pub min: Option<Amount>,
    /// Average queue at which the probability is `max_p`; in the unit of `min`.
    #[key(example = "15 packets", absent = "0.6 of the limit")]
    pub max: Option<Amount>,
    /// Weight of a new sample in the average.
    #[key(default = 0.01, example = 0.002, unit = "share", above = 0, max = 1, allowed = "a weight above 0, up to 1")]
    pub weight: f64,
    /// Probability of a signal at `max`.
    #[key(default = 0.1)]
    pub max_p: Share,
    /// Above `max` the probability rises to 1 at twice `max`, in place of 1 at once.
    #[key(default = false, example = true)]
    pub gentle: bool,
    /// Gaps between signals are uniform on 1/p to 2/p packets, in place of 1 to 1/p (ns-2's
    /// `wait_`, its default).
    #[key(default = false, example = true)]
    pub wait: bool,
    /// When a random number is drawn: for each packet (ns-2), or after each signal (the paper's
    /// efficient algorithm, and Linux, where a packet's length does not count).
    #[key(default = "packet", example = "signal")]
    pub draw: RedDraw,
    /// Which packets get signals: all, or data alone (not pure ACKs).
    #[key(default = "all")]
    pub only: Candidates,
    /// Packet size by which the average falls while the queue is empty, and to which a packet is
    /// compared in bytes.
    #[key(default = "500 B")]
    pub mean_packet: Bytes,
}

/// CoDel (RFC 8289): signals when the sojourn time has been above `target` for `interval`.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "codel", plan = CoDel::plan_json, check = CoDel::check)]
pub struct CoDel {
    /// Packets that may wait; the packet being sent does not count.
    #[key(example = 1000, unit = "packets", absent = "1000 where no limit is given")]
    pub packets: Option<Count>,
    /// Bytes that may wait; the packet being sent does not count.
    #[key(example = "4 MiB", absent = "no limit in bytes")]
    pub bytes: Option<Bytes>,
    /// What the queue does with pure ACKs.
    #[key(example = Acks::example(), unit = "table", absent = "nothing")]
    pub ack: Option<Acks>,
    /// ECN-capable packets are marked, others dropped; false: all are dropped.
    #[key(default = true)]
    pub ecn: bool,
    /// CoDel (RFC 8289): signals when packets have waited longer than `target` for `interval`.
    #[key(kind)]
    pub kind: Kind,
    /// The keys of CoDel.
    #[key(flatten)]
    pub codel: CoDelKeys,
}

/// Keys of CoDel, in each queue with it.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct CoDelKeys {
    /// Acceptable waiting time.
    #[key(default = "5 ms")]
    pub target: Time,
    /// Time for which it must be exceeded; about the longest RTT.
    #[key(default = "100 ms")]
    pub interval: Duration,
    /// A queue of no more than this never signals.
    #[key(default = "1514 B")]
    pub mtu: Bytes,
}

/// Keys of a queue for each flow.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct FlowQueues {
    /// Number of queues; flows are assigned by a hash.
    #[key(default = 1024, unit = "queues", min = 1, max = 65536, allowed = "a whole number from 1 to 65536")]
    pub flows: Count,
    /// Bytes that a queue may send in its round.
    #[key(default = "1514 B", min = "64 B", max = "2147483647 B", allowed = "a size of at least \"64 B\"")]
    pub quantum: Bytes,
}

/// FQ-CoDel (RFC 8290): a CoDel queue for each flow, served by deficit round robin with `quantum`
/// bytes, new flows first.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "fq-codel", plan = FqCoDel::plan_json, check = FqCoDel::check)]
pub struct FqCoDel {
    /// Packets that may wait; the packet being sent does not count.
    #[key(example = 10240, unit = "packets", absent = "10240 where no limit is given")]
    pub packets: Option<Count>,
    /// Bytes that may wait.
    #[key(example = "4 MiB", absent = "32 MiB")]
    pub bytes: Option<Bytes>,
    /// What the queue does with pure ACKs.
    #[key(example = Acks::example(), unit = "table", absent = "nothing")]
    pub ack: Option<Acks>,
    /// ECN-capable packets are marked, others dropped; false: all are dropped.
    #[key(default = true)]
    pub ecn: bool,
    /// FQ-CoDel (RFC 8290): a CoDel queue for each flow, served in rotation, new flows first.
    #[key(kind)]
    pub kind: Kind,
    /// The keys of CoDel.
    #[key(flatten)]
    pub codel: CoDelKeys,
    /// The queues of flows.
    #[key(flatten)]
    pub fair: FlowQueues,
}

/// CAKE's core (Høiland-Jørgensen, Täht and Morton 2018): FQ-CoDel with 8-way set-associative
/// hashing and COBALT (CoDel and BLUE).
///
/// With `hosts`, fairness is between hosts first, then between a host's flows, if packets have real
/// addresses.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "cake", plan = Cake::plan_json, check = Cake::check)]
pub struct Cake {
    /// Packets that may wait; the packet being sent does not count.
    #[key(example = 10240, unit = "packets", absent = "10240 where no limit is given")]
    pub packets: Option<Count>,
    /// Bytes that may wait.
    #[key(example = "4 MiB", absent = "4 MiB")]
    pub bytes: Option<Bytes>,
    /// What the queue does with pure ACKs.
    #[key(example = Acks::example(), unit = "table", absent = "nothing")]
    pub ack: Option<Acks>,
    /// ECN-capable packets are marked, others dropped; false: all are dropped.
    #[key(default = true)]
    pub ecn: bool,
    /// CAKE's core: FQ-CoDel with fewer collisions of flows, and BLUE beside CoDel.
    #[key(kind)]
    pub kind: Kind,
    /// The keys of CoDel.
    #[key(flatten)]
    pub codel: CoDelKeys,
    /// The queues of flows.
    #[key(flatten)]
    pub fair: FlowQueues,
    /// Fairness between hosts first, then between the flows of a host, where packets have real
    /// addresses.
    #[key(default = true)]
    pub hosts: bool,
}

/// PIE (RFC 8033): a controller keeps the delay near `target`.
///
/// Above the probability `mark_up_to` it drops all packets.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "pie", plan = Pie::plan_json, check = Pie::check)]
pub struct Pie {
    /// Packets that may wait; the packet being sent does not count.
    #[key(example = 1000, unit = "packets", absent = "1000 where no limit is given")]
    pub packets: Option<Count>,
    /// Bytes that may wait; the packet being sent does not count.
    #[key(example = "4 MiB", absent = "no limit in bytes")]
    pub bytes: Option<Bytes>,
    /// What the queue does with pure ACKs.
    #[key(example = Acks::example(), unit = "table", absent = "nothing")]
    pub ack: Option<Acks>,
    /// ECN-capable packets are marked, others dropped; false: all are dropped.
    #[key(default = true)]
    pub ecn: bool,
    /// PIE (RFC 8033): a controller keeps the delay near `target`.
    #[key(kind)]
    pub kind: Kind,
    /// The delay that the controller keeps.
    #[key(default = "15 ms")]
    pub target: Time,
    /// Time between two updates of the probability.
    #[key(default = "15 ms", min = "1 us", allowed = "a time from \"1 us\" to \"100 day\"")]
    pub update: Time,
    /// Gain of the difference from the target, per second.
    #[key(default = 0.125, unit = "1/s", min = 0, max = 1e6, allowed = "a gain from 0 to 1e6")]
    pub alpha: f64,
    /// Gain of the change of the delay, per second.
    #[key(default = 1.25, unit = "1/s", min = 0, max = 1e6, allowed = "a gain from 0 to 1e6")]
    pub beta: f64,
    /// Time without drops after an idle period.
    #[key(default = "150 ms")]
    pub burst: Time,
    /// Probability above which ECN-capable packets are dropped, too.
    #[key(default = 0.1)]
    pub mark_up_to: Share,
    /// With two packets of this size or less in the queue, nothing is dropped (RFC 8033, section
    /// 4.1).
    #[key(default = "1500 B")]
    pub mean_packet: Bytes,
}

/// DualPI2 (RFC 9332): a separate queue for L4S traffic (ECT(1) and CE), marked from `step` on and
/// coupled to the classic queue.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "dualpi2", plan = DualPi2::plan_json, check = DualPi2::check)]
pub struct DualPi2 {
    /// Packets that may wait; the packet being sent does not count.
    #[key(example = 10000, unit = "packets", absent = "10000 where no limit is given")]
    pub packets: Option<Count>,
    /// Bytes that may wait; the packet being sent does not count.
    #[key(example = "256 KiB", absent = "no limit in bytes")]
    pub bytes: Option<Bytes>,
    /// What the queue does with pure ACKs.
    #[key(example = Acks::example(), unit = "table", absent = "nothing")]
    pub ack: Option<Acks>,
    /// DualPI2 (RFC 9332): L4S traffic has a queue of its own, marked early and coupled to the
    /// classic queue.
    #[key(kind)]
    pub kind: Kind,
    /// The delay of the classic queue that the controller keeps.
    #[key(default = "15 ms")]
    pub target: Time,
    /// Time between two updates of the probability.
    #[key(default = "16 ms", min = "1 us", allowed = "a time from \"1 us\" to \"100 day\"")]
    pub update: Time,
    /// Gain of the difference from the target, per second.
    #[key(default = 0.16, unit = "1/s", min = 0, max = 1e6, allowed = "a gain from 0 to 1e6")]
    pub alpha: f64,
    /// Gain of the change of the delay, per second.
    #[key(default = 3.2, unit = "1/s", min = 0, max = 1e6, allowed = "a gain from 0 to 1e6")]
    pub beta: f64,
    /// Factor from the base probability to the marks of L4S traffic.
    #[key(default = 2.0, example = 2.0, unit = "factor", above = 0, max = 100, allowed = "a factor above 0, up to 100")]
    pub coupling: f64,
    /// Waiting time in the L4S queue from which on every packet is marked.
    #[key(default = "1 ms")]
    pub step: Time,
    /// Probability above which classic packets are dropped even if they are ECN-capable.
    #[key(default = 0.25)]
    pub overload: Share,
    /// Share of the bytes that the classic queue has while both queues wait.
    #[key(default = 0.1, unit = "share", min = 0, below = 1, allowed = "a share from 0 to below 1")]
    pub classic_share: f64,
}

/// What CoDel and PIE have in packets where no limit is given.
const AQM_PACKETS: u64 = 1000;
const FQ_CODEL_PACKETS: u64 = 10_240;
const DUALPI2_PACKETS: u64 = 10_000;
/// A queue that needs a limit in packets, but has one in bytes alone.
const MANY_PACKETS: u64 = (1 << 31) - 1;
const FQ_CODEL_BYTES: u64 = 32 << 20;
const CAKE_BYTES: u64 = 4 << 20;
/// The thresholds of RED without any, as shares of the limit.
const RED_SHARES: [f64; 2] = [0.15, 0.6];

/// The limit, with `usual` packets where none is given.
fn limit(packets: Option<Count>, bytes: Option<Bytes>, usual: u64) -> Limit {
    let given = packets.is_some() || bytes.is_some();
    Limit {
        packets: packets.map_or(if given { u64::MAX } else { usual }, |packets| packets.0.into()),
        bytes: bytes.map_or(u64::MAX, |bytes| bytes.0),
    }
}

fn signal(ecn: bool) -> AqmSignal {
    if ecn { AqmSignal::Mark } else { AqmSignal::Drop }
}

impl Queue {
    /// What it does with pure ACKs.
    pub fn acks(&self) -> Option<&Acks> {
        let acks = match self {
            Queue::DropTail(queue) => &queue.ack,
            Queue::Red(queue) => &queue.ack,
            Queue::CoDel(queue) => &queue.ack,
            Queue::FqCoDel(queue) => &queue.ack,
            Queue::Cake(queue) => &queue.ack,
            Queue::Pie(queue) => &queue.ack,
            Queue::DualPi2(queue) => &queue.ack,
        };
        acks.as_ref()
    }

    /// The engine's configuration.
    pub fn config(&self) -> QueueConfig {
        match self {
            Queue::DropTail(queue) => queue.config(),
            Queue::Red(queue) => queue.config(),
            Queue::CoDel(queue) => queue.config(),
            Queue::FqCoDel(queue) => queue.config(),
            Queue::Cake(queue) => queue.config(),
            Queue::Pie(queue) => queue.config(),
            Queue::DualPi2(queue) => queue.config(),
        }
    }
}

macro_rules! planned {
    ($($table:ident),*) => {
        $(impl $table {
            fn plan_json(&self) -> serde_json::Value {
                json!(self.config())
            }
        })*
    };
}

planned!(DropTail, Red, CoDel, FqCoDel, Cake, Pie, DualPi2);

impl DropTail {
    pub fn config(&self) -> QueueConfig {
        QueueConfig::DropTail(DropTailConfig {
            limit: limit(self.packets, self.bytes, u64::MAX),
            mark: self.mark.as_ref().map(|mark| mark.threshold),
            drop: self.drop,
            order: Order::default(),
        })
    }
}

impl Red {
    fn limit(&self) -> Limit {
        limit(self.packets, self.bytes, AQM_PACKETS)
    }

    /// Unit, minimum and maximum.
    fn thresholds(&self) -> (QueueUnit, f64, f64) {
        if let (Some(min), Some(max)) = (&self.min, &self.max) {
            return (min.unit, min.number, max.number);
        }
        let limit = self.limit();
        let (unit, size) =
            if limit.packets == u64::MAX { (QueueUnit::Bytes, limit.bytes) } else { (QueueUnit::Packets, limit.packets) };
        let [min, max] = RED_SHARES.map(|share| share * size as f64);
        (unit, min, max)
    }

    fn check(&self) -> Read<()> {
        self.mean_packet.check_32_bits("mean_packet")?;
        match (&self.min, &self.max) {
            (None, Some(_)) => return Err(Invalid::new("no \"min\"", "both min and max, or neither").at("min")),
            (Some(_), None) => return Err(Invalid::new("no \"max\"", "both min and max, or neither").at("max")),
            _ => {}
        }
        if self.wait && self.draw == RedDraw::Signal {
            let allowed = "\"packet\", as `wait` spaces the draws of each packet";
            return Err(Invalid::new("\"signal\"", allowed).at("draw"));
        }
        let (unit, low, high) = self.thresholds();
        let written = |amount: &Option<Amount>| {
            format_value(&amount.as_ref().map_or(Value::Absent, |amount| Value::from(amount.written.as_str())))
        };
        if self.max.as_ref().is_some_and(|max| max.unit != unit) {
            let name = if unit == QueueUnit::Packets { "packets" } else { "bytes" };
            return Err(Invalid::new(written(&self.max), format!("a number of {name}, as min is")).at("max"));
        }
        if low >= high {
            let allowed = format!("more than min = {}", written(&self.min));
            return Err(Invalid::new(written(&self.max), allowed).at("max"));
        }
        Ok(())
    }

    pub fn config(&self) -> QueueConfig {
        let (amount, min, max) = self.thresholds();
        QueueConfig::Red(RedConfig {
            limit: self.limit(),
            amount,
            min,
            max,
            weight: self.weight,
            max_p: self.max_p.0,
            gentle: self.gentle,
            wait: self.wait,
            draw: self.draw,
            signal: signal(self.ecn),
            candidates: self.only,
            mean_packet: self.mean_packet.to_u32(),
            service: Span::ZERO,
            order: Order::default(),
        })
    }
}

impl CoDel {
    fn check(&self) -> Read<()> {
        self.codel.check()
    }

    pub fn config(&self) -> QueueConfig {
        QueueConfig::CoDel(CoDelConfig {
            limit: limit(self.packets, self.bytes, AQM_PACKETS),
            control: self.codel.control(self.ecn),
            order: Order::default(),
        })
    }
}

impl CoDelKeys {
    fn check(&self) -> Read<()> {
        self.mtu.check_32_bits("mtu")
    }

    fn control(&self, ecn: bool) -> CoDelParameters {
        CoDelParameters { target: self.target.0, interval: self.interval.0, mtu: self.mtu.to_u32(), signal: signal(ecn) }
    }
}

/// The limits of a queue with many FIFOs, which needs both.
fn both_limits(packets: Option<Count>, bytes: Option<Bytes>, usual_bytes: u64) -> (u64, u64) {
    let limit = limit(packets, bytes, FQ_CODEL_PACKETS);
    (limit.packets.min(MANY_PACKETS), bytes.map_or(usual_bytes, |bytes| bytes.0))
}

impl FqCoDel {
    fn check(&self) -> Read<()> {
        self.codel.check()
    }

    pub fn config(&self) -> QueueConfig {
        let (limit, memory) = both_limits(self.packets, self.bytes, FQ_CODEL_BYTES);
        QueueConfig::FqCoDel(FqCoDelConfig {
            control: self.codel.control(self.ecn),
            flows: self.fair.flows.0,
            quantum: self.fair.quantum.to_u32(),
            limit,
            memory,
            order: Order::default(),
        })
    }
}

impl Cake {
    fn check(&self) -> Read<()> {
        self.codel.check()
    }

    pub fn config(&self) -> QueueConfig {
        let (limit, memory) = both_limits(self.packets, self.bytes, CAKE_BYTES);
        QueueConfig::Cake(CakeConfig {
            control: self.codel.control(self.ecn),
            flows: self.fair.flows.0,
            quantum: self.fair.quantum.to_u32(),
            limit,
            memory,
            hosts: self.hosts,
            packet_time: Span::ZERO,
            order: Order::default(),
        })
    }
}

impl Pie {
    fn check(&self) -> Read<()> {
        self.mean_packet.check_32_bits("mean_packet")
    }

    pub fn config(&self) -> QueueConfig {
        QueueConfig::Pie(PieConfig {
            limit: limit(self.packets, self.bytes, AQM_PACKETS),
            target: self.target.0,
            update: self.update.0,
            alpha: self.alpha,
            beta: self.beta,
            burst: self.burst.0,
            signal: signal(self.ecn),
            mark_up_to: self.mark_up_to.0,
            mean_packet: self.mean_packet.to_u32(),
            order: Order::default(),
        })
    }
}

impl DualPi2 {
    fn check(&self) -> Read<()> {
        if self.ack.as_ref().is_some_and(|ack| ack.first) {
            return Err(Invalid::new("first = true", "false: dualpi2 has its own order of service").at("first").at("ack"));
        }
        Ok(())
    }

    pub fn config(&self) -> QueueConfig {
        QueueConfig::DualPi2(DualPi2Config {
            limit: limit(self.packets, self.bytes, DUALPI2_PACKETS),
            target: self.target.0,
            update: self.update.0,
            alpha: self.alpha,
            beta: self.beta,
            coupling: self.coupling,
            step: self.step.0,
            overload: self.overload.0,
            classic_share: self.classic_share,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invalid::{Code, Step};
    use crate::keys::{Bounds, KeyValue};

    fn read<const N: usize>(keys: [(&str, Value); N]) -> Read<Queue> {
        Queue::read(&Value::table(keys), &Bounds::NONE)
    }

    fn message<const N: usize>(keys: [(&str, Value); N]) -> (String, String) {
        let invalid = read(keys).expect_err("an error");
        let path: Vec<String> = invalid
            .path
            .iter()
            .map(|step| match step {
                Step::Key(key) => key.clone(),
                Step::Index(index) => index.to_string(),
            })
            .collect();
        (path.join("."), format!("found {}; allowed: {}", invalid.found, invalid.allowed))
    }

    #[test]
    fn queue_is_droptail_when_its_kind_is_left_out() {
        let queue = read([("packets", 50.into())]).expect("a queue");
        assert_eq!(queue.config(), QueueConfig::DropTail(Limit::packets(50).into()));
        assert_eq!(queue.write(None).get("kind"), Some(&"droptail".into()));
    }

    #[test]
    fn first_error_is_the_unknown_key_then_the_value_then_the_check_of_several() {
        let unknown = read([("kind", "codel".into()), ("target", "x".into()), ("tarqet", 1.into())]).expect_err("two errors");
        assert_eq!((unknown.code, unknown.found.as_str()), (Code::UnknownKey, "unknown key \"tarqet\""));
        assert!(unknown.allowed.ends_with("(did you mean target?)"), "{}", unknown.allowed);
        let (path, found) = message([("kind", "red".into()), ("weight", 2.into()), ("min", "5 packets".into())]);
        assert_eq!((path.as_str(), found.as_str()), ("weight", "found 2; allowed: a weight above 0, up to 1"));
        let (path, found) = message([("kind", "red".into()), ("min", "5 packets".into())]);
        assert_eq!((path.as_str(), found.as_str()), ("max", "found no \"max\"; allowed: both min and max, or neither"));
    }

    #[test]
    fn time_of_a_queue_is_refused_with_its_size_in_bytes() {
        let kind = || ("kind", Value::from("droptail"));
        assert!(message([kind(), ("time", "400 ms".into())]).1.ends_with("400 ms at 12 Mb/s are 600 kB"));
        assert!(!message([kind(), ("packet", 5.into())]).1.contains("400 ms"));
    }

    #[test]
    fn kind_is_refused_when_it_is_unknown_or_no_text() {
        assert_eq!(message([("kind", "codle".into())]).0, "kind");
        assert!(message([("kind", "codle".into())]).1.ends_with(" (did you mean codel?)"));
        assert!(message([("kind", 3.into())]).1.starts_with("found 3; allowed: kind droptail, red"));
        let invalid = Queue::read(&3.into(), &Bounds::NONE).expect_err("no table");
        assert!(invalid.allowed.starts_with("a table with a kind: droptail, red"), "{}", invalid.allowed);
        assert!(!invalid.allowed.contains("such as"), "{}", invalid.allowed);
        let invalid = Queue::read(&"cake".into(), &Bounds::NONE).expect_err("no table");
        assert!(invalid.allowed.ends_with(", such as { kind = \"cake\" }"), "{}", invalid.allowed);
    }

    #[test]
    fn acks_first_are_refused_when_the_queue_is_dualpi2() {
        let (path, found) = message([("kind", "dualpi2".into()), ("ack", [("first", true.into())].into())]);
        assert_eq!(
            (path.as_str(), found.as_str()),
            ("ack.first", "found first = true; allowed: false: dualpi2 has its own order of service")
        );
    }

    #[test]
    fn red_has_its_thresholds_in_the_unit_of_the_limit_when_none_are_given() {
        let config = |keys: [(&str, Value); 2]| match read(keys).expect("a queue").config() {
            QueueConfig::Red(red) => (red.amount, red.min, red.max),
            other => panic!("{other:?}"),
        };
        assert_eq!(config([("kind", "red".into()), ("packets", 10.into())]), (QueueUnit::Packets, 1.5, 6.0));
        assert_eq!(config([("kind", "red".into()), ("bytes", "10 kB".into())]), (QueueUnit::Bytes, 1500.0, 6000.0));
        let (_, found) = message([("kind", "red".into()), ("min", "5 packets".into()), ("max", "9 kB".into())]);
        assert_eq!(found, "found \"9 kB\"; allowed: a number of packets, as min is");
        let (_, found) = message([("kind", "red".into()), ("min", "5 packets".into()), ("max", "5 packets".into())]);
        assert_eq!(found, "found \"5 packets\"; allowed: more than min = \"5 packets\"");
    }

    #[test]
    fn limits_are_the_usual_ones_when_none_are_given() {
        let plan = |keys: [(&str, Value); 2]| json!(read(keys).expect("a queue").config());
        let limits = |plan: serde_json::Value| (plan["packets"].as_u64(), plan["bytes"].as_u64());
        let size = || ("bytes", Value::from("1 MiB"));
        let none = || ("packets", Value::Absent);
        assert_eq!(limits(plan([("kind", "codel".into()), none()])), (Some(1000), None));
        assert_eq!(limits(plan([("kind", "codel".into()), size()])), (None, Some(1 << 20)));
        assert_eq!(limits(plan([("kind", "fq-codel".into()), none()])), (Some(10_240), Some(32 << 20)));
        assert_eq!(limits(plan([("kind", "fq-codel".into()), size()])), (Some(MANY_PACKETS), Some(1 << 20)));
        assert_eq!(limits(plan([("kind", "cake".into()), none()])), (Some(10_240), Some(4 << 20)));
        assert_eq!(limits(plan([("kind", "dualpi2".into()), none()])), (Some(10_000), None));
        assert_eq!(limits(plan([("kind", "droptail".into()), none()])), (None, None));
    }

    #[test]
    fn size_of_a_packet_is_refused_when_it_exceeds_32_bits() {
        assert_eq!(
            message([("kind", "codel".into()), ("mtu", "5 GB".into())]).1,
            "found \"5000 MB\"; allowed: a size of at most 4294967295 B"
        );
    }
}
