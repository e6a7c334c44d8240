//! Why a flow is not faster, and what is wrong with a connection.
//!
//! The same words answer both for simulated and for captured flows: [`limit`] decides what limits a
//! flow of a run, [`capture`] makes the findings of a capture. A finding is one rule, a function from
//! the figures of a flow to a sentence, and [`capture::RULES`] is the table of all of them with their
//! explanations, owners and thresholds. [`felt`] says what people feel of a run's
//! applications. [`number_text`] writes all numbers.
#![forbid(unsafe_code)]

#[cfg(feature = "capture")]
pub mod capture;
pub mod felt;
pub mod limit;
pub mod number_text;
