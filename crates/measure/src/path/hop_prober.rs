//! Order and times of the probes. Discovery probes each hop limit until the far end replies.
//! Measurement then sends every size to every hop that has replied, in rounds: consecutive probes
//! go to different hops, and slow changes of the path affect all sizes alike. A hop is probed at
//! the short interval until a probe remains unanswered. That probe is repeated, and later probes
//! have the interval of an ICMP rate limit.

use super::{PathConfig, PathProbe, ProbeRecord, ProbeReply, ReplyKind};
use crate::Nanos;

/// Consecutive hops without a reply that end the discovery.
const SILENT: usize = 5;

/// Phase of the probing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbingStage {
    /// Probes of this hop, and the number of probes sent to it.
    Discovery {
        hop: u8,
        sent: u32,
    },
    /// Position in rounds x sizes x hops.
    Measurement {
        index: usize,
    },
    Done,
}

#[derive(Debug, Clone, Copy)]
struct ProbeInFlight {
    probe: PathProbe,
    sent: Nanos,
    brisk: bool,
}

#[derive(Debug)]
pub struct HopProber {
    config: PathConfig,
    stage: ProbingStage,
    /// Hops that have replied, in path order.
    hops: Vec<u8>,
    /// Time of the last probe to each hop.
    last: [Option<Nanos>; 256],
    /// Hops that left a probe at the short interval unanswered: an ICMP rate limit is assumed.
    limited: [bool; 256],
    in_flight: Option<ProbeInFlight>,
    /// Minimum packet length for which a hop reported that it is too big.
    too_big: u32,
    pub records: Vec<ProbeRecord>,
}

impl HopProber {
    /// Err: the rule that the configuration violates.
    pub fn new(config: PathConfig) -> Result<HopProber, String> {
        config.check()?;
        let stage = ProbingStage::Discovery { hop: 1, sent: 0 };
        let (last, limited) = ([None; 256], [false; 256]);
        Ok(HopProber { config, stage, hops: Vec::new(), last, limited, in_flight: None, too_big: u32::MAX, records: Vec::new() })
    }

    /// The probe to send now, if one is due.
    pub fn poll(&mut self, now: Nanos) -> Option<PathProbe> {
        self.time_out(now);
        if self.in_flight.is_some() || self.due().is_none_or(|due| due > now) {
            return None;
        }
        let (hop, bytes) = self.next()?;
        let probe = PathProbe { number: u32::try_from(self.records.len()).unwrap_or(u32::MAX), hop, bytes };
        let brisk = self.last[usize::from(hop)].is_some_and(|last| now < last.saturating_add(self.config.every_ns));
        self.in_flight = Some(ProbeInFlight { probe, sent: now, brisk });
        self.last[usize::from(hop)] = Some(now);
        Some(probe)
    }

