//! Limits of a far end: the use of its machine by clients that know the token.

use crate::rate_budget::depth;
use crate::test_spec::{Bulk, IPV4_UDP_HEADERS, MAX_PAYLOAD, TestSpec, Train, Transfers};
use crate::{Nanos, SECOND};
use ackclock_contract::Document;
use ackclock_core::Problem;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Document)]
#[serde(deny_unknown_fields)]
pub struct Quotas {
    /// Maximum number of concurrent sessions, in all and from one address.
    pub sessions: u32,
    pub sessions_per_peer: u32,
    /// Maximum number of unauthenticated connections, in all and from one address; above it the
    /// oldest are evicted.
    #[serde(rename = "strangers")]
    pub pending_connections: u32,
    #[serde(rename = "strangers_per_peer")]
    pub pending_per_peer: u32,
    /// Maximum rate of IP in each direction, in b/s: all sessions, tests and reports together.
    pub rate_bps: u64,
    /// Maximum bytes of IP of one session, both directions together.
    pub session_bytes: u64,
    /// Maximum duration of a test and of a session, and idle timeout between tests.
    pub test_ns: Nanos,
    pub session_ns: Nanos,
    pub idle_ns: Nanos,
    /// Maximum number of concurrent tests in one session, and of connections in one test.
    pub tests: u32,
    pub connections: u32,
    /// Maximum rows of packet logs that the server holds for one session at a time. A row takes 16
    /// bytes; a sample counts as nine rows.
    pub rows: u64,
    /// Maximum bytes of captured packet headers of one session; 0: no captures.
    pub capture_bytes: u64,
}

impl Default for Quotas {
    fn default() -> Quotas {
        Quotas {
            sessions: 4,
            sessions_per_peer: 2,
            pending_connections: 256,
            pending_per_peer: 80,
            rate_bps: 1_000_000_000,
            session_bytes: 20_000_000_000,
            test_ns: 120 * SECOND,
            session_ns: 3600 * SECOND,
            idle_ns: 30 * SECOND,
            tests: 8,
            connections: 64,
            rows: 2_000_000,
            capture_bytes: 0,
        }
    }
}

/// A sample has 18 values, a packet's row two. The record of a transfer is no larger than a sample.
const ROWS_OF_A_SAMPLE: u64 = 9;

/// Maximum datagram of a train, in bytes of IP.
pub const MAX_DATAGRAM: u64 = (MAX_PAYLOAD + IPV4_UDP_HEADERS) as u64;

/// Timeouts of an unauthenticated connection: for its first bytes, and for the proof of the token.
pub const SILENCE_NS: Nanos = 3 * SECOND;
pub const HANDSHAKE_NS: Nanos = 5 * SECOND;

/// Resources that a session has requested: total bytes, and rows of tests whose reports are not yet
/// sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionUsage {
    pub bytes: u64,
    pub rows: u64,
}

impl Quotas {
    /// Admits a test, or returns the limit that it exceeds. `running` is the number of running
    /// tests.
    pub fn admit(&self, spec: &TestSpec, running: usize, spent: &mut SessionUsage) -> Result<(), Problem> {
        spec.check()?;
        if running as u64 >= u64::from(self.tests) {
            return Err(Problem::found(format!("{} tests at a time", running + 1), self.tests.to_string()));
        }
        if spec.duration() > self.test_ns {
            return Err(Problem::found(
                format!("a test of {} s", spec.duration() / SECOND),
                format!("{} s at most", self.test_ns / SECOND),
            ));
        }
        let (bytes, rows) = match spec {
            TestSpec::Datagrams { down, up } => self.trains(&[down, up])?,
            TestSpec::Bulk(bulk) => (0, self.bulk(bulk)?),
            TestSpec::Transfers(t) => self.transfers(t)?,
        };
        let (bytes, rows) = (spent.bytes.saturating_add(bytes), spent.rows.saturating_add(rows));
        if bytes > self.session_bytes {
            return Err(Problem::found(format!("{bytes} bytes in one session"), format!("{} at most", self.session_bytes)));
        }
        if rows > self.rows {
            return Err(Problem::found(format!("{rows} packets and samples in one session"), format!("{} at most", self.rows)));
        }
        *spent = SessionUsage { bytes, rows };
        Ok(())
    }

