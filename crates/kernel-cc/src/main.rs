//! `ackclock-kernel-cc load|unload|list [VARIANT...] [--json]`: loads the papers' congestion
//! controls into the running kernel.

mod controls;
mod kernel;
mod pins;
mod privileges;

use std::io::{Write, stdout};
use std::process::ExitCode;

use controls::{Control, by_names};

const USAGE: &str = "ackclock-kernel-cc load|unload|list [--json] [VARIANT...]";

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// Runs the verb, then prints the state of each named congestion control.
fn run(mut arguments: Vec<String>) -> Result<(), String> {
    let json = arguments.iter().any(|argument| argument == "--json");
    arguments.retain(|argument| argument != "--json");
    if arguments.is_empty() {
        return Err(format!("usage: {USAGE}"));
    }
    let verb = arguments.remove(0);
    let controls = by_names(&arguments)?;
    match verb.as_str() {
        "load" => privileges::reduce().and_then(|()| kernel::load(&controls))?,
        "unload" => kernel::unload(&controls)?,
        "list" => {}
        other => return Err(format!("found \"{other}\"; usage: {USAGE}")),
    }
    print(&controls, json)
}

fn print(controls: &[Control], json: bool) -> Result<(), String> {
    let mut lines = Vec::new();
    for &control in controls {
        let state = kernel::state(control)?;
        lines.push(match json {
            true => serde_json::json!({
                "variant": control.variant,
                "kernel_name": control.kernel_name,
                "loaded": state != kernel::LoadState::NotLoaded,
            })
            .to_string(),
            false => format!("{:<10} {:<15} {}", control.variant, control.kernel_name, state.label()),
        });
    }
    let text = if json { format!("[\n  {}\n]\n", lines.join(",\n  ")) } else { lines.join("\n") + "\n" };
    // A closed standard output is no error.
    let _ = stdout().write_all(text.as_bytes());
    Ok(())
}
