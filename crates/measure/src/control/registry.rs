//! Who is there: how many strangers and sessions, in all and of each address.

use super::hello::Verdict;
use crate::caps::Caps;
use std::collections::BTreeMap;
use std::net::IpAddr;

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    strangers: u32,
    sessions: u32,
}

#[derive(Debug, Default)]
pub struct Registry {
    all: Count,
    peers: BTreeMap<IpAddr, Count>,
}

/// An IPv6 host has a whole /64 to speak from; a mapped IPv4 address is that IPv4 address.
fn household(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) & !0xffff_ffff_ffff_ffff).into()),
        v4 => v4,
    }
}

impl Registry {
    /// A connection comes in. False: there are too many already, and it is closed unheard.
    pub fn arrive(&mut self, peer: IpAddr, caps: &Caps) -> bool {
        let of_peer = self.peers.get(&household(peer)).copied().unwrap_or_default();
        if self.all.strangers >= caps.strangers || of_peer.strangers >= caps.strangers_per_peer {
            return false;
        }
        self.all.strangers += 1;
        self.peers.entry(household(peer)).or_default().strangers += 1;
        true
    }

    /// A stranger has gone, or is none any more.
    pub fn known(&mut self, peer: IpAddr) {
        self.all.strangers -= 1;
        self.change(peer, |c| c.strangers -= 1);
    }

    /// A stranger that knows the token wants a session.
    pub fn admit(&mut self, peer: IpAddr, caps: &Caps) -> Verdict {
        let of_peer = self.peers.get(&household(peer)).copied().unwrap_or_default();
        if self.all.sessions >= caps.sessions {
            return Verdict::TooManySessions;
        }
        if of_peer.sessions >= caps.sessions_per_peer {
            return Verdict::TooManyOfThisPeer;
        }
        self.all.sessions += 1;
        self.peers.entry(household(peer)).or_default().sessions += 1;
        Verdict::Welcome
    }

    /// A session has ended.
    pub fn leave(&mut self, peer: IpAddr) {
        self.all.sessions -= 1;
        self.change(peer, |c| c.sessions -= 1);
    }

    fn change(&mut self, peer: IpAddr, with: impl Fn(&mut Count)) {
        let key = household(peer);
        if let Some(count) = self.peers.get_mut(&key) {
            with(count);
            if count.strangers == 0 && count.sessions == 0 {
                self.peers.remove(&key);
            }
        }
    }

    /// Addresses that are remembered: only of those who are there.
    pub fn peers(&self) -> usize {
        self.peers.len()
    }

    pub fn sessions(&self) -> u32 {
        self.all.sessions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_hold_in_all_and_for_each_address_and_nobody_who_has_gone_is_remembered() {
        let caps = Caps { sessions: 3, sessions_per_peer: 2, strangers: 3, strangers_per_peer: 2, ..Caps::default() };
        let mut here = Registry::default();
        let (a, b): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        assert_eq!([here.arrive(a, &caps), here.arrive(a, &caps), here.arrive(a, &caps)], [true, true, false]);
        assert_eq!([here.arrive(b, &caps), here.arrive(b, &caps)], [true, false]);
        for peer in [a, a, b] {
            here.known(peer);
        }
        assert_eq!([here.admit(a, &caps), here.admit(a, &caps), here.admit(a, &caps)].map(|v| v as u8), [0, 0, 3]);
        assert_eq!([here.admit(b, &caps), here.admit(b, &caps)].map(|v| v as u8), [0, 2]);
        for peer in [a, a, b] {
            here.leave(peer);
        }
        assert_eq!((here.peers(), here.sessions()), (0, 0));
    }

    #[test]
    fn all_of_an_ipv6_network_is_one_peer() {
        let caps = Caps { strangers_per_peer: 1, ..Caps::default() };
        let mut here = Registry::default();
        assert!(here.arrive("2001:db8::1".parse().unwrap(), &caps));
        assert!(!here.arrive("2001:db8::2".parse().unwrap(), &caps));
        assert!(here.arrive("2001:db8:0:1::1".parse().unwrap(), &caps));
    }
}
