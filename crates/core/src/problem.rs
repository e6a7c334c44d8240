//! A user-facing error as fields (location, problem, remedy), so that no caller parses a message.
//!
//! A message has one of two forms: `found X; allowed: Y`, or `PROBLEM; DO THIS`
//! (docs/reference/errors.md).

use std::fmt;
use std::io;
use std::path::Path;

/// Either `found` and `allowed` have text, or `statement` and `hint`. Boxed, so that a `Result`
/// stays small.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problem {
    pub at: Box<Location>,
    pub found: Box<str>,
    pub allowed: Box<str>,
    pub statement: Box<str>,
    pub hint: Box<str>,
}

/// Location of a problem; an unknown field is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    pub file: Option<String>,
    /// Line number, counted from 1.
    pub line: Option<usize>,
    /// The key of the wrong entry in a plan or a file.
    pub key: String,
    /// The command line's option or argument that caused it.
    pub option: String,
}

impl Problem {
    /// The first form: a value outside the allowed set.
    pub fn found(found: impl Into<Box<str>>, allowed: impl Into<Box<str>>) -> Problem {
        Problem { found: found.into(), allowed: allowed.into(), ..Problem::default() }
    }

    /// The second form: what is wrong, and what to do about it.
    pub fn new(statement: impl Into<Box<str>>, hint: impl Into<Box<str>>) -> Problem {
        Problem { statement: statement.into(), hint: hint.into(), ..Problem::default() }
    }

    pub fn in_file(mut self, path: &Path) -> Problem {
        self.at.file = Some(path.display().to_string());
        self
    }

    pub fn at_line(mut self, line: usize) -> Problem {
        self.at.line = Some(line);
        self
    }

    pub fn at_key(mut self, key: impl Into<String>) -> Problem {
        self.at.key = key.into();
        self
    }

    pub fn of_option(mut self, option: &str) -> Problem {
        self.at.option = option.into();
        self
    }

    /// A system error during the action `doing`, with the remedy for its error number.
    pub fn refused(doing: &str, error: &io::Error) -> Problem {
        Problem::new(format!("{doing} failed ({})", reason(error)), remedy(error))
    }
}

/// The text of a system error without its number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let end = if error.raw_os_error().is_some() { text.rfind(" (os error") } else { None };
    let text = &text[..end.unwrap_or(text.len())];
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The remedy for an error number.
fn remedy(error: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    const OUT_OF_FILES: [i32; 2] = [23, 24]; // ENFILE, EMFILE (errno.h)
    match error.kind() {
        _ if error.raw_os_error().is_some_and(|number| OUT_OF_FILES.contains(&number)) => {
            "raise the limit of open files (ulimit -n), or end other programs"
        }
        Kind::NotFound => "check the path",
        Kind::IsADirectory => "name a file, not a folder",
        Kind::NotADirectory => "name a path through folders only",
        Kind::PermissionDenied => "run it as a user who may do that",
        Kind::StorageFull | Kind::QuotaExceeded => "free space there, or name a folder elsewhere",
        Kind::OutOfMemory => "end other programs, or give it more memory",
        _ => "the system's log (journalctl, dmesg) may say more",
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Location { file, line, key, option } = &*self.at;
        match (file, line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        if self.statement.is_empty() {
            let name = if option.is_empty() { key } else { option };
            let colon = if name.is_empty() { "" } else { ": " };
            return write!(f, "{name}{colon}found {}; allowed: {}", self.found, self.allowed);
        }
        let colon = if key.is_empty() { "" } else { ": " };
        let semicolon = if self.hint.is_empty() { "" } else { "; " };
        write!(f, "{key}{colon}{}{semicolon}{}", self.statement, self.hint)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    // finding("N4")
    #[test]
    fn message_names_file_line_and_key_when_it_has_them() {
        let problem = Problem::found("0", "1 or more").in_file(Path::new("plan.json")).at_line(3).at_key("count");
        assert_eq!(problem.to_string(), "plan.json:3: count: found 0; allowed: 1 or more");
        assert_eq!(Problem::new("no route", "check it").to_string(), "no route; check it");
        assert_eq!(Problem::found("x", "y").of_option("--port").to_string(), "--port: found x; allowed: y");
    }

    // finding("U19")
    #[test]
    fn system_error_loses_its_number_and_gains_a_remedy_when_put_to_the_user() {
        let problem = Problem::refused("opening a socket", &io::Error::from_raw_os_error(24));
        assert!(!problem.statement.contains("os error"), "{problem}");
        assert!(problem.hint.contains("ulimit"), "{problem}");
    }
}
