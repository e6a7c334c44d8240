//! Workloads: what a flow sends.

use super::page::PageTree;
use super::start::SomeTime;
use crate::invalid::{Invalid, Read, format_value};
use crate::keys::{Attribute, Bounds, KeyValue, Kind};
use crate::schema::Definitions;
use crate::units::{show_size, show_time};
use crate::value::Value;
use crate::values::{BitRate, Bytes, Count, Duration};
use crate::{Keys, word_enum, words};
use ackclock_core::Span;
use ackclock_core::app::{
    Adaptation, LadderName, MAX_MEDIA_PAYLOAD, MEDIA_HEADERS, OnDistribution, PageConfig, UDP_HEADER, WorkloadConfig,
};
use ackclock_core::score::Codec;
use serde_json::json;

words!(LadderName { "netflix-2015" => LadderName::Netflix2015, "apple-hevc" => LadderName::AppleHevc });
words!(Adaptation { "throughput" => Adaptation::Throughput, "buffer" => Adaptation::Buffer });
words!(OnDistribution { "exponential" => OnDistribution::Exponential, "pareto" => OnDistribution::Pareto });

/// Any workload.
#[derive(Clone, Debug, PartialEq, Keys)]
pub enum Workload {
    Bulk(Bulk),
    Transfer(Transfer),
    Web(Web),
    Page(Page),
    Video(Video),
    Call(Call),
    Conference(Conference),
    Game(Game),
    ConstantRate(ConstantRate),
    OnOff(OnOff),
    Probe(Probe),
    Live(Live),
}

/// Unlimited data. `read_rate` limits the rate at which the receiving application reads; by default
/// it reads at once.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "bulk", plan = Bulk::plan_json)]
pub struct Bulk {
    /// Unlimited data.
    #[key(kind)]
    pub kind: Kind,
    /// Rate at which the receiving application reads.
    #[key(example = "5 Mb/s", absent = "at once")]
    pub read_rate: Option<BitRate>,
}

/// A transfer of `size` bytes of payload.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "transfer", plan = Transfer::plan_json)]
pub struct Transfer {
    /// A given amount of data.
    #[key(kind)]
    pub kind: Kind,
    /// Payload to transfer.
    #[key(example = "10 MB")]
    pub size: Bytes,
    /// Rate at which the receiving application reads.
    #[key(example = "5 Mb/s", absent = "at once")]
    pub read_rate: Option<BitRate>,
}

/// `jobs` pages in sequence: a `request`, then `answers` parallel transfers of `size` bytes. `think`
/// is the time between the last byte of a page and the next request. `persistent`: one connection
/// for all of them, with the answers in sequence.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "web", plan = Web::plan_json, check = Web::check)]
pub struct Web {
    /// Pages in sequence: a request, then parallel answers.
    #[key(kind)]
    pub kind: Kind,
    /// Size of a request.
    #[key(default = "500 B")]
    pub request: Bytes,
    /// Parallel answers of a page.
    #[key(default = 4, unit = "answers")]
    pub answers: Count,
    /// Size of an answer.
    #[key(default = "10 kB")]
    pub size: Bytes,
    /// Number of pages.
    #[key(default = 1, example = 20, unit = "pages")]
    pub jobs: Count,
    /// Time between the last byte of a page and the next request, or a range from which it is drawn.
    #[key(default = "0 s", example = "uniform(1 s, 5 s)")]
    pub think: SomeTime,
    /// One connection for all pages, with the answers in sequence; else one for each request and
    /// answer.
    #[key(default = false, example = true)]
    pub persistent: bool,
}

