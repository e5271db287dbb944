//! The embedded files of the log viewer.
//!
//! Invariant: an entity tag identifies a content, so that a browser does not load the same file
//! twice.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::OnceLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::StatusCode;

use super::{Asked, Page};
use panza_log_viewer::FILES;

/// A file, plain and compressed.
struct Asset {
    plain: Bytes,
    gzip: Bytes,
    tag: String,
}

impl Asset {
    fn new(plain: Bytes) -> Self {
        let mut hasher = DefaultHasher::new();
        plain.hash(&mut hasher);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
        // Writing to memory does not fail; should it, nobody is sent what is not whole.
        let gzip = encoder
            .write_all(&plain)
            .and_then(|()| encoder.finish())
            .unwrap_or_default();
        Self {
            plain,
            gzip: gzip.into(),
            tag: format!("\"{:016x}\"", hasher.finish()),
        }
    }
}

fn assets() -> &'static [(&'static str, Asset)] {
    static ASSETS: OnceLock<Vec<(&'static str, Asset)>> = OnceLock::new();
    ASSETS.get_or_init(|| {
        FILES
            .iter()
            .map(|&(name, bytes)| (name, Asset::new(Bytes::from_static(bytes))))
            .collect()
    })
}

pub(super) fn page(name: &str, asked: &Asked) -> Page {
    asset(name, asked)
        .unwrap_or_else(|| Page::text(StatusCode::NOT_FOUND, "this page is not here\n"))
}

/// A script or style, if there is one of this name.
pub(super) fn asset(name: &str, asked: &Asked) -> Option<Page> {
    let (_, asset) = assets().iter().find(|(own, _)| *own == name)?;
    let content_type = content_type(name);
    let tag = Some(asset.tag.clone());
    if asked.known_tag == tag {
        let page = Page::new(StatusCode::NOT_MODIFIED, content_type, Bytes::new());
        return Some(Page { tag, ..page });
    }
    let is_gzip = asked.accepts_gzip && !asset.gzip.is_empty();
    let body = if is_gzip { &asset.gzip } else { &asset.plain };
    Some(Page {
        is_gzip,
        tag,
        ..Page::new(StatusCode::OK, content_type, body.clone())
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
            let page = asset(name, &Asked::default()).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(page.status, StatusCode::OK);
            let known = Asked {
                known_tag: page.tag,
                ..Asked::default()
            };
            assert_eq!(
                asset(name, &known).unwrap().status,
                StatusCode::NOT_MODIFIED
            );
        }
        assert!(asset("../Cargo.toml", &Asked::default()).is_none());
    }
}
