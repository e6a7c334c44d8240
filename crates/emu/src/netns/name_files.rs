//! /etc/hosts and /etc/resolv.conf of the commands: the names of the emulated hosts, and no name
//! server that the link does not reach.

use super::addresses::Addresses;
use crate::config::EmulationConfig;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

const HOSTS: &str = "/etc/hosts";
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// A query fails at once where no name server listens on the loopback interface; the options bound
/// the time of a resolver that ignores the refusal.
const NO_NAME_SERVER: &str = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";

/// The files as a command sees them.
pub struct NameFiles {
    hosts: String,
    /// None: the machine's, whose name servers the uplink reaches.
    resolv_conf: Option<&'static str>,
}

/// A host and its names, the first of which is the canonical one.
struct HostNames {
    addresses: (Ipv4Addr, Ipv6Addr),
    names: Vec<String>,
}

impl NameFiles {
    pub fn new(addresses: Addresses, clients: u32, config: &EmulationConfig) -> NameFiles {
        let server = std::iter::once("server".to_owned()).chain(config.names.iter().cloned()).collect();
        let mut hosts = vec![HostNames { addresses: addresses.server(), names: server }];
        hosts.extend((0..clients).map(|number| {
            let numbered = (clients > 1).then(|| format!("client-{}", number + 1));
            let names = (number == 0).then(|| "client".to_owned()).into_iter().chain(numbered).collect();
            HostNames { addresses: addresses.client(number), names }
        }));
        let machine = fs::read(HOSTS).unwrap_or_default();
        let has_ipv6 = Path::new("/proc/net/if_inet6").exists();
        let resolv_conf = (!config.internet).then_some(NO_NAME_SERVER);
        NameFiles { hosts: hosts_text(&hosts, has_ipv6, &String::from_utf8_lossy(&machine)), resolv_conf }
    }

    /// Path and content of each file that the machine has. Without resolv.conf a resolver asks the
    /// loopback interface, as with ours (man 5 resolv.conf).
    pub fn present(&self) -> Vec<(&str, &str)> {
        let resolv_conf = self.resolv_conf.filter(|_| Path::new(RESOLV_CONF).exists());
        std::iter::once((HOSTS, self.hosts.as_str())).chain(resolv_conf.map(|text| (RESOLV_CONF, text))).collect()
    }
}

/// The text of /etc/hosts: localhost, the emulated hosts, and the machine's entries for other names.
fn hosts_text(hosts: &[HostNames], has_ipv6: bool, machine: &str) -> String {
    let localhost = HostNames { addresses: (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST), names: vec!["localhost".into()] };
    let all: Vec<&HostNames> = std::iter::once(&localhost).chain(hosts).collect();
    let mut text = String::new();
    for host in &all {
        let v6 = has_ipv6.then_some(IpAddr::from(host.addresses.1));
        for address in std::iter::once(IpAddr::from(host.addresses.0)).chain(v6) {
            text += &format!("{address} {}\n", host.names.join(" "));
        }
    }
    let is_ours = |name: &str| all.iter().any(|host| host.names.iter().any(|own| own.eq_ignore_ascii_case(name)));
    for line in machine.lines() {
        let entry = line.split_once('#').map_or(line, |(entry, _)| entry);
        let mut words = entry.split_ascii_whitespace();
        let Some(address) = words.next() else { continue };
        let others: Vec<&str> = words.filter(|name| !is_ours(name)).collect();
        if !others.is_empty() {
            text += &format!("{address} {}\n", others.join(" "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(names: &[&str]) -> HostNames {
        HostNames { addresses: Addresses { depth: 0 }.server(), names: names.iter().map(ToString::to_string).collect() }
    }

    // finding("R5")
    #[test]
    fn hosts_have_the_emulated_names_before_the_machines() {
        let machine = "127.0.0.1 localhost laptop\n192.0.2.7 printer # downstairs\n\n";
        let text = hosts_text(&[server(&["server", "shop.example"])], true, machine);
        let lines: Vec<&str> = text.lines().collect();
        let expected = [
            "127.0.0.1 localhost",
            "::1 localhost",
            "100.64.0.1 server shop.example",
            "fd5c:acc1:c::1 server shop.example",
            "127.0.0.1 laptop",
            "192.0.2.7 printer",
        ];
        assert_eq!(lines, expected);
    }

    // finding("R5")
    #[test]
    fn machines_address_of_an_emulated_name_is_left_out() {
        let text = hosts_text(&[server(&["server", "shop.example"])], false, "192.0.2.7 SHOP.example\n192.0.2.8 www Server\n");
        assert_eq!(text, "127.0.0.1 localhost\n100.64.0.1 server shop.example\n192.0.2.8 www\n");
    }
}
