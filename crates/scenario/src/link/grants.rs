//! A channel shared by requests and grants: cable, LTE, NR (docs/models/grants.md).

use super::medium::nominal_attribute;
use super::roaming::Roaming;
use super::sides::{Errors, Rates, Sizes, SomeRates, Spans, each};
use crate::invalid::{Invalid, Read};
use crate::keys::{Attribute, Kind};
use crate::value::Value;
use crate::values::{BitRate, Bytes, Count, Duration, Pair, Time, pair};
use crate::{Keys, word_enum, words};
use ackclock_core::medium::grants::{
    ContentionConfig, DirectionConfig, RequestMethod, RetransmissionConfig, ShareLayout, TokenBucketConfig,
};
use ackclock_core::medium::{Direction, GrantConfig, MediumPlan};
use ackclock_core::units::{Rate, Span};
use serde_json::json;

word_enum! {
    /// A parameter set.
    pub enum GrantStandard {
        Docsis31 = "docsis-3.1",
        Lte = "lte",
        Nr = "nr",
    }
}

word_enum! {
    /// How a station requests.
    pub enum Requests {
        Contention = "contention",
        Scheduled = "scheduled",
    }
}

words!(ShareLayout { "serial" => ShareLayout::Serial, "block" => ShareLayout::Block });

/// A standard's values of one direction. Sizes in bytes.
struct StandardDirection {
    interval: Span,
    layout: ShareLayout,
    packet_header: u32,
    block_header: u32,
    repair: RetransmissionConfig,
}

/// A standard's values: both directions, and the request method.
struct Standard {
    directions: [StandardDirection; 2],
    grant_delay: Span,
    requests: Requests,
    many_requests: bool,
}

/// HARQ with an error rate of 10 %, the target of link adaptation: four transmissions, then RLC
/// retransmission.
const fn harq(round_trip: Span, round_delay: Span) -> RetransmissionConfig {
    RetransmissionConfig { error: 0.1, attempts: 4, delay: round_trip, rounds: 3, round_delay }
}

/// An Ethernet frame (18 B) with a 10 B MAC header around each packet, an 8 B segment header for
/// each grant; MAP interval 2 ms.
const DOCSIS_31: Standard = Standard {
    directions: [docsis(Span::from_us(200), 0), docsis(Span::from_ms(2), 8)],
    grant_delay: Span::from_ms(4),
    requests: Requests::Contention,
    many_requests: true,
};

const fn docsis(interval: Span, block_header: u32) -> StandardDirection {
    let repair = RetransmissionConfig::NONE;
    StandardDirection { interval, layout: ShareLayout::Serial, packet_header: 28, block_header, repair }
}

/// FDD, 1 ms subframes, 8 ms from one transmission of a block to the next. PDCP, RLC and MAC take
/// 2 + 2 + 3 B a packet, 3 B a block.
const LTE: Standard = Standard {
    directions: [cellular(Span::from_ms(1), 4, LTE_HARQ), cellular(Span::from_ms(1), 4, LTE_HARQ)],
    grant_delay: Span::from_ms(7),
    requests: Requests::Scheduled,
    many_requests: false,
};
const LTE_HARQ: RetransmissionConfig = harq(Span::from_ms(8), Span::from_ms(40));

/// TDD at 30 kHz: slots of 0.5 ms, of which the last of each five goes up (DDDSU). PDCP 3, RLC 3,
/// SDAP 1, MAC 3 B.
const NR: Standard = Standard {
    directions: [cellular(Span::from_us(500), 7, NR_HARQ), cellular(Span::from_us(2500), 7, NR_HARQ)],
    grant_delay: Span::from_ms(3),
    requests: Requests::Scheduled,
    many_requests: false,
};
const NR_HARQ: RetransmissionConfig = harq(Span::from_ms(5), Span::from_ms(25));

const fn cellular(interval: Span, packet_header: u32, repair: RetransmissionConfig) -> StandardDirection {
    StandardDirection { interval, layout: ShareLayout::Block, packet_header, block_header: 3, repair }
}

/// Between two request slots of a station.
const PERIOD: Span = Span::from_ms(10);
const FIRST_GRANT: u32 = 100;
const CONTENTION: ContentionConfig = ContentionConfig { opportunities: 4, backoff: [3, 10], tries: 16 };

