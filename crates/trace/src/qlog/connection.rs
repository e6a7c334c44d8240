//! What a QUIC endpoint's log says of its connection: the figures of a TCP flow that is captured at its sender,
//! from the sender's own account.

use ackclock_core::statistics::SummaryStats;
use serde_json::Value;
use std::collections::BTreeMap;

/// A queue stands if the smoothed RTT is this multiple of the minimum, as in captures.
const QUEUED: f64 = 1.25;
/// Payload of a full packet in bytes if none was sent (RFC 9000, section 14.1).
const FULL_BYTES: u64 = 1200;
/// Maximum number of streams whose bytes are counted.
const MAX_STREAMS: usize = 1 << 16;

/// One connection.
#[derive(Debug, Default)]
pub struct QlogConnection {
    /// The log is the client's; none if it does not say.
    pub is_client: Option<bool>,
    pub events: u64,
    pub first_ms: Option<f64>,
    pub last_ms: f64,
    pub sent: PacketCounts,
    pub received: PacketCounts,
    /// Packets that this end declared lost, by reordering or time, and by a timeout.
    pub lost: u64,
    pub lost_by_timeout: u64,
    /// Timers that expired and sent a probe (RFC 9002, section 6.2).
    pub probes: u64,
    pub recoveries: u64,
    /// Samples of the RTT, ms.
    rtts: Vec<f64>,
    pub cwnd_max: u64,
    /// Time in ms by what limited this end's data.
    pub times: LimitTimes,
    /// Minimum and maximum of what the peer's flow control allowed, bytes.
    pub window: Option<[u64; 2]>,
    pub flight_max: u64,
    flight_area: f64,
    flight_ms: f64,
    pub closed: bool,
    state: State,
}

/// Packets and bytes of one end.
#[derive(Debug, Default)]
pub struct PacketCounts {
    pub packets: u64,
    /// UDP payload.
    pub bytes: u64,
    /// Packets with stream data.
    pub segments: u64,
    /// Bytes of streams, each once, and those that were retransmitted.
    pub unique_bytes: u64,
    pub again_bytes: u64,
    pub largest: u64,
    pub first_data_ms: Option<f64>,
    pub last_data_ms: Option<f64>,
    /// The end of each stream.
    streams: BTreeMap<u64, u64>,
}

/// Milliseconds.
#[derive(Debug, Default, Clone, Copy)]
pub struct LimitTimes {
    pub receive_window: f64,
    pub path_rate: f64,
    pub cwnd: f64,
    pub application: f64,
    pub recovery: f64,
}

/// What the last events said.
#[derive(Debug, Default)]
struct State {
    at_ms: f64,
    cwnd: Option<u64>,
    flight: u64,
    smoothed_ms: Option<f64>,
    min_ms: Option<f64>,
    last_latest: Option<f64>,
    in_recovery: bool,
    /// A frame said that flow control blocks, and none has allowed more since.
    is_blocked: bool,
    /// End of the recovery that began with a loss, if the log does not name its states.
    recovers_until_ms: f64,
}

impl QlogConnection {
    pub fn new(trace: &Value) -> QlogConnection {
        let end = trace["vantage_point"]["type"].as_str();
        QlogConnection { is_client: end.map(|end| end == "client"), ..QlogConnection::default() }
    }

    /// Milliseconds from the first event to the last.
    pub fn duration_ms(&self) -> f64 {
        self.first_ms.map_or(0.0, |first| self.last_ms - first)
    }

    pub fn rtt_ms(&self) -> SummaryStats {
        SummaryStats::of(self.rtts.iter().copied())
    }

    /// Bytes in flight, averaged over the time with any.
    pub fn flight_mean(&self) -> Option<f64> {
        (self.flight_ms > 0.0).then(|| self.flight_area / self.flight_ms)
    }

    /// Adds an event; times and durations are in units of `ms_per_unit`, `at_ms` is converted.
    pub(super) fn add(&mut self, at_ms: f64, name: &str, data: &Value, ms_per_unit: f64) {
        self.events += 1;
        self.first_ms.get_or_insert(at_ms);
        self.pass_time(at_ms);
        self.last_ms = self.last_ms.max(at_ms);
        let kind = name.rsplit(':').next().unwrap_or(name);
        match kind.strip_prefix("recovery_").unwrap_or(kind) {
            "packet_sent" => {
                for frame in frames(data) {
                    if matches!(frame["frame_type"].as_str(), Some("data_blocked" | "stream_data_blocked")) {
                        self.state.is_blocked = true;
                    }
                }
                self.sent.add(at_ms, data);
            }
            "packet_received" => {
                for frame in frames(data) {
                    let kind = frame["frame_type"].as_str();
                    if matches!(kind, Some("max_data" | "max_stream_data")) {
                        self.state.is_blocked = false;
                    }
                    if let (Some("max_data"), Some(allowed)) = (kind, frame["maximum"].as_u64()) {
                        self.add_window(allowed.saturating_sub(self.sent.unique_bytes));
                    }
                }
                self.received.add(at_ms, data);
            }
            "packet_lost" => self.on_lost(at_ms, data),
            "metrics_updated" => self.on_metrics(data, ms_per_unit),
            "congestion_state_updated" => {
                let is_recovery = data["new"].as_str().is_some_and(|state| state.contains("recovery"));
                self.recoveries += u64::from(is_recovery && !self.state.in_recovery);
                self.state.in_recovery = is_recovery;
            }
            "loss_timer_updated" => {
                let expired = data["event_type"] == "expired";
                self.probes += u64::from(expired && data["timer_type"] == "pto");
            }
            "parameters_set" if data["owner"] == "remote" => {
                data["initial_max_data"].as_u64().into_iter().for_each(|window| self.add_window(window));
            }
            "connection_closed" | "connection_close" => self.closed = true,
            _ => {}
        }
    }

