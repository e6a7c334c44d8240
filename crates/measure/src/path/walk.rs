//! Which probe is next. First each hop limit in turn until the far end answers, then every size to every hop that has answered, round by
//! round: a hop is not probed twice in a row, and changes over time affect all sizes alike. A hop is probed briskly until it leaves a
//! probe unanswered; that probe is sent again, and later probes have the interval of a router's ICMP rate limit.

use super::{Answer, Asked, Meaning, Plan, Probe};
use crate::Nanos;

/// So many hops in a row that say nothing end the search.
const SILENT: usize = 5;

/// Where the walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The path is looked for: this hop, so many looks so far.
    Looking {
        hop: u8,
        looks: u32,
    },
    /// Sizes are sent: the place among rounds times sizes times hops.
    Sizing {
        place: usize,
    },
    Done,
}

#[derive(Debug, Clone, Copy)]
struct UnderWay {
    probe: Probe,
    sent: Nanos,
    brisk: bool,
}

#[derive(Debug)]
pub struct Walk {
    plan: Plan,
    stage: Stage,
    /// Those that answer and are asked with all sizes, in path order.
    hops: Vec<u8>,
    /// When each hop limit was last used.
    last: [Option<Nanos>; 256],
    /// Hops with an unanswered brisk probe: an ICMP rate limit is assumed.
    limited: [bool; 256],
    under_way: Option<UnderWay>,
    /// A packet of this length does not come through.
    too_big: u32,
    pub asked: Vec<Asked>,
}

impl Walk {
    /// Err says what of the plan cannot be.
    pub fn new(plan: Plan) -> Result<Walk, String> {
        plan.check()?;
        let stage = Stage::Looking { hop: 1, looks: 0 };
        let (last, limited) = ([None; 256], [false; 256]);
        Ok(Walk { plan, stage, hops: Vec::new(), last, limited, under_way: None, too_big: u32::MAX, asked: Vec::new() })
    }

    /// The probe that is to leave now, if one is.
    pub fn poll(&mut self, now: Nanos) -> Option<Probe> {
        self.give_up(now);
        if self.under_way.is_some() || self.due().is_none_or(|due| due > now) {
            return None;
        }
        let (hop, bytes) = self.next()?;
        let probe = Probe { number: u32::try_from(self.asked.len()).unwrap_or(u32::MAX), hop, bytes };
        let brisk = self.last[usize::from(hop)].is_some_and(|last| now < last.saturating_add(self.plan.every_ns));
        self.under_way = Some(UnderWay { probe, sent: now, brisk });
        self.last[usize::from(hop)] = Some(now);
        Some(probe)
    }

    /// It left at this time, later than `poll` was asked.
    pub fn left(&mut self, now: Nanos) {
        if let Some(under_way) = &mut self.under_way {
            under_way.sent = now;
        }
    }

    /// When there is something to do; none at the end.
    pub fn due(&self) -> Option<Nanos> {
        if let Some(under_way) = self.under_way {
            return Some(under_way.sent.saturating_add(self.plan.patience_ns));
        }
        let hop = usize::from(self.next()?.0);
        let after = if self.limited[hop] { self.plan.every_ns } else { self.plan.brisk_ns };
        Some(self.last[hop].map_or(Nanos::MIN, |last| last.saturating_add(after)))
    }

    /// An answer. One to an earlier probe, which was given up, is noted with it and changes nothing else.
    pub fn hear(&mut self, answer: Answer) {
        match self.under_way {
            Some(under_way) if under_way.probe.number == answer.number => self.end(under_way, Some(answer)),
            _ => {
                let late = self.asked.get_mut(answer.number as usize).filter(|asked| asked.answer.is_none());
                if let Some(asked) = late {
                    asked.answer = Some(answer);
                }
            }
        }
    }

    /// The share of the probes that are known to come which have been sent.
    pub fn progress(&self) -> f64 {
        match self.stage {
            Stage::Looking { .. } => 0.0,
            Stage::Sizing { place } => place as f64 / self.places().max(1) as f64,
            Stage::Done => 1.0,
        }
    }

    fn give_up(&mut self, now: Nanos) {
        if let Some(under_way) = self.under_way
            && now >= under_way.sent.saturating_add(self.plan.patience_ns)
        {
            self.end(under_way, None);
        }
    }

