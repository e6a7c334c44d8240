//! Corpus of unusual, damaged and hostile captures. Each is analyzed or rejected as in
//! `corpus.txt`. Inputs that a fuzzer finds are added to it.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, CachePolicy, PacketFilter};
use ackclock_trace::report::Report;
use std::fmt::Write;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn inputs() -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "bin"));
    paths.sort();
    paths
}

/// Flows that are frozen at each packet of another flow.
#[test]
fn report_of_a_corpus_input_does_not_depend_on_frozen_flows() {
    for path in inputs() {
        let bytes = fs::read(&path).unwrap();
        let report = |policy: CachePolicy| {
            let mut capture = Capture::from_reader(Box::new(Cursor::new(bytes.clone()))).ok()?;
            let mut analysis = Analysis::with_policy(PacketFilter::default(), policy);
            analysis.read(&mut capture, &mut (), u64::MAX).ok()?;
            capture.finish();
            Some(serde_json::to_string(&Report::of(&analysis, &capture)).expect("figures are numbers"))
        };
        let frozen = report(CachePolicy { min_hot: 1, max_hot: 1, idle_ns: -i64::MAX });
        assert_eq!(report(CachePolicy::default()), frozen, "{}", path.display());
    }
}

#[test]
fn corpus_results_equal_corpus_txt() {
    let folder = folder();
    let mut results = String::new();
    for path in inputs() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        writeln!(results, "{name}: {}", crate::full_analysis::analyze(fs::read(&path).unwrap())).unwrap();
    }
    let expected = folder.join("corpus.txt");
    if std::env::var_os("ACKCLOCK_WRITE_CORPUS").is_some() {
        fs::write(&expected, &results).unwrap();
    }
    assert_eq!(results, fs::read_to_string(&expected).unwrap());
}
