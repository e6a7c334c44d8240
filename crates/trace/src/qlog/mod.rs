//! qlog (draft-ietf-quic-qlog-main-schema, 0.3 and 0.4): the log that a QUIC endpoint writes of itself, in JSON
//! or as a JSON text sequence. [`read`] gives the events of each connection; `connection` makes figures of them.

mod connection;

pub use connection::{LimitTimes, PacketCounts, QlogConnection};

use serde_json::Value;

/// Why a file is no qlog.
#[derive(Debug, thiserror::Error)]
pub enum QlogError {
    #[error("text that is no JSON in line {line}: {why}")]
    Json { line: usize, why: String },
    #[error("JSON without events of qlog")]
    NoEvents,
}

/// First byte of each record of a JSON text sequence (RFC 7464).
const RECORD: u8 = 0x1e;

/// Whether a file is a qlog by its first bytes.
pub fn is_qlog(front: &[u8]) -> bool {
    let begins = front.iter().find(|byte| !byte.is_ascii_whitespace());
    let has = |name: &[u8]| front.windows(name.len()).any(|part| part == name);
    matches!(begins, Some(&(RECORD | b'{'))) && (has(b"\"qlog_version\"") || has(b"\"qlog_format\"") || has(b"\"file_schema\""))
}

/// The connections of a qlog file: one for each trace.
pub fn read(text: &[u8]) -> Result<Vec<QlogConnection>, QlogError> {
    let connections = match serde_json::from_slice::<Value>(text) {
        Ok(file) if file.get("traces").is_some() => of_file(&file),
        _ => vec![of_sequence(text)?],
    };
    let connections: Vec<QlogConnection> = connections.into_iter().filter(|connection| connection.events > 0).collect();
    if connections.is_empty() { Err(QlogError::NoEvents) } else { Ok(connections) }
}

/// A file in JSON: a list of traces with a list of events each.
fn of_file(file: &Value) -> Vec<QlogConnection> {
    let traces = file["traces"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |trace: &Value| {
        let mut connection = QlogConnection::new(trace);
        let mut clock = Clock::of(trace);
        // Before 0.3 events were lists, whose members the trace names.
        let names: Vec<&str> = trace["event_fields"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for event in trace["events"].as_array().into_iter().flatten() {
            match event.as_array() {
                Some(members) => {
                    let member = |name: &str| names.iter().position(|known| *known == name).and_then(|i| members.get(i));
                    let time =
                        ["relative_time", "time", "delta_time"].iter().find_map(|name| member(name)).and_then(Value::as_f64);
                    let name = member("event").or_else(|| member("event_type")).and_then(Value::as_str);
                    if let (Some(time), Some(name), Some(data)) = (time, name, member("data")) {
                        connection.add(clock.at_ms(time), name, data, clock.ms_per_unit);
                    }
                }
                None => add_event(&mut connection, &mut clock, event),
            }
        }
        connection.finish();
        connection
    };
    traces.iter().map(of).collect()
}

/// A JSON text sequence: a header with the trace, then an event in each record.
fn of_sequence(text: &[u8]) -> Result<QlogConnection, QlogError> {
    let mut found: Option<(QlogConnection, Clock)> = None;
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        let record = line.strip_prefix(&[RECORD]).unwrap_or(line);
        if record.is_empty() {
            continue;
        }
        let value: Value = match serde_json::from_slice(record) {
            Ok(value) => value,
            // A log of a program that was killed ends within a record.
            Err(error) if error.is_eof() && found.is_some() => break,
            Err(error) => return Err(QlogError::Json { line: number + 1, why: error.to_string() }),
        };
        match &mut found {
            Some((connection, clock)) => add_event(connection, clock, &value),
            None => {
                let trace = value.get("trace").unwrap_or(&value);
                found = Some((QlogConnection::new(trace), Clock::of(trace)));
            }
        }
    }
    let (mut connection, _) = found.ok_or(QlogError::NoEvents)?;
    connection.finish();
    Ok(connection)
}

fn add_event(connection: &mut QlogConnection, clock: &mut Clock, event: &Value) {
    if let (Some(time), Some(name)) = (event["time"].as_f64(), event["name"].as_str()) {
        connection.add(clock.at_ms(time), name, &event["data"], clock.ms_per_unit);
    }
}

/// The meaning of the events' times.
struct Clock {
    /// Times are differences to the event before.
    is_delta: bool,
    last: f64,
    ms_per_unit: f64,
}

impl Clock {
    fn of(trace: &Value) -> Clock {
        let format = trace["common_fields"]["time_format"].as_str().unwrap_or("");
        let is_micro = [&trace["configuration"]["time_units"], &trace["common_fields"]["time_units"]].iter().any(|u| *u == "us");
        Clock {
            is_delta: matches!(format, "delta" | "relative_to_previous_event"),
            last: 0.0,
            ms_per_unit: if is_micro { 1e-3 } else { 1.0 },
        }
    }

    fn at_ms(&mut self, time: f64) -> f64 {
        let time = time * self.ms_per_unit;
        self.last = if self.is_delta { self.last + time } else { time };
        self.last
    }
}
