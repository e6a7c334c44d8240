//! The uplink: a veth pair between the server's namespace and the machine's own network, which
//! masquerades the clients' traffic.

use super::cleanup_journal::CleanupJournal;
use super::nat;
use super::netlink::{Netlink, VethEnd, interface_index};
use crate::EmuError;
use std::fs;
use std::io;
use std::net::Ipv4Addr;

/// Name of the uplink's interface in the server's namespace.
const INTERFACE: &str = "internet";

/// The machine's side of the uplink, opened while this process is still in the machine's network
/// namespace.
pub struct Uplink {
    /// A socket of the machine's network namespace, also after this process has left it.
    netlink: Netlink,
    pub subnet: UplinkSubnet,
}

/// A subnet of four addresses for the uplink's two interfaces, from 198.18.0.0/15 (RFC 2544:
/// benchmarks).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UplinkSubnet {
    network: u32,
}

impl UplinkSubnet {
    const PREFIX: u8 = 30;
    const FIRST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
    const COUNT: u32 = 1 << 15;

    /// The subnet of a process, by its PID.
    fn of_process(pid: u32) -> UplinkSubnet {
        UplinkSubnet { network: u32::from(Self::FIRST) + pid % Self::COUNT * 4 }
    }

    /// Parses ADDRESS/PREFIX. None for a subnet that `of_process` never returns.
    pub fn of_text(text: &str) -> Option<UplinkSubnet> {
        let (address, prefix) = text.split_once('/')?;
        let network = u32::from(address.parse::<Ipv4Addr>().ok()?);
        let offset = network.checked_sub(u32::from(Self::FIRST))?;
        let is_valid = offset.is_multiple_of(4) && offset / 4 < Self::COUNT;
        (is_valid && prefix.parse() == Ok(Self::PREFIX)).then_some(UplinkSubnet { network })
    }

    pub fn text(self) -> String {
        format!("{}/{}", Ipv4Addr::from(self.network), Self::PREFIX)
    }

    fn machine(self) -> Ipv4Addr {
        Ipv4Addr::from(self.network + 1)
    }

    fn server(self) -> Ipv4Addr {
        Ipv4Addr::from(self.network + 2)
    }

    /// In the server's namespace: configures the interface, forwards between link and uplink, and
    /// masquerades the clients' addresses, which other emulations may use too.
    pub fn configure(self, netlink: &Netlink, clients: &str) -> io::Result<()> {
        let index = interface_index(INTERFACE)?;
        netlink.up(index)?;
        netlink.add_ipv4(index, self.server(), Self::PREFIX)?;
        netlink.add_default_route_via(index, self.machine())?;
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        nat::add_masquerade(clients)
    }
}

impl Uplink {
    pub fn open(journal: &mut CleanupJournal) -> Result<Uplink, EmuError> {
        let subnet = UplinkSubnet::of_process(std::process::id());
        journal.enable_nat(subnet).map_err(EmuError::refused("letting traffic out through this machine"))?;
        let netlink = Netlink::open().map_err(EmuError::refused("opening a netlink socket"))?;
        Ok(Uplink { netlink, subnet })
    }

    /// Creates the veth pair between the machine and the namespace of `process`. Both interfaces
    /// are deleted with that namespace.
    pub fn connect(&self, process: i32) -> Result<(), EmuError> {
        let connect = || -> io::Result<()> {
            let pid = std::process::id().to_be_bytes();
            let mac = |end: u8| [0x06, end, pid[0], pid[1], pid[2], pid[3]];
            let machine = VethEnd { name: &format!("ackclock{}", std::process::id()), mac: mac(0), netns_of: None };
            let server = VethEnd { name: INTERFACE, mac: mac(1), netns_of: Some(process) };
            self.netlink.add_veth(&machine, &server, super::MTU)?;
            let index = self.netlink.index_of(machine.name)?;
            self.netlink.up(index)?;
            self.netlink.add_ipv4(index, self.subnet.machine(), UplinkSubnet::PREFIX)
        };
        connect().map_err(EmuError::refused("connecting the server's namespace to this machine's network"))
    }
}
