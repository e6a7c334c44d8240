//! Captures that are odd, damaged or made to hurt, one file each: all are read or refused, and those that can be read give what
//! `corpus.txt` says. An input that the fuzzer finds is put beside them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

#[test]
fn every_file_of_the_corpus_gives_what_is_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|e| e == "bin"));
    names.sort();
    let mut found = String::new();
    for path in names {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        writeln!(found, "{name}: {}", crate::feed::analyze(fs::read(&path).unwrap())).unwrap();
    }
    let expected = folder.join("corpus.txt");
    if std::env::var_os("ACKCLOCK_WRITE_CORPUS").is_some() {
        fs::write(&expected, &found).unwrap();
    }
    assert_eq!(found, fs::read_to_string(&expected).unwrap());
}