/// Requests in contention slots.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Contention {
    /// Contention slots in each interval.
    #[key(default = 4, unit = "slots")]
    pub opportunities: Count,
    /// Powers of two of the minimum and maximum back-off window, in opportunities.
    #[key(
        default = pair(3, 10),
        unit = "exponents",
        min = 0,
        max = 20,
        allowed = "two powers of two from 0 to 20, such as [3, 10]: windows of 8 to 1024 opportunities"
    )]
    pub backoff: Pair<true>,
    /// Requests before the packet is dropped.
    #[key(default = 16, unit = "requests")]
    pub tries: Count,
}

impl Contention {
    fn example() -> Value {
        Value::table([("opportunities", 4.into())])
    }
}

/// Retransmission of a damaged block: `attempts` transmissions, `delay` apart, then `rounds` of
/// retransmission requests.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Repair {
    /// Share of blocks that arrive damaged, in both or each direction.
    #[key(default = empty(), absent = "docsis-3.1 0, lte and nr 0.1", example = 0.1, unit = "share")]
    pub error: Errors,
    /// Transmissions of a block by HARQ.
    #[key(example = 4, unit = "transmissions", absent = "lte and nr 4")]
    pub attempts: Option<Count>,
    /// Time between two transmissions of a block.
    #[key(example = "8 ms", absent = "lte 8, nr 5 ms")]
    pub delay: Option<Time>,
    /// Further rounds by RLC after HARQ has failed.
    #[key(
        example = 3,
        unit = "rounds",
        absent = "lte and nr 3",
        min = 0,
        allowed = "a whole number of further rounds, 0 or more"
    )]
    pub rounds: Option<Count>,
    /// Time until such a round begins.
    #[key(example = "40 ms", absent = "lte 40, nr 25 ms")]
    pub round_delay: Option<Time>,
}

impl Repair {
    fn example() -> Value {
        Value::table([("error", 0.1.into())])
    }

    /// A standard's retransmission with the keys of this table replaced.
    fn over(&self, standard: &RetransmissionConfig, error: Option<f64>) -> RetransmissionConfig {
        let merged = RetransmissionConfig {
            error: error.unwrap_or(standard.error),
            attempts: self.attempts.map_or(standard.attempts, |attempts| attempts.0),
            delay: self.delay.map_or(standard.delay, |delay| delay.0),
            rounds: self.rounds.map_or(standard.rounds, |rounds| rounds.0),
            round_delay: self.round_delay.map_or(standard.round_delay, |delay| delay.0),
        };
        if merged.error == 0.0 { RetransmissionConfig::NONE } else { merged }
    }
}

fn empty() -> Value {
    Value::Table(Vec::new())
}

/// One channel.
///
/// `rate` is shared by all stations; `cap` limits the mean rate of one after an initial `burst`.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "grants", plan = Grants::plan_json, check = Grants::check, derived = Grants::derived)]
pub struct Grants {
    /// A channel shared by requests and grants: cable, LTE, NR.
    #[key(kind)]
    pub kind: Kind,
    /// The standard whose values the other keys have by default.
    #[key(example = "docsis-3.1")]
    pub standard: GrantStandard,
    /// Rate of the channel, which all stations share, in both or each direction.
    #[key(example = each("1 Gb/s", "100 Mb/s"), unit = "b/s")]
    pub rate: Rates,
    /// Mean rate of a station after an initial `burst` (the subscription's rate).
    #[key(
        default = empty(),
        absent = "none",
        example = each("100 Mb/s", "20 Mb/s"),
        unit = "b/s"
    )]
    pub cap: SomeRates,
    /// Bytes that a station may send above its cap.
    #[key(default = "64 KiB")]
    pub burst: Bytes,
    /// Time between two grants of a direction.
    #[key(
        default = empty(),
        absent = "docsis-3.1 0.2 and 2, lte 1 and 1, nr 0.5 and 2.5 ms",
        example = each("1 ms", "2 ms"),
        unit = "time"
    )]
    pub interval: Spans,
    /// From a request until its grant.
    #[key(example = "4 ms", absent = "docsis-3.1 4, lte 7, nr 3 ms")]
    pub grant_delay: Option<Time>,
    /// How a station requests: in contention slots, or in periodic slots of its own.
    #[key(example = "contention", absent = "docsis-3.1 contention, lte and nr scheduled")]
    pub requests: Option<Requests>,
    /// The contention slots.
    #[key(example = Contention::example(), absent = "4 opportunities, back-off [3, 10], 16 tries")]
    pub contention: Option<Contention>,
    /// Time between two request slots of a station, with scheduled requests.
    #[key(example = "10 ms", absent = "10 ms")]
    pub period: Option<Duration>,
    /// Size of the grant that answers a scheduled request.
    #[key(example = "100 B", absent = "100 B")]
    pub first_grant: Option<Bytes>,
    /// A grant carries the request for what still waits.
    #[key(default = true)]
    pub piggyback: bool,
    /// A station may have several requests open at once.
    #[key(example = true, absent = "docsis-3.1 true, lte and nr false")]
    pub many_requests: Option<bool>,
    /// A grant's packets one after another, or as one transport block that arrives whole.
    #[key(example = "block", absent = "docsis-3.1 serial, lte and nr block")]
    pub layout: Option<ShareLayout>,
    /// Bytes of link headers of a packet.
    #[key(default = empty(), absent = "docsis-3.1 28, lte 4, nr 7 B", example = "28 B", unit = "size")]
    pub packet_header: Sizes,
    /// Bytes of link headers of a grant.
    #[key(default = empty(), absent = "docsis-3.1 0 down and 8 up, lte and nr 3 B", example = "8 B", unit = "size")]
    pub block_header: Sizes,
    /// Retransmission of damaged blocks (HARQ, then RLC).
    #[key(default = empty(), absent = "docsis-3.1 none, lte and nr the standard's HARQ", example = Repair::example())]
    pub repair: Repair,
    /// Clients change between cells.
    #[key(example = Roaming::example())]
    pub handover: Option<Roaming>,
}

