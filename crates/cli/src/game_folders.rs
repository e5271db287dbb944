//! Folders of rulesheets, whose games are found by name.
//!
//! A folder holds rulesheets, a folder for each game, or both. The folder of a game has a file of
//! metadata that names its rulesheet, and folders `v1`, `v2`, ... of later versions, of which the
//! latest counts. So are the games of the repository `ggp-org/ggp-repository` laid out; a checkout
//! of it has them in `games` or in `war/root/games`.
//!
//! Invariants: a rulesheet that is found lies in its folder; of a folder at most 20,000
//! entries are read.
//!
//! Never uses: rules.

use std::env;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use serde::Deserialize;

use super::arguments::read_limited;

/// The environment variable with folders, separated as in `PATH`.
pub const VARIABLE: &str = "PANZA_GAMES";

/// The folder that is looked into beside the working directory.
pub const BESIDE: &str = "gdl-games";

/// How the names of rulesheets end.
pub const ENDINGS: [&str; 3] = ["gdl", "kif", "hrf"];

/// Entries of a folder that are read at most.
const MAX_ENTRIES: usize = 20_000;
/// Folders of the environment variable that are looked into at most.
const MAX_FOLDERS: usize = 64;
/// Larger files of metadata are refused.
const MAX_METADATA: u64 = 1 << 20;
/// The names of a file of metadata.
const METADATA: [&str; 2] = ["METADATA", "METAFILE"];
/// Where a folder has its games.
const PLACES: [&str; 3] = ["", "games", "war/root/games"];

/// A rulesheet in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Its file.
    pub file: PathBuf,
    /// The title that the metadata give the game.
    pub title: Option<String>,
}

/// What is read of a file of metadata.
#[derive(Deserialize)]
struct Metadata {
    rulesheet: String,
    #[serde(rename = "gameName")]
    title: Option<String>,
}

/// All folders, in the order in which they are looked into: those of the settings, those of the
/// environment, and the one beside the working directory.
pub fn folders(of_settings: &[PathBuf]) -> Vec<PathBuf> {
    let variable = env::var_os(VARIABLE).unwrap_or_default();
    let of_environment = env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
    let mut folders = of_settings.to_vec();
    folders.extend(of_environment.take(MAX_FOLDERS));
    for folder in folders.iter().filter(|folder| !folder.is_dir()) {
        tracing::warn!("no folder `{}` to look for games in", folder.display());
    }
    folders.push(PathBuf::from(BESIDE));
    folders
}

/// The rulesheet of this name in a folder.
///
/// # Errors
/// The metadata of the game cannot be used.
pub fn find(folder: &Path, name: &str) -> anyhow::Result<Option<Found>> {
    if !is_plain(name) {
        return Ok(None);
    }
    for place in PLACES {
        let place = folder.join(place);
        for ending in ENDINGS {
            let file = place.join(format!("{name}.{ending}"));
            if file.is_file() {
                return Ok(Some(Found { file, title: None }));
            }
        }
        let found = find_version(&place.join(name))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The names of the games in a folder; none where it cannot be read.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for place in PLACES {
        for entry in entries(&folder.join(place)) {
            let ending = entry.extension().and_then(|ending| ending.to_str());
            let is_rulesheet = ending.is_some_and(|ending| ENDINGS.contains(&ending));
            let name = match is_rulesheet {
                true => entry.file_stem(),
                false if metadata_of(&places_of(&entry)).is_some() => entry.file_name(),
                false => None,
            };
            names.extend(name.and_then(|name| Some(name.to_str()?.to_string())));
        }
    }
    names
}

/// Whether a text is the name of an entry of a folder, and leads nowhere else.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!(parts.next(), Some(Component::Normal(part)) if part == name) && parts.next().is_none()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut entries = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let read = entries.by_ref().take(MAX_ENTRIES).collect();
    if entries.next().is_some() {
        let shown = folder.display();
        tracing::warn!("`{shown}` has more than {MAX_ENTRIES} entries; the others are left out");
    }
    read
}

/// The first file of metadata in these folders.
fn metadata_of(folders: &[PathBuf]) -> Option<PathBuf> {
    let mut files = folders
        .iter()
        .flat_map(|folder| METADATA.map(|name| folder.join(name)));
    files.find(|file| file.is_file())
}

