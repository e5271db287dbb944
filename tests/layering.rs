//! Which module may import which.
//!
//! The compiler lets every module of a crate reach every other. These tests read the paths in the
//! source and compare them with [`TABLE`] and the other tables below. Test modules may import
//! anything.

use crate::support::imports::{declarations, module_path, references};
use crate::support::source::{Token, rust_files, tokens, without_tests};
use std::collections::{BTreeMap, BTreeSet};
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

/// The modules of the crate and their imports, lowest first.
const TABLE: &[Row] = &[
    row("ids", These(&[])),
    row("budget", These(&[])),
    row("sync", These(&[])),
    row("config", These(&[])),
    row("telemetry", These(&["ids"])),
    row("memory", These(&[])),
    row("gdl", These(&["ids"])),
    // The independent oracle of all tests: it shares no code with what it checks.
    row("prover", These(&["gdl", "ids"])),
    row("ground", These(&["gdl", "budget", "ids"])),
    row("propnet", These(&["ground", "budget", "ids"])),
    row("machine", These(&["propnet", "budget", "ids"])),
    row(
        "analysis",
        These(&["gdl", "propnet", "machine", "budget", "ids"]),
    ),
    row(
        "search",
        These(&["machine", "analysis", "sync", "telemetry", "ids"]),
    ),
    row(
        "planner",
        These(&[
            "propnet",
            "machine",
            "analysis",
            "sync",
            "telemetry",
            "budget",
            "ids",
        ]),
    ),
    // Sokoban has its own board and searches; the commands join it with the rest.
    row("sokoban", These(&[])),
    row(
        "build",
        These(&[
            "gdl", "prover", "ground", "propnet", "machine", "analysis", "sync", "budget", "ids",
        ]),
    ),
    row(
        "metagame",
        These(&[
            "gdl",
            "propnet",
            "machine",
            "analysis",
            "build",
            "search",
            "memory",
            "budget",
            "telemetry",
            "ids",
        ]),
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
            "build",
            "search",
            "planner",
            "metagame",
            "sync",
            "telemetry",
            "memory",
            "config",
            "ids",
        ]),
    ),
    row("games", These(&[])),
    row(
        "table",
        These(&[
            "gdl",
            "machine",
            "analysis",
            "build",
            "search",
            "player",
            "sync",
            "telemetry",
            "config",
            "ids",
        ]),
    ),
    row(
        "server",
        These(&["table", "player", "games", "gdl", "telemetry", "config"]),
    ),
    row("commands", Everything),
    row("main", Everything),
    row("lib", Everything),
];

/// Imports that a module may have only in files or folders of these names: those that read a
/// network once, when a game is compiled.
const ONLY_IN: &[(&str, &str, &[&str])] =
    &[("machine", "propnet", &["compile", "info", "layout", "work"])];

/// Outside crates, and the modules that may use them.
const CRATES: &[(&str, &[&str])] = &[
    ("hyper", &["server", "commands"]),
    ("hyper_util", &["server", "commands"]),
    ("http_body_util", &["server", "commands"]),
    ("tokio", &["server", "commands"]),
    ("rusqlite", &["memory"]),
];

/// The modules that may hold unsafe code.
const UNSAFE_IN: &[&str] = &["sync", "machine"];

/// How a module may use the clock. A module that is not listed may use it freely.
const CLOCKS: &[(&str, Clock)] = &[
    ("ids", Clock::Never),
    ("budget", Clock::Deadlines(&[])),
    ("sync", Clock::Never),
    ("config", Clock::Never),
    ("gdl", Clock::Never),
    ("prover", Clock::Never),
    ("ground", Clock::Deadlines(&[])),
    ("propnet", Clock::Deadlines(&[])),
    // Lanes of several widths are timed against each other.
    ("machine", Clock::Deadlines(&["lanes/machine.rs"])),
    ("search", Clock::Deadlines(&["timing"])),
    // Playouts are counted per second; learning ends when its share of the time is spent.
    ("analysis", Clock::Deadlines(&["sample", "learning"])),
];

