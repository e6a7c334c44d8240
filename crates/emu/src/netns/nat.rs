//! Masquerades a subnet's traffic with a rule of nftables, or of iptables if nft is not installed.

use std::io;
use std::process::{Command, Stdio};

fn table(subnet: &str) -> String {
    let suffix: String = subnet.chars().map(|c| if c.is_ascii_digit() { c } else { '_' }).collect();
    format!("ackclock_{suffix}")
}

/// Adds the rule.
pub fn add_masquerade(subnet: &str) -> io::Result<()> {
    let chain = "{ type nat hook postrouting priority srcnat; }";
    let table = table(subnet);
    let rules = format!(
        "add table ip {table}; add chain ip {table} out {chain}; add rule ip {table} out ip saddr {subnet} ip daddr != {subnet} masquerade"
    );
    match run("nft", &[&rules]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => run("iptables", &iptables("-A", subnet)),
        result => result,
    }
}

/// Removes the rule.
pub fn remove_masquerade(subnet: &str) -> io::Result<()> {
    match run("nft", &[&format!("delete table ip {}", table(subnet))]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => run("iptables", &iptables("-D", subnet)),
        result => result,
    }
}

fn iptables<'a>(verb: &'a str, subnet: &'a str) -> [&'a str; 12] {
    ["-w", "-t", "nat", verb, "POSTROUTING", "-s", subnet, "!", "-d", subnet, "-j", "MASQUERADE"]
}

fn run(program: &str, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{program}: {}", stderr.lines().next().unwrap_or("failed without a message"))))
}
