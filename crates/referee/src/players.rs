//! The players of a match by their specification: a server inside this process, one of two trivial
//! players, or any address.
//!
//! Players inside this process listen on loopback ports and get their messages over HTTP, so that a
//! match in one process tests what a match over the network would.

use std::fmt;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::game_manager::wire::Address;
use super::game_manager::{Seat, SeatPlayer};
use panza_cli::SettingsChoice;
use panza_config::Settings;
use panza_player::GameBuilders;
use panza_sync::Random;

/// Time for a player to take a connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// A player as the command line names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlayerSpec {
    /// A server inside this process.
    Panza,
    /// Plays random legal moves.
    Random,
    /// Plays the first legal move.
    Legal,
    /// A player that listens already.
    Remote(Address),
}

impl PlayerSpec {
    /// Reads `panza`, `random`, `legal` or an address.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "panza" => Ok(PlayerSpec::Panza),
            "random" => Ok(PlayerSpec::Random),
            "legal" => Ok(PlayerSpec::Legal),
            _ => text
                .parse()
                .map(PlayerSpec::Remote)
                .map_err(|_| "expected panza, random, legal or http://HOST:PORT".to_string()),
        }
    }

    /// Connects to a player that should listen already, and hangs up.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn reach(&self) -> anyhow::Result<()> {
        let PlayerSpec::Remote(address) = self else {
            return Ok(());
        };
        let unreachable = || format!("the player {address} cannot be reached");
        let mut addresses = (address.host.as_str(), address.port)
            .to_socket_addrs()
            .with_context(unreachable)?
            .peekable();
        while let Some(next) = addresses.next() {
            match TcpStream::connect_timeout(&next, CONNECT_TIME) {
                Ok(_) => return Ok(()),
                Err(error) if addresses.peek().is_none() => {
                    return Err(error).with_context(unreachable);
                }
                Err(_) => {}
            }
        }
        anyhow::bail!("{}: its name has no address", unreachable())
    }

    /// Whether it is part of this program, so that its faults are ours.
    pub fn is_ours(&self) -> bool {
        !matches!(self, PlayerSpec::Remote(_))
    }
}

impl fmt::Display for PlayerSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlayerSpec::Panza => out.write_str("panza"),
            PlayerSpec::Random => out.write_str("random"),
            PlayerSpec::Legal => out.write_str("legal"),
            PlayerSpec::Remote(address) => address.fmt(out),
        }
    }
}

/// A player with an address; one inside this process ends with [`Player::shut_down`].
#[derive(Debug)]
pub struct Player {
    seat: Seat,
    server: Option<Server>,
}

/// A server inside this process.
#[derive(Debug)]
struct Server {
    address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<Result<(), panza_server::ServeError>>,
    _logs: Option<TempDir>,
}

impl Player {
    /// Starts a player inside this process with a seed, or takes the address of another. `settings`
    /// are those of [`PlayerSpec::Panza`]; without a file its log goes to a temporary folder or,
    /// without `is_logged`, nowhere, and its memory is off.
    pub fn start(
        spec: &PlayerSpec,
        settings: &SettingsChoice,
        is_logged: bool,
        seed: u64,
        runtime: &Handle,
    ) -> anyhow::Result<Self> {
        let mut name = spec.to_string();
        let mut server = None;
        let player = match spec {
            PlayerSpec::Remote(address) => {
                name.clone_from(&address.host);
                SeatPlayer::Remote(address.clone())
            }
            PlayerSpec::Random => SeatPlayer::Random(Arc::new(Mutex::new(Random::new(seed)))),
            PlayerSpec::Legal => SeatPlayer::FirstLegal,
            PlayerSpec::Panza => {
                let logs = is_logged.then(tempfile::tempdir).transpose()?;
                let folder = logs.as_ref().map(TempDir::path);
                let settings = player_settings(settings, folder, seed)?;
                let started = server.insert(start_server(settings, logs, runtime)?);
                SeatPlayer::Remote(started.address.into())
            }
        };
        let seat = Seat { name, player };
        Ok(Self { seat, server })
    }

    /// The seat that it plays at.
    pub fn seat(&self) -> &Seat {
        &self.seat
    }

