//! Both ends on the loopback interface.
#![allow(clippy::disallowed_methods, reason = "the tests use real sockets and clocks")]

use crate::far_end::FarEnd;
use ackclock_measure::control::message::TableId;
use ackclock_measure::net::client::MeasurementClient;
use ackclock_measure::net::stamp::{StampProbeConfig, probe};
use ackclock_measure::quotas::Quotas;
use ackclock_measure::test_spec::{Bulk, Direction, TestSpec, Train, Transfers};
use ackclock_measure::token::Token;
use ackclock_measure::{MS, MeasureError, SECOND};

#[test]
fn logs_of_both_ends_are_complete_when_datagrams_flow_in_both_directions() {
    let far = FarEnd::with(Quotas::default());
    let mut client = far.client();
    let train = Train { payload: 20, gap_ns: 10 * MS, count: 30 };
    let done = client.run(vec![TestSpec::Datagrams { down: Some(train), up: Some(train) }], &mut |_| true).unwrap();
    let record = &done[0];
    for table in [
        &record.near[&TableId::Sent],
        &record.near[&TableId::Received],
        &record.far[&TableId::Sent],
        &record.far[&TableId::Received],
    ] {
        assert_eq!(table.len(), 30);
        assert!(table.rows().enumerate().all(|(i, row)| row[0] == i as i64));
    }
    // The far end's clock is 5 s ahead.
    for (sent, received) in record.near[&TableId::Sent].rows().zip(record.far[&TableId::Received].rows()) {
        assert!((4_999 * MS..5_200 * MS).contains(&(received[1] - sent[1])), "{}", received[1] - sent[1]);
    }
    client.quit();
}

#[test]
fn connections_have_the_requested_options_when_data_flows_in_both_directions() {
    let far = FarEnd::with(Quotas::default());
    let mut client = far.client();
    let bulk = Bulk {
        down: 2,
        up: 1,
        congestion: Some("reno".into()),
        send_buffer: Some(100_000),
        receive_buffer: Some(60_000),
        receive_window: None,
        duration_ns: 500 * MS,
        sample_ns: 20 * MS,
        max_bytes: None,
    };
    let done = client.run(vec![TestSpec::Bulk(bulk)], &mut |_| true).unwrap();
    let record = &done[0];
    assert_eq!((record.flows.len(), record.outcome.flows.len()), (3, 3));
    for flow in record.flows.iter().chain(&record.outcome.flows) {
        assert_eq!((flow.congestion.as_str(), &flow.why_failed), ("reno", &None));
        assert!(flow.bytes > 1_000_000, "{flow:?}");
        assert_eq!((flow.send_buffer, flow.receive_buffer), (200_000, 120_000), "the kernel doubles");
    }
    assert!(record.far[&TableId::Samples].len() >= 3 * 15);
    client.quit();
}

#[test]
fn transfers_have_all_their_times_when_they_complete() {
    let far = FarEnd::with(Quotas::default());
    let mut client = far.client();
    let transfers = |direction, bytes| {
        TestSpec::Transfers(Transfers { direction, bytes, count: 5, congestion: None, every_ns: 10 * MS, limit_ns: 10 * SECOND })
    };
    let done = client.run(
        vec![transfers(Direction::Down, 1), transfers(Direction::Up, 300_000), transfers(Direction::Down, 300_000)],
        &mut |_| true,
    );
    for record in done.unwrap() {
        assert_eq!(record.times.len(), 5);
        for (times, flow) in record.times.iter().zip(&record.flows) {
            assert_eq!(flow.why_failed, None);
            assert!(times.iter().all(Option::is_some) && times.windows(2).all(|w| w[0] <= w[1]), "{times:?}");
        }
    }
    client.quit();
}

// finding("U19", "N4")
#[test]
fn error_is_bad_input_when_token_session_count_or_test_is_refused() {
    let far = FarEnd::with(Quotas { sessions_per_peer: 1, ..Quotas::default() });
    let refused = |token: &Token| match MeasurementClient::connect(&far.config(token), &mut || true) {
        Err(MeasureError::Input(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("let in"),
    };
    assert!(refused(&Token::generate().unwrap()).statement.contains("token"));
    let mut client = far.client();
    assert!(refused(&far.token).statement.contains("maximum number of sessions"));
    let long = Train { payload: 20, gap_ns: SECOND, count: 1000 };
    match client.run(vec![TestSpec::Datagrams { down: Some(long), up: None }], &mut |_| true) {
        Err(MeasureError::Input(why)) => {
            assert_eq!((&*why.found, &*why.allowed), ("a test of 1000 s", "120 s at most, by the far end's limits"))
        }
        _ => panic!("admitted"),
    }
    client.quit();
    // The slot is free again.
    let next = (0..50).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        MeasurementClient::connect(&far.config(&far.token), &mut || true).ok()
    });
    next.unwrap().quit();
}

/// Connections that send random bytes, close, or remain silent, while one client measures.
#[test]
fn far_end_serves_clients_when_other_connections_send_random_bytes() {
    let far = FarEnd::with(Quotas { pending_connections: 40, pending_per_peer: 40, ..Quotas::default() });
    let mut client = far.client();
    let at = far.at;
    let noise = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let mut seed = 1u64;
        let mut held = Vec::new();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
        let mut answers = 0;
        for round in 0..400 {
            let bytes: Vec<u8> = (0..round * 3)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 33) as u8
                })
                .collect();
            let mut stream = std::net::TcpStream::connect(at).unwrap();
            // The far end may have closed the connection.
            let start: &[u8] = [b"".as_slice(), b"ackclock\x01\x01", b"ackclock\x02\x01", b"ackclock\x01\x09"][round % 4];
            let _ = stream.write_all(&[start, &bytes].concat());
            let _ = udp.send_to(&bytes, at);
            answers += usize::from(udp.recv(&mut [0; 100]).is_ok());
            if round % 7 == 0 {
                held.push(stream);
            } else if round % 5 == 0 {
                let _ = stream.set_read_timeout(Some(std::time::Duration::from_millis(5)));
                let _ = stream.read(&mut [0; 100]);
            }
        }
        answers
    });
    let train = Train { payload: 20, gap_ns: 10 * MS, count: 100 };
    let done = client.run(vec![TestSpec::Datagrams { down: Some(train), up: Some(train) }], &mut |_| true).unwrap();
    assert_eq!(done[0].near[&TableId::Received].len(), 100);
    assert_eq!(noise.join().unwrap(), 0, "no unauthenticated datagram is answered");
    client.quit();
    let free = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        MeasurementClient::connect(&far.config(&far.token), &mut || true).is_ok()
    });
    assert!(free);
}

#[test]
fn far_ends_reflector_answers_when_stamp_probes_arrive() {
    let far = FarEnd::with(Quotas::default());
    let probe_port =
        |port, key| probe(&StampProbeConfig { host: "127.0.0.1".into(), port, key, gap_ns: 5 * MS, count: 40 }, &mut |_| true);
    let results = probe_port(far.stamp_port, None).unwrap();
    assert_eq!((results.sent, results.received), (40, 40));
    assert!(results.round_trip_ms.unwrap().min.unwrap() < 50.0);
    let [low, high] = results.clock.unwrap().offset_interval_ms;
    assert!(low <= 5000.0 && 5000.0 <= high, "the far clock is 5 s ahead: {low} to {high}");
    assert!(matches!(probe_port(1, None), Err(MeasureError::Input(_))));
}
