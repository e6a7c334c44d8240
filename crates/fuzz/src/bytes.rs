//! Mutations of bytes and of scripts' text.

use crate::draw::{below, number, one_of, range};
use ackclock_core::rng::Rng;

/// Maximum length of an input: a mutant must not grow without bound.
const MAX_LEN: usize = 1 << 18;

/// Changes bytes `changes` times: flips, numbers, cuts, copies, and pieces of `other`.
pub fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, changes: usize, other: &[u8]) {
    for _ in 0..changes {
        if bytes.is_empty() {
            return;
        }
        let at = below(rng, bytes.len());
        match below(rng, 7) {
            0 => bytes[at] ^= 1 << below(rng, 8),
            1 => bytes[at] = rng.salt() as u8,
            2 => {
                let len = *one_of(rng, &[1usize, 2, 4, 8]);
                let (value, is_big) = (number(rng, u64::from(bytes[at])), rng.chance(0.5));
                if let Some(field) = bytes.get_mut(at..at + len) {
                    let (big, little) = (value.to_be_bytes(), value.to_le_bytes());
                    field.copy_from_slice(if is_big { &big[8 - len..] } else { &little[..len] });
                }
            }
            3 => drop(bytes.drain(range(rng, bytes.len()))),
            4 => {
                let piece = bytes[range(rng, bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => {
                let piece = other[range(rng, other.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes.truncate(at + 1),
        }
        bytes.truncate(MAX_LEN);
    }
}

/// Characters of scripts.
const CHARACTERS: &[u8] = b"0123456789.,:;+-*~<>()[]{}\"`'=#/% \nSFP.EW";

/// Changes lines and characters of a script `changes` times.
pub fn mutate_script(rng: &mut Rng, text: &str, changes: usize, other: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let others: Vec<&str> = other.lines().collect();
    for _ in 0..changes {
        if lines.is_empty() {
            break;
        }
        let at = below(rng, lines.len());
        match below(rng, 7) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let to = below(rng, lines.len());
                lines.swap(at, to);
            }
            3 if !others.is_empty() => lines.insert(at, (*one_of(rng, &others)).to_owned()),
            4 => replace_number(rng, &mut lines[at]),
            _ => {
                let mut bytes = lines[at].clone().into_bytes();
                let place = below(rng, bytes.len() + 1);
                match rng.chance(0.5) {
                    true => bytes.insert(place, *one_of(rng, CHARACTERS)),
                    false => drop(bytes.drain(place..(place + 1 + below(rng, 3)).min(bytes.len()))),
                }
                lines[at] = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
    }
    lines.join("\n")
}

/// Replaces one of the numbers of a line.
fn replace_number(rng: &mut Rng, line: &mut String) {
    let digits: Vec<usize> = line.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(at, _)| at).collect();
    if digits.is_empty() {
        return;
    }
    let start = *one_of(rng, &digits);
    let len = line[start..].bytes().take_while(u8::is_ascii_digit).count();
    let old = line[start..start + len].parse().unwrap_or(0);
    line.replace_range(start..start + len, &number(rng, old).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_are_equal_when_the_seed_is() {
        let mutant = |seed| {
            let mut bytes = vec![7; 100];
            mutate(&mut Rng::for_element(seed, "x"), &mut bytes, 20, b"other");
            (bytes, mutate_script(&mut Rng::for_element(seed, "y"), "0 < S 0:0(0)\n+0 > S.", 5, "+1 a\n"))
        };
        assert_eq!(mutant(3), mutant(3));
        assert_ne!(mutant(3), mutant(4));
    }
}
