//! A minimal rtnetlink client (man 7 rtnetlink): veth pairs, addresses, routes. The alternatives
//! are the `ip` command, which may not be installed, and libraries that require an asynchronous
//! runtime.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

const NLMSG_HEADER: usize = 16;
const VETH_INFO_PEER: u16 = 1;

/// A request under construction: netlink header, family header, attributes.
struct Request {
    bytes: Vec<u8>,
}

impl Request {
    fn new(kind: u16, flags: i32, body: &[u8]) -> Request {
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(body);
        Request { bytes }
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.bytes.extend((value.len() as u16 + 4).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn text(&mut self, kind: u16, value: &str) {
        self.attribute(kind, &[value.as_bytes(), &[0]].concat());
    }

    /// Attributes inside an attribute.
    fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Request)) {
        let start = self.bytes.len();
        self.bytes.extend([0; 4]);
        fill(self);
        let len = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&len.to_ne_bytes());
        self.bytes[start + 2..start + 4].copy_from_slice(&kind.to_ne_bytes());
    }
}

/// struct ifinfomsg: family, padding, type, index, flags, change.
fn link_header(index: u32, flags: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// One end of a new veth pair.
pub struct VethEnd<'a> {
    pub name: &'a str,
    pub mac: [u8; 6],
    /// A process in the end's network namespace; none for the socket's namespace.
    pub netns_of: Option<i32>,
}