/// A page that a browser loads: objects, each requested when the one that names it is there. With HTTP/1.1
/// over up to `connections` connections to a server, one request at a time on each; with HTTP/2 over one, with
/// all requests at once and responses that share it. With `repeat` it is loaded again and again, each time
/// without a cache and over new connections. The score has its load time and its ByteIndex.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "page", plan = Page::plan_json, check = Page::check)]
pub struct Page {
    /// A page with its objects, as a browser loads it.
    #[key(kind)]
    pub kind: Kind,
    /// A packaged page: `light`, `shop` and `news` have the objects of the 10th, 50th and 75th percentile of
    /// the pages of HTTP Archive. Or the path of a HAR file, relative to the file that names it, of which only
    /// sizes, times and digests of host names are kept. Or the objects themselves, each `[size, parent, wait,
    /// host]`.
    #[key(default = "shop", example = "news")]
    pub page: PageTree,
    /// HTTP/1.1, or HTTP/2 with one connection to a server.
    #[key(default = "1.1", example = "2")]
    pub http: HttpVersion,
    /// Maximum number of connections to a server with HTTP/1.1, as browsers have them.
    #[key(default = 6, unit = "connections")]
    pub connections: Count,
    /// Size of a request.
    #[key(default = "500 B")]
    pub request: Bytes,
    /// Each connection begins with a round trip of TLS 1.3.
    #[key(default = true, example = false)]
    pub tls: bool,
}

/// A video that the client plays: it requests one segment after another over one connection (HTTP/1.1) while
/// its buffer has room, each in the bitrate of the ladder that the adaptation chooses. The score has its
/// start, its stalls and its bitrate.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "video", plan = Video::plan_json, check = Video::check)]
pub struct Video {
    /// A video in segments, whose bitrate follows the network.
    #[key(kind)]
    pub kind: Kind,
    /// The bitrates: Netflix's fixed ladder of 2015 (H.264, 235 kb/s to 1080p at 5.8 Mb/s) or that of Apple's HLS
    /// Authoring Specification (HEVC, 145 kb/s to 2160p at 16.8 Mb/s).
    #[key(default = "netflix-2015", example = "apple-hevc")]
    pub ladder: LadderName,
    /// What chooses the bitrate: the throughput as in Shaka Player 4, or the buffer (BBA-0).
    #[key(default = "throughput", example = "buffer")]
    pub adaptation: Adaptation,
    /// Length of a segment.
    #[key(default = "4 s")]
    pub segment: Duration,
    /// Maximum of video in the buffer; a multiple of a segment counts.
    #[key(default = "30 s", example = "240 s")]
    pub buffer: Duration,
    /// Video in the buffer at which the player starts.
    #[key(default = "2 s")]
    pub start_threshold: Duration,
    /// Video in the buffer at which the player goes on after a stall.
    #[key(default = "2 s")]
    pub resume_threshold: Duration,
    /// Size of a request.
    #[key(default = "500 B")]
    pub request: Bytes,
    /// The connection begins with a round trip of TLS 1.3.
    #[key(default = true, example = false)]
    pub tls: bool,
}

/// A call: both ends send packets of speech all the time. The score has R and MOS of ITU-T G.107 by what
/// a receiver with an adaptive jitter buffer plays in time.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "call", plan = Call::plan_json, check = Call::check)]
pub struct Call {
    /// A call: packets of speech in both directions.
    #[key(kind)]
    pub kind: Kind,
    /// The codec: G.711 has 64 kb/s.
    #[key(default = "g711")]
    pub codec: CodecName,
    /// The receiver conceals lost packets (G.711 Appendix I).
    #[key(default = true, example = false)]
    pub concealment: bool,
    /// Speech in a packet (RFC 8866: ptime).
    #[key(default = "20 ms")]
    pub ptime: Duration,
}

/// A video conference: media over UDP with feedback on each packet, whose rate Google Congestion Control sets
/// (draft-ietf-rmcat-gcc-02 with libwebrtc's trendline). The score has the bitrate, the delay of the frames and
/// their freezes, of the direction where each is worse.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "conference", plan = Conference::plan_json, check = Conference::check)]
pub struct Conference {
    /// A video conference whose bitrate follows the network.
    #[key(kind)]
    pub kind: Kind,
    /// Frames a second.
    #[key(default = 30, example = 25, unit = "frames a second")]
    pub frame_rate: Count,
    /// Minimum rate of a sender, IP headers included.
    #[key(default = "50 kb/s")]
    pub min_rate: BitRate,
    /// Rate at the start.
    #[key(default = "300 kb/s")]
    pub start_rate: BitRate,
    /// Maximum rate of a sender.
    #[key(default = "2.5 Mb/s")]
    pub max_rate: BitRate,
    /// Both ends send media; else only the sender of the flow's direction.
    #[key(default = true, example = false)]
    pub both_directions: bool,
}

