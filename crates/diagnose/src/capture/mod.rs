//! The findings of a capture: what limits each flow and what would improve it, as sentences from the
//! figures of its report. [`CaptureDiagnosis`] gives the rules of [`RULES`] their facts.

mod acks;
mod concurrency;
mod connection;
mod datagrams;
mod decoding;
mod defects;
mod diagnosis;
mod document;
mod failures;
mod handshake;
mod inferred_path;
mod limit_shares;
mod loss_models;
mod loss_response;
mod losses;
mod path_mtu;
mod qlog;
mod receiver_vantage;
mod recording;
mod recovery_time;
mod resets;
mod rule;
mod rules;
mod sender_limits;
mod sending_end;
mod transfer;
mod verdict;
mod waits;

pub use acks::QueueDelays;
pub use connection::Connection;
pub use datagrams::diagnosed_datagrams;
pub use diagnosis::{CaptureDiagnosis, FlowDiagnosis, THRESHOLDS, claims_of, limits_of};
pub use document::Outline;
pub use limit_shares::LimitShares;
pub use loss_models::models_of;
pub use loss_response::{LossyTransfer, ModelRates};
pub use losses::has_queue;
pub use qlog::of_qlog;
pub use rule::{Check, Claim, Group, Owner, Remedy, Rule, RuleClaim};
pub use rules::RULES;
pub use sending_end::SendingEnd;
pub use transfer::{ENOUGH_BYTES, Transfer};
pub use verdict::SummaryBuilder;

#[cfg(test)]
mod tests;
