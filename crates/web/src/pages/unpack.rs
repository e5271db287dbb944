//! Unpacks the log in an object of a match database, which the log viewer sends.
//!
//! `POST /api/unpack` with a JSON string, a bzip2 text in base64, is answered with
//! `{"text", "problem"}`. A damaged text is unpacked up to the damage, and `problem` says what is
//! wrong; it is null for a whole one.
//!
//! Invariants: at most [`MOST_BYTES`] are unpacked, and only blocks whose checksum is right.
//!
//! Never uses: files, matches.

use std::borrow::Cow;
use std::slice;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bzip2::{Decompress, Error, Status};
use serde::Serialize;

use super::PageReply;

/// Limit on the unpacked bytes.
const MOST_BYTES: usize = 64 << 20;
/// Limit on the streams that follow each other. A stream of a few bytes takes some megabytes while
/// it is unpacked.
const MOST_STREAMS: usize = 256;
/// Bytes that are reserved first.
const FIRST_BYTES: usize = 1 << 16;

#[derive(Serialize)]
struct Unpacked<'a> {
    text: Cow<'a, str>,
    problem: Option<&'a str>,
}

/// The text that a request has packed.
pub(super) fn unpack(mut packed: String) -> PageReply {
    packed.retain(|letter| !letter.is_ascii_whitespace());
    let (bytes, problem) = match STANDARD_NO_PAD.decode(packed.trim_end_matches('=')) {
        Ok(packed) => unpacked(&packed, MOST_BYTES),
        Err(_) => (Vec::new(), Some("it is not written in base64")),
    };
    PageReply::json(&Unpacked {
        text: String::from_utf8_lossy(&bytes),
        problem,
    })
}

/// Unpacks streams that follow each other: the bytes of whole blocks, at most `most`, and the
/// problem that ended them.
fn unpacked(packed: &[u8], most: usize) -> (Vec<u8>, Option<&'static str>) {
    let mut bytes = Vec::new();
    let mut rest = packed.iter();
    for _ in 0..MOST_STREAMS {
        let mut decoder = Decompress::new(false);
        loop {
            let Some(byte) = rest.next() else {
                return (bytes, Some("it ends in the middle"));
            };
            let n_whole = bytes.len();
            match push(&mut decoder, *byte, &mut bytes, most) {
                Ok(false) => {}
                Ok(true) => break,
                Err(problem) => {
                    bytes.truncate(n_whole);
                    return (bytes, Some(problem));
                }
            }
        }
        if rest.len() == 0 {
            return (bytes, None);
        }
    }
    (bytes, Some("it consists of too many streams"))
}

/// Unpacks one more byte, and with it all of the block that it ends; true at the end of a stream.
fn push(
    decoder: &mut Decompress,
    byte: u8,
    bytes: &mut Vec<u8>,
    most: usize,
) -> Result<bool, &'static str> {
    let mut input = slice::from_ref(&byte);
    loop {
        if bytes.len() == bytes.capacity() {
            bytes.reserve_exact(bytes.len().max(FIRST_BYTES).min(most + 1 - bytes.len()));
        }
        let status = match decoder.decompress_vec(input, bytes) {
            Ok(status) => status,
            Err(Error::DataMagic) => return Err("it is not packed with bzip2"),
            Err(_) => return Err("a block is damaged"),
        };
        if bytes.len() > most {
            return Err("it unpacks to more than 64 MiB");
        }
        match status {
            Status::StreamEnd => return Ok(true),
            Status::MemNeeded => return Err("there is not enough memory for it"),
            _ if bytes.len() < bytes.capacity() => return Ok(false),
            // The block goes on.
            _ => input = &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bzip2::Compression;
    use bzip2::write::BzEncoder;
    use panza_sync::Random;
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = BzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Some blocks of digits.
    fn digits() -> Vec<u8> {
        (0..60_000u32)
            .flat_map(|number| format!("{} ", number * 7919).into_bytes())
            .collect()
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let long = digits();
        for bytes in [b"".as_slice(), b"a", b"aaaa", &[b'x'; 1_200_000], &long] {
            assert!(unpacked(&packed(bytes), 2 << 20) == (bytes.to_vec(), None));
            assert!(unpacked(&packed(bytes), bytes.len()) == (bytes.to_vec(), None));
        }
        let two = [packed(b"one "), packed(b"two")].concat();
        assert_eq!(unpacked(&two, 100), (b"one two".to_vec(), None));
    }

    #[test]
    fn whole_blocks_before_damage_are_kept() {
        let bytes = digits();
        let whole = packed(&bytes);
        let (kept, problem) = unpacked(&whole[..whole.len() - 2000], MOST_BYTES);
        assert_eq!(problem, Some("it ends in the middle"));
        assert!(kept.len() >= 400_000 && bytes.starts_with(&kept));
        let mut random = Random::new(3);
        for _ in 0..30 {
            let mut damaged = whole.clone();
            let at = 4 + random.below(u32::try_from(whole.len()).unwrap() - 4) as usize;
            damaged[at] ^= 1 << random.below(8);
            let (kept, problem) = unpacked(&damaged, MOST_BYTES);
            assert!(problem.is_some() && bytes.starts_with(&kept), "byte {at}");
        }
    }

    #[test]
    fn little_that_unpacks_to_much_is_bounded() {
        let bomb = packed(&vec![0; MOST_BYTES + 1]);
        assert!(bomb.len() < 100_000);
        let (kept, problem) = unpacked(&bomb, MOST_BYTES);
        assert_eq!(problem, Some("it unpacks to more than 64 MiB"));
        assert!(kept.len() <= MOST_BYTES);
        let streams = packed(b"").repeat(MOST_STREAMS + 1);
        assert_eq!(
            unpacked(&streams, 1).1,
            Some("it consists of too many streams")
        );
        assert_eq!(unpacked(&streams[14..], 1), (Vec::new(), None));
    }

    #[test]
    fn what_is_no_packed_text_is_said_to_be_none() {
        for (body, status, reason) in [
            ("", 400, "not understood"),
            ("{}", 400, "not understood"),
            ("\"%%%\"", 200, "base64"),
            ("\"\"", 200, "ends in the middle"),
            ("\"aGVsbG8=\"", 200, "not packed with bzip2"),
        ] {
            let page = PageReply::to_json(body.as_bytes(), unpack);
            assert_eq!(page.status as u16, status, "{body}");
            let text = String::from_utf8_lossy(&page.body).into_owned();
            assert!(text.contains(reason), "{text}");
        }
    }

    #[test]
    fn spaces_and_padding_of_base64_do_not_matter() {
        let text = STANDARD_NO_PAD.encode(packed(b"a \xff"));
        for body in [text.clone(), format!(" {text}="), text.replace('A', "A\\n")] {
            let page = PageReply::to_json(format!("\"{body}\"").as_bytes(), unpack);
            let answer = String::from_utf8_lossy(&page.body).into_owned();
            assert_eq!(answer, "{\"text\":\"a \u{fffd}\",\"problem\":null}");
        }
    }
}