/// A game: the client sends `rate` packets a second, and the server answers each with one of the same
/// size. The score has the share of answers that come after the `deadline`, or never.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "game", plan = Game::plan_json, check = Game::check)]
pub struct Game {
    /// A game: packets of a client, each answered by its server.
    #[key(kind)]
    pub kind: Kind,
    /// Packets a second in each direction.
    #[key(default = 30, unit = "packets a second")]
    pub rate: Count,
    /// IP packet size.
    #[key(default = "100 B")]
    pub packet: DatagramSize,
    /// A later answer is late.
    #[key(default = "100 ms")]
    pub deadline: Duration,
}

/// UDP packets of IP size `packet` at constant `rate`, at constant intervals unless `spread` is above 0.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "cbr", plan = ConstantRate::plan_json)]
pub struct ConstantRate {
    /// UDP packets at a constant rate.
    #[key(kind)]
    pub kind: Kind,
    /// Rate, IP headers included.
    #[key(example = "1 Mb/s")]
    pub rate: BitRate,
    /// IP packet size.
    #[key(default = "1 kB", example = "1000 B")]
    pub packet: DatagramSize,
    /// Part by which an interval between two packets is at most shorter or longer than on average;
    /// uniform. ns-2's `random_` is 0.5.
    #[key(default = 0.0, example = 0.5, min = 0.0, max = 1.0, allowed = "a number from 0 to 1")]
    pub spread: f64,
}

/// UDP at `rate` in on periods, nothing in off periods; `on` and `off` are mean durations.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "onoff", plan = OnOff::plan_json, check = OnOff::check)]
pub struct OnOff {
    /// UDP at a rate in on periods, nothing in off periods.
    #[key(kind)]
    pub kind: Kind,
    /// Rate in an on period, IP headers included.
    #[key(example = "20 Mb/s")]
    pub rate: BitRate,
    /// Mean duration of an on period; at least the time of a packet.
    #[key(example = "500 ms")]
    pub on: Duration,
    /// Mean duration of an off period.
    #[key(example = "500 ms")]
    pub off: Duration,
    /// Distribution of the durations.
    #[key(default = "exponential", example = "pareto")]
    pub distribution: OnDistribution,
    /// Shape of a Pareto distribution.
    #[key(default = 1.5, above = 1, allowed = "a shape above 1 (below, a Pareto mean is infinite)")]
    pub shape: f64,
    /// IP packet size.
    #[key(default = "1 kB", example = "1000 B")]
    pub packet: DatagramSize,
}

/// Path characterisation (pathchar): probes of IP sizes `first`, `first + step`, .. `last`, each
/// once in a round, one at a time. The end of the flow's path answers with `reply` bytes (ICMP: 56),
/// or with more of the probe quoted, up to `max_reply` bytes (RFC 1812 and Linux: 576). A flow
/// `over` the first hops is a TTL-limited probe. The next probe follows `gap` after an answer or
/// after `timeout` without one. pchar's values: 32 rounds, 250 ms, 3 s.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "probe", plan = Probe::plan_json, check = Probe::check)]
pub struct Probe {
    /// Path characterisation (pathchar): TTL-limited UDP probes of stepped sizes, one at a time.
    /// With `over`, the probe expires at the end of those hops.
    #[key(kind)]
    pub kind: Kind,
    /// Smallest IP packet size.
    #[key(default = "60 B")]
    pub first: DatagramSize,
    /// Largest IP packet size, at least `first`.
    #[key(default = "1500 B")]
    pub last: DatagramSize,
    /// Step between two sizes.
    #[key(default = "32 B")]
    pub step: Bytes,
    /// How often each size is sent.
    #[key(default = 32, unit = "rounds")]
    pub rounds: Count,
    /// Time from an answer to the next probe.
    #[key(default = "250 ms")]
    pub gap: Duration,
    /// Time after which a probe counts as lost.
    #[key(default = "3 s")]
    pub timeout: Duration,
    /// Size of an answer (ICMP: 56 B).
    #[key(default = "56 B")]
    pub reply: DatagramSize,
    /// Maximum size of an answer that quotes the probe (RFC 1812: 576 B).
    #[key(default = "56 B", example = "576 B", former = "reply_most")]
    pub max_reply: DatagramSize,
}

