//! The places between which a link lies: a namespace for the server, one for each client, and this process between them.

mod addresses;
mod child;
mod command;
mod fork;
mod guard;
mod home;
mod internet;
mod marks;
mod mounts;
mod nat;
mod netlink;
mod notes;
mod notice;
mod offload;
mod sockets;
mod user;

pub use addresses::{Addresses, MOST_CLIENTS};
pub use child::Child;

use crate::EmuError;
use crate::gate::{Gate, MOST_FRAMES, Mac};
use crate::options::Options;
use child::Wanted;
use home::Home;
use mounts::NotMounted;
use netlink::{Netlink, NewEnd};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// Ethernet's payload: what every network card carries.
pub const MTU: u32 = 1500;

/// For how many packets all clients' gates together have room; each has some.
const ROOM_OF_CLIENTS: usize = 1 << 15;

/// The server's and the clients' namespaces.
pub struct Places {
    pub addresses: Addresses,
    pub server: Child,
    pub clients: Vec<Child>,
    /// Root is only root here because this process made a user namespace.
    in_user_namespace: bool,
    // Last, so that everybody has gone when this process goes back.
    home: Home,
}

/// One place as it is made.
struct Site<'a> {
    number: u32,
    /// For how many packets its gate has room.
    room: usize,
    wanted: Wanted<'a>,
}

impl Places {
    /// Makes everything, and a gate to each place, the server's first. This process moves into a network namespace of its own and stays
    /// there.
    pub fn make(options: &Options, clients: u32) -> Result<(Places, Vec<Gate>), EmuError> {
        let home = Home::remember(options)?;
        let in_user_namespace = user::enter_own_network()?;
        let addresses = Addresses { depth: options.depth };
        let netlink = Netlink::open().map_err(EmuError::refused("opening a netlink socket"))?;
        netlink.loopback_up().map_err(EmuError::refused("switching the loopback interface on"))?;
        let environment = environment(addresses, options.depth);
        let (server, at_server) = make_site(
            &netlink,
            &Site {
                number: 0,
                room: MOST_FRAMES,
                wanted: Wanted {
                    interface: "server",
                    own: addresses.server(),
                    around: addresses.subnet(),
                    internet: home.way_out.as_ref().map(|way| way.subnet),
                    command: &options.server,
                    environment: &environment,
                    quiet_stdout: true,
                    stays: true,
                },
            },
        )?;
        let mut gates = vec![at_server];
        if let Some(way_out) = &home.way_out {
            way_out.join(server.pid())?;
        }
        let mut places = Places { addresses, server, clients: Vec::new(), in_user_namespace, home };
        for number in 0..clients {
            let command: &[String] = if number == 0 { &options.command } else { &[] };
            let (client, gate) = make_site(
                &netlink,
                &Site {
                    number: number + 1,
                    room: ROOM_OF_CLIENTS / clients as usize,
                    wanted: Wanted {
                        interface: "client",
                        own: addresses.client(number),
                        around: addresses.subnet(),
                        internet: None,
                        command,
                        environment: &environment,
                        quiet_stdout: options.quiet_stdout,
                        stays: false,
                    },
                },
            )?;
            gates.push(gate);
            places.clients.push(client);
        }
        Ok((places, gates))
    }

    /// Starts the server's command.
    pub fn begin_server(&self) -> Result<(), EmuError> {
        self.server.go()
    }

    /// Starts the clients' commands; the server's place must be set up.
    pub fn begin_clients(&self) -> Result<(), EmuError> {
        self.clients.iter().rev().try_for_each(Child::go)
    }

    /// Ports at which the server can be reached; none where they cannot be read.
    pub fn server_ports(&self) -> Option<Vec<u16>> {
        sockets::open_ports(self.server.pid())
    }

    /// Reads the notices that the places have sent so far.
    pub fn read_notices(&mut self) {
        std::iter::once(&mut self.server).chain(&mut self.clients).for_each(Child::read_notices);
    }

    /// Exit status of the server's command, if it has ended; its place remains.
    pub fn server_ended(&mut self) -> Option<i32> {
        self.server.read_notices();
        self.server.command_ended
    }

    /// Why commands see this machine's own /proc or /sys, a sentence for each.
    pub fn foreign_mounts(&self) -> Vec<String> {
        let all = || std::iter::once(&self.server).chain(&self.clients);
        let proc = all().find_map(|place| place.no_proc).map(|why| without("/proc", why));
        let sysfs = all().find_map(|place| place.no_sysfs).map(|why| without("/sys", why));
        proc.into_iter().chain(sysfs).collect()
    }
}

fn without(path: &str, why: NotMounted) -> String {
    let why = match why {
        NotMounted::NotPrivate => "a mount on it might have appeared outside (it is not proven private)".into(),
        NotMounted::Refused(errno) => format!("mounting one of its own was refused: {}", errno.desc()),
    };
    format!("the command sees the {path} of this machine: {why}")
}

/// What commands are told of where they are.
fn environment(addresses: Addresses, depth: u8) -> Vec<(&'static str, String)> {
    let ((server, server6), (client, client6)) = (addresses.server(), addresses.client(0));
    vec![
        ("ACKCLOCK_SERVER", server.to_string()),
        ("ACKCLOCK_SERVER6", server6.to_string()),
        ("ACKCLOCK_CLIENT", client.to_string()),
        ("ACKCLOCK_CLIENT6", client6.to_string()),
        ("ACKCLOCK_DEPTH", (depth + 1).to_string()),
    ]
}

fn make_site(netlink: &Netlink, site: &Site<'_>) -> Result<(Child, Gate), EmuError> {
    let child = Child::start(&site.wanted)?;
    child.wait_ready()?;
    let refused = EmuError::refused("making a pair of interfaces");
    let near = NewEnd { name: &format!("to{}", site.number), mac: mac(site.number, 0), of_process: None };
    let far = NewEnd { name: site.wanted.interface, mac: mac(site.number, 1), of_process: Some(child.pid()) };
    netlink.add_pair(&near, &far, MTU).map_err(&refused)?;
    let index = netlink::interface(near.name).map_err(&refused)?;
    let helper = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).map_err(|e| refused(e.into()))?;
    offload::switch_off(&helper, near.name).map_err(EmuError::refused("switching offloads off"))?;
    let gate = Gate::open(index, far.mac, site.room)?;
    netlink.up(index).map_err(EmuError::refused("switching an interface on"))?;
    gate.forget_error();
    Ok((child, gate))
}

/// Locally administered addresses (IEEE 802, bit 1 of the first byte).
fn mac(number: u32, end: u8) -> Mac {
    let [a, b, c, d] = number.to_be_bytes();
    [0x02 | end << 4, a, b, c, d, end]
}
