//! The shell commands of a script, as far as they set sysctls. They are read, never executed.

use serde::Serialize;

/// A sysctl that a script sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sysctl {
    /// Line of the command, from 1.
    pub line: usize,
    /// Name without `net.ipv4.`, such as `tcp_sack`.
    pub name: String,
    /// Value as written, without quotes.
    pub value: String,
}

/// What both suites set before a script that names `defaults.sh` (their defaults.sh): Linux's
/// defaults but for the buffers, and no restart of slow start after an idle period.
const DEFAULTS: [(&str, &str); 7] = [
    ("tcp_rmem", "4096 540000 15728640"),
    ("tcp_wmem", "4096 262144 4194304"),
    ("tcp_timestamps", "1"),
    ("tcp_sack", "1"),
    ("tcp_congestion_control", "cubic"),
    ("tcp_slow_start_after_idle", "0"),
    ("tcp_ecn", "0"),
];

/// The single commands of a text in backquotes, with their lines. A backslash at the end of a line
/// joins the next one.
fn single(line: usize, text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut all: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut continues = false;
    for (below, row) in text.split('\n').enumerate() {
        let row = row.split('#').next().unwrap_or("").trim_end();
        let (row, continued) = row.strip_suffix('\\').map_or((row, false), |row| (row, true));
        for (part, command) in row.split([';', '&', '|']).enumerate() {
            match all.last_mut() {
                Some((_, last)) if continues && part == 0 => last.extend(words(command)),
                _ => all.push((line + below, words(command))),
            }
        }
        continues = continued;
    }
    all.retain(|(_, words)| !words.is_empty());
    all
}

/// Words of a command. Quotes hold a word together.
fn words(command: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut start, mut quote) = (None, None);
    for (at, letter) in command.char_indices() {
        if letter.is_whitespace() && quote.is_none() {
            if let Some(from) = start.take() {
                all.push(&command[from..at]);
            }
            continue;
        }
        start.get_or_insert(at);
        quote = match quote {
            None if letter == '"' || letter == '\'' => Some(letter),
            Some(open) if open == letter => None,
            unchanged => unchanged,
        };
    }
    all.extend(start.map(|from| &command[from..]));
    all
}

fn is_defaults(words: &[&str]) -> bool {
    words[0].ends_with("defaults.sh")
}

/// `net.ipv4.tcp_sack=1` or `/proc/sys/net/ipv4/tcp_sack=1`: name and value.
fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let name = name.rsplit(['.', '/']).next()?;
    Some((name.to_owned(), value.trim_matches(['"', '\'']).to_owned()))
}

pub fn sysctls(line: usize, text: &str) -> Vec<Sysctl> {
    let mut all = Vec::new();
    for (line, words) in single(line, text) {
        if is_defaults(&words) {
            all.extend(DEFAULTS.map(|(name, value)| Sysctl { line, name: name.to_owned(), value: value.to_owned() }));
        }
        if sets_sysctls(&words) {
            let assigned = words.iter().filter_map(|word| assignment(word));
            all.extend(assigned.map(|(name, value)| Sysctl { line, name, value }));
        }
    }
    all
}

fn sets_sysctls(words: &[&str]) -> bool {
    words[0].ends_with("sysctl") || words[0].contains("set_sysctls")
}

pub fn others(line: usize, text: &str) -> Vec<(usize, String)> {
    single(line, text)
        .into_iter()
        .filter(|(_, words)| !is_defaults(words) && !sets_sysctls(words))
        .map(|(line, words)| (line, words.join(" ")))
        .collect()
}
