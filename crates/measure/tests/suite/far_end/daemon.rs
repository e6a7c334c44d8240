//! `ackclockd` in a process of its own, with a token file and a log in a folder.

use ackclock_measure::net::client::{ClientConfig, MeasurementClient};
use ackclock_measure::token::Token;
use nix::sys::resource::{Resource, setrlimit};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

pub struct Daemon {
    child: Child,
    folder: std::path::PathBuf,
    pub config: ClientConfig,
}

impl Daemon {
    /// Starts the daemon with a limit of descriptors and further options.
    pub fn start(name: &str, descriptors: u64, more: &[&str]) -> Daemon {
        let folder = std::env::temp_dir().join(format!("ackclock-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let (token, log) = (folder.join("token"), folder.join("log"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_ackclockd"));
        command.args(["--port", "0"]).arg("--token-file").arg(&token).arg("--log").arg(&log).args(more).stdout(Stdio::piped());
        let limit = move || {
            setrlimit(Resource::RLIMIT_NOFILE, descriptors, descriptors)?;
            Ok(())
        };
        // SAFETY: setrlimit is async-signal-safe.
        let mut child = unsafe { command.pre_exec(limit) }.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let at: SocketAddr = line.split_whitespace().nth(2).unwrap().parse().unwrap();
        let token = Token::read(&token).unwrap();
        Daemon { child, folder, config: ClientConfig { host: at.ip().to_string(), port: at.port(), token } }
    }

    pub fn at(&self) -> SocketAddr {
        SocketAddr::new(self.config.host.parse().unwrap(), self.config.port)
    }

    pub fn client(&self) -> MeasurementClient {
        MeasurementClient::connect(&self.config, &mut || true).unwrap()
    }

    pub fn log(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.folder.join("log")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap()
    }

    /// Processor time in seconds.
    pub fn cpu(&self) -> f64 {
        let stat = self.proc("stat");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
