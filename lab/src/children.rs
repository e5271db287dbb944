//! One process per game: memory is counted per game, and a crash costs one game.
//!
//! A child is this program again. It writes its findings as JSON lines, and those of a child that
//! crashes or runs out of time are kept.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use panza_cli::child;
use panza_cli::output::progress_bar;
use serde::de::DeserializeOwned;

/// What a child found, and why it did not finish.
#[derive(Clone, PartialEq, Debug)]
pub struct Findings<T> {
    pub found: Vec<T>,
    pub failure: Option<String>,
}

/// Runs this program for each item, `jobs` at the same time and each for at most `limit`, with the
/// arguments that `arguments_for` gives. Calls `on_end` with the item's index, in the order in
/// which the children end.
pub fn run_each<T: DeserializeOwned + Send>(
    items: &[String],
    jobs: u16,
    limit: Duration,
    arguments_for: impl Fn(&str) -> Vec<String> + Sync,
    mut on_end: impl FnMut(usize, Findings<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find this program to start it again")?;
    let progress = progress_bar(items.len() as u64, "games");
    let next = AtomicUsize::new(0);
    let (sender, findings) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..usize::from(jobs).min(items.len()) {
            let (sender, next, program) = (sender.clone(), &next, &program);
            let (progress, arguments_for) = (&progress, &arguments_for);
            scope.spawn(move || {
                while let index = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(item) = items.get(index)
                {
                    progress.set_message(item.clone());
                    let mut command = Command::new(program);
                    command.args(arguments_for(item));
                    if sender.send((index, run(command, limit))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        while let Ok((index, findings)) = findings.recv() {
            progress.inc(1);
            progress.suspend(|| on_end(index, findings))?;
        }
        progress.finish_and_clear();
        Ok(())
    })
}

fn run<T: DeserializeOwned>(command: Command, limit: Duration) -> Findings<T> {
    let failed = |failure| Findings {
        found: Vec::new(),
        failure: Some(failure),
    };
    let captured = match child::capture(command, limit) {
        Ok(captured) => captured,
        Err(error) => return failed(format!("{error:#}")),
    };
    let failure = captured.failure(limit).map(|failure| {
        let message = captured.message_line();
        let colon = if message.is_empty() { "" } else { ": " };
        format!("{failure}{colon}{message}")
    });
    let lines = captured.output.lines();
    let parsed: Result<Vec<T>, _> = match captured.output.ends_with('\n') || failure.is_none() {
        true => lines.map(serde_json::from_str).collect(),
        // A killed child may leave half a line.
        false => lines
            .map_while(|line| serde_json::from_str(line).ok().map(Ok))
            .collect(),
    };
    match parsed {
        Ok(found) => Findings { found, failure },
        Err(error) => failed(failure.unwrap_or(format!("output that is no finding: {error}"))),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run_script(script: &str) -> Findings<u32> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, Duration::from_secs(1))
    }

    #[test]
    fn findings_are_kept_when_the_child_fails() {
        for (script, found, failure) in [
            ("echo 1; echo 2; echo careful >&2", vec![1, 2], None),
            (
                "echo 1; echo no luck >&2; exit 3",
                vec![1],
                Some("ended with exit status: 3: no luck"),
            ),
            (
                "echo 1; kill -9 $$",
                vec![1],
                Some("ended with signal: 9 (SIGKILL)"),
            ),
            (
                "echo 1; printf '2 x'; sleep 60",
                vec![1],
                Some("not done after 1 s"),
            ),
        ] {
            let findings = run_script(script);
            assert_eq!(findings.found, found, "{script}");
            assert_eq!(findings.failure.as_deref(), failure, "{script}");
        }
        let failure = run_script("echo no number").failure.unwrap();
        assert!(
            failure.starts_with("output that is no finding: "),
            "{failure}"
        );
    }
}