    /// The page that shows the matches of a server inside this process.
    pub fn page(&self) -> Option<String> {
        let server = self.server.as_ref();
        server.map(|server| format!("http://{}/", server.address))
    }

    /// Ends a player inside this process, and waits for its end.
    pub fn shut_down(self, runtime: &Handle) {
        let Some(server) = self.server else { return };
        // An error means that it has ended already.
        let _ = server.shutdown.send(());
        if let Ok(Err(error)) = runtime.block_on(server.task) {
            tracing::warn!("a player inside this process ended with an error: {error}");
        }
    }
}

/// The settings of a server inside this process. Its logs go to `logs` unless `choice` has a
/// folder.
fn player_settings(
    choice: &SettingsChoice,
    logs: Option<&Path>,
    seed: u64,
) -> anyhow::Result<Settings> {
    let mut choice = choice.clone();
    if choice.config.is_none() {
        // Measurements must not depend on earlier matches by default.
        let mut first = vec![
            "memory.enabled=false".to_string(),
            "server.log_listen=none".to_string(),
        ];
        let mut keys = choice.set.iter().filter_map(|item| item.split('=').next());
        let is_chosen = keys.any(|key| matches!(key.trim(), "logs.folder" | "logs.match_logs"));
        match logs {
            Some(folder) if !is_chosen => first.push(format!("logs.folder={}", folder.display())),
            Some(_) => {}
            None => first.push("logs.match_logs=false".to_string()),
        }
        choice.set.splice(0..0, first);
    }
    let mut settings = choice.load([])?;
    settings.server.listen = ([127, 0, 0, 1], 0).into();
    // In the settings 0 stands for a seed from the clock.
    settings.search.seed = seed.max(1);
    Ok(settings)
}

fn start_server(
    settings: Settings,
    logs: Option<TempDir>,
    runtime: &Handle,
) -> anyhow::Result<Server> {
    let (shutdown, shut_down) = oneshot::channel();
    let (listening, address) = oneshot::channel();
    let task = runtime.spawn(async move {
        let shutdown = async {
            // A dropped sender ends it as well.
            let _ = shut_down.await;
        };
        let on_listening = |listens: panza_server::Listening| {
            // An error means that the shutdown is near.
            let _ = listening.send(listens.address);
        };
        panza_server::serve(&settings, GameBuilders::standard(), shutdown, on_listening).await
    });
    match runtime.block_on(address) {
        Ok(address) => Ok(Server {
            address,
            shutdown,
            task,
            _logs: logs,
        }),
        Err(_) => {
            runtime.block_on(task)??;
            anyhow::bail!("a player inside this process ended before it listened")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_temporary_and_memory_is_off_unless_settings_say_otherwise() {
        let set = |items: &[&str]| SettingsChoice {
            config: None,
            set: items.iter().map(ToString::to_string).collect(),
        };
        let settings = player_settings(&set(&[]), None, 0).unwrap();
        assert!(!settings.memory.enabled && !settings.logs.match_logs);
        assert_eq!(settings.search.seed, 1);

        let folder = Some(Path::new("temporary"));
        let settings = player_settings(&set(&["memory.enabled=true"]), folder, 7).unwrap();
        assert!(settings.memory.enabled && settings.logs.match_logs);
        assert_eq!(settings.logs.folder, Path::new("temporary"));
        assert_eq!(settings.search.seed, 7);

        let settings = player_settings(&set(&["logs.match_logs=true"]), folder, 7).unwrap();
        let default = Settings::load(None, &[]).unwrap();
        assert_eq!(settings.logs.folder, default.logs.folder);
    }

    #[test]
    fn specifications_are_read_and_shown() {
        for text in ["panza", "random", "legal", "http://127.0.0.1:9147"] {
            let spec = PlayerSpec::parse(text).unwrap();
            assert_eq!(spec.to_string(), text);
            assert_eq!(spec.is_ours(), !text.starts_with("http"));
        }
        for text in ["Panza", "", "127.0.0.1:9147", "http://127.0.0.1"] {
            let error = PlayerSpec::parse(text).unwrap_err();
            assert_eq!(error, "expected panza, random, legal or http://HOST:PORT");
        }
    }
}
