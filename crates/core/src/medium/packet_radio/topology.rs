//! Topology of the chain: gateway, relays, and one radio per station at the end.

use super::NeighborQueue;
use crate::medium::{Direction, Stream};
use crate::units::Time;

/// A radio. It receives by default and exchanges frames with one peer at a time.
#[derive(Clone, Debug, Default)]
pub struct Radio {
    /// In an exchange: sending, waiting for a response, or reserved by a peer's RTS.
    pub busy: bool,
    /// Set to sending; otherwise receiving, from `listening_since` on.
    pub sending: bool,
    pub listening_since: Time,
    /// Its neighbor queues, and the next one in round-robin order.
    pub neighbors: Vec<usize>,
    pub next: usize,
}

/// Neighbor queues are numbered by link: links between relays, then each station's, downlink before
/// uplink.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    pub hops: u32,
    pub stations: u32,
}

impl Topology {
    /// The radio `position` hops from the gateway, towards a station.
    fn radio(&self, position: u32, station: u32) -> usize {
        if position < self.hops { position as usize } else { (self.hops + station) as usize }
    }

    /// The neighbor queue of a packet `position` hops from the gateway; `None` where it leaves the
    /// medium.
    pub fn neighbor_from(&self, position: u32, stream: Stream) -> Option<usize> {
        let link = match stream.direction {
            Direction::Down => position,
            Direction::Up => position.checked_sub(1)?,
        };
        let shared = self.hops - 1;
        let number = match link {
            link if link < shared => link,
            link if link == shared => shared + stream.station,
            _ => return None,
        };
        Some(2 * number as usize + stream.direction as usize)
    }

    /// The neighbor queue where a stream enters.
    pub fn entry(&self, stream: Stream) -> usize {
        let position = if stream.direction == Direction::Down { 0 } else { self.hops };
        // Every stream has a first link.
        self.neighbor_from(position, stream).unwrap_or(0)
    }

    pub fn neighbors(&self) -> Vec<NeighborQueue> {
        let shared = (0..self.hops - 1).map(|link| (link, 0));
        let last_hops = (0..self.stations).map(|station| (self.hops - 1, station));
        let pair = |(link, station): (u32, u32)| {
            let (near, far) = (self.radio(link, station), self.radio(link + 1, station));
            [NeighborQueue::new(near, far, link + 1), NeighborQueue::new(far, near, link)]
        };
        let mut neighbors: Vec<NeighborQueue> = shared.chain(last_hops).flat_map(pair).collect();
        for stream in (0..2 * self.stations as usize).map(Stream::from_index) {
            neighbors[self.entry(stream)].entries.push(stream);
        }
        neighbors
    }

    pub fn radios(&self, neighbors: &[NeighborQueue]) -> Vec<Radio> {
        let mut radios = vec![Radio::default(); (self.hops + self.stations) as usize];
        for (number, neighbor) in neighbors.iter().enumerate() {
            radios[neighbor.from].neighbors.push(number);
        }
        radios
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_crosses_every_link_and_stations_share_all_but_the_last() {
        let topology = Topology { hops: 3, stations: 2 };
        let neighbors = topology.neighbors();
        let route = |stream: Stream, mut position: u32| {
            let mut radios = Vec::new();
            while let Some(neighbor) = topology.neighbor_from(position, stream) {
                radios.push((neighbors[neighbor].from, neighbors[neighbor].to));
                position = neighbors[neighbor].position;
            }
            radios
        };
        assert_eq!(route(Stream::new(0, Direction::Down), 0), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(route(Stream::new(1, Direction::Down), 0), [(0, 1), (1, 2), (2, 4)]);
        assert_eq!(route(Stream::new(1, Direction::Up), 3), [(4, 2), (2, 1), (1, 0)]);
        for (number, neighbor) in neighbors.iter().enumerate() {
            let back = &neighbors[number ^ 1];
            assert_eq!((neighbor.from, neighbor.to), (back.to, back.from));
        }
    }
}
