//! Listening TCP and unconnected UDP sockets of another process's network namespace, from its /proc/PID/net (man 5 proc_pid_net).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// TCP_LISTEN, and TCP_CLOSE for an unconnected UDP socket (the kernel's net/tcp_states.h).
const LISTEN: &str = "0A";
const UNCONNECTED: &str = "07";
/// The tables, and the state in which a socket of each waits for a first packet.
const TABLES: [(&str, &str); 4] = [("tcp", LISTEN), ("tcp6", LISTEN), ("udp", UNCONNECTED), ("udp6", UNCONNECTED)];

/// The ports at which a process's network namespace can be reached: of listening TCP sockets and unconnected UDP sockets, except those
/// that are bound to the loopback interface. None where /proc has no such process.
pub fn open_ports(pid: i32) -> Option<Vec<u16>> {
    let mut ports = Vec::new();
    let mut read = false;
    for (table, state) in TABLES {
        // Without IPv6 its tables are absent.
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/net/{table}")) else { continue };
        read = true;
        ports.extend(text.lines().skip(1).filter_map(|line| open_port(line, state)));
    }
    read.then_some(ports)
}

/// `sl local_address rem_address st ..`, addresses as words of the machine's byte order.
fn open_port(line: &str, state: &str) -> Option<u16> {
    let mut fields = line.split_ascii_whitespace();
    let (address, port) = fields.nth(1)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let (_, found) = (fields.next()?, fields.next()?);
    (found == state && port != 0 && !ip(address)?.is_loopback()).then_some(port)
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
    fn socket_counts_when_it_waits_on_an_address_that_others_reach() {
        let own = std::process::id() as i32;
        let open = |port: u16| open_ports(own).unwrap().contains(&port);
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let udp = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let [port, udp_port] = [listener.local_addr().unwrap().port(), udp.local_addr().unwrap().port()];
        assert!(open(port) && open(udp_port));
        udp.connect((Ipv4Addr::LOCALHOST, 9)).unwrap();
        assert!(!open(udp_port), "a connected socket answers its peer only");
        let inside = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!open(inside.local_addr().unwrap().port()), "the loopback interface is not the link");
        let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(!open(client.local_addr().unwrap().port()));
        if let Ok(six) = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)) {
            assert!(open(six.local_addr().unwrap().port()));
        }
    }
}
