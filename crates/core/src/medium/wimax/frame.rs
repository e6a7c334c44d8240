//! The TDD frame: its structure and its capacity for data (IEEE 802.16-2004, 8.3.5; 802.16e-2005,
//! 8.4.4).

use super::config::{MAX_COUNT, check_count};
use super::contention::{Region, RegionLayout};
use super::maps::Maps;
use super::phy::{Channel, Technique};
use crate::config_check::{Checked, ensure};
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Division of a frame's symbols, with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Split {
    /// Downlink to uplink; the downlink gets floor(symbols*down/(down + up)).
    Ratio {
        down: u32,
        up: u32,
    },
    Symbols {
        down: u32,
        up: u32,
    },
}

/// Frame configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameConfig {
    pub channel: Channel,
    pub length: Span,
    /// Transmit/receive transition gap (downlink to uplink), and receive/transmit transition gap.
    pub ttg: Span,
    pub rtg: Span,
    pub split: Split,
    /// Symbols of preamble; in OFDM including the frame control header, which in OFDMA takes
    /// [`FCH_SLOTS`].
    pub preamble: u32,
    pub maps: Maps,
    /// Empty slots before each downlink burst.
    pub burst_gap: u32,
    /// Preamble slots of each uplink burst.
    pub uplink_preamble: u32,
    /// Contention region before the uplink data.
    pub region: Region,
}

/// Slots of an OFDMA frame control header (24 bits, QPSK 1/2, repeated four times).
const FCH_SLOTS: u32 = 4;

/// A part of the frame: slots (units of allocation) in allocation order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// From the start of the frame.
    pub start: Span,
    /// Parallel slots: 1 in OFDM, subchannels in OFDMA.
    pub rows: u32,
    pub columns: u32,
    /// Duration of a column.
    pub column: Span,
    /// Slots are numbered column by column (downlink), or row by row (OFDMA uplink, where a burst
    /// is narrow and long).
    pub by_column: bool,
}

impl Zone {
    pub fn slots(&self) -> u32 {
        self.rows * self.columns
    }

    /// Arrival of a piece in the slots from `first` to `last`, from the start of the frame.
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

/// Layout of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLayout {
    pub length: Span,
    /// All downlink slots, except the preamble in OFDMA.
    pub down: Zone,
    /// Uplink slots for data.
    pub up: Zone,
    /// Start of the uplink, contention region included.
    pub uplink: Span,
    /// Downlink slots before the maps.
    pub header: u32,
    /// Symbols per frame.
    pub symbols: u32,
    /// Downlink symbols, preamble included.
    pub down_symbols: u32,
}

/// Frames are from 1 ms to 1 s long.
const LENGTHS: std::ops::RangeInclusive<Span> = Span::from_ms(1)..=Span::from_secs(1);

impl FrameConfig {
    /// Returns the error in the configuration, if any. [`FrameConfig::layout`] checks the room for
    /// data.
    pub(super) fn check(&self) -> Checked {
        self.channel.check()?;
        ensure(LENGTHS.contains(&self.length), || format!("a frame of {} ps: 1 ms to 1 s are possible", self.length.0))?;
        let (Split::Ratio { down, up } | Split::Symbols { down, up }) = self.split;
        let columns = if let RegionLayout::Columns { columns } = self.region.layout { columns } else { 0 };
        for (key, n) in [
            ("split.down", down),
            ("split.up", up),
            ("preamble", self.preamble),
            ("map_repetition", self.maps.repetition),
            ("burst_gap", self.burst_gap),
            ("uplink_preamble", self.uplink_preamble),
            ("contention.opportunities", self.region.opportunities),
            ("contention.columns", columns),
        ] {
            check_count(key, n, MAX_COUNT)?;
        }
        ensure(Region::fits(self.region.layout, self.channel.technique), || {
            "contention in columns is for OFDMA, in symbols for OFDM".into()
        })
    }

    /// Symbols that fit between the gaps: floor((T_F - TTG - RTG)/T_S).
    pub fn symbols(&self) -> u32 {
        let room = self.length - (self.ttg + self.rtg);
        u32::try_from(room.0 / self.channel.symbol().0.max(1)).unwrap_or(u32::MAX)
    }

    /// Downlink and uplink symbols, contention and preambles included.
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

