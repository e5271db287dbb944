//! Who may import whom.
//!
//! The crate is one, so the compiler lets every module reach every other. This
//! test reads the paths in the source and holds them against [`TABLE`], which is
//! the plan of the house: data flows one way, and each module is kept ignorant
//! of what it must not depend on. Test modules may import what they like.

use crate::support::source::{Token, closing, tokens, without_tests};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A module of the crate and the modules it may import beside itself.
struct Row {
    module: &'static str,
    may_import: Allowed,
}

/// What a module may import.
enum Allowed {
    Everything,
    These(&'static [&'static str]),
}

use Allowed::{Everything, These};

/// The plan of the house, from the ground up.
const TABLE: &[Row] = &[
    row("ids", These(&[])),
    row("sync", These(&[])),
    row("config", These(&[])),
    row("telemetry", These(&["ids"])),
    row("memory", These(&[])),
    row("gdl", These(&["ids"])),
    // The independent oracle of all tests: it shares no code with what it checks.
    row("prover", These(&["gdl", "ids"])),
    row("ground", These(&["gdl", "ids"])),
    row("propnet", These(&["ground", "ids"])),
    row("machine", These(&["propnet", "ids"])),
    row("analysis", These(&["gdl", "propnet", "machine", "ids"])),
    row(
        "search",
        These(&["machine", "analysis", "sync", "telemetry", "ids"]),
    ),
    row(
        "player",
        These(&[
            "gdl",
            "prover",
            "ground",
            "propnet",
            "machine",
            "analysis",
            "search",
            "sync",
            "telemetry",
            "memory",
            "config",
            "ids",
        ]),
    ),
    row("server", These(&["player", "gdl", "telemetry", "config"])),
    row("commands", Everything),
    row("main", Everything),
    row("lib", Everything),
];

/// Imports that are allowed to a module only in its files of these names, or in
/// folders of these names: those that compile.
const ONLY_IN: &[(&str, &str, &[&str])] = &[("machine", "propnet", &["compile", "layout", "work"])];

/// Outside crates that only these modules know.
const CRATES: &[(&str, &[&str])] = &[
    ("hyper", &["server", "commands"]),
    ("hyper_util", &["server", "commands"]),
    ("http_body_util", &["server", "commands"]),
    ("tokio", &["server", "commands"]),
    ("rusqlite", &["memory"]),
];

/// The modules that may hold unsafe code.
const UNSAFE_IN: &[&str] = &["sync", "machine"];

const fn row(module: &'static str, may_import: Allowed) -> Row {
    Row { module, may_import }
}

#[test]
fn every_module_imports_only_what_its_row_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = rust_files(&root);
    assert!(files.iter().any(|file| file.ends_with("lib.rs")));
    let mut test_files = BTreeSet::new();
    let mut read = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("the source can be read");
        let name = file.strip_prefix(&root).expect("it lies in src").to_owned();
        let (code, test_modules) = without_tests(&tokens(&text));
        let folder = module_folder(&name);
        for module in test_modules {
            test_files.insert(folder.join(&module));
        }
        read.push((name, code));
    }
    let faults: Vec<String> = read
        .iter()
        .filter(|(name, _)| {
            // A test module in its own file, or in a folder below that.
            let module = name.with_extension("");
            !module.ancestors().any(|part| test_files.contains(part))
        })
        .flat_map(|(name, code)| faults(name, code))
        .collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Every `.rs` file below `folder`, in a fixed order.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Where the child modules of the file `name` lie, from `src`.
fn module_folder(name: &Path) -> PathBuf {
    match name.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib" | "main") => name.parent().unwrap_or(Path::new("")).to_path_buf(),
        _ => name.with_extension(""),
    }
}

/// The modules that the file `name` (from `src`) stands for, outermost first:
/// `search/graph/mod.rs` is `search`, `graph`. The crate root has none.
fn module_path(name: &Path) -> Vec<String> {
    let folder = module_folder(name);
    let parts = folder
        .iter()
        .map(|part| part.to_string_lossy().into_owned());
    parts.collect()
}

