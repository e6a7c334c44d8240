//! One pass over a capture: records in, flows out. Memory follows the flows that are there, not the packets.

use crate::decode::{Segment, Skip, decode};
use crate::flow::{Flow, Key, Passed, Table};
use crate::read::{Capture, ReadError, Record};
use serde::Deserialize;
use std::net::IpAddr;

/// Sees each TCP packet after its flow has taken it. `()` compiles away.
pub trait Watch {
    fn passed(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed);
}

impl Watch for () {
    #[inline]
    fn passed(&mut self, _: i64, _: u32, _: &Flow, _: &Segment<'_>, _: &Passed) {}
}

/// One after the other.
impl<A: Watch, B: Watch> Watch for (A, B) {
    #[inline]
    fn passed(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed) {
        self.0.passed(at, number, flow, segment, passed);
        self.1.passed(at, number, flow, segment, passed);
    }
}

/// Where it is wanted.
impl<A: Watch> Watch for Option<A> {
    #[inline]
    fn passed(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed) {
        if let Some(watch) = self {
            watch.passed(at, number, flow, segment, passed);
        }
    }
}

impl<A: Watch + ?Sized> Watch for &mut A {
    #[inline]
    fn passed(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed) {
        (**self).passed(at, number, flow, segment, passed);
    }
}

/// Which packets count.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Only {
    /// Nanoseconds from the capture's first packet: from then on, and before then.
    pub since_ns: Option<i64>,
    pub until_ns: Option<i64>,
    /// Addresses and ports that a flow must have at one of its ends, all of them.
    pub hosts: Vec<IpAddr>,
    pub ports: Vec<u16>,
}

impl Only {
    #[inline]
    fn takes(&self, s: &Segment<'_>) -> bool {
        let has_host = |host: &IpAddr| {
            let ip = match host {
                IpAddr::V4(v4) => u128::from(v4.to_ipv6_mapped()),
                IpAddr::V6(v6) => u128::from(*v6),
            };
            ip == s.source.ip || ip == s.destination.ip
        };
        self.hosts.iter().all(has_host) && self.ports.iter().all(|&port| port == s.source.port || port == s.destination.port)
    }
}

/// What a capture held, beside its flows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    pub packets: u64,
    pub tcp: u64,
    pub bytes: u64,
    pub first_at: Option<i64>,
    pub last_at: i64,
    pub skipped: [u64; Skip::ALL.len()],
    pub bad_checksums: u64,
    pub cut_short: u64,
    pub backwards: u64,
    pub broken_options: u64,
}

/// All flows of a capture, in the order in which they appeared.
#[derive(Debug, Default)]
pub struct Analysis {
    table: Table,
    flows: Vec<Flow>,
    pub totals: Totals,
    only: Only,
}

impl Analysis {
    pub fn new(only: Only) -> Analysis {
        Analysis { only, ..Analysis::default() }
    }

    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Takes what the capture has now, up to `most` packets; the number taken.
    pub fn read(&mut self, capture: &mut Capture, watch: &mut impl Watch, most: u64) -> Result<u64, ReadError> {
        let mut taken = 0;
        while taken < most
            && let Some(record) = capture.packet()?
        {
            self.record(&record, watch);
            taken += 1;
        }
        Ok(taken)
    }

    /// One captured packet.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>, watch: &mut impl Watch) {
        let totals = &mut self.totals;
        let first_at = *totals.first_at.get_or_insert(record.at);
        if self.only.since_ns.is_some_and(|t| record.at < first_at.saturating_add(t))
            || self.only.until_ns.is_some_and(|t| record.at >= first_at.saturating_add(t))
        {
            return;
        }
        totals.packets += 1;
        totals.bytes += u64::from(record.original_len);
        totals.cut_short += u64::from(record.bytes.len() < record.original_len as usize);
        totals.backwards += u64::from(record.at < totals.last_at && totals.last_at != 0);
        totals.last_at = record.at;
        match decode(record) {
            Ok(segment) => self.segment(record.at, &segment, watch),
            Err(skip) => self.totals.skipped[skip as usize] += 1,
        }
    }

    #[inline]
    fn segment(&mut self, at: i64, s: &Segment<'_>, watch: &mut impl Watch) {
        if !self.only.takes(s) {
            return;
        }
        self.totals.tcp += 1;
        self.totals.bad_checksums += u64::from(s.bad_checksum);
        self.totals.broken_options += u64::from(s.options.broken);
        let (key, from) = Key::of(s);
        let hash = key.hash();
        let number = match self.table.find(hash, |n| *self.flows[n as usize].key() == key) {
            Some(number) if self.flows[number as usize].is_over_for(from, s) => {
                let new = self.flows.len() as u32;
                self.table.replace(hash, number, new);
                self.flows.push(Flow::new(key, from, at, s));
                new
            }
            Some(number) => number,
            None => {
                let new = self.flows.len() as u32;
                self.table.insert(hash, new);
                self.flows.push(Flow::new(key, from, at, s));
                new
            }
        };
        let flow = &mut self.flows[number as usize];
        let passed = flow.pass(at, from, s);
        watch.passed(at, number, flow, s, &passed);
    }
}
