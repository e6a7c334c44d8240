//! The secret that both ends share. It is made of randomness, not of words: whoever listens to a handshake may try tokens offline.

use crate::MeasureError;
use ackclock_core::Problem;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Minimum entropy of a token in bits: beyond exhaustive search.
pub const MIN_BITS: f64 = 128.0;
/// More are no safer.
pub const MAX_CHARACTERS: usize = 256;
/// 192 bits: 32 characters.
const RANDOM_BYTES: usize = 24;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// A repeated substring of at least so many bits adds no entropy: a random token has one by chance once in many millions.
const REPEAT_BITS: f64 = 32.0;
/// Directory of a service's credentials; systemd sets their access rights (systemd.exec(5)).
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Reads a token without surrounding white space: printable ASCII of at least 128 estimated bits, such as 22 characters of base64url
    /// or 32 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Token, MeasureError> {
        let text = text.trim();
        let why = if text.len() > MAX_CHARACTERS || !text.bytes().all(|b| b.is_ascii_graphic()) {
            format!("a token of {} characters, or with others than printable ones", text.chars().count())
        } else if entropy_bits(text.as_bytes()) < MIN_BITS {
            format!("a token of some {:.0} bits", entropy_bits(text.as_bytes()).floor())
        } else {
            return Ok(Token(text.to_owned()));
        };
        Err(MeasureError::Input(Problem::found(
            why,
            "128 random bits at least, such as `ackclock serve --new-token FILE` or `ackclockd --new-token FILE` makes",
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
    pub fn from_file_or_new(path: Option<&Path>) -> Result<(Token, bool), MeasureError> {
        let Some(path) = path else { return Ok((Token::generate()?, true)) };
        match File::open(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Token::write_new(path).map(|token| (token, true)),
            _ => Token::read(path).map(|token| (token, false)),
        }
    }

    /// The token in a file that belongs to this process's user and that only its owner can read.
    pub fn read(path: &Path) -> Result<Token, MeasureError> {
        let refused = |e: std::io::Error| MeasureError::Input(Problem::refused("reading the token file", &e).in_file(path));
        let file = File::open(path).map_err(refused)?;
        // fstat of the open descriptor: the name may refer to another file by now.
        let about = file.metadata().map_err(refused)?;
        if !about.is_file() {
            return Err(MeasureError::Input(Problem::found("no regular file", "a file with the token").in_file(path)));
        }
        if !is_credential(path) {
            let name = path.display().to_string();
            private(&name, about.uid(), about.mode(), nix::unistd::geteuid().as_raw())
                .map_err(|problem| MeasureError::Input(problem.in_file(path)))?;
        }
        let mut text = String::new();
        file.take(4096).read_to_string(&mut text).map_err(refused)?;
        Token::parse(&text).map_err(|e| e.in_file(path))
    }

    /// Makes a token and writes it to a new file of mode 0600.
    pub fn write_new(path: &Path) -> Result<Token, MeasureError> {
        let input = |what: &str, e: std::io::Error| MeasureError::Input(Problem::refused(what, &e).in_file(path));
        let token = Token::generate()?;
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let mut file = file.map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => MeasureError::Input(
                Problem::new("there is a file of this name already", "name a new one; no token file is ever written over")
                    .in_file(path),
            ),
            _ => input("making the token file", e),
        })?;
        writeln!(file, "{}", token.0).map_err(|e| input("writing the token file", e))?;
        Ok(token)
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

/// Err is the reason for which a file of this owner and mode is rejected.
fn private(name: &str, owner: u32, mode: u32, me: u32) -> Result<(), Problem> {
    if owner != me {
        let problem = format!("the token file belongs to user {owner} and not to user {me}, who runs this");
        return Err(Problem::new(problem, format!("chown {me} {name}")));
    }
    if mode & 0o077 != 0 {
        let problem = format!("the token file is open to other users (mode {:04o})", mode & 0o7777);
        return Err(Problem::new(problem, format!("chmod 600 {name}")));
    }
    Ok(())
}

fn is_credential(path: &Path) -> bool {
    std::env::var_os(CREDENTIALS).is_some_and(|folder| !folder.is_empty() && path.parent() == Some(Path::new(&folder)))
}

/// Upper bound of a token's entropy in bits, from the smallest usual alphabet that holds it, without repeated substrings: hexadecimal digits, letters of
/// one case with digits (base32), or all of them. A random token gets its full entropy; a word or a pattern gets less, though mostly more than it has.
fn entropy_bits(token: &[u8]) -> f64 {
    let all = |fits: fn(&u8) -> bool| token.iter().all(fits);
    let (upper, lower) = (all(|b| !b.is_ascii_lowercase()), all(|b| !b.is_ascii_uppercase()));
    let each: f64 = match () {
        () if all(u8::is_ascii_digit) => 10f64.log2(),
        () if all(u8::is_ascii_hexdigit) && (upper || lower) => 4.0,
        () if upper || lower => 5.0,
        () => 6.0,
    };
    let mut seen = [false; 256];
    token.iter().for_each(|b| seen[usize::from(*b)] = true);
    let distinct = seen.iter().filter(|s| **s).count();
    // Random tokens of 22 and more characters have fewer distinct characters once in many millions; words and patterns mostly do.
    let usual = if each <= 4.0 { 7 } else { 11 };
    let novel_characters = novel_characters(token, (REPEAT_BITS / each).ceil() as usize) as f64;
    if distinct < usual { (distinct.max(1) as f64).log2() * novel_characters / 2.0 } else { each * novel_characters }
}

/// Number of characters outside repeated substrings, of the text or of its differences from one character to the next (`abcd`, `4321`).
fn novel_characters(token: &[u8], repeat: usize) -> usize {
    let steps: Vec<u8> = token.windows(2).map(|two| two[1].wrapping_sub(two[0])).collect();
    let mut old = vec![false; token.len()];
    for (sequence, ahead) in [(token, 0), (steps.as_slice(), 1)] {
        for at in 1..sequence.len().saturating_sub(repeat - 1) {
            let stretch = &sequence[at..at + repeat];
            if (0..at).any(|before| &sequence[before..before + repeat] == stretch) {
                old[at + ahead..at + ahead + repeat].fill(true);
            }
        }
    }
    old.iter().filter(|o| !**o).count()
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
        let token = Token::parse("q7ZkX2mW9vB4nT8sL1rY6pD").unwrap();
        assert!(!format!("{token:?}").contains("q7Z"));
    }

    // finding("S6")
    #[test]
    fn token_is_refused_when_it_has_fewer_than_128_bits() {
        for bad in [
            "aaaaaaaaaaaaaaaaaaaaaa",
            "abababababababababababababababab",
            "abcdefghijklmnopqrstuvwxyz",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef",
            "0123456789012345678901234567890123456789",
            "password123password123",
            "correcthorsebatterystaple",
            "00000000000000000000000000000000",
            "0123456789abcdef0123456789abcdef",
            // 15 random bytes, in base64url and in hexadecimal; a UUID of version 4.
            "q7ZkX2mW9vB4nT8sL1rY",
            "9f86d081884c7d659a2feaa0c55ad0",
            "1b4e28ba2fa111d2883f",
        ] {
            let why = Token::parse(bad).expect_err(bad).to_string();
            assert!(why.contains("--new-token"), "{why}");
        }
    }

    // finding("S6")
    #[test]
    fn token_is_accepted_when_128_random_bits_made_it() {
        let mut made = [0; 18];
        for _ in 0..20_000 {
            random(&mut made).unwrap();
            let base64 = &encode(&made)[..22];
            let hex: String = made[..16].iter().map(|b| format!("{b:02x}")).collect();
            Token::parse(&hex).unwrap_or_else(|e| panic!("{hex}: {e}"));
            // Two in 100,000 have letters of one case only and count as base32, of which 22 characters are too few.
            assert!(Token::parse(base64).is_ok() || one_case(base64), "{base64}");
            Token::parse(&encode(&[made, made.map(|b| b.rotate_left(3) ^ 0x5a)].concat()[..24])).unwrap();
        }
    }

    fn one_case(text: &str) -> bool {
        !text.bytes().any(|b| b.is_ascii_lowercase()) || !text.bytes().any(|b| b.is_ascii_uppercase())
    }

    // finding("S6")
    #[test]
    fn token_file_is_refused_when_others_can_read_it_or_own_it() {
        assert_eq!(private("f", 1000, 0o100_600, 1000), Ok(()));
        assert_eq!(private("f", 1000, 0o100_400, 1000), Ok(()));
        for mode in [0o666, 0o644, 0o640, 0o604, 0o660] {
            let why = private("f", 1000, 0o100_000 | mode, 1000).unwrap_err().to_string();
            assert!(why.contains("chmod 600 f") && why.contains(&format!("{mode:04o}")), "{why}");
        }
        assert!(private("f", 0, 0o600, 1000).unwrap_err().statement.contains("user 0"));
    }

    #[test]
    fn bytes_are_written_as_rfc_4648_writes_them() {
        assert_eq!(encode(b"\x14\xfb\x9c\x03\xd9\x7e"), "FPucA9l-");
    }
}
