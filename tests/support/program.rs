//! Runs the program of a package: `PROGRAM` of the crate, in its `ROOT`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::{PROGRAM, ROOT};

pub fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .current_dir(ROOT)
        .env_remove("RUST_LOG")
        .env_remove("PANZA_GAMES");
    // Nothing is written outside of the folder of builds.
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Output {
    program()
        .args(arguments)
        .output()
        .expect("the program starts")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// Runs a command that must fail with `status`, and gives its standard error.
pub fn fails(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    let message = text(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {message}"
    );
    message
}

/// Runs a command with `--json` and gives the objects of its output, which must be all of it.
pub fn objects(arguments: &[&str], status: i32) -> Vec<Value> {
    let output = program().args(arguments).arg("--json").output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {message}"
    );
    let lines = text(&output.stdout);
    let objects: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect();
    assert!(objects.iter().all(Value::is_object), "{lines}");
    objects
}

pub fn assert_keys(object: &Value, keys: &[&str]) {
    for key in keys {
        assert!(object.get(key).is_some(), "no key `{key}` in {object}");
    }
}

/// Writes a file into a folder.
pub fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}
