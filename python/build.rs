//! Lists the rulesheets of `gdl-games` for embedding, and tells the linker of macOS that the
//! interpreter brings its symbols.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    pyo3_build_config::add_extension_module_link_args();
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = root.join("../gdl-games");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "gdl"));
    paths.sort();
    let mut source = String::from("&[\n");
    for path in paths {
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else {
            continue;
        };
        writeln!(source, "    ({name:?}, include_str!({path:?})),").expect("a string takes all");
    }
    source.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded_games.rs"), source).expect("the output folder is writable");
}
