//! Places of unauthenticated connections. A newcomer always gets a place: when all are taken, a connection is evicted, silent ones first, then the
//! oldest. It is one of the newcomer's own address if that has reached the limit for one address, else one of the address with the most places.
//! An address that takes many places takes them from itself; sessions have places of their own (`registry`).

use super::registry::household;
use std::collections::BTreeMap;
use std::net::IpAddr;

#[derive(Debug, Clone, Copy)]
struct Place {
    of: IpAddr,
    /// The hello has arrived.
    has_spoken: bool,
}

#[derive(Debug)]
pub struct Unproven {
    most: u32,
    most_of_one: u32,
    next: u64,
    /// Ordered by place number, and so by age.
    places: BTreeMap<u64, Place>,
    /// Number of places of each address.
    counts: BTreeMap<IpAddr, u32>,
}

impl Unproven {
    /// `most` places in all, and a limit for one address or IPv6 /64.
    pub fn new(most: u32, most_of_one: u32) -> Unproven {
        let (places, counts) = (BTreeMap::new(), BTreeMap::new());
        Unproven { most: most.max(1), most_of_one: most_of_one.max(1), next: 0, places, counts }
    }

    /// A new connection: its place, and the place of the connection evicted for it.
    pub fn arrive(&mut self, from: IpAddr) -> (u64, Option<u64>) {
        let of = household(from);
        let crowded = if self.counts.get(&of).copied().unwrap_or(0) >= self.most_of_one {
            Some(of)
        } else if self.places.len() as u64 >= u64::from(self.most) {
            self.counts.iter().max_by_key(|(_, count)| **count).map(|(who, _)| *who)
        } else {
            None
        };
        let goes = crowded.and_then(|who| self.least_of(who));
        goes.iter().for_each(|place| self.leave(*place));
        let place = self.next;
        self.next += 1;
        self.places.insert(place, Place { of, has_spoken: false });
        *self.counts.entry(of).or_default() += 1;
        (place, goes)
    }

    fn least_of(&self, who: IpAddr) -> Option<u64> {
        let own = self.places.iter().filter(|(_, p)| p.of == who);
        own.min_by_key(|(number, p)| (p.has_spoken, **number)).map(|(number, _)| *number)
    }

    /// The place of the connection to evict when no other resource can be freed.
    pub fn least(&self) -> Option<u64> {
        self.counts.iter().max_by_key(|(_, count)| **count).and_then(|(who, _)| self.least_of(*who))
    }

    /// Whether the connection still has its place.
    pub fn holds(&self, place: u64) -> bool {
        self.places.contains_key(&place)
    }

    pub fn speaks(&mut self, place: u64) {
        if let Some(place) = self.places.get_mut(&place) {
            place.has_spoken = true;
        }
    }

    /// The connection has closed or authenticated: frees its place.
    pub fn leave(&mut self, place: u64) {
        let Some(left) = self.places.remove(&place) else { return };
        if let Some(count) = self.counts.get_mut(&left.of) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&left.of);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Number of stored addresses: only those of open connections.
    pub fn addresses(&self) -> usize {
        self.counts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    // finding("S3")
    #[test]
    fn newcomer_always_gets_a_place_when_others_hold_all_of_them() {
        let mut places = Unproven::new(256, 80);
        let attackers: Vec<IpAddr> = (2..7).map(|n| at(&format!("127.0.0.{n}"))).collect();
        for n in 0..10_000 {
            places.arrive(attackers[n % attackers.len()]);
        }
        assert_eq!(places.len(), 256);
        let (mine, goes) = places.arrive(at("192.0.2.1"));
        assert!(goes.is_some());
        // Further connections of these addresses evict only their own.
        for n in 0..10_000 {
            let (_, goes) = places.arrive(attackers[n % attackers.len()]);
            assert_ne!(goes, Some(mine));
        }
    }

    // finding("S3")
    #[test]
    fn connection_with_a_hello_stays_when_silent_ones_of_its_address_take_every_place() {
        let mut places = Unproven::new(256, 80);
        let here = at("192.0.2.1");
        let (mine, _) = places.arrive(here);
        places.speaks(mine);
        for _ in 0..10_000 {
            let (_, goes) = places.arrive(here);
            assert_ne!(goes, Some(mine));
        }
        assert_eq!(places.len(), 80);
    }

    #[test]
    fn address_is_removed_when_its_last_connection_closes_and_an_ipv6_64_is_one_address() {
        let mut places = Unproven::new(256, 1);
        let (a, none) = places.arrive(at("2001:db8::1"));
        let (b, goes) = places.arrive(at("2001:db8::2"));
        let (c, other) = places.arrive(at("2001:db8:0:1::1"));
        assert_eq!((none, goes, other), (None, Some(a), None));
        for place in [a, b, c] {
            places.leave(place);
        }
        assert!(places.is_empty() && places.addresses() == 0);
    }
}
