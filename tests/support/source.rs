//! A lexer for Rust source as far as these tests need it: code, comments, literals and test
//! modules.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A word or a mark of the source and the line it stands on, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// An identifier, a number, `::`, or one other character.
    pub text: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// The crates of the project that the program is made of: names and folders, from its root.
pub fn crates() -> BTreeMap<String, String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let entries = fs::read_dir(crates).expect("the folder can be read");
    let in_crates = entries
        .map(|entry| entry.expect("the folder can be read").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .map(|name| (name.clone(), format!("crates/{name}")));
    let at_the_top = ["config", "gdl-games", "log-viewer", "wasm"];
    let at_the_top = at_the_top.map(|name| (name.into(), name.into()));
    in_crates.chain(at_the_top).collect()
}

/// The folders of the sources of the program and of its crates, from the root of the project.
pub fn source_folders() -> Vec<String> {
    let of_crates = crates().into_values().map(|folder| format!("{folder}/src"));
    of_crates.chain(["src".to_string()]).collect()
}

/// Every `.rs` file below `folder`, in a fixed order.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
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

/// The tokens of `source` without comments, the insides of literals, and lifetimes.
pub fn tokens(source: &str) -> Vec<Token> {
    scan(source).0
}

/// The ranges of bytes of the string literals of `source`.
pub fn string_literals(source: &str) -> Vec<Range<usize>> {
    scan(source).1
}

