//! Where logs and memory lie by default: in the state folder that the platform has for programs.
//!
//! A path that begins with `{state}` lies in that folder. Where the working directory holds the
//! logs or the memory of a version that kept them there, and the setting is the default, they are
//! used as before. Without a state folder, as for a user without a home, new ones are made there
//! too.
//!
//! Never uses: what the files hold.

use std::fs;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use super::Settings;

/// What stands for the state folder at the begin of a path.
const STATE: &str = "{state}";
/// The defaults, and where earlier versions had the same, below the working directory.
const LOGS: &str = "{state}/logs";
const FORMER_LOGS: &str = "logs";
const MEMORY: &str = "{state}/memory.sqlite";
const FORMER_MEMORY: &str = "logs/memory.sqlite";
/// Folders in which a log of a match is looked for.
const MAX_FOLDERS: usize = 1000;

/// The state folder: `$XDG_STATE_HOME/panza`, or `~/.local/state/panza`, on Linux, and the folder
/// of local data elsewhere.
pub fn state_folder() -> Option<PathBuf> {
    let folders = ProjectDirs::from("", "", "panza")?;
    let state = folders.state_dir().unwrap_or(folders.data_local_dir());
    Some(state.to_path_buf())
}

impl Settings {
    /// Whether the logs are where earlier versions had them by default.
    pub fn has_former_logs(&self) -> bool {
        self.logs.folder == Path::new(FORMER_LOGS)
    }

    /// Replaces `{state}` in the paths.
    pub(super) fn place(&mut self) {
        let state = state_folder();
        let (logs, memory) = (&mut self.logs.folder, &mut self.memory.path);
        *memory = placed(
            memory,
            MEMORY,
            FORMER_MEMORY,
            state.as_deref(),
            Path::is_file,
        );
        *logs = placed(logs, LOGS, FORMER_LOGS, state.as_deref(), holds_logs);
    }
}

/// A path with `state` for `{state}`. The path `default` becomes `former` where `is_there` says
/// that `former` is in use, and where there is no state folder.
fn placed(
    path: &Path,
    default: &str,
    former: &str,
    state: Option<&Path>,
    is_there: impl Fn(&Path) -> bool,
) -> PathBuf {
    let Ok(inside) = path.strip_prefix(STATE) else {
        return path.to_path_buf();
    };
    let is_default = path == Path::new(default);
    match state {
        _ if is_default && is_there(Path::new(former)) => former.into(),
        Some(state) => state.join(inside),
        None if is_default => former.into(),
        None => inside.to_path_buf(),
    }
}

/// Whether a folder holds the log of a match.
fn holds_logs(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    let mut entries = entries.flatten().take(MAX_FOLDERS);
    entries.any(|entry| entry.path().join("events.jsonl").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_lie_in_the_state_folder_unless_former_ones_are_there() {
        let at = |path: &str, state: Option<&str>, is_there: bool| {
            let state = state.map(Path::new);
            placed(Path::new(path), LOGS, FORMER_LOGS, state, |_| is_there)
        };
        let state = Some("/home/ada/.local/state/panza");
        let new = Path::new("/home/ada/.local/state/panza/logs");
        assert_eq!(at(LOGS, state, false), new);
        assert_eq!(at(LOGS, state, true), Path::new("logs"));
        assert_eq!(at(LOGS, None, false), Path::new("logs"));
        // What somebody has chosen is where they say.
        let other = Path::new("/home/ada/.local/state/panza/other");
        assert_eq!(at("{state}/other", state, true), other);
        assert_eq!(at("{state}/other", None, true), Path::new("other"));
        assert_eq!(at("elsewhere", state, true), Path::new("elsewhere"));
    }

    #[test]
    fn a_folder_holds_logs_if_a_match_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!holds_logs(&folder.path().join("missing")));
        fs::create_dir_all(folder.path().join("others")).unwrap();
        fs::write(folder.path().join("server.log"), "").unwrap();
        assert!(!holds_logs(folder.path()));
        fs::create_dir_all(folder.path().join("m")).unwrap();
        fs::write(folder.path().join("m/events.jsonl"), "").unwrap();
        assert!(holds_logs(folder.path()));
    }
}
