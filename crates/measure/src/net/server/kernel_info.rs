//! What a far end says of its kernel.

/// Kernel and machine.
pub fn system() -> String {
    nix::sys::utsname::uname().map_or_else(
        |_| String::new(),
        |u| [u.sysname(), u.release(), u.machine()].map(|remove_closed| remove_closed.to_string_lossy().into_owned()).join(" "),
    )
}

/// The congestion controls of this kernel.
pub fn available() -> Vec<String> {
    words("/proc/sys/net/ipv4/tcp_available_congestion_control")
}

/// Those of them that need no privilege.
pub fn unrestricted() -> Vec<String> {
    words("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
}

fn words(path: &str) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}
