//! Lists the rulesheets and board files of this folder for embedding.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the folder of this crate can be read")
        .filter_map(|entry| rulesheet_name(&entry.ok()?.path()))
        .collect();
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
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (file, ending) in [("games.rs", ".gdl"), ("boards.rs", ".board.toml")] {
        fs::write(out.join(file), list(ending)).expect("the build folder can be written");
    }
}

/// The name of a rulesheet: its file name without `.gdl`.
fn rulesheet_name(path: &Path) -> Option<String> {
    let is_rulesheet = path.extension().is_some_and(|extension| extension == "gdl");
    let name = path.file_stem()?.to_str()?.to_string();
    is_rulesheet.then_some(name)
}
