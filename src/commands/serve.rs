//! `panza serve`: the player server.

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::output::Output;
use super::settings_choice::SettingsChoice;
use super::{Outcome, interrupt};
use crate::config::Settings;
use crate::player::Factories;
use crate::{server, telemetry};

/// How long pages that are being made may take when the player ends.
const LAST_PAGES: Duration = Duration::from_secs(1);

/// Arguments of `panza serve`.
#[derive(Args, Debug)]
pub struct ServeArguments {
    /// Where to listen; port 0 picks a free one. [default: setting server.listen]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<String>,
    /// The name that the player gives itself. [default: setting server.name]
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    settings: SettingsChoice,
}

#[derive(Serialize)]
struct Listening {
    listening: String,
    name: String,
    /// Where matches are fetched and looked at, beside the address itself.
    logs: Option<String>,
}

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// Settings that cannot be used, or an address that cannot be listened on.
pub fn run(arguments: &ServeArguments, output: Output) -> anyhow::Result<Outcome> {
    let settings = settings(arguments)?;
    let _console = telemetry::init(settings.logs.level)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Serving is little work, and the other processors are for the search.
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut told = Ok(());
    runtime.block_on(async {
        let shutdown = interrupt::ended();
        let on_listening = |listens: server::Listening| {
            let address = listens.address;
            let listening = Listening {
                listening: address.to_string(),
                name: settings.server.name.clone(),
                logs: listens.logs.map(|logs| logs.to_string()),
            };
            told = output
                .line(format_args!("listening on http://{address}"))
                .and_then(|()| {
                    output.line("a browser shows matches there; /viewer opens stored logs")
                })
                .and_then(|()| match listens.logs {
                    Some(logs) => output.line(format_args!(
                        "matches are fetched by their names from http://{logs}"
                    )),
                    None => Ok(()),
                })
                .and_then(|()| output.object(&listening));
        };
        server::serve(&settings, Factories::standard(), shutdown, on_listening).await
    })?;
    // Pages that are being made must not keep the program.
    runtime.shutdown_timeout(LAST_PAGES);
    told?;
    Ok(Outcome::Holds)
}

fn settings(arguments: &ServeArguments) -> anyhow::Result<Settings> {
    // The arguments of their own come last, so that they win.
    let listen = arguments.listen.iter();
    let listen = listen.map(|listen| format!("server.listen={listen}"));
    let name = arguments.name.iter();
    let name = name.map(|name| format!("server.name={name}"));
    arguments.settings.load(listen.chain(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_their_own_win_over_set() {
        let arguments = ServeArguments {
            listen: Some("127.0.0.1:0".into()),
            name: Some("Ada".into()),
            settings: SettingsChoice {
                config: None,
                set: vec!["server.name=Bob".into(), "search.threads=3".into()],
            },
        };
        let settings = settings(&arguments).unwrap();
        assert_eq!(settings.server.listen.to_string(), "127.0.0.1:0");
        assert_eq!(settings.server.name, "Ada");
        assert_eq!(settings.search.threads, 3);
    }
}
