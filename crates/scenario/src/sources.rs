//! What tables name outside of themselves. The program that reads them says where it is found.

use crate::invalid::{Invalid, Read, format_value};
use ackclock_core::units::Span;
use std::sync::OnceLock;

/// Where recordings are found.
pub trait Sources: Send + Sync {
    /// The time after which the recording of this path repeats, or the error in it.
    fn recording_period(&self, path: &str) -> Read<Span>;
}

static SOURCES: OnceLock<&'static dyn Sources> = OnceLock::new();

/// Sets the sources of this process, once.
pub fn install(sources: &'static dyn Sources) {
    let _ = SOURCES.set(sources);
}

pub(crate) fn recording_period(path: &str) -> Read<Span> {
    match SOURCES.get() {
        Some(sources) => sources.recording_period(path),
        None => Err(Invalid::new(format_value(&path.into()), "a fixed rate: no recordings are read here")),
    }
}
