//! Exact delivery times of single frames.

use crate::wlan::drive::{Drive, b, down, n, up, us};
use ackclock_core::element::DropReason;
use ackclock_core::units::{Span, Time};

#[test]
fn single_frame_is_sent_at_once_and_the_next_waits_for_ack_difs_and_backoff() {
    let mut drive = Drive::new(b(), 1, 1);
    drive.run_to(Time::ZERO + us(1000));
    drive.push(down(0), 1064);
    drive.push(down(0), 1064);
    drive.run_to(Time::ZERO + Span::from_ms(20));
    // 192 + (36 + 1064) * 8 / 11 = 192 + 800.
    assert_eq!(drive.left[0].at, Time::ZERO + us(1000 + 992));
    let gap = drive.left[1].at - drive.left[0].at;
    let slots = (gap - us(10 + 304 + 50 + 992)).0 as f64 / us(20).0 as f64;
    assert!(slots.fract() == 0.0 && (0.0..=31.0).contains(&slots), "{gap:?}");
}

#[test]
fn frames_above_the_rts_threshold_use_rts() {
    let at = |threshold| {
        let mut drive = Drive::new(ackclock_core::medium::WlanConfig { rts_threshold: Some(threshold), ..b() }, 1, 1);
        drive.push(up(0), 1064);
        drive.run_to(Time::ZERO + Span::from_ms(20));
        (drive.left[0].at, drive.wlan_control(up(0)))
    };
    assert_eq!(at(1100), (Time::ZERO + us(992), 1));
    // RTS 192 + 160, CTS 192 + 112, a SIFS after each.
    assert_eq!(at(1099), (Time::ZERO + us(352 + 10 + 304 + 10 + 992), 3));
}

#[test]
fn station_drops_the_packet_after_its_retry_limit() {
    let mut config = b();
    config.frame_error = [0.0, 1.0];
    for (threshold, tries) in [(None, 7), (Some(500), 4)] {
        config.rts_threshold = threshold;
        let mut drive = Drive::new(config.clone(), 1, 1);
        drive.push(up(0), 1064);
        let mut frames = 0;
        while drive.counts.drops() == 0 {
            drive.wake();
            // Each attempt has a start and an end.
            frames += 1;
        }
        assert_eq!((frames, drive.counts.dropped[DropReason::Retries as usize]), (2 * tries, 1));
    }
}

#[test]
fn ampdu_carries_the_backlog_of_one_station() {
    let mut drive = Drive::new(n(), 2, 1);
    // The first packet is sent alone; the others wait for it.
    for _ in 0..4 {
        drive.push(down(0), 1500);
    }
    drive.push(down(1), 1500);
    drive.run_to(Time::ZERO + Span::from_ms(20));
    let at: Vec<_> = drive.left.iter().map(|left| (left.stream.station, left.at)).collect();
    assert_eq!(at.len(), 5);
    assert!(at[2].1 == at[3].1 || at[2].1 == at[4].1, "three of a station together: {at:?}");
}

#[test]
fn damaged_mpdus_are_retransmitted_and_delivered_in_order() {
    let mut config = n();
    config.frame_error = [0.3, 0.0];
    let mut drive = Drive::new(config, 1, 3);
    for _ in 0..500 {
        drive.push(down(0), 1500);
    }
    drive.run_to(Time::ZERO + Span::from_secs(2));
    let ids: Vec<_> = drive.left.iter().map(|left| left.id).collect();
    assert!(ids.is_sorted() && ids.len() as u64 + drive.counts.drops() == 500 && drive.counts.drops() < 5, "{:?}", drive.counts);
}
