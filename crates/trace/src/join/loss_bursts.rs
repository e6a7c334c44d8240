//! Loss bursts by the method of the WiMAX measurements of 2006 (papers: `wimax-bursts`):
//! consecutive bins of 100 ms of departure time with more than half of the packets lost are one
//! burst. Its class is its worst bin.

/// Length of a bin, nanoseconds.
pub const BIN: i64 = 100_000_000;

/// A run of bins in which more than half of the packets was lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossBurst {
    /// Start of the first bin, nanoseconds after the direction's first packet.
    pub start: i64,
    /// Nanoseconds.
    pub duration: i64,
    /// Departure of the first and of the last lost packet, nanoseconds after the direction's first
    /// packet.
    pub first_lost: i64,
    pub last_lost: i64,
    pub sent: u32,
    pub lost: u32,
    /// Share of lost packets in the worst bin.
    pub peak: f64,
}

#[derive(Debug, Clone, Default)]
pub struct LossBursts {
    pub all: Vec<LossBurst>,
}

#[derive(Default)]
struct LossBin {
    number: i64,
    sent: u32,
    lost: u32,
    first: i64,
    last: i64,
}

impl LossBursts {
    /// `packets` has the departure time of each packet and whether it was lost, in order of
    /// departure.
    pub fn of(packets: impl Iterator<Item = (i64, bool)>) -> LossBursts {
        let mut bursts = LossBursts::default();
        let mut origin = None;
        let mut bin = LossBin::default();
        for (at, lost) in packets {
            let since = at.saturating_sub(*origin.get_or_insert(at)).max(0);
            // A clock that steps back does not leave the bin.
            let number = (since / BIN).max(bin.number);
            if number != bin.number {
                bursts.close(&bin);
                bin = LossBin { number, ..LossBin::default() };
            }
            bin.sent += 1;
            if lost {
                bin.first = if bin.lost == 0 { since } else { bin.first };
                bin.last = since;
                bin.lost += 1;
            }
        }
        bursts.close(&bin);
        bursts
    }

    fn close(&mut self, bin: &LossBin) {
        if bin.lost * 2 <= bin.sent {
            return;
        }
        let (start, peak) = (bin.number * BIN, f64::from(bin.lost) / f64::from(bin.sent));
        match self.all.last_mut().filter(|b| b.start + b.duration == start) {
            Some(burst) => {
                burst.duration += BIN;
                burst.last_lost = bin.last;
                burst.sent += bin.sent;
                burst.lost += bin.lost;
                burst.peak = burst.peak.max(peak);
            }
            None => self.all.push(LossBurst {
                start,
                duration: BIN,
                first_lost: bin.first,
                last_lost: bin.last,
                sent: bin.sent,
                lost: bin.lost,
                peak,
            }),
        }
    }

    /// Number of bursts by class: less than 80 % lost, from 80 % on, all lost.
    pub fn classes(&self) -> [u32; 3] {
        let count = |in_class: &dyn Fn(f64) -> bool| self.all.iter().filter(|b| in_class(b.peak)).count() as u32;
        [count(&|p| p < 0.8), count(&|p| (0.8..1.0).contains(&p)), count(&|p| p >= 1.0)]
    }
}