/// The value of a direction.
fn of<T: Copy>(direction: Direction, [down, up]: [T; 2]) -> T {
    if direction == Direction::Down { down } else { up }
}

impl Grants {
    fn standard(&self) -> &'static Standard {
        match self.standard {
            GrantStandard::Docsis31 => &DOCSIS_31,
            GrantStandard::Lte => &LTE,
            GrantStandard::Nr => &NR,
        }
    }

    fn requests(&self) -> Requests {
        self.requests.unwrap_or(self.standard().requests)
    }

    fn cap(&self, direction: Direction) -> Option<BitRate> {
        of(direction, [self.cap.down, self.cap.up])
    }

    fn block_header(&self, direction: Direction) -> u64 {
        let header = of(direction, [self.block_header.down, self.block_header.up]);
        header.map_or(self.standard().directions[direction as usize].block_header.into(), |size| size.0)
    }

    fn rate(&self, direction: Direction) -> Rate {
        Rate::from_bps(of(direction, [self.rate.down, self.rate.up]).0)
    }

    fn interval(&self, direction: Direction) -> Span {
        let interval = of(direction, [self.interval.down, self.interval.up]);
        interval.map_or(self.standard().directions[direction as usize].interval, |interval| interval.0)
    }

    fn first_grant(&self) -> u64 {
        self.first_grant.map_or(FIRST_GRANT.into(), |size| size.0)
    }

    fn check(&self) -> Read<()> {
        for direction in Direction::BOTH {
            let (capacity, header) = (self.rate(direction).bytes_in(self.interval(direction)), self.block_header(direction));
            if capacity <= header {
                let allowed = "a rate and an interval that hold more than a block's header";
                return Err(Invalid::new(format!("{capacity} B in an interval"), allowed).at(direction.name()).at("rate"));
            }
            if self.cap(direction).is_some() && self.burst.0 <= header {
                return Err(Invalid::new(format!("{} B", self.burst.0), "a burst of more than a block's header").at("burst"));
            }
        }
        let requests = self.requests();
        if requests != Requests::Scheduled && (self.period.is_some() || self.first_grant.is_some()) {
            let key = if self.period.is_some() { "period" } else { "first_grant" };
            return Err(Invalid::new("period or first_grant", "only with requests = \"scheduled\"").at(key));
        }
        if requests != Requests::Contention && self.contention.is_some() {
            return Err(Invalid::new("contention", "only with requests = \"contention\"").at("contention"));
        }
        if requests == Requests::Scheduled && self.first_grant() <= self.block_header(Direction::Up) {
            let found = format!("{} B", self.first_grant());
            return Err(Invalid::new(found, "a first grant of more than a block's header").at("first_grant"));
        }
        let headers = [("packet_header", &self.packet_header), ("block_header", &self.block_header)];
        for (key, Sizes { down, up }) in headers {
            for (name, size) in [("down", down), ("up", up)] {
                size.map_or(Ok(()), |size| Bytes(size.0).check_32_bits(name)).map_err(|invalid| invalid.at(key))?;
            }
        }
        self.first_grant.map_or(Ok(()), |size| size.check_32_bits("first_grant"))
    }

    fn direction(&self, direction: Direction) -> DirectionConfig {
        let standard = &self.standard().directions[direction as usize];
        let small = |size: u64| Bytes(size).to_u32();
        let packet_header = of(direction, [self.packet_header.down, self.packet_header.up]);
        let error = of(direction, [self.repair.error.down, self.repair.error.up]);
        DirectionConfig {
            rate: self.rate(direction),
            interval: self.interval(direction),
            layout: self.layout.unwrap_or(standard.layout),
            packet_header: packet_header.map_or(standard.packet_header, |size| small(size.0)),
            block_header: small(self.block_header(direction)),
            cap: self.cap(direction).map(|cap| TokenBucketConfig { rate: Rate::from_bps(cap.0), burst: self.burst.0 }),
            repair: self.repair.over(&standard.repair, error.map(|share| share.0)),
        }
    }

    fn request(&self) -> RequestMethod {
        if self.requests() == Requests::Scheduled {
            let period = self.period.map_or(PERIOD, |period| period.0);
            return RequestMethod::Scheduled { period, first_grant: Bytes(self.first_grant()).to_u32() };
        }
        RequestMethod::Contention(self.contention.as_ref().map_or(CONTENTION, |given| ContentionConfig {
            opportunities: given.opportunities.0,
            backoff: given.backoff.0,
            tries: given.tries.0,
        }))
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(MediumPlan::Grants(Box::new(GrantConfig {
            down: self.direction(Direction::Down),
            up: self.direction(Direction::Up),
            request: self.request(),
            grant_delay: self.grant_delay.map_or(self.standard().grant_delay, |delay| delay.0),
            piggyback: self.piggyback,
            many_requests: self.many_requests.unwrap_or(self.standard().many_requests),
        })))
    }

    /// That of one station that always has 1500-byte packets, without the initial burst.
    pub(super) fn nominal_bps(&self) -> [u64; 2] {
        Direction::BOTH.map(|direction| self.direction(direction).ip_rate_bps(PACKET))
    }

    fn derived(&self, name: &str) -> Option<Attribute> {
        nominal_attribute(name, || self.nominal_bps())
    }
}

