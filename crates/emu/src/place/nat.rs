//! Traffic of a subnet goes out under the machine's own address: a rule of nftables, or of iptables where that is what there is.

use std::io;
use std::process::{Command, Stdio};

fn table(subnet: &str) -> String {
    let word: String = subnet.chars().map(|c| if c.is_ascii_digit() { c } else { '_' }).collect();
    format!("ackclock_{word}")
}

/// Adds the rule.
pub fn start(subnet: &str) -> io::Result<()> {
    let chain = "{ type nat hook postrouting priority srcnat; }";
    let table = table(subnet);
    let rules = format!(
        "add table ip {table}; add chain ip {table} out {chain}; add rule ip {table} out ip saddr {subnet} ip daddr != {subnet} masquerade"
    );
    match run("nft", &[&rules]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => run("iptables", &iptables("-A", subnet)),
        done => done,
    }
}

/// Takes it away.
pub fn stop(subnet: &str) -> io::Result<()> {
    match run("nft", &[&format!("delete table ip {}", table(subnet))]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => run("iptables", &iptables("-D", subnet)),
        done => done,
    }
}

fn iptables<'a>(verb: &'a str, subnet: &'a str) -> [&'a str; 12] {
    ["-w", "-t", "nat", verb, "POSTROUTING", "-s", subnet, "!", "-d", subnet, "-j", "MASQUERADE"]
}

fn run(program: &str, arguments: &[&str]) -> io::Result<()> {
    let done = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("{program}: {}", said.lines().next().unwrap_or("it failed and said nothing"))))
}
