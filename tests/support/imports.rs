//! Reads which items of the crate a source file names, and which modules it declares.

use std::path::Path;

use super::source::{Token, closing};

/// A path to an item of the crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The modules and the item from the crate root. The path ends with `*` where it is a glob, and
    /// is `*` alone where the crate gets another name.
    pub path: Vec<String>,
    /// The line, counted from 1.
    pub line: usize,
    /// Whether a chain of `super` reaches the crate root.
    pub is_super_to_root: bool,
    /// In a `use` line: the name that the file gives the item.
    pub name: Option<String>,
    /// Whether it is in a `use` line with a visibility.
    pub is_reexport: bool,
}

/// A module that a file declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// Whether its content is in the same file.
    pub is_inline: bool,
}

/// The path of the module in the file `name` (from `src`), outermost first: `search/graph/mod.rs`
/// is `search`, `graph`. The crate root has none.
pub fn module_path(name: &Path) -> Vec<String> {
    let path = match name.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib" | "main") => name.parent().unwrap_or(Path::new("")).to_path_buf(),
        _ => name.with_extension(""),
    };
    let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
    parts.collect()
}

/// The modules that `code` declares outside all others.
pub fn declarations(code: &[Token]) -> Vec<Declaration> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    for (at, token) in code.iter().enumerate() {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "mod" if depth == 0 && matches!(text(code, at + 2), "{" | ";") => {
                found.push(Declaration {
                    name: text(code, at + 1).to_string(),
                    is_inline: text(code, at + 2) == "{",
                });
            }
            _ => {}
        }
    }
    found
}

/// Every path in `code`, the file of the module `here`, that starts at the crate root, at a module
/// around the place, or at a module that the file declares. Visibilities (`pub(in ..)`) are none.
pub fn references(code: &[Token], here: &[String]) -> Vec<Reference> {
    let mut found = Vec::new();
    let children = declarations(code);
    // The inline modules around the place, and how deep the braces are outside each.
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut braces = 0_usize;
    // In a `use` line: whether it re-exports.
    let mut line_of_use: Option<bool> = None;
    let mut at = 0;
    while at < code.len() {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| text(code, at));
        let is_path = text(code, at + 1) == "::" && before(1) != "::";
        let is_visibility = before(1) == "in" && before(2) == "(" && before(3) == "pub";
        let module = || {
            let inline = inline.iter().map(|(name, _)| name.clone());
            here.iter().cloned().chain(inline).collect::<Vec<_>>()
        };
        let first = found.len();
        match text(code, at) {
            "use" => line_of_use = Some(matches!(before(1), "pub" | ")")),
            ";" => line_of_use = None,
            "{" => {
                if before(2) == "mod" {
                    inline.push((before(1).to_string(), braces));
                }
                braces += 1;
            }
            "}" => {
                braces = braces.saturating_sub(1);
                if inline.last().is_some_and(|(_, outside)| *outside == braces) {
                    inline.pop();
                }
            }
            // `use crate as c` hides every path behind another name.
            "crate" if text(code, at + 1) == "as" && before(1) != "extern" => {
                found.push(Reference {
                    path: vec!["*".to_string()],
                    line: code[at].line,
                    is_super_to_root: false,
                    name: None,
                    is_reexport: false,
                });
            }
            "crate" if is_path && !is_visibility => {
                at = read_path(code, at + 2, &[], false, &mut found) - 1;
            }
            "super" | "self" if is_path && !is_visibility => {
                at = read_path(code, at, &module(), false, &mut found) - 1;
            }
            name if is_path && children.iter().any(|child| child.name == name) => {
                at = read_path(code, at, here, false, &mut found) - 1;
            }
            _ => {}
        }
        for reference in &mut found[first..] {
            match line_of_use {
                Some(is_reexport) => reference.is_reexport = is_reexport,
                None => reference.name = None,
            }
        }
        at += 1;
    }
    found
}

