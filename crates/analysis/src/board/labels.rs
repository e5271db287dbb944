//! Labels of the contents of cells: the shortest unique abbreviations.

use std::collections::{BTreeMap, HashMap};

use super::Arguments;

/// The label of a blank.
pub(super) const BLANK: &str = ".";

/// Names of the blank.
const BLANK_WORDS: [&str; 9] = [
    "blank", "empty", "free", "none", "nil", "open", "space", "vacant", "void",
];

/// Names of a blank in some games and of a piece in others.
const MAYBE_BLANK_WORDS: [&str; 2] = ["b", "e"];

/// The label of each content, and whether one of them is the blank.
pub(super) fn label_contents(
    states: &[&[Arguments]],
    n_where: usize,
) -> (HashMap<Vec<String>, String>, bool) {
    let mut contents: BTreeMap<&[String], usize> = BTreeMap::new();
    for fact in states.iter().copied().flatten() {
        *contents.entry(&fact[n_where..]).or_default() += 1;
    }
    let blank = contents
        .keys()
        .find(|content| is_blank(content, states, n_where))
        .copied();
    let pieces: Vec<&[String]> = contents.into_keys().filter(|c| Some(*c) != blank).collect();
    let mut labels: HashMap<Vec<String>, String> = HashMap::new();
    for piece in &pieces {
        let own: Vec<String> = piece.to_vec();
        // The shortest unique abbreviation, or the whole word.
        let longest = own
            .iter()
            .map(|word| word.chars().count())
            .max()
            .unwrap_or(1);
        let label = (1..=longest)
            .map(|letters| (letters, shortened(&own, letters)))
            .find(|(letters, label)| {
                let others = pieces.iter().filter(|other| *other != piece);
                others
                    .into_iter()
                    .all(|other| shortened(other, *letters) != *label)
            })
            .map_or_else(|| own.join(" "), |(_, label)| label);
        labels.insert(own, label);
    }
    if let Some(blank) = blank {
        labels.insert(blank.to_vec(), BLANK.to_string());
    }
    (labels, blank.is_some())
}

/// Whether this content is the blank. `b` is if it fills more than half of the board in the initial
/// state, since black would fill at most half.
fn is_blank(content: &[String], states: &[&[Arguments]], n_where: usize) -> bool {
    let [word] = content else {
        return false;
    };
    let word = word.to_ascii_lowercase();
    if BLANK_WORDS.contains(&word.as_str()) {
        return true;
    }
    let initial = states.first().copied().unwrap_or_default();
    let count = initial
        .iter()
        .filter(|fact| fact[n_where..] == *content)
        .count();
    MAYBE_BLANK_WORDS.contains(&word.as_str()) && 2 * count > initial.len()
}

/// The first letters of each word; numbers stay complete.
pub(super) fn shortened(content: &[String], letters: usize) -> String {
    let short = |word: &String| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let take = if is_number { word.len() } else { letters };
        word.trim_start_matches('(')
            .chars()
            .take(take)
            .collect::<String>()
    };
    content.iter().map(short).collect()
}
