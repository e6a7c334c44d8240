//! The far end of `ackclock measure`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(ackclock_measure::daemon::run(std::env::args_os()))
}
