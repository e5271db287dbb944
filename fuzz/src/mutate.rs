//! Mutations of texts: bytes flipped, parts cut, doubled, moved and taken from other texts, words
//! of the formats put in, brackets by the hundred.

use std::ops::Range;

use panza_sync::Random;

const BYTES: &[u8] = b"()()()[]{}?;:,=<\"\\\n\r \0$#@\xff\xc3\xa9aR019-";

/// Words of the formats, and values at their limits.
const WORDS: &[&str] = &[
    " (not ",
    " (or ",
    " (and ",
    " (distinct ",
    " <= ",
    " ?x",
    " () ",
    " (true ",
    " or$0 ",
    " (next ",
    " (not (distinct ?x (f ?y ?y))) ",
    " ; ",
    "null",
    "[]",
    "{}",
    "\"\"",
    "-1",
    "1e999",
    "3e38",
    "NaN",
    "18446744073709551616",
    "4294967295",
    "\u{1F600}",
    "\r\n",
    "\r\n\r\n",
    "%00",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "HTTP/1.1",
    "=====\n",
    "\n; 1 a\n",
    "9999#|",
    "(((2r",
    "Solution\n",
    "Comment:\n",
    " :- ",
    " :: ",
    " ==> ",
    " & ",
    " | ",
    "~",
    "!",
    "countofall(X,p(X),N)",
    "plus(X,1,N)",
    "same(X,f(Y))",
    "~(",
];

/// A number below `bound`, or 0.
pub fn below(random: &mut Random, bound: usize) -> usize {
    random.below(bound.max(1) as u32) as usize
}

/// A part of the text, not empty unless the text is.
fn part(text: &[u8], longest: usize, random: &mut Random) -> Range<usize> {
    let start = below(random, text.len());
    let length = 1 + below(random, longest);
    start..(start + length).min(text.len())
}

/// Changes a text in one place.
pub fn mutate(text: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = below(random, text.len() + 1);
    match below(random, 9) {
        0 => {
            if let Some(byte) = text.get_mut(at) {
                *byte ^= 1 << below(random, 8);
            }
        }
        1 => text.insert(at, BYTES[below(random, BYTES.len())]),
        2 => {
            let gone = part(text, 40, random);
            text.drain(gone);
        }
        3 => {
            let copy = text[part(text, 200, random)].to_vec();
            text.splice(at..at, copy);
        }
        4 => {
            let nested = b"()[]{}"[below(random, 6)];
            let length = below(random, 600);
            text.splice(at..at, std::iter::repeat_n(nested, length));
        }
        5 => {
            let word = WORDS[below(random, WORDS.len())];
            text.splice(at..at, word.bytes());
        }
        6 => {
            // Two parts change places.
            let moved: Vec<u8> = text.drain(part(text, 60, random)).collect();
            let at = below(random, text.len() + 1);
            text.splice(at..at, moved);
        }
        7 => {
            // A part of another seed in place of a part.
            let other = &seeds[below(random, seeds.len())];
            let taken = other[part(other, 120, random)].to_vec();
            let gone = part(text, 40, random);
            text.splice(gone, taken);
        }
        _ => {
            // Another number.
            let is_digit = |at: &usize| text[*at].is_ascii_digit();
            let from = below(random, text.len());
            let digit = (from..text.len()).chain(0..from).find(is_digit);
            if let Some(digit) = digit {
                text[digit] = b"0123456789-"[below(random, 11)];
            }
        }
    }
}