    fn trains(&self, trains: &[&Option<Train>]) -> Result<(u64, u64), Problem> {
        let all = || trains.iter().copied().flatten();
        if let Some(fast) = all().find(|t| t.rate_bps() > self.rate_bps as f64) {
            return Err(Problem::found(
                format!("{:.0} b/s of datagrams", fast.rate_bps()),
                format!("{} b/s at most", self.rate_bps),
            ));
        }
        let max = depth(self.rate_bps);
        if let Some(large) = all().find(|t| u64::from(t.payload + IPV4_UDP_HEADERS) > max) {
            return Err(Problem::found(
                format!("datagrams of {} bytes of IP", large.payload + IPV4_UDP_HEADERS),
                format!("{max} at most at the far end's rate"),
            ));
        }
        Ok((all().map(Train::bytes).fold(0, u64::saturating_add), all().map(|t| u64::from(t.count)).sum()))
    }

    fn bulk(&self, bulk: &Bulk) -> Result<u64, Problem> {
        self.connections_fit(u64::from(bulk.down) + u64::from(bulk.up))?;
        Ok(bulk.samples() * ROWS_OF_A_SAMPLE)
    }

    fn transfers(&self, t: &Transfers) -> Result<(u64, u64), Problem> {
        // Transfers are sequential: few connections are open at a time, but each leaves one record.
        Ok((t.bytes.saturating_mul(u64::from(t.count)), u64::from(t.count) * ROWS_OF_A_SAMPLE))
    }

    fn connections_fit(&self, count: u64) -> Result<(), Problem> {
        if count > u64::from(self.connections) {
            return Err(Problem::found(format!("{count} connections"), format!("{} at most", self.connections)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MS;

    fn train(count: u32) -> TestSpec {
        TestSpec::Datagrams { down: Some(Train { payload: 972, gap_ns: MS, count }), up: None }
    }

    #[test]
    fn session_bytes_are_refused_when_they_exceed_the_quota() {
        let quotas = Quotas { session_bytes: 1_500_000, ..Quotas::default() };
        let mut spent = SessionUsage::default();
        assert_eq!(quotas.admit(&train(1000), 0, &mut spent), Ok(()));
        assert!(quotas.admit(&train(501), 0, &mut spent).unwrap_err().found.contains("bytes"));
        assert_eq!(quotas.admit(&train(500), 0, &mut spent), Ok(()));
        assert_eq!(spent.bytes, 1_500_000);
    }

    #[test]
    fn rate_duration_rows_tests_and_connections_are_refused_when_each_exceeds_its_quota() {
        let quotas = Quotas { rate_bps: 7_999_999, test_ns: 10 * SECOND, rows: 20_000, ..Quotas::default() };
        let bulk =
            |down, seconds| TestSpec::Bulk(Bulk { down, duration_ns: seconds * SECOND, sample_ns: 10 * MS, ..Bulk::default() });
        let refused =
            |spec: &TestSpec, running| quotas.admit(spec, running, &mut SessionUsage::default()).unwrap_err().to_string();
        assert!(refused(&train(1), 0).contains("b/s"));
        assert!(refused(&bulk(1, 11), 0).contains("11 s"));
        assert!(refused(&bulk(65, 1), 0).contains("connections"));
        assert!(refused(&bulk(64, 10), 0).contains("samples"));
        assert!(refused(&bulk(1, 1), 8).contains("tests"));
        assert!(refused(&TestSpec::Datagrams { down: None, up: None }, 0).contains("no direction"));
    }
}
