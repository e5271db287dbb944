//! Texts from bytes: their encoding and the byte-order mark.
//!
//! [`decode`] reads the bytes of files and of messages, so that both have the same encodings. It
//! reads any bytes: nothing fails, and a character is replaced only where UTF-16 is broken. The
//! scanners skip a [`MARK`] as white space ([`is_space`]), because a file that was joined from
//! others has marks in the middle.

use std::borrow::Cow;

/// The byte-order mark, which some editors put in front of a text.
pub const MARK: char = '\u{feff}';

/// How the bytes of a text are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// UTF-8 without a mark.
    #[default]
    Utf8,
    /// UTF-8 with a mark in front, which is left out of the text.
    MarkedUtf8,
    /// UTF-16, which its mark shows. The mark is left out of the text.
    Utf16,
    /// Latin-1, since the bytes are no UTF-8: each byte is one character.
    Latin1 {
        /// The place in the text of the first byte that is no UTF-8.
        first: u32,
    },
}

/// The text of some bytes, without a mark in front, and how they were read.
pub fn decode(bytes: &[u8]) -> (Cow<'_, str>, Encoding) {
    let utf16 = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let letters = char::decode_utf16(units);
        letters
            .map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    };
    let (bytes, of_utf8) = match bytes {
        [0xff, 0xfe, rest @ ..] => return (utf16(rest, u16::from_le_bytes), Encoding::Utf16),
        [0xfe, 0xff, rest @ ..] => return (utf16(rest, u16::from_be_bytes), Encoding::Utf16),
        [0xef, 0xbb, 0xbf, rest @ ..] => (rest, Encoding::MarkedUtf8),
        _ => (bytes, Encoding::Utf8),
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), of_utf8),
        Err(fault) => {
            let latin1 = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect::<String>();
            let first = latin1(&bytes[..fault.valid_up_to()]).len() as u32;
            (Cow::Owned(latin1(bytes)), Encoding::Latin1 { first })
        }
    }
}

/// Text that controls no terminal: control characters, and those that change the direction of text,
/// become codes such as `\u{1b}`. Line ends and tabs stay; the escape character does where
/// `has_colours` says that it begins colours of our own.
pub fn plain(text: &str, has_colours: bool) -> Cow<'_, str> {
    with_codes(text, has_colours, |c| c.escape_unicode().to_string())
}

/// The same of a text in JSON, which stays JSON.
pub fn plain_json(json: &str) -> Cow<'_, str> {
    with_codes(json, false, |c| format!("\\u{:04x}", u32::from(c)))
}

fn with_codes(text: &str, has_colours: bool, code: fn(char) -> String) -> Cow<'_, str> {
    let is_raw = |c: char| match c {
        '\n' | '\t' => false,
        '\u{1b}' => !has_colours,
        '\u{61c}' | '\u{200e}' | '\u{200f}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    };
    if !text.contains(is_raw) {
        return Cow::Borrowed(text);
    }
    let letters = text
        .chars()
        .map(|c| if is_raw(c) { code(c) } else { c.to_string() });
    Cow::Owned(letters.collect())
}

/// Whether a character separates symbols: white space, or a byte-order mark.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || character == MARK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], text: &str, encoding: Encoding) {
        assert_eq!(decode(bytes), (Cow::Borrowed(text), encoding));
    }

    #[test]
    fn marks_tell_the_encoding_and_are_left_out() {
        check(b"", "", Encoding::Utf8);
        check("(r\u{e9})".as_bytes(), "(r\u{e9})", Encoding::Utf8);
        check(b"\xef\xbb\xbf(a)", "(a)", Encoding::MarkedUtf8);
        check(b"\xff\xfe(\0a\0)\0", "(a)", Encoding::Utf16);
        check(b"\xfe\xff\0(\0a\0)", "(a)", Encoding::Utf16);
        check(b"\xff\xfe\0\xd8a", "\u{fffd}", Encoding::Utf16);
        check(b"\xff\xfe", "", Encoding::Utf16);
    }

    #[test]
    fn plain_text_controls_no_terminal() {
        let text = "a\u{1b}[31m\tb\u{202e}\u{9b}1m\n";
        assert_eq!(plain(text, false), "a\\u{1b}[31m\tb\\u{202e}\\u{9b}1m\n");
        assert_eq!(plain(text, true), "a\u{1b}[31m\tb\\u{202e}\\u{9b}1m\n");
        assert_eq!(plain_json("[\"\u{9b}\u{e9}\"]"), "[\"\\u009b\u{e9}\"]");
    }

    #[test]
    fn bytes_that_are_no_utf8_are_latin1() {
        check(
            b"a\xecb\xe8",
            "a\u{ec}b\u{e8}",
            Encoding::Latin1 { first: 1 },
        );
        // The first character is UTF-8 alone, the text as a whole is not.
        let text = "\u{c3}\u{a9}\u{e8}";
        check(b"\xc3\xa9\xe8", text, Encoding::Latin1 { first: 4 });
        check(b"\xef\xbb\xbf\xe8", "\u{e8}", Encoding::Latin1 { first: 0 });
    }
}
