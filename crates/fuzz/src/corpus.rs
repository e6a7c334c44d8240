//! Valid and damaged inputs from which mutants are made: files of folders, and conversations.

use crate::bytes;
use crate::draw::{below, one_of};
use crate::packets::Packets;
use crate::target::Input;
use ackclock_core::rng::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Longer files take too long for each mutant.
const MAX_FILE: u64 = 1 << 18;
/// Maximum number of changes at each level.
const MAX_CHANGES: usize = 8;

#[derive(Debug, Default)]
pub struct Corpus {
    captures: Vec<Vec<u8>>,
    packets: Vec<Packets>,
    scripts: Vec<String>,
    /// Logs of QUIC endpoints (`.qlog`, `.sqlog`).
    logs: Vec<Vec<u8>>,
}

impl Corpus {
    /// Adds the captures, scripts (`.pkt`) and logs of a folder and of those in it, in the order of their names.
    pub fn add_folder(&mut self, folder: &Path) -> io::Result<()> {
        let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        paths.sort();
        for path in paths {
            if path.is_dir() {
                self.add_folder(&path)?;
            } else if path.extension().is_some_and(|extension| extension == "pkt") {
                self.scripts.push(String::from_utf8_lossy(&fs::read(&path)?).into_owned());
            } else if path.extension().is_some_and(|extension| extension == "qlog" || extension == "sqlog") {
                self.logs.push(fs::read(path)?);
            } else if fs::metadata(&path)?.len() <= MAX_FILE && is_capture(&path) {
                let file = fs::read(&path)?;
                self.packets.extend(Packets::read(&file).filter(|packets| packets.all.len() <= 1 << 12));
                self.captures.push(file);
            }
        }
        Ok(())
    }

    /// Number of captures and of scripts.
    pub fn len(&self) -> (usize, usize) {
        (self.captures.len(), self.scripts.len())
    }

    /// The input with this number of a seed: the same for the same corpus.
    pub fn input(&self, seed: u64, number: u64) -> Input {
        let rng = &mut Rng::for_element(seed, &format!("input {number}"));
        match below(rng, 9) {
            0 if !self.scripts.is_empty() => self.script(rng),
            1 => {
                let packets = self.drawn_packets(rng);
                Input::Pair(self.mutant(rng, packets.clone()), self.mutant(rng, packets))
            }
            2 | 3 if !self.captures.is_empty() => {
                let mut file = one_of(rng, &self.captures).clone();
                let changes = 1 + below(rng, MAX_CHANGES);
                let other = one_of(rng, &self.captures);
                bytes::mutate(rng, &mut file, changes, other);
                Input::Capture(file)
            }
            4 if !self.logs.is_empty() => {
                let mut log = one_of(rng, &self.logs).clone();
                let changes = 1 + below(rng, MAX_CHANGES);
                let other = one_of(rng, &self.logs);
                bytes::mutate(rng, &mut log, changes, other);
                Input::Log(log)
            }
            _ => {
                let packets = self.drawn_packets(rng);
                Input::Capture(self.mutant(rng, packets))
            }
        }
    }

    fn script(&self, rng: &mut Rng) -> Input {
        let (script, other) = (one_of(rng, &self.scripts), one_of(rng, &self.scripts));
        let changes = 1 + below(rng, MAX_CHANGES);
        Input::Script(bytes::mutate_script(rng, script, changes, other))
    }

    fn drawn_packets(&self, rng: &mut Rng) -> Packets {
        match self.packets.is_empty() || rng.chance(0.5) {
            true => Packets::conversation(rng),
            false => one_of(rng, &self.packets).clone(),
        }
    }

    /// A file with changed packets, lengths and bytes, sometimes compressed.
    fn mutant(&self, rng: &mut Rng, mut packets: Packets) -> Vec<u8> {
        let other = self.drawn_packets(rng);
        let changes = below(rng, MAX_CHANGES + 1);
        packets.mutate(rng, changes, &other);
        let lies = if rng.chance(0.3) { 0.05 } else { 0.0 };
        let mut file = packets.write(rng, lies);
        if rng.chance(0.05) {
            file = gzip(&file);
        }
        if rng.chance(0.3) {
            let changes = 1 + below(rng, MAX_CHANGES);
            let lent = file.clone();
            bytes::mutate(rng, &mut file, changes, &lent);
        }
        file
    }
}

fn is_capture(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    ["bin", "cap", "pcap", "pcapng", "dmp", "erf", "snoop"].iter().any(|extension| name.ends_with(&format!(".{extension}")))
}

fn gzip(file: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(file).and_then(|()| encoder.finish()).expect("memory takes all bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> Corpus {
        let mut corpus = Corpus::default();
        corpus.add_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/corpus")).unwrap();
        corpus.scripts.push("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 < S 0:0(0) win 65535 <mss 1000>".to_owned());
        corpus
    }

    #[test]
    fn inputs_are_equal_when_seed_and_number_are() {
        let (first, second) = (corpus(), corpus());
        for number in 0..50 {
            assert_eq!(first.input(7, number), second.input(7, number));
        }
        assert_ne!(first.input(7, 0), first.input(8, 0));
    }

    #[test]
    fn inputs_play_when_they_are_the_first_of_a_seed() {
        let corpus = corpus();
        let of_kind = |kind: fn(&Input) -> bool| (0..200).filter(|&number| kind(&corpus.input(1, number))).count();
        assert!(of_kind(|input| matches!(input, Input::Script(_))) > 5 && of_kind(|input| matches!(input, Input::Pair(..))) > 5);
        (0..200).for_each(|number| corpus.input(1, number).play());
    }

    #[test]
    fn every_format_is_read_when_packets_are_written_without_changes() {
        let rng = &mut Rng::for_element(1, "formats");
        let packets = Packets::conversation(rng);
        for _ in 0..30 {
            let read = Packets::read(&packets.write(rng, 0.0)).expect("a capture");
            assert_eq!(read.all.len(), packets.all.len());
        }
    }
}
