//! The flows that the index leaves out have no finding.
#![cfg(feature = "capture")]

use ackclock_diagnose::capture::{CaptureDiagnosis, THRESHOLDS};
use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::report::{CaptureIndex, FlowRows, Report};
use ackclock_trace::series::Packets;
use std::path::Path;

#[test]
fn flow_without_evidence_has_no_finding_in_any_capture_of_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/corpus");
    let (mut flows, mut findings, mut without_evidence) = (0, 0, 0);
    for entry in corpus.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let Ok(mut capture) = Capture::open(&path) else { continue };
        let mut analysis = Analysis::new(PacketFilter::default());
        let mut packets = Packets::events();
        while analysis.read(&mut capture, &mut packets, 1000).is_ok_and(|read| read == 1000) {}
        let head = Report::without_flows(&analysis, &capture);
        let rows = FlowRows::of(&analysis);
        let index = CaptureIndex::of(&rows, THRESHOLDS, &head.concurrent, None);
        let diagnosis = CaptureDiagnosis::of_one(&head, rows, &index);
        for number in 0..diagnosis.len() {
            let facts = diagnosis.flow(number);
            let found = facts.claims(&facts.transfers()).len();
            assert!(found == 0 || diagnosis.may_have_findings(number), "{}: flow {}", path.display(), number + 1);
            flows += 1;
            findings += found;
            without_evidence += usize::from(!diagnosis.may_have_findings(number));
        }
    }
    assert!(flows > 10 && findings > 0 && without_evidence > 0, "{flows} {findings} {without_evidence}");
}
