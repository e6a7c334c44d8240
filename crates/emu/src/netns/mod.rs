//! Network namespaces: one for the server, one per client, and one for this process, which is
//! connected to the others by veth pairs.

mod addresses;
mod cleanup_journal;
mod command;
mod fork;
mod guard;
mod journal_dir;
mod mounts;
mod name_files;
mod nat;
mod netlink;
mod offload;
mod process;
mod root_ns;
mod sockets;
mod status_pipe;
mod uplink;
mod userns;

pub use addresses::{Addresses, MAX_CLIENTS};
pub use process::NamespaceProcess;

use crate::EmuError;
use crate::af_packet::{MAX_FRAMES, Mac, PacketSocket};
use crate::config::EmulationConfig;
use mounts::NotMounted;
use name_files::NameFiles;
use netlink::{Netlink, VethEnd};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use process::NamespaceConfig;
use root_ns::RootNamespace;

/// Ethernet's maximum payload in bytes.
pub const MTU: u32 = 1500;

/// RX ring frames of all clients together. The minimum of a ring still applies to each.
const CLIENT_FRAMES: usize = 1 << 15;

/// The namespaces of the server and the clients.
pub struct Namespaces {
    pub addresses: Addresses,
    pub server: NamespaceProcess,
    pub clients: Vec<NamespaceProcess>,
    /// This process is root only in a user namespace of its own.
    in_user_namespace: bool,
    // The last field: the other processes must end before this process returns to the machine's
    // namespace.
    root: RootNamespace,
}

impl Namespaces {
    /// Creates and configures all namespaces and opens a packet socket to each, the server's first.
    /// Moves this process into a network namespace.
    pub fn create(config: &EmulationConfig, clients: u32) -> Result<(Namespaces, Vec<PacketSocket>), EmuError> {
        let root = RootNamespace::open(config)?;
        let in_user_namespace = userns::enter_netns()?;
        let addresses = Addresses { depth: config.depth };
        let netlink = Netlink::open().map_err(EmuError::refused("opening a netlink socket"))?;
        netlink.loopback_up().map_err(EmuError::refused("setting the loopback interface up"))?;
        let environment = environment(addresses, config.depth);
        let name_files = NameFiles::new(addresses, clients, config);
        let server = NamespaceConfig {
            interface: "server",
            addresses: addresses.server(),
            subnet: addresses.subnet(),
            uplink: root.uplink.as_ref().map(|uplink| uplink.subnet),
            command: &config.server,
            environment: &environment,
            name_files: &name_files,
            quiet_stdout: true,
            outlives_command: true,
        };
        let (server, socket) = create_namespace(&netlink, 0, &server, MAX_FRAMES)?;
        let mut sockets = vec![socket];
        if let Some(uplink) = &root.uplink {
            uplink.connect(server.pid())?;
        }
        let mut namespaces = Namespaces { addresses, server, clients: Vec::new(), in_user_namespace, root };
        for number in 0..clients {
            let client = NamespaceConfig {
                interface: "client",
                addresses: addresses.client(number),
                subnet: addresses.subnet(),
                uplink: None,
                command: if number == 0 { &config.command } else { &[] },
                environment: &environment,
                name_files: &name_files,
                quiet_stdout: config.quiet_stdout,
                outlives_command: false,
            };
            let (client, socket) = create_namespace(&netlink, number + 1, &client, CLIENT_FRAMES / clients as usize)?;
            sockets.push(socket);
            namespaces.clients.push(client);
        }
        // Before any command starts: 100 clients take 100 ms, in which a server that sends at
        // 1 Gb/s fills the ring of its socket.
        std::iter::once(&namespaces.server).chain(&namespaces.clients).try_for_each(NamespaceProcess::configure)?;
        Ok((namespaces, sockets))
    }

    /// Starts the server's command.
    pub fn start_server(&self) -> Result<(), EmuError> {
        self.server.start_command()
    }

    /// Starts the clients' commands.
    pub fn start_clients(&self) -> Result<(), EmuError> {
        self.clients.iter().rev().try_for_each(NamespaceProcess::start_command)
    }

    /// Open ports of the server; none if they cannot be read.
    pub fn server_ports(&self) -> Option<Vec<u16>> {
        sockets::open_ports(self.server.pid())
    }

    /// Reads the status messages that all processes have sent so far.
    pub fn read_status(&mut self) {
        std::iter::once(&mut self.server).chain(&mut self.clients).for_each(NamespaceProcess::read_status);
    }

    /// Exit status of the server's command, if it has ended; its namespace remains.
    pub fn server_exit_status(&mut self) -> Option<i32> {
        self.server.read_status();
        self.server.command_exit
    }

    /// Why commands see this machine's own /proc, /sys or names, one sentence each.
    pub fn mount_warnings(&self) -> Vec<String> {
        let all = || std::iter::once(&self.server).chain(&self.clients);
        let proc = all().find_map(|process| process.no_proc).map(|why| mount_warning("/proc", why));
        let sysfs = all().find_map(|process| process.no_sysfs).map(|why| mount_warning("/sys", why));
        let names = all().find_map(|process| process.no_names).map(|why| mount_warning("/etc/hosts and /etc/resolv.conf", why));
        proc.into_iter().chain(sysfs).chain(names).collect()
    }
}

fn mount_warning(path: &str, why: NotMounted) -> String {
    let why = match why {
        NotMounted::NotPrivate => "a mount on it might appear outside, as it is not known to be private".into(),
        NotMounted::Refused(errno) => format!("mounting another was refused: {}", errno.desc()),
    };
    format!("the command sees the {path} of this machine: {why}")
}

/// Environment variables of all commands.
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

/// Creates the namespace of host `number` (0: the server) and the veth pair to it. `frames`: size
/// of the packet socket's RX ring.
fn create_namespace(
    netlink: &Netlink,
    number: u32,
    config: &NamespaceConfig<'_>,
    frames: usize,
) -> Result<(NamespaceProcess, PacketSocket), EmuError> {
    let process = NamespaceProcess::start(config)?;
    process.wait_ready()?;
    let refused = EmuError::refused("making a pair of interfaces");
    let end = VethEnd { name: &format!("to{number}"), mac: mac(number, 0), netns_of: None };
    let peer = VethEnd { name: config.interface, mac: mac(number, 1), netns_of: Some(process.pid()) };
    netlink.add_veth(&end, &peer, MTU).map_err(&refused)?;
    let index = netlink::interface_index(end.name).map_err(&refused)?;
    let ioctl = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).map_err(|e| refused(e.into()))?;
    offload::disable(&ioctl, end.name).map_err(EmuError::refused("disabling offloads"))?;
    let packets = PacketSocket::open(index, peer.mac, frames)?;
    netlink.up_without_arp(index).map_err(EmuError::refused("setting an interface up"))?;
    packets.clear_error();
    Ok((process, packets))
}

/// A locally administered MAC address (IEEE 802: bit 1 of the first byte).
fn mac(number: u32, end: u8) -> Mac {
    let [a, b, c, d] = number.to_be_bytes();
    [0x02 | end << 4, a, b, c, d, end]
}
