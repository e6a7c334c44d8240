//! Matching of a direction's packets between two captures.

use super::MatchedPair;
use super::fingerprint::PacketFingerprint;

/// Maximum number of copies with equal hash that are matched by time or IP identification; larger
/// groups are matched in order.
const LARGE_GROUP: usize = 256;
/// IP identifications are used if at least this percentage of the unambiguous pairs has equal ones.
const SAME_IDS_PERCENT: usize = 90;

/// Matched pairs, in the order of the first list. Packets with a unique hash are matched by it;
/// copies by IP identification if the path preserves it, else by the order that fits the median
/// delay best.
pub fn match_packets(first: &[PacketFingerprint], second: &[PacketFingerprint]) -> Vec<MatchedPair> {
    let (a, b) = (by_hash(first), by_hash(second));
    let (mut single, mut several) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (first[a[i] as usize].hash, second[b[j] as usize].hash);
        let (next_i, next_j) = (end_of_group(first, &a, i), end_of_group(second, &b, j));
        match x.cmp(&y) {
            std::cmp::Ordering::Less => i = next_i,
            std::cmp::Ordering::Greater => j = next_j,
            std::cmp::Ordering::Equal => {
                if next_i - i == 1 && next_j - j == 1 {
                    single.push((a[i], b[j]));
                } else {
                    several.push((i..next_i, j..next_j));
                }
                (i, j) = (next_i, next_j);
            }
        }
    }
    let same_id = |&(x, y): &MatchedPair| first[x as usize].ip_id == second[y as usize].ip_id;
    // Identification 0 carries no information: SYN-ACKs of Linux have it, and all packets of some
    // hosts.
    let has_id = |pair: &&MatchedPair| first[pair.0 as usize].ip_id != 0 || second[pair.1 as usize].ip_id != 0;
    let (same, all) = (single.iter().filter(has_id).filter(|pair| same_id(pair)).count(), single.iter().filter(has_id).count());
    let ids = all > 0 && same * 100 >= all * SAME_IDS_PERCENT;
    let delay = median_delay(first, second, &single);
    let mut all = single;
    if ids {
        all.retain(same_id);
    }
    for (left, right) in several {
        all.extend(copies(first, second, &a[left], &b[right], ids, delay));
    }
    all.sort_unstable();
    all
}

/// Indexes of the packets, by hash and then in order.
fn by_hash(list: &[PacketFingerprint]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..list.len() as u32).collect();
    order.sort_unstable_by_key(|&i| (list[i as usize].hash, i));
    order
}

fn end_of_group(list: &[PacketFingerprint], order: &[u32], from: usize) -> usize {
    let hash = list[order[from] as usize].hash;
    from + order[from..].iter().take_while(|&&i| list[i as usize].hash == hash).count()
}

/// Median of the differences of time.
fn median_delay(first: &[PacketFingerprint], second: &[PacketFingerprint], pairs: &[MatchedPair]) -> i64 {
    let mut all: Vec<i64> = pairs.iter().map(|&(x, y)| second[y as usize].at.saturating_sub(first[x as usize].at)).collect();
    if all.is_empty() {
        return 0;
    }
    let middle = all.len() / 2;
    *all.select_nth_unstable(middle).1
}

/// Matches copies with equal hash: by IP identification, or each of the shorter list with the best
/// fitting of the remaining ones, in order.
fn copies(
    first: &[PacketFingerprint],
    second: &[PacketFingerprint],
    a: &[u32],
    b: &[u32],
    ids: bool,
    delay: i64,
) -> Vec<MatchedPair> {
    let mut all = Vec::with_capacity(a.len().min(b.len()));
    if ids && a.len().max(b.len()) <= LARGE_GROUP {
        let mut free: Vec<u32> = b.to_vec();
        for &x in a {
            if let Some(at) = free.iter().position(|&y| second[y as usize].ip_id == first[x as usize].ip_id) {
                all.push((x, free.remove(at)));
            }
        }
        return all;
    }
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let misfit = |x: u32, y: u32| {
        let (x, y) = if a.len() <= b.len() { (x, y) } else { (y, x) };
        second[y as usize].at.saturating_sub(first[x as usize].at).saturating_sub(delay).unsigned_abs()
    };
    let mut from = 0;
    for (done, &x) in few.iter().enumerate() {
        let last = many.len() - (few.len() - done);
        let best =
            if many.len() > LARGE_GROUP { from } else { (from..=last).min_by_key(|&k| misfit(x, many[k])).unwrap_or(from) };
        all.push(if a.len() <= b.len() { (x, many[best]) } else { (many[best], x) });
        from = best + 1;
    }
    all
}