/// Traffic of real hosts: the flow of `ackclock emulate`. A simulation refuses it.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "live", plan = Live::plan_json)]
pub struct Live {
    /// Traffic of real hosts: the flow of an emulation. A simulation refuses it.
    #[key(kind)]
    pub kind: Kind,
}

word_enum! {
    /// Versions of HTTP over TCP.
    pub enum HttpVersion {
        /// RFC 9112.
        Http1 = "1.1",
        /// RFC 9113.
        Http2 = "2",
    }
}

word_enum! {
    /// Codecs with published figures for the E-model.
    pub enum CodecName {
        G711 = "g711",
    }
}

const G711_BPS: u64 = 64_000;
/// RFC 3550, section 5.1.
const RTP_HEADER: u16 = 12;
const MIN_PTIME: Span = Span::from_ms(5);
const MAX_PTIME: Span = Span::from_ms(200);
const MIN_SEGMENT: Span = Span::from_ms(200);
const MAX_SEGMENT: Span = Span::from_secs(60);
const MAX_FRAME_RATE: u32 = 240;
const MIN_MEDIA_BPS: u64 = 10_000;
const MAX_MEDIA_BPS: u64 = 1_000_000_000;
const MAX_GAME_RATE: u32 = 1000;
const MAX_CONNECTIONS: u32 = 256;
/// A ClientHello, and a server's flight with a certificate chain (RFC 8446, section 2): sizes that are
/// common, and that no standard fixes.
const TLS_HANDSHAKE: [u64; 2] = [500, 4000];
const MAX_JOBS: u32 = 100_000;
const MAX_PAGE: u64 = 1 << 40;
const MAX_DATAGRAM: u64 = 65_535;
const PS_PER_S: u128 = 1_000_000_000_000;

