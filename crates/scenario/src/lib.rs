//! Link files and scenarios: the tables that users write.
//!
//! A key of a file has a type, a unit, bounds, a default, a text, an example, a place in the JSON
//! Schema and in the reference, and a value of the engine. They are said once, in the struct of the
//! table, so that they cannot differ. `derive(Keys)` makes of it the reader with its messages, the
//! schema and the reference.
//!
//! A table is read in this order, and the first error is the message: unknown keys as written,
//! missing keys, values in the order of the struct, checks over several keys. A table that was read
//! is what the user wrote; its configuration of the engine is made in a second step, which knows
//! defaults that depend on other keys.
//!
//! To add a table: write the struct with `#[derive(Keys)]`, name it in [`registry`], and give it a
//! `config`, the engine's configuration, which is its `plan` in JSON. To add a key: add the field with
//! its doc comment and `#[key]`, and its use in `config`. A new kind of value implements
//! [`keys::KeyValue`].

// The derive macro names this crate, here as elsewhere.
extern crate self as ackclock_scenario;

pub mod controls;
pub mod flow;
pub mod former_names;
pub mod hunt;
pub mod invalid;
pub mod keys;
pub mod link;
pub mod measurement_plan;
pub mod number_text;
pub mod registry;
pub mod scenario;
pub mod schema;
pub mod similar;
pub mod sources;
pub mod tcp;
pub mod toml_text;
pub mod units;
pub mod value;
pub mod values;

pub use ackclock_scenario_derive::Keys;
