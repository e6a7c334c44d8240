//! The types of the documents' parts that the crates make.

use ackclock_contract::{Document, Types};
use ackclock_sim::catalogue::Catalogue;
use pyo3::prelude::*;

/// Name, text, and keys of a type.
type TypeRow = (String, &'static str, Vec<KeyRow>);

/// Name, text and Python annotation of a key, and whether every document has it.
type KeyRow = (String, &'static str, String, bool);

/// The types of the documents' parts, each after those that it has. A name in an annotation is that
/// of a type.
#[pyfunction]
pub fn document_types() -> Vec<TypeRow> {
    let mut types = Types::default();
    ackclock_sim::summary::Summary::shape(&mut types);
    ackclock_diagnose::limit::FlowExplanation::shape(&mut types);
    ackclock_trace::report::Report::shape(&mut types);
    crate::link_fit::FitReport::shape(&mut types);
    ackclock_fit::LinkShape::shape(&mut types);
    Catalogue::shape(&mut types);
    crate::diagnosis::FindingText::shape(&mut types);
    #[cfg(target_os = "linux")]
    of_live_traffic(&mut types);
    let row = |of: &ackclock_contract::StructType| {
        let keys = of.fields.iter().map(|field| (field.name.clone(), field.text, field.shape.python(), field.required));
        (of.name.clone(), of.text, keys.collect())
    };
    types.structs().iter().map(row).collect()
}

#[cfg(target_os = "linux")]
fn of_live_traffic(types: &mut Types) {
    ackclock_emu::EmulationReport::shape(types);
    ackclock_programs::ProgramRow::shape(types);
    ackclock_measure::stamp::sender::StampResults::shape(types);
    ackclock_measure::estimate::responsiveness::Responsiveness::shape(types);
    ackclock_measure::estimate::results::SessionResults::shape(types);
    crate::measurement::SessionWelcome::<'_>::shape(types);
}