fn shown_size(bytes: u128) -> String {
    show_size(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// IP size of a UDP packet in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSize(pub u16);

impl DatagramSize {
    fn allowed() -> String {
        format!("an IP packet of {} B to {MAX_DATAGRAM} B, headers included", UDP_HEADER + 1)
    }
}

impl KeyValue for DatagramSize {
    fn read(value: &Value, _: &Bounds) -> Read<DatagramSize> {
        let size = Bytes::read(value, &Bounds::NONE)?;
        match u16::try_from(size.0) {
            Ok(size) if size > UDP_HEADER => Ok(DatagramSize(size)),
            _ => Err(Invalid::value(&size.write(None), DatagramSize::allowed())),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        shown_size(self.0.into()).into()
    }

    fn attribute(&self) -> Attribute {
        Attribute::Value(Value::Int(self.0.into()))
    }

    fn unit() -> &'static str {
        Bytes::unit()
    }

    fn limits(bounds: &Bounds) -> String {
        format!("{}; {}", Bytes::limits(bounds), DatagramSize::allowed())
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        Bytes::schema(bounds, definitions)
    }
}

impl Bulk {
    fn plan_json(&self) -> serde_json::Value {
        json!(WorkloadConfig::Bulk { read_bps: self.read_rate.map(|rate| rate.0) })
    }
}

impl Transfer {
    fn plan_json(&self) -> serde_json::Value {
        json!(WorkloadConfig::Transfer { bytes: self.size.0, read_bps: self.read_rate.map(|rate| rate.0) })
    }
}

impl Web {
    fn check(&self) -> Read<()> {
        if self.jobs.0 > MAX_JOBS {
            return Err(Invalid::new(format!("{} jobs", self.jobs.0), format!("at most {MAX_JOBS}")).at("jobs"));
        }
        let largest = self.answer().max(self.request.0.into());
        if largest > MAX_PAGE.into() {
            let found = format!("{} in one page", format_value(&shown_size(largest).into()));
            return Err(Invalid::new(found, format!("at most {}", shown_size(MAX_PAGE.into()))));
        }
        Ok(())
    }

    /// Bytes of all answers of a page.
    fn answer(&self) -> u128 {
        u128::from(self.answers.0) * u128::from(self.size.0)
    }

    /// The workload of the persistent connection.
    fn plan_json(&self) -> serde_json::Value {
        json!(WorkloadConfig::Exchange {
            request: self.request.0,
            answer: u64::try_from(self.answer()).unwrap_or(u64::MAX),
            jobs: self.jobs.0,
            think: self.think.0,
        })
    }
}

impl Page {
    fn check(&self) -> Read<()> {
        if self.load_connections() <= u64::from(MAX_CONNECTIONS) {
            return Ok(());
        }
        let found = format!("{} connections", self.load_connections());
        Err(Invalid::new(found, format!("at most {MAX_CONNECTIONS}")).at("connections"))
    }

    /// Connections of one load, to all servers.
    pub fn load_connections(&self) -> u64 {
        u64::from(self.page.host_count()) * self.per_host()
    }

    fn per_host(&self) -> u64 {
        if self.http == HttpVersion::Http2 { 1 } else { self.connections.0.into() }
    }

    /// The page; a connection's workload names it.
    fn plan_json(&self) -> serde_json::Value {
        let hosts = self.page.hosts();
        json!(PageConfig {
            request: self.request.0,
            handshake: if self.tls { TLS_HANDSHAKE } else { [0, 0] },
            objects: self.page.objects(),
            per_host: if hosts.is_empty() { None } else { u32::try_from(self.per_host()).ok() },
            hosts,
            waits_ps: self.page.waits_ps(),
            multiplexed: self.http == HttpVersion::Http2,
        })
    }
}

impl Video {
    fn check(&self) -> Read<()> {
        let refused = |key: &'static str, value: &Duration, allowed: &str| {
            Err(Invalid::new(format!("{key} = {}", format_value(&value.write(None))), allowed).at(key))
        };
        if !(MIN_SEGMENT..=MAX_SEGMENT).contains(&self.segment.0) {
            return refused("segment", &self.segment, "200 ms to 60 s");
        }
        let segments = self.buffer.0.0 / self.segment.0.0;
        if segments < 2 {
            return refused("buffer", &self.buffer, "at least two segments");
        }
        let usable = self.segment.0.saturating_mul(segments);
        for (key, threshold) in [("start_threshold", &self.start_threshold), ("resume_threshold", &self.resume_threshold)] {
            if threshold.0 > usable {
                return refused(key, threshold, "at most the whole segments of the buffer");
            }
        }
        Ok(())
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(WorkloadConfig::Video {
            ladder: self.ladder,
            adaptation: self.adaptation,
            segment_ps: self.segment.0.0,
            buffer_ps: self.buffer.0.0,
            start_threshold_ps: self.start_threshold.0.0,
            resume_threshold_ps: self.resume_threshold.0.0,
            request: self.request.0,
            handshake: if self.tls { TLS_HANDSHAKE } else { [0, 0] },
        })
    }
}

impl Call {
    fn check(&self) -> Read<()> {
        if (MIN_PTIME..=MAX_PTIME).contains(&self.ptime.0) {
            return Ok(());
        }
        let found = format!("ptime = {}", format_value(&self.ptime.write(None)));
        Err(Invalid::new(found, "5 ms to 200 ms of speech in a packet").at("ptime"))
    }

    /// IP size of a packet.
    pub fn packet(&self) -> u16 {
        let CodecName::G711 = self.codec;
        let payload = (u128::from(self.ptime.0.0) * u128::from(G711_BPS)).div_ceil(8 * PS_PER_S);
        RTP_HEADER + UDP_HEADER + u16::try_from(payload).unwrap_or(u16::MAX - RTP_HEADER - UDP_HEADER)
    }

    fn plan_json(&self) -> serde_json::Value {
        let CodecName::G711 = self.codec;
        let Codec { impairment, loss_robustness } = if self.concealment { Codec::G711_CONCEALED } else { Codec::G711 };
        json!(WorkloadConfig::Call { gap_ps: self.ptime.0.0, packet: self.packet(), impairment, loss_robustness })
    }
}

impl Conference {
    fn check(&self) -> Read<()> {
        if self.frame_rate.0 > MAX_FRAME_RATE {
            let found = format!("frame_rate = {}", self.frame_rate.0);
            return Err(Invalid::new(found, format!("at most {MAX_FRAME_RATE} frames a second")).at("frame_rate"));
        }
        let refused = |key: &'static str, value: &BitRate, allowed: &str| {
            Err(Invalid::new(format!("{key} = {}", format_value(&value.write(None))), allowed).at(key))
        };
        if self.min_rate.0 < MIN_MEDIA_BPS {
            return refused("min_rate", &self.min_rate, "at least 10 kb/s");
        }
        if !(self.min_rate.0..=self.max_rate.0).contains(&self.start_rate.0) {
            return refused("start_rate", &self.start_rate, "from min_rate to max_rate");
        }
        if self.max_rate.0 > MAX_MEDIA_BPS {
            return refused("max_rate", &self.max_rate, "at most 1 Gb/s");
        }
        Ok(())
    }

    /// IP size of a full packet.
    pub fn packet(&self) -> u16 {
        MAX_MEDIA_PAYLOAD + MEDIA_HEADERS
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(WorkloadConfig::Conference {
            frame_rate: self.frame_rate.0,
            min_bps: self.min_rate.0,
            start_bps: self.start_rate.0,
            max_bps: self.max_rate.0,
            both_directions: self.both_directions,
        })
    }
}

