//! `panza serve`: the player server.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;

use panza_cli::{Outcome, Output, SettingsChoice, interrupt};
use panza_config::{OptionValue, Settings, state_folder};
use panza_player::{Companion, Companions, GameBuilders, Player, search_config};

use panza_server::ServeError;
use panza_sync::allocator;

/// How long unfinished pages may take when the player ends.
const LAST_PAGES: Duration = Duration::from_secs(1);

/// The arguments of `panza serve`.
#[derive(Args, Debug)]
pub struct ServeArguments {
    /// Where to listen; port 0 picks a free one. [default: setting server.listen, 127.0.0.1:9147]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<String>,
    /// The name in the answer to INFO. [default: setting server.name, Panza]
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    settings: SettingsChoice,
}

#[derive(Serialize)]
struct Listening {
    listening: String,
    name: String,
    /// The log service, where matches can be fetched by their ids.
    logs: Option<String>,
}

pub(super) fn run(arguments: &ServeArguments, output: Output) -> anyhow::Result<Outcome> {
    run_with(arguments, output, None)
}

/// As `panza serve`, with other processes that search the matches too.
///
/// # Errors
/// Arguments or settings cannot be used, or the server cannot start.
pub fn run_with(
    arguments: &ServeArguments,
    output: Output,
    companions: Option<Arc<dyn Companions>>,
) -> anyhow::Result<Outcome> {
    allocator::keep_little();
    let settings = settings(arguments)?;
    let _console = panza_telemetry::init(settings.logs.level)?;
    if settings.logs.match_logs
        && let Err(error) = check_folder(&settings.logs.folder)
    {
        tracing::warn!(
            "the log folder `{}` cannot be written, so matches will have no logs: {error}; \
             choose another with --set logs.folder=FOLDER",
            settings.logs.folder.display()
        );
    }
    let mut written = Ok(());
    serve_with(&settings, companions, interrupt::ended, |listens| {
        written = show(&settings, listens, output);
    })?;
    written?;
    Ok(Outcome::Holds)
}

/// A process that searches the matches of such a server, with another seed for each `number`.
///
/// # Errors
/// Settings cannot be used.
pub fn companion(arguments: &ServeArguments, number: u64) -> anyhow::Result<Companion> {
    let settings = settings(arguments)?;
    let seed = settings.search.seed.wrapping_add(number);
    Ok(Companion::new(search_config(&settings.search, seed)))
}

/// Serves a player until what `shutdown` makes is there. `on_listening` is told the addresses.
pub(super) fn serve<F: Future<Output = ()>>(
    settings: &Settings,
    shutdown: impl FnOnce() -> F,
    on_listening: impl FnOnce(panza_server::Listening),
) -> anyhow::Result<()> {
    serve_with(settings, None, shutdown, on_listening)
}

fn serve_with<F: Future<Output = ()>>(
    settings: &Settings,
    companions: Option<Arc<dyn Companions>>,
    shutdown: impl FnOnce() -> F,
    on_listening: impl FnOnce(panza_server::Listening),
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Serving is little work, and the other processors are for the search.
        .worker_threads(2)
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let shutdown = shutdown();
        let builders = GameBuilders::standard();
        let player = || Player::with_companions(settings, builders, companions);
        panza_server::serve_player(settings, player, shutdown, on_listening).await
    });
    // Unfinished pages must not keep the program running.
    runtime.shutdown_timeout(LAST_PAGES);
    served.map_err(|error| {
        let hint = hint(&error);
        anyhow!("{:#}{hint}", anyhow::Error::from(error))
    })
}

fn settings(arguments: &ServeArguments) -> anyhow::Result<Settings> {
    let options = [
        ("--listen", "server.listen", &arguments.listen),
        ("--name", "server.name", &arguments.name),
    ];
    let given = options.into_iter().filter_map(|(option, key, value)| {
        let value = value.as_deref()?;
        Some(OptionValue { option, key, value })
    });
    arguments.settings.load(given)
}

fn show(settings: &Settings, listens: panza_server::Listening, output: Output) -> io::Result<()> {
    let address = listens.address;
    output.line(format_args!("listening on http://{address}"))?;
    output.line(format_args!(
        "a browser shows matches there; http://{address}/play plays against you; Ctrl-C ends"
    ))?;
    show_places(settings, output)?;
    if let Some(logs) = listens.logs {
        let text = "matches can be fetched by their ids from";
        output.line(format_args!("{text} http://{logs}"))?;
    }
    output.object(&Listening {
        listening: address.to_string(),
        name: settings.server.name.clone(),
        logs: listens.logs.map(|logs| logs.to_string()),
    })
}

/// Says where logs and memory are.
fn show_places(settings: &Settings, output: Output) -> io::Result<()> {
    let shown = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    if settings.logs.match_logs {
        let folder = shown(&settings.logs.folder);
        output.line(format_args!(
            "the logs of matches are in {}",
            folder.display()
        ))?;
        if settings.has_former_logs()
            && let Some(state) = state_folder()
        {
            let state = state.join("logs");
            output.line(format_args!(
                "earlier versions had them there by default; the default is now {}",
                state.display()
            ))?;
        }
    }
    if settings.memory.enabled {
        let path = shown(&settings.memory.path);
        output.line(format_args!("what is remembered is in {}", path.display()))?;
    }
    Ok(())
}

/// Whether files can be made in a folder or, where it is not there yet, in the nearest folder
/// above.
fn check_folder(folder: &Path) -> io::Result<()> {
    let folder = std::path::absolute(folder)?;
    let existing = folder.ancestors().find(|folder| folder.exists());
    tempfile::tempfile_in(existing.unwrap_or(&folder)).map(drop)
}

/// What may help against an address that cannot be listened on.
fn hint(error: &ServeError) -> &'static str {
    let ServeError::Listen { source, .. } = error else {
        return "";
    };
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            "; is another panza running? --listen 127.0.0.1:0 picks a free port"
        }
        io::ErrorKind::AddrNotAvailable => {
            "; it is not an address of this machine, --listen 0.0.0.0:9147 listens on all of them"
        }
        io::ErrorKind::PermissionDenied => "; ports below 1024 need special rights",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(listen: &str) -> ServeArguments {
        ServeArguments {
            listen: Some(listen.into()),
            name: Some("Ada".into()),
            settings: SettingsChoice {
                config: None,
                set: vec!["server.name=Bob".into(), "search.threads=3".into()],
            },
        }
    }

    #[test]
    fn options_go_over_set() {
        let settings = settings(&arguments("127.0.0.1:0")).unwrap();
        assert_eq!(settings.server.listen.to_string(), "127.0.0.1:0");
        assert_eq!(settings.server.name, "Ada");
        assert_eq!(settings.search.threads, 3);
    }

    #[test]
    fn errors_name_the_option() {
        let error = settings(&arguments("nowhere")).unwrap_err().to_string();
        assert!(error.starts_with("--listen nowhere: "), "{error}");
    }

    #[test]
    fn a_file_in_the_way_makes_a_folder_unwritable() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(check_folder(&folder.path().join("new/logs")).is_ok());
        assert!(check_folder(&file).is_err());
        assert!(check_folder(&file.join("logs")).is_err());
    }
}