    /// The frame layout, or the reason why the frame has no room for data.
    pub fn layout(&self) -> Result<FrameLayout, String> {
        let symbol = self.channel.symbol();
        let (down_symbols, up_symbols) = self.divided();
        let (rows, slot) = (self.channel.rows(), self.channel.slot_symbols());
        let fits = self.symbols();
        if u64::from(down_symbols) + u64::from(up_symbols) > u64::from(fits) {
            return Err(format!("{down_symbols} + {up_symbols} symbols do not fit into a frame, which has room for {fits}"));
        }
        let times = |n: u32| Span(symbol.0 * u64::from(n));
        let ofdm = self.channel.technique == Technique::Ofdm;
        // In OFDM preamble and frame control header are the first downlink symbols.
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
        let frame = FrameLayout { length: self.length, down, up, uplink, header, symbols: fits, down_symbols };
        self.has_room(&frame, up_symbols)?;
        Ok(frame)
    }

    fn has_room(&self, frame: &FrameLayout, up_symbols: u32) -> Result<(), String> {
        if frame.up.slots() <= self.uplink_preamble {
            let contention = self.region.columns(self.channel) * self.channel.slot_symbols().1;
            return Err(format!(
                "the uplink's {up_symbols} symbols have no room for data besides {contention} of contention and a burst preamble"
            ));
        }
        if frame.down.slots() <= self.overhead(frame, 1, 1) {
            return Err(format!("the downlink's {} symbols have no room for data besides preamble and maps", frame.down_symbols));
        }
        Ok(())
    }

    /// Downlink slots for header, maps and gaps of a frame with `bursts` and `grants`.
    pub fn overhead(&self, frame: &FrameLayout, bursts: u32, grants: u32) -> u32 {
        frame.header + self.maps.slots(self.channel, bursts, grants + self.region.elements()) + self.burst_gap * bursts
    }
}

#[cfg(test)]
mod tests {
    use super::super::contention::RegionLayout;
    use super::*;

    fn nist(down: u32, up: u32, layout: RegionLayout) -> FrameConfig {
        let channel = Channel { technique: Technique::Ofdm, width_hz: 7_000_000, prefix: 16, tail_bytes: 0 };
        FrameConfig {
            channel,
            length: Span::from_ms(5),
            ttg: channel.physical_slots(10),
            rtg: channel.physical_slots(10),
            split: Split::Ratio { down, up },
            preamble: 3,
            maps: Maps { mcs: 3, repetition: 1, bytes: None },
            burst_gap: 1,
            uplink_preamble: 0,
            region: Region { opportunities: 5, layout },
        }
    }

    #[test]
    fn frame_of_5_ms_at_7_mhz_splits_as_published() {
        let table = [(1, 73, 73), (2, 97, 49), (3, 109, 37), (4, 116, 30), (5, 121, 25), (6, 125, 21)];
        for (down, symbols_down, symbols_up) in table {
            let config = nist(down, 1, RegionLayout::RequestOnly);
            assert_eq!((config.symbols(), config.divided()), (146, (symbols_down, symbols_up)), "{down}:1");
        }
    }

    #[test]
    fn contention_layouts_leave_the_expected_uplink_slots() {
        // 0 is the lowest MCS, 6 is 64-QAM 3/4.
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
    fn wibro_frame_has_27_downlink_and_15_uplink_symbols() {
        let channel = Channel { technique: Technique::Ofdma { fft: 1024 }, width_hz: 8_750_000, prefix: 8, tail_bytes: 0 };
        let config = FrameConfig {
            channel,
            ttg: Span::from_ns(87_200),
            rtg: Span::from_ns(74_400),
            split: Split::Symbols { down: 27, up: 15 },
            preamble: 1,
            maps: Maps { mcs: 0, repetition: 4, bytes: None },
            burst_gap: 0,
            region: Region { opportunities: 6, layout: RegionLayout::Columns { columns: 1 } },
            ..nist(1, 1, RegionLayout::RequestOnly)
        };
        let frame = config.layout().unwrap();
        assert_eq!((config.symbols(), frame.down.slots(), frame.up.slots()), (42, 13 * 30, 4 * 35));
        // A full downlink at 64-QAM 5/6 with two streams has the advertised 37.4 Mb/s.
        assert_eq!(frame.down.slots() * 30 * 2 * 8 * 200, 37_440_000);
    }

    #[test]
    fn piece_arrives_at_the_end_of_its_last_column() {
        let ms = Span::from_ms;
        let down = Zone { start: ms(1), rows: 30, columns: 13, column: ms(1), by_column: true };
        assert_eq!([down.end(0, 0), down.end(0, 29), down.end(29, 30)], [ms(2), ms(2), ms(3)]);
        let up = Zone { start: ms(1), rows: 35, columns: 4, column: ms(1), by_column: false };
        assert_eq!([up.end(0, 0), up.end(4, 6), up.end(2, 4)], [ms(2), ms(4), ms(5)]);
    }
}
