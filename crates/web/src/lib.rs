//! The simulator, the form of a link and the capture analyzer for a web page
//! (docs/reference/lab.md): modules with the features `engine`, `form` and `capture`.
//!
//! The exports pass bytes through one input and one output buffer in the module's memory: the page
//! calls `input` with a length, writes there, calls an export, and reads `output_len` bytes at
//! `output`. An export returns 0 and leaves its result there, or 1 and leaves a message. A panic
//! leaves its message, too, and ends the instance. Everything is one thread's.
#![deny(unsafe_code)]

#[cfg(feature = "capture")]
mod capture_session;
#[cfg(feature = "form")]
mod link_form;
#[cfg(feature = "engine")]
mod packet_log;
#[cfg(feature = "form")]
mod page_sources;
#[cfg(feature = "engine")]
mod run_session;
#[cfg(feature = "form")]
mod scenario_form;

#[cfg(feature = "capture")]
use capture_session::CaptureSession;
#[cfg(feature = "engine")]
use run_session::RunSession;
use std::cell::RefCell;
use std::panic;

thread_local! {
    static PAGE: RefCell<Page> = const { RefCell::new(Page::new()) };
}

/// The state behind the exports.
struct Page {
    input: Vec<u8>,
    output: Vec<u8>,
    #[cfg(feature = "engine")]
    run: Option<RunSession>,
    #[cfg(feature = "capture")]
    capture: Option<CaptureSession>,
}

impl Page {
    const fn new() -> Page {
        Page {
            input: Vec::new(),
            output: Vec::new(),
            #[cfg(feature = "engine")]
            run: None,
            #[cfg(feature = "capture")]
            capture: None,
        }
    }

    #[cfg(feature = "engine")]
    fn run(&mut self) -> Result<&mut RunSession, String> {
        self.run.as_mut().ok_or_else(|| "no run is open".into())
    }

    #[cfg(feature = "capture")]
    fn capture(&mut self) -> Result<&mut CaptureSession, String> {
        self.capture.as_mut().ok_or_else(|| "no capture is open".into())
    }

    #[cfg(any(feature = "engine", feature = "form"))]
    fn input_text(&self) -> Result<&str, String> {
        str::from_utf8(&self.input).map_err(|error| error.to_string())
    }

    /// The input, which is JSON.
    #[cfg(feature = "form")]
    fn input_value<T: serde::de::DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_slice(&self.input).map_err(|error| error.to_string())
    }
}

/// Calls `act` and stores its result, or its message, in the output buffer.
fn with_page(act: impl FnOnce(&mut Page) -> Result<Vec<u8>, String>) -> u32 {
    PAGE.with_borrow_mut(|page| {
        let (output, status) = match act(page) {
            Ok(output) => (output, 0),
            Err(message) => (message.into_bytes(), 1),
        };
        page.output = output;
        status
    })
}

fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(value).map_err(|error| error.to_string())
}

// The attribute counts as unsafe because two functions of one name would collide at link time. No
// other export of the module has these names.
#[allow(unsafe_code)]
mod exports {
    use super::{PAGE, panic};

    /// Keeps the message of a panic.
    #[unsafe(no_mangle)]
    pub extern "C" fn start() {
        #[cfg(feature = "form")]
        ackclock_scenario::sources::install(&super::page_sources::PageSources);
        panic::set_hook(Box::new(|info| {
            PAGE.with(|page| {
                if let Ok(mut page) = page.try_borrow_mut() {
                    page.output = info.to_string().into_bytes();
                }
            });
        }));
    }

    /// Room for `len` bytes of input.
    #[unsafe(no_mangle)]
    pub extern "C" fn input(len: usize) -> *mut u8 {
        PAGE.with_borrow_mut(|page| {
            page.input.clear();
            page.input.resize(len, 0);
            page.input.as_mut_ptr()
        })
    }

    #[unsafe(no_mangle)]
    pub extern "C" fn output() -> *const u8 {
        PAGE.with_borrow(|page| page.output.as_ptr())
    }

    #[unsafe(no_mangle)]
    pub extern "C" fn output_len() -> usize {
        PAGE.with_borrow(|page| page.output.len())
    }
}

/// The exports of the simulator.
#[cfg(feature = "engine")]
#[allow(unsafe_code)]
mod run_exports {
    use super::{PAGE, RunSession, json, run_session, with_page};

    /// Opens a run of the plan (JSON) in the input.
    #[unsafe(no_mangle)]
    pub extern "C" fn run_open() -> u32 {
        with_page(|page| {
            page.run = None;
            page.run = Some(RunSession::open(page.input_text()?)?);
            Ok(Vec::new())
        })
    }

    /// Advances the run to `until_s`; 1 if the run has ended or there is none.
    #[unsafe(no_mangle)]
    pub extern "C" fn run_advance(until_s: f64) -> u32 {
        PAGE.with_borrow_mut(|page| page.run.as_mut().is_none_or(|run| run.advance(until_s)).into())
    }

    /// The series so far, from these rows of the flows and of the hops on.
    #[unsafe(no_mangle)]
    pub extern "C" fn run_series(flow_row: usize, hop_row: usize) -> u32 {
        with_page(|page| json(&page.run()?.series(flow_row, hop_row)))
    }

