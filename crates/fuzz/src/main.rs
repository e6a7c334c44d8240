//! Gives mutated captures and packetdrill scripts to the analyzer and the script player, for a
//! bounded time.
//!
//!     ackclock-fuzz run MINUTES OUT [--seed N] [--first N] CORPUS...
//!     ackclock-fuzz play FILE..
//!
//! `run` makes input after input from the files of the corpus folders; an input is fixed by the corpus,
//! the seed and its number. An input that panics or takes longer than 20 s is written to the folder OUT
//! with its name, and the command that plays it again is printed; each place of the source counts once.
//! The exit status is 1 if there is any. A run that ends by a signal leaves `OUT/current` with seed and
//! number of the input.
//!
//! `play` plays files: a packetdrill script (`.pkt`), a log of a QUIC endpoint (`.qlog`, `.sqlog`), one capture,
//! or two captures of one path.
#![expect(clippy::disallowed_methods, reason = "no model runs here: a driver that ends after a time")]

mod bytes;
mod corpus;
mod draw;
mod packets;
mod retransmission_bound;
mod target;

use corpus::Corpus;
use std::collections::BTreeMap;
use std::error::Error;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs};
use target::Input;

/// Maximum time of one input.
const MAX_TIME: Duration = Duration::from_secs(20);
const WATCH_INTERVAL: Duration = Duration::from_millis(200);
/// File with the number of the input that is being played.
const CURRENT: &str = "current";

type Failed = Box<dyn Error>;

struct RunConfig {
    time: Duration,
    out: PathBuf,
    seed: u64,
    first: u64,
    corpus: Vec<PathBuf>,
}

impl RunConfig {
    fn parse(arguments: &[String]) -> Result<RunConfig, Failed> {
        let [minutes, out, rest @ ..] = arguments else { return Err(USAGE.into()) };
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let time = Duration::try_from_secs_f64(minutes.parse::<f64>()? * 60.0)?;
        let mut config = RunConfig { time, out: out.into(), seed: now, first: 0, corpus: Vec::new() };
        let mut rest = rest.iter();
        while let Some(argument) = rest.next() {
            let mut number = || rest.next().ok_or(USAGE)?.parse::<u64>().map_err(|error| error.to_string());
            match argument.as_str() {
                "--seed" => config.seed = number()?,
                "--first" => config.first = number()?,
                folder => config.corpus.push(folder.into()),
            }
        }
        Ok(config)
    }
}

const USAGE: &str = "usage: ackclock-fuzz run MINUTES OUT [--seed N] [--first N] CORPUS... | play FILE..";

fn main() -> Result<ExitCode, Failed> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.split_first() {
        Some((command, rest)) if command == "run" => run(RunConfig::parse(rest)?),
        Some((command, files)) if command == "play" => {
            input_of(files)?.play();
            println!("played");
            Ok(ExitCode::SUCCESS)
        }
        _ => Err(USAGE.into()),
    }
}

fn input_of(files: &[String]) -> Result<Input, Failed> {
    match files {
        [script] if script.ends_with(".pkt") => Ok(Input::Script(String::from_utf8_lossy(&fs::read(script)?).into_owned())),
        [log] if log.ends_with("qlog") => Ok(Input::Log(fs::read(log)?)),
        [capture] => Ok(Input::Capture(fs::read(capture)?)),
        [first, second] => Ok(Input::Pair(fs::read(first)?, fs::read(second)?)),
        _ => Err(USAGE.into()),
    }
}

fn run(config: RunConfig) -> Result<ExitCode, Failed> {
    fs::create_dir_all(&config.out)?;
    let mut corpus = Corpus::default();
    config.corpus.iter().try_for_each(|folder| corpus.add_folder(folder))?;
    let (captures, scripts) = corpus.len();
    println!("seed {}, {captures} captures and {scripts} scripts, {:.1} minutes", config.seed, config.time.as_secs_f64() / 60.0);
    let (corpus, config) = (Arc::new(corpus), Arc::new(config));
    let watch = watch(&corpus, &config);
    let place = record_panics();
    let (mut found, begin, mut number) = (BTreeMap::new(), Instant::now(), config.first);
    while begin.elapsed() < config.time {
        watch.store(number + 1, Ordering::Relaxed);
        fs::write(config.out.join(CURRENT), format!("--seed {} --first {number}\n", config.seed))?;
        // A defect of the mutations is no finding, and ends the run with its message.
        let drawn = panic::catch_unwind(AssertUnwindSafe(|| corpus.input(config.seed, number)));
        let Ok(input) = drawn else {
            let place = place.lock().unwrap_or_else(PoisonError::into_inner);
            return Err(format!("input {number} cannot be drawn: {place}").into());
        };
        if panic::catch_unwind(AssertUnwindSafe(|| input.play())).is_err() {
            let place = place.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let count: &mut u64 = found.entry(place.clone()).or_default();
            *count += 1;
            if *count == 1 {
                println!("input {number}: {place}\n  {}", keep(&config.out, config.seed, number, &input)?);
            }
        }
        number += 1;
    }
    fs::remove_file(config.out.join(CURRENT))?;
    println!("{} inputs, {} findings", number - config.first, found.len());
    found.iter().for_each(|(place, count)| println!("{count:>6} times: {place}"));
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes the input's files; returns the command that plays them.
fn keep(out: &Path, seed: u64, number: u64, input: &Input) -> Result<String, Failed> {
    let mut command = "cargo run --package ackclock-fuzz -- play".to_owned();
    for (extension, content) in input.files() {
        let path = out.join(format!("{seed}-{number}.{extension}"));
        fs::write(&path, content)?;
        command += &format!(" {}", path.display());
    }
    Ok(command)
}

/// The message and the place of the last panic, instead of a message for each.
fn record_panics() -> Arc<Mutex<String>> {
    let last = Arc::new(Mutex::new(String::new()));
    let recorded = Arc::clone(&last);
    panic::set_hook(Box::new(move |info| {
        let text = info.payload().downcast_ref::<&str>().copied();
        let text = text.or_else(|| info.payload().downcast_ref::<String>().map(String::as_str));
        let message = text.unwrap_or("a panic").lines().next().unwrap_or_default();
        // The beginning of a message; numbers in it must not make a finding of each input.
        let message: String = message.chars().filter(|c| !c.is_ascii_digit()).take(120).collect();
        let place = info.location().map_or_else(String::new, |at| format!("{}:{}", at.file(), at.line()));
        *recorded.lock().unwrap_or_else(PoisonError::into_inner) = format!("{place}: {message}");
    }));
    last
}

/// A thread that ends the run if an input takes too long. The returned number is that of the current
/// input plus one; zero before the first.
fn watch(corpus: &Arc<Corpus>, config: &Arc<RunConfig>) -> Arc<AtomicU64> {
    let current = Arc::new(AtomicU64::new(0));
    let (watched, corpus, config) = (Arc::clone(&current), Arc::clone(corpus), Arc::clone(config));
    std::thread::spawn(move || {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            std::thread::sleep(WATCH_INTERVAL);
            let now = watched.load(Ordering::Relaxed);
            if now != last {
                (last, since) = (now, Instant::now());
            } else if now > 0 && since.elapsed() > MAX_TIME {
                let number = now - 1;
                let kept = keep(&config.out, config.seed, number, &corpus.input(config.seed, number));
                println!("input {number}: longer than {} s\n  {}", MAX_TIME.as_secs(), kept.unwrap_or_else(|e| e.to_string()));
                std::process::exit(1);
            }
        }
    });
    current
}