/// The rulesheet of the latest version in the folder of a game; none where it is no such folder.
fn find_version(game: &Path) -> anyhow::Result<Option<Found>> {
    let places = places_of(game);
    let Some(file) = metadata_of(&places) else {
        return Ok(None);
    };
    let shown = file.display();
    let Metadata { rulesheet, title } = serde_json::from_slice(&read_limited(&file, MAX_METADATA)?)
        .with_context(|| {
            format!("`{shown}`: expected a JSON object with the file of the `rulesheet`")
        })?;
    if !is_plain(&rulesheet) {
        bail!("`{shown}`: `rulesheet` is `{rulesheet}`; expected the name of a file");
    }
    let mut files = places.iter().map(|place| place.join(&rulesheet));
    match files.find(|file| file.is_file()) {
        Some(file) => Ok(Some(Found { file, title })),
        None => bail!("`{shown}` names the rulesheet `{rulesheet}`, which is not there"),
    }
}

/// Where a game may have its files: the folders of its versions, the latest first, and its own
/// folder; none where it has no folder.
fn places_of(game: &Path) -> Vec<PathBuf> {
    if !game.is_dir() {
        return Vec::new();
    }
    let numbered = entries(game).into_iter().filter_map(|entry| {
        let number: u32 = entry
            .file_name()?
            .to_str()?
            .strip_prefix('v')?
            .parse()
            .ok()?;
        Some((number, entry))
    });
    let mut numbered: Vec<(u32, PathBuf)> = numbered.collect();
    numbered.sort_unstable_by(|one, other| other.cmp(one));
    let versions = numbered.into_iter().map(|(_, folder)| folder);
    versions.chain([game.to_path_buf()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, file: &str, text: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn rulesheets_are_found_by_name_with_any_ending() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.gdl", "b.kif", "c.hrf", "d.txt"] {
            write(folder.path(), name, "");
        }
        let mut found = names(folder.path());
        found.sort();
        assert_eq!(found, ["a", "b", "c"]);
        let b = find(folder.path(), "b").unwrap().unwrap();
        assert_eq!(b.file, folder.path().join("b.kif"));
        assert_eq!(find(folder.path(), "d").unwrap(), None);
        assert_eq!(find(folder.path(), "..").unwrap(), None);
        assert_eq!(names(&folder.path().join("none")), [""; 0]);
    }

    #[test]
    fn the_latest_version_of_a_game_with_metadata_counts() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = r#"{ "gameName": "A Game", "version": 0, "rulesheet": "rules.kif" }"#;
        for place in ["", "games/", "war/root/games/"] {
            let checkout = folder.path().join(format!("checkout of {}", place.len()));
            write(&checkout, &format!("{place}one/METADATA"), metadata);
            write(&checkout, &format!("{place}one/rules.kif"), "");
            write(&checkout, &format!("{place}two/METAFILE"), metadata);
            for version in ["v2", "v10"] {
                write(&checkout, &format!("{place}two/{version}/rules.kif"), "");
            }
            // The latest version has pictures only.
            write(&checkout, &format!("{place}two/v11/picture.svg"), "");
            write(&checkout, &format!("{place}three/v1/METADATA"), metadata);
            write(&checkout, &format!("{place}three/v1/rules.kif"), "");
            write(&checkout, &format!("{place}none/readme.txt"), "");
            let mut found = names(&checkout);
            found.sort();
            assert_eq!(found, ["one", "three", "two"]);
            let find = |name| find(&checkout, name).unwrap().unwrap();
            assert_eq!(find("one").title.as_deref(), Some("A Game"));
            assert!(find("one").file.ends_with("one/rules.kif"));
            assert!(find("two").file.ends_with("two/v10/rules.kif"));
            assert!(find("three").file.ends_with("three/v1/rules.kif"));
        }
    }

    #[test]
    fn metadata_that_cannot_be_used_are_told_with_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let message = |metadata: &str| {
            write(folder.path(), "game/METADATA", metadata);
            format!("{:#}", find(folder.path(), "game").unwrap_err())
        };
        write(folder.path(), "outside.kif", "");
        for (metadata, expected) in [
            ("{", "expected a JSON object"),
            ("{}", "missing field `rulesheet`"),
            (
                r#"{"rulesheet": "../outside.kif"}"#,
                "expected the name of a file",
            ),
            (r#"{"rulesheet": "no.kif"}"#, "`no.kif`, which is not there"),
        ] {
            let message = message(metadata);
            assert!(message.contains("METADATA`"), "{message}");
            assert!(message.contains(expected), "{message}");
        }
    }
}
