//! Lists the rulesheets of `gdl-games`, so that the program carries a copy of each.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = root.join("gdl-games");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=gdl-games");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .map(|entries| {
            entries
                .filter_map(|entry| rulesheet_name(&entry.ok()?.path()))
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    let mut source = String::from("&[\n");
    for name in names {
        let path = folder.join(format!("{name}.gdl"));
        writeln!(source, "    ({name:?}, include_str!({path:?})),").expect("a string takes all");
    }
    source.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded_games.rs"), source).expect("the build folder can be written");
}

/// The name of a rulesheet: its file name without `.gdl`.
fn rulesheet_name(path: &Path) -> Option<String> {
    let is_rulesheet = path.extension().is_some_and(|extension| extension == "gdl");
    let name = path.file_stem()?.to_str()?.to_string();
    is_rulesheet.then_some(name)
}