    fn end(&mut self, under_way: UnderWay, answer: Option<Answer>) {
        let UnderWay { probe, sent, brisk } = under_way;
        self.under_way = None;
        self.asked.push(Asked { probe, sent, answer, brisk });
        if answer.is_none() && brisk && !std::mem::replace(&mut self.limited[usize::from(probe.hop)], true) {
            // Send the same probe again, at the interval of a rate-limited router: a loss and a rate limit look the same.
            return;
        }
        if answer.is_some_and(|a| a.meaning == Meaning::TooBig) {
            self.too_big = self.too_big.min(probe.bytes);
        }
        self.stage = match self.stage {
            Stage::Looking { hop, looks } if looks + 1 < self.plan.looks => Stage::Looking { hop, looks: looks + 1 },
            Stage::Looking { hop, .. } => self.look_further(hop),
            Stage::Sizing { place } => self.sizing_from(place + 1),
            Stage::Done => Stage::Done,
        };
    }

    fn look_further(&mut self, hop: u8) -> Stage {
        let heard = |at: u8| self.asked.iter().filter(move |a| a.probe.hop == at).filter_map(|a| a.answer);
        if heard(hop).next().is_some() {
            self.hops.push(hop);
        }
        let ends = heard(hop).any(|a| a.meaning != Meaning::Expired);
        let silent = usize::from(hop - self.hops.last().copied().unwrap_or(0)) >= SILENT;
        if ends || silent || hop >= self.plan.most_hops {
            return self.sizing_from(0);
        }
        Stage::Looking { hop: hop + 1, looks: 0 }
    }

    fn places(&self) -> usize {
        self.plan.rounds as usize * self.plan.sizes.len() * self.hops.len()
    }

    /// The next place, from this one on, whose packet may come through.
    fn sizing_from(&self, place: usize) -> Stage {
        let next = (place..self.places()).find(|&at| self.at(at).1 < self.too_big);
        next.map_or(Stage::Done, |place| Stage::Sizing { place })
    }

    /// Hop and size at a place: all hops with one size, then all with the next.
    fn at(&self, place: usize) -> (u8, u32) {
        let (turn, hop) = (place / self.hops.len(), place % self.hops.len());
        (self.hops[hop], self.plan.sizes[turn % self.plan.sizes.len()])
    }

