//! The TDD frame: who may send when, and how much of it is left for data (IEEE 802.16-2004, 8.3.5; 802.16e-2005, 8.4.4).

use super::contention::Region;
use super::maps::Maps;
use super::phy::{Channel, Technique};
use crate::units::Span;

/// How a frame's symbols are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Down to up; the downlink gets floor(symbols*down/(down + up)).
    Ratio {
        down: u32,
        up: u32,
    },
    Symbols {
        down: u32,
        up: u32,
    },
}

/// What a frame is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameConfig {
    pub channel: Channel,
    pub length: Span,
    /// From the downlink to the uplink (transmit to receive), and back.
    pub ttg: Span,
    pub rtg: Span,
    pub split: Split,
    /// Symbols of preamble, and in OFDM of the frame control header, which in OFDMA takes [`FCH_SLOTS`].
    pub preamble: u32,
    pub maps: Maps,
    /// Units of allocation left empty before each downlink burst.
    pub burst_gap: u32,
    /// Units of allocation that each uplink burst spends on a preamble of its own.
    pub uplink_preamble: u32,
    /// What comes before the data in the uplink.
    pub region: Region,
}

/// Slots of an OFDMA frame control header (24 bits, QPSK 1/2, repeated four times).
const FCH_SLOTS: u32 = 4;

/// A part of the frame: units of allocation ("slots"), numbered in the order in which they are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// From the start of the frame.
    pub start: Span,
    /// Side by side: 1 in OFDM, subchannels in OFDMA.
    pub rows: u32,
    pub columns: u32,
    /// How long a column takes.
    pub column: Span,
    /// Numbers run down a column before the next (downlink), or along a row (uplink of OFDMA, where a burst is narrow and long).
    pub by_column: bool,
}

impl Zone {
    pub fn slots(&self) -> u32 {
        self.rows * self.columns
    }

    /// When a piece that takes the slots from `first` to `last` has arrived, from the start of the frame.
    pub fn end(&self, first: u32, last: u32) -> Span {
        let columns = if self.by_column {
            last / self.rows.max(1) + 1
        } else if first / self.columns.max(1) == last / self.columns.max(1) {
            last % self.columns.max(1) + 1
        } else {
            self.columns
        };
        self.start + Span(self.column.0 * u64::from(columns))
    }
}

/// A frame laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub length: Span,
    /// All slots of the downlink but the preamble of OFDMA.
    pub down: Zone,
    /// Slots of the uplink that are left for data.
    pub up: Zone,
    /// When the uplink begins, with its contention region.
    pub uplink: Span,
    /// Downlink slots that every frame spends before its maps.
    pub header: u32,
    /// Symbols in a frame.
    pub symbols: u32,
    /// Symbols of the downlink, preamble included.
    pub down_symbols: u32,
}

impl FrameConfig {
    /// Symbols that fit between the gaps: floor((T_F - TTG - RTG)/T_S).
    pub fn symbols(&self) -> u32 {
        let room = self.length - (self.ttg + self.rtg);
        u32::try_from(room.0 / self.channel.symbol().0.max(1)).unwrap_or(u32::MAX)
    }

    /// Symbols down and up, contention and preambles included.
    pub fn divided(&self) -> (u32, u32) {
        match self.split {
            Split::Symbols { down, up } => (down, up),
            Split::Ratio { down, up } => {
                let parts = u64::from(down) + u64::from(up);
                let share = u64::from(self.symbols()) * u64::from(down) / parts.max(1);
                (share as u32, self.symbols() - share as u32)
            }
        }
    }

    /// Lays the frame out, or says why nothing could be sent in it.
    pub fn layout(&self) -> Result<Frame, String> {
        let symbol = self.channel.symbol();
        let (down_symbols, up_symbols) = self.divided();
        let (rows, slot) = (self.channel.rows(), self.channel.slot_symbols());
        let fits = self.symbols();
        if u64::from(down_symbols) + u64::from(up_symbols) > u64::from(fits) {
            return Err(format!("{down_symbols} + {up_symbols} symbols do not fit into a frame, which has room for {fits}"));
        }
        let times = |n: u32| Span(symbol.0 * u64::from(n));
        let ofdm = self.channel.technique == Technique::Ofdm;
        // In OFDM preamble and frame control header are the first of the downlink's own symbols.
        let before = if ofdm { 0 } else { self.preamble };
        let header = if ofdm { self.preamble } else { FCH_SLOTS };
        let down = Zone {
            start: times(before),
            rows: rows.0,
            columns: down_symbols.saturating_sub(before) / slot.0,
            column: times(slot.0),
            by_column: true,
        };
        let contention = self.region.columns(self.channel);
        let columns = up_symbols / slot.1;
        let up = Zone {
            start: times(down_symbols) + self.ttg + times(contention.min(columns) * slot.1),
            rows: rows.1,
            columns: columns.saturating_sub(contention),
            column: times(slot.1),
            by_column: ofdm,
        };
        let uplink = times(down_symbols) + self.ttg;
        let frame = Frame { length: self.length, down, up, uplink, header, symbols: fits, down_symbols };
        self.has_room(&frame, up_symbols)?;
        Ok(frame)
    }

