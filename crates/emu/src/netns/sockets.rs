//! Open ports of another process's network namespace, from /proc/PID/net (man 5 proc_pid_net).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// TCP_LISTEN, and TCP_CLOSE for an unconnected UDP socket (the kernel's net/tcp_states.h).
const LISTEN: &str = "0A";
const UNCONNECTED: &str = "07";
/// The tables, and the state in which a socket accepts packets from any peer.
const TABLES: [(&str, &str); 4] = [("tcp", LISTEN), ("tcp6", LISTEN), ("udp", UNCONNECTED), ("udp6", UNCONNECTED)];

/// Ports of listening TCP sockets and unconnected UDP sockets in a process's network namespace,
/// except those bound to the loopback interface. None if /proc has no such process.
pub fn open_ports(pid: i32) -> Option<Vec<u16>> {
    let mut ports = Vec::new();
    let mut is_readable = false;
    for (table, state) in TABLES {
        // The IPv6 tables are absent without IPv6.
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/net/{table}")) else { continue };
        is_readable = true;
        ports.extend(text.lines().skip(1).filter_map(|line| open_port(line, state)));
    }
    is_readable.then_some(ports)
}

/// Parses `sl local_address rem_address st ..`. Addresses are 32-bit words in host byte order.
fn open_port(line: &str, state: &str) -> Option<u16> {
    let mut fields = line.split_ascii_whitespace();
    let (address, port) = fields.nth(1)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let (_remote, socket_state) = (fields.next()?, fields.next()?);
    (socket_state == state && port != 0 && !ip(address)?.is_loopback()).then_some(port)
}

fn ip(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(hex.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(words).ok()?).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn port_is_open_when_its_socket_is_unconnected_and_not_bound_to_loopback() {
        let process = std::process::id() as i32;
        let open = |port: u16| open_ports(process).unwrap().contains(&port);
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let udp = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let [port, udp_port] = [listener.local_addr().unwrap().port(), udp.local_addr().unwrap().port()];
        assert!(open(port) && open(udp_port));
        udp.connect((Ipv4Addr::LOCALHOST, 9)).unwrap();
        assert!(!open(udp_port), "a connected socket accepts its peer only");
        let loopback = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!open(loopback.local_addr().unwrap().port()), "the link does not reach the loopback interface");
        let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(!open(client.local_addr().unwrap().port()));
        if let Ok(ipv6) = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)) {
            assert!(open(ipv6.local_addr().unwrap().port()));
        }
    }
}
