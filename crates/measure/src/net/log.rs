//! Log of sessions and refusals: one JSON object per line, with the time in UTC. Lines about
//! unauthenticated peers are rate limited, and suppressed lines are counted, so that
//! unauthenticated peers cannot fill a disk.

use crate::Nanos;
use crate::SECOND;
use ackclock_core::Problem;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Burst of lines about unauthenticated peers; the rate is one per second.
const BURST: i64 = 20;

/// Destination of the lines.
#[derive(Debug, Clone, Default)]
pub enum LogTarget {
    #[default]
    Nowhere,
    Stderr,
    File(Arc<File>),
}

impl LogTarget {
    /// A file to append to, with mode 0600: the lines have the addresses of clients. A symbolic link
    /// is refused, as it may lead root to a file of another user's choice.
    pub fn file(path: &Path) -> Result<LogTarget, crate::MeasureError> {
        let refused = |problem: Problem| crate::MeasureError::Input(problem.in_file(path));
        // A FIFO without a reader would wait for one.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path);
        let file = file.map_err(|e| match e.raw_os_error() {
            Some(libc::ELOOP) => refused(Problem::new("the log is a symbolic link", "name the file itself")),
            _ => refused(Problem::refused("opening the log", &e)),
        })?;
        let about = file.metadata().map_err(|e| refused(Problem::refused("reading the log's mode", &e)))?;
        if about.is_file() && about.mode() & 0o077 != 0 {
            let private = Permissions::from_mode(about.mode() & 0o700);
            file.set_permissions(private).map_err(|e| refused(Problem::refused("closing the log to other users", &e)))?;
        }
        let opened = line("log-opened", json!({}));
        (&file).write_all(opened.as_bytes()).map_err(|e| refused(Problem::refused("writing the log", &e)))?;
        Ok(LogTarget::File(Arc::new(file)))
    }
}

pub struct EventLog {
    target: LogTarget,
    /// Token bucket of lines about unauthenticated peers: its level in nanoseconds, and the time of
    /// that level.
    bucket: (i64, Nanos),
    suppressed: u64,
    /// The last line could not be written.
    is_broken: AtomicBool,
}

impl EventLog {
    pub fn new(target: LogTarget) -> EventLog {
        EventLog { target, bucket: (BURST * SECOND, 0), suppressed: 0, is_broken: AtomicBool::new(false) }
    }

    /// Writes a line about an action of the operator or of a session.
    pub fn write_event(&self, event: &str, more: Value) {
        self.write(&line(event, more));
    }

    /// Writes a line about an unauthenticated peer, within the rate limit. `now` is of any
    /// monotonic clock.
    pub fn write_limited(&mut self, now: Nanos, event: &str, mut more: Value) {
        let (left, at) = self.bucket;
        let left = left.saturating_add(now.saturating_sub(at).max(0)).min(BURST * SECOND);
        if left < SECOND {
            self.bucket = (left, now);
            self.suppressed += 1;
            return;
        }
        self.bucket = (left - SECOND, now);
        if self.suppressed > 0 {
            more["left_out"] = json!(std::mem::take(&mut self.suppressed));
        }
        self.write_event(event, more);
    }

    fn write(&self, text: &str) {
        match &self.target {
            LogTarget::Nowhere => {}
            LogTarget::Stderr => {
                let mut stderr = std::io::stderr().lock();
                // A write error of the log does not end the server.
                let mut room = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
                if poll(&mut room, PollTimeout::ZERO).is_ok_and(|ready| ready > 0) {
                    let _ = stderr.write_all(text.as_bytes());
                }
            }
            LogTarget::File(file) => match file.as_ref().write_all(text.as_bytes()) {
                Ok(()) => self.is_broken.store(false, Ordering::Relaxed),
                // The far end serves on; the first of several errors is said.
                Err(error) if !self.is_broken.swap(true, Ordering::Relaxed) => {
                    let _ = writeln!(std::io::stderr(), "ackclockd: a line of the log is lost: {error}");
                }
                Err(_) => {}
            },
        }
    }
}

fn line(event: &str, more: Value) -> String {
    let mut line = Map::new();
    line.insert("time".into(), Value::String(utc_now()));
    line.insert("event".into(), Value::String(event.into()));
    if let Value::Object(more) = more {
        line.extend(more);
    }
    format!("{}\n", Value::Object(line))
}

fn utc_now() -> String {
    clock_gettime(ClockId::CLOCK_REALTIME).map_or_else(|_| String::new(), |t| utc(t.tv_sec(), t.tv_nsec() / 1_000_000))
}

/// Formats seconds since 1970 by RFC 3339.
fn utc(seconds: i64, ms: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let (mut year, mut day) = (1970 + days.div_euclid(146_097) * 400, days.rem_euclid(146_097));
    while day >= 365 + i64::from(leap(year)) {
        day -= 365 + i64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn time_has_the_format_of_rfc_3339() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (951_868_800, "2000-03-01T00:00:00.007Z"),
            (1_735_689_599, "2024-12-31T23:59:59.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
        ] {
            assert_eq!(utc(seconds, 7), text);
        }
    }

    // finding("R8")
    #[test]
    fn log_is_refused_when_it_is_a_link_or_cannot_be_written_and_is_closed_to_others() {
        let folder = std::env::temp_dir().join(format!("ackclock-logs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, link) = (folder.join("log"), folder.join("link"));
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let refusal = |path: &Path| LogTarget::file(path).map(drop).map_err(|e| e.to_string());
        assert!(refusal(&link).unwrap_err().contains("symbolic link"));
        assert!(refusal(Path::new("/dev/full")).unwrap_err().contains("writing the log"));
        assert_eq!(refusal(&file), Ok(()));
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert!(std::fs::read_to_string(&file).unwrap().contains("log-opened"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    // finding("S6")
    #[test]
    fn lines_about_unauthenticated_peers_are_limited_and_counted_when_there_are_many() {
        let path = std::env::temp_dir().join(format!("ackclock-log-{}", std::process::id()));
        let mut log = EventLog::new(LogTarget::file(&path).unwrap());
        for n in 0..10_000 {
            log.write_limited(n * 1000, "refused", json!({"from": "192.0.2.1:5"}));
        }
        log.write_limited(100 * SECOND, "refused", json!({"from": "192.0.2.1:5"}));
        let mut text = String::new();
        File::open(&path).unwrap().read_to_string(&mut text).unwrap();
        std::fs::remove_file(&path).unwrap();
        let lines: Vec<Value> = text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 21);
        assert_eq!(lines[20]["left_out"], 10_000 - 20);
        assert_eq!(lines[0]["event"], "refused");
    }
}
