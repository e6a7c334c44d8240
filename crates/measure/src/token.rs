//! The secret that both ends share. It is made of randomness, not of words: whoever listens to a handshake may try tokens offline.

use crate::MeasureError;
use ackclock_core::Problem;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Fewer characters than this can be tried out.
pub const LEAST_CHARACTERS: usize = 22;
/// More are no safer.
pub const MOST_CHARACTERS: usize = 256;
/// 192 bits: 32 characters.
const RANDOM_BYTES: usize = 24;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Reads a token, with white space around it left out. Printable ASCII of 22 to 256 characters.
    pub fn parse(text: &str) -> Result<Token, MeasureError> {
        let text = text.trim();
        let fits = (LEAST_CHARACTERS..=MOST_CHARACTERS).contains(&text.len());
        if fits && text.bytes().all(|b| b.is_ascii_graphic()) {
            return Ok(Token(text.to_owned()));
        }
        Err(MeasureError::Input(Problem::found(
            format!("a token of {} characters", text.chars().count()),
            format!("{LEAST_CHARACTERS} to {MOST_CHARACTERS} printable ones without spaces"),
        )))
    }

    /// A new one.
    pub fn generate() -> Result<Token, MeasureError> {
        let mut bytes = [0; RANDOM_BYTES];
        random(&mut bytes)?;
        Ok(Token(encode(&bytes)))
    }

    /// The token in this file, and whether it has just been made: a file that is not there is written, for its owner only. Without a file
    /// one is made for this once.
    pub fn of_file(path: Option<&Path>) -> Result<(Token, bool), MeasureError> {
        let Some(path) = path else { return Ok((Token::generate()?, true)) };
        let input = |what: &str, e: std::io::Error| MeasureError::Input(Problem::refused(what, &e).in_file(path));
        match std::fs::read_to_string(path) {
            Ok(text) => Token::parse(&text).map(|t| (t, false)).map_err(|e| e.in_file(path)),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let token = Token::generate()?;
                let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
                let mut file = file.map_err(|e| input("making the token file", e))?;
                writeln!(file, "{}", token.0).map_err(|e| input("writing the token file", e))?;
                Ok((token, true))
            }
            Err(e) => Err(input("reading the token file", e)),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// To be shown once, by whoever made it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// A key that other programs know too: the file's first line as it is.
pub fn read_key(path: &Path) -> Result<Vec<u8>, MeasureError> {
    let text =
        std::fs::read(path).map_err(|e| MeasureError::Input(Problem::refused("reading the key file", &e).in_file(path)))?;
    let line = text.split(|b| *b == b'\n').next().unwrap_or_default();
    if line.is_empty() {
        return Err(MeasureError::Input(Problem::found("no key", "a key in the first line").in_file(path)));
    }
    Ok(line.to_vec())
}

/// The operating system's randomness.
pub fn random(bytes: &mut [u8]) -> Result<(), MeasureError> {
    getrandom::fill(bytes).map_err(|e| {
        MeasureError::Failed(Problem::new(
            format!("the operating system gives no random numbers ({e})"),
            "wait until it has started up",
        ))
    })
}

/// Three bytes in four characters (RFC 4648, section 5); the length must divide by three.
fn encode(bytes: &[u8]) -> String {
    let four = |three: &[u8]| {
        let word = three.iter().fold(0u32, |word, b| word << 8 | u32::from(*b));
        [18, 12, 6, 0].map(|shift| char::from(ALPHABET[(word >> shift & 63) as usize]))
    };
    bytes.chunks_exact(3).flat_map(four).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_token_can_be_read_and_no_two_are_alike() {
        let (a, b) = (Token::generate().unwrap(), Token::generate().unwrap());
        assert_eq!(Token::parse(&format!(" {}\n", a.reveal())).unwrap(), a);
        assert_ne!(a, b);
        assert_eq!(a.reveal().len(), 32);
    }

    #[test]
    fn a_short_or_unprintable_token_is_refused_and_none_is_ever_printed_by_accident() {
        for bad in [
            "",
            "secret",
            "with a space in between it all",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
        ] {
            assert!(Token::parse(bad).is_err(), "{bad:?}");
        }
        let token = Token::parse("AAAAAAAAAAAAAAAAAAAAAAAAAA").unwrap();
        assert!(!format!("{token:?}").contains("AAA"));
    }

    #[test]
    fn bytes_are_written_as_rfc_4648_writes_them() {
        assert_eq!(encode(b"\x14\xfb\x9c\x03\xd9\x7e"), "FPucA9l-");
    }
}
