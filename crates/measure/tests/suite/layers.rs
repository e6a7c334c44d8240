//! Layers of the crate: `net` has the sockets and clocks, `daemon` starts it, and no other module
//! depends on either.

use std::path::{Path, PathBuf};

/// Modules that may use sockets and clocks.
const WITH_SOCKETS: [&str; 3] = ["net", "daemon.rs", "bin"];
/// Paths of sockets, clocks, and of the modules that have them.
const FORBIDDEN: [&str; 13] = [
    "crate::net",
    "super::net",
    "crate::daemon",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "sys::socket",
    "poll::",
    "socket2",
    "Instant",
    "SystemTime",
    "clock_gettime",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Lines of code, without comments, that use a forbidden path.
fn violations(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let uses = code.enumerate().filter(|(_, line)| FORBIDDEN.iter().any(|path| line.contains(path)));
    uses.map(|(n, line)| format!("{}:{}: {}", file.display(), n + 1, line.trim())).collect()
}

#[test]
fn estimators_and_protocol_depend_on_no_module_with_sockets_when_searched_by_path() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut with_sockets, mut without) = (Vec::new(), Vec::new());
    for file in sources(&root) {
        let first = file.strip_prefix(&root).unwrap().iter().next().unwrap().to_owned();
        let may = WITH_SOCKETS.iter().any(|module| first == **module);
        if may { &mut with_sockets } else { &mut without }.push(file);
    }
    // `lib.rs` declares the modules and uses none of them.
    assert!(without.len() > 25, "{without:?}");
    let uses: Vec<String> = without.iter().flat_map(|file| violations(file)).collect();
    assert!(uses.is_empty(), "{uses:#?}");
    // The search finds the sockets where they are.
    assert!(with_sockets.iter().any(|file| !violations(file).is_empty()));
}
