//! Lists the rulesheets of `gdl-games` and the files of the log viewer for embedding.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = root.join("../..");
    println!("cargo::rerun-if-changed=build.rs");
    embed_games(&root);
    embed_viewer(&root);
}

fn embed_games(root: &Path) {
    let folder = root.join("gdl-games");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)
        .map(|entries| {
            entries
                .filter_map(|entry| rulesheet_name(&entry.ok()?.path()))
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    let list = |ending: &str| {
        let paths = names
            .iter()
            .map(|name| (name, folder.join(format!("{name}{ending}"))));
        let mut source = String::from("&[\n");
        for (name, path) in paths.filter(|(_, path)| path.exists()) {
            writeln!(source, "    ({name:?}, include_str!({path:?})),")
                .expect("a string takes all");
        }
        source.push_str("]\n");
        source
    };
    write_out("embedded_games.rs", &list(".gdl"));
    write_out("embedded_boards.rs", &list(".board.toml"));
}

fn embed_viewer(root: &Path) {
    let folder = root.join("log-viewer");
    println!("cargo::rerun-if-changed={}", folder.display());
    // The libraries of the viewer have a folder of their own; their names are unique among all.
    let folders = [folder.clone(), folder.join("vendor")];
    let entries = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.retain(|path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("html" | "css" | "js" | "svg"))
    });
    paths.sort();
    let mut source = String::from("&[\n");
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.expect("files of the viewer have plain names");
        writeln!(source, "    ({name:?}, include_bytes!({path:?})),").expect("a string takes all");
    }
    source.push_str("]\n");
    write_out("embedded_viewer.rs", &source);
}

fn write_out(name: &str, source: &str) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join(name), source).expect("the build folder can be written");
}

/// The name of a rulesheet: its file name without `.gdl`.
fn rulesheet_name(path: &Path) -> Option<String> {
    let is_rulesheet = path.extension().is_some_and(|extension| extension == "gdl");
    let name = path.file_stem()?.to_str()?.to_string();
    is_rulesheet.then_some(name)
}