/// What is wrong with the file `name` (from `src`), whose code, without tests, is
/// `code`.
fn faults(name: &Path, code: &[Token]) -> Vec<String> {
    let path = module_path(name);
    let root_file = name.file_stem().map(|stem| stem.to_string_lossy());
    let root_file = root_file.unwrap_or_default();
    let module = path.first().map_or(&*root_file, String::as_str);
    let place = |line: usize| format!("src/{}:{line}", name.display());
    let Some(row) = TABLE.iter().find(|row| row.module == module) else {
        return vec![format!(
            "{}: the module `{module}` is not in the table of tests/layering.rs; add its row",
            place(1)
        )];
    };
    let mut faults = Vec::new();
    for (imported, line) in imports(code) {
        if let Err(allowed) = may_import(row, name, &imported) {
            faults.push(format!(
                "{}: `{module}` imports `{imported}`; {allowed}",
                place(line)
            ));
        }
    }
    for line in supers_that_reach_the_root(code, path.len()) {
        faults.push(format!(
            "{}: `super` leads out of `{module}`; write the path from `crate::`",
            place(line)
        ));
    }
    for (outside, knowers) in CRATES {
        for line in uses_of_crate(code, outside) {
            if !knowers.contains(&module) {
                faults.push(format!(
                    "{}: `{module}` uses the crate `{outside}`; allowed in {} only",
                    place(line),
                    knowers.join(", ")
                ));
            }
        }
    }
    for token in code.iter().filter(|token| token.text == "unsafe") {
        if !UNSAFE_IN.contains(&module) {
            faults.push(format!(
                "{}: `unsafe` in `{module}`; allowed in {} only",
                place(token.line),
                UNSAFE_IN.join(", ")
            ));
        }
    }
    faults
}

/// Whether `row` allows its file `name` to import the module `imported`; if not,
/// what it allows.
fn may_import(row: &Row, name: &Path, imported: &str) -> Result<(), String> {
    if imported == row.module {
        return Ok(());
    }
    let modules = match row.may_import {
        Everything => return Ok(()),
        These(modules) => modules,
    };
    if !TABLE.iter().any(|row| row.module == imported) {
        return Err("no module of that name is in the table of tests/layering.rs".to_string());
    }
    if !modules.contains(&imported) {
        return Err(match modules {
            [] => "it may import no other module".to_string(),
            _ => format!("it may import {}", modules.join(", ")),
        });
    }
    let only_in = ONLY_IN
        .iter()
        .find(|(module, limited, _)| *module == row.module && *limited == imported);
    match only_in {
        Some((_, _, places)) => {
            let path = name.with_extension("");
            let is_one = |part: &std::ffi::OsStr| places.iter().any(|place| part == *place);
            match path.iter().any(is_one) {
                true => Ok(()),
                false => Err(format!(
                    "it may do so only in files or folders called {}",
                    places.join(", ")
                )),
            }
        }
        None => Ok(()),
    }
}

/// The modules named right after `crate::`, in `use` lines, groups and paths,
/// with their lines. A glob or the crate itself is `*`.
fn imports(code: &[Token]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, token) in code.iter().enumerate() {
        if token.text != "crate"
            || at
                .checked_sub(1)
                .is_some_and(|at| code[at].text == "extern")
        {
            continue;
        }
        match code.get(at + 1).map(|next| next.text.as_str()) {
            Some("::") => first_names(code, at + 2, &mut found),
            // `use crate as c` hides every path behind another name.
            Some("as") => found.push(("*".to_string(), token.line)),
            // `pub(crate)` and the like.
            _ => {}
        }
    }
    found
}

/// The first name of the path, or of each path of the group, that starts at `at`.
fn first_names(code: &[Token], at: usize, found: &mut Vec<(String, usize)>) {
    let Some(token) = code.get(at) else { return };
    match token.text.as_str() {
        "{" => {
            for item in group_items(code, at) {
                first_names(code, item, found);
            }
        }
        "self" => found.push(("*".to_string(), token.line)),
        name => found.push((name.to_string(), token.line)),
    }
}

/// Where the paths of the group that opens at `open` start.
fn group_items(code: &[Token], open: usize) -> Vec<usize> {
    let end = closing(code, open).unwrap_or(code.len());
    let mut items = Vec::new();
    let mut at = open + 1;
    while at < end {
        items.push(at);
        // To behind the next comma of this group.
        while at < end && code[at].text != "," {
            at = match code[at].text.as_str() {
                "{" => closing(code, at).unwrap_or(end) + 1,
                _ => at + 1,
            };
        }
        at += 1;
    }
    items
}