/// A netlink socket. It configures the network namespace in which it was opened.
pub struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    pub fn open() -> io::Result<Netlink> {
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
        Ok(Netlink { socket })
    }

    /// Creates a veth pair.
    pub fn add_veth(&self, end: &VethEnd<'_>, peer: &VethEnd<'_>, mtu: u32) -> io::Result<()> {
        let mut request = Request::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &link_header(0, 0));
        add_end(&mut request, end, mtu);
        request.nested(libc::IFLA_LINKINFO, |info| {
            info.text(libc::IFLA_INFO_KIND, "veth");
            info.nested(libc::IFLA_INFO_DATA, |data| {
                data.nested(VETH_INFO_PEER, |info_peer| {
                    info_peer.bytes.extend(link_header(0, 0));
                    add_end(info_peer, peer, mtu);
                });
            });
        });
        self.execute(request)
    }

    /// Sets an interface up without ARP and neighbour discovery: its peer is its only neighbour,
    /// and packets carry the peer's address.
    pub fn up_without_arp(&self, index: u32) -> io::Result<()> {
        let flags = (libc::IFF_UP | libc::IFF_NOARP) as u32;
        self.execute(Request::new(libc::RTM_NEWLINK, 0, &link_header(index, flags)))
    }

    /// Sets an interface up.
    pub fn up(&self, index: u32) -> io::Result<()> {
        self.execute(Request::new(libc::RTM_NEWLINK, 0, &link_header(index, libc::IFF_UP as u32)))
    }

    pub fn loopback_up(&self) -> io::Result<()> {
        self.execute(Request::new(libc::RTM_NEWLINK, 0, &link_header(interface_index("lo")?, libc::IFF_UP as u32)))
    }

    pub fn add_ipv4(&self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        self.add_address(libc::AF_INET as u8, index, prefix, 0, &address.octets())
    }

    pub fn add_ipv6(&self, index: u32, address: Ipv6Addr, prefix: u8) -> io::Result<()> {
        // IFA_F_NODAD: no duplicate address detection, which would delay the address by a second.
        self.add_address(libc::AF_INET6 as u8, index, prefix, libc::IFA_F_NODAD as u8, &address.octets())
    }

    fn add_address(&self, family: u8, index: u32, prefix: u8, flags: u8, address: &[u8]) -> io::Result<()> {
        let mut header = vec![family, prefix, flags, 0];
        header.extend(index.to_ne_bytes());
        let mut request = Request::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &header);
        request.attribute(libc::IFA_LOCAL, address);
        request.attribute(libc::IFA_ADDRESS, address);
        self.execute(request)
    }

    /// Adds a default route over an interface.
    pub fn add_default_route(&self, index: u32, v6: bool) -> io::Result<()> {
        let family = if v6 { libc::AF_INET6 } else { libc::AF_INET };
        let scope = if v6 { libc::RT_SCOPE_UNIVERSE } else { libc::RT_SCOPE_LINK };
        let header = [family as u8, 0, 0, 0, libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, scope, libc::RTN_UNICAST, 0, 0, 0, 0];
        let mut request = Request::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE, &header);
        request.attribute(libc::RTA_OIF, &index.to_ne_bytes());
        self.execute(request)
    }

    /// Adds a default IPv4 route over an interface to a router.
    pub fn add_default_route_via(&self, index: u32, router: Ipv4Addr) -> io::Result<()> {
        let (table, kind) = (libc::RT_TABLE_MAIN, libc::RTN_UNICAST);
        let header = [libc::AF_INET as u8, 0, 0, 0, table, libc::RTPROT_STATIC, libc::RT_SCOPE_UNIVERSE, kind, 0, 0, 0, 0];
        let mut request = Request::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE, &header);
        request.attribute(libc::RTA_GATEWAY, &router.octets());
        request.attribute(libc::RTA_OIF, &index.to_ne_bytes());
        self.execute(request)
    }

    /// Index of an interface in the socket's namespace.
    pub fn index_of(&self, name: &str) -> io::Result<u32> {
        let mut request = Request::new(libc::RTM_GETLINK, 0, &link_header(0, 0));
        request.text(libc::IFLA_IFNAME, name);
        let answer = self.exchange(request)?;
        let kind = u16::from_ne_bytes([answer[4], answer[5]]);
        if kind == libc::RTM_NEWLINK {
            // The acknowledgement follows the answer.
            recv(self.socket.as_raw_fd(), &mut [0; 256], MsgFlags::empty())?;
        }
        // struct ifinfomsg: the index is the second word.
        let index = answer.get(NLMSG_HEADER + 4..NLMSG_HEADER + 8).and_then(|word| word.try_into().ok()).map(u32::from_ne_bytes);
        match index {
            Some(index) if kind == libc::RTM_NEWLINK => Ok(index),
            _ => Err(io::Error::from_raw_os_error(libc::ENODEV)),
        }
    }

    /// Sends a request and checks its acknowledgement.
    fn execute(&self, request: Request) -> io::Result<()> {
        let answer = self.exchange(request)?;
        // struct nlmsgerr after the header: the error number is 0 in an acknowledgement.
        let word = answer.get(NLMSG_HEADER..NLMSG_HEADER + 4).and_then(|word| word.try_into().ok()).map(i32::from_ne_bytes);
        match word {
            Some(0) => Ok(()),
            Some(error) => Err(io::Error::from_raw_os_error(-error)),
            None => Err(io::Error::from_raw_os_error(libc::EPROTO)),
        }
    }

    /// Sends a request. Returns the answer with its header.
    fn exchange(&self, request: Request) -> io::Result<Vec<u8>> {
        let Request { mut bytes } = request;
        let len = bytes.len() as u32;
        bytes[..4].copy_from_slice(&len.to_ne_bytes());
        send(self.socket.as_raw_fd(), &bytes, MsgFlags::empty())?;
        let mut answer = vec![0; 8192];
        let len = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        if len < NLMSG_HEADER {
            return Err(io::Error::from_raw_os_error(libc::EPROTO));
        }
        answer.truncate(len);
        Ok(answer)
    }
}

/// Adds the attributes of one end of a veth pair.
fn add_end(request: &mut Request, end: &VethEnd<'_>, mtu: u32) {
    request.text(libc::IFLA_IFNAME, end.name);
    request.attribute(libc::IFLA_ADDRESS, &end.mac);
    request.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
    if let Some(process) = end.netns_of {
        request.attribute(libc::IFLA_NET_NS_PID, &process.to_ne_bytes());
    }
}

/// Index of an interface in this process's namespace.
pub fn interface_index(name: &str) -> io::Result<u32> {
    Ok(nix::net::if_::if_nametoindex(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_attribute_has_its_own_length_and_padding() {
        let mut request = Request::new(16, 0, &[]);
        request.nested(18, |inner| inner.text(1, "veth"));
        let body = &request.bytes[NLMSG_HEADER..];
        assert_eq!(body[..4], [16u16.to_ne_bytes(), 18u16.to_ne_bytes()].concat());
        assert_eq!(body[4..8], [9u16.to_ne_bytes(), 1u16.to_ne_bytes()].concat());
        assert_eq!(&body[8..], b"veth\0\0\0\0");
    }
}