    pub(super) fn finish(&mut self) {
        self.state = State::default();
    }

    /// The peer allows this many bytes beyond those sent.
    fn add_window(&mut self, window: u64) {
        let [min, max] = self.window.unwrap_or([window; 2]);
        self.window = Some([min.min(window), max.max(window)]);
    }

    fn on_lost(&mut self, at_ms: f64, data: &Value) {
        match data["trigger"].as_str() {
            Some("pto_expired") => self.lost_by_timeout += 1,
            _ => self.lost += 1,
        }
        // A loss of a packet that was sent before the recovery began belongs to it (RFC 9002, section 7.3.2).
        if at_ms >= self.state.recovers_until_ms && !self.state.in_recovery {
            self.recoveries += 1;
            self.state.recovers_until_ms = at_ms + self.state.smoothed_ms.unwrap_or(0.0);
        }
    }

    fn on_metrics(&mut self, data: &Value, ms_per_unit: f64) {
        let time = |name: &str| data[name].as_f64().map(|value| value * ms_per_unit);
        let bytes = |names: &[&str]| names.iter().find_map(|name| data[*name].as_f64()).map(|value| value.max(0.0) as u64);
        if let Some(latest) = time("latest_rtt") {
            // A log of differences repeats no value, another repeats all: equal samples in a row are one.
            if self.state.last_latest.replace(latest) != Some(latest) {
                self.rtts.push(latest);
            }
        }
        self.state.smoothed_ms = time("smoothed_rtt").or(self.state.smoothed_ms);
        self.state.min_ms = time("min_rtt").filter(|min| *min > 0.0).or(self.state.min_ms);
        if let Some(cwnd) = bytes(&["congestion_window", "cwnd"]) {
            self.state.cwnd = Some(cwnd);
            self.cwnd_max = self.cwnd_max.max(cwnd);
        }
        if let Some(flight) = bytes(&["bytes_in_flight"]) {
            self.state.flight = flight;
            self.flight_max = self.flight_max.max(flight);
        }
    }

    /// Counts the time since the last event for what limited this end then.
    fn pass_time(&mut self, at_ms: f64) {
        let passed = (at_ms - self.state.at_ms).max(0.0);
        let began = self.sent.first_data_ms.is_some();
        self.state.at_ms = at_ms;
        if self.state.flight > 0 {
            self.flight_area += self.state.flight as f64 * passed;
            self.flight_ms += passed;
        }
        if !began {
            return;
        }
        let state = &self.state;
        let full = self.sent.largest.max(FULL_BYTES);
        // Room for two packets: pacing and an ACK in transit leave one.
        let has_room = state.cwnd.is_some_and(|cwnd| state.flight + 2 * full <= cwnd);
        let queued = state.smoothed_ms.zip(state.min_ms).is_some_and(|(smoothed, min)| smoothed >= QUEUED * min);
        let time = if state.in_recovery || at_ms < state.recovers_until_ms {
            &mut self.times.recovery
        } else if state.is_blocked {
            &mut self.times.receive_window
        } else if has_room {
            &mut self.times.application
        } else if queued {
            &mut self.times.path_rate
        } else {
            &mut self.times.cwnd
        };
        *time += passed;
    }
}

fn frames(data: &Value) -> impl Iterator<Item = &Value> {
    data["frames"].as_array().into_iter().flatten()
}

impl PacketCounts {
    fn add(&mut self, at_ms: f64, data: &Value) {
        let header = &data["header"];
        let length = [&data["raw"]["length"], &header["packet_size"], &data["raw"]["payload_length"]];
        let bytes = length.iter().find_map(|value| value.as_u64()).unwrap_or(0);
        self.packets += 1;
        self.bytes += bytes;
        let mut stream_bytes = 0;
        for frame in frames(data).filter(|frame| frame["frame_type"] == "stream") {
            let stream = frame["stream_id"].as_u64().or(frame["id"].as_u64()).unwrap_or(0);
            let length = [&frame["length"], &frame["raw"]["payload_length"], &frame["raw"]["length"]];
            let length = length.iter().find_map(|value| value.as_u64()).unwrap_or(0);
            let offset = frame["offset"].as_u64().unwrap_or(0);
            stream_bytes += length;
            self.add_stream(stream, offset, offset.saturating_add(length));
        }
        if stream_bytes > 0 {
            self.segments += 1;
            self.largest = self.largest.max(bytes);
            self.first_data_ms.get_or_insert(at_ms);
            self.last_data_ms = Some(at_ms);
        }
    }

    fn add_stream(&mut self, stream: u64, from: u64, to: u64) {
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&stream) {
            return;
        }
        let end = self.streams.entry(stream).or_default();
        // What lies below the end was sent before, or fills a gap of the numbers: the sender leaves none.
        self.again_bytes += to.min(*end).saturating_sub(from);
        self.unique_bytes += to.saturating_sub((*end).max(from));
        *end = (*end).max(to);
    }
}