/// Packet size of the nominal rate, in bytes.
const PACKET: u32 = 1500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Bounds, KeyValue};

    fn read<const N: usize>(keys: [(&str, Value); N]) -> Read<Grants> {
        let Value::Table(mut table) = Value::table(keys) else { unreachable!("a table") };
        table.extend([("rate".to_owned(), "50 Mb/s".into())]);
        Grants::read(&Value::Table(table), &Bounds::NONE)
    }

    #[test]
    fn absent_keys_are_those_of_the_standard() {
        let lte = read([("standard", "lte".into())]).expect("a channel").plan_json();
        assert_eq!(
            (lte["ask"]["kind"].clone(), lte["up"]["repair"]["delay_ps"].as_u64()),
            (json!("scheduled"), Some(8_000_000_000))
        );
        let cable = read([("standard", "docsis-3.1".into()), ("repair", [("error", 0.5.into())].into())]).expect("a channel");
        assert_eq!(
            cable.plan_json()["down"]["repair"],
            json!({"error": 0.5, "attempts": 1, "delay_ps": 0, "rounds": 0, "round_delay_ps": 0})
        );
        let none = read([("standard", "lte".into()), ("repair", [("error", 0.into())].into())]).expect("a channel").plan_json();
        assert_eq!(none["down"]["repair"], serde_json::Value::Null);
    }

    #[test]
    fn keys_of_the_other_request_method_are_refused() {
        let period = read([("standard", "docsis-3.1".into()), ("period", "1 ms".into())]).expect_err("contention");
        assert_eq!(period.allowed, "only with requests = \"scheduled\"");
        let contention = read([("standard", "nr".into()), ("contention", empty())]).expect_err("scheduled");
        assert_eq!(contention.allowed, "only with requests = \"contention\"");
    }

    #[test]
    fn interval_holds_more_than_the_header_of_its_block() {
        let header = read([("standard", "lte".into()), ("block_header", "1 MB".into())]).expect_err("a large header");
        assert_eq!((header.found.as_str(), header.path.len()), ("6250 B in an interval", 2));
        let burst =
            read([("standard", "lte".into()), ("cap", "1 Mb/s".into()), ("burst", "3 B".into())]).expect_err("a small burst");
        assert_eq!(burst.found, "3 B");
    }
}
