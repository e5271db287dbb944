//! What the compiler does not hold of the order of the parts: that no crate has a circle of imports
//! inside, and that the map of the house tells the truth about the crates.
//!
//! Which crate may import which is in the manifests. Test modules may import anything.

use crate::support::imports::{declarations, module_path, references};
use crate::support::source::{Token, crates, rust_files, source_folders, tokens, without_tests};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates and modules in which also the file of a folder takes part in the order of its parts.
const LAYERED: &[&str] = &["game", "metagame", "player", "commands", "tournament"];

/// Whether a module of the crate with the source folder `root` is one of [`LAYERED`], or in one.
fn is_layered(root: &str, module: &[String]) -> bool {
    let mut names = root.split('/').chain(module.iter().map(String::as_str));
    names.any(|name| LAYERED.contains(&name))
}

/// The source files in a folder without their tests, by their paths from there.
fn sources(folder: &str) -> BTreeMap<PathBuf, Vec<Token>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut test_files = BTreeSet::new();
    let mut sources = BTreeMap::new();
    for file in rust_files(&root) {
        let text = fs::read_to_string(&file).expect("the source can be read");
        let name = file.strip_prefix(&root).expect("it is in there").to_owned();
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
fn no_crate_has_a_circle_inside() {
    let members = source_folders().into_iter();
    let members = members.chain(["lab/src".into(), "python/src".into()]);
    let circles: Vec<String> = members
        .flat_map(|member| circles(&member, &sources(&member)))
        .collect();
    assert!(circles.is_empty(), "\n{}\n", circles.join("\n\n"));
}

/// The crates of the project that each crate, and the Python package, depend on, from their
/// manifests.
fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let members = crates()
        .into_iter()
        .chain([("python".into(), "python".into())]);
    let read = members.map(|(name, folder)| {
        let needed = dependencies(&root.join(folder));
        let ours = needed.keys().filter_map(|name| name.strip_prefix("panza-"));
        (name, ours.map(str::to_string).collect())
    });
    read.collect()
}

/// What the manifest in a folder depends on.
fn dependencies(folder: &Path) -> toml::Table {
    let text = fs::read_to_string(folder.join("Cargo.toml")).expect("it has a manifest");
    let mut manifest: toml::Table = text.parse().expect("the manifest is TOML");
    let needed = manifest.remove("dependencies").expect("it needs something");
    needed.as_table().expect("it is a table").clone()
}

#[test]
fn what_a_browser_is_told_knows_no_http() {
    let needed = dependencies(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/web"));
    for name in needed.keys() {
        let is_of_http = ["axum", "bytes", "h2", "http", "hyper", "tower"];
        let is_of_http = is_of_http.iter().any(|of_http| name.starts_with(of_http));
        assert!(!is_of_http, "crates/web depends on {name}");
    }
    // Not its sockets.
    assert_eq!(needed["tokio"]["features"], vec!["sync"].into());
}

#[test]
fn the_table_of_crates_is_that_of_the_manifests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("it can be read");
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, needed, _] = cells[..] else {
            return None;
        };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let needed = needed
            .split(", ")
            .filter_map(|one| one.strip_prefix('`')?.strip_suffix('`'));
        Some((name.to_string(), needed.map(str::to_string).collect()))
    });
    let rows: Vec<(String, BTreeSet<String>)> = rows.collect();
    for (at, (name, needed)) in rows.iter().enumerate() {
        let is_above = |one: &&String| rows[..at].iter().any(|(name, _)| name == *one);
        let below: Vec<_> = needed.iter().filter(|one| !is_above(one)).collect();
        assert!(below.is_empty(), "{name} stands above {below:?}");
    }
    assert_eq!(rows.into_iter().collect::<BTreeMap<_, _>>(), manifests());
}

/// The crates of the project that a crate needs, itself included.
fn needed_by(name: &str) -> BTreeSet<String> {
    let manifests = manifests();
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_string()];
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            open.extend(manifests[&name].iter().cloned());
        }
    }
    found
}

