//! What tables name outside of themselves: files of host stacks, recordings, classes in Python. The
//! program that reads tables says where it is found.

use crate::invalid::{Invalid, Read, format_value};
use crate::value::Value;
use ackclock_core::units::Span;
use std::sync::{Arc, OnceLock};

pub trait Sources: Send + Sync {
    /// The names of the host stacks, sorted.
    fn hosts(&self) -> Vec<String>;

    /// The file of a host stack.
    fn host(&self, name: &str) -> Read<Value>;

    /// An error unless `python:module.Class` is a congestion control.
    fn check_class(&self, name: &str) -> Read<()>;

    /// A digest over the source of a congestion control's class: changed source has another one.
    fn class_digest(&self, name: &str) -> Read<String> {
        self.check_class(name).map(|()| String::new())
    }

    /// An error unless `python:module.Class` is a rate controller.
    fn check_controller(&self, name: &str) -> Read<()> {
        Err(Invalid::value(&name.into(), "\"cake-autorate\": this program has no Python"))
    }

    /// A digest over the source of a rate controller's class.
    fn controller_digest(&self, name: &str) -> Read<String> {
        self.check_controller(name).map(|()| String::new())
    }

    /// The names of the metrics of a run.
    fn metrics(&self) -> Vec<String> {
        Vec::new()
    }

    /// The time after which the recording of this path repeats, or the error in it.
    fn recording_period(&self, path: &str) -> Read<Span>;

    /// The recording of this path.
    fn recording(&self, path: &str) -> Read<Arc<Recording>> {
        Err(Invalid::new(format_value(&path.into()), "a fixed rate: no recordings are read here"))
    }
}

/// A recorded rate: the times of its opportunities in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// SHA-256 of the numbers.
    pub digest: String,
    pub times_ms: Vec<u64>,
}

static SOURCES: OnceLock<&'static dyn Sources> = OnceLock::new();

/// Installs the sources of this process; later ones have no effect.
pub fn install(sources: &'static dyn Sources) {
    let _ = SOURCES.set(sources);
}

/// The sources of this process; without any there are no hosts, classes and recordings.
pub fn sources() -> &'static dyn Sources {
    SOURCES.get().copied().unwrap_or(ABSENT)
}

#[cfg(not(test))]
const ABSENT: &dyn Sources = &Nothing;
#[cfg(test)]
const ABSENT: &dyn Sources = &tests::TwoHosts;

struct Nothing;

impl Sources for Nothing {
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }

    fn host(&self, name: &str) -> Read<Value> {
        Err(Invalid::value(&name.into(), "no host stack: this program has no files of them"))
    }

    fn check_class(&self, name: &str) -> Read<()> {
        Err(Invalid::value(&name.into(), "a variant of the engine: this program has no Python"))
    }

    fn recording_period(&self, path: &str) -> Read<Span> {
        self.recording(path).map(|_| Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    /// Two hosts with a few keys each, a congestion control and a rate controller.
    pub struct TwoHosts;

    impl Sources for TwoHosts {
        fn hosts(&self) -> Vec<String> {
            ["linux-2.6.20", "linux-6", "windows-xp"].map(str::to_owned).into()
        }

        fn host(&self, name: &str) -> Read<Value> {
            if name == "noq-1.4" {
                return Ok(table!("title" => name, "source" => "a test", "quic" => table!("send_burst" => 4)));
            }
            let delayed_ack = table!("segments" => 2, "timer" => "40 ms");
            let words = table!("send_buffer" => "tuned", "receive_buffer" => "64 KiB", "delayed_ack" => delayed_ack);
            let tcp = table!(
                "variant" => "cubic", "recovery" => "rack", "sack" => true, "segment" => "1448 B", "send_buffer" => "auto",
                "receive_buffer" => "auto", "delayed_ack" => true, "metrics_cache" => true, "rto_floor" => "timeout",
            );
            let tuning = table!(
                "send_start" => "16 KiB", "send_limit" => "4 MiB", "send_overhead" => "100 B", "receive_start" => "64 KiB",
                "receive_limit" => "6 MiB", "window_share" => 0.5, "receive_opening" => "5840 B",
                "receive_growth" => "double", "receive_overhead" => false,
            );
            let cubic = table!("slow_start" => "hystart");
            Ok(table!(
                "title" => name, "source" => "a test", "tcp" => tcp, "words" => words, "tuning" => tuning,
                "variant" => table!("cubic" => cubic),
                "recovery" => table!("rack" => table!("rto_floor" => "variance")),
            ))
        }

        fn check_class(&self, name: &str) -> Read<()> {
            if name == "python:my.Control" { Ok(()) } else { Nothing.check_class(name) }
        }

        fn class_digest(&self, name: &str) -> Read<String> {
            self.check_class(name).map(|()| "0123456789abcdef".into())
        }

        fn check_controller(&self, name: &str) -> Read<()> {
            if name == "python:my.Controller" { Ok(()) } else { Nothing.check_controller(name) }
        }

        fn controller_digest(&self, name: &str) -> Read<String> {
            self.check_controller(name).map(|()| "fedcba9876543210".into())
        }

        fn metrics(&self) -> Vec<String> {
            vec!["drops".into()]
        }

        fn recording_period(&self, path: &str) -> Read<Span> {
            self.recording(path).map(|recording| Span::from_ms(recording.times_ms.last().copied().unwrap_or_default()))
        }

        fn recording(&self, path: &str) -> Read<Arc<Recording>> {
            if path == "lte.down" {
                Ok(Arc::new(Recording { digest: "0a".into(), times_ms: vec![1, 3, 40] }))
            } else {
                Nothing.recording(path)
            }
        }
    }

    #[test]
    fn program_without_sources_has_no_host_and_no_class() {
        assert!(Nothing.hosts().is_empty() && Nothing.host("linux-6").is_err());
        assert_eq!(Nothing.check_class("python:a.B").expect_err("no Python").found, "\"python:a.B\"");
    }
}
