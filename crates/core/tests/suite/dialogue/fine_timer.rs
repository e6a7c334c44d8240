//! Vegas's retransmission before the third duplicate (Brakmo and Peterson 1995, section 3.1).

use crate::dialogue::script::*;
use ackclock_core::tcp::RecoveryKind::{self, Classic, Fack, NewReno, Prr, RateHalving, Sack};
use ackclock_core::tcp::TcpConfig;
use ackclock_core::units::Span;

/// Ten segments were sent at 0.1. The handshake took 100 ms, so the fine timeout is 100 + 4 * 50 =
/// 300 ms; the RTO is 1 s.
fn ten(recovery: RecoveryKind, fine_timer: bool) -> Dialogue {
    let mut d = Dialogue::sender(TcpConfig { fine_timer, rto_min: Span::from_secs(1), ..tcp(recovery) });
    d.expects_new(0.1, 1..10_001);
    d
}

fn duplicate(d: &mut Dialogue, seconds: f64, recovery: RecoveryKind, to: u64) {
    if recovery.uses_sack() { d.at(seconds).sack(1, &[1001..to]) } else { d.at(seconds).ack(1) }
}

#[test]
fn first_duplicate_after_the_fine_timeout_retransmits() {
    for recovery in [Classic, NewReno, Sack, Fack, Prr, RateHalving] {
        let mut d = ten(recovery, true);
        duplicate(&mut d, 0.39, recovery, 2001);
        if recovery.uses_sack() {
            // FACK counts the hole as lost, too.
            let gone = if recovery == Fack { 2000 } else { 1000 };
            d.expects_new(0.39, 10_001..10_001 + gone);
        }
        d.sends_nothing_until(0.4);
        duplicate(&mut d, 0.41, recovery, 3001);
        d.expects(0.41).retransmitted(1..1001);
    }
}

#[test]
fn three_duplicates_are_needed_without_the_fine_timer() {
    for recovery in [Classic, NewReno] {
        let mut d = ten(recovery, false);
        duplicate(&mut d, 0.41, recovery, 2001);
        duplicate(&mut d, 0.42, recovery, 3001);
        d.sends_nothing_until(0.43);
        duplicate(&mut d, 0.43, recovery, 4001);
        d.expects(0.43).retransmitted(1..1001);
    }
}

/// Segments 1 and 3 are lost. Reno leaves its recovery at the first new ACK, which finds segment 3
/// older than the timeout: segment 3 is retransmitted without a duplicate ACK and without a second
/// reduction.
#[test]
fn ack_after_a_retransmission_retransmits_without_reduction() {
    let mut d = ten(Classic, true);
    d.at(0.41).ack(1);
    d.expects(0.41).retransmitted(1..1001);
    d.at(0.51).ack(2001);
    d.window_is(5.0, 5.0);
    d.expects(0.51).retransmitted(2001..3001);
    d.sends_nothing_until(0.52);
}

/// The third ACK after a retransmission does not check the age.
#[test]
fn only_two_acks_after_a_retransmission_check_the_age() {
    let mut d = ten(Classic, true);
    d.at(0.39).acks(1, 3);
    d.expects(0.39).retransmitted(1..1001);
    d.at(0.395).ack(1001);
    d.at(0.396).ack(2001);
    d.at(0.45).ack(3001);
    d.sends_nothing_until(0.46);
}
