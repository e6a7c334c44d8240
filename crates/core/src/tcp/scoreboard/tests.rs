use super::*;
use proptest::prelude::*;

const SIZE: u64 = 100;

fn board(n: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for i in 0..n {
        board.push(i * SIZE, SIZE as u32, Time(i));
    }
    board
}

fn lost(board: &Scoreboard) -> Vec<u64> {
    (0..1000).filter(|&i| board.get(i).is_some_and(SentSegment::is_lost)).collect()
}

#[test]
fn hole_is_lost_when_three_segments_above_are_sacked() {
    let mut b = board(10);
    for (upto, expected) in [(2, vec![]), (3, vec![]), (4, vec![0])] {
        b.sack(SIZE, upto * SIZE);
        b.mark_lost_below_sacks(3);
        assert_eq!(lost(&b), expected, "SACKed up to segment {upto}");
    }
    assert_eq!(b.in_flight(), 10 - 3 - 1);
}

#[test]
fn fack_marks_every_hole_below_the_threshold_lost() {
    let mut b = board(10);
    b.sack(5 * SIZE, 6 * SIZE);
    b.mark_lost_below_forward_ack(3);
    assert_eq!(lost(&b), [0, 1, 2]);
}

#[test]
fn retransmission_is_lost_when_later_data_is_sacked() {
    let mut b = board(6);
    b.sack(SIZE, 4 * SIZE);
    b.mark_lost_below_sacks(3);
    assert_eq!(b.next_lost(), Some(0));
    b.on_retransmit(0, 6 * SIZE, Time(50));
    assert_eq!(b.next_lost(), None);
    b.push(6 * SIZE, SIZE as u32, Time(60));
    b.mark_lost_retransmissions();
    assert_eq!(b.next_lost(), None, "nothing sent after it has arrived");
    b.sack(6 * SIZE, 7 * SIZE);
    b.mark_lost_retransmissions();
    assert_eq!(b.next_lost(), Some(0));
}

#[test]
fn retransmitted_segment_gives_no_rtt_sample() {
    let mut b = board(3);
    b.on_retransmit(0, 3 * SIZE, Time(9));
    let acked = b.ack_to(SIZE);
    assert_eq!((acked.first_sent, acked.retransmitted), (None, true));
    assert_eq!(b.ack_to(3 * SIZE).last_sent, Some(Time(2)));
}

#[test]
fn partial_ack_of_a_segment_leaves_its_rest() {
    let mut b = board(2);
    assert_eq!(b.ack_to(150).segments, 1);
    assert_eq!(b.first().map(|s| (s.seq, s.len)), Some((150, 50)));
}

fn shape(board: &Scoreboard) -> Vec<(u64, u32, bool, bool)> {
    board.ring.iter().map(|sent| (sent.seq, sent.len, sent.is_lost(), sent.is_joined())).collect()
}

#[test]
fn packet_is_divided_again_and_lost_when_a_segment_of_it_is_too_long() {
    let mut b = Scoreboard::default();
    for (seq, len, joined) in [(0, 100, true), (100, 100, true), (200, 30, false), (230, 80, false)] {
        b.push(seq, len, Time(seq));
        b.note_packet(joined, false);
    }
    assert_eq!(b.resegment(80).expect("a division"), [0, 0, 1, 3]);
    let expected = [(0, 80, true, true), (80, 80, true, true), (160, 70, true, false), (230, 80, false, false)];
    assert_eq!(shape(&b), expected);
    assert_eq!((b.first_index(), b.lost_out(), b.in_flight(), b.losses()), (4, 3, 1, 3));
    assert_eq!(b.next_lost(), Some(4));
}

#[test]
fn division_keeps_what_is_sacked_and_changes_nothing_when_all_is_short() {
    let mut b = board(4);
    assert_eq!(b.resegment(100), None);
    assert_eq!(b.first_index(), 0);
    b.sack(SIZE, 2 * SIZE);
    b.mark_lost(0);
    b.on_retransmit(0, 4 * SIZE, Time(9));
    assert_eq!(b.resegment(60).expect("a division").len(), 7);
    let lens: Vec<u32> = b.ring.iter().map(|sent| sent.len).collect();
    assert_eq!(lens, [60, 40, 100, 60, 40, 60, 40]);
    assert_eq!((b.sacked_out(), b.lost_out(), b.retrans_out()), (1, 6, 0));
    assert_eq!(b.ack_to(4 * SIZE).segments, 7);
}

proptest! {
    /// The counts agree with a recount after any sequence of events.
    #[test]
    fn counts_agree_with_a_recount(steps in prop::collection::vec((0u8..8, 0u64..40, 1u64..6), 1..200)) {
        let mut b = Scoreboard::default();
        let mut next = 0;
        for (what, at, n) in steps {
            let edge = (b.first().map_or(next, |s| s.seq) + at * SIZE / 2).min(next);
            match what {
                0 | 1 => for _ in 0..n { b.push(next, SIZE as u32, Time(next)); next += SIZE; },
                2 => { b.ack_to(edge); }
                3 => { b.sack(edge, (edge + n * SIZE / 2).min(next)); b.mark_lost_below_sacks(3); }
                4 => { b.sack(edge, (edge + n * SIZE).min(next)); b.mark_lost_below_forward_ack(3); b.mark_lost_retransmissions(); }
                6 => { b.resegment(SIZE as u32 - 10 * n as u32); }
                5 => if let Some(i) = b.next_lost() { b.on_retransmit(i, next, Time(next)); },
                _ => b.mark_all_lost(),
            }
            let all: Vec<SentSegment> = b.ring.iter().copied().collect();
            let count = |f: fn(&SentSegment) -> bool| all.iter().filter(|s| f(s)).count() as u32;
            prop_assert_eq!(b.sacked_out, count(SentSegment::is_sacked));
            prop_assert_eq!(b.lost_out, count(SentSegment::is_lost));
            prop_assert_eq!(b.retrans_out, count(SentSegment::is_retransmitted));
            let waiting = (0..all.len()).find(|&i| all[i].is_lost() && !all[i].is_retransmitted()).map(|i| b.base + i as u64);
            prop_assert_eq!(b.next_lost(), waiting);
            let below = all.iter().take(b.scanned.saturating_sub(b.base) as usize).filter(|s| s.is_sacked()).count() as u32;
            prop_assert_eq!(b.sacked_below_scan, below);
        }
    }
}
