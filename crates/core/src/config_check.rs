//! Checks of configuration values. A message names the plan's key, the value and what is allowed, in
//! one line.

use crate::units::Span;

pub type Checked = Result<(), String>;

/// The maximum span of a configuration, 100 days: [`crate::Time`] holds 213 days, so the present
/// time plus any span fits.
pub const MAX_SPAN: Span = Span::from_secs(100 * 86_400);

pub fn ensure(holds: bool, message: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(message()) }
}

pub fn check_span(key: &str, span: Span) -> Checked {
    ensure(span <= MAX_SPAN, || format!("{key} is {}: at most {} (100 days) is possible", span.0, MAX_SPAN.0))
}

pub fn check_fraction(key: &str, p: f64) -> Checked {
    ensure((0.0..=1.0).contains(&p), || format!("{key} is {p}: it must lie between 0 and 1"))
}

/// The shape of a Pareto distribution.
pub fn check_shape(shape: f64) -> Checked {
    ensure(shape > 1.0, || format!("a Pareto shape of {shape}: it must be above 1 for a finite mean"))
}