impl Game {
    fn check(&self) -> Read<()> {
        if self.rate.0 <= MAX_GAME_RATE {
            return Ok(());
        }
        Err(Invalid::new(format!("rate = {}", self.rate.0), format!("at most {MAX_GAME_RATE} packets a second")).at("rate"))
    }

    fn plan_json(&self) -> serde_json::Value {
        let gap_ps = u64::try_from(PS_PER_S).unwrap_or(u64::MAX) / u64::from(self.rate.0);
        json!(WorkloadConfig::Game { gap_ps, packet: self.packet.0, deadline_ps: self.deadline.0.0 })
    }
}

impl ConstantRate {
    fn plan_json(&self) -> serde_json::Value {
        json!(WorkloadConfig::Cbr { bps: self.rate.0, packet: self.packet.0, spread: self.spread })
    }
}

impl OnOff {
    fn check(&self) -> Read<()> {
        let one_packet = u128::from(self.packet.0) * 8 * PS_PER_S / u128::from(self.rate.0);
        if u128::from(self.on.0.0) >= one_packet {
            return Ok(());
        }
        let found = format!("on = {}", format_value(&self.on.write(None)));
        let shown = show_time(i64::try_from(one_packet).unwrap_or(i64::MAX));
        Err(Invalid::new(found, format!("at least one packet's time, {shown}")).at("on"))
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(WorkloadConfig::Onoff {
            bps: self.rate.0,
            on_ps: self.on.0.0,
            off_ps: self.off.0.0,
            distribution: self.distribution,
            shape: self.shape,
            packet: self.packet.0,
        })
    }
}

impl Probe {
    fn check(&self) -> Read<()> {
        if self.last.0 >= self.first.0 {
            return Ok(());
        }
        let found = format!("last = {}", format_value(&self.last.write(None)));
        Err(Invalid::new(found, format!("at least first, {}", shown_size(self.first.0.into()))).at("last"))
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(WorkloadConfig::Probe {
            first: self.first.0,
            last: self.last.0,
            // A longer step than all sizes leads beyond the last one, too.
            step: u16::try_from(self.step.0).unwrap_or(u16::MAX),
            rounds: self.rounds.0,
            gap_ps: self.gap.0.0,
            timeout_ps: self.timeout.0.0,
            reply: self.reply.0,
            max_reply: self.max_reply.0,
        })
    }
}

