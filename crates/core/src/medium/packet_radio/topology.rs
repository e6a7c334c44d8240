//! Which radios there are and who sends to whom: gateway, relays in a chain, and a station's radio at its end for each station.

use super::Outlet;
use crate::medium::{Direction, Stream};
use crate::units::Time;

/// A radio. At rest it receives; it talks to one peer at a time.
#[derive(Clone, Debug, Default)]
pub struct Radio {
    /// It sends, waits for an answer or is bound to a peer that asked it.
    pub busy: bool,
    /// It stands at sending; else it receives, or will from `listening_since` on.
    pub sending: bool,
    pub listening_since: Time,
    /// Its ways out, and whose turn is next.
    pub outlets: Vec<usize>,
    pub turn: usize,
}

/// Outlets are numbered link by link: those between relays, then each station's, down before up.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    pub hops: u32,
    pub stations: u32,
}

impl Topology {
    /// The radio so many hops from the gateway on the way to a station.
    fn radio(&self, position: u32, station: u32) -> usize {
        if position < self.hops { position as usize } else { (self.hops + station) as usize }
    }

    /// The outlet that a packet takes which is `position` hops from the gateway; none where it leaves.
    pub fn outlet_from(&self, position: u32, stream: Stream) -> Option<usize> {
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

    /// Where a stream's packets come in.
    pub fn entry(&self, stream: Stream) -> usize {
        let position = if stream.direction == Direction::Down { 0 } else { self.hops };
        // A stream's first link is always there.
        self.outlet_from(position, stream).unwrap_or(0)
    }

    pub fn outlets(&self) -> Vec<Outlet> {
        let shared = (0..self.hops - 1).map(|link| (link, 0));
        let own = (0..self.stations).map(|station| (self.hops - 1, station));
        let pair = |(link, station): (u32, u32)| {
            let (near, far) = (self.radio(link, station), self.radio(link + 1, station));
            [Outlet::new(near, far, link + 1), Outlet::new(far, near, link)]
        };
        let mut outlets: Vec<Outlet> = shared.chain(own).flat_map(pair).collect();
        for stream in (0..2 * self.stations as usize).map(Stream::from_index) {
            outlets[self.entry(stream)].entries.push(stream);
        }
        outlets
    }

    pub fn radios(&self, outlets: &[Outlet]) -> Vec<Radio> {
        let mut radios = vec![Radio::default(); (self.hops + self.stations) as usize];
        for (number, outlet) in outlets.iter().enumerate() {
            radios[outlet.from].outlets.push(number);
        }
        radios
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_every_link_of_the_chain_and_stations_share_all_but_the_last() {
        let topology = Topology { hops: 3, stations: 2 };
        let outlets = topology.outlets();
        let way = |stream: Stream, mut position: u32| {
            let mut radios = Vec::new();
            while let Some(outlet) = topology.outlet_from(position, stream) {
                radios.push((outlets[outlet].from, outlets[outlet].to));
                position = outlets[outlet].position;
            }
            radios
        };
        assert_eq!(way(Stream::new(0, Direction::Down), 0), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(way(Stream::new(1, Direction::Down), 0), [(0, 1), (1, 2), (2, 4)]);
        assert_eq!(way(Stream::new(1, Direction::Up), 3), [(4, 2), (2, 1), (1, 0)]);
        for (number, outlet) in outlets.iter().enumerate() {
            let back = &outlets[number ^ 1];
            assert_eq!((outlet.from, outlet.to), (back.to, back.from));
        }
    }
}
