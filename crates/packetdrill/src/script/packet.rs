//! A packet as a script writes it.

use super::ScriptError;
use super::cursor::Cursor;
use ackclock_core::packet::{Ecn, Flags};

/// A packet of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Packet {
    Tcp(TcpPacket),
    /// Something other than TCP; its text.
    Other(String),
}

/// A TCP packet. None: the script leaves the value open.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpPacket {
    /// The IP header's ECN field; none where the script does not name it.
    pub ecn: Option<Ecn>,
    pub flags: Flags,
    /// First sequence number, from 0 at the SYN.
    pub seq: u64,
    /// Payload in bytes.
    pub payload: u32,
    pub ack: Option<u64>,
    /// The header's window field, not scaled.
    pub window: Option<u16>,
    /// None: any options (`<...>`).
    pub options: Option<Vec<PacketOption>>,
}

/// An option of TCP's header. Padding (`nop`, `eol`) is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOption {
    Mss(u16),
    WindowScale(u8),
    SackPermitted,
    /// One to four blocks; unused ones are (0, 0).
    Sack(u8, [(u32, u32); 4]),
    Timestamps {
        value: u32,
        echo: u32,
    },
    AccEcn(AccEcnFields),
}

/// The counters of an AccECN option. None: the option ends before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AccEcnFields {
    pub ect0: Option<u32>,
    pub ce: Option<u32>,
    pub ect1: Option<u32>,
}

/// Reads a packet after its direction.
pub fn packet(cursor: &mut Cursor<'_>) -> Result<Packet, ScriptError> {
    cursor.skip_blank()?;
    let start = cursor.offset();
    let mut ecn = None;
    if cursor.take("[") {
        let fields = cursor.take_until("]")?;
        match ecn_field(fields) {
            Some(found) => ecn = found,
            None => return other(cursor, start),
        }
        cursor.skip_blank()?;
    }
    let before = cursor.clone();
    let word = cursor.take_while(|c| !c.is_whitespace());
    let Some(flags) = flags(word) else {
        *cursor = before;
        return other(cursor, start);
    };
    let seq = cursor.number()?;
    cursor.expect(":")?;
    let seq_end = cursor.number()?;
    cursor.expect("(")?;
    let before = cursor.clone();
    let payload = cursor.number()?;
    cursor.expect(")")?;
    let length = seq_end.wrapping_sub(seq) & 0xFFFF_FFFF;
    let Ok(payload) = u32::try_from(payload) else { return Err(before.error("a payload below 4 GiB")) };
    if length != u64::from(payload) {
        return Err(before.error("the difference of the sequence numbers"));
    }
    let mut packet = TcpPacket { ecn, flags, seq, payload, ack: None, window: None, options: Some(Vec::new()) };
    loop {
        let before = cursor.clone();
        match cursor.word()? {
            "ack" => packet.ack = Some(cursor.number()?),
            "win" => {
                let number = cursor.number()?;
                packet.window = Some(u16::try_from(number).map_err(|_| before.error("a window of 16 bits"))?);
            }
            "urg" => return other(cursor, start),
            _ => {
                *cursor = before;
                break;
            }
        }
    }
    let end = cursor.clone();
    cursor.skip_blank()?;
    if cursor.peek() == Some('<') {
        let before = cursor.clone();
        cursor.bump();
        let text = cursor.take_until(">")?;
        if text.trim() == "..." {
            packet.options = None;
        } else {
            match options(text) {
                Ok(options) => packet.options = Some(options),
                Err(OptionError::Unknown) => return other(cursor, start),
                Err(OptionError::Malformed) => return Err(before.error("a list of TCP options")),
            }
        }
    } else {
        *cursor = end;
    }
    Ok(Packet::Tcp(packet))
}

/// The rest of the line as a packet of another kind.
fn other(cursor: &mut Cursor<'_>, start: usize) -> Result<Packet, ScriptError> {
    cursor.take_while(|c| c != '\n');
    Ok(Packet::Other(cursor.since(start)))
}

/// Some(None) where the fields leave ECN open; None for fields that are not supported.
#[allow(clippy::option_option, reason = "not supported, open, or a codepoint")]
fn ecn_field(fields: &str) -> Option<Option<Ecn>> {
    match fields.trim() {
        "noecn" => Some(Some(Ecn::NotEct)),
        "ect0" => Some(Some(Ecn::Ect0)),
        "ect1" => Some(Some(Ecn::Ect1)),
        "ce" => Some(Some(Ecn::Ce)),
        "ect01" | "ecn" => Some(None),
        _ => None,
    }
}

/// Flags such as `S.`, `P.`, `SEWA`, `5P.` (ACE as a digit) or `-`.
fn flags(word: &str) -> Option<Flags> {
    if word == "-" {
        return Some(Flags::NONE);
    }
    let mut flags = Flags::NONE;
    for letter in word.chars() {
        flags = flags.with(match letter {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'E' => Flags::ECE,
            'W' | 'C' => Flags::CWR,
            'A' => Flags::AE,
            '0'..='7' => ackclock_core::tcp::ecn::ace_flags(letter as u8 - b'0'),
            _ => return None,
        });
    }
    (!word.is_empty()).then_some(flags)
}

enum OptionError {
    /// An option that the engine does not have.
    Unknown,
    Malformed,
}

fn options(text: &str) -> Result<Vec<PacketOption>, OptionError> {
    let mut all = Vec::new();
    for option in text.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        let words: Vec<&str> = option.split_whitespace().collect();
        match words.as_slice() {
            ["nop" | "eol" | "NOP" | "EOL"] => {}
            ["mss", size] => all.push(PacketOption::Mss(parse(size)?)),
            ["wscale", shift] => all.push(PacketOption::WindowScale(parse(shift)?)),
            ["sackOK"] => all.push(PacketOption::SackPermitted),
            ["sack", blocks @ ..] => all.push(sack(blocks)?),
            ["TS", "val", value, "ecr", echo] => {
                all.push(PacketOption::Timestamps { value: parse(value)?, echo: parse(echo)? });
            }
            ["ECN", fields @ ..] => all.push(acc_ecn(fields)?),
            _ => return Err(OptionError::Unknown),
        }
    }
    Ok(all)
}

fn parse<T: std::str::FromStr>(number: &str) -> Result<T, OptionError> {
    number.parse().map_err(|_| OptionError::Malformed)
}

fn sack(words: &[&str]) -> Result<PacketOption, OptionError> {
    let mut blocks = [(0, 0); 4];
    if words.is_empty() || words.len() > blocks.len() {
        return Err(OptionError::Malformed);
    }
    for (block, word) in blocks.iter_mut().zip(words) {
        let (start, end) = word.split_once(':').ok_or(OptionError::Malformed)?;
        *block = (parse(start)?, parse(end)?);
    }
    Ok(PacketOption::Sack(words.len() as u8, blocks))
}

fn acc_ecn(words: &[&str]) -> Result<PacketOption, OptionError> {
    let mut fields = AccEcnFields::default();
    for pair in words.chunks(2) {
        match pair {
            ["e0b", count] => fields.ect0 = Some(parse(count)?),
            ["ceb", count] => fields.ce = Some(parse(count)?),
            ["e1b", count] => fields.ect1 = Some(parse(count)?),
            _ => return Err(OptionError::Malformed),
        }
    }
    Ok(PacketOption::AccEcn(fields))
}
