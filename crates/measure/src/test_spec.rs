//! Specification of a test, as it is sent to the far end. `check` and the far end's quotas bound
//! every value.

use crate::{MS, Nanos};
use ackclock_contract::Document;
use ackclock_core::Problem;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Document)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Server to client.
    Down,
    /// Client to server.
    Up,
}

/// Datagrams at a constant interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Document)]
#[serde(deny_unknown_fields)]
pub struct Train {
    /// UDP payload in bytes: 20 to 65,000.
    pub payload: u32,
    /// Interval between datagrams in nanoseconds.
    pub gap_ns: i64,
    pub count: u32,
}

pub const MIN_PAYLOAD: u32 = 20;
pub const MAX_PAYLOAD: u32 = 65_000;
/// Bytes of IPv4 and UDP headers, and of IPv6 and UDP headers (RFC 791, RFC 8200, RFC 768).
pub const IPV4_UDP_HEADERS: u32 = 28;
pub const IPV6_UDP_HEADERS: u32 = 48;

impl Train {
    pub fn duration(&self) -> Nanos {
        self.gap_ns.saturating_mul(i64::from(self.count))
    }

    /// Bytes of IP of the whole train.
    pub fn bytes(&self) -> u64 {
        u64::from(self.count) * u64::from(self.payload + IPV4_UDP_HEADERS)
    }

    /// Rate of IP in b/s.
    pub fn rate_bps(&self) -> f64 {
        f64::from(self.payload + IPV4_UDP_HEADERS) * 8e9 / self.gap_ns as f64
    }

    fn check(&self) -> Result<(), Problem> {
        if !(MIN_PAYLOAD..=MAX_PAYLOAD).contains(&self.payload) {
            return Err(Problem::found(
                format!("a payload of {} bytes", self.payload),
                format!("{MIN_PAYLOAD} to {MAX_PAYLOAD}"),
            ));
        }
        if !(1_000..=60_000 * MS).contains(&self.gap_ns) {
            return Err(Problem::found(format!("{} ns between datagrams", self.gap_ns), "1 us to 60 s"));
        }
        if self.count == 0 {
            return Err(Problem::found("a train of no datagrams", "one datagram or more"));
        }
        Ok(())
    }
}

/// TCP connections with unlimited data.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, Document)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Number of connections in each direction.
    pub down: u16,
    pub up: u16,
    /// Congestion control by its name in the kernel; none: the kernel's default.
    pub congestion: Option<String>,
    /// `SO_SNDBUF` and `SO_RCVBUF`; none: autotuning.
    pub send_buffer: Option<u32>,
    pub receive_buffer: Option<u32>,
    /// `TCP_WINDOW_CLAMP` of the receiving end: the maximum advertised window.
    #[serde(default)]
    pub receive_window: Option<u32>,
    pub duration_ns: i64,
    /// Interval between samples of TCP_INFO: 10 to 1000 ms.
    pub sample_ns: i64,
    /// Maximum bytes of IP of all connections together, with retransmissions: each end ends the test
    /// when it has moved them. None: no maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl Bulk {
    /// Maximum number of samples at one end.
    pub fn samples(&self) -> u64 {
        (u64::from(self.down) + u64::from(self.up)) * (self.duration_ns / self.sample_ns.max(1) + 2) as u64
    }

    /// Part of a rate limit for each of the connections that share a direction.
    pub fn rate_each(&self, direction: Direction, rate_bps: u64) -> u64 {
        let sharing = if direction == Direction::Down { self.down } else { self.up };
        (rate_bps / u64::from(sharing.max(1))).max(1)
    }
}

/// Sequential TCP connections that transfer a fixed number of bytes each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Document)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    #[serde(rename = "way")]
    pub direction: Direction,
    pub bytes: u64,
    pub count: u16,
    pub congestion: Option<String>,
    /// Minimum interval between the starts of two transfers.
    pub every_ns: i64,
    /// Timeout of the test.
    pub limit_ns: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Document)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TestSpec {
    Datagrams { down: Option<Train>, up: Option<Train> },
    Bulk(Bulk),
    Transfers(Transfers),
}

/// Maximum length of a congestion control's name (linux/tcp.h: TCP_CA_NAME_MAX, less the
/// terminating NUL).
const MAX_NAME: usize = 15;

impl TestSpec {
    /// Rejects values that no far end accepts, whatever its quotas.
    pub fn check(&self) -> Result<(), Problem> {
        match self {
            TestSpec::Datagrams { down, up } => {
                if down.is_none() && up.is_none() {
                    return Err(Problem::found("datagrams in no direction", "down, up or both"));
                }
                down.iter().chain(up).try_for_each(Train::check)
            }
            TestSpec::Bulk(bulk) => {
                name_fits(bulk.congestion.as_deref())?;
                within("duration_ns", bulk.duration_ns, 10 * MS, i64::MAX)?;
                within("sample_ns", bulk.sample_ns, 10 * MS, 1000 * MS)?;
                within("connections", i64::from(bulk.down) + i64::from(bulk.up), 1, i64::from(u16::MAX))?;
                let buffer = |size: Option<u32>| within("buffer", i64::from(size.unwrap_or(4096)), 1024, i64::from(i32::MAX / 2));
                within("max_bytes", bulk.max_bytes.unwrap_or(1).try_into().unwrap_or(i64::MAX), 1, i64::MAX - 1)?;
                buffer(bulk.send_buffer)?;
                buffer(bulk.receive_window)?;
                buffer(bulk.receive_buffer)
            }
            TestSpec::Transfers(t) => {
                name_fits(t.congestion.as_deref())?;
                within("count", i64::from(t.count), 1, i64::from(u16::MAX))?;
                within("every_ns", t.every_ns, 0, 3_600_000 * MS)?;
                within("limit_ns", t.limit_ns, 10 * MS, 3_600_000 * MS)?;
                within("bytes", i64::try_from(t.bytes).unwrap_or(i64::MAX), 1, i64::MAX - 1)
            }
        }
    }

    /// Planned duration; for transfers, the timeout.
    pub fn duration(&self) -> Nanos {
        match self {
            TestSpec::Datagrams { down, up } => down.iter().chain(up).map(Train::duration).max().unwrap_or(0),
            TestSpec::Bulk(bulk) => bulk.duration_ns,
            TestSpec::Transfers(t) => t.limit_ns,
        }
    }
}

fn within(what: &str, value: i64, min: i64, max: i64) -> Result<(), Problem> {
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(Problem::found(value.to_string(), format!("{min} to {max}")).at_key(what))
    }
}

fn name_fits(name: Option<&str>) -> Result<(), Problem> {
    match name {
        Some(n)
            if n.is_empty() || n.len() > MAX_NAME || !n.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-+.".contains(&b)) =>
        {
            Err(Problem::found(
                format!("{:?}", name.unwrap_or_default()),
                "a congestion control's name: 1 to 15 letters, digits, _ - + .",
            )
            .at_key("congestion"))
        }
        _ => Ok(()),
    }
}
