//! Repairs the first line of a connection before hyper reads it.
//!
//! People and scripts send `GET /( INFO ) HTTP/1.0` with bare spaces, sometimes without a version.
//! hyper rejects such a line, so the target is percent-encoded here. Only the first request of a
//! connection is repaired, since the start of later ones is not known.

/// Longer first lines are not repaired.
pub(super) const MAX_LINE: usize = 8 * 1024;

/// The bytes with a repaired first line; nothing if it needs no repair.
pub(super) fn repaired(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let (line, rest) = bytes.split_at(end);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let (method, target) = line.split_at_checked(4)?;
    if !method.eq_ignore_ascii_case(b"GET ") {
        return None;
    }
    let last_space = target.iter().rposition(|&byte| byte == b' ');
    let version = last_space
        .map(|at| &target[at + 1..])
        .filter(|last| last.len() >= 5 && last[..5].eq_ignore_ascii_case(b"HTTP/"));
    let target = match (version, last_space) {
        (Some(_), Some(at)) => &target[..at],
        _ => target,
    };
    if version.is_some() && target.iter().all(|&byte| is_plain(byte)) {
        return None;
    }
    let mut line = b"GET ".to_vec();
    for &byte in target.trim_ascii() {
        if is_plain(byte) {
            line.push(byte);
        } else {
            line.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    line.push(b' ');
    line.extend_from_slice(version.unwrap_or(b"HTTP/1.0"));
    line.extend_from_slice(b"\r");
    line.extend_from_slice(rest);
    Some(line)
}

/// Whether a byte may stand in a target as it is. `#` would start a fragment, which is no part of a
/// request.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&str>) {
        let found = repaired(line.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(found.as_deref(), expected, "{line:?}");
    }

    #[test]
    fn raw_targets_are_encoded() {
        check(
            "GET /( INFO ) HTTP/1.0\r\nHost: x\r\n",
            Some("GET /(%20INFO%20) HTTP/1.0\r\nHost: x\r\n"),
        );
        check(
            "get /(\tPLAY a#1 {b} ) http/1.1\n\n",
            Some("GET /(%09PLAY%20a%231%20%7Bb%7D%20) http/1.1\r\n\n"),
        );
        check(
            "GET /( INFO )\r\n\r\n",
            Some("GET /(%20INFO%20) HTTP/1.0\r\n\r\n"),
        );
    }

    #[test]
    fn what_is_sound_or_no_get_stays() {
        check("GET /(%20INFO%20) HTTP/1.0\r\n\r\n", None);
        check("GET / HTTP/1.1\n\n", None);
        check("POST /a b HTTP/1.0\r\n\r\n", None);
        check("GET /( INFO ) without an end", None);
        check("\n", None);
        check("", None);
    }
}