/// How a module may use `Instant`.
enum Clock {
    /// Not at all.
    Never,
    /// To compare the present with a deadline that it was given; in these files and folders also to
    /// measure.
    Deadlines(&'static [&'static str]),
}

/// The modules in which also the file of a folder takes part in the order of its parts.
const LAYERED: &[&str] = &["build", "commands", "metagame", "player"];

const fn row(module: &'static str, may_import: Allowed) -> Row {
    Row { module, may_import }
}

/// The source files of the crate without their tests, by their paths from `src`.
fn sources() -> BTreeMap<PathBuf, Vec<Token>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut test_files = BTreeSet::new();
    let mut sources = BTreeMap::new();
    for file in rust_files(&root) {
        let text = fs::read_to_string(&file).expect("the source can be read");
        let name = file.strip_prefix(&root).expect("it is in src").to_owned();
        let (code, test_modules) = without_tests(&tokens(&text));
        let folder: PathBuf = module_path(&name).iter().collect();
        test_files.extend(test_modules.iter().map(|module| folder.join(module)));
        sources.insert(name, code);
    }
    assert!(sources.contains_key(Path::new("lib.rs")));
    // A test module in its own file, or in a folder below that.
    sources.retain(|name, _| {
        let module = name.with_extension("");
        !module.ancestors().any(|part| test_files.contains(part))
    });
    sources
}