impl Live {
    fn plan_json(&self) -> serde_json::Value {
        json!(WorkloadConfig::Live {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(entries: [(&str, Value); N]) -> Read<Workload> {
        Workload::read(&Value::table(entries), &Bounds::NONE)
    }

    #[test]
    fn kinds_are_named_when_there_is_none_of_them() {
        let wrong = read([("kind", "ftp".into())]).expect_err("no kind");
        assert!(
            wrong.allowed.starts_with("kind bulk, transfer, web, page, video, call, conference, game, cbr, onoff, probe, live"),
            "{wrong:?}"
        );
        assert_eq!(read([]).expect_err("no kind").code.name(), "value");
    }

    #[test]
    fn datagram_is_refused_when_it_has_no_payload_or_is_no_ip_packet() {
        let packet = |size: &str| read([("kind", "cbr".into()), ("rate", "1 Mb/s".into()), ("packet", size.into())]);
        assert_eq!(packet("0 B").expect_err("empty").allowed, "a size above zero");
        for wrong in ["28 B", "65536 B"] {
            assert_eq!(packet(wrong).expect_err(wrong).allowed, "an IP packet of 29 B to 65535 B, headers included");
        }
        assert!(packet("29 B").is_ok() && packet("65535 B").is_ok());
    }

    #[test]
    fn on_period_has_at_least_one_packet() {
        let on = |on: &str| read([("kind", "onoff".into()), ("rate", "1 kb/s".into()), ("off", "1 s".into()), ("on", on.into())]);
        let short = on("7999 ms").expect_err("short");
        assert_eq!((short.found.as_str(), short.allowed.as_str()), ("on = \"7.999 s\"", "at least one packet's time, 8 s"));
        assert!(on("8 s").is_ok());
    }

    #[test]
    fn page_is_refused_when_it_has_more_than_a_tebibyte() {
        let page = |size: &str| read([("kind", "web".into()), ("answers", 2.into()), ("size", size.into())]);
        assert_eq!(page("1 TiB").expect_err("two").found, "\"2097152 MiB\" in one page");
        assert!(page("512 GiB").is_ok());
        let jobs = read([("kind", "web".into()), ("jobs", 100_001.into())]).expect_err("many");
        assert_eq!((jobs.found.as_str(), jobs.allowed.as_str()), ("100001 jobs", "at most 100000"));
    }

    #[test]
    fn packet_of_a_call_has_its_speech_and_40_bytes_of_headers() {
        let call = |ptime: &str| read([("kind", "call".into()), ("ptime", ptime.into())]);
        let Ok(Workload::Call(usual)) = call("20 ms") else { panic!("a call") };
        assert_eq!(usual.packet(), 200);
        assert_eq!(call("4 ms").expect_err("short").allowed, "5 ms to 200 ms of speech in a packet");
        assert!(call("5 ms").is_ok() && call("200 ms").is_ok() && call("201 ms").is_err());
    }

    #[test]
    fn buffer_of_a_video_holds_two_segments_and_its_thresholds() {
        let video = |key: &'static str, value: &str| read([("kind", "video".into()), (key, value.into())]);
        assert!(video("segment", "15 s").is_ok() && video("start_threshold", "28 s").is_ok());
        assert_eq!(video("segment", "15.1 s").expect_err("long").allowed, "at least two segments");
        assert_eq!(
            video("resume_threshold", "29 s").expect_err("7 segments").allowed,
            "at most the whole segments of the buffer"
        );
        assert_eq!(video("segment", "100 ms").expect_err("short").allowed, "200 ms to 60 s");
    }

    #[test]
    fn rates_of_a_conference_are_in_order() {
        let conference = |key: &'static str, value: &str| read([("kind", "conference".into()), (key, value.into())]);
        assert!(conference("start_rate", "2.5 Mb/s").is_ok() && conference("max_rate", "300 kb/s").is_ok());
        assert_eq!(conference("start_rate", "3 Mb/s").expect_err("above").allowed, "from min_rate to max_rate");
        assert_eq!(conference("min_rate", "9 kb/s").expect_err("low").allowed, "at least 10 kb/s");
    }

    #[test]
    fn last_probe_is_at_least_as_long_as_the_first() {
        let last = |size: &str| read([("kind", "probe".into()), ("first", "60 B".into()), ("last", size.into())]);
        assert_eq!(last("59 B").expect_err("shorter").allowed, "at least first, 60 B");
        assert!(last("60 B").is_ok());
    }
}
