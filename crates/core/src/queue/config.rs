//! Configuration of a queue of any kind.

use super::{
    AnyQueue, Cake, CakeConfig, CoDel, CoDelConfig, DropTail, DropTailConfig, DualPi2, DualPi2Config, FqCoDel, FqCoDelConfig,
    Order, Pie, PieConfig, Red, RedConfig,
};
use crate::config_check::Checked;
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
    /// The kinds: name, what it does, and its source.
    pub const KINDS: [(&str, &str, &str); 7] = [
        (
            "droptail",
            "first in, first out; drops arrivals when full; may mark above a threshold",
            "RFC 7567, section 2; RFC 8257, section 3.1",
        ),
        (
            "red",
            "random early detection: signals with a probability that rises with the average queue",
            "Floyd and Jacobson 1993",
        ),
        ("codel", "signals with rising frequency while the queueing delay stays above a target", "RFC 8289"),
        ("fq-codel", "a queue for each flow, served by deficit round robin, new flows first, with CoDel in each", "RFC 8290"),
        (
            "cake",
            "a queue for each flow, fair to hosts first, with CoDel and BLUE in each",
            "Høiland-Jørgensen, Täht and Morton 2018",
        ),
        ("pie", "a controller holds the delay near a target by dropping or marking arrivals at random", "RFC 8033"),
        ("dualpi2", "a very short queue for L4S traffic beside a classic one, coupled so that flows share evenly", "RFC 9332"),
    ];

    /// A droptail queue without marking, which drops the arriving packet.
    pub fn is_plain(&self) -> bool {
        matches!(self, QueueConfig::DropTail(config) if config.is_plain())
    }

    /// An error if a value is outside its range, in the words of a plan.
    pub fn check(&self) -> Checked {
        match self {
            QueueConfig::DropTail(config) => config.check(),
            QueueConfig::Red(config) => config.check(),
            QueueConfig::CoDel(config) => config.check(),
            QueueConfig::FqCoDel(config) => config.check(),
            QueueConfig::Cake(config) => config.check(),
            QueueConfig::Pie(config) => config.check(),
            QueueConfig::DualPi2(config) => config.check(),
        }
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
            QueueConfig::Cake(config) => Cake::new(CakeConfig { order, ..config }, rng).at_rate(rate).into(),
            QueueConfig::Pie(config) => Pie::new(PieConfig { order, ..config }, rng).into(),
            // The order of its two queues is its own.
            QueueConfig::DualPi2(config) => DualPi2::new(config).into(),
        }
    }
}
