//! The name most similar to a misspelt one.
//!
//! Similarity is the share of equal characters in matching blocks (Ratcliff and Metzener 1988),
//! with the ties, the limits and the treatment of long texts that Python's difflib has: earlier
//! versions of this program gave the same suggestions with it.

use std::collections::HashMap;

/// The name most similar to `found`, with letter case as a tie-break.
pub fn nearest<'a>(found: &str, names: &[&'a str]) -> Option<&'a str> {
    if let Some(same) = names.iter().find(|name| **name == found) {
        return Some(same);
    }
    let found_lower = found.to_lowercase();
    let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let by_lower = |wanted: &str| lower.iter().position(|name| name == wanted).map(|index| names[index]);
    if let Some(same) = by_lower(&found_lower) {
        return Some(same);
    }
    if let Some(near) = close_matches(found, names, 1, 0.75).first() {
        return Some(near);
    }
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    close_matches(&found_lower, &lower, 1, 0.6).first().and_then(|near| by_lower(near))
}

/// At most `count` names with a similarity of `cutoff` or more, the most similar first.
pub fn close_matches<'a>(found: &str, names: &[&'a str], count: usize, cutoff: f64) -> Vec<&'a str> {
    let found: Vec<char> = found.chars().collect();
    let positions = positions(&found);
    let mut scored: Vec<(f64, &str)> = names
        .iter()
        .map(|name| {
            let name_chars: Vec<char> = name.chars().collect();
            (ratio(&name_chars, &found, &positions), *name)
        })
        .filter(|(score, _)| *score >= cutoff)
        .collect();
    // Of names with the same score the last one in the alphabet is first.
    scored.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| other.cmp(one)));
    scored.truncate(count);
    scored.into_iter().map(|(_, name)| name).collect()
}

type Positions = HashMap<char, Vec<usize>>;

/// Where each character stands. In a text of 200 characters and more, those that are more than 1 %
/// of it do not count.
fn positions(text: &[char]) -> Positions {
    let mut found: Positions = HashMap::new();
    for (index, character) in text.iter().enumerate() {
        found.entry(*character).or_default().push(index);
    }
    if text.len() >= 200 {
        found.retain(|_, indices| indices.len() <= text.len() / 100 + 1);
    }
    found
}

fn ratio(a: &[char], b: &[char], positions: &Positions) -> f64 {
    let length = a.len() + b.len();
    if length == 0 { 1.0 } else { 2.0 * matches(a, b, positions, [0, a.len()], [0, b.len()]) as f64 / length as f64 }
}

/// The number of characters in matching blocks: the longest one, and those before and after it.
fn matches(a: &[char], b: &[char], positions: &Positions, in_a: [usize; 2], in_b: [usize; 2]) -> usize {
    let (at_a, at_b, size) = longest_block(a, b, positions, in_a, in_b);
    if size == 0 {
        return 0;
    }
    size + matches(a, b, positions, [in_a[0], at_a], [in_b[0], at_b])
        + matches(a, b, positions, [at_a + size, in_a[1]], [at_b + size, in_b[1]])
}

fn longest_block(a: &[char], b: &[char], positions: &Positions, in_a: [usize; 2], in_b: [usize; 2]) -> (usize, usize, usize) {
    let (mut at_a, mut at_b, mut size) = (in_a[0], in_b[0], 0);
    // Lengths of the blocks that end at the previous character of `a`, by their end in `b`.
    let mut ends: HashMap<usize, usize> = HashMap::new();
    for (i, character) in a.iter().enumerate().take(in_a[1]).skip(in_a[0]) {
        let mut next = HashMap::new();
        for &j in positions.get(character).map_or(&[][..], Vec::as_slice) {
            if !(in_b[0]..in_b[1]).contains(&j) {
                continue;
            }
            let length = j.checked_sub(1).and_then(|before| ends.get(&before)).unwrap_or(&0) + 1;
            next.insert(j, length);
            if length > size {
                (at_a, at_b, size) = (i + 1 - length, j + 1 - length, length);
            }
        }
        ends = next;
    }
    // Characters that do not count extend a block.
    while at_a > in_a[0] && at_b > in_b[0] && a[at_a - 1] == b[at_b - 1] {
        (at_a, at_b, size) = (at_a - 1, at_b - 1, size + 1);
    }
    while at_a + size < in_a[1] && at_b + size < in_b[1] && a[at_a + size] == b[at_b + size] {
        size += 1;
    }
    (at_a, at_b, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_is_found_when_letters_are_missing_or_of_another_case() {
        assert_eq!(nearest("tarqet", &["target", "interval"]), Some("target"));
        assert_eq!(nearest("CODEL", &["droptail", "codel"]), Some("codel"));
        assert_eq!(nearest("codel", &["Codel", "codel"]), Some("codel"));
        assert_eq!(nearest("xyz", &["target", "interval"]), None);
    }

    #[test]
    fn similarity_is_that_of_difflib_when_the_example_is_its_documentations() {
        // docs.python.org, difflib.get_close_matches
        assert_eq!(close_matches("appel", &["ape", "apple", "peach", "puppy"], 3, 0.6), ["apple", "ape"]);
        let (a, b): (Vec<char>, Vec<char>) = ("abcd".chars().collect(), "bcde".chars().collect());
        assert!((ratio(&a, &b, &positions(&b)) - 0.75).abs() < 1e-12);
    }
}