/// Reads the path or group of paths that starts at `at` and is relative to `base`. Returns where it
/// ends.
fn read_path(
    code: &[Token],
    at: usize,
    base: &[String],
    is_super_to_root: bool,
    found: &mut Vec<Reference>,
) -> usize {
    let Some(token) = code.get(at) else { return at };
    let mut path = base.to_vec();
    let mut is_super_to_root = is_super_to_root;
    match token.text.as_str() {
        "{" => {
            let end = closing(code, at).unwrap_or(code.len());
            let mut item = at + 1;
            while item < end {
                item = read_path(code, item, base, is_super_to_root, found);
                // Past `as name` and the comma.
                while item < end && text(code, item) != "," {
                    item += 1;
                }
                item += 1;
            }
            return end + 1;
        }
        "super" => {
            path.pop();
            is_super_to_root |= path.is_empty();
        }
        "self" if path.is_empty() => path.push("*".to_string()),
        "self" => {}
        name => path.push(name.to_string()),
    }
    let is_longer = text(code, at + 1) == "::" && text(code, at + 2) != "<";
    if is_longer {
        return read_path(code, at + 2, &path, is_super_to_root, found);
    }
    let name = match text(code, at + 1) {
        "as" => Some(text(code, at + 2).to_string()),
        _ => path.last().cloned(),
    };
    found.push(Reference {
        path,
        line: token.line,
        is_super_to_root,
        name,
        is_reexport: false,
    });
    at + 1
}

fn text(code: &[Token], at: usize) -> &str {
    code.get(at).map_or("", |token| token.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::source::tokens;
    use super::*;

    fn paths(source: &str) -> Vec<String> {
        let here = ["a".to_string(), "b".to_string()];
        let found = references(&tokens(source), &here);
        found.iter().map(|found| found.path.join("::")).collect()
    }

    #[test]
    fn paths_are_read_from_the_crate_root() {
        assert_eq!(
            paths("use crate::x::{self, y::*, z as w};"),
            ["x", "x::y::*", "x::z"]
        );
        assert_eq!(
            paths("use super::{c, super::d}; self::e();"),
            ["a::c", "d", "a::b::e"]
        );
        assert_eq!(
            paths("mod m { use super::{super::c, f}; }"),
            ["a::c", "a::b::f"]
        );
        assert_eq!(paths("mod m; pub use m::X; x::m::Y; n::Z"), ["a::b::m::X"]);
        assert_eq!(paths("crate::x::f::<u8>()"), ["x::f"]);
        assert_eq!(paths("use crate::{self as c}; use crate as d;"), ["*", "*"]);
    }

    #[test]
    fn use_lines_give_names() {
        let source = "mod m; pub use m::X; use crate::y::{self, Z as W}; fn f() { m::g(); }";
        let found = references(&tokens(source), &["a".to_string()]);
        let found: Vec<(Option<&str>, bool)> = found
            .iter()
            .map(|found| (found.name.as_deref(), found.is_reexport))
            .collect();
        assert_eq!(
            found,
            [
                (Some("X"), true),
                (Some("y"), false),
                (Some("W"), false),
                (None, false)
            ]
        );
    }

    #[test]
    fn visibilities_and_fields_are_no_paths() {
        let source = "pub(in crate::x) fn f(self) { self.g } pub(super) mod m; extern crate core;";
        assert_eq!(paths(source), Vec::<String>::new());
        assert_eq!(paths("for x in super::f() {}"), ["a::f"]);
    }

    #[test]
    fn files_are_modules() {
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

    #[test]
    fn declarations_stand_outside_other_modules() {
        let found = declarations(&tokens("pub mod a; mod b { mod c; } fn f() { mod d {} }"));
        let found: Vec<(&str, bool)> = found
            .iter()
            .map(|found| (found.name.as_str(), found.is_inline))
            .collect();
        assert_eq!(found, [("a", false), ("b", true)]);
    }
}
