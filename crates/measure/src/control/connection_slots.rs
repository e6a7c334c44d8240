//! Slots of unauthenticated connections. A new connection always gets a slot. If no slot is free, a
//! connection is evicted: one without a hello first, then the oldest. It belongs to the new
//! connection's own address if that address has reached its limit, else to one of the addresses with
//! the maximum number of slots. An address that takes many slots evicts its own connections, and of
//! many addresses with a slot each, none is favored. A connection with a verified token has no slot:
//! sessions are counted separately (`registry`).

use super::registry::source_prefix;
use std::collections::BTreeMap;
use std::net::IpAddr;

#[derive(Debug, Clone, Copy)]
struct SlotUse {
    source: IpAddr,
    /// The hello has arrived.
    has_hello: bool,
}

#[derive(Debug)]
pub struct ConnectionSlots {
    capacity: u32,
    capacity_per_source: u32,
    next: u64,
    /// Ordered by slot number, that is by age.
    slots: BTreeMap<u64, SlotUse>,
    /// Number of slots of each address.
    counts: BTreeMap<IpAddr, u32>,
}

impl ConnectionSlots {
    /// `capacity` slots in all, `capacity_per_source` for one address or IPv6 /64.
    pub fn new(capacity: u32, capacity_per_source: u32) -> ConnectionSlots {
        let (slots, counts) = (BTreeMap::new(), BTreeMap::new());
        ConnectionSlots { capacity: capacity.max(1), capacity_per_source: capacity_per_source.max(1), next: 0, slots, counts }
    }

    /// Takes a slot for a new connection. Returns the slot, and the slot of the evicted connection.
    pub fn acquire(&mut self, from: IpAddr) -> (u64, Option<u64>) {
        let source = source_prefix(from);
        let evicted = if self.counts.get(&source).copied().unwrap_or(0) >= self.capacity_per_source {
            self.oldest(|other| other == source)
        } else if self.slots.len() as u64 >= u64::from(self.capacity) {
            self.eviction_candidate()
        } else {
            None
        };
        evicted.iter().for_each(|slot| self.release(*slot));
        let slot = self.next;
        self.next += 1;
        self.slots.insert(slot, SlotUse { source, has_hello: false });
        *self.counts.entry(source).or_default() += 1;
        (slot, evicted)
    }

    /// Of the connections of some addresses one without a hello first, then the oldest.
    fn oldest(&self, is_of: impl Fn(IpAddr) -> bool) -> Option<u64> {
        let own = self.slots.iter().filter(|(_, slot)| is_of(slot.source));
        own.min_by_key(|(number, slot)| (slot.has_hello, **number)).map(|(number, _)| *number)
    }

    /// Slot of the connection to evict when this or another resource is exhausted.
    pub fn eviction_candidate(&self) -> Option<u64> {
        let max = self.counts.values().max()?;
        self.oldest(|source| self.counts.get(&source) == Some(max))
    }

    /// Whether the connection still has its slot.
    pub fn holds(&self, slot: u64) -> bool {
        self.slots.contains_key(&slot)
    }

    pub fn mark_hello(&mut self, slot: u64) {
        if let Some(slot) = self.slots.get_mut(&slot) {
            slot.has_hello = true;
        }
    }

    /// Frees the slot of a connection that has closed or authenticated.
    pub fn release(&mut self, slot: u64) {
        let Some(left) = self.slots.remove(&slot) else { return };
        if let Some(count) = self.counts.get_mut(&left.source) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&left.source);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Number of stored addresses: those of open connections.
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
    fn new_connection_gets_a_slot_when_others_hold_all_of_them() {
        let mut slots = ConnectionSlots::new(256, 80);
        let attackers: Vec<IpAddr> = (2..7).map(|n| at(&format!("127.0.0.{n}"))).collect();
        for n in 0..10_000 {
            slots.acquire(attackers[n % attackers.len()]);
        }
        assert_eq!(slots.len(), 256);
        let (mine, evicted) = slots.acquire(at("192.0.2.1"));
        assert!(evicted.is_some());
        // Further connections of these addresses evict only their own.
        for n in 0..10_000 {
            let (_, evicted) = slots.acquire(attackers[n % attackers.len()]);
            assert_ne!(evicted, Some(mine));
        }
    }

    // finding("S3")
    #[test]
    fn connection_with_a_hello_keeps_its_slot_when_silent_ones_of_its_address_take_all() {
        let mut slots = ConnectionSlots::new(256, 80);
        let here = at("192.0.2.1");
        let (mine, _) = slots.acquire(here);
        slots.mark_hello(mine);
        for _ in 0..10_000 {
            let (_, evicted) = slots.acquire(here);
            assert_ne!(evicted, Some(mine));
        }
        assert_eq!(slots.len(), 80);
    }

    // finding("R1")
    #[test]
    fn new_connection_outlives_others_of_600_addresses_that_came_before_it() {
        for here in ["1.0.0.1", "127.0.1.44", "192.0.2.1"] {
            let mut slots = ConnectionSlots::new(256, 80);
            let unauthenticated = |n: u32| IpAddr::from([127, 0, (n / 250) as u8, (n % 250) as u8 + 1]);
            for n in 0..600 {
                slots.acquire(unauthenticated(n));
            }
            let (mine, _) = slots.acquire(at(here));
            for n in 0..255 {
                let (_, evicted) = slots.acquire(unauthenticated(n));
                assert_ne!(evicted, Some(mine), "{here}: {n} connections after it");
            }
            // The nearest case: a silent connection is not kept for ever.
            assert_eq!(slots.acquire(unauthenticated(255)).1, Some(mine), "{here}");
            let (mine, _) = slots.acquire(at(here));
            slots.mark_hello(mine);
            for n in 0..6000 {
                assert_ne!(slots.acquire(unauthenticated(n % 600)).1, Some(mine), "{here}: with a hello");
            }
        }
    }

    #[test]
    fn address_is_removed_when_its_last_connection_closes_and_an_ipv6_64_is_one_address() {
        let mut slots = ConnectionSlots::new(256, 1);
        let (a, none) = slots.acquire(at("2001:db8::1"));
        let (b, evicted) = slots.acquire(at("2001:db8::2"));
        let (c, other) = slots.acquire(at("2001:db8:0:1::1"));
        assert_eq!((none, evicted, other), (None, Some(a), None));
        for slot in [a, b, c] {
            slots.release(slot);
        }
        assert!(slots.is_empty() && slots.addresses() == 0);
    }
}
