//! Determines the commit of the build.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    set_commit(&root.join("../.."));
}

/// Sets `PANZA_COMMIT` for release builds, where it is known: from the environment, or from git.
/// Other builds leave it unset, since every commit would compile the crate again.
fn set_commit(root: &Path) {
    println!("cargo::rerun-if-env-changed=PANZA_COMMIT");
    if env::var("PROFILE").is_ok_and(|profile| profile != "release") {
        return;
    }
    if let Ok(commit) = env::var("PANZA_COMMIT")
        && !commit.is_empty()
    {
        println!("cargo::rustc-env=PANZA_COMMIT={commit}");
        return;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(root)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    // A parent folder may be a checkout of something else.
    let is_ours = git(&["rev-parse", "--show-prefix"]).is_none();
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={}", root.join(log).display());
    }
    if is_ours && let Some(commit) = git(&["rev-parse", "--short", "HEAD"]) {
        println!("cargo::rustc-env=PANZA_COMMIT={commit}");
    }
}