fn scan(source: &str) -> (Vec<Token>, Vec<Range<usize>>) {
    let chars: Vec<char> = source.chars().collect();
    let mut tokens = Vec::new();
    let mut literals = Vec::new();
    let (mut at, mut line, mut byte) = (0, 1, 0);
    while at < chars.len() {
        let rest = &chars[at..];
        let mut is_literal = false;
        let length = if rest[0].is_whitespace() {
            1
        } else if rest.starts_with(&['/', '/']) {
            rest.iter().position(|&c| c == '\n').unwrap_or(rest.len())
        } else if rest.starts_with(&['/', '*']) {
            block_comment(rest)
        } else if let Some(length) = text(rest) {
            is_literal = true;
            length
        } else if rest[0] == '\'' {
            character_or_lifetime(rest)
        } else {
            let length =
                word(rest).unwrap_or_else(|| if rest.starts_with(&[':', ':']) { 2 } else { 1 });
            let text: String = rest[..length].iter().collect();
            // A raw identifier is the name behind its mark.
            let text = text.strip_prefix("r#").unwrap_or(&text).to_string();
            tokens.push(Token { text, line });
            length
        };
        let bytes: usize = rest[..length].iter().map(|c| c.len_utf8()).sum();
        if is_literal {
            literals.push(byte..byte + bytes);
        }
        line += rest[..length].iter().filter(|&&c| c == '\n').count();
        at += length;
        byte += bytes;
    }
    (tokens, literals)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(rest: &[char]) -> Option<usize> {
    let start = if rest.starts_with(&['r', '#']) && rest.len() > 2 && is_word(rest[2]) {
        2
    } else {
        0
    };
    let length = rest[start..].iter().take_while(|&&c| is_word(c)).count();
    (length > 0).then_some(start + length)
}

/// The length of a block comment; they may be nested.
fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(&['/', '*']) {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with(&['*', '/']) {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of a string literal of any kind, if one starts here.
fn text(rest: &[char]) -> Option<usize> {
    let prefix = rest
        .iter()
        .take_while(|&&c| matches!(c, 'b' | 'c' | 'r'))
        .count()
        .min(2);
    let raw = rest[..prefix].contains(&'r');
    let marks = rest[prefix..].iter().take_while(|&&c| c == '#').count();
    let open = prefix + marks;
    if rest.get(open) != Some(&'"') || (marks > 0 && !raw) {
        return None;
    }
    let mut at = open + 1;
    while at < rest.len() {
        match rest[at] {
            '\\' if !raw => at += 2,
            '"' if rest[at + 1..]
                .iter()
                .take(marks)
                .filter(|&&c| c == '#')
                .count()
                == marks =>
            {
                return Some(at + 1 + marks);
            }
            _ => at += 1,
        }
    }
    Some(rest.len())
}

/// The length of `'x'`, `'\n'`, or of a lifetime such as `'a`.
fn character_or_lifetime(rest: &[char]) -> usize {
    match rest {
        ['\'', '\\', _, tail @ ..] => {
            let more = tail.iter().position(|&c| c == '\'');
            more.map_or(rest.len(), |more| 3 + more + 1)
        }
        ['\'', _, '\'', ..] => 3,
        _ => 1 + word(&rest[1..]).unwrap_or(0),
    }
}

/// `tokens` without the modules marked `#[cfg(test)]` or `#[cfg(all(test, ..))]`,
/// and the names of such modules that lie in files of their own.
pub fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let mut kept = Vec::new();
    let mut elsewhere = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match test_module(&tokens[at..]) {
            Some((length, outside)) => {
                elsewhere.extend(outside);
                at += length;
            }
            None => {
                kept.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    (kept, elsewhere)
}

/// The length of a test module with its attributes, if one starts here, and its
/// name if its content is in another file.
fn test_module(tokens: &[Token]) -> Option<(usize, Option<String>)> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut at = 0;
    let mut tests_only = false;
    while text(at) == "#" && text(at + 1) == "[" {
        let end = closing(tokens, at + 1)?;
        tests_only |= is_test_condition(&tokens[at + 2..end]);
        at = end + 1;
    }
    if !tests_only {
        return None;
    }
    if text(at) == "pub" {
        at += 1;
        if text(at) == "(" {
            at = closing(tokens, at)? + 1;
        }
    }
    if text(at) != "mod" {
        return None;
    }
    match text(at + 2) {
        ";" => Some((at + 3, Some(text(at + 1).to_string()))),
        "{" => Some((closing(tokens, at + 2)? + 1, None)),
        _ => None,
    }
}

/// Whether the inside of an attribute says that what follows is compiled for
/// tests alone.
fn is_test_condition(attribute: &[Token]) -> bool {
    let words: Vec<&str> = attribute.iter().map(|token| token.text.as_str()).collect();
    match words.as_slice() {
        ["cfg", "(", "test", ")"] => true,
        ["cfg", "(", "all", "(", parts @ .., ")", ")"] => {
            let mut depth = 0;
            parts.iter().any(|part| {
                match *part {
                    "(" => depth += 1,
                    ")" => depth -= 1,
                    _ => {}
                }
                depth == 0 && *part == "test"
            })
        }
        _ => false,
    }
}

/// Where the bracket that opens at `open` is closed.
pub fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        tokens(source).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_texts_and_characters_are_no_code() {
        let source = r##"
            a // crate::b
            /* crate::c /* nested */ crate::d */ e
            "crate::f \" crate::g" r"crate\" r#"crate::"h""# b"crate" br#"crate"# c"crate"
            'c' '\'' '\u{41}' '"' i<'life>('"', 'x')
        "##;
        let expected = ["a", "e", "i", "<", ">", "(", ",", ")"];
        assert_eq!(texts(source), expected);
    }

    #[test]
    fn words_marks_and_lines_are_kept() {
        let found = tokens("use r#type::x;\n\"two\nlines\" y_1 0..3");
        let found: Vec<(&str, usize)> = found.iter().map(|t| (t.text.as_str(), t.line)).collect();
        let expected = [
            ("use", 1),
            ("type", 1),
            ("::", 1),
            ("x", 1),
            (";", 1),
            ("y_1", 3),
            ("0", 3),
            (".", 3),
            (".", 3),
            ("3", 3),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_text_that_never_ends_ends_with_the_file() {
        assert_eq!(texts("a \"crate::b"), ["a"]);
        assert_eq!(texts("a /* crate::b"), ["a"]);
        assert_eq!(texts("a '\\"), ["a", "\\"]);
    }

    #[test]
    fn test_modules_are_taken_out_and_nothing_else() {
        let source = "
            a
            #[cfg(test)] #[path = \"x\"] mod tests { b { c } }
            #[cfg(all(test, not(miri)))] pub(crate) mod more { d }
            #[cfg(test)] mod elsewhere;
            #[cfg(not(test))] mod real { e }
            #[cfg(any(test, unix))] mod often { f }
            #[cfg(all(unix, not(test)))] mod never { g }
            #[cfg(test)] fn helper() { h }
        ";
        let (kept, elsewhere) = without_tests(&tokens(source));
        let kept: Vec<&str> = kept.iter().map(|token| token.text.as_str()).collect();
        for letter in ["a", "e", "f", "g", "h"] {
            assert!(kept.contains(&letter), "{letter} is missing");
        }
        for letter in ["b", "c", "d", "more", "tests", "elsewhere"] {
            assert!(!kept.contains(&letter), "{letter} is still there");
        }
        assert_eq!(elsewhere, ["elsewhere"]);
    }
}
