//! LossBursts of loss by the method of the WiMAX measurements of 2006 (papers: `wimax-bursts`): time by sending is cut into bins of 100 ms, bins of
//! more than half lost that follow each other are one burst, and its class is its worst bin.

/// Nanoseconds.
pub const BIN: i64 = 100_000_000;

/// A run of bins in which more than half was lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossBurst {
    /// Nanoseconds from the first packet to the run's first bin, and the run's length.
    pub start: i64,
    pub duration: i64,
    /// The first lost packet and the last.
    pub first_lost: i64,
    pub last_lost: i64,
    pub sent: u32,
    pub lost: u32,
    /// The share lost in the worst bin.
    pub peak: f64,
}

#[derive(Debug, Clone, Default)]
pub struct LossBursts {
    pub all: Vec<LossBurst>,
}

#[derive(Default)]
struct Bin {
    number: i64,
    sent: u32,
    lost: u32,
    first: i64,
    last: i64,
}

impl LossBursts {
    /// From times of sending, in order, and whether each packet was lost.
    pub fn of(packets: impl Iterator<Item = (i64, bool)>) -> LossBursts {
        let mut bursts = LossBursts::default();
        let mut origin = None;
        let mut bin = Bin::default();
        for (at, lost) in packets {
            let since = at.saturating_sub(*origin.get_or_insert(at)).max(0);
            // A clock that steps back stays in the bin.
            let number = (since / BIN).max(bin.number);
            if number != bin.number {
                bursts.close(&bin);
                bin = Bin { number, ..Bin::default() };
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

    fn close(&mut self, bin: &Bin) {
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

    /// LossBursts of the three classes: over half and less than 80 %, from 80 %, all lost.
    pub fn classes(&self) -> [u32; 3] {
        let count = |is_it: &dyn Fn(f64) -> bool| self.all.iter().filter(|b| is_it(b.peak)).count() as u32;
        [count(&|p| p < 0.8), count(&|p| (0.8..1.0).contains(&p)), count(&|p| p >= 1.0)]
    }
}