    fn has_room(&self, frame: &Frame, up_symbols: u32) -> Result<(), String> {
        if frame.up.slots() <= self.uplink_preamble {
            let contention = self.region.columns(self.channel) * self.channel.slot_symbols().1;
            return Err(format!(
                "no symbol of the uplink's {up_symbols} is left for data beside {contention} of contention and a burst's preamble"
            ));
        }
        if frame.down.slots() <= self.overhead(frame, 1, 1) {
            return Err(format!("no symbol of the downlink's {} is left for data beside preamble and maps", frame.down_symbols));
        }
        Ok(())
    }

    /// Downlink slots that a frame with so many bursts down and grants up spends on its header, maps and gaps.
    pub fn overhead(&self, frame: &Frame, bursts: u32, grants: u32) -> u32 {
        frame.header + self.maps.slots(self.channel, bursts, grants + self.region.elements()) + self.burst_gap * bursts
    }
}

#[cfg(test)]
mod tests {
    use super::super::contention::RegionLayout;
    use super::*;

    fn nist(down: u32, up: u32, layout: RegionLayout) -> FrameConfig {
        let channel = Channel { technique: Technique::Ofdm, width_hz: 7_000_000, prefix: 16 };
        FrameConfig {
            channel,
            length: Span::from_ms(5),
            ttg: channel.physical_slots(10),
            rtg: channel.physical_slots(10),
            split: Split::Ratio { down, up },
            preamble: 3,
            maps: Maps { mcs: 3, repetition: 1 },
            burst_gap: 1,
            uplink_preamble: 0,
            region: Region { opportunities: 5, layout },
        }
    }

    #[test]
    fn a_frame_of_5_ms_at_7_mhz_has_146_symbols_and_splits_as_published() {
        let table = [(1, 73, 73), (2, 97, 49), (3, 109, 37), (4, 116, 30), (5, 121, 25), (6, 125, 21)];
        for (down, symbols_down, symbols_up) in table {
            let config = nist(down, 1, RegionLayout::RequestOnly);
            assert_eq!((config.symbols(), config.divided()), (146, (symbols_down, symbols_up)), "{down}:1");
        }
    }

    #[test]
    fn each_reading_of_contention_size_five_leaves_the_uplink_what_the_digest_says() {
        // 0 is the weakest modulation, 6 is 64-QAM 3/4.
        let readings = [
            (RegionLayout::Whole { mcs: 0 }, [Some(41), Some(17), Some(5), None, None, None]),
            (RegionLayout::Whole { mcs: 6 }, [Some(46), Some(22), Some(10), Some(3), None, None]),
            (RegionLayout::Fractional { mcs: 6 }, [Some(54), Some(30), Some(18), Some(11), Some(6), Some(2)]),
            (RegionLayout::RequestOnly, [Some(62), Some(38), Some(26), Some(19), Some(14), Some(10)]),
        ];
        for (layout, left) in readings {
            for (down, left) in (1..).zip(left) {
                let frame = nist(down, 1, layout).layout();
                assert_eq!(frame.ok().map(|f| f.up.slots()), left, "{layout:?} at {down}:1");
            }
        }
    }

    #[test]
    fn wibro_has_42_symbols_of_which_27_and_15() {
        let channel = Channel { technique: Technique::Ofdma { fft: 1024 }, width_hz: 8_750_000, prefix: 8 };
        let config = FrameConfig {
            channel,
            ttg: Span::from_ns(87_200),
            rtg: Span::from_ns(74_400),
            split: Split::Symbols { down: 27, up: 15 },
            preamble: 1,
            maps: Maps { mcs: 0, repetition: 4 },
            burst_gap: 0,
            region: Region { opportunities: 6, layout: RegionLayout::Columns { columns: 1 } },
            ..nist(1, 1, RegionLayout::RequestOnly)
        };
        let frame = config.layout().unwrap();
        assert_eq!((config.symbols(), frame.down.slots(), frame.up.slots()), (42, 13 * 30, 4 * 35));
        // All of the downlink at 64-QAM 5/6 with two queues is the 37.4 Mb/s of the advertisements.
        assert_eq!(frame.down.slots() * 30 * 2 * 8 * 200, 37_440_000);
    }

    #[test]
    fn a_piece_has_arrived_at_the_end_of_its_last_column() {
        let ms = Span::from_ms;
        let down = Zone { start: ms(1), rows: 30, columns: 13, column: ms(1), by_column: true };
        assert_eq!([down.end(0, 0), down.end(0, 29), down.end(29, 30)], [ms(2), ms(2), ms(3)]);
        let up = Zone { start: ms(1), rows: 35, columns: 4, column: ms(1), by_column: false };
        assert_eq!([up.end(0, 0), up.end(4, 6), up.end(2, 4)], [ms(2), ms(4), ms(5)]);
    }
}
