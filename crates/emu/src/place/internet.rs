//! The way out: the server's place is joined to the machine's own network, and what comes from the clients goes out under its address.

use super::marks::Marks;
use super::nat;
use super::netlink::{Netlink, NewEnd, interface};
use crate::EmuError;
use std::fs;
use std::io;
use std::net::Ipv4Addr;

/// What the server's place calls its way out.
const INSIDE: &str = "internet";

/// The machine's side, made while this process is still in the machine's own network.
pub struct WayOut {
    /// Of the machine's network, also when this process has moved on.
    netlink: Netlink,
    pub subnet: Subnet,
}

/// Four addresses for two interfaces, of the space for benchmarks (RFC 2544), so that they meet nobody's real ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subnet {
    network: u32,
}

impl Subnet {
    const PREFIX: u8 = 30;
    const FIRST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
    const COUNT: u32 = 1 << 15;

    /// One for each process number.
    fn of_process(pid: u32) -> Subnet {
        Subnet { network: u32::from(Self::FIRST) + pid % Self::COUNT * 4 }
    }

    /// Parses a subnet; none for one outside the emulator's range.
    pub fn of_text(text: &str) -> Option<Subnet> {
        let (address, prefix) = text.split_once('/')?;
        let network = u32::from(address.parse::<Ipv4Addr>().ok()?);
        let offset = network.checked_sub(u32::from(Self::FIRST))?;
        let whole = offset.is_multiple_of(4) && offset / 4 < Self::COUNT;
        (whole && prefix.parse() == Ok(Self::PREFIX)).then_some(Subnet { network })
    }

    pub fn text(self) -> String {
        format!("{}/{}", Ipv4Addr::from(self.network), Self::PREFIX)
    }

    fn machine(self) -> Ipv4Addr {
        Ipv4Addr::from(self.network + 1)
    }

    fn place(self) -> Ipv4Addr {
        Ipv4Addr::from(self.network + 2)
    }
}

impl WayOut {
    pub fn open(marks: &mut Marks) -> Result<WayOut, EmuError> {
        let subnet = Subnet::of_process(std::process::id());
        marks.let_out(subnet).map_err(EmuError::refused("letting traffic out through this machine"))?;
        let netlink = Netlink::open().map_err(EmuError::refused("opening a netlink socket"))?;
        Ok(WayOut { netlink, subnet })
    }

    /// Joins the machine and the place of this process. Both interfaces go with the place.
    pub fn join(&self, process: i32) -> Result<(), EmuError> {
        let join = || -> io::Result<()> {
            let pid = std::process::id().to_be_bytes();
            let mac = |end: u8| [0x06, end, pid[0], pid[1], pid[2], pid[3]];
            let near = NewEnd { name: &format!("ackclock{}", std::process::id()), mac: mac(0), of_process: None };
            let far = NewEnd { name: INSIDE, mac: mac(1), of_process: Some(process) };
            self.netlink.add_pair(&near, &far, super::MTU)?;
            let index = self.netlink.index_of(near.name)?;
            self.netlink.up_with_arp(index)?;
            self.netlink.add_ipv4(index, self.subnet.machine(), Subnet::PREFIX)
        };
        join().map_err(EmuError::refused("joining the server's place to this machine's network"))
    }
}

impl Subnet {
    /// In the server's place: forwards between the link and the way out. Clients' addresses may be in use by other emulations too, so
    /// they stay inside.
    pub fn settle(self, netlink: &Netlink, clients: &str) -> io::Result<()> {
        let index = interface(INSIDE)?;
        netlink.up_with_arp(index)?;
        netlink.add_ipv4(index, self.place(), Self::PREFIX)?;
        netlink.add_default_route_by(index, self.machine())?;
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        nat::start(clients)
    }
}
