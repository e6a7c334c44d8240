//! Kernel version and congestion controls, as sent to clients.

/// Name, release and machine of the kernel.
pub fn system() -> String {
    nix::sys::utsname::uname().map_or_else(
        |_| String::new(),
        |u| [u.sysname(), u.release(), u.machine()].map(|part| part.to_string_lossy().into_owned()).join(" "),
    )
}

/// Congestion controls of this kernel.
pub fn available() -> Vec<String> {
    words("/proc/sys/net/ipv4/tcp_available_congestion_control")
}

/// Congestion controls that need no privilege.
pub fn unrestricted() -> Vec<String> {
    words("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
}

fn words(path: &str) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}
