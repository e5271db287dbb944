//! Lists the files of the pages for embedding.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    // The libraries of the pages have a folder of their own; their names are unique among all.
    let folders = [folder.clone(), folder.join("vendor")];
    let mut paths = Vec::new();
    for folder in &folders {
        let entries = fs::read_dir(folder).expect("the folders of this crate can be read");
        paths.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
    }
    paths.retain(|path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("html" | "css" | "js" | "svg"))
    });
    paths.sort();
    let mut source = String::from("&[\n");
    for path in paths {
        // Of a folder cargo would watch all that is below it: the tests and their modules too.
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.expect("files of the viewer have plain names");
        writeln!(source, "    ({name:?}, include_bytes!({path:?})),").expect("a string takes all");
    }
    source.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("files.rs"), source).expect("the build folder can be written");
}
