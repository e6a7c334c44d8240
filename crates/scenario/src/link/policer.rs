//! Policers: what passes a token bucket without a queue.

use super::framing::LineFraming;
use crate::values::{BitRate, Bytes};
use crate::{Keys, words};
use ackclock_core::link::{Exceed, Framing, PolicerConfig};
use ackclock_core::units::Rate;
use serde_json::json;

words!(Exceed { "drop" => Exceed::Drop, "ce" => Exceed::Ce });

/// A token bucket without a queue (tc-police(8)): a packet that finds tokens for its length passes and
/// takes them, another one is dropped or marked.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Policer::plan_json)]
pub struct Policer {
    /// Rate at which the bucket is filled.
    #[key(example = "20 Mb/s")]
    pub rate: BitRate,
    /// Bytes that the bucket holds, with framing; it is full at the start.
    #[key(example = "40 kB")]
    pub burst: Bytes,
    /// What happens to a packet without tokens: it is dropped, or marked CE if it is ECN-capable.
    #[key(default = "drop", example = "ce")]
    pub exceed: Exceed,
    /// How many bytes the policer counts for a packet.
    #[key(example = "ethernet", absent = "the framing of the hop")]
    pub framing: Option<LineFraming>,
}

impl Policer {
    /// The engine's configuration on a hop with this framing.
    pub fn config(&self, of_hop: Framing) -> PolicerConfig {
        PolicerConfig {
            rate: Rate::from_bps(self.rate.0),
            burst: self.burst.0,
            exceed: self.exceed,
            framing: self.framing.as_ref().map_or(of_hop, LineFraming::config),
        }
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(self.config(Framing::None))
    }
}
