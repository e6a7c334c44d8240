//! Shared media: stations that share one channel, in both directions.
//!
//! A medium is one element. A packet for station `s` is pushed at `Port(2s)` and leaves through
//! `Port(2s + 1)`; a packet from the station is pushed at `Port(2s + 1)` and leaves through
//! `Port(2s)`. The medium owns the queues, one per station and direction: [`StationQueues`].

mod channel_time;
mod element;
pub mod grants;
mod half_duplex;
mod metered_queue;
mod packet_radio;
mod plan;
pub mod radio_channel;
mod roaming;
mod shared_queue;
mod station_queues;
pub mod wimax;
pub mod wlan;

pub use element::Medium;
pub use grants::{GrantConfig, Grants};
pub use half_duplex::{HalfDuplex, HalfDuplexConfig};
pub use metered_queue::MeteredQueue;
pub use packet_radio::{PacketRadio, RadioConfig, RadioMac};
pub use plan::MediumPlan;
pub use roaming::{CellConfig, RoamingConfig};
pub use station_queues::StationQueues;
pub use wimax::{Wimax, WimaxPlan};
pub use wlan::{Wlan, WlanConfig};

use crate::config_check::{Checked, check_fraction, ensure};
use crate::element::{Port, QueueId};
use crate::units::{Rate, Span};
use serde::Deserialize;

/// Downlink is from the server to the client; on a medium it is towards the station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Down,
    Up,
}

impl Direction {
    pub const BOTH: [Direction; 2] = [Direction::Down, Direction::Up];

    pub fn name(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }

    pub fn reverse(self) -> Direction {
        match self {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        }
    }
}

/// The packets of one station in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Stream {
    pub station: u32,
    pub direction: Direction,
}

/// A port number has 16 bits, and each station has two ports.
pub const MAX_STATIONS: u32 = 1 << 15;

impl Stream {
    pub fn new(station: u32, direction: Direction) -> Stream {
        Stream { station, direction }
    }

    /// Index of the stream: by station, downlink before uplink.
    pub fn index(self) -> usize {
        2 * self.station as usize + self.direction as usize
    }

    pub fn from_index(index: usize) -> Stream {
        let direction = if index.is_multiple_of(2) { Direction::Down } else { Direction::Up };
        Stream { station: (index / 2) as u32, direction }
    }

    /// Input port: the network side for the downlink, the station side for the uplink.
    pub fn entry(self) -> Port {
        Port(self.index() as u16)
    }

    /// Output port, on the opposite side.
    pub fn exit(self) -> Port {
        Port(self.index() as u16 ^ 1)
    }

    pub fn entering(port: Port) -> Stream {
        Stream::from_index(usize::from(port.0))
    }

    /// Identifier of its queue: the link is the direction.
    pub fn queue_id(self) -> QueueId {
        QueueId { link: self.direction as u32, station: self.station }
    }

    pub fn at(queue: QueueId) -> Stream {
        let direction = if queue.link == 0 { Direction::Down } else { Direction::Up };
        Stream { station: queue.station, direction }
    }
}

/// The rate of a medium whose packets take the time of their bytes.
fn check_rate(rate: Rate) -> Checked {
    ensure(rate.time_to_send(1) > Span::ZERO, || {
        format!("the medium's {} b/s: the transmission time of a byte is below 1 ps", rate.bps())
    })
}

fn check_frame_error([down, up]: [f64; 2]) -> Checked {
    check_fraction("frame_error.down", down)?;
    check_fraction("frame_error.up", up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_exits_on_the_opposite_side_of_its_station() {
        for index in [0, 1, 6, 7, 65_535] {
            let stream = Stream::from_index(index);
            assert_eq!(
                (stream.index(), Stream::entering(stream.entry()), Stream::at(stream.queue_id())),
                (index, stream, stream)
            );
            assert_eq!(stream.exit().0 / 2, stream.entry().0 / 2);
            assert_ne!(stream.exit(), stream.entry());
        }
        assert_eq!(Stream::new(3, Direction::Down).entry(), Port(6));
        assert_eq!(Stream::new(3, Direction::Up).entry(), Port(7));
    }
}
