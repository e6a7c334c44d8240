//! Runs a plan file and prints its summary: `cargo run --example run_plan -- PLAN.json`.

use ackclock_sim::{Plan, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: run_plan PLAN.json")?;
    let plan = Plan::from_json(&std::fs::read_to_string(path)?)?;
    let result = run(&plan)?;
    println!("{}", serde_json::to_string_pretty(&result.summary)?);
    Ok(())
}