#[test]
fn every_module_imports_only_what_its_row_allows() {
    let faults: Vec<String> = sources()
        .iter()
        .flat_map(|(name, code)| faults(name, code))
        .collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_parts_of_a_module_form_no_circle() {
    let circles = circles(&sources());
    assert!(circles.is_empty(), "\n{}\n", circles.join("\n\n"));
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
    for reference in references(code, &path) {
        let imported = reference.path.first().map_or("*", String::as_str);
        if reference.is_super_to_root {
            faults.push(format!(
                "{}: `super` leads out of `{module}`; write the path from `crate::`",
                place(reference.line)
            ));
        } else if let Err(allowed) = may_import(row, name, imported) {
            faults.push(format!(
                "{}: `{module}` imports `{imported}`; {allowed}",
                place(reference.line)
            ));
        }
    }
    for (line, rule) in clock_faults(name, module, code) {
        faults.push(format!("{}: `Instant` in `{module}`; {rule}", place(line)));
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

/// The lines on which the file `name` of `module` uses the clock against [`CLOCKS`], and what is
/// allowed.
fn clock_faults(name: &Path, module: &str, code: &[Token]) -> Vec<(usize, &'static str)> {
    let Some((_, clock)) = CLOCKS.iter().find(|(limited, _)| *limited == module) else {
        return Vec::new();
    };
    let text = |at: usize| code.get(at).map_or("", |token| token.text.as_str());
    let uses = (0..code.len()).filter(|&at| text(at) == "Instant");
    match clock {
        Clock::Never => uses
            .map(|at| (code[at].line, "this module uses no clock"))
            .collect(),
        Clock::Deadlines(measuring) => {
            let inner = name.strip_prefix(module).unwrap_or(name);
            let stem = inner.with_extension("");
            if measuring
                .iter()
                .any(|part| inner.starts_with(part) || stem == Path::new(part))
            {
                return Vec::new();
            }
            // `Instant::now() >= until` or `until > Instant::now()`.
            let is_comparison = |at: usize| {
                let before = |back: usize| at.checked_sub(back).map_or("", text);
                let is_right = matches!((before(2), before(1)), (_, "<" | ">") | ("<" | ">", "="));
                is_right || matches!(text(at + 5), "<" | ">")
            };
            uses.filter(|&at| text(at + 2) == "now")
                .filter(|&at| !is_comparison(at))
                .map(|at| {
                    (
                        code[at].line,
                        "only comparisons with a deadline are allowed",
                    )
                })
                .collect()
        }
    }
}

/// The circles of imports inside the modules of the crate, each as text.
///
/// The parts of a folder are its child modules, each with all that is below it, and in the modules
/// of [`LAYERED`] also the folder's own file. A part imports another when one of its files names an
/// item of the other; an item counts for the file that defines it, not for one that re-exports it.
/// These imports form no circle in any folder, so that the parts have an order in which none
/// imports upwards.
fn circles(sources: &BTreeMap<PathBuf, Vec<Token>>) -> Vec<String> {
    let mut modules = BTreeSet::new();
    let mut read = Vec::new();
    // What a module calls by a name that a `use` line gives.
    let mut named: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for (file, code) in sources {
        let path = module_path(file);
        let child = |name: &str| path.iter().cloned().chain([name.to_string()]).collect();
        for declaration in declarations(code).iter().filter(|child| child.is_inline) {
            modules.insert(child(&declaration.name));
        }
        let references = references(code, &path);
        for reference in &references {
            if let Some(name) = &reference.name {
                named.insert(child(name), reference.path.clone());
            }
        }
        modules.insert(path.clone());
        read.push((file, path, references));
    }
    // The module that defines what is at `path`.
    let module_of = |path: &[String]| {
        let mut path = path.to_vec();
        // A name may stand for a name; a circle of names is none of our business.
        for _ in 0..8 {
            let length = (0..=path.len())
                .rev()
                .find(|&length| modules.contains(&path[..length]))
                .unwrap_or(0);
            let item = path.get(..=length).and_then(|item| named.get(item));
            match item {
                Some(target) => path.splice(..=length, target.iter().cloned()),
                None => return path[..length].to_vec(),
            };
        }
        path
    };
    // For each folder: from a part to a part, with one place.
    let mut folders: BTreeMap<Vec<String>, BTreeMap<(String, String), String>> = BTreeMap::new();
    for (file, from, references) in &read {
        for reference in references.iter().filter(|reference| !reference.is_reexport) {
            let to = module_of(&reference.path);
            let n_common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            let Some(module) = from[..n_common].first() else {
                continue;
            };
            let is_layered = LAYERED.contains(&module.as_str());
            let part = |path: &[String]| match path.get(n_common) {
                Some(child) => Some(child.clone()),
                None => is_layered.then(|| "mod.rs".to_string()),
            };
            let (Some(a), Some(b)) = (part(from), part(&to)) else {
                continue;
            };
            let place = format!(
                "src/{}:{} names {}",
                file.display(),
                reference.line,
                reference.path.join("::")
            );
            if a != b {
                let edges = folders.entry(from[..n_common].to_vec()).or_default();
                edges.entry((a, b)).or_insert(place);
            }
        }
    }
    folders
        .iter()
        .filter_map(|(folder, edges)| circle_of(edges).map(|circle| (folder, circle)))
        .map(|(folder, circle)| format!("in src/{}:\n{}", folder.join("/"), circle.join("\n")))
        .collect()
}

/// The places of the imports in circles and between circles, if there are any.
fn circle_of(edges: &BTreeMap<(String, String), String>) -> Option<Vec<String>> {
    let mut left: Vec<_> = edges.iter().collect();
    // Parts that import nothing that is left, or that nothing left imports, are in no circle.
    loop {
        let before = left.len();
        let from: BTreeSet<&String> = left.iter().map(|((from, _), _)| from).collect();
        let to: BTreeSet<&String> = left.iter().map(|((_, to), _)| to).collect();
        left.retain(|((a, b), _)| from.contains(b) && to.contains(a));
        if left.len() == before {
            break;
        }
    }
    let places = left
        .iter()
        .map(|((from, to), place)| format!("  {from} imports {to}: {place}"));
    (!left.is_empty()).then(|| places.collect())
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
mod checks {
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
    fn macros_globs_and_renamed_crates_are_found() {
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
    fn only_the_compilers_of_the_machine_import_networks() {
        let text = "use crate::propnet::Network;";
        assert!(check("machine/compile.rs", text).is_empty());
        assert!(check("machine/compile/layout.rs", text).is_empty());
        assert!(check("machine/lanes/compile.rs", text).is_empty());
        assert!(check("machine/specialised/layout.rs", text).is_empty());
        assert_eq!(
            check("machine/state.rs", text),
            ["src/machine/state.rs:1: `machine` imports `propnet`; \
              it may do so only in files or folders called compile, info, layout, work"]
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
    fn sockets_and_async_are_in_server_and_commands_only() {
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
    fn unsafe_code_is_in_sync_and_machine_only() {
        assert!(check("sync/ring.rs", "unsafe { x }").is_empty());
        assert!(check("machine/lanes.rs", "unsafe fn f() {}").is_empty());
        assert_eq!(
            check("search/graph.rs", "// unsafe\n\nunsafe { x }"),
            ["src/search/graph.rs:3: `unsafe` in `search`; allowed in sync, machine only"]
        );
    }

    #[test]
    fn a_clock_is_used_for_deadlines_only() {
        assert_eq!(check("gdl/lexer.rs", "fn f(until: Instant) {}").len(), 1);
        assert!(check("ground/plan.rs", "fn f(until: Instant) {}").is_empty());
        let compared = "fn f(u: Instant) -> bool { Instant::now() >= u || u > Instant::now() }";
        assert!(check("ground/plan.rs", compared).is_empty());
        let measured = "let start = Instant::now();";
        assert_eq!(check("ground/plan.rs", measured).len(), 1);
        assert!(check("machine/lanes/machine.rs", measured).is_empty());
        assert!(check("analysis/sample/mod.rs", measured).is_empty());
        assert!(check("player/clock.rs", measured).is_empty());
    }

    /// The circles among files of these names and contents.
    fn check_circles(files: &[(&str, &str)]) -> Vec<String> {
        let sources = files.iter().map(|(name, text)| {
            let (code, _) = without_tests(&tokens(text));
            (PathBuf::from(name), code)
        });
        circles(&sources.collect())
    }

    #[test]
    fn siblings_may_not_import_each_other() {
        let a = ("metagame/a.rs", "use super::b::X;");
        let b = ("metagame/b.rs", "pub struct X;");
        assert!(check_circles(&[("metagame/mod.rs", "mod a; mod b;"), a, b]).is_empty());
        let back = ("metagame/b.rs", "use crate::metagame::a::Y;");
        let found = check_circles(&[("metagame/mod.rs", "mod a; mod b;"), a, back]);
        assert_eq!(
            found,
            [
                "in src/metagame:\n  a imports b: src/metagame/a.rs:1 names metagame::b::X\n  \
              b imports a: src/metagame/b.rs:1 names metagame::a::Y"
            ]
        );
        let deep = ("metagame/b/deep.rs", "use super::super::a::Y;");
        let b = ("metagame/b/mod.rs", "mod deep;");
        assert_eq!(
            check_circles(&[("metagame/mod.rs", "mod a; mod b;"), a, b, deep]).len(),
            1
        );
    }

    #[test]
    fn a_child_and_the_file_above_it_may_not_import_each_other() {
        let child = ("build/a.rs", "use super::T;");
        assert!(check_circles(&[("build/mod.rs", "mod a; pub struct T;"), child]).is_empty());
        for above in ["mod a; use a::X;", "mod a; fn f() { a::g() }"] {
            assert_eq!(
                check_circles(&[("build/mod.rs", above), child]).len(),
                1,
                "{above}"
            );
        }
        let elsewhere = [
            ("gdl/mod.rs", "mod a; use a::X;"),
            ("gdl/a.rs", "use super::T;"),
        ];
        assert!(check_circles(&elsewhere).is_empty());
    }

    #[test]
    fn a_re_exported_item_counts_for_the_file_that_defines_it() {
        let above = (
            "metagame/mod.rs",
            "mod a; mod b; pub use a::X; pub use b::Y as Z;",
        );
        let a = ("metagame/a.rs", "pub struct X;");
        let b = ("metagame/b.rs", "use super::X; pub struct Y;");
        assert!(check_circles(&[above, a, b]).is_empty());
        let a = ("metagame/a.rs", "use super::Z; pub struct X;");
        assert_eq!(check_circles(&[above, a, b]).len(), 1);
    }
}