/// The lines on which a chain of `super` leads to the crate root, in a file whose
/// module lies `depth` below the root.
fn supers_that_reach_the_root(code: &[Token], depth: usize) -> Vec<usize> {
    let mut lines = Vec::new();
    // How deep the braces were where each surrounding inline module opened.
    let mut inline: Vec<usize> = Vec::new();
    let mut braces = 0_usize;
    for (at, token) in code.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| code[at].text.as_str());
        match token.text.as_str() {
            "{" => {
                if before(2) == "mod" {
                    inline.push(braces);
                }
                braces += 1;
            }
            "}" => {
                braces = braces.saturating_sub(1);
                if inline.last() == Some(&braces) {
                    inline.pop();
                }
            }
            // The start of a chain; `pub(super)` names no path.
            "super" if before(1) != "::" => {
                let levels = highest_super(code, at);
                let here = depth + inline.len();
                let names_a_path = code.get(at + 1).is_some_and(|next| next.text == "::");
                if names_a_path && here > 0 && levels >= here {
                    lines.push(token.line);
                }
            }
            _ => {}
        }
    }
    lines
}

/// How many levels the chain of `super` that starts at `at` climbs, groups
/// behind it included.
fn highest_super(code: &[Token], at: usize) -> usize {
    let text = |at: usize| code.get(at).map_or("", |token| token.text.as_str());
    match text(at) {
        "super" if text(at + 1) == "::" => 1 + highest_super(code, at + 2),
        "super" => 1,
        "{" => group_items(code, at)
            .into_iter()
            .map(|item| highest_super(code, item))
            .max()
            .unwrap_or(0),
        _ => 0,
    }
}

/// The lines on which the outside crate `name` is named as one.
fn uses_of_crate(code: &[Token], name: &str) -> Vec<usize> {
    let text = |at: usize| code.get(at).map_or("", |token| token.text.as_str());
    let mut lines = Vec::new();
    for (at, token) in code.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", text);
        // `a::tokio` is another thing of that name, `::tokio` is the crate.
        let inside = before == "::" && at >= 2 && is_name(text(at - 2));
        let named = text(at + 1) == "::" || matches!(before, "use" | "crate");
        if token.text == name && named && !inside {
            lines.push(token.line);
        }
    }
    lines
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text != "use"
}

#[cfg(test)]
mod scanner {
    use super::*;

    /// The faults of a file of this name and content.
    fn check(name: &str, text: &str) -> Vec<String> {
        let (code, _) = without_tests(&tokens(text));
        faults(Path::new(name), &code)
    }