    /// The summary of a run that has ended: the JSON of the native engine, byte for byte.
    #[unsafe(no_mangle)]
    pub extern "C" fn run_summary() -> u32 {
        with_page(|page| page.run.take().ok_or("no run is open")?.summary())
    }

    /// What limits each flow: the input is an array of the summary and the plan (JSON).
    #[unsafe(no_mangle)]
    pub extern "C" fn limits() -> u32 {
        with_page(|page| json(&run_session::limits(page.input_text()?)?))
    }

    /// What people feel of the applications of a run: the input is its summary (JSON).
    #[unsafe(no_mangle)]
    pub extern "C" fn felt() -> u32 {
        with_page(|page| json(&run_session::felt(page.input_text()?)?))
    }

    /// The packets of the plan (JSON) in the input from `from_s` to `to_s`, with their times at each
    /// hop.
    #[unsafe(no_mangle)]
    pub extern "C" fn packets(from_s: f64, to_s: f64) -> u32 {
        with_page(|page| json(&run_session::packets(page.input_text()?, from_s, to_s)?))
    }
}

/// The exports of the form: link files, their keys and their values.
#[cfg(feature = "form")]
#[allow(unsafe_code)]
mod form_exports {
    use super::link_form::EditedLink;
    use super::scenario_form::{EditedWorkload, SeededScenario};
    use super::{json, page_sources, with_page};
    use ackclock_scenario::controls::Number;
    use ackclock_scenario::invalid::Invalid;
    use ackclock_scenario::{toml_text, value::Value};

    fn number(unit: &str) -> Result<Number, String> {
        Number::from_name(unit).ok_or_else(|| format!("no unit: {unit}"))
    }

    /// Replaces the host stacks and the recordings that links may name.
    #[unsafe(no_mangle)]
    pub extern "C" fn names() -> u32 {
        with_page(|page| {
            page_sources::install(page.input_value()?);
            Ok(Vec::new())
        })
    }

    /// The hops of a changed link with their controls.
    #[unsafe(no_mangle)]
    pub extern "C" fn link_form() -> u32 {
        with_page(|page| json(&page.input_value::<EditedLink>()?.form()?))
    }

    /// The tunnels of a changed link with their controls.
    #[unsafe(no_mangle)]
    pub extern "C" fn tunnel_form() -> u32 {
        with_page(|page| json(&page.input_value::<EditedLink>()?.tunnel_form()?))
    }

    /// A changed workload with its controls.
    #[unsafe(no_mangle)]
    pub extern "C" fn workload_form() -> u32 {
        with_page(|page| json(&page.input_value::<EditedWorkload>()?.form()?))
    }

    /// The plan of a scenario with a seed.
    #[unsafe(no_mangle)]
    pub extern "C" fn scenario_plan() -> u32 {
        with_page(|page| json(&page.input_value::<SeededScenario>()?.plan()?))
    }

    /// A document as TOML.
    #[unsafe(no_mangle)]
    pub extern "C" fn toml() -> u32 {
        with_page(|page| Ok(toml_text::document(&page.input_value()?).into_bytes()))
    }

    /// A number of the unit in the input as a file has it (JSON).
    #[unsafe(no_mangle)]
    pub extern "C" fn number_written(value: f64) -> u32 {
        with_page(|page| json(&number(page.input_text()?)?.write(value)))
    }

    /// A number of the unit in the input as a person reads it.
    #[unsafe(no_mangle)]
    pub extern "C" fn number_shown(value: f64) -> u32 {
        with_page(|page| Ok(number(page.input_text()?)?.show(value).into_bytes()))
    }

    /// The number of unit and text (an array in the input), or what is allowed.
    #[unsafe(no_mangle)]
    pub extern "C" fn number_parsed() -> u32 {
        with_page(|page| {
            let (unit, text): (String, String) = page.input_value()?;
            let invalid = |Invalid { found, allowed, .. }| format!("found {found}; allowed: {allowed}");
            json(&Value::Float(number(&unit)?.parse(&text).map_err(invalid)?))
        })
    }
}

/// The exports of the capture analyzer.
#[cfg(feature = "capture")]
#[allow(unsafe_code)]
mod capture_exports {
    use super::{CaptureSession, json, with_page};

    /// Opens the capture in the input.
    #[unsafe(no_mangle)]
    pub extern "C" fn capture_open() -> u32 {
        with_page(|page| {
            page.capture = None;
            page.capture = Some(CaptureSession::open(std::mem::take(&mut page.input))?);
            Ok(Vec::new())
        })
    }

    /// Analyzes up to `max` more packets and leaves their number.
    #[unsafe(no_mangle)]
    pub extern "C" fn capture_advance(max: u32) -> u32 {
        with_page(|page| json(&page.capture()?.advance(max)?))
    }

    /// The report of the packets read: the flows with most bytes, at most `max`.
    #[unsafe(no_mangle)]
    pub extern "C" fn capture_report(max: usize) -> u32 {
        with_page(|page| json(&page.capture()?.report(max)))
    }

    /// The packets of one flow (its number from 0) for a time-sequence plot.
    #[unsafe(no_mangle)]
    pub extern "C" fn capture_packets(flow: u32) -> u32 {
        with_page(|page| json(&page.capture()?.packets(flow)))
    }
}