    /// Corrects the sending time of the last probe.
    pub fn on_sent(&mut self, now: Nanos) {
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.sent = now;
        }
    }

    /// Time of the next action; none at the end.
    pub fn due(&self) -> Option<Nanos> {
        if let Some(in_flight) = self.in_flight {
            return Some(in_flight.sent.saturating_add(self.config.timeout_ns));
        }
        let hop = usize::from(self.next()?.0);
        let after = if self.limited[hop] { self.config.every_ns } else { self.config.brisk_ns };
        Some(self.last[hop].map_or(Nanos::MIN, |last| last.saturating_add(after)))
    }

    /// Handles a reply. A reply to a probe that has timed out is stored with that probe, without
    /// further effect.
    pub fn on_reply(&mut self, reply: ProbeReply) {
        match self.in_flight {
            Some(in_flight) if in_flight.probe.number == reply.number => self.end(in_flight, Some(reply)),
            _ => {
                let late = self.records.get_mut(reply.number as usize).filter(|record| record.reply.is_none());
                if let Some(record) = late {
                    record.reply = Some(reply);
                }
            }
        }
    }

    /// Share of the planned probes that were sent.
    pub fn progress(&self) -> f64 {
        match self.stage {
            ProbingStage::Discovery { .. } => 0.0,
            ProbingStage::Measurement { index } => index as f64 / self.index_count().max(1) as f64,
            ProbingStage::Done => 1.0,
        }
    }

    fn time_out(&mut self, now: Nanos) {
        if let Some(in_flight) = self.in_flight
            && now >= in_flight.sent.saturating_add(self.config.timeout_ns)
        {
            self.end(in_flight, None);
        }
    }

    fn end(&mut self, in_flight: ProbeInFlight, reply: Option<ProbeReply>) {
        let ProbeInFlight { probe, sent, brisk } = in_flight;
        self.in_flight = None;
        self.records.push(ProbeRecord { probe, sent, reply, brisk });
        if reply.is_none() && brisk && !std::mem::replace(&mut self.limited[usize::from(probe.hop)], true) {
            // Repeat the probe at the interval of a rate-limited router: a loss and a rate limit
            // are not distinguishable.
            return;
        }
        if reply.is_some_and(|a| a.kind == ReplyKind::TooBig) {
            self.too_big = self.too_big.min(probe.bytes);
        }
        self.stage = match self.stage {
            ProbingStage::Discovery { hop, sent } if sent + 1 < self.config.discovery_probes => {
                ProbingStage::Discovery { hop, sent: sent + 1 }
            }
            ProbingStage::Discovery { hop, .. } => self.discover_next(hop),
            ProbingStage::Measurement { index } => self.measure_from(index + 1),
            ProbingStage::Done => ProbingStage::Done,
        };
    }

    fn discover_next(&mut self, hop: u8) -> ProbingStage {
        let replies = |at: u8| self.records.iter().filter(move |a| a.probe.hop == at).filter_map(|a| a.reply);
        if replies(hop).next().is_some() {
            self.hops.push(hop);
        }
        let ends = replies(hop).any(|a| a.kind != ReplyKind::Expired);
        let is_silent = usize::from(hop - self.hops.last().copied().unwrap_or(0)) >= SILENT;
        if ends || is_silent || hop >= self.config.max_hops {
            return self.measure_from(0);
        }
        ProbingStage::Discovery { hop: hop + 1, sent: 0 }
    }

    fn index_count(&self) -> usize {
        self.config.rounds as usize * self.config.sizes.len() * self.hops.len()
    }

    /// The next position, from this one on, whose packet is not too big.
    fn measure_from(&self, index: usize) -> ProbingStage {
        let next = (index..self.index_count()).find(|&at| self.at(at).1 < self.too_big);
        next.map_or(ProbingStage::Done, |index| ProbingStage::Measurement { index })
    }

    /// Hop and size at a position: all hops with one size, then all hops with the next size.
    fn at(&self, index: usize) -> (u8, u32) {
        let (round, hop) = (index / self.hops.len(), index % self.hops.len());
        (self.hops[hop], self.config.sizes[round % self.config.sizes.len()])
    }

    fn next(&self) -> Option<(u8, u32)> {
        match self.stage {
            ProbingStage::Discovery { hop, .. } => Some((hop, self.config.min_size())),
            ProbingStage::Measurement { index } => Some(self.at(index)),
            ProbingStage::Done => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MS, SECOND};
    use std::net::{IpAddr, Ipv4Addr};

    fn plan() -> PathConfig {
        PathConfig { discovery_probes: 1, sizes: vec![100, 1000], rounds: 2, ..PathConfig::default() }
    }

    fn router(hop: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, hop))
    }

    /// Probes a path of `hops` hops; those in `silent` do not reply. Each reply takes 10 ms.
    fn run(config: PathConfig, hops: u8, silent: &[u8]) -> (HopProber, Nanos) {
        let mut prober = HopProber::new(config).unwrap();
        let mut now = 0;
        while let Some(due) = prober.due() {
            now = now.max(due);
            let Some(probe) = prober.poll(now) else { continue };
            if silent.contains(&probe.hop) {
                continue;
            }
            now += 10 * MS;
            let kind = if probe.hop < hops { ReplyKind::Expired } else { ReplyKind::Reached };
            prober.on_reply(ProbeReply { number: probe.number, from: router(probe.hop.min(hops)), at: now, kind });
        }
        (prober, now)
    }

    fn order(prober: &HopProber) -> Vec<(u8, u32)> {
        prober.records.iter().map(|a| (a.probe.hop, a.probe.bytes)).collect()
    }

    #[test]
    fn every_hop_is_discovered_and_then_probed_with_each_size_in_rounds() {
        let (prober, _) = run(plan(), 2, &[]);
        let round = [(1, 100), (2, 100), (1, 1000), (2, 1000)];
        assert_eq!(order(&prober), [&[(1, 100), (2, 100)][..], &round, &round].concat());
    }

    // finding("M1")
    #[test]
    fn probing_of_a_host_one_hop_away_ends_in_seconds_when_every_probe_is_answered() {
        let (prober, now) =
            run(PathConfig { sizes: vec![64, 350, 650, 950, 1250, 1500], rounds: 10, discovery_probes: 3, ..plan() }, 1, &[]);
        assert_eq!(prober.records.len(), 3 + 60);
        assert_eq!(now, 62 * 20 * MS + 10 * MS);
    }

    /// A router with Linux's icmp_ratelimit: a burst of replies, then one per second.
    fn limited(config: PathConfig, burst: i64) -> HopProber {
        let mut prober = HopProber::new(config).unwrap();
        let (mut now, mut tokens, mut since) = (0, burst * SECOND, 0);
        while let Some(due) = prober.due() {
            now = now.max(due);
            let Some(probe) = prober.poll(now) else { continue };
            tokens = (tokens + now - since).min(burst * SECOND);
            since = now;
            if tokens >= SECOND {
                tokens -= SECOND;
                prober.on_reply(ProbeReply { number: probe.number, from: router(1), at: now + MS, kind: ReplyKind::Reached });
            }
        }
        prober
    }

    // finding("M1")
    #[test]
    fn hop_is_probed_once_a_second_when_it_left_a_brisk_probe_unanswered() {
        let prober = limited(PathConfig { rounds: 10, ..plan() }, 6);
        let unanswered: Vec<usize> = (0..prober.records.len()).filter(|&n| prober.records[n].reply.is_none()).collect();
        assert_eq!(unanswered, [6]);
        assert!(prober.records[..7].iter().skip(1).all(|a| a.brisk) && !prober.records[0].brisk);
        // The probe is repeated, and every planned probe is sent.
        assert_eq!((prober.records.len(), prober.records[7].probe.bytes), (1 + 20 + 1, prober.records[6].probe.bytes));
        assert!(prober.records[7..].windows(2).all(|two| two[1].sent - two[0].sent >= SECOND && !two[1].brisk));
    }

    #[test]
    fn hop_without_replies_gets_exactly_the_planned_probes() {
        let (prober, _) = run(PathConfig { rounds: 0, discovery_probes: 3, ..plan() }, 2, &[1]);
        assert_eq!(prober.records.iter().filter(|a| a.probe.hop == 1).count(), 3);
    }

    #[test]
    fn hop_is_not_measured_when_it_does_not_reply() {
        let (prober, _) = run(plan(), 3, &[2]);
        let mut measured: Vec<u8> = prober.records.iter().skip(3).map(|a| a.probe.hop).collect();
        measured.dedup();
        measured.truncate(2);
        assert_eq!(measured, [1, 3]);
        assert_eq!(prober.records[1].reply, None);
    }

    #[test]
    fn discovery_ends_when_five_consecutive_hops_do_not_reply() {
        let (prober, _) = run(PathConfig { rounds: 0, ..plan() }, 20, &[2, 3, 4, 5, 6, 7]);
        assert_eq!(order(&prober).last(), Some(&(6, 100)));
    }

    #[test]
    fn size_is_not_probed_when_a_hop_reported_it_as_too_big() {
        let mut prober = HopProber::new(plan()).unwrap();
        let mut now = 0;
        while let Some(due) = prober.due() {
            now = now.max(due);
            let Some(probe) = prober.poll(now) else { continue };
            let kind = if probe.bytes > 500 { ReplyKind::TooBig } else { ReplyKind::Reached };
            prober.on_reply(ProbeReply { number: probe.number, from: router(1), at: now, kind });
        }
        assert_eq!(order(&prober), [(1, 100), (1, 100), (1, 1000), (1, 100)]);
    }

    #[test]
    fn reply_is_stored_with_its_probe_when_it_arrives_after_the_timeout() {
        let mut prober = HopProber::new(PathConfig { max_hops: 1, discovery_probes: 2, rounds: 0, ..plan() }).unwrap();
        let first = prober.poll(0).unwrap();
        assert_eq!(prober.poll(2 * SECOND).unwrap().number, 1);
        let late = ProbeReply { number: first.number, from: router(1), at: 3 * SECOND, kind: ReplyKind::Expired };
        prober.on_reply(late);
        assert_eq!(prober.records[0].reply, Some(late));
    }

    #[test]
    fn reply_has_no_effect_when_its_probe_was_never_sent() {
        let mut prober = HopProber::new(plan()).unwrap();
        let reply = ProbeReply { number: 7, from: router(1), at: 0, kind: ReplyKind::Reached };
        prober.on_reply(reply);
        assert!(prober.records.is_empty());
    }

    #[test]
    fn config_is_refused_when_sizes_are_missing_or_out_of_range() {
        assert!(HopProber::new(PathConfig { sizes: vec![], ..plan() }).is_err());
        assert!(HopProber::new(PathConfig { sizes: vec![20], ..plan() }).is_err());
        assert!(HopProber::new(PathConfig { max_hops: 0, ..plan() }).is_err());
    }
}