    #[test]
    fn allowed_imports_pass() {
        let text = "
            //! See crate::server.
            use crate::{gdl::{self, Term}, ids};
            use std::{fmt, io};
            pub(crate) fn f(t: &crate::gdl::Term) -> super::Thing { \"crate::propnet\"; todo(t) }
            pub(in crate::ground) use self::inner::X;
            #[cfg(test)] mod tests { use crate::{prover, server}; use super::super::super::x; }
        ";
        assert_eq!(check("ground/rules.rs", text), Vec::<String>::new());
    }

    #[test]
    fn a_forbidden_import_is_named_with_its_place() {
        assert_eq!(
            check("prover.rs", "\nuse crate::ground::Rule;\n"),
            ["src/prover.rs:2: `prover` imports `ground`; it may import gdl, ids"]
        );
        assert_eq!(
            check("ids.rs", "fn f() { crate::gdl::parse() }"),
            ["src/ids.rs:1: `ids` imports `gdl`; it may import no other module"]
        );
    }

    #[test]
    fn groups_are_read_to_the_last_path() {
        let text = "use crate::{\n gdl::{parse::{a, b}, c},\n {ids, propnet::Gate},\n search,\n};";
        let expected = [
            "src/prover.rs:3: `prover` imports `propnet`; it may import gdl, ids",
            "src/prover.rs:4: `prover` imports `search`; it may import gdl, ids",
        ];
        assert_eq!(check("prover.rs", text), expected);
    }

    #[test]
    fn macros_globs_and_other_names_for_the_crate_are_seen() {
        assert_eq!(
            check("gdl.rs", "macro_rules! m { () => { $crate::search::x } }").len(),
            1
        );
        for text in [
            "use crate::*;",
            "use crate as c;",
            "use crate::{self as c};",
        ] {
            let faults = check("gdl.rs", text);
            assert_eq!(faults.len(), 1, "{text}");
            assert!(faults[0].contains("imports `*`"), "{faults:?}");
        }
        assert_eq!(check("gdl.rs", "extern crate core;"), Vec::<String>::new());
    }

    #[test]
    fn the_network_is_known_to_the_compiler_of_the_machine_alone() {
        let text = "use crate::propnet::Network;";
        assert!(check("machine/compile.rs", text).is_empty());
        assert!(check("machine/compile/layout.rs", text).is_empty());
        assert!(check("machine/lanes/compile.rs", text).is_empty());
        assert!(check("machine/specialised/layout.rs", text).is_empty());
        assert_eq!(
            check("machine/state.rs", text),
            ["src/machine/state.rs:1: `machine` imports `propnet`; \
              it may do so only in files or folders called compile, layout, work"]
        );
        assert!(check("analysis/factors.rs", text).is_empty());
    }

    #[test]
    fn a_module_without_a_row_is_a_fault_here_and_where_it_is_imported() {
        assert_eq!(
            check("helpers/mod.rs", ""),
            [
                "src/helpers/mod.rs:1: the module `helpers` is not in the table of \
              tests/layering.rs; add its row"
            ]
        );
        assert_eq!(check("player.rs", "use crate::helpers;").len(), 1);
    }

    #[test]
    fn super_may_not_lead_out_of_the_module() {
        let out = "src/search/graph.rs:1: `super` leads out of `search`; \
                   write the path from `crate::`";
        assert_eq!(check("search/graph.rs", "use super::super::gdl;"), [out]);
        assert_eq!(
            check("search/graph.rs", "use super::{a, super::gdl};"),
            [out]
        );
        assert!(check("search/graph.rs", "use super::{a, b::c}; use super::d;").is_empty());
        assert!(check("search/graph.rs", "mod m { use super::super::a; }").is_empty());
        assert_eq!(
            check("search/graph.rs", "mod m { } use super::super::a;"),
            [out]
        );
        assert!(check("search/graph/node.rs", "use super::super::a;").is_empty());
        assert!(check("search/graph/mod.rs", "pub(super) fn f() {}").is_empty());
        assert_eq!(check("config.rs", "use super::gdl;").len(), 1);
        assert!(check("lib.rs", "mod m { }").is_empty());
    }

    #[test]
    fn sockets_and_async_stay_in_their_rooms() {
        assert!(check("server/http.rs", "use hyper::body::Body; use tokio::net;").is_empty());
        assert!(check("commands/serve.rs", "#[tokio::main] fn f() {}").is_empty());
        for text in [
            "use tokio::sync::mpsc;",
            "async fn f() { ::tokio::task::yield_now().await }",
            "use tokio as t;",
            "use {std::io, hyper::Request};",
        ] {
            assert_eq!(check("player/clock.rs", text).len(), 1, "{text}");
        }
        assert!(check("player/clock.rs", "let tokio = x::tokio::y; tokio").is_empty());
    }

    #[test]
    fn unsafe_code_stays_in_its_rooms() {
        assert!(check("sync/ring.rs", "unsafe { x }").is_empty());
        assert!(check("machine/lanes.rs", "unsafe fn f() {}").is_empty());
        assert_eq!(
            check("search/graph.rs", "// unsafe\n\nunsafe { x }"),
            ["src/search/graph.rs:3: `unsafe` in `search`; allowed in sync, machine only"]
        );
    }

    #[test]
    fn files_stand_for_their_modules() {
        for (name, path) in [
            ("lib.rs", vec![]),
            ("config.rs", vec!["config"]),
            ("search/mod.rs", vec!["search"]),
            ("search/graph.rs", vec!["search", "graph"]),
            ("search/graph/mod.rs", vec!["search", "graph"]),
        ] {
            assert_eq!(module_path(Path::new(name)), path);
        }
    }
}
