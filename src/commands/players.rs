//! The players of a match by their specification: our own server, the two built-in ones, or any
//! address.
//!
//! Players of our own listen on loopback ports of their own and are spoken to as strangers are, so
//! that a match in one process tests what a match over the network would.

use std::fmt;

use anyhow::Context;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::game_manager::Seat;
use super::game_manager::builtin::{BuiltinPlayer, Style};
use super::game_manager::wire::Address;
use super::settings_choice::SettingsChoice;
use crate::config::Settings;
use crate::player::Factories;
use crate::server;

/// What the command line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlayerSpec {
    /// A server of our own.
    Panza,
    /// Plays random legal moves.
    Random,
    /// Plays the first legal move.
    Legal,
    /// Somebody who listens already.
    Remote(Address),
}

impl PlayerSpec {
    /// Reads `panza`, `random`, `legal` or an address.
    ///
    /// # Errors
    /// Anything else.
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

    /// Whether faults of this player are faults of ours.
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

/// A player that can be asked; one of our own ends with [`Player::shut_down`].
#[derive(Debug)]
pub struct Player {
    seat: Seat,
    running: Running,
}

#[derive(Debug)]
enum Running {
    Elsewhere,
    Builtin {
        _player: BuiltinPlayer,
    },
    Server {
        shutdown: oneshot::Sender<()>,
        task: JoinHandle<Result<(), server::ServeError>>,
    },
}

impl Player {
    /// Starts a player, or notes where it listens. `seed` fixes what it draws, where it is one of
    /// ours; it then has the settings that come with the program, but writes and remembers nothing.
    ///
    /// # Errors
    /// No port or thread could be had.
    pub fn start(spec: &PlayerSpec, seed: u64, runtime: &Handle) -> anyhow::Result<Self> {
        Self::start_with(spec, &SettingsChoice::default(), seed, runtime)
    }

    /// As [`start`](Self::start), with these settings for a server of ours. It writes and remembers
    /// only where a file or a single setting asks for it.
    ///
    /// # Errors
    /// As [`start`](Self::start), and settings that cannot be used.
    pub fn start_with(
        spec: &PlayerSpec,
        settings: &SettingsChoice,
        seed: u64,
        runtime: &Handle,
    ) -> anyhow::Result<Self> {
        let (address, running) = match spec {
            PlayerSpec::Remote(address) => (address.clone(), Running::Elsewhere),
            PlayerSpec::Random | PlayerSpec::Legal => {
                let style = match spec {
                    PlayerSpec::Random => Style::Random,
                    _ => Style::FirstLegal,
                };
                let player = runtime
                    .block_on(BuiltinPlayer::start(style, seed))
                    .context("cannot start a built-in player")?;
                let address = player.address().into();
                (address, Running::Builtin { _player: player })
            }
            PlayerSpec::Panza => start_server(player_settings(settings, seed)?, runtime)?,
        };
        let name = match spec {
            PlayerSpec::Remote(address) => address.host.clone(),
            _ => spec.to_string(),
        };
        Ok(Self {
            seat: Seat { name, address },
            running,
        })
    }

    /// Its place at the table.
    pub fn seat(&self) -> &Seat {
        &self.seat
    }

    /// Ends a player of our own, and waits for it.
    pub fn shut_down(self, runtime: &Handle) {
        if let Running::Server { shutdown, task } = self.running {
            // An error means that it has ended already.
            let _ = shutdown.send(());
            if let Ok(Err(error)) = runtime.block_on(task) {
                tracing::warn!(%error, "a player of our own ended badly");
            }
        }
    }
}

/// The settings of a server of our own.
fn player_settings(choice: &SettingsChoice, seed: u64) -> anyhow::Result<Settings> {
    let mut choice = choice.clone();
    if choice.config.is_none() {
        // What is measured must not hang on what was played before, unless that is asked for.
        let quiet = [
            "logs.match_logs=false",
            "memory.enabled=false",
            "server.log_listen=none",
        ]
        .map(String::from);
        choice.set.splice(0..0, quiet);
    }
    let mut settings = choice.load([])?;
    settings.server.listen = ([127, 0, 0, 1], 0).into();
    // In the settings 0 stands for a seed from the clock.
    settings.search.seed = seed.max(1);
    Ok(settings)
}

fn start_server(settings: Settings, runtime: &Handle) -> anyhow::Result<(Address, Running)> {
    let (shutdown, shut_down) = oneshot::channel();
    let (listening, address) = oneshot::channel();
    let task = runtime.spawn(async move {
        let shutdown = async {
            // Whoever drops the sender wants it to end as well.
            let _ = shut_down.await;
        };
        let on_listening = |listens: server::Listening| {
            // Nobody waits for the address any more: then the shutdown is near.
            let _ = listening.send(listens.address);
        };
        server::serve(&settings, Factories::standard(), shutdown, on_listening).await
    });
    match runtime.block_on(address) {
        Ok(address) => Ok((address.into(), Running::Server { shutdown, task })),
        Err(_) => {
            runtime.block_on(task)??;
            anyhow::bail!("a player of our own ended before it listened")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_of_our_own_leave_nothing_unless_asked() {
        let quiet = player_settings(&SettingsChoice::default(), 0).unwrap();
        assert!(!quiet.memory.enabled && !quiet.logs.match_logs);
        assert_eq!(quiet.search.seed, 1);
        let asked = SettingsChoice {
            config: None,
            set: vec!["memory.enabled=true".into(), "memory.path=m".into()],
        };
        let asked = player_settings(&asked, 7).unwrap();
        assert!(asked.memory.enabled && !asked.logs.match_logs);
        assert_eq!(asked.search.seed, 7);
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
