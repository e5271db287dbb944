//! Starts the players of one match, confined to cores, and waits until they answer.
//!
//! A player is ready when it answers INFO and is not busy. One that is not ready in time makes no
//! fault: the match has no result and can be played later.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::plan::{Contestant, Entry, PORT, SEED};
use crate::game_manager::wire::{Address, NoAnswer, ask};
use crate::game_manager::{Seat, SeatPlayer};
use crate::players::Player;
use panza_cli::{Child, child};
use panza_sync::CoreId;

/// Time limit of one INFO.
const ANSWER: Duration = Duration::from_secs(2);
/// Time between two INFOs.
const PAUSE: Duration = Duration::from_millis(50);

/// A player of a match; it ends with [`Seated::leave`], a process also when this is dropped.
#[derive(Debug)]
pub struct Seated {
    pub seat: Seat,
    running: Running,
}

#[derive(Debug)]
enum Running {
    Player(Player),
    Child(Child),
}

#[derive(Debug)]
pub struct Conditions<'a> {
    pub seed: u64,
    pub core: Option<CoreId>,
    /// The folder for its output, and the name of the file.
    pub log: Option<(&'a Path, String)>,
}

impl Seated {
    pub fn start(
        player: &Contestant,
        conditions: &Conditions<'_>,
        runtime: &Handle,
    ) -> anyhow::Result<Self> {
        let (argv, environment) = match &player.entry {
            Entry::Player { spec, settings } => {
                let started = Player::start(spec, settings, false, conditions.seed, runtime)?;
                return Ok(Self {
                    seat: started.seat().clone(),
                    running: Running::Player(started),
                });
            }
            Entry::Command { argv, environment } => (argv, environment),
        };
        let port = child::free_port().context("no free port")?;
        let (seed, port_text) = (conditions.seed.to_string(), port.to_string());
        let mut words = argv
            .iter()
            .map(|word| word.replace(PORT, &port_text).replace(SEED, &seed));
        let mut command = Command::new(words.next().context("no program to start")?);
        command.args(words).envs(environment).stdin(Stdio::null());
        match &conditions.log {
            Some((folder, name)) => {
                let log = log_file(folder, name)?;
                command.stdout(log.try_clone()?).stderr(log);
            }
            None => {
                command.stdout(Stdio::null()).stderr(Stdio::null());
            }
        }
        let child = Child::start(command, conditions.core)?;
        let host = "127.0.0.1".to_string();
        Ok(Self {
            seat: Seat {
                name: player.name.clone(),
                player: SeatPlayer::Remote(Address { host, port }),
            },
            running: Running::Child(child),
        })
    }

    /// Waits until it is ready; false when `cancelled` became true meanwhile.
    pub fn wait_until_ready(
        &mut self,
        patience: Duration,
        runtime: &Handle,
        cancelled: &watch::Receiver<bool>,
    ) -> anyhow::Result<bool> {
        let SeatPlayer::Remote(address) = &self.seat.player else {
            return Ok(true);
        };
        let until = Instant::now() + patience;
        while !*cancelled.borrow() {
            let info = "( INFO )".to_string();
            let answer = ask(address, &self.seat.name, "", info, ANSWER, ANSWER);
            let why = match runtime.block_on(answer) {
                Ok(answer) if !answer.text.to_ascii_lowercase().contains("busy") => {
                    return Ok(true);
                }
                Ok(_) => "it is busy with another match".to_string(),
                Err(NoAnswer::Timeout) => "no answer to INFO".to_string(),
                Err(NoAnswer::Connection(why)) => why,
            };
            if let Running::Child(child) = &mut self.running
                && let Some(status) = child.ended()
            {
                bail!("it ended with {status} before it was ready");
            }
            if Instant::now() >= until {
                bail!("not ready after {} s: {why}", patience.as_secs_f64());
            }
            std::thread::sleep(PAUSE);
        }
        Ok(false)
    }

    pub fn leave(self, runtime: &Handle) {
        match self.running {
            Running::Player(player) => player.shut_down(runtime),
            Running::Child(child) => drop(child),
        }
    }
}

fn log_file(folder: &Path, name: &str) -> anyhow::Result<File> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let path = folder.join(name);
    File::create(&path).with_context(|| format!("cannot write `{}`", path.display()))
}