    fn next(&self) -> Option<(u8, u32)> {
        match self.stage {
            Stage::Looking { hop, .. } => Some((hop, self.plan.least())),
            Stage::Sizing { place } => Some(self.at(place)),
            Stage::Done => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MS, SECOND};
    use std::net::{IpAddr, Ipv4Addr};

    fn plan() -> Plan {
        Plan { looks: 1, sizes: vec![100, 1000], rounds: 2, ..Plan::default() }
    }

    fn router(hop: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, hop))
    }

    /// Runs a walk over a path of so many hops, of which those named say nothing; every answer takes 10 ms.
    fn run(plan: Plan, hops: u8, silent: &[u8]) -> (Walk, Nanos) {
        let mut walk = Walk::new(plan).unwrap();
        let mut now = 0;
        while let Some(due) = walk.due() {
            now = now.max(due);
            let Some(probe) = walk.poll(now) else { continue };
            if silent.contains(&probe.hop) {
                continue;
            }
            now += 10 * MS;
            let meaning = if probe.hop < hops { Meaning::Expired } else { Meaning::Reached };
            walk.hear(Answer { number: probe.number, from: router(probe.hop.min(hops)), at: now, meaning });
        }
        (walk, now)
    }

    fn order(walk: &Walk) -> Vec<(u8, u32)> {
        walk.asked.iter().map(|a| (a.probe.hop, a.probe.bytes)).collect()
    }

    #[test]
    fn each_hop_is_looked_for_and_then_asked_with_every_size_in_turn() {
        let (walk, _) = run(plan(), 2, &[]);
        let round = [(1, 100), (2, 100), (1, 1000), (2, 1000)];
        assert_eq!(order(&walk), [&[(1, 100), (2, 100)][..], &round, &round].concat());
    }

    // finding("M1")
    #[test]
    fn walk_to_a_host_one_hop_away_ends_in_seconds_when_every_probe_is_answered() {
        let (walk, now) = run(Plan { sizes: vec![64, 350, 650, 950, 1250, 1500], rounds: 10, looks: 3, ..plan() }, 1, &[]);
        assert_eq!(walk.asked.len(), 3 + 60);
        assert_eq!(now, 62 * 20 * MS + 10 * MS);
    }

    /// A router as Linux is one (icmp_ratelimit): six answers at once, then one a second.
    fn limited(plan: Plan, burst: i64) -> Walk {
        let mut walk = Walk::new(plan).unwrap();
        let (mut now, mut tokens, mut since) = (0, burst * SECOND, 0);
        while let Some(due) = walk.due() {
            now = now.max(due);
            let Some(probe) = walk.poll(now) else { continue };
            tokens = (tokens + now - since).min(burst * SECOND);
            since = now;
            if tokens >= SECOND {
                tokens -= SECOND;
                walk.hear(Answer { number: probe.number, from: router(1), at: now + MS, meaning: Meaning::Reached });
            }
        }
        walk
    }

    // finding("M1")
    #[test]
    fn hop_is_probed_once_a_second_when_it_left_a_brisk_probe_unanswered() {
        let walk = limited(Plan { rounds: 10, ..plan() }, 6);
        let unanswered: Vec<usize> = (0..walk.asked.len()).filter(|&n| walk.asked[n].answer.is_none()).collect();
        assert_eq!(unanswered, [6]);
        assert!(walk.asked[..7].iter().skip(1).all(|a| a.brisk) && !walk.asked[0].brisk);
        // The probe is sent again, and every planned probe is sent.
        assert_eq!((walk.asked.len(), walk.asked[7].probe.bytes), (1 + 20 + 1, walk.asked[6].probe.bytes));
        assert!(walk.asked[7..].windows(2).all(|two| two[1].sent - two[0].sent >= SECOND && !two[1].brisk));
    }

    #[test]
    fn silent_hop_gets_exactly_the_planned_probes() {
        let (walk, _) = run(Plan { rounds: 0, looks: 3, ..plan() }, 2, &[1]);
        assert_eq!(walk.asked.iter().filter(|a| a.probe.hop == 1).count(), 3);
    }

    #[test]
    fn a_silent_hop_is_passed_and_not_measured() {
        let (walk, _) = run(plan(), 3, &[2]);
        let mut measured: Vec<u8> = walk.asked.iter().skip(3).map(|a| a.probe.hop).collect();
        measured.dedup();
        measured.truncate(2);
        assert_eq!(measured, [1, 3]);
        assert_eq!(walk.asked[1].answer, None);
    }

    #[test]
    fn five_silent_hops_end_the_search() {
        let (walk, _) = run(Plan { rounds: 0, ..plan() }, 20, &[2, 3, 4, 5, 6, 7]);
        assert_eq!(order(&walk).last(), Some(&(6, 100)));
    }

    #[test]
    fn what_is_too_big_once_is_not_sent_again() {
        let mut walk = Walk::new(plan()).unwrap();
        let mut now = 0;
        while let Some(due) = walk.due() {
            now = now.max(due);
            let Some(probe) = walk.poll(now) else { continue };
            let meaning = if probe.bytes > 500 { Meaning::TooBig } else { Meaning::Reached };
            walk.hear(Answer { number: probe.number, from: router(1), at: now, meaning });
        }
        assert_eq!(order(&walk), [(1, 100), (1, 100), (1, 1000), (1, 100)]);
    }

    #[test]
    fn an_answer_that_comes_after_patience_has_ended_is_kept_with_its_probe() {
        let mut walk = Walk::new(Plan { most_hops: 1, looks: 2, rounds: 0, ..plan() }).unwrap();
        let first = walk.poll(0).unwrap();
        assert_eq!(walk.poll(2 * SECOND).unwrap().number, 1);
        let late = Answer { number: first.number, from: router(1), at: 3 * SECOND, meaning: Meaning::Expired };
        walk.hear(late);
        assert_eq!(walk.asked[0].answer, Some(late));
    }

    #[test]
    fn answers_to_what_was_never_sent_and_second_answers_change_nothing() {
        let mut walk = Walk::new(plan()).unwrap();
        let answer = Answer { number: 7, from: router(1), at: 0, meaning: Meaning::Reached };
        walk.hear(answer);
        assert!(walk.asked.is_empty());
    }

    #[test]
    fn a_plan_without_sizes_or_with_impossible_ones_is_refused() {
        assert!(Walk::new(Plan { sizes: vec![], ..plan() }).is_err());
        assert!(Walk::new(Plan { sizes: vec![20], ..plan() }).is_err());
        assert!(Walk::new(Plan { most_hops: 0, ..plan() }).is_err());
    }
}
