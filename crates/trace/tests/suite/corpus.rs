//! Corpus of unusual, damaged and hostile captures. Each is analyzed or rejected as in
//! `corpus.txt`. Inputs that a fuzzer finds are added to it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

#[test]
fn corpus_results_equal_corpus_txt() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|e| e == "bin"));
    names.sort();
    let mut results = String::new();
    for path in names {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        writeln!(results, "{name}: {}", crate::full_analysis::analyze(fs::read(&path).unwrap())).unwrap();
    }
    let expected = folder.join("corpus.txt");
    if std::env::var_os("ACKCLOCK_WRITE_CORPUS").is_some() {
        fs::write(&expected, &results).unwrap();
    }
    assert_eq!(results, fs::read_to_string(&expected).unwrap());
}
