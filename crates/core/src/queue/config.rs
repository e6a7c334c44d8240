//! Configuration of a queue of any kind.

use super::{
    AnyQueue, Cake, CakeConfig, CoDel, CoDelConfig, DropTail, DropTailConfig, DualPi2, DualPi2Config, FqCoDel, FqCoDelConfig,
    Order, Pie, PieConfig, Red, RedConfig,
};
use crate::rng::Rng;
use crate::units::{Rate, Span};
use serde::{Deserialize, Serialize};

/// A queue, with the keys of a plan (docs/inside/plan.md). Limits count queued packets without the
/// packet in transmission. [`QueueConfig::build`] sets the fields that a plan does not have.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum QueueConfig {
    DropTail(DropTailConfig),
    Red(RedConfig),
    CoDel(CoDelConfig),
    #[serde(rename = "fq-codel")]
    FqCoDel(FqCoDelConfig),
    Cake(CakeConfig),
    Pie(PieConfig),
    DualPi2(DualPi2Config),
}

impl QueueConfig {
    /// A droptail queue without marking, which drops the arriving packet.
    pub fn is_plain(&self) -> bool {
        matches!(self, QueueConfig::DropTail(config) if config.is_plain())
    }

    /// The queue. `rate` is the approximate service rate, if it is known.
    pub fn build(self, order: Order, rate: Option<Rate>, rng: Rng) -> AnyQueue {
        match self {
            QueueConfig::DropTail(config) => DropTail::new(DropTailConfig { order, ..config }).into(),
            QueueConfig::Red(config) => {
                let service = rate.map_or(Span::ZERO, |rate| rate.time_to_send(config.mean_packet));
                Red::new(RedConfig { service, order, ..config }, rng).into()
            }
            QueueConfig::CoDel(config) => CoDel::new(CoDelConfig { order, ..config }).into(),
            QueueConfig::FqCoDel(config) => FqCoDel::new(FqCoDelConfig { order, ..config }, rng).into(),
            QueueConfig::Cake(config) => Cake::new(CakeConfig { order, ..config.at_rate(rate) }, rng).into(),
            QueueConfig::Pie(config) => Pie::new(PieConfig { order, ..config }, rng).into(),
            // The order of its two queues is its own.
            QueueConfig::DualPi2(config) => DualPi2::new(config).into(),
        }
    }
}
