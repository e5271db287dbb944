//! The embedded files of the log viewer.
//!
//! Invariant: an entity tag identifies a content, so that a browser does not load the same file
//! twice.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{PageReply, PageRequest, PageStatus};
use panza_log_viewer::FILES;

/// A file, plain and compressed.
struct Asset {
    plain: &'static [u8],
    gzip: Vec<u8>,
    tag: String,
}

impl Asset {
    fn new(plain: &'static [u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        plain.hash(&mut hasher);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
        // Writing to memory does not fail; should it, nobody is sent what is not whole.
        let gzip = encoder
            .write_all(plain)
            .and_then(|()| encoder.finish())
            .unwrap_or_default();
        Self {
            plain,
            gzip,
            tag: format!("\"{:016x}\"", hasher.finish()),
        }
    }
}

fn assets() -> &'static [(&'static str, Asset)] {
    static ASSETS: OnceLock<Vec<(&'static str, Asset)>> = OnceLock::new();
    ASSETS.get_or_init(|| {
        FILES
            .iter()
            .map(|&(name, bytes)| (name, Asset::new(bytes)))
            .collect()
    })
}

/// The file of this name, if there is one.
pub(super) fn file(name: &str, request: &PageRequest) -> Option<PageReply> {
    let (_, asset) = assets().iter().find(|(own, _)| *own == name)?;
    let content_type = content_type(name);
    let tag = Some(asset.tag.clone());
    if request.known_tag == tag {
        let page = PageReply::new(PageStatus::NotModified, content_type, &[][..]);
        return Some(PageReply { tag, ..page });
    }
    let is_gzip = request.accepts_gzip && !asset.gzip.is_empty();
    let body = if is_gzip { &asset.gzip } else { asset.plain };
    Some(PageReply {
        is_gzip,
        tag,
        ..PageReply::new(PageStatus::Ok, content_type, body)
    })
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_viewers_files_are_there() {
        for name in [
            "index.html",
            "match.html",
            "unknown.html",
            "style.css",
            "uplot.js",
            "uplot.css",
        ] {
            let page = file(name, &PageRequest::default()).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(page.status, PageStatus::Ok);
            let known = PageRequest {
                known_tag: page.tag,
                ..PageRequest::default()
            };
            assert_eq!(file(name, &known).unwrap().status, PageStatus::NotModified);
        }
        assert!(file("../Cargo.toml", &PageRequest::default()).is_none());
    }
}