#[test]
fn what_player_uses_knows_no_clock_of_a_match() {
    // Logs write down what a match was given.
    let is_used = |name: &&String| !["player", "telemetry"].contains(&name.as_str());
    let mut found = Vec::new();
    for name in needed_by("player").iter().filter(is_used) {
        for (file, code) in sources(&format!("{}/src", crates()[name])) {
            let is_clock = |token: &&Token| {
                let word = token.text.to_lowercase().replace('_', "");
                ["startclock", "playclock", "matchclock"]
                    .iter()
                    .any(|it| word.contains(it))
            };
            let places = code.iter().filter(is_clock);
            found.extend(places.map(|it| format!("{name}/{}:{}", file.display(), it.line)));
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

/// Files of such crates that are compiled elsewhere only.
const NATIVE_ONLY: [&str; 6] = [
    "ide/lsp/",
    "memory/store.rs",
    "metagame/training.rs",
    "sync/clock.rs",
    "telemetry/archive.rs",
    "web/host/storage.rs",
];

#[test]
fn what_runs_in_a_browser_takes_clocks_and_threads_from_sync() {
    // The standard library has neither there, and panics.
    let is_absent = |code: &[Token], at: usize| {
        let before: Vec<&str> = code[at.saturating_sub(60)..at]
            .iter()
            .map(|token| token.text.as_str())
            .collect();
        let statement = before
            .rsplit(|&text| text == ";")
            .next()
            .unwrap_or_default();
        match code[at].text.as_str() {
            "Instant" | "SystemTime" | "UNIX_EPOCH" => {
                statement.windows(3).any(|it| it == ["std", "::", "time"])
            }
            "spawn" => before.ends_with(&["thread", "::"]) || before.ends_with(&["scope", "."]),
            _ => false,
        }
    };
    let mut found = Vec::new();
    for name in needed_by("wasm") {
        let folder = format!("{}/src", crates()[&name]);
        for (file, code) in sources(&folder) {
            let path = format!("{name}/{}", file.display());
            if !NATIVE_ONLY.iter().any(|native| path.starts_with(native)) {
                let places = (0..code.len()).filter(|&at| is_absent(&code, at));
                found.extend(places.map(|at| format!("{path}:{}", code[at].line)));
            }
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn the_functions_of_the_traces_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("it can be read");
    assert!(text.len() <= 11 * 1024, "the map has {} bytes", text.len());
    let (_, traces) = text.split_once("## Six traces").expect("there are traces");
    let mut n_names = 0;
    for line in traces.lines().take_while(|line| !line.starts_with("## ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, functions] = cells[..] else {
            continue;
        };
        let folder = crates().remove(name.trim_matches('`'));
        let Some(folder) = folder else { continue };
        let files = rust_files(&root.join(folder).join("src"));
        let source = files
            .iter()
            .map(|file| fs::read_to_string(file).expect("it can be read"));
        let source: String = source.collect();
        let names = functions.split('`').skip(1).step_by(2);
        // Types and crates are named too; functions are in lower case.
        let functions = names.filter_map(|name| name.rsplit("::").next());
        for function in functions.filter(|name| name.starts_with(char::is_lowercase)) {
            let defined = ["(", "<"].map(|end| format!("fn {function}{end}"));
            let is_there = defined.iter().any(|form| source.contains(form.as_str()));
            assert!(
                is_there || crates().contains_key(function),
                "{name}: {function}"
            );
            n_names += 1;
        }
    }
    assert!(n_names > 40, "only {n_names} functions");
}

/// The circles of imports inside a crate, whose source is in the folder `root`, each as text.
///
/// The parts of a folder are its child modules, each with all that is below it, and in the modules
/// of [`LAYERED`] also the folder's own file. A part imports another when one of its files names an
/// item of the other; an item counts for the file that defines it, not for one that re-exports it.
/// These imports form no circle in any folder, so that the parts have an order in which none
/// imports upwards.
fn circles(root: &str, sources: &BTreeMap<PathBuf, Vec<Token>>) -> Vec<String> {
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
            let is_layered = is_layered(root, &from[..n_common]);
            let part = |path: &[String]| match path.get(n_common) {
                Some(child) => Some(child.clone()),
                None => is_layered.then(|| "mod.rs".to_string()),
            };
            let (Some(a), Some(b)) = (part(from), part(&to)) else {
                continue;
            };
            let place = format!(
                "{root}/{}:{} names {}",
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
        .map(|(folder, circle)| format!("in {root}/{}:\n{}", folder.join("/"), circle.join("\n")))
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

#[cfg(test)]
mod checks {
    use super::*;

    /// The circles among files of these names and contents.
    fn check_circles(files: &[(&str, &str)]) -> Vec<String> {
        let sources = files.iter().map(|(name, text)| {
            let (code, _) = without_tests(&tokens(text));
            (PathBuf::from(name), code)
        });
        circles("src", &sources.collect())
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
        let child = ("tournament/a.rs", "use super::T;");
        assert!(check_circles(&[("tournament/mod.rs", "mod a; pub struct T;"), child]).is_empty());
        for above in ["mod a; use a::X;", "mod a; fn f() { a::g() }"] {
            assert_eq!(
                check_circles(&[("tournament/mod.rs", above), child]).len(),
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
